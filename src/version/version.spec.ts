import { readFileSync } from 'node:fs'
import { describe, expect, it } from '@jest/globals'
import { RELEASE } from '../../scripts/release.mjs'
import { compareVersions } from '../database/instances.js'
import { VERSION } from './version.js'

const read = (path: string): string => readFileSync(path, 'utf8')
const versionIn = (path: string): string => (JSON.parse(read(path)) as { version: string }).version

describe('the version', () => {
  it('is the same in every file', () => {
    const { version, packages } = JSON.parse(read('package-lock.json')) as {
      version: string
      packages: Record<string, { version: string }>
    }
    const document = JSON.parse(read('openapi.json')) as { info: { version: string } }
    expect({
      client: versionIn('client/package.json'),
      console: versionIn('console/package.json'),
      locked: [version, ...['', 'client', 'console'].map((place) => packages[place]?.version)],
      document: document.info.version,
      manifests: /newTag: (\S+)/.exec(read('deploy/kubernetes/base/kustomization.yaml'))?.[1],
    }).toEqual({
      client: VERSION,
      console: VERSION,
      locked: Array(4).fill(VERSION),
      document: VERSION,
      manifests: VERSION,
    })
  })

  it('is later than that of the previous release, as --finish compares them', () => {
    expect(compareVersions(VERSION, RELEASE.version)).toBeGreaterThan(0)
  })

  it.each([
    ['0.2.0', '0.10.0', -1],
    ['1.0.0', '0.99.99', 1],
    ['0.2.0', '0.2.0', 0],
    ['0.2.1', '0.2', 1],
    ['0.2.0-rc.1', '0.2.0', 0],
  ])('%s beside %s', (first, second, sign) => {
    expect(Math.sign(compareVersions(first, second))).toBe(sign)
    expect(Math.sign(compareVersions(second, first))).toBe(sign === 0 ? 0 : -sign)
  })

  it('has the first section of the changelog', () => {
    const [first] = [...read('CHANGELOG.md').matchAll(/^## \[([^\]]+)\](.*)$/gm)]
    expect(first?.[1]).toBe(VERSION)
    expect(first?.[2]).toMatch(/^ - \d{4}-\d{2}-\d{2}$/)
  })
})
