import { beforeAll, describe, expect } from '@jest/globals'
import type { Response } from 'supertest'
import { DataSource } from 'typeorm'
import { hashOf, newToken } from '../src/auth/token.js'
import { Erasure } from '../src/change-set/erasure.js'
import { bytesToStore, idFromStore } from '../src/database/bytes.js'
import { TransactionRunner } from '../src/database/transaction-runner.js'
import { LEASE_MS } from '../src/change-set/leased-change-set.js'
import { CHANNELS } from '../src/entities.js'
import { deduplicationKeyFor } from '../src/ledger/store/command.js'
import { AUTH_TOKENS, type Sent, TestApp } from './support/app.js'
import { changeSetSuite } from './support/change-set/suite.js'
import { readable } from './support/ids.js'
import { type Body, bodyOf, fresh, ledgerOf, refusal, stopSweepers } from './support/quota-api.js'
import { it } from './support/scoped.js'
import { forEveryChannel } from './support/store.js'
import { contradictionsOf } from './support/verify.js'

/** An owner that is also a principal: the name of a token is its id. */
const OWNER = 4711
const ITSELF = newToken('admin')
const ENTRIES = `${AUTH_TOKENS},${OWNER}:admin:${hashOf(ITSELF).toString('hex')}`

forEveryChannel('forgetting an owner', (kind, channels) => {
  let app: TestApp

  beforeAll(async () => {
    app = await TestApp.on(kind, {
      env: { AUTH_TOKENS: ENTRIES, LINK_SECRET: 'a secret of more than thirty-two characters' },
    })
    await stopSweepers(app)
  })

  const query = async (sql: string): Promise<Body[]> => readable(await app.app.get(DataSource).query<Body[]>(sql))

  /** Every value of every table, by table and column: a column that is added later is searched, too. */
  async function everything(): Promise<[place: string, value: unknown][]> {
    const tables =
      kind.name === 'SQLite'
        ? "SELECT name FROM sqlite_master WHERE type = 'table'"
        : 'SELECT table_name AS name FROM information_schema.tables WHERE table_schema = DATABASE()'
    const found: [string, unknown][] = []
    for (const { name } of await query(tables))
      for (const row of await query(`SELECT * FROM \`${name}\``))
        for (const [column, value] of Object.entries(row)) found.push([`${name}.${column}`, value])
    return found
  }

  /** Where the texts are: whole, or within others, such as JSON. */
  async function placesOf(texts: readonly string[]): Promise<string[]> {
    const escaped = (text: string): string =>
      JSON.stringify(text)
        .slice(1, -1)
        .replace(/[\u0080-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
    const wanted = texts.flatMap((text) => [text, text.toLowerCase(), escaped(text)])
    const within = (value: unknown): boolean => {
      const text = Buffer.isBuffer(value) ? value.toString('latin1') : value
      return typeof text === 'string' && wanted.some((one) => text.includes(one))
    }
    return [...new Set((await everything()).filter(([, value]) => within(value)).map(([place]) => place))].sort()
  }

  /** Where a principal is named: a whole column, or a text in JSON. An owner's id is a number but in cells of files. */
  async function placesOfName(name: string): Promise<string[]> {
    const named = (value: unknown): boolean =>
      typeof value === 'string' && (value === name || value.includes(`"${name}"`))
    const places = (await everything()).filter(([, value]) => named(value)).map(([place]) => place)
    return [...new Set(places)].filter((place) => !place.endsWith('_item.given')).sort()
  }

  describe.each(channels)('of $name', (api) => {
    const suite = changeSetSuite(api, () => app)
    const { cycle, total, made, updated, read, changes, summary, createSet, settled, setOf } = suite
    const tables = [`${api.channel}_act`, `${api.channel}_operation`, `${api.channel}_usage_total`]

    function erasureOf(owner: number, pause = async (): Promise<unknown> => undefined): Erasure<never> {
      const channel = CHANNELS.find(({ channel: { name } }) => name === api.channel)
      const { app: nest, clock } = app
      const parts = [nest.get(DataSource), nest.get(TransactionRunner), clock] as const
      return new Erasure(channel as never, ...parts, owner, pause)
    }

    /** Erases an owner, at a time after all that was done. @returns the rows erased, by name */
    async function erase(owner: number): Promise<Record<string, number>> {
      app.clock.pass(1)
      const rows: Record<string, number> = {}
      const left: Record<string, number> = {}
      for await (const { what, read, erased } of erasureOf(owner).run()) {
        rows[what] = (rows[what] ?? 0) + erased
        left[what] = (left[what] ?? 0) + read - erased
      }
      // Of the rows that were read.
      expect(Object.values(left).every((count) => count >= 0)).toBe(true)
      app.clock.pass(1)
      return rows
    }

    const spend = (path: string, owner: number, amount: number, key: string, sent: Sent = {}) =>
      app.post(path, { [api.owner]: owner, amount }, { key, ...sent })
    const asItself = { as: undefined, headers: { Authorization: `Bearer ${ITSELF}` } }

    /** Amounts and times: all columns without texts of owners and callers. */
    async function figures(): Promise<Body[]> {
      const [act, operation, totals] = tables
      return [
        await query(
          `SELECT id, kind, owner_id, quota_id, operation_id, amount, default_amount, at, plain_owner_id, plain_quota_id, cycle_seq, owner_remaining, caps FROM ${act} WHERE kind <> 'erase' ORDER BY id`,
        ),
        await query(`SELECT * FROM ${operation} ORDER BY id`),
        await query(`SELECT * FROM ${totals} ORDER BY owner_id, step, began_at, quota_id, cycle_seq`),
        await query(`SELECT * FROM ${api.channel}_allocation ORDER BY operation_id, position`),
        await query(`SELECT * FROM ${api.channel}_hold ORDER BY operation_id, owner_id`),
        await query(`SELECT * FROM ${api.channel}_refusal ORDER BY hour, owner_id, code`),
        await query(
          `SELECT id, total, used, reserved, opening_used, window_counts, created_at, expire_at FROM ${api.channel}_quota ORDER BY id`,
        ),
        await query(`SELECT id, quota_id, action, at FROM ${api.channel}_change WHERE action <> 'erase' ORDER BY id`),
        await query(
          `SELECT seq, id, type, at, quota_id FROM ${api.channel}_event WHERE data_json NOT LIKE '%"action":"erase"%' ORDER BY seq`,
        ),
      ]
    }

    it('leaves nothing of its texts in any column of any table, and everything of amounts and times', async () => {
      const other = fresh()
      const n = fresh()
      const [label, labels] = [`Zoë Ünique ${n}`, (place: string) => `Zoë Ünique ${n} ${place}`]
      const [key, requestId] = [(place: string) => `key-${n}-${place}`, (place: string) => `request-${n}-${place}`]
      const sent = (place: string): Sent => ({ key: key(place), headers: { 'X-Request-Id': requestId(place) } })

      // Quotas of every kind, one deleted, one edited by the owner itself, and one of somebody else, edited by it.
      const quota = bodyOf(201, await app.post(api.quotas, cycle(OWNER, { label, thresholds: [50] }), sent('create')))
      const cap = await made(cycle(OWNER, { label: labels('cap'), cap: 'observe', total: 10 }))
      const gone = await made(total(OWNER, { label: labels('gone') }))
      await suite.remove(gone.id)
      const second = await made(total(OWNER, { total: 50, expire_at: '2026-11-25T00:00:00.000Z' }))
      bodyOf(200, await app.put(suite.path(second.id), { label: labels('second') }, asItself))
      const others = await made(cycle(other, { label: `Other ${n}` }))
      bodyOf(200, await app.put(suite.path(others.id), { total: 200 }, asItself))

      // A group, with a count of the owner that overrides its label, and a shared quota.
      const group = bodyOf(201, await app.post(`${api.quotas}/groups`, { name: `group ${n}` }))
      const shared = { quota_type: 2, total: 1000, cycle_unit: 'day', cycle_reset_at: '2026-11-22T00:00:00.000Z' }
      await made({ ...shared, group_id: group.id, label: `Shared ${n}` })
      const followed = await made({ ...shared, total: 20, group_id: group.id, per: 'member', label: `Each ${n}` })
      bodyOf(200, await app.post(`${api.quotas}/groups/${group.id}/members`, { [`${api.owner}s`]: [OWNER, other] }))

      // It leaves and comes back, once from another group: calls about it alone.
      const away = bodyOf(201, await app.post(`${api.quotas}/groups`, { name: `away ${n}` }))
      const membersOf = ({ id }: Body): string => `${api.quotas}/groups/${id}/members`
      const join = async (where: Body, place: string): Promise<Response> =>
        app.post(membersOf(where), { [`${api.owner}s`]: [OWNER] }, sent(place))
      const left = { headers: { 'X-Request-Id': requestId('left') } }
      expect((await app.delete(`${membersOf(group)}/${OWNER}`, left)).status).toBe(204)
      for (const [where, place] of [
        [away, 'added'],
        [group, 'moved'],
        [group, 'unchanged'],
      ] as const)
        bodyOf(200, await join(where, place))

      // Usage: plain, split over quotas, held, committed, refunded and refused; in a batch, and by the owner itself.
      const plain = bodyOf(200, await spend(api.consume, other, 1, `other-${n}`))
      const first = bodyOf(200, await spend(api.consume, OWNER, 60, key('consume'), sent('consume')))
      const count = (await suite.listed(`follows=${followed.id}&${api.owner}=${OWNER}`)).items[0]
      await updated(count.id, { label: labels('count') })
      const held = bodyOf(201, await spend(api.reserve, OWNER, 5, key('reserve'), sent('reserve')))
      const open = bodyOf(201, await spend(api.reserve, OWNER, 7, key('open'), sent('open')))
      const commit = () =>
        app.post(`${api.usage}/${held.id}/commit`, { amount: 4 }, { headers: { 'X-Request-Id': requestId('commit') } })
      const committed = bodyOf(200, await commit())
      bodyOf(200, await app.post(`${api.usage}/${first.id}/refund`, { amount: 2 }, sent('refund')))
      expect((await spend(api.consume, OWNER, 1_000_000, key('refused'), sent('refused'))).status).toBe(409)
      const item = { [api.owner]: OWNER, amount: 1, idempotency_key: key('batch') }
      bodyOf(
        200,
        await app.post(
          `${api.usage}/consume/batch`,
          { items: [item] },
          { headers: { 'X-Request-Id': requestId('batch') } },
        ),
      )
      bodyOf(200, await spend(api.consume, OWNER, 1, key('itself'), asItself))
      bodyOf(200, await spend(api.consume, other, 1, `itself-${n}`, asItself))
      bodyOf(200, await app.post(`${suite.path(second.id)}/reset`, {}, sent('reset')))

      // Change sets: one applied, one prepared, and one of a file with a row that is invalid.
      const setKey = key('set')
      const set = await suite.ready(
        await createSet(
          { filter: { [api.owner]: OWNER, label }, change: { update: { label: labels('set') } } },
          setKey,
        ),
      )
      expect(set.counts).toMatchObject({ planned: 4 })
      bodyOf(
        202,
        await app.post(
          suite.at(set.id, '/apply'),
          { version: set.version, rows: 4 },
          { headers: { 'X-Request-Id': requestId('apply') } },
        ),
      )
      expect((await settled(set.id)).state).toBe('applied')
      const header = `id,${api.owner},quota_type,total,expire_at,label`
      const file = await suite.imported(
        header,
        `,${OWNER},1,5,2027-01-01T00:00:00Z,${labels('planned')}`,
        `${second.id},,,51,,${labels('update')}`,
        `,${OWNER},1,-5,2027-01-01T00:00:00Z,${labels('invalid')}`,
        `${others.id},,,201,,`,
        // The owner is what the records name, where they name no quota; a comma may have cut the label.
        `${Number.MAX_SAFE_INTEGER},${OWNER},,52,,${labels('missing')}`,
        `none,${OWNER},,53,,${labels('no id')}`,
        `,${OWNER},1,5,2027-01-01T00:00:00Z,${labels('long')},${labels('rest')}`,
        `,${OWNER},1,${labels('short')}`,
        `${second.id},,,54,,${labels('wide')},${labels('end')}`,
      )
      expect(file.counts).toMatchObject({ planned: 3, invalid: 5, conflict: 1 })

      const { url } = bodyOf(201, await app.post(`${api.quotas}/owners/${OWNER}/link`, {}))
      const view = () =>
        app.get('/api/v1/view', { as: undefined, headers: { Authorization: `Bearer ${new URL(url).hash.slice(1)}` } })
      bodyOf(200, await view())

      await query(
        `UPDATE ${api.channel}_owner SET brought_by = '${OWNER}', brought_at = NULL WHERE owner_id = ${other}`,
      )

      const keys = [
        'create',
        'consume',
        'reserve',
        'open',
        'refund',
        'batch',
        'itself',
        'reset',
        'added',
        'moved',
        'unchanged',
      ].map(key)
      const hashes = [...keys, setKey].flatMap((one) =>
        ['admin', String(OWNER)].map((name) => deduplicationKeyFor(name, one)),
      )
      // `readable` shows the bytes of a hash as those of an id.
      const shown = hashes.map((hash) => idFromStore(bytesToStore(hash)))
      const texts = [`Zoë Ünique ${n}`, `key-${n}-`, `request-${n}-`, ...hashes, ...shown]
      // The search finds what is there, in each column of a quota that is for texts of people.
      const textColumns = app.app
        .get(DataSource)
        .entityMetadatas.filter(({ tableName }) => tableName === `${api.channel}_quota`)
        .flatMap(({ columns }) => columns.filter(({ charset }) => charset === 'utf8mb4'))
        .map(({ databaseName }) => `quota.${databaseName}`)
      expect(textColumns).toContain('quota.label')
      expect(await placesOf(texts)).toEqual(
        expect.arrayContaining(
          [
            'act.idempotency_key',
            'act.deduplication_key',
            'act.request_text',
            'act.answer',
            'change.after_json',
            'change.request_id',
            'event.data_json',
            ...textColumns,
            'change_set.filter',
            'change_set.deduplication_key',
            'change_set_item.given',
            'change_set_item.command',
          ].map((place) => `${api.channel}_${place}`),
        ),
      )
      expect(await placesOfName(String(OWNER))).toEqual(
        expect.arrayContaining(
          ['act.caller', 'change.actor', 'caller.id', 'owner.brought_by', 'event.data_json'].map(
            (place) => `${api.channel}_${place}`,
          ),
        ),
      )
      await ledgerOf(app, api).refusals.flush()
      const [before, sums] = [await figures(), await summary(OWNER)]
      const stale = await read(quota.id)

      await erase(OWNER)

      expect(await placesOf(texts)).toEqual([])
      expect(await placesOfName(String(OWNER))).toEqual([])
      expect(await contradictionsOf(app)).toEqual([])
      expect(await figures()).toEqual(before)
      expect(await summary(OWNER)).toEqual(sums)

      // It is an act and a change of its own, and each label one of its quota.
      const all: Body[] = bodyOf(200, await app.get(`${api.quotas}/changes?${api.owner}=${OWNER}&action=erase`)).items
      const own = all.at(-1)
      expect(own).toEqual({
        id: own.id,
        [api.owner]: OWNER,
        group_id: null,
        action: 'erase',
        actor: 'erase',
        request_id: expect.stringMatching(/^erase-/),
        at: expect.any(String),
        before: {},
        after: {},
      })
      const labelled = [quota, cap, gone, second, count]
      expect(all.slice(0, -1).map(({ quota_id, after }) => [quota_id, after])).toEqual(
        labelled.map(({ id }) => [id, { label: null }]).reverse(),
      )
      expect(
        await query(`SELECT owner_id, quota_id, caller, answer FROM ${tables[0]} WHERE kind = 'erase'`),
      ).toMatchObject([{ quota_id: null, caller: 'erase', answer: '' }])

      // What was told to callers is replayed no more; what may happen once stays so.
      const again = await spend(api.consume, OWNER, 60, key('consume'), sent('consume'))
      expect([again.status, again.headers['idempotency-replayed']]).toEqual([200, undefined])
      expect(again.body.id).not.toBe(first.id)
      expect((await join(group, 'unchanged')).headers['idempotency-replayed']).toBeUndefined()
      const repeated = await commit()
      expect([repeated.status, repeated.text, repeated.headers['idempotency-replayed']]).toEqual([
        200,
        JSON.stringify(committed),
        'true',
      ])
      bodyOf(200, await app.post(`${api.usage}/${open.id}/commit`, {}))
      expect((await view()).status).toBe(401)
      const acts: Body[] = bodyOf(200, await app.get(`${api.usage}/${held.id}/acts`)).items
      expect(acts.map(({ kind: what, idempotency_key: used, request_id: by }) => [what, used, by])).toEqual([
        ['reserve', null, '(erased)'],
        ['commit', null, '(erased)'],
      ])
      // A front end that sends back what it read does not bring the label back.
      expect(refusal(await app.put(suite.path(quota.id), { ...stale, total: 101 }))).toEqual([409, 'version_mismatch'])
      expect(await read(count.id)).toMatchObject({ label: null, overrides: ['label'] })
      const changed: Body[] = (await changes(second.id)).items
      expect(changed.map(({ action, actor }) => [action, actor])).toEqual([
        ['erase', 'erase'],
        ['update', 'admin'],
        ['reset', 'admin'],
        ['update', '(erased)'],
        ['create', 'admin'],
      ])

      // The prepared change set can be applied: without the label, and not where the label was.
      const applied = await suite.applied(await setOf(file.id))
      expect(applied.counts).toMatchObject({ applied: 2, conflict: 2, invalid: 5 })
      expect((await setOf(set.id)).filter).toEqual({ [api.owner]: OWNER, label: '(erased)' })
      const anew = await createSet({ filter: { [api.owner]: OWNER, label }, change: { delete: true } }, setKey)
      expect([anew.status, anew.headers['idempotency-replayed']]).toEqual([202, undefined])
      await settled(anew.body.id)

      // Nobody else lost anything.
      expect(await read(others.id)).toMatchObject({ label: `Other ${n}` })
      expect((await spend(api.consume, other, 1, `other-${n}`)).text).toBe(JSON.stringify(plain))
      expect((await spend(api.consume, other, 1, `itself-${n}`, asItself)).headers['idempotency-replayed']).toBe('true')
      expect(await contradictionsOf(app)).toEqual([])
    })

    it('may be interrupted after any step, and begun again', async () => {
      const owner = fresh()
      const text = `interrupted-${owner}`
      await made(cycle(owner, { label: `${text} label` }))
      await made(total(owner, { label: `${text} second` }))
      for (let one = 0; one < 3; one += 1) bodyOf(200, await spend(api.consume, owner, 1, `${text}-${one}`))
      await suite.madeSet({ [api.owner]: owner }, { update: { label: `${text} planned` } })
      const used: number = (await summary(owner)).used
      app.clock.pass(1)
      let steps = 0
      for await (const _ of erasureOf(owner).run()) steps += 1
      expect(steps).toBeGreaterThan(5)
      for (let until = 1; until <= steps; until += 1) {
        await spend(api.consume, owner, 1, `${text}-again-${until}`)
        await made(total(owner, { label: `${text} again ${until}` }))
        app.clock.pass(1)
        let done = 0
        for await (const _ of erasureOf(owner).run()) if ((done += 1) === until) break
        expect([until, await contradictionsOf(app)]).toEqual([until, []])
      }
      await erase(owner)
      expect(await placesOf([text])).toEqual([])
      expect(await contradictionsOf(app)).toEqual([])
      expect((await summary(owner)).used).toBe(used + steps)
    })

    it('leaves a caller whose name has a blank more, and whom it brought in', async () => {
      const [owner, brought] = [fresh(), fresh()]
      for (const one of [owner, brought]) await made(total(one))
      const [callers, owners, other] = [`${api.channel}_caller`, `${api.channel}_owner`, `oidc:${owner} `]
      const at = '2026-11-21 12:00:00.000'
      await query(`INSERT INTO ${callers} (id, name, spent_at) VALUES ('${other}', '${other}', '${at}')`)
      await query(`UPDATE ${owners} SET brought_by = '${other}', brought_at = '${at}' WHERE owner_id = ${brought}`)
      const named = async (): Promise<Body[]> => [
        await query(`SELECT name FROM ${callers} WHERE id LIKE '${other}%'`),
        await query(`SELECT brought_by AS name FROM ${owners} WHERE owner_id = ${brought}`),
      ]
      const before = await named()
      expect(before).toEqual([[{ name: other }], [{ name: other }]])
      await erase(owner)
      expect(await named()).toEqual(before)
    })

    it('takes more rows than a step has', async () => {
      const owner = fresh()
      const text = `many-${owner}`
      const { id } = await made(cycle(owner, { total: 100_000, label: text }))
      const items = Array.from({ length: 600 }, (_, one) => ({
        [api.owner]: owner,
        amount: 1,
        idempotency_key: `${text}-${one}`,
      }))
      bodyOf(200, await app.post(`${api.usage}/consume/batch`, { items }))
      const row = (one: number): string => `${owner},1,5,2027-01-01T00:00:00Z,${text} ${one}`
      const create = async (from: number, to: number): Promise<void> => {
        const rows = Array.from({ length: to - from }, (_, one) => row(from + one))
        const set = await suite.imported(`${api.owner},quota_type,total,expire_at,label`, ...rows)
        expect((await suite.applied(set)).counts.applied).toBe(to - from)
      }
      await create(0, 199)
      const removed = await suite.madeSet({ label: `${text} 1` }, { delete: true })
      await suite.applied(removed)
      await create(199, 210)
      const rows = await erase(owner)
      // 0 to 209, and the first; those that begin with 1 are deleted.
      expect(rows).toMatchObject({ labels: 211, acts: 600 + 211 + 110, changes: 211 + 110 })
      expect(await placesOf([text])).toEqual([])
      expect(await read(id)).toMatchObject({ label: null, version: 2, used: 600 })
      expect(await contradictionsOf(app)).toEqual([])
      // A second time there is nothing left.
      expect(Object.values(await erase(owner)).filter((erased) => erased > 0)).toEqual([])
    })

    it('leaves no label in a change set that is prepared meanwhile', async () => {
      const owner = fresh()
      const text = `prepared-${owner}`
      await made(total(owner, { label: text }))
      app.clock.pass(1)
      for await (const { what, read: sets } of erasureOf(owner).run()) {
        // The last page of them: what comes now is not among them.
        if (what === 'change sets' && sets < 50)
          await suite.madeSet({ [api.owner]: owner }, { update: { label: null, total: 7 } })
      }
      expect(await placesOf([text])).toEqual([])
    })

    it('leaves no label in a change set that was dropped, whose rows said whom it concerned', async () => {
      const [owner, label] = [fresh(), `dropped-${fresh()}`]
      await made(cycle(owner, { label }))
      const key = `k${fresh()}`
      const body = { filter: { label }, change: { update: { total: 3, label: `${label} too` } } }
      const set = await suite.ready(await createSet(body, key))
      expect((await app.delete(suite.at(set.id))).status).toBe(204)
      await erase(owner)
      expect(await placesOf([label])).toEqual([])
      expect((await createSet(body, key)).headers['idempotency-replayed']).toBeUndefined()
      expect(await erasureOf(fresh()).isKnown()).toBe(false)
    })

    it('ends the work on a change set with what it has read, and the work is begun again', async () => {
      const owner = fresh()
      const text = `worked-${owner}`
      await made(total(owner))
      const header = `${api.owner},quota_type,total,expire_at,label`
      const set = await suite.imported(header, `${owner},1,5,2027-01-01T00:00:00Z,${text} created`)
      // As another instance left it in the midst of its work, with the row applied and not yet noted.
      const row = `${api.channel}_change_set`
      const later = app.clock
        .after(LEASE_MS / 1000)
        .replace('T', ' ')
        .replace('Z', '')
      const applied = await suite.applied(set)
      expect(applied.counts).toMatchObject({ applied: 1 })
      await query(
        `UPDATE ${row}_item SET outcome = 'planned', quota_id = NULL, applied_version = NULL WHERE set_id = ${set.id}`,
      )
      await query(
        `UPDATE ${row} SET state = 'applying', work = 'apply', work_at = created_at, holder = 'another', held_until = '${later}', attempts = 2, planned = 1, applied = 0 WHERE id = ${set.id}`,
      )
      app.clock.pass(1)
      // The work ends meanwhile: it copies the recorded change, which is not erased yet.
      const meanwhile = async (): Promise<void> => {
        expect(await query(`SELECT id FROM ${row} WHERE holder = 'another'`)).toEqual([])
        await settled(set.id)
        expect(await placesOf([text])).toContain(`${row}_item.after_json`)
      }
      for await (const _ of erasureOf(owner, meanwhile).run());
      const after = await settled(set.id)
      expect([after.state, after.counts]).toEqual(['applied', expect.objectContaining({ applied: 1, planned: 0 })])
      expect(await placesOf([text])).toEqual([])
      expect(await contradictionsOf(app)).toEqual([])
    })

    it('waits for rows on their way to the engine, also if it is begun again', async () => {
      const owner = fresh()
      const text = `late-${owner}`
      const set = await suite.imported(
        `${api.owner},quota_type,total,expire_at,label`,
        `${owner},1,5,2027-01-01T00:00:00Z,${text} planned`,
      )
      const later = app.clock
        .after(LEASE_MS / 1000)
        .replace('T', ' ')
        .replace('Z', '')
      const sets = `${api.channel}_change_set`
      const held = `holder = 'another', held_until = '${later}'`
      await query(
        `UPDATE ${sets} SET state = 'applying', work = 'apply', work_at = created_at, ${held} WHERE id = ${set.id}`,
      )
      for await (const { what } of erasureOf(owner).run()) if (what === 'rows of change sets') break
      let pauses = 0
      const arrive = async (): Promise<void> => {
        pauses += 1
        await made(total(owner, { label: `${text} arrived` }))
        // Another instance continues, and has read what is not erased yet.
        await settled(set.id)
        await query(`UPDATE ${sets} SET state = 'applying', work = 'apply', ${held} WHERE id = ${set.id}`)
        app.clock.pass(1)
      }
      for await (const _ of erasureOf(owner, arrive).run());
      expect(pauses).toBe(1)
      expect(await query(`SELECT id FROM ${sets} WHERE holder = 'another'`)).toEqual([])
      expect(await placesOf([text])).toEqual([])
    })

    it('runs beside callers: a key is replayed or new, and nothing of others is lost', async () => {
      const [owner, other] = [fresh(), fresh()]
      for (const one of [owner, other]) await made(cycle(one, { total: 100_000, label: `beside ${one}` }))
      const keyOf = (one: number, n: number): string => `beside-${one}-${n}`
      const ids = new Map<string, string>()
      for (let n = 0; n < 60; n += 1)
        for (const one of [owner, other])
          ids.set(keyOf(one, n), bodyOf(200, await spend(api.consume, one, 1, keyOf(one, n))).id)
      const old = new Map(ids)
      app.clock.pass(1)
      let anew = 0
      const call = async (one: number, key: string): Promise<void> => {
        app.clock.pass(0.001)
        const { status, body, headers } = await spend(api.consume, one, 1, key)
        const replayed = headers['idempotency-replayed'] === 'true'
        expect([key, status, replayed]).toEqual([key, 200, body.id === ids.get(key)])
        if (!replayed) anew += 1
        ids.set(key, body.id)
      }
      let ended = false
      const calls = [owner, other].map(async (one) => {
        for (let n = 0; !ended; n += 1) await call(one, keyOf(one, n % 60))
      })
      for await (const _ of erasureOf(owner).run()) await new Promise((resolve) => setTimeout(resolve, 5))
      ended = true
      await Promise.all(calls)
      for (let n = 0; n < 60; n += 1) await call(owner, keyOf(owner, n))
      for (const [key, id] of old) expect([key, ids.get(key) === id]).toEqual([key, key.includes(`-${other}-`)])
      expect(await summary(owner)).toMatchObject({ used: 60 + anew })
      expect(await summary(other)).toMatchObject({ used: 60 })
      expect(await contradictionsOf(app)).toEqual([])
    })
  })
})
