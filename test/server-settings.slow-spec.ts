import { setTimeout as sleep } from 'node:timers/promises'
import { beforeAll, describe, expect, it } from '@jest/globals'
import { createConnection } from 'mysql2/promise'
import { probeServer } from '../src/database/server-probe.js'
import { serverOptions } from '../src/database/server.js'
import { audit } from './support/audit.js'
import { CAN_START_SERVER, TestDatabase } from './support/database.js'
import { until } from './support/endpoints.js'
import { figure } from './support/figures.js'
import { ADMIN, Instance } from './support/instance.js'
import { bodyOf, fresh, MAIL, owners, tally, times, totalQuota } from './support/wire.js'
import { verified } from './support/verify.js'

const onOwnServer = CAN_START_SERVER ? describe : describe.skip

/** What an operator, or another program's needs, may have made the default of every session. */
const HOSTILE: Readonly<Record<string, string>> = {
  autocommit: '0',
  completion_type: "'CHAIN'",
  sql_mode: "'ANSI_QUOTES,PIPES_AS_CONCAT,NO_BACKSLASH_ESCAPES,PAD_CHAR_TO_FULL_LENGTH,ONLY_FULL_GROUP_BY'",
  time_zone: "'+05:30'",
  tx_isolation: "'SERIALIZABLE'",
  tx_read_only: '1',
  sql_safe_updates: '1',
  sql_select_limit: '1',
  sql_big_selects: '0',
  max_join_size: '1',
  unique_checks: '0',
  max_statement_time: '0.001',
  wait_timeout: '1',
  default_storage_engine: "'Aria'",
  max_allowed_packet: '1048576',
}

onOwnServer('on a server with settings of its own mind', () => {
  let database: TestDatabase
  let instance: Instance
  /** The test's own sessions, and the server's. */
  let own: number

  beforeAll(async () => {
    database = await TestDatabase.open({ own: true })
    // The test's own sessions are there already, and keep the usual ones.
    await Promise.all(times(4).map(async () => database.rows('SELECT SLEEP(0.1)')))
    for (const [name, value] of Object.entries(HOSTILE)) await database.execute(`SET GLOBAL ${name} = ${value}`)
    own = await database.number('SELECT COUNT(*) FROM information_schema.processlist')
    instance = await Instance.start(database.url, { DATABASE_POOL_SIZE: '24' })
  })

  it('the migrations are recorded, in transactional tables', async () => {
    expect(await database.rows('SELECT name FROM schema_migration')).not.toEqual([])
    const engines = await database.rows<{ engine: string }>(
      "SELECT DISTINCT engine AS engine FROM information_schema.tables WHERE table_schema = DATABASE() AND table_type = 'BASE TABLE'",
    )
    expect(engines).toEqual([{ engine: 'InnoDB' }])
  })

  it.each([
    ['invalid', 'of which the beginning is kept', '\u0001'.repeat(1_600)],
    ['planned', 'which are kept whole', '😀'.repeat(120)],
  ])('a file is imported whose %s rows, %s, together exceed a packet', async (outcome, _kept, label) => {
    const lines = times(2_000).map((_, n) => `${900_000 + n},1,5,2999-01-01T00:00:00Z,${label}`)
    const answer = await fetch(`${instance.url}${MAIL.quotas}/import`, {
      method: 'POST',
      headers: { authorization: `Bearer ${ADMIN}`, 'content-type': 'text/csv' },
      body: ['account_id,quota_type,total,expire_at,label', ...lines].join('\n'),
    })
    expect(answer.status).toBe(202)
    const { id } = (await answer.json()) as { id: number }
    const read = async () => bodyOf(await instance.get(`${MAIL.quotas}/change-sets/${id}`))
    while ((await read()).state === 'preparing') await sleep(100)
    expect(await read()).toMatchObject({ state: 'ready', counts: { rows: 2_000, [outcome]: 2_000 } })
  })

  it('requests have the same effect as elsewhere, and leave no transaction open', async () => {
    const accounts = owners(3)
    for (const owner of accounts) {
      const made = await instance.post(MAIL.quotas, {
        ...totalQuota(MAIL, owner, 100),
        expire_at: '2031-05-06T07:08:09.123Z',
      })
      expect([made.status, bodyOf(made).expire_at]).toEqual([201, '2031-05-06T07:08:09.123Z'])
    }
    const key = fresh('it\'s \\ "quoted"')
    const body = { account_id: accounts[0]!, amount: 3 }
    const first = await instance.post(`${MAIL.usage}/consume`, body, key)
    const again = await instance.post(`${MAIL.usage}/consume`, body, key)
    expect([first.status, again.status, again.replayed, again.text]).toEqual([200, 200, true, first.text])
    const items = accounts.map((account_id) => ({ account_id, amount: 2, idempotency_key: fresh('item') }))
    expect((await instance.post(`${MAIL.usage}/consume/batch`, { items })).status).toBe(200)
    expect(bodyOf(await instance.get(MAIL.quotas)).items).toHaveLength(3)
    expect(await database.number('SELECT SUM(used) FROM mail_quota')).toBe(9)
    expect(await audit(database)).toEqual([])
    expect(await verified(database.url)).toEqual([])
    // The sweepers' rounds, too: a look may meet one of these, but one that stays open is in every look.
    await sleep(2_500)
    const open = 'SELECT 1 FROM information_schema.innodb_trx WHERE trx_mysql_thread_id <> CONNECTION_ID()'
    await until('every transaction to end', async () => (await database.rows(open)).length === 0)
  })

  it('idle connections are given up, in order', async () => {
    const abortedBefore = await database.aborted()
    const all = 'SELECT COUNT(*) FROM information_schema.processlist WHERE db = DATABASE()'
    const sessions = async (): Promise<number> => database.number(`${all} AND command = 'Sleep'`)
    // What the tests before have used is given up by then.
    await sleep(4_000)
    const ours = await sessions()
    // However fast the server is, the reads meet at a locked table, each on a connection.
    const locking = await createConnection(database.url)
    await locking.query('SET SESSION wait_timeout = 60, max_statement_time = 0, tx_read_only = 0')
    await locking.query('LOCK TABLES mail_quota WRITE')
    // Each looks for another label: like ones would share a read, and those of one person a statement.
    const asked = times(200).map(async (n) => instance.get(`${MAIL.quotas}?label=none-${n}`))
    // One of them is that of the lock.
    let busy = 0
    while (busy <= ours + 3) {
      busy = await database.number(all)
      await sleep(20)
    }
    await locking.end()
    const answers = await Promise.all(asked)
    expect(tally(answers.map(({ status }) => status))).toEqual({ 200: 200 })
    const began = performance.now()
    // The background uses one or the other now and then.
    while ((await sessions()) > ours + 1 && performance.now() - began < 20_000) await sleep(200)
    const took = performance.now() - began
    figure('idle connections', { 'after a burst': busy, then: await sessions(), 'after ms': Math.round(took) })
    expect(took).toBeLessThan(20_000)
    expect(await database.aborted()).toBe(abortedBefore)
  })

  it('at the end, each connection is closed in order', async () => {
    const abortedBefore = await database.aborted()
    expect(bodyOf(await instance.get(MAIL.quotas)).items).toHaveLength(3)
    expect(await probeServer(serverOptions({ url: database.url }))).toEqual({ reach: 'all' })
    expect(await instance.terminate()).toBe(0)
    while ((await database.number('SELECT COUNT(*) FROM information_schema.processlist')) > own) await sleep(50)
    expect(await database.aborted()).toBe(abortedBefore)
  })
})
