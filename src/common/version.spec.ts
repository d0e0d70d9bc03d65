import { readFileSync } from 'node:fs'
import { describe, expect, it } from '@jest/globals'
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
      connector: versionIn('connectors/mail/package.json'),
      locked: [version, ...['', 'client', 'console', 'connectors/mail'].map((place) => packages[place]?.version)],
      document: document.info.version,
      manifests: /newTag: (\S+)/.exec(read('deploy/kubernetes/base/kustomization.yaml'))?.[1],
      image: /image\.version="([^"]+)"/.exec(read('Dockerfile'))?.[1],
    }).toEqual({
      client: VERSION,
      console: VERSION,
      connector: VERSION,
      locked: Array(5).fill(VERSION),
      document: VERSION,
      manifests: VERSION,
      image: VERSION,
    })
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
    const [first] = [...read('CHANGELOG.md').matchAll(/^## \[(Unreleased: )?([^\]]+)\](.*)$/gm)]
    if (first?.[1] === undefined) {
      expect(first?.[2]).toBe(VERSION)
      expect(first?.[3]).toMatch(/^ - \d{4}-\d{2}-\d{2}$/)
    } else expect(compareVersions(String(first[2]), VERSION)).toBeGreaterThan(0)
  })
})
