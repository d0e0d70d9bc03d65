import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import { type ConfigError, loadConfig } from './config.js'
import { parseWebhooksFile } from './webhook-endpoints.js'

const SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`
const ops = { name: 'ops', url: 'https://ops.example.com/quota?token=hush', secrets: [SECRET] }
const mail = {
  name: 'people',
  kind: 'mail',
  to: ['ops@example.org', 'boss@example.org'],
  from: 'quota@example.org',
  smtp: 'smtp://mail.example.org',
}
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
    const lengths = value.map((one) => one.kind !== 'mail' && one.secrets.map((secret) => secret.length))
    expect(lengths).toEqual([[32], [32, 24]])
    expect(parse()).toEqual({ value: [], mistakes: [] })
  })

  it('names chats and mailboxes', () => {
    const people = { digest: 'daily', time_zone: 'Europe/Berlin', base_url: 'https://quota.example.com/x/' }
    const { value, mistakes } = parse(
      { name: 'chat', kind: 'slack', url: 'https://hooks.example.com/services/x' },
      { ...mail, ...people, filter: { label: 'Früh' } },
      { ...mail, name: 'local', smtp: 'smtp://a%40b:p%3Aw@127.0.0.1:2525/', filter: { group_id: 5 } },
      { ...mail, name: 'six', smtp: 'smtps://[::1]' },
    )
    expect(mistakes).toEqual([])
    expect(value).toMatchObject([
      { kind: 'slack', secrets: [], digest: 'none', timeZone: 'UTC', baseUrl: undefined, filter: undefined },
      {
        kind: 'mail',
        to: ['ops@example.org', 'boss@example.org'],
        from: 'quota@example.org',
        smtp: { host: 'mail.example.org', port: 587, secure: false, isLoopback: false, auth: undefined },
        digest: 'daily',
        timeZone: 'Europe/Berlin',
        baseUrl: 'https://quota.example.com/x',
        filter: { label: 'Früh' },
      },
      {
        smtp: { host: '127.0.0.1', port: 2525, isLoopback: true, auth: { user: 'a@b', pass: 'p:w' } },
        filter: { groupId: 5 },
      },
      { smtp: { host: '::1', port: 465, secure: true, isLoopback: true } },
    ])
  })

  it.each<[string, unknown, RegExp]>([
    ['an unknown kind', { ...ops, kind: 'pager' }, /kind must be one of webhook, slack, mail/],
    [
      'a chat with secrets',
      { name: 'c', kind: 'slack', url: ops.url, secrets: [SECRET] },
      /"secrets" is not known for slack/,
    ],
    ['a webhook with a digest', { ...ops, digest: 'daily' }, /"digest" is not known for webhook/],
    ['mail with a url', { ...mail, url: ops.url }, /"url" is not known for mail/],
    ['no recipient', { ...mail, to: [] }, /to must be an array of 1 to 20/],
    ['one recipient twice', { ...mail, to: ['a@example.org', 'A@example.org'] }, /to must be .* different/],
    ['a recipient with a line feed', { ...mail, to: ['a@example.org\nBcc: b@example.org'] }, /to must be/],
    ['too many recipients', { ...mail, to: Array.from({ length: 21 }, (_, n) => `a${n}@example.org`) }, /to must be/],
    ['a sender with a name', { ...mail, from: 'Quota <quota@example.org>' }, /from must be/],
    ['a server of the web', { ...mail, smtp: 'https://hush@example.org' }, /smtp must be/],
    ['a server with a path', { ...mail, smtp: 'smtp://hush@example.org/x' }, /smtp must be/],
    ['a server with a user alone', { ...mail, smtp: 'smtp://hush@example.org' }, /smtp must be/],
    ['a server with a password alone', { ...mail, smtp: 'smtp://:hush@example.org' }, /smtp must be/],
    ['a server with half an escape', { ...mail, smtp: 'smtp://hush%zz@example.org' }, /smtp must be/],
    ['an unknown digest', { ...mail, digest: 'weekly' }, /digest must be one of none, hourly, daily/],
    ['an unknown zone', { ...mail, time_zone: 'Mars' }, /time_zone must be/],
    ['a base with a user', { ...mail, base_url: 'https://hush@example.org' }, /base_url must be/],
    ['two filters', { ...mail, filter: { label: 'a', group_id: 1 } }, /filter must be/],
    ['a filter that lists nothing', { ...mail, filter: { label: '' } }, /filter must be/],
    ['a group without an id', { ...mail, filter: { group_id: '5' } }, /filter must be/],
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

  it('names all mistakes of an entry at once', () => {
    const { mistakes } = parse({
      name: '',
      kind: 'mail',
      to: 'x',
      from: 7,
      smtp: 'x',
      digest: 1,
      time_zone: 1,
      base_url: 1,
      filter: 1,
      secrets: 1,
    })
    expect(mistakes).toHaveLength(9)
  })

  it('refuses names that differ only in case, invalid JSON, and values that are too long', () => {
    expect(parse(ops, { ...ops, name: 'OPS' }).mistakes).toEqual([expect.stringMatching(/entry 2: another entry/)])
    expect(parseWebhooksFile('[').mistakes).toEqual(['WEBHOOKS_FILE is not JSON'])
    expect(parseWebhooksFile('{}').mistakes).toEqual(['WEBHOOKS_FILE must hold an array of endpoints'])
    expect(parseWebhooksFile(' '.repeat(1_000_001)).mistakes).toEqual([expect.stringMatching(/longer than/)])
    expect(parse(...Array.from({ length: 101 }, () => ops)).mistakes).toEqual([expect.stringMatching(/more than 100/)])
  })

  it.each([
    ['[{"name": "ops",\n  "secrets": ["hush"]\n  "types": []}]', ': line 3, column 3'],
    ['[{"name": "hush",}]', ': line 1, column 18'],
    ['[] hush', ': line 1, column 4'],
    // Without a position, the parser's message quotes the file.
    ['["at position 7", hush]', ''],
    ['[{"name": ', ''],
  ])('is refused as invalid JSON with the place, and without its content: %j', (text, place) => {
    expect(parseWebhooksFile(text).mistakes).toEqual([`WEBHOOKS_FILE is not JSON${place}`])
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

  it.each(['name', 'url', 'from', 'to', 'time_zone'])('takes no object for a text: %s', (member) => {
    const odd = { toString: 1, valueOf: 1 }
    const kind = ['from', 'to', 'time_zone'].includes(member) ? 'mail' : 'webhook'
    const entry = { name: 'ops', kind, [member]: member === 'to' ? [odd] : odd }
    const { mistakes } = parseWebhooksFile(JSON.stringify([entry]))
    expect(mistakes).toContainEqual(expect.stringMatching(new RegExp(`^WEBHOOKS_FILE, entry 1: ${member} must be`)))
  })
})
