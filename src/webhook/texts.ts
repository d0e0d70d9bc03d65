import type { NamedEvent } from '../ledger/feed/event-reader.js'
import { zoned } from '../domain/cycle.js'
import { causeOf, type EventTypeOf } from '../domain/event-type.js'
import { TEXT_SETTINGS } from '../domain/settings.js'
import { type Instant, parseInstant } from '../common/instant.js'

/*
 * What people are told of events. Pure functions of the event, the names stored with it, and the endpoint's settings:
 * the same event results in the same text, whenever it is sent.
 */

/** An event of a channel. */
export interface ChannelEvent extends NamedEvent {
  readonly channel: string
}

/** How texts of an endpoint are written. */
export interface TextStyle {
  /** What the receiver makes of texts: mail shows them as they are, chats read markup in them. */
  readonly markup: 'plain' | 'chat'
  readonly timeZone: string
  /** Undefined: no links. */
  readonly baseUrl: string | undefined
}

/** A text with its title, which is at most MAX_SUBJECT_LENGTH characters long, and never has markup. */
export interface Text {
  readonly subject: string
  readonly body: string
}

const MAX_SUBJECT_LENGTH = 78
/** Labels are left out, or shortened, for lines of this length. */
const MAX_LINE_LENGTH = 90
/** Of the lines of a digest together: with the rest, it is below the limit of every chat, 5,000 characters. */
const MAX_LINES_LENGTH = 4_600
/** The length of `2026-11-26 07:41`. */
const MINUTE_LENGTH = 16
/** A label in a subject is not shortened to fewer characters; then it is omitted. */
const MIN_LABEL_LENGTH = 8

const CHANNEL_NAMES: Readonly<Record<string, string>> = { mail: 'Mail account', sms: 'SMS user' }
const GROUP_NAMES: Readonly<Record<string, string>> = { mail: 'Mail group', sms: 'SMS group' }

/** The members of `data` that texts use; which of them there are depends on the type. */
interface Data {
  readonly threshold: number
  readonly total: number
  readonly used: number
  readonly cycle_reset_at: string | null
  readonly code: string
  readonly since: string
  readonly count: number
  readonly requested: number
  readonly actor: string
  readonly before?: Readonly<Record<string, unknown>>
  readonly after: Readonly<Record<string, unknown>>
}

const DEEDS: Readonly<Record<EventTypeOf<'change'>, string>> = {
  'quota.created': 'created',
  'quota.updated': 'changed',
  'quota.deleted': 'deleted',
  'quota.restored': 'restored',
  'quota.reset': 'reset',
}

/** What refusals under a code are, of whom they are, and how one says that there are none. */
const REFUSED: Readonly<Record<string, { begins: (who: string) => string; ends: (who: string) => string }>> = {
  quota_exceeded: {
    begins: (who) => `Requests of ${who} are refused, because too little is left.`,
    ends: (who) => `Requests of ${who} are no longer refused for lack of what is left: none was for an hour.`,
  },
  no_active_quota: {
    begins: (who) => `Requests of ${who} are refused, because it has no active quota.`,
    ends: (who) => `Requests of ${who} are no longer refused for lack of an active quota: none was for an hour.`,
  },
  quota_observed: {
    begins: (who) => `A limit on trial would refuse requests of ${who}. They are served.`,
    ends: (who) => `A limit on trial would no longer refuse requests of ${who}: none for an hour.`,
  },
}

