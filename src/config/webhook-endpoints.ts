import { isTimeZone } from '../domain/cycle.js'
import { DIGESTS, type Digest } from '../domain/digest.js'
import { EVENT_TYPES, type EventScope, type EventType } from '../domain/event-type.js'
import { isLabel } from '../domain/label.js'
import { CHANNEL_SCOPES, type ChannelScope } from '../common/scope.js'
import { isLoopback, isSecureUrl } from './oidc.js'
import type { ParsedFile } from './watched-file.js'

/** The kinds of endpoints: a program, a chat, or mailboxes (contract, §14). */
export const ENDPOINT_KINDS = ['webhook', 'slack', 'mail'] as const
export type EndpointKind = (typeof ENDPOINT_KINDS)[number]

/** The mail server that takes messages to people. */
export interface SmtpServer {
  readonly host: string
  readonly port: number
  /** Encrypted from the beginning (`smtps://`)? */
  readonly secure: boolean
  /** On this machine: then encryption is not required, and certificates are not checked. */
  readonly isLoopback: boolean
  /** Undefined: without signing in. */
  readonly auth: { readonly user: string; readonly pass: string } | undefined
}

interface EndpointBase {
  /** 1 … 64 characters of `A-Z a-z 0-9 . _ -`. */
  readonly name: string
  readonly types: readonly EventType[]
  readonly channels: readonly ChannelScope[]
  readonly digest: Digest
  /** Of digests and of times in texts: an IANA name. */
  readonly timeZone: string
  /** The service's address for people, without a slash at its end; undefined: texts have no links. */
  readonly baseUrl: string | undefined
  /** Undefined: everything. */
  readonly filter: EventScope | undefined
}

/** An endpoint that messages are posted to. */
export interface HttpEndpoint extends EndpointBase {
  readonly kind: 'webhook' | 'slack'
  /** https, or http to loopback. It may contain a user and a password. */
  readonly url: string
  /** One or two: each signs. None for `slack`. */
  readonly secrets: readonly Buffer[]
}

/** An endpoint that messages are mailed to. */
export interface MailEndpoint extends EndpointBase {
  readonly kind: 'mail'
  /** 1 … 20 addresses. */
  readonly to: readonly string[]
  readonly from: string
  readonly smtp: SmtpServer
}

/** An endpoint for events (contract, §10 and §14). */
export type WebhookEndpoint = HttpEndpoint | MailEndpoint

/** The configuration variable that names the file; also the prefix of its mistakes. */
export const WEBHOOKS_FILE = 'WEBHOOKS_FILE'

