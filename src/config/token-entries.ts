import { type Role, ROLES } from '../role/role.js'
import { readScopes, type Scope } from '../role/scope.js'
import { type Instant, parseInstant } from '../time/instant.js'

/** One good token, known by its hash alone. */
export interface TokenEntry {
  readonly name: string
  readonly role: Role
  /** What narrows the role, in the order of SCOPES; undefined where nothing does. */
  readonly scopes: readonly Scope[] | undefined
  /** SHA-256 of the token, 32 bytes. */
  readonly hash: Buffer
  /** The last instant at which the token is good; undefined where it has no end. */
  readonly notAfter: Instant | undefined
}

/** Entries that were read, and what is wrong with them, one mistake a line and none with a secret in it. */
export interface ReadTokens {
  readonly tokens: readonly TokenEntry[]
  readonly mistakes: readonly string[]
}

/** The setting that names the file, and what its mistakes are told under. */
export const TOKENS_FILE = 'AUTH_TOKENS_FILE'

/** Characters that a file of entries has at most. */
const MAX_FILE_LENGTH = 1_000_000

const TOKEN_NAME = /^[A-Za-z0-9._-]{1,64}$/

const FORM = 'must be name:role:sha256hex, or name:role:sha256hex:not_after with a time like 2027-01-01T00:00:00Z'

/** Why a token's name is refused, or undefined. */
export function tokenNameMistake(name: string): string | undefined {
  return TOKEN_NAME.test(name) ? undefined : 'a name must be 1 to 64 characters of A-Z a-z 0-9 . _ -'
}

/** Reads the entries of a file: separated by commas or ends of lines; from `#` to the end of its line is a comment. */
export function parseTokensFile(text: string): ReadTokens {
  if (text.length > MAX_FILE_LENGTH) {
    return { tokens: [], mistakes: [`${TOKENS_FILE} is longer than ${MAX_FILE_LENGTH} characters`] }
  }
  const entries = text
    .replace(/#.*/g, '')
    .split(/[,\n]/)
    .map((entry) => entry.trim())
    .filter((entry) => entry !== '')
  if (entries.length === 0) return { tokens: [], mistakes: [`${TOKENS_FILE} holds no entry`] }
  return parseTokens(entries, TOKENS_FILE)
}

/**
 * Reads entries. They are told by their place: a digest pasted into the wrong field must not end up in a log.
 * @param source where they stand, for the mistakes
 */
export function parseTokens(entries: readonly string[], source: string): ReadTokens {
  const tokens: TokenEntry[] = []
  const allMistakes: string[] = []
  /** By name: tokens of one name are one caller. */
  const rights = new Map<string, { readonly role: Role; readonly scopes: string }>()
  const hashes = new Set<string>()
  /** The name as it was first written, by what people take for the same. */
  const written = new Map<string, string>()
  for (const [index, entry] of entries.entries()) {
    // The time has colons of its own.
    const [name = '', roleText = '', hash = '', ...time] = entry.split(':')
    const [roleName, ...words] = roleText.split('+')
    const role = ROLES.find((one) => one === roleName)
    const { scopes, mistakes: wrongScopes } = readScopes(words, role)
    const notAfter = time.length === 0 ? undefined : parseInstant(time.join(':'))
    const mistakes = [
      ...(hash === '' || (time.length > 0 && notAfter === undefined) ? [FORM] : []),
      ...(TOKEN_NAME.test(name) ? [] : [tokenNameMistake(name) ?? '']),
      ...(role === undefined ? [`the role must be one of ${ROLES.join(', ')}`] : []),
      ...wrongScopes,
      ...(hash === '' || /^[0-9a-f]{64}$/i.test(hash) ? [] : ['the digest must be the 64 hex digits of a SHA-256']),
    ]
    if (hashes.has(hash.toLowerCase())) mistakes.push('another entry has the same digest')
    if ((written.get(name.toLowerCase()) ?? name) !== name)
      mistakes.push('another entry has a name that differs in case alone: write both the same way, or rename one')
    const other = rights.get(name)
    const scopeList = scopes?.join() ?? ''
    if (role !== undefined && other !== undefined) {
      if (other.role !== role) mistakes.push('another entry of that name has another role')
      else if (other.scopes !== scopeList) mistakes.push('another entry of that name has other scopes')
    }
    allMistakes.push(...mistakes.map((mistake) => `${source}, entry ${index + 1}: ${mistake}`))
    if (mistakes.length > 0 || role === undefined) continue
    hashes.add(hash.toLowerCase())
    written.set(name.toLowerCase(), name)
    rights.set(name, { role, scopes: scopeList })
    tokens.push(Object.freeze({ name, role, scopes, hash: Buffer.from(hash, 'hex'), notAfter }))
  }
  return { tokens: Object.freeze(tokens), mistakes: allMistakes }
}
