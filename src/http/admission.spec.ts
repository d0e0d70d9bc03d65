import { EventEmitter } from 'node:events'
import { describe, expect, it, jest } from '@jest/globals'
import type { Config } from '../config/config.js'
import { Admission } from './admission.js'

const LIMITS = { principalRequests: 3, principalBodyBytes: 100, maxConnections: 10, requestTimeoutSeconds: 20 }

const admission = (limits: Partial<Config> = {}) => new Admission({ ...LIMITS, ...limits } as Config)

/** Enters, and tells whether it was let in. */
function enter(gate: Admission, principal: string, bytes: number) {
  const response = Object.assign(new EventEmitter(), { closed: false })
  const over = () => {
    response.closed = true
    response.emit('close')
  }
  const state = { letIn: false, refused: undefined as unknown, over }
  const refuse = (error: unknown) => (state.refused = error)
  try {
    const turn = gate.enter(principal, bytes, response)
    if (turn === undefined) state.letIn = true
    else turn.then(() => (state.letIn = true), refuse)
  } catch (error) {
    refuse(error)
  }
  return state
}

const settled = () => new Promise(setImmediate)

describe('admission', () => {
  it('lets so many requests of a principal in, the next in order of arrival, and others at once', async () => {
    const gate = admission()
    const [one, two, three, four, five] = Array.from({ length: 5 }, () => enter(gate, 'a', 0))
    expect([one, two, three, four, five].map((state) => state?.letIn)).toEqual([true, true, true, false, false])
    expect(enter(gate, 'b', 0).letIn).toBe(true)
    two?.over()
    await settled()
    expect([four?.letIn, five?.letIn]).toEqual([true, false])
    expect(gate.inHand()).toEqual([
      { principal: 'a', requests: 3, waiting: 1, refused: 0 },
      { principal: 'b', requests: 1, waiting: 0, refused: 0 },
    ])
  })

  it('counts bytes, and lets what is larger than all of them in alone', async () => {
    const gate = admission()
    const [small, large, tiny] = [60, 1_000, 1].map((bytes) => enter(gate, 'a', bytes))
    // The tiny one would fit, but came later.
    expect([small, large, tiny].map((state) => state?.letIn)).toEqual([true, false, false])
    small?.over()
    await settled()
    expect([large?.letIn, tiny?.letIn]).toEqual([true, false])
    large?.over()
    await settled()
    expect(tiny?.letIn).toBe(true)
  })

  it('forgets who hung up while waiting', async () => {
    const gate = admission()
    const [first, gone, last] = [100, 100, 100].map((bytes) => enter(gate, 'a', bytes))
    gone?.over()
    first?.over()
    await settled()
    expect([gone?.letIn, last?.letIn]).toEqual([false, true])
    last?.over()
    expect(gate.inHand()).toEqual([{ principal: 'a', requests: 0, waiting: 0, refused: 0 }])
  })

  it('keeps no share for a request that is over before it enters', () => {
    const gate = admission()
    const response = Object.assign(new EventEmitter(), { closed: true })
    expect(() => gate.enter('a', 1, response)).toThrow('The caller closed the connection')
    expect(gate.inHand()).toEqual([])
  })

  it('refuses at once where a principal would keep more than half of the connections busy', async () => {
    const gate = admission()
    const states = Array.from({ length: 7 }, () => enter(gate, 'a', 0))
    await settled()
    expect(states.map(({ letIn }) => letIn)).toEqual([true, true, true, false, false, false, false])
    expect(states.map(({ refused }) => refused !== undefined)).toEqual([false, false, false, false, false, true, true])
    expect(states[5]?.refused).toMatchObject({ code: 'unavailable', retryAfterSeconds: 1 })
    expect(enter(gate, 'b', 0).letIn).toBe(true)
    expect(gate.inHand()[0]).toEqual({ principal: 'a', requests: 3, waiting: 2, refused: 2 })
    states[0]?.over()
    states[1]?.over()
    await settled()
    expect(enter(gate, 'a', 0).refused).toBeUndefined()
  })

  it.each([
    [20, 10_000],
    // Otherwise a body that nobody reads would be late, which would be the caller's fault.
    [4, 2_000],
  ])('refuses whose turn does not come in time: a request must arrive within %i s', async (seconds, patience) => {
    jest.useFakeTimers({ doNotFake: ['setImmediate'] })
    try {
      const gate = admission({ requestTimeoutSeconds: seconds })
      const first = enter(gate, 'a', 100)
      const late = enter(gate, 'a', 100)
      jest.advanceTimersByTime(patience - 1)
      await settled()
      expect(late.refused).toBeUndefined()
      jest.advanceTimersByTime(1)
      await settled()
      expect(late.refused).toMatchObject({ code: 'unavailable', retryAfterSeconds: 1 })
      expect(gate.inHand()).toEqual([{ principal: 'a', requests: 1, waiting: 0, refused: 1 }])
      first.over()
      expect(gate.inHand()).toEqual([{ principal: 'a', requests: 0, waiting: 0, refused: 1 }])
    } finally {
      jest.useRealTimers()
    }
  })

  it('measures the principals of the identity provider as one', async () => {
    const gate = admission()
    const states = Array.from({ length: 7 }, (_one, n) => enter(gate, `oidc:${n}`, 0))
    for (let n = 0; n < 6; n += 1) enter(gate, 'oidc:0', 0)
    await settled()
    expect(gate.inHand()).toEqual([{ principal: 'oidc', requests: 9, waiting: 2, refused: 2 }])
    for (const { over } of states) over()
    expect(gate.inHand()[0]).toMatchObject({ principal: 'oidc', requests: 3 })
  })
})
