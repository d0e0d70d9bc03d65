import { describe, expect, it } from '@jest/globals'
import { gzipSync } from 'node:zlib'
import { DataSource } from 'typeorm'
import { type Body, bodyOf, brokenFields, copyQuota, fresh, refusal } from '../quota-api.js'
import type { ChangeSetSuite } from './suite.js'

const LABELS = [
  'plain',
  'with "quotes", and a comma',
  "'quoted",
  '=1+1',
  '+1',
  '-1',
  '@name',
  "'=1",
  "''",
  "'",
  'null',
  "'null",
  'nullify',
  '  blanks at both ends ',
  'x;=1+1;y',
  "x;'=1",
  "x;'1",
  'مرحبا بالعالم',
  '\u202Ertl\u202C',
  '\u2028 line separator',
  '😀 astral',
]

/** Change sets from a file, and exported files, for one channel. */
export function importContract(suite: ChangeSetSuite): void {
  const { api, made, total, cycle, read, updated, remove, ofOwner, app, at } = suite
  const { imported, upload, applied, reverted, rows, outcomes, exported, rowsCsv, ready } = suite
  const rowLines = async (id: number, query = ''): Promise<string[][]> =>
    (await rowsCsv(id, query))
      .trimEnd()
      .split('\r\n')
      .map((line) => line.split(','))
  const cellsOf = async (id: number, query = ''): Promise<Record<string, string>[]> => {
    const [header = [], ...lines] = await rowLines(id, query)
    return lines.map((cells) =>
      Object.fromEntries(header.map((name, place) => [name, cells[place] ?? '']).filter(([, cell]) => cell !== '')),
    )
  }

  describe('created from a file', () => {
    it('create and change quotas, in the order of the file', async () => {
      const [owner, other] = [fresh(), fresh()]
      const { id } = await made(total(owner))
      const set = await imported(
        `id,${api.owner},quota_type,total,expire_at,label`,
        `,${other},1,50,2027-01-01T00:00:00Z,new`,
        '',
        `${id},,,75,,`,
        `${Number(id) + 100_000},,,1,,`,
      )
      expect(set).toMatchObject({
        source: 'import',
        filter: null,
        change: null,
        state: 'ready',
        counts: { rows: 3, planned: 2, conflict: 1 },
      })
      const [first, second, third] = await rows(set.id)
      expect(first).toMatchObject({ row: 1, line: 2, quota_id: null, [api.owner]: other, action: 'create' })
      expect(first).toMatchObject({ before: {}, after: { total: 50, label: 'new', status: 'active', cap: null } })
      expect(second).toMatchObject({ row: 2, line: 4, quota_id: id, action: 'update' })
      expect(second).toMatchObject({ before: { total: 100 }, after: { total: 75 } })
      expect(third).toMatchObject({ line: 5, outcome: 'conflict', problem: { code: 'quota_not_found' } })
      const done = await applied(set)
      expect(done.counts).toMatchObject({ applied: 2, conflict: 1 })
      const [created] = await rows(set.id)
      expect(await read(created.quota_id)).toMatchObject({ total: 50, label: 'new', [api.owner]: other })
      expect((await read(id)).total).toBe(75)
      expect((await reverted(done)).counts).toMatchObject({ reverted: 2 })
      expect((await app().get(suite.path(created.quota_id))).status).toBe(404)
    })

    it('take over what new quotas have used, and ignore `used` of others', async () => {
      const [owner, other] = [fresh(), fresh()]
      const { id } = await made(total(owner, { used: 30 }))
      const end = '2027-01-01T00:00:00.000Z'
      const set = await imported(
        `id,${api.owner},quota_type,total,used,expire_at,cap,window_seconds`,
        `,${other},1,50,20,${end},,`,
        `,${other},3,50,70,,observe,3600`,
        `,${other},1,50,null,${end},,`,
        `,${other},1,50,51,${end},,`,
        `,${other},1,50,x,${end},,`,
        `${id},,,75,99,,,`,
      )
      expect(set.counts).toMatchObject({ planned: 4, invalid: 2 })
      const [first, second, third, tooMuch, malformed, update] = await rows(set.id)
      expect([first.after.used, second.after.used, third.after.used]).toEqual([20, 70, undefined])
      expect(tooMuch.problem.errors).toEqual([
        { field: 'used', message: 'may not exceed total, except for an observe cap' },
      ])
      expect(malformed.problem.errors).toMatchObject([{ field: 'used' }])
      expect(update.after).toEqual({ total: 75 })
      const planned = (await cellsOf(set.id, '?outcome=planned')).map(({ used }) => used)
      expect(planned).toEqual(['20', '70', undefined, undefined])
      const done = await applied(set)
      expect(done.counts).toMatchObject({ applied: 4, invalid: 2 })
      expect((await read(id)).used).toBe(30)
      const usedOf = async (): Promise<number[]> =>
        (await suite.listed(ofOwner(other))).items.map(({ used }: Body) => used).reverse()
      expect(await usedOf()).toEqual([20, 70, 0])
      // An export changes nothing, and without its ids it makes quotas that have used as much.
      const text = await exported(ofOwner(other))
      const again = await ready(await upload(text))
      expect(again.counts).toMatchObject({ rows: 3, unchanged: 3 })
      await applied(await imported(...text.trimEnd().replace(/^id/, 'outcome').split('\r\n')))
      expect((await usedOf()).slice(3)).toEqual([0, 70, 20])
      expect((await reverted(done)).counts).toMatchObject({ reverted: 4 })
      const [{ quota_id: gone }] = await rows(set.id)
      expect((await app().get(suite.path(gone))).status).toBe(404)
      expect(bodyOf(200, await suite.restore(gone)).used).toBe(20)
    })

    it('change nothing with an export', async () => {
      const owner = fresh()
      for (const label of LABELS) await made(total(owner, { label, total: 7 }))
      await made(cycle(owner, { cycle_time_zone: 'Europe/Berlin', thresholds: [80, 50] }))
      await made(total(owner, { cap: 'observe' }))
      await made({ [api.owner]: owner, quota_type: 3, cap: 'enforce', total: 5, window_seconds: 3600 })
      const over = await made(total(owner))
      await updated(over.id, { expire_at: '2026-11-01T00:00:00Z' })
      const off = await made(total(owner))
      await updated(off.id, { status: 'disabled', total: 0 })
      const text = await exported(ofOwner(owner))
      expect(text).toContain(',50 80,')
      expect(text).toContain(",'=1+1,")
      expect(text).toContain(",'null,")
      expect(text).toContain(",x;'=1+1;y,")
      expect(text).toContain(",''null,".replace("''", "''"))
      const set = await ready(await upload(text))
      expect(set.counts).toMatchObject({ rows: LABELS.length + 5, unchanged: LABELS.length + 5 })
      const bom = await ready(await upload(`\uFEFF${text.replaceAll('\r\n', '\n')}`))
      expect(bom.counts).toMatchObject({ unchanged: LABELS.length + 5 })
      // The same as new quotas, without their ids.
      const [header = '', ...lines] = text.trimEnd().split('\r\n')
      const renamed = [header.replace(/^id/, 'outcome'), ...lines.filter((line) => !/expired|disabled/.test(line))]
      const copies = await applied(await imported(...renamed))
      expect(copies.counts.applied).toBe(LABELS.length + 3)
    })

    it('are exported as their list shows them', async () => {
      const owner = fresh()
      const { id } = await made(total(owner, { label: 'a,b' }))
      const { id: gone } = await made(total(owner))
      await remove(gone)
      const shown = await read(id)
      const [header = '', line, end] = (await exported(ofOwner(owner))).split('\r\n')
      expect(header.split(',')).toEqual(Object.keys(shown))
      expect(line).toMatch(new RegExp(`^${id},`))
      expect(line).toContain('"a,b"')
      expect(end).toBe('')
      const [deletedHeader = '', deleted = ''] = (await exported(`${ofOwner(owner)}&deleted=true`)).split('\r\n')
      expect(deletedHeader.split(',').at(-1)).toBe('deleted_at')
      expect(deleted).toMatch(new RegExp(`^${gone},.*Z$`))
      expect(await exported(`${ofOwner(owner)}&label=nothing`)).toBe(`${header}\r\n`)
      expect(brokenFields(await app().get(`${api.quotas}/export.csv?page=1`))).toHaveProperty('page')
      const head = await app().send('head', `${api.quotas}/export.csv`)
      expect([head.status, head.headers['content-type']]).toEqual([200, 'text/csv; charset=utf-8'])
    })

    it('report the mistakes of each record', async () => {
      const [owner, other] = [fresh(), fresh()]
      const { id } = await made(total(owner))
      const { id: second } = await made(total(owner))
      const set = await imported(
        `id,version,${api.owner},quota_type,total,status,expire_at`,
        `${id},1,${owner},1,7,,`,
        `${id},,,,8,,`,
        `${second},2,,,8,,`,
        `${Number(second) + 90_000},,${other},,,,`,
        `x,,,,8,,`,
        `,,${other},1,5,disabled,2027-01-01T00:00:00Z`,
        `,,${other},1,5,active,2027-01-01T00:00:00Z`,
        `,,,1,5,,2027-01-01T00:00:00Z`,
        `,,${other},1,-5,,`,
        `,,${other},1,5,,2026-01-01T00:00:00Z`,
        `1,2,3`,
      )
      expect(await outcomes(set.id)).toEqual([
        [1, 'planned', undefined],
        [2, 'invalid', 'validation_failed'],
        [3, 'conflict', 'version_mismatch'],
        [4, 'conflict', 'quota_not_found'],
        [5, 'invalid', 'validation_failed'],
        [6, 'invalid', 'validation_failed'],
        [7, 'planned', undefined],
        [8, 'invalid', 'validation_failed'],
        [9, 'invalid', 'validation_failed'],
        [10, 'invalid', 'validation_failed'],
        [11, 'invalid', 'validation_failed'],
      ])
      const fields = (await rows(set.id)).map(({ problem }: Body) => problem?.errors?.map(({ field }: Body) => field))
      expect(fields.slice(4)).toEqual([
        ['id'],
        ['status'],
        undefined,
        [api.owner, 'group_id'],
        expect.arrayContaining(['total', 'expire_at']),
        ['expire_at'],
        ['record'],
      ])
    })

    it('name every mistake of a record at once, those of its quota and its times included', async () => {
      const [owner, other] = [fresh(), fresh()]
      const { id } = await made(total(owner))
      const header = `id,${api.owner},quota_type,total,status,version,expire_at,cycle_unit,cycle_reset_at,window_seconds`
      const set = await imported(
        header,
        `${id},${other},2,-1,,,,,,60`,
        `${id},,,5,,x,null,,,`,
        `,${other},2,-1,,,,month,2020-01-01T00:00:00Z,`,
        `,${other},1,5,disabled,x,2020-01-01T00:00:00Z,,,`,
      )
      const named = (await rows(set.id)).map(({ outcome, problem }: Body) => [
        outcome,
        problem.errors.map(({ field }: Body) => field).sort(),
      ])
      expect(named).toEqual([
        ['invalid', [api.owner, 'quota_type', 'total', 'window_seconds'].sort()],
        ['invalid', ['expire_at', 'id', 'version']],
        ['invalid', ['cycle_reset_at', 'total']],
        ['invalid', ['expire_at', 'status', 'version']],
      ])
    })

    it('export a record of too many or too few cells as one', async () => {
      const { id } = await made(total(fresh()))
      const set = await imported('id,total,label', `${id},600,Smith, Ltd`, `${id},500`)
      const [, ...lines] = (await rowsCsv(set.id, '?outcome=invalid')).split('\r\n')
      expect(lines.map((line) => line.slice(line.lastIndexOf('"') + 1))).toEqual([', Ltd', ',', ''])
      const again = await ready(await upload(await rowsCsv(set.id, '?outcome=invalid')))
      expect(again.counts).toMatchObject({ rows: 2, invalid: 2 })
    })

    it('name the owner of an invalid record', async () => {
      const owner = fresh()
      const { id } = await made(total(owner))
      const set = await imported(
        `id,${api.owner},quota_type,total,expire_at`,
        `${id},,,x,`,
        `,${owner},1,x,`,
        `${id},,,5,`,
        `${id},,,5`,
        `${Number.MAX_SAFE_INTEGER},,,5`,
        `,x,1,5,`,
      )
      expect((await rows(set.id)).map((row: Body) => [row.outcome, row[api.owner]])).toEqual([
        ['invalid', owner],
        ['invalid', owner],
        ['invalid', owner],
        ['invalid', owner],
        ['invalid', null],
        ['invalid', null],
      ])
      expect(set.counts.invalid).toBe(6)
    })

    it('export nothing that a spreadsheet evaluates', async () => {
      const owner = fresh()
      const given = ['=1', "'=1", '-1', '\tx', 'null', "'null", "'plain"]
      const set = await imported(`${api.owner},quota_type,total,label`, ...given.map((cell) => `${owner},1,x,${cell}`))
      expect(set.counts.invalid).toBe(given.length)
      expect((await cellsOf(set.id)).map(({ label }) => label)).toEqual([
        "'=1",
        "'=1",
        "'-1",
        "'\tx",
        'null',
        "'null",
        "''plain",
      ])
    })

    it("check the owner and the type of a row's quota", async () => {
      const [owner, other] = [fresh(), fresh()]
      const ids = []
      for (let n = 0; n < 4; n += 1) ids.push((await made(total(owner))).id)
      const set = await imported(
        `id,${api.owner},quota_type,version,total`,
        `${ids[0]},${other},,,5`,
        `${ids[1]},,2,,5`,
        `${ids[2]},,,x,5`,
        `${ids[3]},${owner},1,1,5`,
      )
      expect(await outcomes(set.id)).toEqual([
        [1, 'invalid', 'validation_failed'],
        [2, 'invalid', 'validation_failed'],
        [3, 'invalid', 'validation_failed'],
        [4, 'planned', undefined],
      ])
    })

    it('count earlier rows towards the limits', async () => {
      const owner = fresh()
      const { id } = await made(total(owner))
      await copyQuota(app(), api, id, 194)
      const row = `${owner},1,5,2027-01-01T00:00:00Z`
      const lines = [`${api.owner},quota_type,total,expire_at`, ...Array.from({ length: 10 }, () => row)]
      const set = await imported(...lines)
      expect(set.counts).toMatchObject({ planned: 5, invalid: 5 })
      const [refused] = await rows(set.id, 'outcome=invalid')
      expect(refused).toMatchObject({ row: 6, problem: { code: 'too_many_quotas' } })
      const one = await made(total(owner))
      const done = await applied(set)
      expect(done.counts).toMatchObject({ applied: 4, invalid: 6 })
      await remove(one.id)
      expect((await reverted(done)).counts).toMatchObject({ reverted: 4 })
    })

    it('count earlier rows of an owner behind hundreds that are invalid by themselves', async () => {
      const row = (sum: number | string): string => `${owner},1,${sum},2027-01-01T00:00:00Z`
      const owner = fresh()
      const created = Array.from({ length: 200 }, () => row(5))
      const wrong = Array.from({ length: 800 }, () => row('x'))
      const set = await imported(`${api.owner},quota_type,total,expire_at`, ...created, ...wrong, row(5))
      expect(set.counts).toMatchObject({ planned: 200, invalid: 801 })
    })

    it('keep at most 1 kB of an invalid record, which stays invalid', async () => {
      const owner = fresh()
      const label = '\u0001'.repeat(4_000)
      const columns = `${api.owner},quota_type,total,expire_at,label,created_at`
      const set = await imported(
        columns,
        `${owner},1,5,2027-01-01T00:00:00Z,${label},`,
        `${owner},1,5,2027-01-01T00:00:00.${'0'.repeat(2_000)}Z,,`,
        `${owner},1,5,2027-01-01T00:00:00.${'0'.repeat(900)}Z,,${'x'.repeat(5_000)}`,
        `${owner},1,x,2027-01-01T00:00:00Z,,,${'y'.repeat(2_000)}`,
      )
      expect(set.counts).toMatchObject({ planned: 1, invalid: 3 })
      const [cut, long, , wide] = await rows(set.id)
      expect(cut.problem.errors).toEqual([expect.objectContaining({ field: 'label' })])
      expect(long.problem.errors).toEqual([expect.objectContaining({ field: 'expire_at' })])
      expect(wide.problem.errors).toEqual([expect.objectContaining({ field: 'record' })])
      const table = `${api.channel}_change_set_item WHERE set_id = ${set.id}`
      const stored: { n: number | string }[] = await app()
        .app.get(DataSource)
        .query(`SELECT LENGTH(given) AS n FROM ${table} ORDER BY \`row_number\``)
      const sizes = stored.map(({ n }) => Number(n))
      expect(Math.max(...sizes)).toBeLessThanOrEqual(1_000)
      // A column that an import ignores is not kept.
      expect(sizes[2]).toBeGreaterThan(900)
      const again = await ready(await upload(await rowsCsv(set.id, '?outcome=invalid')))
      expect(again.counts).toMatchObject({ rows: 3, invalid: 3 })

      const { id } = await made(total(owner))
      const updates = await imported('id,label', `${id},${'\u0001'.repeat(9_000)}`)
      const [update] = await rows(updates.id)
      expect(update).toMatchObject({ outcome: 'invalid', quota_id: id, [api.owner]: owner })
      expect(update.problem.errors).toEqual([expect.objectContaining({ field: 'label' })])
      const [kept]: { n: number | string }[] = await app()
        .app.get(DataSource)
        .query(`SELECT LENGTH(given) AS n FROM ${api.channel}_change_set_item WHERE set_id = ${updates.id}`)
      expect(Number(kept?.n)).toBeLessThanOrEqual(1_000)
    })

    it.each([
      ['small', 'x'],
      ['large', '\u0001'.repeat(9_000)],
      ['long', 'x,15'],
    ])('refuse the second row of a quota whose first, a %s one, is invalid', async (_size, bad) => {
      const { id } = await made(total(fresh()))
      const set = await imported('id,label,total', `${id},${bad},x`, `${id},good,20`)
      expect(set.counts).toMatchObject({ rows: 2, invalid: 2 })
      const [, second] = await rows(set.id)
      expect(second.problem.errors).toEqual([{ field: 'id', message: 'occurs in an earlier row' }])
    })

    it('treat an empty cell as absent, and null as null', async () => {
      const { id } = await made(cycle(fresh(), { label: 'named', expire_at: '2027-01-01T00:00:00Z' }))
      const set = await imported('id,label,expire_at,total,thresholds', `${id},,null,,50 80`)
      const [row] = await rows(set.id)
      expect(row.after).toEqual({ expire_at: null, thresholds: [50, 80] })
      await applied(set)
      const none = await imported('id,label,thresholds', `${id},null,none`)
      const [cleared] = await rows(none.id)
      expect(cleared.after).toEqual({ label: null, thresholds: [] })
    })

    it.each<[string, string | Buffer, string]>([
      ['a quote left open', 'id,label\n1,a\n\n2,"b\nc\n', 'line 4: '],
      ['a quote inside a cell', 'id,label\r\n1,"a\r\nb"\r\n\r\n1,a"b\r\n', 'line 5: '],
      ['text after a quote', 'id,label\n1,"a"b\n', 'line 2: '],
      ['bytes that are not UTF-8', Buffer.from('id,label\n1,a\n2,\xff\n', 'latin1'), 'line 3: '],
      ['half a character', Buffer.from('id,label\n1,\xc3', 'latin1'), 'line 2: '],
      ['a record over 10 kB', `id,label\n1,a\n2,${'x'.repeat(9_999)}\n`, 'line 3: '],
      ['a record over 10 kB before CRLF', `id,label\r\n2,${'x'.repeat(9_999)}\r\n`, 'line 2: '],
      ['a last record over 10 kB', `id,label\n2,${'x'.repeat(9_999)}`, 'line 2: '],
    ])('fail as a whole for %s', async (_what, text, beginning) => {
      const set = await ready(await upload(text))
      expect(set).toMatchObject({ state: 'failed', version: 2, counts: { rows: 0 } })
      expect(set.problem.code).toBe('csv_malformed')
      expect(set.problem.detail.slice(0, beginning.length)).toBe(beginning)
      expect(await rows(set.id)).toEqual([])
      expect((await app().delete(at(set.id))).status).toBe(204)
    })

    it.each(['\n', '\r\n', ''])('take a record of 10 kB that ends with %j', async (end) => {
      const set = await ready(await upload(`id,label\n1,a\n2,${'x'.repeat(9_998)}${end}`))
      expect(set).toMatchObject({ state: 'ready', counts: { rows: 2 } })
    })

    it('check their columns', async () => {
      expect(brokenFields(await upload('id,Total,lable,total,total\n'))).toEqual({
        Total: expect.stringContaining('did you mean total?'),
        lable: expect.stringContaining('did you mean label?'),
        total: 'occurs more than once',
      })
      for (const separator of [';', '\t']) {
        const header = ['id', 'quota_type', 'total'].join(separator)
        expect(brokenFields(await upload(`${header}\n`))).toEqual({ [header]: expect.stringContaining('by commas') })
      }
      expect(brokenFields(await upload(''))).toEqual({ body: expect.any(String) })
      const none = await ready(await upload('id,outcome,problem,used,remaining,created_at\n'))
      expect(none).toMatchObject({ state: 'ready', counts: { rows: 0 } })
      expect((await applied(none)).state).toBe('applied')
    })

    it('are sent as text/csv, compressed or not, of 50 MB at most', async () => {
      const csv = { 'Content-Type': 'application/json' }
      expect(refusal(await upload('id\n', { headers: csv }))).toEqual([415, 'unsupported_media_type'])
      const odd = { 'Content-Encoding': 'odd' }
      expect(refusal(await upload('id\n', { headers: odd }))).toEqual([415, 'unsupported_media_type'])
      const gzip = { 'Content-Encoding': 'gzip' }
      const set = await ready(await upload(gzipSync('id\n'), { headers: gzip }))
      expect(set.state).toBe('ready')
      const large = gzipSync(Buffer.concat([Buffer.from('id,label\n'), Buffer.alloc(50_000_000, 'x')]))
      expect(refusal(await upload(large, { headers: gzip }))).toEqual([413, 'payload_too_large'])
    })

    it('are created once for a key', async () => {
      const key = `file-${fresh()}`
      const first = await upload('id\n1\n', { key })
      await ready(first)
      const again = await upload('id\n1\n', { key })
      expect([again.status, again.text, again.headers['idempotency-replayed']]).toEqual([202, first.text, 'true'])
      expect(refusal(await upload('id\n2\n', { key }))).toEqual([422, 'idempotency_key_reused'])
    })

    it('are exported in the form of an import', async () => {
      const [owner, other] = [fresh(), fresh()]
      const { id } = await made(total(owner, { label: '=1' }))
      const { id: stale } = await made(total(owner))
      const set = await imported(
        `id,version,${api.owner},quota_type,total,expire_at,label`,
        `${id},,,,7,,null`,
        `${stale},9,,,7,,`,
        `,,${other},1,5,2027-01-01T00:00:00Z,'=2`,
        `,,${other},1,x,2027-01-01T00:00:00Z,`,
        `${stale},,,,100,,`,
      )
      const cells = await cellsOf(set.id)
      expect(cells[0]).toEqual({ id: String(id), total: '7', label: 'null', outcome: 'planned' })
      expect(cells[1]).toMatchObject({ id: String(stale), version: '9', total: '7', outcome: 'conflict' })
      expect(cells[1]?.['problem']).toContain('version_mismatch: ')
      expect(cells[2]).toMatchObject({ [api.owner]: String(other), quota_type: '1', total: '5', label: "'=2" })
      expect(cells[3]).toMatchObject({ [api.owner]: String(other), total: 'x', outcome: 'invalid' })
      expect(cells[4]).toMatchObject({ id: String(stale), outcome: 'invalid' })
      const again = await ready(await upload(await rowsCsv(set.id, '?outcome=planned')))
      expect(again.counts).toMatchObject({ rows: 2, planned: 2 })
      const gone = await suite.madeSet({ [api.owner]: owner }, { delete: true })
      expect(await cellsOf(gone.id)).toEqual([
        { id: String(id), outcome: 'planned' },
        { id: String(stale), outcome: 'planned' },
      ])
      expect(bodyOf(200, await app().get(at(set.id))).counts.planned).toBe(2)
    })
  })
}
