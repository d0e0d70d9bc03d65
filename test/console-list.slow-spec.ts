import { beforeAll, describe, expect, it, jest } from '@jest/globals'
import type { Page } from 'playwright-core'
import { TestBrowser } from './support/browser.js'
import { API, becomes, button, field, Service, signIn } from './support/console.js'
import { CAN_START_SERVER, TestDatabase } from './support/database.js'
import { figure } from './support/figures.js'

// A million rows and a browser, on a busy machine.
jest.setTimeout(600_000)

const onOwnServer = CAN_START_SERVER ? describe : describe.skip

const ROWS = 1_000_000
const PAGE_SIZE = 50
/** Up to here a list says exactly how long it is. */
const EXACT_UP_TO = 10_000
/** Rows that a statement of a page may look at; one that scans the table looks at all of them. */
const MAX_EXAMINED = 150_000

const PATIENCE_MS = 60_000
/** What the screen shows. */
const TOLD = `({
  ids: [...document.querySelectorAll('tbody [data-row]')].map((row) => Number(row.dataset.row)),
  count: document.querySelector('p.count')?.textContent ?? '',
})`

interface Row {
  readonly id: number
  readonly account: number
  readonly status: 'active' | 'disabled' | 'expired'
  readonly deleted: boolean
  readonly label: string
}

/** What the statement in `fill` makes of a number. */
function row(id: number): Row {
  return {
    id,
    account: 1 + ((id * 7919) % 100_000),
    status: id % 10 === 0 ? 'disabled' : id % 3 === 0 || id % 1000 === 1 ? 'expired' : 'active',
    deleted: id % 20 === 7,
    label: id % 2 === 0 ? `customer ${id}` : id <= 40_000 ? `fleet ${id}` : id % 5001 === 0 ? `pilot ${id}` : '',
  }
}

/**
 * Half are called customer; the oldest are called fleet, many of them; a few are called pilot. Some are over and not
 * marked so.
 */
async function fill(database: TestDatabase, template: number): Promise<void> {
  const digits = Array.from({ length: 10 }, (_, digit) => `SELECT ${digit} AS n`).join(' UNION ')
  const powers = [0, 1, 2, 3, 4, 5]
  const numbers =
    `SELECT ${powers.map((power) => `${10 ** power} * d${power}.n`).join(' + ')} + 1 AS n ` +
    `FROM ${powers.map((power) => `(${digits}) d${power}`).join(', ')}`
  const made: Record<string, string> = {
    id: 'numbers.n',
    account_id: '1 + (numbers.n * 7919) % 100000',
    state: "CASE WHEN numbers.n % 10 = 0 THEN 'disabled' WHEN numbers.n % 3 = 0 THEN 'expired' ELSE 'active' END",
    expire_at:
      "CASE WHEN numbers.n % 10 <> 0 AND (numbers.n % 3 = 0 OR numbers.n % 1000 = 1) THEN '2020-01-01' ELSE '2999-01-01' END",
    deleted_at: "CASE WHEN numbers.n % 20 = 7 THEN '2020-06-01' END",
    label:
      "CASE WHEN numbers.n % 2 = 0 THEN CONCAT('Customer ', numbers.n) WHEN numbers.n <= 40000 THEN CONCAT('Fleet ', numbers.n) " +
      "WHEN numbers.n % 5001 = 0 THEN CONCAT('Pilot ', numbers.n) END",
  }
  made['label_search'] = `CONCAT(LOWER(${made['label']}), CHAR(127))`
  const stored = await database.rows<{ name: string }>(
    "SELECT COLUMN_NAME AS name FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'mail_quota' AND EXTRA NOT LIKE '%GENERATED%'",
  )
  const columns = stored.map(({ name }) => name)
  await database.execute(
    `INSERT INTO mail_quota (${columns.join(', ')}) SELECT ${columns.map((name) => made[name] ?? `q.${name}`).join(', ')} ` +
      `FROM mail_quota q, (${numbers}) numbers WHERE q.id = ${template}`,
  )
  await database.execute(`DELETE FROM mail_quota WHERE id = ${template}`)
  await database.execute('ANALYZE TABLE mail_quota')
}

