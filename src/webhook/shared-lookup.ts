import type { LookupFunction } from 'node:net'

/**
 * Looks a host up once for all that wait for it. The system's resolver occupies a thread for as long as a name server
 * is silent, and has two of them: the attempts at one endpoint would keep every other lookup of the process waiting,
 * those of other endpoints and of the database, too.
 */
export function sharedLookup(lookup: LookupFunction): LookupFunction {
  const waiting = new Map<string, Parameters<LookupFunction>[2][]>()
  return (hostname, options, found) => {
    const key = JSON.stringify([hostname, options])
    const others = waiting.get(key)
    if (others !== undefined) {
      others.push(found)
      return
    }
    const all = [found]
    lookup(hostname, options, (...answer) => {
      waiting.delete(key)
      for (const one of all) one(...answer)
    })
    waiting.set(key, all)
  }
}
