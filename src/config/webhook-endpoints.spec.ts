import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import { type ConfigError, loadConfig } from './config.js'
import { parseWebhooksFile } from './webhook-endpoints.js'

const SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`
const ops = { name: 'ops', url: 'https://ops.example.com/quota?token=hush', secrets: [SECRET] }
const parse = (...entries: unknown[]) => parseWebhooksFile(JSON.stringify(entries))

describe('the file of webhooks', () => {
  it('names endpoints, which by default receive everything', () => {
    const { value, mistakes } = parse(ops, {
      name: 'local',
      url: 'http://127.0.0.1:8080/',
      secrets: [SECRET, `whsec_${Buffer.alloc(24, 8).toString('base64')}`],
      types: ['quota.threshold_reached'],
      channels: ['mail'],
    })
    expect(mistakes).toEqual([])
    expect(value).toMatchObject([
      { name: 'ops', types: expect.arrayContaining(['quota.reset']), channels: ['mail', 'sms'] },
      { name: 'local', types: ['quota.threshold_reached'], channels: ['mail'] },
    ])
    expect(value.map(({ secrets }) => secrets.map((secret) => secret.length))).toEqual([[32], [32, 24]])
    expect(parse()).toEqual({ value: [], mistakes: [] })
  })

  it.each<[string, unknown, RegExp]>([
    ['a text', 'ops', /must be an object/],
    ['a name with a slash', { ...ops, name: 'a/b' }, /name must be/],
    ['http elsewhere', { ...ops, url: 'http://example.com/hush' }, /url must begin with https/],
    ['no url', { ...ops, url: 7 }, /url must/],
    ['no secret', { ...ops, secrets: [] }, /secrets must be an array of one or two/],
    ['three secrets', { ...ops, secrets: [SECRET, SECRET, SECRET] }, /one or two/],
    ['a short secret', { ...ops, secrets: ['whsec_aHVzaA=='] }, /24 to 64 bytes/],
    ['a secret without its prefix', { ...ops, secrets: [SECRET.slice(6)] }, /whsec_/],
    ['an unknown type', { ...ops, types: ['quota.consumed'] }, /types must be/],
    ['no type', { ...ops, types: [] }, /types must be/],
    ['an unknown channel', { ...ops, channels: ['fax'] }, /channels must be/],
    ['a misspelt member', { ...ops, type: ['quota.reset'] }, /"type" is not known/],
  ])('refuses %s, and tells no secret', (_what, entry, why) => {
    const { mistakes } = parse(ops, entry)
    expect(mistakes).not.toEqual([])
    expect(mistakes.join()).toMatch(why)
    for (const mistake of mistakes) expect(mistake).toMatch(/^WEBHOOKS_FILE, entry 2: /)
    expect(mistakes.join()).not.toMatch(/hush|aHVzaA|BwcHBw/)
  })

  it('refuses names that differ only in case, invalid JSON, and values that are too long', () => {
    expect(parse(ops, { ...ops, name: 'OPS' }).mistakes).toEqual([expect.stringMatching(/entry 2: another entry/)])
    expect(parseWebhooksFile('[').mistakes).toEqual(['WEBHOOKS_FILE is not JSON'])
    expect(parseWebhooksFile('{}').mistakes).toEqual(['WEBHOOKS_FILE must hold an array of endpoints'])
    expect(parseWebhooksFile(' '.repeat(1_000_001)).mistakes).toEqual([expect.stringMatching(/longer than/)])
    expect(parse(...Array.from({ length: 101 }, () => ops)).mistakes).toEqual([expect.stringMatching(/more than 100/)])
  })

  it('has its mistakes reported together with all others', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'quota-config-'))
    const path = join(folder, 'webhooks.json')
    await writeFile(
      path,
      JSON.stringify([
        { ...ops, url: 'x' },
        { ...ops, secrets: [] },
      ]),
    )
    const mistakes = (file: string): readonly string[] => {
      try {
        loadConfig({ PORT: 'x', WEBHOOKS_FILE: file })
      } catch (error) {
        return (error as ConfigError).mistakes
      }
      return []
    }
    expect(mistakes(path)).toHaveLength(4)
    expect(mistakes(join(folder, 'none'))).toContainEqual(
      expect.stringMatching(/^WEBHOOKS_FILE cannot be read: ENOENT/),
    )
    await rm(folder, { recursive: true })
  })
})
