import { readFileSync } from 'node:fs'
import { beforeAll, expect, it } from '@jest/globals'
import type { Registry } from 'prom-client'
import { METRICS_REGISTRY } from '../src/common/metrics.js'
import { TestApp } from './support/app.js'
import { MAIL_API } from './support/channel-api.js'
import { stopSweepers, sweeperOf } from './support/quota-api.js'
import { onEveryStore } from './support/store.js'

onEveryStore('metrics', (kind) => {
  let app: TestApp

  beforeAll(async () => {
    app = await TestApp.on(kind)
    await stopSweepers(app)
  })

  const metrics = async (): Promise<string[]> => (await app.get('/metrics', { as: 'usage' })).text.split('\n')
  const usage = '/api/sms/quota/usage'

  it('count results of the ledger, by channel', async () => {
    const quota = { user_id: 7, quota_type: 1, total: 10, expire_at: app.clock.after(3600) }
    await app.post('/api/sms/admin/quota', quota).expect(201)
    await app.post(`${usage}/consume`, { user_id: 7, amount: 4 }, { key: 'a' }).expect(200)
    await app.post(`${usage}/consume`, { user_id: 7, amount: 4 }, { key: 'a' }).expect(200)
    await app.post(`${usage}/consume`, { user_id: 7, amount: 40 }, { key: 'b' }).expect(409)
    await app.post(`${usage}/reserve`, { user_id: 7, amount: 1 }, { key: 'c' }).expect(201)
    await app.post(`${usage}/reserve`, { user_id: 7, amount: 1, ttl_seconds: 1 }, { key: 'd' }).expect(201)
    app.clock.pass(1)

    const lines = await metrics()
    for (const [result, count] of [
      ['done', 1],
      ['replayed', 1],
      ['quota_exceeded', 1],
    ] as const) {
      expect(lines).toContain(`quota_requests_total{channel="sms",kind="consume",result="${result}"} ${count}`)
    }
    // Of two holds one is due.
    expect(lines).toContain('quota_open_holds{channel="sms"} 1')
    expect(lines).toContain('quota_open_holds{channel="mail"} 0')
    expect(lines).toContain('quota_queue_depth{channel="sms"} 0')
    for (const name of ['quota_batch_size', 'quota_lane_wait_seconds', 'quota_batch_seconds', 'quota_commit_seconds']) {
      const [, batches] = lines.find((line) => line.startsWith(`${name}_count{channel="sms"}`))?.split(' ') ?? []
      expect(Number(batches)).toBeGreaterThanOrEqual(6)
    }
    expect(lines).toContain('quota_batch_size_sum{channel="sms"} 6')
  })

  it('count requests by route pattern, never by path', async () => {
    // Long enough to be in no measured time by chance.
    const id = '471147114711'
    await app.get(`/api/v1/quotas/${id}`).expect(404)
    const lines = await metrics()
    const labels = '{method="GET",route="/api/v1/quotas/:id",status="404"}'
    expect(lines).toContain(`http_request_duration_seconds_count${labels} 1`)
    expect(lines.join('\n')).not.toContain(id)
  })

  it('contain the version, which liveness does not show', async () => {
    expect(await metrics()).toContainEqual(expect.stringMatching(/^build_info\{version="[^"]+",commit="[^"]*"\} 1$/))
    expect((await app.get('/health/live')).body).toEqual({ status: 'ok' })
  })

  it('count refusals by principal', async () => {
    await app.get('/api/v1/quotas/4712', { as: 'service' }).expect(404)
    expect(await metrics()).toContain('http_refusals_total{principal="service",code="quota_not_found"} 1')
  })

  it('contain the duration of each step of a request', async () => {
    const value = (lines: readonly string[], name: string): number =>
      Number(lines.find((line) => line.startsWith(`${name} `))?.split(' ')[1])
    await app.get('/api/v1/quotas/4712').expect(404)
    const lines = await metrics()
    const route = '{method="GET",route="/api/v1/quotas/:id"}'
    const whole = '{method="GET",route="/api/v1/quotas/:id",status="404"}'
    const requests = value(lines, `http_request_duration_seconds_count${whole}`)
    expect(value(lines, `http_time_to_first_byte_seconds_count${route}`)).toBe(requests)
    const began = value(lines, `http_time_to_first_byte_seconds_sum${route}`)
    expect(began).toBeGreaterThan(0)
    expect(began).toBeLessThanOrEqual(value(lines, `http_request_duration_seconds_sum${whole}`))
    expect(value(lines, 'database_statement_seconds_count')).toBeGreaterThan(10)
    const waits = value(lines, 'database_pool_wait_seconds_count{use="write"}')
    if (kind.name === 'SQLite') expect(waits).toBeNaN()
    else expect(waits).toBeGreaterThan(5)
  })

  it('show the open connections, idle ones separately', async () => {
    const lines = await metrics()
    // The request that asks.
    expect(lines).toContain('http_connections{state="busy"} 1')
    expect(lines).toContainEqual(expect.stringMatching(/^http_connections\{state="idle"\} \d+$/))
  })

  it('show the use of the pool, if there is one', async () => {
    const states = (await metrics()).filter((line) => line.startsWith('database_pool_connections{'))
    const total = states.reduce((sum, line) => sum + Number(line.split(' ')[1]), 0)
    if (kind.name === 'SQLite') expect(states).toEqual([])
    else expect([states.length, total > 0]).toEqual([3, true])
  })

  it('are in the table of docs/run/verify-and-metrics.md, with their labels and help texts', () => {
    const made = app.app
      .get<Registry>(METRICS_REGISTRY)
      .getMetricsAsArray()
      .filter(({ name }) => !/^(?:process|nodejs)_/.test(name))
    const expected = made.map((one) => {
      const { name, help, labelNames } = one as typeof one & { labelNames: string[] }
      const labels = labelNames.length === 0 ? '' : `{${labelNames.join(',')}}`
      return `| \`${name}${labels}\` | ${help.replace(/\.$/, '')}`
    })
    const [, table = ''] = readFileSync('docs/run/verify-and-metrics.md', 'utf8').split('\n## Metrics\n')
    const rows = table.match(/^\| `[a-z_]+(?:\{|` ).*$/gm) ?? []
    expect(expected.filter((start) => !rows.some((row) => row.startsWith(start)))).toEqual([])
    const unknown = rows.filter((row) => !expected.some((start) => row.startsWith(start)))
    // These exist only with the real clock, or with an identity provider.
    expect(unknown.filter((row) => !/^\| `(?:clock|identity_provider)_/.test(row))).toEqual([])
  })

  it('count groups, their members, and the copies that are behind', async () => {
    const base = '/api/v1/quotas'
    const make = async (path: string, body: object): Promise<number> => {
      const answer = await app.post(`${base}${path}`, body).expect(201)
      return answer.body.id as number
    }
    const [one, other] = [await make('/groups', { name: 'one' }), await make('/groups', { name: 'other' })]
    const settings = { quota_type: 1, total: 10, expire_at: '2099-01-01T00:00:00Z' }
    const followed = await make('', { group_id: one, per: 'member', ...settings })
    await app.post(`${base}/groups/${one}/members`, { account_ids: [1, 2, 3] }).expect(200)
    for (const owner of [1, 2])
      await app.post(`${base}/usage/consume`, { account_id: owner, amount: 1 }, { key: `g-${owner}` }).expect(200)
    await app.delete(`${base}/groups/${other}`).expect(204)
    // Renderings for HTTP are limited in number.
    const registry = app.app.get<Registry>(METRICS_REGISTRY)
    const shown = async (): Promise<string[]> => {
      const names = ['quota_groups', 'quota_group_members', 'quota_count_copies_behind']
      const texts = await Promise.all(names.map(async (name) => registry.getSingleMetricAsString(name)))
      return texts.flatMap((text) => text.split('\n')).filter((line) => line.includes('{channel="mail"}'))
    }
    const of = (behind: number): string[] => [
      'quota_groups{channel="mail"} 1',
      'quota_group_members{channel="mail"} 3',
      `quota_count_copies_behind{channel="mail"} ${behind}`,
    ]
    expect(await shown()).toEqual(of(0))
    await app.put(`${base}/${followed}`, { total: 20 }).expect(200)
    expect(await shown()).toEqual(of(2))
    await sweeperOf(app, MAIL_API).sweep()
    expect(await shown()).toEqual(of(0))
  })
})
