import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import type { EventType } from '../domain/event-type.js'
import { isLabel } from '../domain/label.js'
import { type ChannelEvent, cleanText, digestText, testText, textOf, type TextStyle } from './texts.js'

const AT = '2026-11-26T06:41:05.412Z'
const RESET = Date.parse('2026-12-01T00:00:00Z')
const MAIL: TextStyle = { markup: 'plain', timeZone: 'UTC', baseUrl: 'https://quota.example.com' }
const CHAT: TextStyle = { ...MAIL, markup: 'chat' }

function told(
  type: EventType,
  data: object,
  more: Omit<Partial<ChannelEvent>, 'event'> & { event?: object } = {},
): ChannelEvent {
  const event = {
    id: '01939f3e-5c00-7a6b-8c1d-2e3f4a5b6c7d',
    type,
    at: AT,
    account_id: 7,
    quota_id: 12,
    group_id: null,
  }
  return {
    channel: 'mail',
    label: 'alice@example.org',
    until: RESET,
    ...more,
    event: { ...event, data, ...more.event },
  }
}

const threshold = (label: string | null, percent = 80): ChannelEvent =>
  told(
    'quota.threshold_reached',
    { threshold: percent, total: 1000, used: 812, cycle_reset_at: '2026-12-01T00:00:00.000Z' },
    { label },
  )
const refused = (code = 'quota_exceeded', count = 41): ChannelEvent =>
  told(
    'owner.refused',
    { code, since: '2026-11-26T06:40:59.000Z', count, requested: 4100 },
    { event: { quota_id: null }, until: null },
  )
const change = (type: EventType, before: object, after: object, more: object = {}): ChannelEvent =>
  told(type, { actor: 'boss', before, after }, more)

