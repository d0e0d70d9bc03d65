import { describe, expect, it } from '@jest/globals'
import type { Role } from '../common/role.js'
import { parseInstant } from '../common/instant.js'
import { welcome } from './welcome.js'

const at = { address: '127.0.0.1', port: 3000 }
const made = (['service', 'admin'] as Role[]).map((role) => ({ name: role, role, token: `qs_${role}_x` }))
const instant = (text: string) => parseInstant(text) ?? NaN

describe('welcome', () => {
  it('prints nothing if tokens are configured', () => {
    expect(welcome(at, [], 0)).toBe('')
  })

  it('prints the tokens as lines for a shell, and a request with one of them', () => {
    const lines = welcome(at, made, instant('2026-11-21T12:00:00Z')).split('\n')
    expect(lines).toEqual(
      expect.arrayContaining(['export SERVICE_TOKEN=qs_service_x', 'export ADMIN_TOKEN=qs_admin_x']),
    )
    expect(lines.filter((line) => line.startsWith('curl '))).toEqual([
      `curl -i http://127.0.0.1:3000/api/v1/quotas -H 'Authorization: Bearer qs_service_x' -H 'Content-Type: application/json' -d '{"account_id":1,"quota_type":2,"total":1000,"cycle_unit":"month","cycle_reset_at":"2026-12-01T00:00:00.000Z"}'`,
    ])
  })

  it('prints the address of the console, if there is one', () => {
    expect(welcome(at, made, 0, '/admin')).toContain('\nhttp://127.0.0.1:3000/admin/\n')
    expect(welcome(at, made, 0)).not.toContain('onsole')
  })

  it.each([
    ['0.0.0.0', 'http://127.0.0.1:3000/'],
    ['::', 'http://[::1]:3000/'],
    ['::1', 'http://[::1]:3000/'],
    ['192.0.2.1', 'http://192.0.2.1:3000/'],
  ])('makes a URL of the address %s', (address, url) => {
    expect(welcome({ address, port: 3000 }, made, 0)).toContain(url)
  })

  it.each([
    ['2026-11-30T00:00:00Z', '2027-01-01T00:00:00.000Z'],
    ['2026-12-15T00:00:00Z', '2027-01-01T00:00:00.000Z'],
    ['2026-12-31T12:00:00Z', '2027-02-01T00:00:00.000Z'],
  ])('resets a day ahead of %s or later', (now, reset) => {
    expect(welcome(at, made, instant(now))).toContain(`"cycle_reset_at":"${reset}"`)
  })
})
