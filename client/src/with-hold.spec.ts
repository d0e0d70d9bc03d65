import { describe, expect, it } from '@jest/globals'
import { json, operation, problem, rejection, TestNetwork } from '../test/network.js'
import { HoldOpen, HoldSettled } from './problem.js'

const ID = '01a201d9-e827-7000-8000-002f05d730a8'
const TEN = { userId: 3, amount: 10 }
const KEY = { key: 'campaign-1' }
const held = operation({
  kind: 'reserve',
  state: 'reserved',
  amount: 10,
  charged: 0,
  expires_at: '2026-11-22T00:10:00.000Z',
})

/**
 * A service that holds, commits and releases; `replayed` tells whether the hold belongs to an earlier run, `state` is
 * its current state.
 */
function holding({ replayed = false, state = 'reserved', commit = 200, release = 200 } = {}): TestNetwork {
  return new TestNetwork(({ method, path }) => {
    if (path.endsWith('/reserve')) return json(201, held, replayed ? { 'idempotency-replayed': 'true' } : {})
    if (path.endsWith('/acts')) return json(200, { items: [{ kind: 'reserve', request_id: 'of-another-run' }] })
    if (method === 'GET') return json(200, { ...held, state })
    const status = path.endsWith('/commit') ? commit : release
    return status === 200 ? json(200, held) : problem(status, 'operation_already_settled', { state: 'expired' })
  })
}

const calls = ({ sent }: TestNetwork): unknown[] =>
  sent.map(({ method, path, body }) => [method, path.replace('/api/sms/quota/usage/', '').replace(ID, 'ID'), body])
const RESERVE = ['POST', 'reserve', { user_id: 3, amount: 10 }]

describe('withHold', () => {
  it('commits all of the hold after the work, and returns what the work returns', async () => {
    const network = holding()
    const result = await network.client.sms.withHold(TEN, KEY, async (hold) => `${hold.id} ${hold.amount}`)
    expect(result).toBe(`${ID} 10`)
    expect(calls(network)).toEqual([RESERVE, ['POST', 'ID/commit', { amount: 10 }]])
  })

  it('commits as much as the work says, and releases where that is nothing', async () => {
    const some = holding()
    await some.client.sms.withHold(TEN, KEY, async (hold) => hold.spend(4))
    expect(calls(some)[1]).toEqual(['POST', 'ID/commit', { amount: 4 }])
    const none = holding()
    await none.client.sms.withHold(TEN, KEY, async (hold) => hold.spend(0))
    expect(calls(none)[1]).toEqual(['POST', 'ID/release', undefined])
  })

  it('commits all of the hold where the work has spent more, and says so', async () => {
    const network = holding()
    const held = network.client.sms.withHold(TEN, KEY, async (hold) => hold.spend(11))
    await expect(held).rejects.toThrow(new RangeError('spent 11 of 10'))
    expect(calls(network)[1]).toEqual(['POST', 'ID/commit', { amount: 10 }])
  })

  it('releases where the work throws, and throws the same, also where the release fails', async () => {
    const failure = new Error('no carrier')
    for (const release of [200, 409]) {
      const network = holding({ release })
      expect(await rejection(network.client.sms.withHold(TEN, KEY, () => Promise.reject(failure)))).toBe(failure)
      expect(calls(network)[1]).toEqual(['POST', 'ID/release', undefined])
    }
  })

  it('releases where the work gives up because it was aborted', async () => {
    const abort = new AbortController()
    const network = holding()
    const call = network.client.sms.withHold(TEN, { ...KEY, signal: abort.signal }, async () => {
      abort.abort(new Error('shutting down'))
      abort.signal.throwIfAborted()
    })
    expect(await rejection(call)).toMatchObject({ message: 'shutting down' })
    expect(calls(network)[1]).toEqual(['POST', 'ID/release', undefined])
  })

  it('does no work where nothing is held', async () => {
    const network = new TestNetwork(() => problem(409, 'no_active_quota'))
    const call = network.client.sms.withHold(TEN, KEY, () => Promise.reject(new Error('worked')))
    expect(await rejection(call)).toMatchObject({ code: 'no_active_quota' })
  })

  it('does not do the work again while the hold of another run is open', async () => {
    const network = holding({ replayed: true })
    const error = await rejection(network.client.sms.withHold(TEN, KEY, () => Promise.reject(new Error('worked'))))
    expect(error).toBeInstanceOf(HoldOpen)
    expect(error).toMatchObject({
      key: 'campaign-1',
      operation: { id: ID, state: 'reserved' },
      message: expect.stringContaining('"campaign-1" is open until 2026-11-22T00:10:00.000Z'),
    })
    // The hold of the other run is left to it.
    expect(calls(network)).toEqual([RESERVE, ['GET', 'ID/acts', undefined], ['GET', 'ID', undefined]])
  })

  it.each([
    ['made by an attempt of this run whose answer was lost: it does the work', true],
    ["another run's, though an answer was lost: it does not", false],
  ])('is told by the request id of its act whose an answered hold is: %s', async (_, own) => {
    for (const requestId of [undefined, 'job-7', 'j'.repeat(128)]) {
      let made = ''
      const network = new TestNetwork(({ method, path, headers }, number) => {
        if (path.endsWith('/reserve')) {
          if (own) made = headers['x-request-id']!
          // The caller of the other run gave it the same request id.
          else made = requestId ?? 'of-another-run'
          return number === 1 ? 'broken' : json(201, held, { 'idempotency-replayed': 'true' })
        }
        if (path.endsWith('/acts')) return json(200, { items: [{ kind: 'reserve', request_id: made }] })
        return json(200, method === 'GET' ? { ...held, state: 'reserved' } : held)
      })
      const call = network.client.sms.withHold(TEN, { ...KEY, requestId }, async () => 'sent')
      if (own) expect(await call).toBe('sent')
      else expect(await rejection(call)).toBeInstanceOf(HoldOpen)
      const [first, second] = network.sent.map(({ headers }) => headers['x-request-id']!)
      expect(second).toBe(first)
      expect(first!.startsWith(requestId?.slice(0, 64) ?? '')).toBe(true)
    }
  })

  it.each(['committed', 'released', 'expired'])('does not do the work again under a hold that is %s', async (state) => {
    const network = holding({ replayed: true, state })
    const error = await rejection(network.client.sms.withHold(TEN, KEY, () => Promise.reject(new Error('worked'))))
    expect(error).toBeInstanceOf(HoldSettled)
    expect(error).toMatchObject({ key: 'campaign-1', operation: { state, id: ID } })
  })

  it('tells that the hold expired during the work', async () => {
    const network = holding({ commit: 409 })
    expect(await rejection(network.client.sms.withHold(TEN, KEY, async () => 'sent'))).toMatchObject({
      code: 'operation_already_settled',
      state: 'expired',
    })
  })
})
