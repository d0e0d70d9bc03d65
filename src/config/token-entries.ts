import { type Role, ROLES } from '../common/role.js'
import { readScopes, type Scope } from '../common/scope.js'
import { type Instant, parseInstant } from '../common/instant.js'

/** A valid token, of which only the hash is known. */
export interface TokenEntry {
  readonly name: string
  readonly role: Role
  /** The scopes, in the order of SCOPES; undefined if there are none. */
  readonly scopes: readonly Scope[] | undefined
  /** SHA-256 of the token, 32 bytes. */
  readonly hash: Buffer
  /** The last instant at which the token is valid; undefined if it does not expire. */
  readonly notAfter: Instant | undefined
}

/** The parsed entries and their mistakes, one per line and without secrets. */
export interface ReadTokens {
  readonly tokens: readonly TokenEntry[]
  readonly mistakes: readonly string[]
}

/** The configuration variable that names the file; also the prefix of its mistakes. */
export const TOKENS_FILE = 'AUTH_TOKENS_FILE'

/** The maximum number of characters in a file of entries. */
const MAX_FILE_LENGTH = 1_000_000

const TOKEN_NAME = /^[A-Za-z0-9._-]{1,64}$/

const FORM = 'must be name:role:sha256hex, or name:role:sha256hex:not_after with a time like 2027-01-01T00:00:00Z'

/** What the command prints for the caller, in place of the entry, or of its digest. */
const isToken = (entry: string): boolean =>
  ROLES.some((role) => entry.split(':').some((part) => part.startsWith(`qs_${role}_`)))

const TOKEN_GIVEN = 'is a token itself; its entry is the last line that `node dist/src/token.js` printed with it'

/** The reason why a token's name is refused, or undefined. */
export function tokenNameMistake(name: string): string | undefined {
  return TOKEN_NAME.test(name) ? undefined : 'a name must be 1 to 64 characters of A-Z a-z 0-9 . _ -'
}

/** Parses the entries of a file: separated by commas or line ends; `#` begins a comment. */
export function parseTokensFile(text: string): ReadTokens {
  if (text.length > MAX_FILE_LENGTH) {
    return { tokens: [], mistakes: [`${TOKENS_FILE} is longer than ${MAX_FILE_LENGTH} characters`] }
  }
  const entries = text.split('\n').flatMap((line, index) => {
    const found = line
      .replace(/#.*/, '')
      .split(',')
      .map((entry) => entry.trim())
      .filter((entry) => entry !== '')
    return found.map((entry, at) => {
      const place = `${TOKENS_FILE}, line ${index + 1}`
      return { entry, place: found.length === 1 ? place : `${place}, entry ${at + 1}` }
    })
  })
  if (entries.length === 0) return { tokens: [], mistakes: [`${TOKENS_FILE} holds no entry`] }
  return parseEntries(entries)
}

/** Parses the entries of a variable. */
export function parseTokens(entries: readonly string[], variable: string): ReadTokens {
  return parseEntries(entries.map((entry, index) => ({ entry, place: `${variable}, entry ${index + 1}` })))
}

/** Mistakes name entries by their place: a digest pasted into the wrong field must not appear in a log. */
function parseEntries(entries: readonly { readonly entry: string; readonly place: string }[]): ReadTokens {
  const tokens: TokenEntry[] = []
  const allMistakes: string[] = []
  /** By name: tokens of one name are one caller. */
  const rights = new Map<string, { readonly role: Role; readonly scopes: string }>()
  const hashes = new Set<string>()
  /** The first spelling of each name, by the form that people take for the same. */
  const written = new Map<string, string>()
  for (const { entry, place } of entries) {
    // The time contains colons.
    const [name = '', roleText = '', hash = '', ...time] = entry.split(':')
    const [roleName, ...words] = roleText.split('+')
    const role = ROLES.find((one) => one === roleName)
    const { scopes, mistakes: wrongScopes } = readScopes(words, role)
    const nameMistake = tokenNameMistake(name)
    const notAfter = time.length === 0 ? undefined : parseInstant(time.join(':'))
    const ownMistakes = [
      ...(hash === '' || (time.length > 0 && notAfter === undefined) ? [FORM] : []),
      ...(nameMistake === undefined ? [] : [nameMistake]),
      ...(role === undefined ? [`the role must be one of ${ROLES.join(', ')}`] : []),
      ...wrongScopes,
      ...(hash === '' || /^[0-9a-f]{64}$/i.test(hash) ? [] : ['the digest must be the 64 hex digits of a SHA-256']),
    ]
    const mistakes = isToken(entry) ? [TOKEN_GIVEN] : ownMistakes
    if (hashes.has(hash.toLowerCase())) mistakes.push('another entry has the same digest')
    if ((written.get(name.toLowerCase()) ?? name) !== name)
      mistakes.push('another entry has a name that differs in case alone: write both the same way, or rename one')
    const other = rights.get(name)
    const scopeList = scopes?.join() ?? ''
    if (role !== undefined && other !== undefined) {
      if (other.role !== role) mistakes.push('another entry of that name has another role')
      else if (other.scopes !== scopeList) mistakes.push('another entry of that name has other scopes')
    }
    allMistakes.push(...mistakes.map((mistake) => `${place}: ${mistake}`))
    if (mistakes.length > 0 || role === undefined) continue
    hashes.add(hash.toLowerCase())
    written.set(name.toLowerCase(), name)
    rights.set(name, { role, scopes: scopeList })
    tokens.push(Object.freeze({ name, role, scopes, hash: Buffer.from(hash, 'hex'), notAfter }))
  }
  return { tokens: Object.freeze(tokens), mistakes: allMistakes }
}
