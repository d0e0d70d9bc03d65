import { isProblem, type QuotaClient } from '@quota-service/client'
import { ofService, wordsOf } from './spending.js'

/** Returns the reason why mail cannot be charged at the moment, for an operator; undefined if it can. */
export type Readiness = () => Promise<string | undefined>

/** The deadline of a probe's request to the service. */
const PROBE_MS = 2_000
/** How long an answer is valid, so that probes cost the service next to nothing. */
const FRESH_MS = 5_000

/**
 * A check of any account: it needs the right that a charge needs, and the database. The account need not exist, since
 * an owner without quotas has a check's answer, too.
 */
export function readinessOf(client: QuotaClient): Readiness {
  return shared(async () => {
    try {
      ofService(await client.mail.check({ accountId: 1, amount: 1 }, { deadlineMs: PROBE_MS }), 'allowed')
      return undefined
    } catch (error) {
      const what = isProblem(error, 'unauthenticated')
        ? 'the service does not know the token; set a valid one in QUOTA_TOKEN or its file, or its entry in AUTH_TOKENS of the service'
        : isProblem(error, 'forbidden')
          ? 'the token may not spend from mail accounts; give it the role usage and the scope mail in AUTH_TOKENS of the service'
          : 'the service cannot be asked'
      return `${what}: ${wordsOf(error)}`
    }
  })
}

/**
 * Asks at most once in `FRESH_MS`; others share the answer, or wait for it.
 * @param now milliseconds since an arbitrary moment
 */
export function shared(ask: Readiness, now: () => number = () => performance.now()): Readiness {
  let latest: { readonly answer: Promise<string | undefined>; readonly until: number } | undefined
  return () => {
    if (latest === undefined || latest.until <= now()) latest = { answer: ask(), until: now() + FRESH_MS }
    return latest.answer
  }
}
