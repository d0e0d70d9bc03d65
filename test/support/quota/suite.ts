import type { Sent, TestApp } from '../app.js'
import { type Body, bodyOf, fresh, sweeperOf } from '../quota-api.js'
import type { ChannelApi } from '../channel-api.js'

export const RESET = '2026-12-01T00:00:00.000Z'
export const END = '2027-01-01T00:00:00.000Z'
export const LATEST = '9999-12-31T23:59:59.999Z'
export const DAY = 86_400

/** One channel's quotas under test, and helpers for requests. */
export function quotaSuite(api: ChannelApi, app: () => TestApp) {
  const cycle = (owner: number, more: object = {}) => ({
    [api.owner]: owner,
    quota_type: 2,
    total: 100,
    cycle_unit: 'month',
    cycle_reset_at: RESET,
    ...more,
  })
  const total = (owner: number, more: object = {}) => ({
    [api.owner]: owner,
    quota_type: 1,
    total: 100,
    expire_at: END,
    ...more,
  })
  const create = (body: object, sent?: Sent) => app().post(api.quotas, body, sent)
  const made = async (body: object): Promise<Body> => bodyOf(201, await create(body))
  const path = (id: number | string) => `${api.quotas}/${id}`
  const read = async (id: number): Promise<Body> => bodyOf(200, await app().get(path(id)))
  const update = (id: number, body: object) => app().put(path(id), body)
  const updated = async (id: number, body: object): Promise<Body> => bodyOf(200, await update(id, body))
  const remove = async (id: number) => bodyOf(204, await app().delete(path(id)))
  const restore = (id: number) => app().post(`${path(id)}/restore`)
  const changes = async (id: number, query = ''): Promise<Body> =>
    bodyOf(200, await app().get(`${path(id)}/changes${query}`))
  const list = (query: string) => app().get(`${api.list}?${query}`)
  const listed = async (query: string): Promise<Body> => bodyOf(200, await list(query))
  const idsOf = async (query: string): Promise<number[]> => (await listed(query)).items.map(({ id }: Body) => id)
  const ofOwner = (owner: number) => `${api.owner}=${owner}`
  const summary = async (owner: number): Promise<Body> => bodyOf(200, await app().get(api.summary(owner)))
  const consume = (owner: number, amount: number) =>
    app().post(api.consume, { [api.owner]: owner, amount }, { key: `use-${fresh()}` })
  const consumed = async (owner: number, amount: number) => bodyOf(200, await consume(owner, amount))
  const sweep = () => sweeperOf(app(), api).sweep()

  return {
    api,
    app,
    cycle,
    total,
    create,
    made,
    path,
    read,
    update,
    updated,
    remove,
    restore,
    changes,
    list,
    listed,
    idsOf,
    ofOwner,
    summary,
    consume,
    consumed,
    sweep,
  }
}

/** The shared state of one channel's contracts. */
export type QuotaSuite = ReturnType<typeof quotaSuite>
