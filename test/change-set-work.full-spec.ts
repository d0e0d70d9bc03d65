import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import type { Caller } from '../src/auth/caller.decorator.js'
import { ChangeSetService } from '../src/change-set/change-set.service.js'
import { firstIdAt } from '../src/ledger/rows/act-id.js'
import { TransactionRunner } from '../src/database/transaction-runner.js'
import type { QuotaRow } from '../src/ledger/rows/quota.entity.js'
import { createConnection } from 'mysql2/promise'
import { DataSource } from 'typeorm'
import { authTokens, TestApp, TOKENS } from './support/app.js'
import { MAIL_API } from './support/channel-api.js'
import { changeSetSuite } from './support/change-set/suite.js'
import { bodyOf, fresh, ledgerOf, refusal, removeOldChangeSets, START, stopSweepers } from './support/quota-api.js'
import { DAY } from './support/quota/suite.js'
import { TestClock } from './support/clock.js'
import { onEveryStore } from './support/store.js'

const KNOWN = authTokens({ 'mail-service': 'admin+mail', other: 'admin+mail' })

onEveryStore('work on change sets', (kind) => {
  let app: TestApp

  beforeAll(async () => {
    app = await TestApp.on(kind, {
      // Two files of a caller may arrive at the same time, as they may at two instances.
      env: { AUTH_TOKENS: KNOWN, PRINCIPAL_BODY_BYTES: '500000' },
    })
    await stopSweepers(app)
  })

  afterEach(() => {
    app.clock.set(START)
  })

  const query = async (sql: string): Promise<Record<string, unknown>[]> => app.app.get(DataSource).query(sql)
  const rowsWhere = async (condition: string): Promise<number> => {
    const [row] = await query(`SELECT COUNT(*) AS n FROM mail_change_set WHERE ${condition}`)
    return Number(row?.['n'])
  }
  /** Begins to send a file of mail. @returns its end, which has the status of the answer */
  const upload = (text: string): ((rest?: string) => Promise<number | undefined>) => {
    const sent = request(`${app.url}${MAIL_API.quotas}/import`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${TOKENS.admin}`, 'Content-Type': 'text/csv' },
    })
    const answered = once(sent, 'response') as Promise<[IncomingMessage]>
    sent.write(text)
    return async (rest = '') => {
      sent.end(rest)
      const [answer] = await answered
      answer.resume()
      return answer.statusCode
    }
  }
  const until = async (met: () => Promise<boolean>): Promise<void> => {
    while (!(await met())) await sleep(20)
  }

  it('are kept for 90 days, or for 7 if they were never applied', async () => {
    const suite = changeSetSuite(MAIL_API, () => app)
    const owner = fresh()
    await suite.made(suite.total(owner))
    const madeSet = () => suite.madeSet({ account_id: owner }, { update: { total: { add: 1 } } })
    const applied = await suite.applied(await madeSet())
    const unapplied = await madeSet()
    const left = async () => {
      // Its rows are removed by the work on change sets, and then itself.
      for (let time = 0; time < 2; time += 1) {
        await removeOldChangeSets(app, MAIL_API)
        await until(async () => (await rowsWhere('work_at IS NOT NULL')) === 0)
      }
      const ids = `(${applied.id}, ${unapplied.id})`
      const items = `SELECT DISTINCT set_id FROM mail_change_set_item WHERE set_id IN ${ids} ORDER BY set_id`
      const [sets, rows] = [`SELECT id FROM mail_change_set WHERE id IN ${ids} ORDER BY id`, items]
      return [(await query(sets)).map(({ id }) => Number(id)), (await query(rows)).map(({ set_id: id }) => Number(id))]
    }
    const both = [applied.id, unapplied.id]
    app.clock.pass(7 * DAY)
    expect(await left()).toEqual([both, both])
    app.clock.pass(1)
    expect(await left()).toEqual([[applied.id], [applied.id]])
    app.clock.pass(83 * DAY - 1)
    expect(await left()).toEqual([[applied.id], [applied.id]])
    app.clock.pass(1)
    expect(await left()).toEqual([[], []])
  })

  it.each([
    [1, 'its rows are removed'],
    [2, 'it is removed'],
  ])('whose file takes longer than an hour leave nothing: after %d removals, %s', async (removals) => {
    const suite = changeSetSuite(MAIL_API, () => app)
    const lines = Array.from({ length: 500 }, () => `${fresh()},1,5,2027-01-01T00:00:00Z\n`)
    const end = upload(['account_id,quota_type,total,expire_at\n', ...lines].join(''))
    await until(async () => (await rowsWhere("state = 'arriving' AND waiting_rows = 500")) === 1)
    const [set] = await query("SELECT id FROM mail_change_set WHERE state = 'arriving'")
    const id = Number(set?.['id'])
    app.clock.pass(3_601)
    for (let time = 0; time < removals; time += 1) {
      await removeOldChangeSets(app, MAIL_API)
      await until(async () => (await rowsWhere('work_at IS NOT NULL')) === 0)
    }
    expect(await end(`${fresh()},1,5,2027-01-01T00:00:00Z\n`)).toBe(400)
    expect((await app.get(suite.at(id))).status).toBe(404)
    expect(await query(`SELECT set_id FROM mail_change_set_item WHERE set_id = ${id}`)).toEqual([])
  })

  it('change nothing after the lease on their change set, but answer again what has taken effect', async () => {
    const ledger = ledgerOf(app, MAIL_API)
    const suite = changeSetSuite(MAIL_API, () => app)
    const owner = fresh()
    const quota = await suite.made(suite.total(owner))
    const actor = { name: 'admin', id: 'admin', requestId: 'late' }
    const reset = async (key: string, heldUntil: number) =>
      ledger.inBackground(
        actor,
        { id: 1, heldUntil },
        owner,
        { kind: 'reset', quotaId: quota.id, version: undefined },
        key,
      )
    const key = String(fresh()).padStart(32, '0')
    const late = app.clock.now() - 1
    await expect(reset(key, late)).rejects.toMatchObject({ code: 'unavailable', reason: 'lease_over' })
    const first = await reset(key, late + 1_000)
    expect(first.replayed).toBe(false)
    expect(await reset(key, late)).toEqual({ ...first, replayed: true })
  })

  describe('whose step fails three times', () => {
    const suite = changeSetSuite(MAIL_API, () => app)
    const setAside = async () => {
      const { text } = await app.get('/metrics', { as: 'metrics' })
      return Number(/^quota_change_sets_set_aside_total{channel="mail"} (\d+)$/m.exec(text)?.[1])
    }
    /** From now on, the outcomes of its rows cannot be stored. */
    const refuseOutcomes = async (id: number) => {
      const refused =
        kind.name === 'SQLite'
          ? `WHEN NEW.set_id = ${id} BEGIN SELECT RAISE(ABORT, 'refused'); END`
          : `FOR EACH ROW IF NEW.set_id = ${id} THEN SIGNAL SQLSTATE '45000'; END IF`
      await query(`CREATE TRIGGER refused BEFORE UPDATE ON mail_change_set_item ${refused}`)
    }
    const threeOf = async (owner: number) => {
      for (let n = 0; n < 3; n += 1) await suite.made(suite.total(owner))
      return suite.madeSet({ account_id: owner }, { update: { total: { add: 1 } } })
    }

    it('are set aside while they are applied, with their rows, and others go on', async () => {
      const before = await setAside()
      const [owner, other] = [fresh(), fresh()]
      const [broken, next] = [await threeOf(owner), await threeOf(other)]
      await refuseOutcomes(broken.id)
      const applying = bodyOf(202, await suite.apply(broken))
      expect((await suite.applied(next)).counts.applied).toBe(3)
      const failed = await suite.settled(applying.id)
      expect(failed).toMatchObject({
        state: 'failed',
        counts: { planned: 3 },
        problem: { code: 'internal_error', detail: expect.stringContaining('application failed 3 times') },
      })
      expect(await suite.rows(broken.id)).toHaveLength(3)
      expect(await setAside()).toBe(before + 1)
      await query('DROP TRIGGER refused')
      expect(await rowsWhere('work_at IS NOT NULL')).toBe(0)
      // It tells what was changed, and is reverted, not dropped.
      expect(refusal(await app.delete(suite.at(broken.id)))).toEqual([409, 'change_set_state'])
      expect(await suite.reverted(failed)).toMatchObject({ state: 'reverted', counts: { planned: 0, reverted: 3 } })
      const { items } = bodyOf(200, await app.get(`${MAIL_API.quotas}?account_id=${owner}`))
      expect(items.map(({ total }: { total: number }) => total)).toEqual(Array(3).fill(suite.total(owner).total))
    })

    it('find what they have created, although an erasure has changed what their rows requested', async () => {
      const set = await suite.imported(
        'account_id,quota_type,total,expire_at,label',
        `${fresh()},1,5,2027-01-01T00:00:00Z,Alice`,
      )
      await refuseOutcomes(set.id)
      await suite.applied(set)
      await query('DROP TRIGGER refused')
      await query(
        `UPDATE mail_change_set_item SET command = REPLACE(command, '"Alice"', 'null') WHERE set_id = ${set.id}`,
      )
      await query(
        `UPDATE mail_change_set SET state = 'applying', work = 'apply', work_at = created_at WHERE id = ${set.id}`,
      )
      const done = await suite.settled(set.id)
      expect(done.counts).toMatchObject({ applied: 1 })
      expect((await suite.reverted(done)).counts).toMatchObject({ reverted: 1 })
    })

    it('are set aside while they are prepared, without their rows', async () => {
      const owner = fresh()
      const set = await threeOf(owner)
      // Filters are valid as stored; so this is as if a rule of this version could not read it.
      await query(
        `UPDATE mail_change_set SET state = 'preparing', work = 'prepare', filter = '{', work_at = created_at WHERE id = ${set.id}`,
      )
      await until(async () => (await rowsWhere(`id = ${set.id} AND state = 'failed' AND work_at IS NULL`)) === 1)
      await query(`UPDATE mail_change_set SET filter = '{}' WHERE id = ${set.id}`)
      expect(await suite.setOf(set.id)).toMatchObject({ counts: { rows: 0 }, problem: { code: 'internal_error' } })
      expect(await suite.rows(set.id)).toEqual([])
      expect((await app.delete(suite.at(set.id))).status).toBe(204)
    })

    it('are not tried again where the third attempt has ended the process', async () => {
      const set = await threeOf(fresh())
      await query(
        `UPDATE mail_change_set SET state = 'applying', work = 'apply', attempts = 3, work_at = created_at, acting_id = 'admin' WHERE id = ${set.id}`,
      )
      expect(await suite.settled(set.id)).toMatchObject({ state: 'failed', counts: { planned: 3 } })
    })

    it('say which rows took effect before the process ended', async () => {
      const set = await threeOf(fresh())
      /** As a third process left it that ended between the effect of a step and its outcomes. */
      const ended = async (work: string, outcome: string, before: string) => {
        await query(`UPDATE mail_change_set_item SET outcome = '${before}' WHERE set_id = ${set.id}`)
        await query(
          `UPDATE mail_change_set SET state = '${work === 'apply' ? 'applying' : 'reverting'}', work = '${work}', attempts = 3, work_at = created_at, ` +
            `${before} = 3, ${outcome} = 0 WHERE id = ${set.id}`,
        )
        return suite.settled(set.id)
      }
      await suite.applied(set)
      const failed = await ended('apply', 'applied', 'planned')
      expect(failed).toMatchObject({ state: 'failed', counts: { planned: 0, applied: 3 } })
      expect((await suite.reverted(failed)).counts).toMatchObject({ reverted: 3 })
      expect(await ended('revert', 'reverted', 'applied')).toMatchObject({
        state: 'failed',
        counts: { applied: 0, reverted: 3 },
      })
    })
  })

  if (kind.name !== 'SQLite')
    it('are not nearer to being set aside after a full disk, during which another instance took over', async () => {
      const suite = changeSetSuite(MAIL_API, () => app)
      const owner = fresh()
      await suite.made(suite.total(owner))
      const set = await suite.madeSet({ account_id: owner }, { update: { total: { add: 1 } } })
      await query(
        "CREATE TRIGGER full BEFORE INSERT ON mail_act FOR EACH ROW SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 1114",
      )
      try {
        expect((await suite.apply(set)).status).toBe(202)
        await until(async () => app.app.get(TransactionRunner).reach === 'reads')
        // As the other instance does.
        const soon = new Date(app.clock.now() + 9_000).toISOString().replace('T', ' ').slice(0, -1)
        await query(
          `UPDATE mail_change_set SET holder = 'other', held_until = '${soon}', attempts = attempts + 1 WHERE id = ${set.id}`,
        )
        expect(await rowsWhere(`id = ${set.id} AND attempts = 2`)).toBe(1)
        await until(async () => (await rowsWhere(`id = ${set.id} AND attempts = 1 AND holder = 'other'`)) === 1)
      } finally {
        await query('DROP TRIGGER full')
      }
      await query(`UPDATE mail_change_set SET held_until = created_at WHERE id = ${set.id}`)
      expect(await suite.settled(set.id)).toMatchObject({ state: 'applied', counts: { applied: 1 } })
    })

  if (kind.name !== 'SQLite')
    it('keep their lease while a step waits for a row that another session keeps locked', async () => {
      const suite = changeSetSuite(MAIL_API, () => app)
      const owner = fresh()
      const { id: quotaId } = await suite.made(suite.total(owner))
      const set = await suite.madeSet({ account_id: owner }, { update: { total: { add: 1 } } })
      // Not of the service, whose sessions keep no transaction open.
      const other = await createConnection(app.store.url.replace(/^\w+:/, 'mysql:'))
      await other.query('SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED')
      await other.query('START TRANSACTION')
      await other.query(`SELECT id FROM mail_quota WHERE id = ${quotaId} FOR UPDATE`)
      const isHeld = async (): Promise<boolean> => {
        const soon = new Date(app.clock.now() + 4_000).toISOString().replace('T', ' ').slice(0, -1)
        return (await rowsWhere(`id = ${set.id} AND attempts = 1 AND held_until > '${soon}'`)) === 1
      }
      try {
        expect((await suite.apply(set)).status).toBe(202)
        for (const seconds of [7, 7, 7, 0]) {
          for (let tries = 0; tries < 200 && !(await isHeld()); tries += 1) await sleep(20)
          expect(await isHeld()).toBe(true)
          app.clock.pass(seconds)
        }
      } finally {
        await other.end()
      }
      expect(await suite.settled(set.id)).toMatchObject({ state: 'applied', counts: { applied: 1 } })
    })

  it('dropped while their rows are read do not end the file as if it were whole', async () => {
    const suite = changeSetSuite(MAIL_API, () => app)
    const lines = Array.from({ length: 201 }, () => `${fresh()},1,5,2027-01-01T00:00:00Z`)
    const { id } = await suite.imported('account_id,quota_type,total,expire_at', ...lines)
    const [service] = app.app.get(ChangeSetService<QuotaRow>, { strict: false, each: true })
    if (service === undefined) throw new Error('no change sets of mail')
    const file = await service.rowsCsv({ id: 'admin' } as Caller, id, {})
    const chunks = file[Symbol.asyncIterator]()
    expect(String((await chunks.next()).value).split('\r\n')).toHaveLength(202)
    expect((await app.delete(suite.at(id))).status).toBe(204)
    await until(async () => (await rowsWhere('work_at IS NOT NULL')) === 0)
    await expect(chunks.next()).rejects.toMatchObject({ code: 'change_set_not_found' })
  })

  it('of several principals take turns', async () => {
    const others = changeSetSuite(MAIL_API, () => app)
    const [owner, other] = [fresh(), fresh()]
    await others.made(others.total(other))
    const lines = Array.from({ length: 10_000 }, (_, n) => `${owner + n},1,5,2027-01-01T00:00:00Z`)
    const large = bodyOf(202, await others.upload(['account_id,quota_type,total,expire_at', ...lines].join('\n')))
    const sent = { filter: { account_id: other }, change: { update: { total: 7 } } }
    const small = bodyOf(202, await app.post(`${MAIL_API.quotas}/change-sets`, sent, { as: 'mail-service' }))
    await others.settled(small.id)
    expect(await others.setOf(large.id)).toMatchObject({ state: 'preparing' })
    expect(await others.settled(large.id)).toMatchObject({ state: 'ready', counts: { planned: 10_000 } })
  })

  describe('while callers make large ones slow', () => {
    const LARGE = 3
    let other: TestApp
    let over: () => Promise<void>
    const large: number[] = []
    const isPreparing = async (id: number | undefined): Promise<boolean> =>
      (await rowsWhere(`id = ${id} AND state = 'preparing'`)) === 1

    beforeAll(async () => {
      other = await TestApp.start(app.store, { env: { AUTH_TOKENS: KNOWN } })
      const suite = changeSetSuite(MAIL_API, () => app)
      const owner = fresh()
      await suite.made(suite.total(owner, { total: 1_000_000 }))
      let goesOn = true as boolean
      const calling = (async () => {
        while (goesOn) await app.post(MAIL_API.consume, { account_id: owner, amount: 1 }, { key: `calls-${fresh()}` })
      })()
      over = async () => {
        goesOn = false
        await calling
      }
      const headers = { Authorization: `Bearer ${TOKENS['mail-service']}` }
      for (let file = 0; file < LARGE; file += 1) {
        const lines = Array.from({ length: 10_000 }, () => `${fresh()},1,5,2027-01-01T00:00:00Z`)
        const text = ['account_id,quota_type,total,expire_at', ...lines].join('\n')
        large.push(bodyOf(202, await suite.upload(text, { headers })).id)
      }
    })

    afterAll(async () => {
      await over()
      await other.stop()
      const { at } = changeSetSuite(MAIL_API, () => app)
      for (const id of large) expect((await app.delete(at(id))).status).toBe(204)
      await until(async () => (await rowsWhere('work_at IS NOT NULL')) === 0)
    })

    it('a key taken at another instance is known', async () => {
      const key = `set-${fresh()}`
      const body = { filter: { account_id: fresh() }, change: { delete: true } }
      expect((await other.post(`${MAIL_API.quotas}/change-sets`, body, { key, as: 'other' })).status).toBe(202)
      const refund = `${MAIL_API.usage}/00000000-0000-7000-8000-000000000000/refund`
      await until(async () => (await app.post(refund, {}, { key, as: 'other' })).status === 422)
      expect(await isPreparing(large[0])).toBe(true)
    })

    if (kind.name !== 'SQLite')
      it('one that met a locked row goes on', async () => {
        const suite = changeSetSuite(MAIL_API, () => app)
        const owner = fresh()
        const { id } = await suite.made(suite.total(owner))
        const set = await suite.madeSet({ account_id: owner }, { update: { total: { add: 1 } } })
        await query(
          `CREATE TRIGGER locked BEFORE UPDATE ON mail_quota FOR EACH ROW IF NEW.id = ${id} THEN ` +
            "SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 1205; END IF",
        )
        try {
          expect((await suite.apply(set)).status).toBe(202)
          await until(async () => (await rowsWhere(`id = ${set.id} AND attempts = 1`)) === 1)
          // Longer than a write is tried.
          await sleep(7_000)
        } finally {
          await query('DROP TRIGGER locked')
        }
        expect(await suite.settled(set.id)).toMatchObject({ state: 'applied', counts: { applied: 1 } })
        expect(await isPreparing(large.at(-1))).toBe(true)
      })
  })

  it('of several principals take turns, the smaller first', async () => {
    const suite = changeSetSuite(MAIL_API, () => app)
    const [owner, other] = [fresh(), fresh()]
    for (const one of [owner, owner, other]) await suite.made(suite.total(one))
    const larger = await suite.madeSet({ account_id: owner }, { update: { total: { add: 1 } } })
    const sent = { filter: { account_id: other }, change: { update: { total: { add: 1 } } } }
    const { id } = bodyOf(202, await app.post(`${MAIL_API.quotas}/change-sets`, sent, { as: 'mail-service' }))
    const smaller = await suite.settled(id)
    // Both are asked for at one instant.
    const ids = `(${larger.id}, ${smaller.id})`
    await query(
      `UPDATE mail_change_set SET state = 'applying', work = 'apply', work_at = created_at, acting_id = creator_id WHERE id IN ${ids}`,
    )
    for (const set of [larger, smaller]) expect(await suite.settled(set.id)).toMatchObject({ state: 'applied' })
    const changes = await query(`SELECT change_set_id FROM mail_change WHERE change_set_id IN ${ids} ORDER BY id`)
    expect(changes.map((change) => Number(change['change_set_id']))).toEqual([smaller.id, larger.id, larger.id])
  })

  it('of one principal that are not applied have a million rows at most', async () => {
    const suite = changeSetSuite(MAIL_API, () => app)
    const owner = fresh()
    for (let n = 0; n < 3; n += 1) await suite.made(suite.total(owner))
    const key = `limit-${fresh()}`
    const file = `account_id,quota_type,total,expire_at\n${owner},1,5,2027-01-01T00:00:00Z\n`
    const first = await suite.upload(file, { key })
    const { id } = await suite.ready(first)
    const others = (await rowsWhere(`creator_id = 'admin' AND waiting_rows > 0 AND id <> ${id}`)) > 0
    const waiting = async (rows: number) => query(`UPDATE mail_change_set SET waiting_rows = ${rows} WHERE id = ${id}`)
    expect(others).toBe(true)
    await waiting(1_000_000)
    const answer = await suite.upload(file)
    expect(refusal(answer)).toEqual([409, 'too_many_rows'])
    expect(answer.body.detail).toContain(`${id} (1000000 rows)`)
    const change = { filter: { account_id: owner }, change: { delete: true } }
    expect(refusal(await suite.createSet(change))).toEqual([409, 'too_many_rows'])
    // A retry gets its answer, and others have rows of their own.
    expect((await suite.upload(file, { key })).text).toBe(first.text)
    expect((await app.post(`${MAIL_API.quotas}/change-sets`, change, { as: 'mail-service' })).status).toBe(202)
    // Rows that would exceed the limit are noticed when they are counted.
    const sum = Number(
      (await query("SELECT SUM(waiting_rows) AS n FROM mail_change_set WHERE creator_id = 'admin'"))[0]?.['n'],
    )
    await waiting(2 * 1_000_000 - sum - 2)
    const failed = await suite.madeSet(change.filter, change.change)
    expect(failed).toMatchObject({ state: 'failed', problem: { code: 'too_many_rows' } })
    // Of two files that arrive at the same time, one is too large.
    const end = upload(file)
    await until(async () => (await rowsWhere("state = 'arriving'")) === 1)
    await suite.ready(await suite.upload(file))
    expect(await end(`${owner},1,5,2027-01-01T00:00:00Z\n`)).toBe(202)
    const [late] = bodyOf(200, await app.get(`${MAIL_API.quotas}/change-sets?page_size=2`)).items.slice(-1)
    expect(await suite.settled(late.id)).toMatchObject({ state: 'failed', problem: { code: 'too_many_rows' } })
    expect((await app.delete(suite.at(id))).status).toBe(204)
    await until(async () => (await rowsWhere('work_at IS NOT NULL')) === 0)
    expect((await suite.madeSet(change.filter, change.change)).counts.planned).toBe(3)
  })

  it('have their keys to themselves at every instance', async () => {
    const other = await TestApp.start(app.store)
    try {
      const key = `set-${fresh()}`
      const body = { filter: { account_id: fresh() }, change: { delete: true } }
      expect((await app.post(`${MAIL_API.quotas}/change-sets`, body, { key })).status).toBe(202)
      const refund = `${MAIL_API.usage}/00000000-0000-7000-8000-000000000000/refund`
      await until(async () => (await other.post(refund, {}, { key, as: 'admin' })).status === 422)
    } finally {
      await other.stop()
    }
  })

  it('are prepared by instances whose times differ', async () => {
    const suite = changeSetSuite(MAIL_API, () => app)
    const clock = new TestClock(app.clock.after(15))
    const other = await TestApp.start(app.store, { clock })
    try {
      const lines = Array.from({ length: 5_000 }, () => `${fresh()},1,5,2027-01-01T00:00:00Z`)
      const { id } = bodyOf(202, await suite.upload(['account_id,quota_type,total,expire_at', ...lines].join('\n')))
      const taken = new Set<unknown>()
      await until(async () => {
        const [row] = await query(`SELECT holder, state FROM mail_change_set WHERE id = ${id}`)
        if (row?.['holder'] != null) taken.add(row['holder'])
        return row?.['state'] !== 'preparing' || taken.size > 1
      })
      // As soon as they agree.
      await sleep(3_000)
      clock.set(app.clock.after(0))
      expect(await suite.settled(id)).toMatchObject({ state: 'ready', counts: { planned: 5_000 } })
    } finally {
      await other.stop()
    }
  })

  it('slow down for callers, not for the sweeper', async () => {
    const other = await TestApp.start(app.store)
    try {
      await stopSweepers(other)
      const ledger = ledgerOf(other, MAIL_API)
      const owner = fresh()
      await ledger.sweep(owner)
      expect(ledger.engine.inUse).toBe(false)
      const answer = ledger.engine.submit({
        id: firstIdAt(other.clock.now()),
        ownerId: owner,
        caller: 'admin',
        callerId: 'admin',
        requestId: 'in use',
        key: null,
        deduplicationKey: null,
        command: { kind: 'consume', amount: 1 },
      })
      expect(ledger.engine.inUse).toBe(true)
      await expect(answer).rejects.toMatchObject({ code: 'no_active_quota' })
    } finally {
      await other.stop()
    }
  })
})
