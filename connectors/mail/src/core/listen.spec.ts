import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { listenOn } from './listen.js'

let folder: string

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'listen-'))
})

afterAll(() => {
  rmSync(folder, { recursive: true })
})

it('a file whose place is to be a socket stays', async () => {
  const path = join(folder, 'accounts')
  writeFileSync(path, 'precious')
  await expect(listenOn(createServer(), { path })).rejects.toThrow(`${path} is no socket`)
  expect(readFileSync(path, 'utf8')).toBe('precious')
})
