import { hash, randomBytes } from 'node:crypto'
import type { Role } from '../common/role.js'

/**
 * Creates a token: `qs_`, its role, and 32 random bytes. Anybody who has it has access, so it is shown once and
 * never stored.
 */
export function newToken(role: Role): string {
  return `qs_${role}_${randomBytes(32).toString('base64url')}`
}

/** Returns the SHA-256 of a token, which is stored instead of it. A slow hash is unnecessary for 256 random bits. */
export function hashOf(token: string): Buffer {
  return hash('sha256', token, 'buffer')
}
