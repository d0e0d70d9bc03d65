import { beforeAll, expect, it } from '@jest/globals'
import { DataSource } from 'typeorm'
import { createChannel, dropChannel } from '../src/database/migrations/1796000000000-baseline.js'
import { bytesToStore } from '../src/database/bytes.js'
import { instantFromStore } from '../src/database/column.js'
import { formatInstant } from '../src/common/instant.js'
import { TestApp } from './support/app.js'
import { MAIL_API, SMS_API } from './support/channel-api.js'
import { readable, stored } from './support/ids.js'
import { type Body, bodyOf, fresh } from './support/quota-api.js'
import { onEveryStore } from './support/store.js'

/** A row as answers tell it: numbers, and times in ISO 8601. */
function told(row: Body): Body {
  return Object.fromEntries(
    Object.entries(row).map(([name, value]) => [
      name,
      name === 'at'
        ? formatInstant(instantFromStore(String(value)))
        : /^id$|_id$|amount/.test(name) && /^\d+$/.test(String(value))
          ? Number(value)
          : value,
    ]),
  )
}

onEveryStore('the views for people', (kind) => {
  let app: TestApp
  let dataSource: DataSource

  beforeAll(async () => {
    app = await TestApp.on(kind)
    dataSource = app.app.get(DataSource)
  })

  const rows = async (sql: string, values: unknown[] = []): Promise<Body[]> =>
    (await dataSource.query<Body[]>(sql, values)).map(told)

  it.each([MAIL_API, SMS_API])('show the acts and changes of $name as the API does', async (api) => {
    const owner = fresh()
    const body = { [api.owner]: owner, quota_type: 1, total: 100, expire_at: app.clock.after(1_000_000) }
    const headers = { 'X-Request-Id': `mail.${owner}` }
    const quota = bodyOf(201, await app.post(api.quotas, body, { key: `create-${owner}`, headers }))
    const plain = bodyOf(
      200,
      await app.post(api.consume, { [api.owner]: owner, amount: 5 }, { key: `consume-${owner}`, headers }),
    )
    const held = bodyOf(
      201,
      await app.post(api.reserve, { [api.owner]: owner, amount: 7, ttl_seconds: 60 }, { key: `hold-${owner}` }),
    )
    bodyOf(200, await app.post(`${api.usage}/${held.id}/commit`, { amount: 3 }))

    const acts = async (id: string): Promise<Body[]> =>
      (bodyOf(200, await app.get(`${api.usage}/${id}/acts`)).items as Body[]).map(({ actor, ...act }) => ({
        ...act,
        caller: actor,
        operation_id: id,
      }))
    const shown = await rows(
      `SELECT kind, at, operation_id, amount, caller, idempotency_key, request_id FROM ${api.channel}_ledger WHERE owner_id = ${owner} AND operation_id IS NOT NULL ORDER BY act_id`,
    )
    expect(shown).toEqual([...(await acts(plain.id)), ...(await acts(held.id))])
    expect(shown[0]).toMatchObject({ request_id: `mail.${owner}` })
    expect(
      await rows(
        `SELECT id, kind, quota_id, operation_id, owner_remaining FROM ${api.channel}_ledger WHERE owner_id = ${owner} AND quota_id = ${quota.id} ORDER BY act_id`,
      ),
    ).toMatchObject([
      { kind: 'create', operation_id: null, owner_remaining: null },
      { id: plain.id, kind: 'consume', operation_id: plain.id, owner_remaining: expect.anything() },
    ])
    // The bytes of an id find its row by the index.
    expect(
      readable(
        await dataSource.query<Body[]>(`SELECT id FROM ${api.channel}_ledger WHERE act_id = ?`, stored([held.id])),
      ),
    ).toEqual([{ id: held.id }])
    expect(bytesToStore(held.id)).toHaveLength(16)

    const changes = bodyOf(200, await app.get(`${api.quotas}/${quota.id}/changes`)).items as Body[]
    expect(
      await rows(
        `SELECT id, at, action, quota_id, caller, request_id FROM ${api.channel}_changes WHERE owner_id = ${owner}`,
      ),
    ).toEqual(
      changes.map(({ id, at, action, actor, request_id: requestId }) => ({
        id,
        at,
        action,
        quota_id: quota.id,
        caller: actor,
        request_id: requestId,
      })),
    )
  })

  it('come and go with the tables of a channel', async () => {
    const trial = { prefix: 'trial', ownerColumn: 'user_id' }
    const runner = dataSource.createQueryRunner()
    try {
      // The second time, each view is there already.
      for (let times = 0; times < 2; times += 1) await createChannel(runner, trial)
      expect(await rows('SELECT * FROM trial_ledger')).toEqual([])
      expect(await rows('SELECT * FROM trial_changes')).toEqual([])
      for (let times = 0; times < 2; times += 1) await dropChannel(runner, trial)
      await expect(dataSource.query('SELECT * FROM trial_ledger')).rejects.toThrow(/trial_ledger/)
      await expect(dataSource.query('SELECT * FROM trial_changes')).rejects.toThrow(/trial_changes/)
    } finally {
      await runner.release()
    }
  })
})
