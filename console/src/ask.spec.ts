import { describe, expect, it } from '@jest/globals'
import { askParts, HOWS, readBy, textOf, totalOf } from './ask.ts'

const WORDS = { owner: 'account', time: (at: string) => at.slice(0, 10) }
const said = (filter: object, change: object): string => textOf(askParts(filter, change, WORDS))

describe('a requested change, in words', () => {
  it.each([
    [{ all: true }, { update: { total: { percent: 10 } } }, 'Every quota: total raised by 10\u00a0%.'],
    [{ status: 'expired' }, { delete: true }, 'Every expired quota: deleted.'],
    [{ ids: [12] }, { delete: true }, 'Quota #12: deleted.'],
    [{ ids: [12, 13], label: 'Trial' }, { delete: true }, 'Each of 2 chosen quotas: deleted.'],
    [{ owner: 7, cap: 'none' }, { reset: true }, 'Every quota of account 7 that pays: count set to 0.'],
    [
      { owner: 7, person: 3, label: 'Trial', cap: 'enforce', status: 'active' },
      { update: { total: { add: -500 }, status: 'disabled', label: null } },
      'Every active quota of account 7 whose account belongs to user 3 and that limits and whose label begins with “Trial”: ' +
        'total lowered by 500, disabled, label taken away.',
    ],
    [
      { cap: 'observe' },
      { update: { cap: 'enforce', windowSeconds: 86_400, total: 1200 } },
      'Every quota that only watches: limits, window 24 hours, total 1,200.',
    ],
    [
      { all: true },
      {
        update: {
          status: 'active',
          label: 'Basic',
          expireAt: '2027-01-31T00:00:00.000Z',
          thresholds: [50, 80],
          cycleUnit: 'month',
          cycleResetAt: '2027-02-01T00:00:00.000Z',
          cycleTimeZone: 'UTC',
        },
      },
      'Every quota: enabled, label “Basic”, ends 2027-01-31, notifies at 50\u00a0%, 80\u00a0%, cycle of a month, ' +
        'next reset 2027-02-01, time zone UTC.',
    ],
    [
      { all: true },
      { update: { expireAt: null, thresholds: [], total: { percent: -5 } } },
      'Every quota: ends never, notifies at no threshold, total lowered by 5\u00a0%.',
    ],
  ])('%j %j', (filter, change, sentence) => {
    expect(said(filter, change)).toBe(sentence)
  })

  it('isolates names, for any direction of writing', () => {
    const parts = askParts({ label: 'تجربة' }, { update: { label: 'אב' } }, WORDS)
    expect(parts.filter((part) => typeof part !== 'string')).toEqual([{ name: 'تجربة' }, { name: 'אב' }])
  })

  it('reads a typed total', () => {
    const value = (how: (typeof HOWS)[number], text: string) => {
      const { value: read } = readBy(how, text)
      return read === undefined ? undefined : totalOf(how, read)
    }
    expect(HOWS.map((how) => value(how, '50'))).toEqual([
      { percent: 50 },
      { percent: -50 },
      { add: 50 },
      { add: -50 },
      50,
    ])
    expect(HOWS.map((how) => value(how, '101'))).toEqual([
      { percent: 101 },
      undefined,
      { add: 101 },
      { add: -101 },
      101,
    ])
    expect(HOWS.map((how) => value(how, '10.001'))).toEqual([
      undefined,
      undefined,
      { add: 10_001 },
      { add: -10_001 },
      10_001,
    ])
    expect(HOWS.map((how) => value(how, '0'))).toEqual([undefined, undefined, undefined, undefined, 0])
  })
})