describe('the text of an event', () => {
  it.each<[string, ChannelEvent, string, string]>([
    [
      'a threshold',
      threshold('alice@example.org'),
      'Mail account 7: 80 % of quota 12 used, 812 of 1,000 (alice@example.org)',
      'Mail account 7 has used 80 % or more of quota 12.\n\nLabel: “alice@example.org”\nSince: 2026-11-26 06:41 UTC\n' +
        'How much: 812 of 1,000\nUntil: 2026-12-01 00:00 UTC, the next reset\n\nhttps://quota.example.com/admin/mail/quotas/12',
    ],
    [
      'a threshold of a group, without a label, until the quota ends',
      told(
        'quota.threshold_reached',
        { threshold: 100, total: 5, used: 5, cycle_reset_at: null },
        {
          label: null,
          event: { account_id: null, group_id: 5 },
        },
      ),
      'Mail group 5: 100 % of quota 12 used, 5 of 5',
      'Mail group 5 has used 100 % or more of quota 12.\n\nSince: 2026-11-26 06:41 UTC\nHow much: 5 of 5\n' +
        'Until: 2026-12-01 00:00 UTC, its end\n\nhttps://quota.example.com/admin/mail/quotas/12',
    ],
    [
      'refusals',
      refused(),
      'Mail account 7: 41 requests refused (alice@example.org)',
      'Requests of mail account 7 are refused, because too little is left.\n\nLabel: “alice@example.org”\n' +
        'Since: 2026-11-26 06:40 UTC\nHow much: 41 requests for 4,100 in all\nUntil: it goes on, as of 2026-11-26 06:41 UTC\n\n' +
        'https://quota.example.com/admin/mail/owners/7',
    ],
    [
      'refusals without a quota',
      told(
        'owner.refused',
        { code: 'no_active_quota', since: AT, count: 1, requested: 1 },
        {
          channel: 'sms',
          label: null,
          until: null,
          event: { account_id: undefined, user_id: 3, quota_id: null },
        },
      ),
      'SMS user 3: 1 request refused',
      'Requests of SMS user 3 are refused, because it has no active quota.\n\nSince: 2026-11-26 06:41 UTC\n' +
        'How much: 1 request for 1 in all\nUntil: it goes on, as of 2026-11-26 06:41 UTC\n\nhttps://quota.example.com/admin/sms/owners/3',
    ],
    [
      'the end of refusals on trial',
      { ...refused('quota_observed'), event: { ...refused('quota_observed').event, type: 'owner.recovered' } },
      'Mail account 7: no longer refused on trial (alice@example.org)',
      'A limit on trial would no longer refuse requests of mail account 7: none for an hour.\n\nLabel: “alice@example.org”\n' +
        'Since: 2026-11-26 06:40 UTC\nHow much: 41 requests for 4,100 in all\nUntil: an hour or more before 2026-11-26 06:41 UTC\n\n' +
        'https://quota.example.com/admin/mail/owners/7',
    ],
    [
      'a new quota',
      change(
        'quota.created',
        {},
        {
          status: 'active',
          total: 1000,
          expire_at: null,
          cycle_unit: 'month',
          cycle_reset_at: '2026-12-01T00:00:00.000Z',
          cycle_time_zone: 'America/New_York',
          label: 'alice@example.org',
          thresholds: [],
        },
      ),
      'Mail account 7: quota 12 created (alice@example.org)',
      '“boss” created quota 12 of mail account 7.\n\nLabel: “alice@example.org”\nSince: 2026-11-26 06:41 UTC\nStatus: active\n' +
        'Total: 1,000\nCycle unit: month\nCycle reset at: 2026-12-01 00:00 UTC\nCycle time zone: “America/New_York”\n' +
        'Until: 2026-12-01 00:00 UTC\n\nhttps://quota.example.com/admin/mail/quotas/12',
    ],
    [
      'an edit',
      change(
        'quota.updated',
        { total: 1000, label: null, thresholds: [] },
        { total: 2000, label: 'alice', thresholds: [50, 80] },
        { until: null },
      ),
      'Mail account 7: quota 12 changed (alice@example.org)',
      '“boss” changed quota 12 of mail account 7.\n\nSince: 2026-11-26 06:41 UTC\nTotal: 2,000 (was 1,000)\nLabel: “alice” (was none)\n' +
        'Thresholds: 50, 80 (was none)\n\nhttps://quota.example.com/admin/mail/quotas/12',
    ],
    [
      'a deletion',
      change('quota.deleted', { deleted_at: null }, { deleted_at: AT }, { label: null, until: null }),
      'Mail account 7: quota 12 deleted',
      '“boss” deleted quota 12 of mail account 7.\n\nSince: 2026-11-26 06:41 UTC\n\nhttps://quota.example.com/admin/mail/quotas/12',
    ],
    [
      'a restored quota',
      change('quota.restored', { deleted_at: AT }, { deleted_at: null }, { label: null, until: null }),
      'Mail account 7: quota 12 restored',
      '“boss” restored quota 12 of mail account 7.\n\nSince: 2026-11-26 06:41 UTC\n\nhttps://quota.example.com/admin/mail/quotas/12',
    ],
    [
      'a reset',
      change('quota.reset', { used: 800, reserved: 0 }, { used: 0, reserved: 0 }, { label: null }),
      'Mail account 7: quota 12 reset',
      '“boss” reset quota 12 of mail account 7.\n\nSince: 2026-11-26 06:41 UTC\nUsed: 0 (was 800)\nReserved: 0 (was 0)\n' +
        'Until: 2026-12-01 00:00 UTC\n\nhttps://quota.example.com/admin/mail/quotas/12',
    ],
    [
      'an event that a later version has left',
      told('quota.halved' as EventType, { half: 5 }),
      'Mail account 7: event quota.halved of quota 12 (alice@example.org)',
      'Mail account 7: event quota.halved of quota 12.\n\nLabel: “alice@example.org”\nSince: 2026-11-26 06:41 UTC\n\n' +
        'https://quota.example.com/admin/mail/quotas/12',
    ],
  ])('says what there is to know of %s', (_what, event, subject, body) => {
    expect(textOf(event, MAIL)).toEqual({ subject, body })
  })

  it('shows times in the zone of the endpoint, and links only where it knows its address', () => {
    const { body } = textOf(threshold(null), { ...MAIL, timeZone: 'Asia/Kolkata', baseUrl: undefined })
    expect(body).toContain('Since: 2026-11-26 12:11 +05:30')
    expect(body).not.toContain('http')
  })

  it('has a subject in which nothing of a label is decoded', () => {
    expect(textOf(threshold('x =?utf-8?Q?=E2=80=AEevil?= y'), MAIL).subject).toContain('(x = ?utf-8?')
  })

  it('has a subject of at most 78 characters, and shortens labels between characters', () => {
    const long = threshold('💣'.repeat(120))
    const { subject } = textOf(long, MAIL)
    expect(subject.length).toBeLessThanOrEqual(78)
    expect(subject).toMatch(/ \(💣+…\)$/u)
    const largest = { account_id: Number.MAX_SAFE_INTEGER, quota_id: Number.MAX_SAFE_INTEGER }
    const most = told(
      'quota.threshold_reached',
      { threshold: 100, total: 1e12, used: 1e12, cycle_reset_at: null },
      { event: largest },
    )
    expect(textOf(most, MAIL).subject.length).toBeLessThanOrEqual(110)
  })

  it('leaves no markup, mention, link or line of others in a chat', () => {
    const label = fc.oneof(
      fc.string({ unit: 'binary', minLength: 1, maxLength: 40 }),
      fc
        .array(
          fc.constantFrom(
            '*',
            '_',
            '~',
            '`',
            '<',
            '>',
            '&',
            '@',
            '!',
            '\u202e',
            '\u2066',
            ' ',
            'a',
            'https://x',
            '#',
            '|',
            '\u2028',
          ),
          {
            minLength: 1,
            maxLength: 30,
          },
        )
        .map((parts) => parts.join('')),
    )
    fc.assert(
      fc.property(label.filter(isLabel), label, (text, actor) => {
        const event = change('quota.updated', { label: text }, { label: text }, { label: text })
        Object.assign(event.event.data, { actor })
        for (const { body } of [textOf(event, CHAT), digestText([event], 2, RESET, CHAT)]) {
          // What others wrote is code.
          const ours = body.replace(/`[^`\n]+`/gu, '')
          expect(ours).not.toMatch(/[*_~`<>&@]/)
          expect(body).not.toMatch(/[<>]|&(?!amp;|lt;|gt;)/)
          expect(body).not.toMatch(/(?<![\p{L}\p{N}])@/u)
          expect(body).not.toMatch(/[\u202a-\u202e\u2066\u2067\u200e\u200f\u2028]/u)
        }
      }),
    )
  })

  it('keeps labels from breaking lines, the order of text, and links in mail', () => {
    const { body, subject } = textOf(threshold('a\u2028b\u202Egro.elpmaxe https://evil.example www.evil.example'), MAIL)
    expect(body).toContain('Label: “a bgro.elpmaxe https: //evil.example www .evil.example”\n')
    expect(subject).not.toMatch(/[\u202a-\u202e\u2028\n]/u)
    // Hebrew: isolated from the text around it.
    expect(textOf(threshold('שלום'), MAIL).body).toContain('“\u2068שלום\u2069”')
    expect(textOf(threshold('\u200b\u2060 '), MAIL)).toEqual(textOf(threshold(null), MAIL))
    expect(cleanText('  a \u00a0 b ')).toBe('a b')
  })
})

