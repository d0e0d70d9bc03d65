import dns from 'node:dns/promises'
import type { LookupFunction } from 'node:net'
import { Turns } from '../database/turns.js'

/** The maximum wait for the lookup of a name about which the name servers are silent, in milliseconds. */
const SILENT_PATIENCE_MS = 5_000
/** The patience with a name server: one second, then two. */
const QUESTION = { timeout: 1_000, tries: 2 }

/**
 * Looks hosts up by the system's resolver without taking all of its threads. A lookup occupies one for as long as a
 * name server is silent, and there are two of them: endpoints about which the name servers are silent would keep every
 * other lookup of the process waiting, those of the database, too. So
 *
 * - all attempts that wait for the same host share a lookup;
 * - the name servers are asked first, without a thread; hosts about which they are silent are looked up one at a time,
 *   since the system may know them all the same.
 *
 * @param lookup the system's
 * @param isAnswered do the name servers answer, in whatever way?
 */
export function sharedLookup(
  lookup: LookupFunction,
  isAnswered: (hostname: string) => Promise<boolean> = askNameServers,
): LookupFunction {
  const waiting = new Map<string, Parameters<LookupFunction>[2][]>()
  const silent = new Turns(1)
  return (hostname, options, found) => {
    const key = JSON.stringify([hostname, options])
    const others = waiting.get(key)
    if (others !== undefined) {
      others.push(found)
      return
    }
    const all = [found]
    const end: typeof found = (...answer) => {
      waiting.delete(key)
      for (const one of all) one(...answer)
    }
    waiting.set(key, all)
    const look = async (): Promise<void> =>
      new Promise((resolve) => {
        lookup(hostname, options, (...answer) => {
          end(...answer)
          resolve()
        })
      })
    isAnswered(hostname)
      .then(async (answered) =>
        answered ? look() : silent.run(hostname, performance.now() + SILENT_PATIENCE_MS, look),
      )
      .catch(() => {
        const error = new Error(`the name servers do not answer about ${hostname}`)
        end(Object.assign(error, { code: 'EAI_AGAIN' }), '')
      })
  }
}

async function askNameServers(hostname: string): Promise<boolean> {
  // Never a question to a name server (RFC 6761).
  if (hostname === 'localhost') return true
  const resolver = new dns.Resolver(QUESTION)
  const answers = await Promise.allSettled([resolver.resolve4(hostname), resolver.resolve6(hostname)])
  return answers.every(
    (answer) => answer.status === 'fulfilled' || (answer.reason as NodeJS.ErrnoException).code !== 'ETIMEOUT',
  )
}