const MAX_FILE_LENGTH = 1_000_000
const MAX_ENDPOINTS = 100
const MAX_URL_LENGTH = 2_000
/** What an endpoint may be called. */
export const ENDPOINT_NAME = /^[A-Za-z0-9._-]{1,64}$/
const FOR_ALL = ['name', 'kind', 'types', 'channels']
const FOR_PEOPLE = ['digest', 'time_zone', 'base_url', 'filter']
const MEMBERS: Readonly<Record<EndpointKind, readonly string[]>> = {
  webhook: [...FOR_ALL, 'url', 'secrets'],
  slack: [...FOR_ALL, 'url', ...FOR_PEOPLE],
  mail: [...FOR_ALL, 'to', 'from', 'smtp', ...FOR_PEOPLE],
}
const MAX_RECIPIENTS = 20
/** An address as RFC 5321 has it without quotes, in ASCII. */
const ADDRESS = /^[A-Za-z0-9!#$%&'*+/=?^_`{|}~.-]{1,64}@[A-Za-z0-9](?:[A-Za-z0-9.-]{0,252}[A-Za-z0-9])?$/
const PORTS: Readonly<Record<string, number>> = { 'smtp:': 587, 'smtps:': 465 }
/** Secrets of the Standard Webhooks specification: 24 … 64 bytes, in base64 after a prefix. */
const SECRET = /^whsec_([A-Za-z0-9+/]+={0,2})$/
const MIN_SECRET_BYTES = 24
const MAX_SECRET_BYTES = 64

/** Parses the endpoints of a file. Mistakes name an endpoint by its position, without its URL and secrets. */
export function parseWebhooksFile(text: string): ParsedFile<readonly WebhookEndpoint[]> {
  const broken = (mistake: string): ParsedFile<readonly WebhookEndpoint[]> => ({ value: [], mistakes: [mistake] })
  if (text.length > MAX_FILE_LENGTH) return broken(`${WEBHOOKS_FILE} is longer than ${MAX_FILE_LENGTH} characters`)
  let entries: unknown
  try {
    entries = JSON.parse(text)
  } catch (error) {
    return broken(`${WEBHOOKS_FILE} is not JSON${placeOf(error as Error, text)}`)
  }
  if (!Array.isArray(entries)) return broken(`${WEBHOOKS_FILE} must hold an array of endpoints`)
  if (entries.length > MAX_ENDPOINTS) return broken(`${WEBHOOKS_FILE} holds more than ${MAX_ENDPOINTS} endpoints`)
  const found = entries.map(readEndpoint)
  const names = new Map<string, number>()
  const mistakes = found.flatMap(({ endpoint, mistakes: wrong }, index) => {
    const name = endpoint.name.toLowerCase()
    const twice =
      names.has(name) && ENDPOINT_NAME.test(name) ? ['another entry has this name, in this or another case'] : []
    names.set(name, index)
    return [...wrong, ...twice].map((mistake) => `${WEBHOOKS_FILE}, entry ${index + 1}: ${mistake}`)
  })
  return { value: Object.freeze(found.map(({ endpoint }) => endpoint)), mistakes }
}

/** Where the parser stopped, if its message says so; it may also quote the text, which contains secrets. */
function placeOf({ message }: Error, text: string): string {
  const [, position] = /JSON at position (\d+)(?: \(line \d+ column \d+\))?$/.exec(message) ?? []
  if (position === undefined) return ''
  const lines = text.slice(0, Number(position)).split('\n')
  return `: line ${lines.length}, column ${(lines.at(-1) ?? '').length + 1}`
}

function readEndpoint(entry: unknown): { endpoint: WebhookEndpoint; mistakes: string[] } {
  const mistakes: string[] = []
  const given = (
    typeof entry === 'object' && entry !== null && !Array.isArray(entry)
      ? entry
      : (mistakes.push('must be an object'), {})
  ) as Record<string, unknown>
  const kind = ENDPOINT_KINDS.find((one) => one === (given['kind'] ?? 'webhook'))
  if (kind === undefined) mistakes.push(`kind must be one of ${ENDPOINT_KINDS.join(', ')}, or absent for webhook`)
  const members = MEMBERS[kind ?? 'webhook']
  // Without its kind, what else it may have is unknown.
  for (const member of kind === undefined ? [] : Object.keys(given))
    if (!members.includes(member))
      mistakes.push(`${JSON.stringify(member.slice(0, 40))} is not known for ${kind}; there are ${members.join(', ')}`)
  const { name } = given
  if (typeof name !== 'string' || !ENDPOINT_NAME.test(name))
    mistakes.push('name must be 1 to 64 characters of A-Z a-z 0-9 . _ -')
  const base = {
    name: textOf(name),
    types: someOf(given, 'types', EVENT_TYPES, mistakes),
    channels: someOf(given, 'channels', CHANNEL_SCOPES, mistakes),
    ...readForPeople(kind === 'webhook' ? {} : given, mistakes),
  }
  const endpoint: WebhookEndpoint =
    kind === 'mail'
      ? { ...base, kind, ...readMail(given, mistakes) }
      : { ...base, kind: kind ?? 'webhook', ...readHttp(kind, given, mistakes) }
  return { endpoint: Object.freeze(endpoint), mistakes }
}

function readHttp(
  kind: EndpointKind | undefined,
  { url, secrets }: Readonly<Record<string, unknown>>,
  mistakes: string[],
): Pick<HttpEndpoint, 'url' | 'secrets'> {
  if (typeof url !== 'string' || url.length > MAX_URL_LENGTH || !isSecureUrl(url))
    mistakes.push('url must begin with https://; http is for loopback alone')
  if (kind !== 'webhook') return { url: textOf(url), secrets: [] }
  const keys = Array.isArray(secrets) ? secrets.map(readSecret) : []
  if (keys.length < 1 || keys.length > 2) mistakes.push('secrets must be an array of one or two')
  if (keys.includes(undefined))
    mistakes.push(`a secret must be whsec_ and ${MIN_SECRET_BYTES} to ${MAX_SECRET_BYTES} bytes in base64`)
  return { url: textOf(url), secrets: keys.filter((key) => key !== undefined) }
}

function readMail(
  { to, from, smtp }: Readonly<Record<string, unknown>>,
  mistakes: string[],
): Pick<MailEndpoint, 'to' | 'from' | 'smtp'> {
  const recipients: unknown[] = Array.isArray(to) ? to : []
  const different = new Set(recipients.map((one) => textOf(one).toLowerCase())).size === recipients.length
  if (recipients.length < 1 || recipients.length > MAX_RECIPIENTS || !different || !recipients.every(isAddress))
    mistakes.push(`to must be an array of 1 to ${MAX_RECIPIENTS} different addresses like ops@example.org`)
  if (!isAddress(from)) mistakes.push('from must be an address like quota@example.org')
  const server = readSmtp(smtp)
  if (server === undefined)
    mistakes.push('smtp must be like smtp://user:password@mail.example.org:587, or smtps://, and have no path')
  return {
    to: recipients.map(textOf),
    from: textOf(from),
    smtp: server ?? { host: '', port: 0, secure: true, isLoopback: false, auth: undefined },
  }
}

function isAddress(text: unknown): boolean {
  return typeof text === 'string' && text.length <= 254 && ADDRESS.test(text)
}

function readSmtp(text: unknown): SmtpServer | undefined {
  if (typeof text !== 'string' || text.length > MAX_URL_LENGTH || !URL.canParse(text)) return undefined
  const { protocol, hostname, port, username, password, pathname, search, hash } = new URL(text)
  const usual = PORTS[protocol]
  if (usual === undefined || hostname === '' || search + hash !== '' || !['', '/'].includes(pathname)) return undefined
  // A server is sent both or neither.
  if ((username === '') !== (password === '')) return undefined
  try {
    const [user, pass] = [decodeURIComponent(username), decodeURIComponent(password)]
    return {
      host: hostname.replace(/^\[(.*)\]$/, '$1'),
      port: port === '' ? usual : Number(port),
      secure: protocol === 'smtps:',
      isLoopback: isLoopback(hostname),
      auth: username === '' ? undefined : { user, pass },
    }
  } catch {
    return undefined
  }
}

function readForPeople(
  { digest = 'none', time_zone: timeZone = 'UTC', base_url: baseUrl, filter }: Readonly<Record<string, unknown>>,
  mistakes: string[],
): Pick<EndpointBase, 'digest' | 'timeZone' | 'baseUrl' | 'filter'> {
  if (!DIGESTS.includes(digest as Digest)) mistakes.push(`digest must be one of ${DIGESTS.join(', ')}`)
  if (typeof timeZone !== 'string' || !isTimeZone(timeZone))
    mistakes.push('time_zone must be an IANA time zone like Europe/Berlin')
  const isBase = typeof baseUrl === 'string' && baseUrl.length <= MAX_URL_LENGTH && isBaseUrl(baseUrl)
  if (baseUrl !== undefined && !isBase)
    mistakes.push('base_url must be an http or https URL without user, query and fragment')
  const scope = readFilter(filter)
  if (filter !== undefined && scope === undefined)
    mistakes.push('filter must be {"label": …}, the beginning of a label, or {"group_id": …}, the id of a group')
  return {
    digest: digest as Digest,
    timeZone: textOf(timeZone),
    baseUrl: isBase ? new URL(baseUrl).href.replace(/\/$/, '') : undefined,
    filter: scope,
  }
}

function isBaseUrl(text: string): boolean {
  if (!URL.canParse(text)) return false
  const { protocol, username, password, search, hash } = new URL(text)
  return ['http:', 'https:'].includes(protocol) && username + password + search + hash === ''
}

function readFilter(filter: unknown): EventScope | undefined {
  if (typeof filter !== 'object' || filter === null || Object.keys(filter).length !== 1) return undefined
  const { label, group_id: groupId } = filter as Record<string, unknown>
  if (typeof label === 'string' && isLabel(label)) return { label }
  return Number.isSafeInteger(groupId) && Number(groupId) > 0 ? { groupId: Number(groupId) } : undefined
}

function readSecret(secret: unknown): Buffer | undefined {
  const [, text] = typeof secret === 'string' ? (SECRET.exec(secret) ?? []) : []
  if (text === undefined) return undefined
  const key = Buffer.from(text, 'base64')
  return key.length >= MIN_SECRET_BYTES && key.length <= MAX_SECRET_BYTES ? key : undefined
}

/** Of a mistake, nothing: an object may not even have a text. */
function textOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

/** A list of known words; all of them if the member is absent. */
function someOf<T extends string>(
  given: Readonly<Record<string, unknown>>,
  member: string,
  known: readonly T[],
  mistakes: string[],
): readonly T[] {
  const value = given[member]
  if (value === undefined) return known
  const good =
    Array.isArray(value) &&
    value.length > 0 &&
    new Set(value).size === value.length &&
    value.every((one) => known.includes(one as T))
  if (!good) mistakes.push(`${member} must be an array of different ones of ${known.join(', ')}, or absent for all`)
  return good ? (value as T[]) : []
}
