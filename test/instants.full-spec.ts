import { beforeAll, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { MIN_INSTANT, formatInstant, type Instant, MAX_INSTANT } from '../src/common/instant.js'
import { TestApp } from './support/app.js'
import { MAIL_API } from './support/channel-api.js'
import { type Body, bodyOf, fresh, stopSweepers, sweeperOf } from './support/quota-api.js'
import { onEveryStore } from './support/store.js'

/** Where somebody's calendar, format or guess at a century begins or ends. */
const TIMES = [
  '0000-01-01T00:00:00.000Z',
  '0000-12-31T23:59:59.999Z',
  '0001-01-01T00:00:00.000Z',
  '0012-11-10T09:08:07.006Z',
  '0040-01-01T00:00:00.000Z',
  '0069-12-31T23:59:59.999Z',
  '0070-01-01T00:00:00.000Z',
  '0099-12-31T23:59:59.999Z',
  '0100-01-01T00:00:00.000Z',
  '0999-12-31T23:59:59.999Z',
  '1000-01-01T00:00:00.000Z',
  '1582-10-10T00:00:00.001Z',
  '1899-12-31T00:00:00.000Z',
  '1969-12-31T23:59:59.999Z',
  '1970-01-01T00:00:00.000Z',
  '2000-02-29T23:59:59.999Z',
  '2026-03-29T01:30:00.000Z',
  '2038-01-19T03:14:08.000Z',
  '9999-12-31T23:59:59.999Z',
]
const DRAWN = 20

onEveryStore('times', (kind) => {
  let app: TestApp
  let id: number
  const owner = fresh()

  beforeAll(async () => {
    app = await TestApp.on(kind)
    await stopSweepers(app)
    const settings = { account_id: owner, quota_type: 1, total: 5, expire_at: app.clock.after(60) }
    id = bodyOf(201, await app.post(MAIL_API.quotas, settings)).id
  })

  const read = async (): Promise<Body> => bodyOf(200, await app.get(`${MAIL_API.quotas}/${id}`))
  const update = async (patch: object): Promise<Body> => bodyOf(200, await app.put(`${MAIL_API.quotas}/${id}`, patch))

  /** Writes a time, reads it in every way there is, and has the record written again for another reason. */
  async function roundTrip(time: string): Promise<void> {
    const status = time > app.clock.after(0) ? 'active' : 'expired'
    expect(await update({ expire_at: time })).toMatchObject({ expire_at: time, status })
    expect(await read()).toMatchObject({ expire_at: time, status })
    const list: Body = bodyOf(200, await app.get(`${MAIL_API.list}?account_id=${owner}&status=${status}`))
    expect(list).toMatchObject({ total: 1, items: [{ expire_at: time, status }] })
    const { total, version } = (await read()) as { total: number; version: number }
    // The quota is read under its lock, and written with all of its settings.
    const changed = await update({ total: 1 + (total % 7), version })
    expect(changed).toMatchObject({ expire_at: time, status, version: version + 1 })
    expect(await update({ ...changed })).toEqual(changed)
    await sweeperOf(app, MAIL_API).sweep()
    expect(await read()).toEqual(changed)
    const { items }: Body = bodyOf(200, await app.get(`${MAIL_API.quotas}/${id}/changes`))
    expect(items[0].after).toEqual({ total: changed.total })
    expect(items[1].after).toMatchObject({ expire_at: time })
  }

  it.each(TIMES)('come back as they went in: %s', async (time) => {
    await roundTrip(time)
  })

  it('are read back unchanged, whatever they are', async () => {
    const anyTime = fc.integer({ min: MIN_INSTANT, max: MAX_INSTANT })
    const early = fc.integer({ min: MIN_INSTANT, max: Date.parse('0100-01-01T00:00:00Z') })
    const drawn: Instant[] = [...fc.sample(anyTime, DRAWN / 2), ...fc.sample(early, DRAWN / 2)]
    // The same again would change nothing.
    const times = new Set(drawn.map(formatInstant))
    for (const time of TIMES) times.delete(time)
    for (const time of times) await roundTrip(time)
  })

  it('keep a quota expired that ended in the year 40', async () => {
    await update({ expire_at: '0040-01-01T00:00:00.000Z', status: 'active' })
    await update({ total: 5 })
    expect(bodyOf(200, await app.get(MAIL_API.summary(owner))).quota_count).toBe(0)
    const consumed = await app.post(MAIL_API.consume, { account_id: owner, amount: 1 }, { key: `late-${owner}` })
    expect([consumed.status, consumed.body.code]).toEqual([409, 'no_active_quota'])
  })
})
