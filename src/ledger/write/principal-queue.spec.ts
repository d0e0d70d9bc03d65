import { setImmediate as turn } from 'node:timers/promises'
import { describe, expect, it } from '@jest/globals'
import { Unavailable } from '../../error/service-error.js'
import { PrincipalQueue } from './principal-queue.js'

const LIMIT = 10
const REFUSED = { code: 'unavailable', reason: 'principal_queue' }

describe('room for the requests of a caller', () => {
  it('is there at once up to the limit, for each caller', () => {
    const rooms = new PrincipalQueue(LIMIT)
    expect([rooms.take('a', 4), rooms.take('a', 6), rooms.take('b', 10)]).toEqual([undefined, undefined, undefined])
    expect([...rooms.taken()]).toEqual([
      ['a', 10],
      ['b', 10],
    ])
  })

  it('comes in order of arrival, once others have given theirs back', async () => {
    const rooms = new PrincipalQueue(LIMIT)
    const order: string[] = []
    expect(rooms.take('a', 8)).toBeUndefined()
    const five = rooms.take('a', 5)?.then(() => order.push('five'))
    const one = rooms.take('a', 1)?.then(() => order.push('one'))
    rooms.giveBack('a', 2)
    await turn()
    // The one would fit. It came later.
    expect(order).toEqual([])
    rooms.giveBack('a', 6)
    await five
    await one
    expect(order).toEqual(['five', 'one'])
    rooms.giveBack('a', 5)
    rooms.giveBack('a', 1)
    expect(rooms.taken().size).toBe(0)
  })

  it('is given to what is larger than the limit, alone', async () => {
    const rooms = new PrincipalQueue(LIMIT)
    expect(rooms.take('a', 25)).toBeUndefined()
    const next = rooms.take('a', 1)
    rooms.giveBack('a', 25)
    await next
    expect([...rooms.taken()]).toEqual([['a', 1]])
  })

  it('is not waited for beyond the time, nor by more than four times the limit', async () => {
    const rooms = new PrincipalQueue(LIMIT, 5)
    expect(rooms.take('a', LIMIT)).toBeUndefined()
    const waiting = [10, 10, 10, 10].map(async (count) => rooms.take('a', count))
    expect(() => rooms.take('a', 1)).toThrow(Unavailable)
    await Promise.all(waiting.map(async (one) => expect(one).rejects.toMatchObject(REFUSED)))
    expect([...rooms.taken()]).toEqual([['a', LIMIT]])
    rooms.giveBack('a', LIMIT)
    expect(rooms.take('a', LIMIT)).toBeUndefined()
  })
})
