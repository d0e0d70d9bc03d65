import { beforeAll, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { TestApp } from './support/app.js'
import { changeSetSuite } from './support/change-set/suite.js'
import { MAIL_API as api } from './support/channel-api.js'
import { figure, SCALE } from './support/figures.js'
import { type Body, fresh, stopSweepers } from './support/quota-api.js'
import { onEveryStore } from './support/store.js'

/** RELIABILITY_SCALE=10 makes 20,000 of it. */
const ROWS = Math.round(2_000 * SCALE)
/** Far below what an owner may have. */
const QUOTAS_OF_ONE = 40
const SEED = Number(process.env['MODEL_SEED'] ?? process.env['PROPERTY_SEED'] ?? Date.now() % 2 ** 31)
const PATIENCE_MS = 600_000

const FUTURE = '2030-01-01T00:00:00Z'
/** Of each column what may be asked for of most quotas, and what of some or of none. */
const CELLS = {
  version: [['1'], ['7', 'x']],
  total: [
    ['0', '100', '250', '999999999999'],
    ['-1', 'many', 'null'],
  ],
  status: [['active', 'disabled'], ['expired']],
  expire_at: [[FUTURE, '2031-01-01T00:00:00Z', '2020-01-01T00:00:00Z'], ['null']],
  cycle_unit: [[''], ['week', 'month', 'fortnight']],
  label: [['null', 'spring', "'=1+1", '"a ""b"", c"'], ['"two\nlines"']],
  cap: [[''], ['observe', 'enforce']],
  thresholds: [
    ['', 'none'],
    ['50 80', '101'],
  ],
} as const
type Cells = Record<keyof typeof CELLS, string>
const COLUMNS = Object.keys(CELLS) as (keyof Cells)[]

const cells = fc.record(
  Object.fromEntries(
    Object.entries(CELLS).map(([column, [most, some]]) => [
      column,
      fc.oneof(
        { arbitrary: fc.constant(''), weight: 30 },
        { arbitrary: fc.constantFrom<string>(...most), weight: 30 },
        { arbitrary: fc.constantFrom<string>(...some), weight: 1 },
      ),
    ]),
  ) as Record<keyof Cells, fc.Arbitrary<string>>,
)
/** Most records are about the quota in their place, a few about another one's, and others make one. */
const about = (count: number) =>
  fc.oneof(
    { arbitrary: fc.constant('its own' as const), weight: 80 },
    { arbitrary: fc.constant('new' as const), weight: 18 },
    { arbitrary: fc.nat(count - 1), weight: 2 },
  )

onEveryStore(`a preview of ${ROWS} random rows`, (kind) => {
  let app: TestApp
  const suite = changeSetSuite(api, () => app)

  beforeAll(async () => {
    app = await TestApp.on(kind)
    await stopSweepers(app)
  })

  const allRows = async (id: number): Promise<Body[]> => {
    const all: Body[] = []
    for (let more = ''; ;) {
      const page = (await app.get(suite.at(id, `/rows?page_size=100${more}`))).body
      all.push(...page.items)
      if (page.next_after === null) return all
      more = `&after=${page.next_after}`
    }
  }
  const allQuotas = async (): Promise<Map<number, Body>> => {
    const all = new Map<number, Body>()
    for (let more = ''; ;) {
      const { items } = await suite.listed(`page_size=100${more}`)
      for (const quota of items) all.set(quota.id, quota)
      if (items.length < 100) return all
      more = `&before_id=${items.at(-1).id}`
    }
  }

  it(
    'is what becomes of them, but for those that others edit in between',
    async () => {
      const owners = Array.from({ length: Math.ceil(ROWS / QUOTAS_OF_ONE) }, fresh)
      const kinds = [`1,100,${FUTURE},,,,`, `2,100,,month,${FUTURE},,`, `3,100,,,,observe,3600`]
      const made = await suite.imported(
        `${api.owner},quota_type,total,expire_at,cycle_unit,cycle_reset_at,cap,window_seconds`,
        ...Array.from(
          { length: ROWS },
          (_, n) => `${owners[Math.floor(n / QUOTAS_OF_ONE)]},${kinds[n % kinds.length]}`,
        ),
      )
      await suite.applied(made)
      const ids = (await allRows(made.id)).map(({ quota_id: id }) => id as number)

      const records = fc.sample(fc.tuple(about(ROWS), cells, fc.nat(owners.length - 1)), { numRuns: ROWS, seed: SEED })
      const set = await suite.imported(
        ['id', api.owner, 'quota_type', ...COLUMNS].join(','),
        ...records.map(([which, given, owner], n) => {
          const filled = COLUMNS.map((column) => given[column])
          if (which !== 'new') return [ids[which === 'its own' ? n : which], '', '', ...filled].join(',')
          const needed: Partial<Cells> = { total: '100', expire_at: FUTURE }
          return ['', owners[owner], 1, ...COLUMNS.map((column) => given[column] || (needed[column] ?? ''))].join(',')
        }),
      )
      const preview = await allRows(set.id)
      expect(preview).toHaveLength(ROWS)

      // Every twentieth of those that are to be done.
      const edited = new Set<number>()
      const updates = preview.filter(({ outcome, action }) => outcome === 'planned' && action === 'update')
      for (const { quota_id: id } of updates.filter((_, n) => n % 20 === 0)) {
        await suite.updated(id, { label: `by somebody else ${id}` })
        edited.add(id)
      }
      const before = await allQuotas()
      await suite.applied(set)
      const result = await allRows(set.id)
      const after = await allQuotas()

      const told = `MODEL_SEED=${SEED}`
      for (const [place, shown] of preview.entries()) {
        const row = result[place]
        if (shown.outcome !== 'planned') expect([told, row]).toEqual([told, shown])
        else if (edited.has(shown.quota_id)) {
          const problem = { code: 'version_mismatch', detail: expect.any(String) }
          expect([told, row]).toEqual([told, { ...shown, outcome: 'conflict', problem }])
          expect(after.get(shown.quota_id)).toEqual(before.get(shown.quota_id))
        } else {
          const id = shown.quota_id ?? expect.any(Number)
          expect([told, row]).toEqual([told, { ...shown, outcome: 'applied', quota_id: id }])
          expect(after.get(row.quota_id)).toMatchObject(shown.after)
        }
      }
      // Nothing else has changed.
      const applied = new Set(result.filter(({ outcome }) => outcome === 'applied').map(({ quota_id: id }) => id))
      for (const [id, quota] of after) if (!applied.has(id)) expect(quota).toEqual(before.get(id))
      const outcomes: Record<string, number> = {}
      for (const { outcome } of result) outcomes[outcome] = (outcomes[outcome] ?? 0) + 1
      expect(outcomes['conflict']).toBeGreaterThanOrEqual(edited.size)
      figure(`preview and result on ${kind.name}`, { rows: ROWS, edited: edited.size, ...outcomes })
    },
    PATIENCE_MS,
  )
})
