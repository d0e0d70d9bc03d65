import type { LookupFunction } from 'node:net'
import { describe, expect, it } from '@jest/globals'
import { sharedLookup } from './shared-lookup.js'

type Found = Parameters<LookupFunction>[2]

/** A system's resolver that answers when it is told to. */
class Resolver {
  readonly asked = new Map<string, Found>()
  readonly lookup = ((hostname: string, _options: object, found: Found) => {
    this.asked.set(hostname, found)
  }) as LookupFunction

  answer(hostname: string): void {
    this.asked.get(hostname)?.(null, '192.0.2.1', 4)
    this.asked.delete(hostname)
  }
}

const settled = async (): Promise<unknown> => new Promise(setImmediate)

describe('the lookup of endpoints', () => {
  it('asks for one at a time of the hosts about which the name servers are silent, and for any other at once', async () => {
    const resolver = new Resolver()
    const lookup = sharedLookup(resolver.lookup, async (name) => Promise.resolve(!name.startsWith('silent')))
    const found: string[] = []
    const ask = (name: string): void => lookup(name, {}, () => found.push(name))
    for (const name of ['silent-a', 'silent-b', 'silent-a', 'one', 'two', 'three']) ask(name)
    await settled()
    expect([...resolver.asked.keys()]).toEqual(['silent-a', 'one', 'two', 'three'])
    resolver.answer('two')
    resolver.answer('silent-a')
    for (let turns = 0; turns < 3; turns += 1) await settled()
    expect([...resolver.asked.keys()]).toEqual(['one', 'three', 'silent-b'])
    expect(found).toEqual(['two', 'silent-a', 'silent-a'])
  })
})
