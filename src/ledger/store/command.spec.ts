import { describe, expect, it } from '@jest/globals'
import type { NewSettings } from '../../domain/settings.js'
import { type Command, hashRequest } from './command.js'

const QUOTA = 12
const OPERATION = '01939f3e-5c00-7a6b-8c1d-2e3f4a5b6c7d'
const MAIL = { ownerId: 7, userId: 3 }

const total: NewSettings = {
  quotaType: 1,
  total: 100,
  used: 0,
  expireAt: Date.parse('2027-01-01T00:00:00Z'),
  cycleUnit: null,
  cycleResetAt: null,
  cycleTimeZone: null,
  label: null,
  cap: null,
  windowSeconds: null,
  thresholds: [],
}
const cycle: NewSettings = {
  quotaType: 2,
  total: 100,
  used: 0,
  expireAt: null,
  cycleUnit: 'month',
  cycleResetAt: Date.parse('2026-12-01T00:00:00Z'),
  cycleTimeZone: 'Europe/Berlin',
  label: null,
  cap: null,
  windowSeconds: null,
  thresholds: [],
}

/** As releases have stored them: a key that was used before an upgrade replays after it. */
const STORED: [Command, string][] = [
  [{ kind: 'create', subjects: MAIL, settings: total }, '618f41600bb40b9749d34fe8083b5748'],
  [{ kind: 'create', subjects: { ownerId: 7 }, settings: total }, '33c6e1857168dcec94ea2fe9bb7e5fe6'],
  [{ kind: 'create', subjects: { ownerId: 7, userId: null }, settings: cycle }, 'fd2b0735890a443782e9f52593728565'],
  [
    { kind: 'create', subjects: MAIL, settings: { ...cycle, label: 'Spring campaign' } },
    '95eb5f20f5c593d14558b7e7231da261',
  ],
  [{ kind: 'update', quotaId: QUOTA, patch: { total: 5 }, version: 2 }, '799db5d5f87502fb0a70648151500b99'],
  [{ kind: 'delete', quotaId: QUOTA, version: undefined }, 'a7f3c1789b026b16c48dfbf1cc8b6ec9'],
  [{ kind: 'restore', quotaId: QUOTA }, '050c68378c00395b6ff7b2e4e9dfcede'],
  [{ kind: 'reset', quotaId: QUOTA, version: undefined }, 'ea8d7039cb8c9d392d928f5780abd534'],
  [{ kind: 'reset', quotaId: QUOTA, version: 4 }, '92e03b1cbe45a6faba63455ae9cd57c2'],
  [{ kind: 'consume', amount: 5 }, '5f90f0cffeaf1f022fef96224d0b7630'],
  [{ kind: 'reserve', amount: 5, ttlSeconds: 60 }, 'aadc98d50c47d9cd6b9cfe90b4777531'],
  [{ kind: 'commit', operationId: OPERATION, amount: 3 }, '07b46e33e018d2c1381f15ee84822ae6'],
  [{ kind: 'release', operationId: OPERATION }, '26e191d709f4514e3711a06a5f2d0de7'],
  [{ kind: 'refund', operationId: OPERATION, amount: undefined }, '47dc584516ee62f157f5e0b1424d8e63'],
  [{ kind: 'sweep' }, ''],
]

describe('the hash of a request', () => {
  it.each(STORED)('%j is the one that was stored', (command, stored) => {
    expect(hashRequest(command, 7)).toBe(stored)
  })

  const create = (settings: NewSettings, subjects: Record<string, number | null> = MAIL): string =>
    hashRequest({ kind: 'create', subjects, settings }, 7)

  it('differs with each setting of a create', () => {
    const others: NewSettings[] = [
      cycle,
      { ...cycle, quotaType: 1 },
      { ...cycle, total: 101 },
      { ...cycle, expireAt: 5 },
      { ...cycle, cycleUnit: 'day' },
      { ...cycle, cycleResetAt: 5 },
      { ...cycle, cycleTimeZone: 'UTC' },
      { ...cycle, label: 'a' },
      { ...cycle, used: 5 },
      { ...cycle, windowSeconds: 5 },
    ]
    expect(new Set(others.map((settings) => create(settings))).size).toBe(others.length)
    expect(create(cycle)).not.toBe(create(cycle, { ownerId: 7, userId: 4 }))
  })

  it('does not depend on the order of the members, nor on the amount', () => {
    const turned = Object.fromEntries(Object.entries(cycle).reverse()) as unknown as NewSettings
    expect(create(turned)).toBe(create(cycle))
    expect(hashRequest({ kind: 'consume', amount: 1 }, 7)).toBe(hashRequest({ amount: 2, kind: 'consume' }, 7))
  })
})