describe('the text of a digest', () => {
  it('has a line for each event, and the number of the others', () => {
    expect(digestText([refused(), threshold('alice@example.org')], 52, RESET, MAIL)).toEqual({
      subject: 'Quotas: 52 events until 2026-12-01 00:00 UTC',
      body:
        '52 events of quotas until 2026-12-01 00:00 UTC, the worst first:\n\n' +
        '• 2026-11-26 06:41 Mail account 7: 41 requests refused (“alice@example.org”)\n' +
        '• 2026-11-26 06:41 Mail account 7: 80 % of quota 12 used, 812 of 1,000 (“alice@example.…”)\n' +
        'and 50 others.\n\nhttps://quota.example.com/admin/',
    })
    expect(digestText([refused()], 1, RESET, { ...MAIL, baseUrl: undefined }).body).toMatch(/^1 event of quotas[^]*\)$/)
  })

  it.each(['x', '&', '<', 'א&', '😀>'])('is below the limit of every chat with the longest labels, of %s', (part) => {
    const label = part.repeat(60)
    const events = Array.from({ length: 50 }, () => threshold(label))
    const { body } = digestText(events, 99_999, RESET, CHAT)
    expect(body.length).toBeLessThan(5_000)
    // What is left of it is whole.
    expect(body.replace(/&(?:amp|lt|gt);/g, '')).not.toMatch(/[&\uFFFD\p{Cs}]/u)
  })

  it('is below it with the largest numbers, and counts what it leaves out', () => {
    const [most, id] = [1_000_000_000_000, Number.MAX_SAFE_INTEGER]
    const data = { threshold: 100, total: most, used: most, cycle_reset_at: null }
    const event = told('quota.threshold_reached', data, { event: { account_id: id, quota_id: id } })
    const { body } = digestText(Array<ChannelEvent>(50).fill(event), 50, RESET, CHAT)
    expect(body.length).toBeLessThan(5_000)
    const lines = body.split('\n').filter((line) => line.startsWith('•'))
    expect(lines.length).toBeGreaterThan(30)
    expect(body).toContain(`\nand ${50 - lines.length} others.`)
  })
})

it('the text of a test names the endpoint', () => {
  expect(testText('a_b', CHAT).body).toBe(
    'This is a test of the endpoint `a_b`. Events of quotas arrive here.\n\nhttps://quota.example.com/admin/webhooks',
  )
})