/** What an event says to people: who, what, since when, how much, until when, and where to look. */
export function textOf(told: ChannelEvent, style: TextStyle): Text {
  const { event, label, until } = told
  const data = event.data as unknown as Data
  const who = whoOf(told)
  const time = (at: Instant): string => timeIn(style.timeZone, at)
  const instant = (text: string): string => time(parseInstant(text) ?? 0)
  const quote = QUOTES[style.markup]
  const happened = instant(event.at)
  const lines: string[] = []
  const cleaned = cleanText(label ?? '')
  // One that a change made different is told with what it was.
  if (cleaned !== '' && data.before?.['label'] === undefined) lines.push(`Label: ${quote(cleaned)}`)
  let sentence: string
  switch (causeOf(event.type)) {
    case 'spell': {
      const isOver = event.type === 'owner.recovered'
      sentence = REFUSED[data.code]?.[isOver ? 'ends' : 'begins'](lower(who)) ?? ''
      lines.push(
        `Since: ${instant(data.since)}`,
        `How much: ${requestsIn(data)} for ${amount(data.requested)} in all`,
        `Until: ${isOver ? 'an hour or more before' : 'it goes on, as of'} ${happened}`,
      )
      break
    }
    case 'threshold':
      sentence = `${who} has used ${data.threshold} % or more of quota ${event.quota_id}.`
      lines.push(`Since: ${happened}`, `How much: ${amount(data.used)} of ${amount(data.total)}`)
      if (until !== null)
        lines.push(`Until: ${time(until)}, ${data.cycle_reset_at === null ? 'its end' : 'the next reset'}`)
      break
    case 'change': {
      const actor = cleanText(data.actor)
      sentence = `${actor === '' ? 'Somebody' : quote(actor)} ${deedOf(event)} quota ${event.quota_id} of ${lower(who)}.`
      lines.push(`Since: ${happened}`, ...differences(data, quote, instant))
      if (until !== null) lines.push(`Until: ${time(until)}`)
      break
    }
    case undefined:
      sentence = `${who}: ${unknown(event)}.`
      lines.push(`Since: ${happened}`)
  }
  const link = linkOf(told, style)
  return {
    // Of a label, programs would decode an encoded word (RFC 2047).
    subject: titleOf(told, '', MAX_SUBJECT_LENGTH, isolated).replaceAll('=?', '= ?'),
    body: [sentence, '', ...lines, ...(link === undefined ? [] : ['', link])].join('\n'),
  }
}

/**
 * One text about many events.
 * @param worst what is told one by one, in order
 * @param count the number of all events
 * @param end the end of the digest's period
 */
export function digestText(worst: readonly ChannelEvent[], count: number, end: Instant, style: TextStyle): Text {
  const until = timeIn(style.timeZone, end)
  const events = `${amount(count)} ${count === 1 ? 'event' : 'events'}`
  let room = MAX_LINES_LENGTH
  const lines = worst.flatMap((told) => {
    const at = timeIn(style.timeZone, parseInstant(told.event.at) ?? 0)
    const line = titleOf(told, `• ${at.slice(0, MINUTE_LENGTH)} `, MAX_LINE_LENGTH, QUOTES[style.markup])
    room -= line.length + 1
    return room < 0 ? [] : [line]
  })
  const others = count - lines.length
  return {
    subject: `Quotas: ${events} until ${until}`,
    body: [
      `${events} of quotas until ${until}, the worst first:`,
      '',
      ...lines,
      ...(others > 0 ? [`and ${amount(others)} ${others === 1 ? 'other' : 'others'}.`] : []),
      ...(style.baseUrl === undefined ? [] : ['', `${style.baseUrl}/admin/`]),
    ].join('\n'),
  }
}

/** The text of a test. @param name the endpoint's */
export function testText(name: string, { markup, baseUrl }: TextStyle): Text {
  return {
    subject: 'Test of the quota service',
    body: [
      `This is a test of the endpoint ${QUOTES[markup](name)}. Events of quotas arrive here.`,
      ...(baseUrl === undefined ? [] : ['', `${baseUrl}/admin/webhooks`]),
    ].join('\n'),
  }
}

/** One line about an event. @param quote marks the label */
function titleOf(told: ChannelEvent, before: string, length: number, quote: (text: string) => string): string {
  const title = `${before}${whoOf(told)}: ${whatOf(told)}`
  const label = cleanText(told.label ?? '')
  const most = length - title.length - ' ()'.length
  // Quoting may write a character as several, `&` as `&amp;`.
  let room = most - MARKS
  while (room >= MIN_LABEL_LENGTH && quote(shortened(label, room)).length > most) room -= 1
  if (label === '' || (label.length > room && room < MIN_LABEL_LENGTH)) return title
  const quoted = quote(shortened(label, room))
  return quoted.length > most ? title : `${title} (${quoted})`
}

function whatOf({ event }: ChannelEvent): string {
  const data = event.data as unknown as Data
  const onTrial = data.code === 'quota_observed'
  switch (causeOf(event.type)) {
    case 'threshold':
      return `${data.threshold} % of quota ${event.quota_id} used, ${amount(data.used)} of ${amount(data.total)}`
    case 'spell':
      return event.type === 'owner.refused'
        ? `${requestsIn(data)} ${onTrial ? 'refused on trial' : 'refused'}`
        : `no longer refused${onTrial ? ' on trial' : ''}`
    case 'change':
      return `quota ${event.quota_id} ${deedOf(event)}`
    case undefined:
      return unknown(event)
  }
}

function deedOf({ type }: ChannelEvent['event']): string {
  return DEEDS[type as EventTypeOf<'change'>]
}

/** An event of a later version: during an update, instances of this one deliver it. */
function unknown({ type, quota_id: quotaId }: ChannelEvent['event']): string {
  return quotaId === null ? `event ${type}` : `event ${type} of quota ${quotaId}`
}

