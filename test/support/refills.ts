import type { Instant } from '../../src/common/instant.js'
import type { QuotaState } from '../../src/domain/quota.js'
import { type Hold, Refills } from '../../src/domain/refill.js'

/** How often some of the holds, not all, gave the answer, and how often not. */
export const fromSome = { given: 0, not: 0 }

/**
 * The answer from all holds. Asks also with the earliest of them, for any number: each such answer must be the same, or
 * undefined where a later hold may matter.
 * @param holds as many as there are units reserved
 */
export function refillsAt(
  payers: readonly QuotaState[],
  holds: readonly Hold[],
  amount: number,
  caps: readonly QuotaState[] = [],
): Instant | null {
  const inOrder = [...holds].sort((a, b) => a.expiresAt - b.expiresAt)
  const whole = new Refills(payers, inOrder, caps).at(amount)
  if (whole === undefined) throw new Error('undefined from all holds')
  for (const [n] of inOrder.entries()) {
    const known = inOrder.slice(0, n)
    const knownUntil = known.at(-1)?.expiresAt ?? -Infinity
    const at = new Refills(payers, { values: () => known, knownUntil }, caps).at(amount)
    fromSome[at === undefined ? 'not' : 'given'] += 1
    const isSure = whole !== null && whole < knownUntil
    if (at === undefined ? isSure : at !== whole) throw new Error(`${at} from ${n} holds, ${whole} from all`)
  }
  return whole
}
