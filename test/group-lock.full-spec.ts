import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { type Connection, createConnection } from 'mysql2/promise'
import { DataSource } from 'typeorm'
import { TestApp } from './support/app.js'
import { MAIL_API } from './support/channel-api.js'
import { type Body, bodyOf, fresh, ledgerOf, stopSweepers, sweeperOf } from './support/quota-api.js'
import { type Store, STORES } from './support/store.js'

const DAY = 86_400
/** What the other session takes of the shared quota, and what it holds of it. */
const TAKEN = 10

const server = STORES.find(({ name }) => name !== 'SQLite')

// What another instance does while it decides for other members: it locks the group, and writes the counters.
;(server === undefined ? describe.skip : describe)('a shared quota that another session is writing', () => {
  let store: Store
  let app: TestApp
  let database: DataSource
  let other: Connection

  beforeAll(async () => {
    store = await server!.open()
    app = await TestApp.start(store)
    await stopSweepers(app)
    database = app.app.get(DataSource)
    other = await createConnection({ uri: store.url })
  })

  afterAll(async () => {
    other.destroy()
  })

  interface Shared {
    readonly member: number
    readonly quotaId: number
    readonly groupId: number
  }

  async function shared(): Promise<Shared> {
    const member = fresh()
    const groups = `${MAIL_API.quotas}/groups`
    const groupId: number = bodyOf(201, await app.post(groups, { name: `group ${member}` })).id
    const settings = { group_id: groupId, quota_type: 1, total: 1_000, expire_at: app.clock.after(90 * DAY) }
    const quotaId: number = bodyOf(201, await app.post(MAIL_API.quotas, settings)).id
    bodyOf(200, await app.post(`${groups}/${groupId}/members`, { account_ids: [member] }))
    return { member, quotaId, groupId }
  }

  const sent = (path: string, body: object) => app.post(path, body, { as: 'usage', key: `k${fresh()}` })

  async function reserved(member: number, amount: number): Promise<string> {
    const body = { account_id: member, amount, ttl_seconds: 60 }
    return bodyOf(201, await sent(MAIL_API.reserve, body)).id as string
  }

  async function counters(quotaId: number): Promise<[used: number, reserved: number]> {
    const [row] = await database.query(`SELECT used, reserved FROM mail_quota WHERE id = ${quotaId}`)
    return [Number(row.used), Number(row.reserved)]
  }

  /** Has the service set the request aside, or does it wait for the row that the other session writes? */
  async function hasMet(): Promise<boolean> {
    app.clock.pass(0.001)
    if (ledgerOf(app, MAIL_API).engine.lockedOwners.longestSeconds() > 0) return true
    const [row] = await database.query(
      "SELECT COUNT(*) AS n FROM information_schema.PROCESSLIST WHERE DB = DATABASE() AND INFO LIKE 'UPDATE%mail\\_quota%'",
    )
    return Number(row.n) > 0
  }

  /** Does something while the other session takes units of the quota, and commits only when both have met. */
  async function meanwhile<T>({ quotaId, groupId }: Shared, work: () => Promise<T>): Promise<T> {
    await other.query('START TRANSACTION')
    await other.query('SELECT * FROM mail_owner WHERE owner_id = ? FOR UPDATE', [-groupId])
    await other.query('UPDATE mail_quota SET used = used + ?, reserved = reserved + ? WHERE id = ?', [
      TAKEN,
      TAKEN,
      quotaId,
    ])
    const state = { isDone: false }
    const result = work().finally(() => (state.isDone = true))
    while (!state.isDone && !(await hasMet()));
    await other.query('COMMIT')
    return result
  }

  it.each([
    ['commit', { amount: 5 }, 5],
    ['release', {}, 0],
  ])('keeps what that took when one who has left the group asks for a %s', async (how, body, used) => {
    const group = await shared()
    const id = await reserved(group.member, 5)
    bodyOf(204, await app.delete(`${MAIL_API.quotas}/groups/${group.groupId}/members/${group.member}`))
    const answer = await meanwhile(group, async () => sent(`${MAIL_API.usage}/${id}/${how}`, body))
    expect([answer.status, ...(await counters(group.quotaId))]).toEqual([200, TAKEN + used, TAKEN])
  })

  it('keeps it when one who has left the group asks for a refund', async () => {
    const group = await shared()
    const { id }: Body = bodyOf(200, await sent(MAIL_API.consume, { account_id: group.member, amount: 20 }))
    bodyOf(204, await app.delete(`${MAIL_API.quotas}/groups/${group.groupId}/members/${group.member}`))
    const answer = await meanwhile(group, async () => sent(`${MAIL_API.usage}/${id}/refund`, { amount: 5 }))
    expect([answer.status, ...(await counters(group.quotaId))]).toEqual([200, TAKEN + 15, TAKEN])
  })

  it('keeps it when a due hold of a member is recorded as expired', async () => {
    const group = await shared()
    await reserved(group.member, 5)
    app.clock.pass(3_600)
    const sweep = async () => sweeperOf(app, MAIL_API).sweep()
    await meanwhile(group, async () => sweep().catch(() => undefined))
    await sweep()
    expect(await counters(group.quotaId)).toEqual([TAKEN, TAKEN])
  })

  it('keeps it when a member has a due hold of which a quota of its own pays a part', async () => {
    const group = await shared()
    const own = { account_id: group.member, quota_type: 1, total: 3, expire_at: app.clock.after(90 * DAY) }
    bodyOf(201, await app.post(MAIL_API.quotas, own))
    await reserved(group.member, 5)
    app.clock.pass(3_600)
    const answer = await meanwhile(group, async () => sent(MAIL_API.consume, { account_id: group.member, amount: 4 }))
    await sweeperOf(app, MAIL_API).sweep()
    expect([answer.status, ...(await counters(group.quotaId))]).toEqual([200, TAKEN + 1, TAKEN])
  })
})
