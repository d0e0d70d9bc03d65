import { beforeAll, beforeEach, expect } from '@jest/globals'
import type { Response } from 'supertest'
import { type As, type Sent, TestApp } from '../app.js'
import type { ChannelApi } from '../channel-api.js'
import { START, sweeperOf } from '../quota-api.js'
import type { StoreKind } from '../store.js'

/** The members of a batch's result that tests use. */
export interface BatchResult {
  status: number
  replayed?: boolean
  operation?: { id: string; owner_remaining: number }
  problem?: { errors?: { field: string }[] }
}

export const MINUTE = 60
export const HOUR = 3600
export const DAY = 86_400
export const LARGEST = 1_000_000_000_000
export const UUID_V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

/**
 * One channel's usage under test: with its own application, an owner for every test, and helpers for requests.
 * Call it within a `describe`.
 */
export function usageSuite(channel: ChannelApi, other: ChannelApi, kind: StoreKind) {
  let app: TestApp
  let owner = 1000
  let keys = 0

  beforeAll(async () => {
    app = await TestApp.on(kind)
  })

  // Every test has its own owner, and begins at the same noon.
  beforeEach(() => {
    owner += 1
    app.clock.set(START)
  })
  const newKey = (): string => `key-${(keys += 1)}`
  const inSeconds = (seconds: number): string => app.clock.after(seconds)

  /** Creates a quota of type 1. */
  async function total(amount: number, endsIn = 30 * DAY, more: object = {}): Promise<number> {
    const body = { [channel.owner]: owner, quota_type: 1, total: amount, expire_at: inSeconds(endsIn), ...more }
    const made = await app.post(channel.quotas, body)
    expect(made.status).toBe(201)
    return made.body.id
  }

  /** Creates a quota of type 2. */
  async function cycle(amount: number, resetsIn = DAY, more: object = {}): Promise<number> {
    const made = await app.post(channel.quotas, {
      [channel.owner]: owner,
      quota_type: 2,
      total: amount,
      cycle_unit: 'day',
      cycle_reset_at: inSeconds(resetsIn),
      ...more,
    })
    expect(made.status).toBe(201)
    return made.body.id
  }

  const consume = async (amount: number, key = newKey(), sent: Sent = {}): Promise<Response> =>
    app.post(`${channel.usage}/consume`, { [channel.owner]: owner, amount }, { as: 'usage', key, ...sent })
  const reserve = async (amount: number, ttl?: number, key = newKey(), sent: Sent = {}): Promise<Response> =>
    app.post(
      `${channel.usage}/reserve`,
      { [channel.owner]: owner, amount, ...(ttl === undefined ? {} : { ttl_seconds: ttl }) },
      { as: 'usage', key, ...sent },
    )
  const commit = async (id: string, amount?: number, sent: Sent = {}): Promise<Response> =>
    app.post(`${channel.usage}/${id}/commit`, amount === undefined ? {} : { amount }, { as: 'usage', ...sent })
  const release = async (id: string, sent: Sent = {}): Promise<Response> =>
    app.send('post', `${channel.usage}/${id}/release`, { as: 'usage', ...sent })
  const refund = async (id: string, amount?: number, key = newKey(), sent: Sent = {}): Promise<Response> =>
    app.post(`${channel.usage}/${id}/refund`, amount === undefined ? {} : { amount }, { as: 'usage', key, ...sent })
  const read = async (id: string): Promise<Response> => app.get(`${channel.usage}/${id}`, { as: 'usage' })
  const check = async (amount: number): Promise<Response> =>
    app.get(`${channel.usage}/check?${channel.owner}=${owner}&amount=${amount}`, { as: 'usage' })
  const ledger = async (query: string): Promise<Response> => app.get(`${channel.usage}?${query}`, { as: 'usage' })
  const batch = async (items: readonly unknown[], as: As = 'usage'): Promise<Response> =>
    app.post(`${channel.usage}/consume/batch`, { items }, { as })
  const item = (amount: unknown, key: unknown = newKey()): object => ({
    [channel.owner]: owner,
    amount,
    idempotency_key: key,
  })
  const quota = async (id: number): Promise<Response> => app.get(`${channel.quotas}/${id}`)
  const update = async (id: number, patch: object): Promise<Response> => app.put(`${channel.quotas}/${id}`, patch)
  const remove = async (id: number): Promise<Response> => app.delete(`${channel.quotas}/${id}`)
  const restore = async (id: number): Promise<Response> => app.send('post', `${channel.quotas}/${id}/restore`)
  const summary = async (): Promise<Record<string, number>> => (await app.get(channel.summary(owner))).body
  const sweep = async (): Promise<void> => sweeperOf(app, channel).sweep()

  /** A quota's counters: [used, reserved, remaining]. */
  async function counters(id: number): Promise<[number, number, number]> {
    const { used, reserved, remaining } = (await quota(id)).body
    return [used, reserved, remaining]
  }

  async function sums(): Promise<[number, number, number]> {
    const { used, reserved, remaining } = await summary()
    return [used!, reserved!, remaining!]
  }

  function refused(response: Response, status: number, code: string): void {
    expect([response.status, response.body.code]).toEqual([status, code])
    expect(response.headers['content-type']).toMatch(/^application\/problem\+json/)
    expect(response.body).toMatchObject({ status, request_id: response.headers['x-request-id'] })
  }

  function replayed(response: Response, first: Response): void {
    expect(response.status).toBe(first.status)
    expect(response.text).toBe(first.text)
    expect(response.headers['idempotency-replayed']).toBe('true')
    expect(response.headers['content-type']).toBe(first.headers['content-type'])
  }

  return {
    get app() {
      return app
    },
    get owner() {
      return owner
    },
    set owner(value) {
      owner = value
    },
    channel,
    other,
    newKey,
    inSeconds,
    total,
    cycle,
    consume,
    reserve,
    commit,
    release,
    refund,
    read,
    check,
    ledger,
    batch,
    item,
    quota,
    update,
    remove,
    restore,
    summary,
    sweep,
    counters,
    sums,
    refused,
    replayed,
  }
}

/** The shared state of one channel's contracts. */
export type UsageSuite = ReturnType<typeof usageSuite>
