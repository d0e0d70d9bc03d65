import type { MadeToken } from '../auth/tokens.js'
import { formatInstant, type Instant } from '../common/instant.js'

const DAY_MS = 86_400_000

/** Addresses that mean all of the machine's: a caller on it uses this one. */
const ANY = new Map([
  ['0.0.0.0', '127.0.0.1'],
  ['::', '[::1]'],
])

/**
 * The text that a service with generated tokens prints on the terminal: the tokens, a request to paste, and the
 * console's address.
 * @param consolePath undefined if there is no console
 * @returns nothing if no token was generated
 */
export function welcome(
  at: { address: string; port: number },
  made: readonly MadeToken[],
  now: Instant,
  consolePath?: string,
): string {
  const service = made.find(({ role }) => role === 'service')
  if (service === undefined) return ''
  const host = ANY.get(at.address) ?? (at.address.includes(':') ? `[${at.address}]` : at.address)
  const body = {
    account_id: 1,
    quota_type: 2,
    total: 1000,
    cycle_unit: 'month',
    cycle_reset_at: formatInstant(nextMonth(now)),
  }
  return [
    '',
    'AUTH_TOKENS is not set; these tokens are good until the service stops:',
    ...made.map(({ role, token }) => `export ${role.toUpperCase()}_TOKEN=${token}`),
    '',
    'Try it:',
    `curl -i http://${host}:${at.port}/api/v1/quotas -H 'Authorization: Bearer ${service.token}' -H 'Content-Type: application/json' -d '${JSON.stringify(body)}'`,
    ...(consolePath === undefined
      ? []
      : ['', 'The console, for people; sign in with the ADMIN_TOKEN:', `http://${host}:${at.port}${consolePath}/`]),
    '',
    '',
  ].join('\n')
}

/** The first of a month, at least a day ahead: still in the future if it is pasted later. */
function nextMonth(now: Instant): Instant {
  const tomorrow = new Date(now + DAY_MS)
  return Date.UTC(tomorrow.getUTCFullYear(), tomorrow.getUTCMonth() + 1, 1)
}
