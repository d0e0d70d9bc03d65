import { describe, expect, it } from '@jest/globals'
import { problem, rejection, TestNetwork } from '../test/network.js'
import { isProblem } from './problem.js'
import { refusalText } from './refusal.js'

const AT = '2026-11-23T13:59:00.001Z'

describe('a refusal in words', () => {
  it.each<[string, Parameters<typeof refusalText>, string]>([
    [
      'the quotas are short',
      [{ requested: 20, remaining: 5, payable: 5, caps: [], quotas: [], refillsAt: AT }],
      '20 units do not fit: the quotas can pay 5; it fits again on 23 November 2026 at 14:00 UTC.',
    ],
    [
      'a cap is in the way',
      [{ requested: 20, remaining: 3, payable: 900, caps: [{ id: 9, total: 100, remaining: 3 }], refillsAt: AT }],
      '20 units do not fit: cap 9 of 100 has 3 left; it fits again on 23 November 2026 at 14:00 UTC.',
    ],
    [
      'both, and an administrator alone helps',
      [
        {
          requested: 20,
          remaining: 1,
          payable: 7,
          caps: [
            { id: 9, total: 100, remaining: 3 },
            { id: 10, total: 300, remaining: 1 },
          ],
          refillsAt: null,
        },
      ],
      '20 units do not fit: the quotas can pay 7, cap 9 of 100 has 3 left and cap 10 of 300 has 1 left; waiting does not help.',
    ],
    [
      'a service that knows no caps',
      [{ requested: 2, remaining: 1, quotas: [], refillsAt: null }],
      '2 units do not fit: the quotas can pay 1; waiting does not help.',
    ],
    [
      'a check, which does not repeat the question',
      [
        { remaining: 0, payable: 9, caps: [{ id: 9, total: 1, remaining: 0 }], refillsAt: AT },
        { requested: 1, units: ['recipient', 'recipients'], timeZone: 'Europe/Berlin' },
      ],
      '1 recipient does not fit: cap 9 of 1 has 0 left; it fits again on 23 November 2026 at 15:00 CET.',
    ],
    [
      'nobody says how much was asked for',
      [{ remaining: 4, payable: 9, caps: [{ id: 9, total: 10, remaining: 4 }], refillsAt: null }],
      'No more than 4 units fit: cap 9 of 10 has 4 left; waiting does not help.',
    ],
  ])('%s', (_what, given, words) => {
    expect(refusalText(...given)).toBe(words)
  })

  it('is made of what a call throws', async () => {
    const more = {
      requested: 2,
      remaining: 1,
      refills_at: null,
      quotas: [],
      payable: 5,
      caps: [{ id: 9, total: 1, remaining: 1 }],
    }
    const { client } = new TestNetwork(() => problem(409, 'quota_exceeded', more))
    const error = await rejection(client.mail.consume({ accountId: 7, amount: 2 }, { key: 'k' }))
    if (!isProblem(error, 'quota_exceeded')) throw error
    expect(refusalText(error)).toBe('2 units do not fit: cap 9 of 1 has 1 left; waiting does not help.')
  })
})