onOwnServer('the console over a million quotas', () => {
  let database: TestDatabase
  let service: Service
  let page: Page
  const rows = Array.from({ length: ROWS }, (_, place) => row(ROWS - place))
  const asked: string[] = []
  /** The request ids of their answers. */
  const answered: string[] = []

  beforeAll(async () => {
    // A server of its own, since it is told to note every statement.
    database = await TestDatabase.open({ own: true })
    service = await Service.start(database)
    const template = await service.quota(1, {
      quota_type: 1,
      total: 1000,
      expire_at: '2999-01-01T00:00:00Z',
      cycle_unit: null,
      cycle_reset_at: null,
    })
    await service.stop()
    await database.execute(`UPDATE mail_quota SET id = ${ROWS + 1} WHERE id = ${template}`)
    await fill(database, ROWS + 1)
    for (const set of ["log_output = 'TABLE'", 'long_query_time = 0', 'slow_query_log = 1'])
      await database.execute(`SET GLOBAL ${set}`)
    service = await Service.start(database, { LOG_LEVEL: 'info', LOG_FORMAT: 'json' })
    const browser = await TestBrowser.start()
    page = await browser.page()
    page.on('request', (request) => {
      if (API.test(request.url())) asked.push(new URL(request.url()).pathname)
    })
    page.on('response', (response) => {
      if (API.test(response.url())) answered.push(response.headers()['x-request-id']!)
    })
    await page.goto(`${service.url}/admin/mail/quotas`)
    await signIn(page, 'anna')
    await shown(rows.filter(({ deleted }) => !deleted))
  })

  /** Waits until the table shows the page of these that begins there, and the count what is true of them. */
  async function shown(expected: readonly Row[], from = 0, place = /page 1$/): Promise<void> {
    const ids = expected.slice(from, from + PAGE_SIZE).map(({ id }) => id)
    const deadline = performance.now() + PATIENCE_MS
    for (;;) {
      const told = await page.evaluate<{ ids: number[]; count: string }>(TOLD)
      const said = Number(/[\d,]+/.exec(told.count)?.[0].replaceAll(',', ''))
      const about = expected.length > EXACT_UP_TO
      const right =
        place.test(told.count) &&
        told.count.startsWith('about ') === about &&
        (about ? said > EXACT_UP_TO && said <= expected.length : said === expected.length)
      if (right && told.ids.join() === ids.join()) return
      if (performance.now() > deadline) {
        expect(told).toEqual({ ids, count: expect.stringMatching(place) })
        throw new Error(`there are ${expected.length}, and not ${told.count}`)
      }
      await page.waitForTimeout(20)
    }
  }

  /** What the database was asked to read quotas by since it was asked last. */
  async function examined(): Promise<{ sql: string; rows: number; ms: number }[]> {
    const noted = await database.rows<{ sql: Buffer | string; examined: number; ms: string }>(
      'SELECT sql_text AS `sql`, rows_examined AS examined, TIME_TO_SEC(query_time) * 1000 + MICROSECOND(query_time) / 1000 AS ms ' +
        "FROM mysql.slow_log WHERE db = DATABASE() AND sql_text LIKE '%mail_quota%' AND sql_text NOT LIKE '%slow_log%'",
    )
    await database.execute('TRUNCATE TABLE mysql.slow_log')
    return noted
      .map(({ sql, examined: looked, ms }) => ({ sql: String(sql), rows: looked, ms: Number(ms) }))
      .filter(({ sql }) => /^(SELECT|WITH)\b/.test(sql))
  }

  /** Waits until every request is answered, and the database does nothing and has noted what it did. */
  async function idle(): Promise<void> {
    const running =
      "SELECT ID FROM information_schema.PROCESSLIST WHERE DB = DATABASE() AND COMMAND = 'Query' AND ID <> CONNECTION_ID()"
    await becomes(async () => [asked.length - answered.length, await database.rows(running)], [0, []])
  }

  /** The shared count of a long list, which no request waits for. */
  const isShared = (sql: string): boolean =>
    /^SELECT \(SELECT COUNT\(\*\) FROM `?mail_quota/.test(sql) && !sql.includes('LIMIT')

  /** One of two filters together: that may read what one of them finds, and the planner knows best which. */
  const isCombined = (sql: string): boolean => isShared(sql) && sql.includes('label_search') && sql.includes('`state`')

  /**
   * Does something that shows another page.
   * @param requests how many it may ask for
   */
  async function step(
    name: string,
    requests: number,
    act: () => Promise<unknown>,
    expected: readonly Row[],
    from = 0,
    place?: RegExp,
  ): Promise<void> {
    // What is on its way of the step before belongs there.
    await idle()
    await examined()
    asked.length = 0
    answered.length = 0
    const began = performance.now()
    await act()
    await shown(expected, from, place)
    const seen = Math.round(performance.now() - began)
    expect([name, asked.length]).toEqual([name, requests])

    await idle()
    // Lines of the log are written together, a little later.
    await becomes(async () => Promise.resolve(answered.filter((id) => !service.log.includes(id))), [])
    const served = service.log
      .split('\n')
      .filter((line) => line.includes('"route":"/api/v1/quotas"') && answered.some((id) => line.includes(id)))
      .map((line) => (JSON.parse(line) as { ms: number }).ms)
    const statements = await examined()
    expect([name, statements.length > 0]).toEqual([name, true])
    for (const { sql, rows: looked } of statements.filter((one) => !isCombined(one.sql))) {
      const plan = await database.rows<{
        table: string | null
        type: string | null
        key: string | null
        Extra: string | null
      }>(`EXPLAIN ${sql}`)
      const reads = plan.filter(({ table }) => /^(mail_quota|q)$/.test(table ?? ''))
      expect({ name, sql, scans: reads.filter(({ type, key }) => type === 'ALL' || key === null) }).toEqual({
        name,
        sql,
        scans: [],
      })
      if (isShared(sql))
        expect(plan.filter(({ table, Extra }) => table === 'mail_quota' && !Extra?.includes('Using index'))).toEqual([])
      else expect({ name, sql, tooMany: looked > MAX_EXAMINED ? looked : 0 }).toEqual({ name, sql, tooMany: 0 })
    }
    const own = statements.filter(({ sql }) => !isShared(sql))
    figure(`console, 1,000,000 quotas, ${name}`, {
      requests,
      'service ms': served.map((ms) => ms.toFixed(1)).join(' + '),
      'database ms': own.reduce((sum, { ms }) => sum + ms, 0).toFixed(1),
      'rows examined': own.reduce((sum, { rows: looked }) => sum + looked, 0),
      'seen after ms': seen,
    })
  }

  const live = rows.filter(({ deleted }) => !deleted)
  const go = async (query: string) => page.goto(`${service.url}/admin/mail/quotas${query}`)
  const filter = async (name: string, value: string) => {
    await field(page, name).fill(value)
    await button(page, 'Filter').click()
  }
  const clear = async () => button(page, 'Clear').click()

  it('opens, pages and reaches deep pages with at most two requests', async () => {
    await step('opened', 2, async () => page.reload(), live)
    const next = async () => page.getByRole('link', { name: 'Next' }).click()
    await step('next page', 1, next, live, PAGE_SIZE, /page 2$/)
    await step('page 1,000', 2, async () => go('?page=1000'), live, 999 * PAGE_SIZE, /page 1,000$/)
    const last = live[1000 * PAGE_SIZE - 1]!.id
    await step('beyond page 1,000', 1, next, live, 1000 * PAGE_SIZE, new RegExp(`below #${last}$`))
    const old = live.findIndex(({ id }) => id < 1000)
    await step('near the end', 2, async () => go('?beforeId=1000'), live, old, /below #1000$/)
  })

  it('filters by each filter with one request', async () => {
    await go('')
    await shown(live)
    for (const status of ['active', 'disabled', 'expired'] as const) {
      const found = live.filter((one) => one.status === status)
      await step(status, 1, async () => field(page, 'Status').selectOption(status), found)
    }
    const deleted = rows.filter((one) => one.deleted)
    await step('deleted', 1, async () => field(page, 'Status').selectOption('deleted'), deleted)
    await clear()
    await shown(live)
    const theirs = live.filter(({ account }) => account === 4242)
    await step('an owner', 1, async () => filter('Account', '4242'), theirs)
    const blocked = theirs.filter(({ status }) => status === 'expired')
    await step('an owner, expired', 1, async () => field(page, 'Status').selectOption('expired'), blocked)
  })

  it('finds labels, however many have the same beginning and however old they are', async () => {
    for (const [name, typed] of [
      ['label of half', 'customer'],
      ['label of a few', 'PILOT'],
      ['label of many old ones', 'fleet'],
      ['label of one', 'Customer 424242'],
    ] as const) {
      await go('')
      await shown(live)
      const found = live.filter(({ label }) => label.startsWith(typed.toLowerCase()))
      await step(name, 1, async () => filter('Label begins with', typed), found)
    }
    for (const [typed, status] of [
      ['fleet', 'active'],
      ['customer', 'disabled'],
    ] as const) {
      await go(`?label=${typed}`)
      await shown(live.filter(({ label }) => label.startsWith(typed)))
      const found = live.filter((one) => one.label.startsWith(typed) && one.status === status)
      await step(`label ${typed}, ${status}`, 1, async () => field(page, 'Status').selectOption(status), found)
    }
  })
})
