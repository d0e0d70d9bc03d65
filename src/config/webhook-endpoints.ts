import { EVENT_TYPES, type EventType } from '../quota/event-type.js'
import { CHANNEL_SCOPES, type ChannelScope } from '../role/scope.js'
import { isSecureUrl } from './oidc.js'
import type { ParsedFile } from './watched-file.js'

/** An endpoint for events (contract, §10). */
export interface WebhookEndpoint {
  /** 1 … 64 characters of `A-Z a-z 0-9 . _ -`. */
  readonly name: string
  /** https, or http to loopback. It may contain a user and a password. */
  readonly url: string
  /** One or two: each signs. */
  readonly secrets: readonly Buffer[]
  readonly types: readonly EventType[]
  readonly channels: readonly ChannelScope[]
}

/** The configuration variable that names the file; also the prefix of its mistakes. */
export const WEBHOOKS_FILE = 'WEBHOOKS_FILE'

const MAX_FILE_LENGTH = 1_000_000
const MAX_ENDPOINTS = 100
const MAX_URL_LENGTH = 2_000
/** What an endpoint may be called. */
export const ENDPOINT_NAME = /^[A-Za-z0-9._-]{1,64}$/
const MEMBERS = ['name', 'url', 'secrets', 'types', 'channels']
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
  } catch {
    return broken(`${WEBHOOKS_FILE} is not JSON`)
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

function readEndpoint(entry: unknown): { endpoint: WebhookEndpoint; mistakes: string[] } {
  const mistakes: string[] = []
  const given = (
    typeof entry === 'object' && entry !== null && !Array.isArray(entry)
      ? entry
      : (mistakes.push('must be an object'), {})
  ) as Record<string, unknown>
  for (const member of Object.keys(given))
    if (!MEMBERS.includes(member))
      mistakes.push(`${JSON.stringify(member.slice(0, 40))} is not known; there are ${MEMBERS.join(', ')}`)
  const { name, url, secrets } = given
  if (typeof name !== 'string' || !ENDPOINT_NAME.test(name))
    mistakes.push('name must be 1 to 64 characters of A-Z a-z 0-9 . _ -')
  if (typeof url !== 'string' || url.length > MAX_URL_LENGTH || !isSecureUrl(url))
    mistakes.push('url must begin with https://; http is for loopback alone')
  const keys = Array.isArray(secrets) ? secrets.map(readSecret) : []
  if (keys.length < 1 || keys.length > 2) mistakes.push('secrets must be an array of one or two')
  if (keys.includes(undefined))
    mistakes.push(`a secret must be whsec_ and ${MIN_SECRET_BYTES} to ${MAX_SECRET_BYTES} bytes in base64`)
  return {
    endpoint: Object.freeze({
      name: String(name),
      url: String(url),
      secrets: keys.filter((key) => key !== undefined),
      types: someOf(given, 'types', EVENT_TYPES, mistakes),
      channels: someOf(given, 'channels', CHANNEL_SCOPES, mistakes),
    }),
    mistakes,
  }
}

function readSecret(secret: unknown): Buffer | undefined {
  const [, text] = typeof secret === 'string' ? (SECRET.exec(secret) ?? []) : []
  if (text === undefined) return undefined
  const key = Buffer.from(text, 'base64')
  return key.length >= MIN_SECRET_BYTES && key.length <= MAX_SECRET_BYTES ? key : undefined
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