function whoOf({ channel, event }: ChannelEvent): string {
  const { account_id, user_id } = event as { account_id?: number | null; user_id?: number | null }
  const owner = account_id ?? user_id
  return owner == null
    ? `${GROUP_NAMES[channel] ?? channel} ${event.group_id}`
    : `${CHANNEL_NAMES[channel] ?? channel} ${owner}`
}

/** In the middle of a sentence; SMS stays as it is. */
function lower(who: string): string {
  return who.replace(/^Mail/, 'mail')
}

function linkOf({ channel, event }: ChannelEvent, { baseUrl }: TextStyle): string | undefined {
  if (baseUrl === undefined) return undefined
  const { account_id, user_id } = event as { account_id?: number | null; user_id?: number | null }
  const page = event.quota_id === null ? `owners/${account_id ?? user_id}` : `quotas/${event.quota_id}`
  return `${baseUrl}/admin/${channel}/${page}`
}

/** What a change made different, setting by setting. */
function differences(
  { before = {}, after }: Data,
  quote: (text: string) => string,
  instant: (text: string) => string,
): string[] {
  const shown = (name: string, value: unknown): string => {
    if (Array.isArray(value) && value.length > 0) return value.map((one) => shown(name, one)).join(', ')
    if (typeof value === 'number') return amount(value)
    const text = typeof value === 'string' ? cleanText(value) : ''
    if (text === '') return 'none'
    if (TEXT_SETTINGS.has(name)) return quote(text)
    if (parseInstant(text) !== undefined) return instant(text)
    return /^[a-z]+$/.test(text) ? text : quote(text)
  }
  return Object.keys(after)
    .filter((name) => before[name] !== undefined || shown(name, after[name]) !== 'none')
    .filter((name) => name !== 'deleted_at' && (name !== 'label' || before[name] !== undefined))
    .map((name) => {
      const words = name.charAt(0).toUpperCase() + name.slice(1).replaceAll('_', ' ')
      const was = before[name] === undefined ? '' : ` (was ${shown(name, before[name])})`
      return `${words}: ${shown(name, after[name])}${was}`
    })
}

function requestsIn({ count }: Data): string {
  return `${amount(count)} ${count === 1 ? 'request' : 'requests'}`
}

function amount(value: number): string {
  return value.toLocaleString('en-US')
}

function timeIn(timeZone: string, at: Instant): string {
  const local = zoned(at, timeZone)
  const text = local.toPlainDateTime().toString({ smallestUnit: 'minute' }).replace('T', ' ')
  return `${text} ${timeZone === 'UTC' ? 'UTC' : local.offset}`
}

/** Room for marks around a label in a title. */
const MARKS = 2

/** Controls, among them those that change the direction of text, and what has no meaning of its own. */
const INVISIBLE = /(?![\u200c\u200d])[\p{Cc}\p{Cf}\p{Co}\p{Cs}]/gu
const VISIBLE = /[\p{L}\p{N}\p{P}\p{S}]/u
/** Letters that are written from right to left. */
const RIGHT_TO_LEFT = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u

/** A text of others in one line, without what cannot be seen; empty if nothing is left. */
export function cleanText(text: string): string {
  const cleaned = text.replace(/\s+/g, ' ').replace(INVISIBLE, '').trim()
  return VISIBLE.test(cleaned) ? cleaned : ''
}

/** At most `length` UTF-16 units, without breaking a character. */
function shortened(text: string, length: number): string {
  if (text.length <= length) return text
  let kept = ''
  for (const point of text) {
    if (kept.length + point.length > length - 1) break
    kept += point
  }
  return `${kept}…`
}

/** Isolates a text that is written from right to left, so that what surrounds it stays in order. */
function isolated(text: string): string {
  return RIGHT_TO_LEFT.test(text) ? `\u2068${text}\u2069` : text
}

/** Marks texts of others, so that the receiver takes nothing in them for markup, a link or a mention. */
const QUOTES: Readonly<Record<TextStyle['markup'], (text: string) => string>> = {
  // Mail programs make links of addresses.
  plain: (text) => `“${isolated(text.replaceAll('://', ': //').replace(/www\./gi, 'www .'))}”`,
  // In code, chats read no markup; some look for mentions there nevertheless.
  chat: (text) =>
    `\`${isolated(
      text
        .replaceAll('`', "'")
        .replace(/(?<![\p{L}\p{N}])@/gu, '＠')
        .replaceAll('&', '&amp;')
        .replaceAll('<', '&lt;')
        .replaceAll('>', '&gt;'),
    )}\``,
}
