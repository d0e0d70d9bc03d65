import { hash, randomBytes } from 'node:crypto'
import type { Role } from '../role/role.js'

/**
 * Makes a new token: `qs_`, its role, and 32 random bytes. Whoever has it is the principal, so it is shown once and
 * never stored.
 */
export function newToken(role: Role): string {
  return `qs_${role}_${randomBytes(32).toString('base64url')}`
}

/**
 * What is stored of a token: its SHA-256. Enough for what is random and 256 bits long; a slow hash is for what people
 * think up.
 */
export function hashOf(token: string): Buffer {
  return hash('sha256', token, 'buffer')
}
