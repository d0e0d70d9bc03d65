import { createHash } from 'node:crypto'

/** The prefix of the names and ids of the identity provider's principals; no static token's name contains a colon. */
export const OIDC_PREFIX = 'oidc:'

/** The maximum length of a principal's name, including the prefix, in code points. */
const MAX_NAME_LENGTH = 64
/** The number of digits of the digest that ends a name that is too long. */
const NAME_DIGITS = 12

/** The name of a principal of the identity provider, from a claim of its token. */
export function oidcName(claimed: string): string {
  return cut(OIDC_PREFIX + claimed, claimed)
}

/**
 * A principal's name in the form of columns and the log: in ASCII, other characters and `%` percent-encoded, truncated
 * if it is too long (docs/decisions/README.md, 0064).
 */
export function storedName(name: string): string {
  if (!name.startsWith(OIDC_PREFIX)) return name
  return cut(name.replace(/[^\x20-\x24\x26-\x7e]/gu, encodeURIComponent), name.slice(OIDC_PREFIX.length))
}

/** The name for the Unicode column; null if `storedName` is the same. */
export function unicodeName(name: string): string | null {
  return storedName(name) === name ? null : name
}

/** Returns a principal's name from those two columns. */
export function nameOf(stored: string, unicode: string | null): string {
  return unicode ?? stored
}

function cut(name: string, whole: string): string {
  const characters = Array.from(name)
  if (characters.length <= MAX_NAME_LENGTH) return name
  const digest = createHash('sha256').update(whole, 'utf8').digest('hex').slice(0, NAME_DIGITS)
  return `${characters.slice(0, MAX_NAME_LENGTH - NAME_DIGITS - 1).join('')}~${digest}`
}
