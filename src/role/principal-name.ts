import { createHash } from 'node:crypto'

/** Before the names and ids of the identity provider's principals; no static token's name has a colon. */
export const OIDC_PREFIX = 'oidc:'

/** Characters of a principal's name at most, prefix included, as code points. */
const MAX_NAME_LENGTH = 64
/** Digits of the digest that ends a name that is too long. */
const NAME_DIGITS = 12

/** The name of a principal of the identity provider, by what its token tells. */
export function oidcName(told: string): string {
  return cut(OIDC_PREFIX + told, told)
}

/**
 * A principal's name as columns and the log hold it: in ASCII, what lies beyond and `%` being percent-encoded, and cut
 * where that is too long (docs/decisions/0064-jwts-beside-tokens.md).
 */
export function storedName(name: string): string {
  if (!name.startsWith(OIDC_PREFIX)) return name
  return cut(name.replace(/[^\x20-\x24\x26-\x7e]/gu, encodeURIComponent), name.slice(OIDC_PREFIX.length))
}

/** The name for the Unicode column; null if `storedName` is the same. */
export function unicodeName(name: string): string | null {
  return storedName(name) === name ? null : name
}

/** A principal's name by what those two columns hold. */
export function nameOf(stored: string, beside: string | null): string {
  // An older instance writes `stored` alone, and leaves the other column as it is.
  if (beside !== null && storedName(beside) === stored) return beside
  if (!stored.startsWith(OIDC_PREFIX)) return stored
  try {
    // Releases before 0.5.0 write nothing beside.
    return decodeURIComponent(stored)
  } catch {
    return stored
  }
}

function cut(name: string, whole: string): string {
  const characters = Array.from(name)
  if (characters.length <= MAX_NAME_LENGTH) return name
  const digest = createHash('sha256').update(whole, 'utf8').digest('hex').slice(0, NAME_DIGITS)
  return `${characters.slice(0, MAX_NAME_LENGTH - NAME_DIGITS - 1).join('')}~${digest}`
}
