import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { HAS_SERVER } from './support/database.js'
import { guard } from './support/guard.js'

const onServer = HAS_SERVER ? describe : describe.skip

/** Far longer than the fixture takes on a busy machine; without an end of its own it takes for ever. */
const PATIENCE_MS = 300_000

/** Runs one of the fixtures, which are no suites by themselves. */
async function run(fixture: string, env: Record<string, string> = {}): Promise<{ code: unknown; output: string }> {
  const jest = spawn(
    process.execPath,
    [
      '--experimental-vm-modules',
      '--no-warnings',
      join(process.cwd(), 'node_modules/jest/bin/jest.js'),
      '--verbose',
      '--testMatch',
      `**/${fixture}.fixture.ts`,
    ],
    { env: { ...process.env, ...env }, stdio: ['ignore', 'ignore', 'pipe'] },
  )
  const release = guard(jest.pid!)
  let output = ''
  jest.stderr.on('data', (chunk: Buffer) => (output += chunk.toString('utf8')))
  const ended = once(jest, 'close').then(([code]) => code as number | null)
  const code = await Promise.race([ended, sleep(PATIENCE_MS, 'still running' as const, { ref: false })])
  release()
  jest.kill('SIGKILL')
  return { code, output }
}

onServer('a suite whose beforeAll fails half way', () => {
  let directory: string

  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'quota-harness-'))
  })

  afterAll(async () => {
    await rm(directory, { recursive: true, force: true })
  })

  it(
    'ends, fails, and leaves no process behind',
    async () => {
      const report = join(directory, 'report.json')
      const { code, output } = await run('half-open', { HALF_OPEN_REPORT: report })
      expect(output).toContain('the service ended at once')
      expect(code).toBe(1)
      const pids = JSON.parse(await readFile(report, 'utf8')) as number[]
      // The instance, and a server where one could be started.
      expect(pids.length).toBeGreaterThan(0)
      expect(pids.filter(isRunning)).toEqual([])
    },
    PATIENCE_MS + 30_000,
  )
})

describe('a test that takes too long', () => {
  it(
    'fails by itself, and leaves what it shares with the next one alone',
    async () => {
      const { code, output } = await run('late')
      expect(output).toMatch(/✕ takes too long and goes on running/)
      expect(output).toMatch(/✓ has the clock to itself/)
      expect(code).toBe(1)
    },
    PATIENCE_MS + 30_000,
  )
})

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}
