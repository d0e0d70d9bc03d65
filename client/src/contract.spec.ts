import { type ChangeSets, changeSets } from './change-sets.js'
import { events, webhookEndpoints } from './events.js'
import { readFileSync } from 'node:fs'
import { describe, expect, it } from '@jest/globals'
import { json, TestNetwork } from '../test/network.js'
import type { QuotaClient } from './client.js'
import { camelName, renamed, wireName } from './wire.js'

interface Document {
  readonly paths: Record<string, Record<string, { parameters?: { name?: string; in?: string; required?: boolean }[] }>>
}

const DOCUMENT = JSON.parse(readFileSync('openapi.json', 'utf8')) as Document
const ID = '01a201d9-e827-7000-8000-002f05d730a8'
const KEY = { key: 'k' }

/** Every call of a channel that the client has. */
function callAll(client: QuotaClient, name: 'mail' | 'sms'): Promise<unknown>[] {
  const owner = (name === 'mail' ? { accountId: 7 } : { userId: 7 }) as unknown as { accountId: 7; userId: 7 }
  const channel = client[name] as QuotaClient['mail']
  const { quotas } = channel
  return [
    channel.consume({ ...owner, amount: 1 }, KEY),
    channel.consumeBatch([{ ...owner, amount: 1, idempotencyKey: 'k' }]),
    channel.reserve({ ...owner, amount: 1 }, KEY),
    channel.commit(ID),
    channel.release(ID),
    channel.refund(ID, {}, KEY),
    channel.check({ ...owner, amount: 1 }),
    channel.operation(ID),
    channel.operations(owner).page(),
    channel.acts(ID),
    channel.series({ quotaId: 1 }),
    quotas.create({ ...owner, quotaType: 1, total: 1 }),
    quotas.get(1),
    quotas.update(1, { total: 2 }),
    quotas.delete(1, { version: 1 }),
    quotas.restore(1),
    quotas.reset(1),
    quotas.list().page(),
    quotas.summary(owner),
    quotas.changes().page(),
    quotas.changesOf(1).page(),
    quotas.owners().page(),
    quotas.expiring().page(),
    quotas.refusals(owner),
    quotas.topRefusals(),
    quotas.tryCap({ ...owner, quotaType: 1, total: 1 }),
    quotas.groups.create({ name: 'x' }),
    quotas.groups.get(1),
    quotas.groups.list().page(),
    quotas.groups.update(1, { name: 'y' }),
    quotas.groups.delete(1, { version: 1 }),
    quotas.groups.restore(1),
    quotas.groups.changes(1).page(),
    quotas.groups.summary(1),
    quotas.groups.members(1).page(),
    quotas.groups.tryCap(1, { quotaType: 1, total: 1 }),
    quotas.groups.addMembers(1, { accountIds: [7] }),
    quotas.groups.removeMember(1, owner),
    channel.owners.link(owner, { ttlSeconds: 60 }),
    channel.owners.revokeLinks(owner),
    all(events(channel as never)),
    ...callChangeSets(changeSets(channel as never)),
  ]
}

function callChangeSets(sets: ChangeSets<never>): Promise<unknown>[] {
  const set = { id: 1, version: 2, counts: { planned: 1 } } as never
  return [
    sets.create({ filter: { all: true }, change: { reset: true } } as never),
    sets.import('id\n'),
    sets.list().page(),
    sets.get(1),
    sets.rows(1).page(),
    sets.rowsCsv(1),
    sets.apply(set),
    sets.revert(set),
    sets.delete(1),
    sets.exportCsv({}),
  ]
}

/** Every call that belongs to no channel. */
function callShared(client: QuotaClient): Promise<unknown>[] {
  const endpoints = webhookEndpoints(client)
  const from = '2026-11-23T00:00:00.000Z'
  return [
    client.me(),
    client.view(),
    endpoints.list(),
    endpoints.test('ops'),
    endpoints.enable('ops'),
    endpoints.replay('ops', { from }),
  ]
}

async function all(items: AsyncIterable<unknown>): Promise<void> {
  for await (const _ of items);
}

/** The route of a request, such as `POST /api/v1/quotas/{}/reset`; fixed words take precedence over identifiers. */
function routeOf(method: string, path: string): string {
  const fits = Object.keys(DOCUMENT.paths).filter(
    (route) =>
      Object.hasOwn(DOCUMENT.paths[route]!, method.toLowerCase()) &&
      new RegExp(`^${route.replaceAll(/\{\w+\}/g, '[^/]+')}$`).test(path),
  )
  fits.sort((a, b) => a.split('{').length - b.split('{').length)
  return `${method} ${fits[0] ?? `no route: ${path}`}`
}

describe('the client', () => {
  it('calls every route of the contract, and no other', async () => {
    const network = new TestNetwork(() => json(200, { items: [], results: [{ status: 200 }] }))
    await Promise.all([
      ...callAll(network.client, 'mail'),
      ...callAll(network.client, 'sms'),
      ...callShared(network.client),
    ])
    const routes = Object.entries(DOCUMENT.paths).flatMap(([path, item]) =>
      Object.keys(item).map((method) => `${method.toUpperCase()} ${path}`),
    )
    const called = network.sent.map(({ method, path }) => routeOf(method, path))
    expect(called.sort()).toEqual(routes.filter((route) => route.includes(' /api/')).sort())
    expect(called).toHaveLength(108)
  })

  it('sends what the contract requires: a key and every parameter', async () => {
    const network = new TestNetwork(() => json(200, { items: [], results: [{ status: 200 }] }))
    await Promise.all([...callAll(network.client, 'mail'), ...callAll(network.client, 'sms')])
    for (const { method, path, query, headers } of network.sent) {
      const [, route] = routeOf(method, path).split(' ')
      for (const parameter of DOCUMENT.paths[route!]![method.toLowerCase()]!.parameters ?? []) {
        if (parameter.required !== true || parameter.in === 'path') continue
        const sent = parameter.in === 'query' ? query[parameter.name!] : headers[parameter.name!.toLowerCase()]
        expect([method, path, parameter.name, typeof sent]).toEqual([method, path, parameter.name, 'string'])
      }
    }
  })

  it('knows every name of the contract both ways', () => {
    const names = new Set<string>()
    const collect = (node: unknown): void => {
      if (typeof node !== 'object' || node === null) return
      if ('properties' in node) for (const name of Object.keys(node.properties as object)) names.add(name)
      if ('in' in node && node.in === 'query') names.add((node as unknown as { name: string }).name)
      for (const inner of Object.values(node)) collect(inner)
    }
    collect(DOCUMENT)
    expect(names.size).toBeGreaterThan(60)
    for (const name of names) {
      expect(camelName(name)).not.toContain('_')
      expect(wireName(camelName(name))).toBe(name)
    }
  })

  it('renames fields, and nothing that stands in them', () => {
    const wire = { cycle_unit: 'a_b', before: { expire_at: null, list: [{ user_id: 1 }, 'c_d', 2] } }
    const program = { cycleUnit: 'a_b', before: { expireAt: null, list: [{ userId: 1 }, 'c_d', 2] } }
    expect(renamed(wire, camelName)).toEqual(program)
    expect(renamed(program, wireName)).toEqual(wire)
  })
})
