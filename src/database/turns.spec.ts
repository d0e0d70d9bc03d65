import { afterEach, describe, expect, it } from '@jest/globals'
import { Turns } from './turns.js'

const LONG_MS = 60_000
const later = (): number => performance.now() + LONG_MS
const turn = async (): Promise<void> => new Promise(setImmediate)

/** Ends the work that a test has left, running and waiting. */
const leftovers: (() => Promise<void>)[] = []

/** Work that a test ends; records the order in which it began. */
function bench(places: number) {
  const turns = new Turns(places)
  const began: string[] = []
  const ends = new Map<string, (error?: Error) => void>()
  const want = async (name: string, deadline = later()): Promise<string> =>
    turns.run(name.charAt(0), deadline, async () => {
      began.push(name)
      await new Promise<void>((resolve, reject) => {
        ends.set(name, (error) => (error === undefined ? resolve() : reject(error)))
      })
      return name
    })
  const end = async (name: string, error?: Error): Promise<void> => {
    ends.get(name)!(error)
    await turn()
    await turn()
  }
  leftovers.push(async () => {
    for (const name of began) await end(name)
    expect(turns.size).toBe(0)
  })
  return { turns, began, want, end }
}

// A turn that does not come is an unhandled rejection in the test that runs by then.
afterEach(async () => {
  for (const rest of leftovers.splice(0)) await rest()
})

describe('turns', () => {
  it('start work while there is a place, but never give one flow all places', async () => {
    const { turns, began, want } = bench(4)
    for (const name of ['a1', 'a2', 'a3', 'a4', 'a5']) void want(name)
    expect(began).toEqual(['a1', 'a2', 'a3'])
    void want('b1')
    expect(began).toEqual(['a1', 'a2', 'a3', 'b1'])
    expect(turns.size).toBe(2)
  })

  it('alternate between flows, regardless of their order of arrival', async () => {
    const { began, want, end } = bench(1)
    for (const name of ['a1', 'a2', 'a3', 'b1', 'c1', 'b2']) void want(name)
    for (const name of ['a1', 'a2', 'b1', 'c1', 'a3', 'b2']) await end(name)
    expect(began).toEqual(['a1', 'a2', 'b1', 'c1', 'a3', 'b2'])
  })

  it('continue after work that failed', async () => {
    const { began, want, end } = bench(1)
    const failing = want('a1')
    const next = want('b1')
    await Promise.all([expect(failing).rejects.toThrow('gone'), end('a1', new Error('gone'))])
    expect(began).toEqual(['a1', 'b1'])
    await end('b1')
    expect(await next).toBe('b1')
  })

  it('yield the event loop between two pieces of work if there is only one place', async () => {
    const turns = new Turns(1)
    const order: string[] = []
    const all = ['a', 'b', 'c'].map(async (flow) =>
      turns.run(flow, later(), async () => {
        order.push(flow)
        setImmediate(() => order.push('others'))
      }),
    )
    await Promise.all(all)
    expect(order.slice(0, 5)).toEqual(['a', 'others', 'b', 'others', 'c'])
  })

  it('yield the event loop also to one who asks for the next piece after the last', async () => {
    const turns = new Turns(1)
    const order: string[] = []
    setImmediate(() => order.push('others'))
    for (const name of ['a', 'b']) await turns.run('flow', later(), async () => void order.push(name))
    expect(order).toEqual(['a', 'others', 'b'])
  })

  it('are waited for until the deadline, and then pass to the next', async () => {
    const { turns, began, want, end } = bench(1)
    void want('a1')
    await expect(want('b1', performance.now() + 5)).rejects.toMatchObject({
      code: 'unavailable',
      reason: 'database_turn',
    })
    const other = want('c1')
    await end('a1')
    expect(began).toEqual(['a1', 'c1'])
    await end('c1')
    expect(await other).toBe('c1')
    expect(turns.size).toBe(0)
  })

  it('refuse at once requests of one flow beyond a thousand', async () => {
    const { turns, want } = bench(1)
    const waiting = Array.from({ length: 1_001 }, async (_, n) => want(`a${n}`))
    await expect(want('a1001')).rejects.toMatchObject({ reason: 'database_turn' })
    waiting.push(want('b1'))
    expect([turns.size, waiting.length]).toEqual([1_001, 1_002])
  })
})
