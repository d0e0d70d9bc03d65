import { beforeAll, describe, expect, it, jest } from '@jest/globals'
import type { Locator, Page } from 'playwright-core'
import { TestBrowser } from './support/browser.js'
import {
  becomes,
  button,
  eventually,
  expectSound,
  field,
  heading,
  inDays,
  open as openIn,
  panel,
  reads,
  rowsShown,
  Service,
  until,
} from './support/console.js'
import { STORES } from './support/store.js'

// A browser on a busy machine.
jest.setTimeout(600_000)

const QUOTAS = '/api/v1/quotas'
const CONSUME = `${QUOTAS}/usage/consume`
const ROLLING = { quota_type: 3, total: 300, window_seconds: 86_400, cycle_unit: undefined, cycle_reset_at: undefined }

let service: Service
let browser: TestBrowser
let keys = 0

beforeAll(async () => {
  service = await Service.on(STORES[0]!)
  browser = await TestBrowser.start()
})

const open = async (path: string): Promise<Page> => openIn(browser, service, path)
const told = (page: Page, text: string | RegExp) => page.locator('.announcement', { hasText: text })
const example = (page: Page) => page.locator('.example')

/** Spends, or is refused. */
async function consume(account: number, amount: number): Promise<void> {
  keys += 1
  const body = { account_id: account, amount }
  await service.call('mailer', 'POST', CONSUME, body, `caps-${keys}`).catch((error: unknown) => {
    if (!String(error).includes(': 409 ')) throw error
  })
}

/** Refusals are written down within seconds, several at a time. */
async function refused(account: number, code: string, times: number): Promise<void> {
  await eventually(async () => {
    const { items } = (await service.call('anna', 'GET', `${QUOTAS}/refusals?account_id=${account}`)) as {
      items: { code: string; count: number }[]
    }
    const count = items.filter((item) => item.code === code).reduce((sum, item) => sum + item.count, 0)
    expect(count).toBeLessThanOrEqual(times)
    return count === times
  })
}

async function expectCentred(dialog: Locator): Promise<void> {
  const { width, height } = dialog.page().viewportSize()!
  await becomes(async () => {
    const box = (await dialog.boundingBox())!
    return [box.x + box.width / 2, box.y + box.height / 2]
  }, [expect.closeTo(width / 2, -1), expect.closeTo(height / 2, -1)])
}

describe('a new cap', () => {
  it('is created in plain words, with an example of its effect', async () => {
    const page = await open('/mail/new?owner=301')
    expect(await page.getByLabel(/^rolling/).count()).toBe(0)
    await page.getByLabel(/^limits/).check()
    await field(page, 'Total').fill('300')
    await reads(example(page), 'At most 300 in any 24 hours; the 301st waits until the oldest are 24 hours old.')
    await expectSound(page)
    await page.getByLabel(/^only watches/).check()
    await button(page, '7 days').click()
    await reads(
      example(page),
      'Lets everything through, and tells what it would have refused: the 301st in any 7 days.',
    )
    await field(page, 'Window').fill('90')
    await page.getByLabel('Unit of the window').selectOption('minute')
    await button(page, 'Create quota').click()
    await heading(page, /^Cap \d+/).waitFor()
    const { items } = await service.call('anna', 'GET', `${QUOTAS}?account_id=301`)
    expect(items).toEqual([
      expect.objectContaining({ cap: 'observe', quota_type: 3, total: 300, window_seconds: 5400, cycle_unit: null }),
    ])
  })

  it('is tried on the last 30 days before it is created', async () => {
    await service.quota(304, { total: 5000 })
    for (const amount of [300, 20, 7]) await consume(304, amount)
    const page = await open('/mail/new?owner=304')
    expect(await button(page, 'Try it').count()).toBe(0)
    await page.getByLabel(/^only watches/).check()
    await button(page, 'Try it').click()
    await until(page, "document.activeElement.getAttribute('aria-invalid') === 'true'")
    await field(page, 'Total').fill('310')
    await button(page, 'Try it').click()
    const trial = page.getByRole('group', { name: 'Trial' })
    await trial.getByText('this cap would have refused 2 of 3 operations (27 units).').waitFor()
    await becomes(async () => trial.locator('tbody tr').count(), 1)
    await expectSound(page)
    // The answer was about another cap.
    await field(page, 'Total').fill('327')
    await trial.waitFor({ state: 'detached' })
    // The next reset is in the future, and all cycles are whole.
    await page.getByLabel(/^cycle/).check()
    await button(page, 'Try it').click()
    await trial.getByText('this cap would have refused none of 3 operations.').waitFor()
    expect((await service.call('anna', 'GET', `${QUOTAS}?account_id=304`)).total).toBe(1)
  })

  it('of a group is tried for its members together', async () => {
    const { id } = await service.call('anna', 'POST', `${QUOTAS}/groups`, { name: 'tried' })
    await service.call('anna', 'POST', `${QUOTAS}/groups/${id}/members`, { account_ids: [305, 306] })
    for (const account of [305, 306]) {
      await service.quota(account)
      await consume(account, 6)
    }
    const page = await open(`/mail/new?group=${id}`)
    await page.getByLabel(/^limits/).check()
    await field(page, 'Total').fill('10')
    await button(page, 'Try it').click()
    await page.getByText('this cap would have refused 1 of 2 operations (6 units).').first().waitFor()
    await page.getByLabel(/^each/).check()
    await button(page, 'Try it').waitFor({ state: 'detached' })
  })

  it('with an invalid window is reported at the field, and not sent', async () => {
    const page = await open('/mail/new?owner=302')
    await page.getByLabel(/^limits/).check()
    await field(page, 'Total').fill('10')
    await field(page, 'Window').fill('60')
    await page.getByLabel('Unit of the window').selectOption('day')
    await button(page, 'Create quota').click()
    await page.getByText('1 minute to 31 days in all').waitFor()
    await until(page, "document.activeElement.getAttribute('aria-invalid') === 'true'")
    expect((await service.call('anna', 'GET', `${QUOTAS}?account_id=302`)).total).toBe(0)
  })

  it('can follow the calendar, and a payer has no window', async () => {
    const page = await open('/mail/new?owner=303')
    await page.getByLabel(/^limits/).check()
    await page.getByLabel(/^cycle/).check()
    await field(page, 'Total').fill('100')
    await field(page, 'Cycle').selectOption('hour')
    await reads(example(page), 'At most 100 each hour; the 101st waits until the next hour begins.')
    await page.getByLabel(/^rolling/).check()
    await page.getByLabel(/^pays/).check()
    await field(page, 'Window').waitFor({ state: 'detached' })
    await button(page, 'Create quota').click()
    await heading(page, /^Quota \d+/).waitFor()
  })
})

describe('an account with caps', () => {
  it('that is refused by one shows this first, and when it can continue', async () => {
    await service.quota(311, { total: 5000 })
    const cap = await service.quota(311, { ...ROLLING, cap: 'enforce', label: 'Provider' })
    for (let message = 0; message < 16; message += 1) await consume(311, 20)
    await refused(311, 'quota_exceeded', 1)
    const page = await open('/mail/owners/311')
    const first = page.getByRole('region', { name: 'Held up' })
    await first.waitFor()
    await until(page, "document.querySelector('main section').classList.contains('held-up')")
    await reads(
      first,
      new RegExp(
        `held up by a cap\\. 20 units would be refused, though its quotas could pay 4,700\\.[\\s\\S]*` +
          `Cap #${cap} Provider \\(300 in any 24 hours\\): 0 left[\\s\\S]*It fits from`,
      ),
    )
    const now = panel(page, 'Summary')
    await reads(now, /0 can be taken now: a cap allows no more[\s\S]*4,700 left of 5,000/)
    await now.getByText(`20 would be refused: cap #${cap} leaves 0.`).waitFor()
    // What pays stands in the order of paying, without what only bounds.
    await rowsShown(panel(page, 'Active quotas'), 1)
    await expectSound(page)
  })

  it('shows what an observing cap would have refused this week, and enforces it', async () => {
    await service.quota(312, { total: 5000 })
    const cap = await service.quota(312, { ...ROLLING, total: 50, cap: 'observe' })
    for (let message = 0; message < 6; message += 1) await consume(312, 20)
    await refused(312, 'quota_observed', 4)
    const page = await open('/mail/owners/312')
    const card = page.locator('.limit-observe')
    await reads(card, /only watches[\s\S]*Would have refused 4 times this week \(80 units\)/)
    // Nothing was refused.
    await page.getByText('Nothing was refused.').waitFor()
    await panel(page, 'Summary').getByText('1 would fit now.').waitFor()
    expect(await page.getByRole('region', { name: 'Held up' }).count()).toBe(0)
    const record = await open(`/mail/quotas/${cap}`)
    const watched = panel(record, 'What it would have refused')
    await watched.getByText(/^4 times it would have refused; at most [1-4] in an hour/).waitFor()
    await watched.getByText('Show as table').click()
    await reads(watched.getByRole('row').nth(1), /would have refused\t[1-4]\t\d0$/)
    // The line of its limit, and the level of its bar in words.
    await panel(record, 'Usage by day').getByText('limit: 50 in any 24 hours').waitFor()
    await panel(record, 'Settings and usage').getByText('120 used (240%)').waitFor()
    await expectSound(record)
    await button(page, `Enforce it (cap ${cap})`).click()
    const dialog = page.getByRole('dialog', { name: `Enforce cap ${cap}?` })
    await dialog.getByText('It has counted 120 of 50: everything is refused at first.').waitFor()
    await expectSound(page)
    await expectCentred(dialog)
    await dialog.getByRole('button', { name: 'Enforce it' }).click()
    await told(page, `Cap ${cap} limits from now on.`).waitFor()
    await page.getByRole('region', { name: 'Held up' }).waitFor()
    expect(await service.call('anna', 'GET', `${QUOTAS}/${cap}`)).toMatchObject({ cap: 'enforce', version: 2 })
  })

  it('without caps looks as before', async () => {
    await service.quota(313, { total: 5000 })
    const page = await open('/mail/owners/313')
    await panel(page, 'Summary').getByText('of 1 active quota').waitFor()
    expect(await page.locator('.limits').count()).toBe(0)
    await button(page, 'Top up').click()
    await expectCentred(page.getByRole('dialog'))
  })
})

describe('a total below what was used', () => {
  it('shows the excess in lists, on the quota, and beside what the others have left', async () => {
    const id = await service.quota(314, { total: 900 })
    await consume(314, 841)
    await service.call('boris', 'PUT', `${QUOTAS}/${id}`, { total: 120 })
    await service.quota(314, { total: 2000 })
    const page = await open('/mail/owners/314')
    await panel(page, 'Summary').getByText('2,000 left of 2,120 · 721 over · 841 used').waitFor()
    await panel(page, 'Active quotas').getByText('721 over 120 · 841 used').waitFor()
    await expectSound(page)
    await page.locator(`a[data-row-link][href$="/quotas/${id}"]`).click()
    await panel(page, 'Settings and usage').getByText('721 over 120 · 841 used').waitFor()
  })
})

describe('a cap', () => {
  it('has a ledger of what it counted, and the operation names it', async () => {
    await service.quota(321, { total: 5000 })
    const cap = await service.quota(321, { ...ROLLING, cap: 'enforce' })
    await consume(321, 7)
    const page = await open(`/mail/quotas/${cap}`)
    await heading(page, /^Cap \d+ .*active/).waitFor()
    const row = panel(page, 'Usage').locator('tbody tr')
    await reads(row, /\b7\b/)
    await panel(page, 'Settings and usage').getByText('At most 300 in any 24 hours').waitFor()
    await page.getByText('Now: some comes back').waitFor()
    await expectSound(page)
    await row.getByRole('link').first().click()
    await panel(page, 'Counted by')
      .getByRole('link', { name: `#${cap}` })
      .waitFor()
  })

  it('is edited: its effect, its window, with an example; and undone', async () => {
    await service.quota(322, { total: 5000 })
    const cap = await service.quota(322, { ...ROLLING, cap: 'enforce' })
    const page = await open(`/mail/quotas/${cap}?edit=true`)
    await field(page, 'What it does').selectOption('observe')
    await button(page, '1 hour').click()
    await page.getByText('Another window begins a new count').waitFor()
    await reads(example(page), /the 301st in any hour/)
    await expectSound(page)
    await button(page, 'Save').click()
    await told(page, `Quota ${cap} is saved.`).waitFor()
    expect(await service.call('anna', 'GET', `${QUOTAS}/${cap}`)).toMatchObject({
      cap: 'observe',
      window_seconds: 3600,
    })
    const changes = panel(page, 'Changes')
    await changes.getByText(/Cap: limits .*only watches/).waitFor()
    await changes.getByText(/Window: 24 hours .*1 hour/).waitFor()
    await changes.getByRole('button', { name: /^Undo/ }).first().click()
    await page.getByRole('dialog').getByRole('button', { name: 'Undo it' }).click()
    await told(page, 'The change is undone.').waitFor()
    expect(await service.call('anna', 'GET', `${QUOTAS}/${cap}`)).toMatchObject({
      cap: 'enforce',
      window_seconds: 86_400,
    })
  })

  it('is found by the filter of the list', async () => {
    const cap = await service.quota(323, { ...ROLLING, cap: 'observe' })
    await service.quota(323)
    const page = await open('/mail/quotas?owner=323')
    await field(page, 'What it does').selectOption('observe')
    await page.waitForURL(/cap=observe/)
    await reads(await rowsShown(page, 1), new RegExp(`#${cap}[\\s\\S]*rolling, 24 hours[\\s\\S]*only watches`))
    await expectSound(page)
  })
})

describe('thresholds', () => {
  it('are entered as percentages, and passed ones are shown with the quota, its account and the overview', async () => {
    const id = await service.quota(331, { total: 100 })
    const calm = await service.quota(332, { total: 100, thresholds: [50] })
    const page = await open(`/mail/quotas/${id}?edit=true`)
    await field(page, 'Notify at').fill('50 eighty')
    await page.getByText('whole per cents from 1 to 100, such as 50 80').waitFor()
    await field(page, 'Notify at').fill('80%, 50')
    await page.getByText('= 50 %, 80 %').waitFor()
    await button(page, 'Save').click()
    await told(page, `Quota ${id} is saved.`).waitFor()
    expect(await service.call('anna', 'GET', `${QUOTAS}/${id}`)).toMatchObject({ thresholds: [50, 80] })
    await consume(331, 85)
    await consume(332, 60)
    await service.call('anna', 'POST', `${QUOTAS}/${calm}/reset`, {})

    for (const path of [`/mail/quotas/${id}`, '/mail/owners/331']) {
      const there = await open(path)
      const row = panel(there, 'Thresholds passed').locator('tbody tr')
      await reads(row, /50\s%, 80\s%[\s\S]*85 of 100/)
      await expectSound(there)
    }
    // What was passed and is no more is no news.
    const overview = await open('/mail')
    const near = panel(overview, 'Near the limit').locator('tbody tr')
    await becomes(async () => near.allInnerTexts(), [expect.stringMatching(`#${id}[\\s\\S]*80 %`)])
    await expectSound(overview)
  })

  it('are not offered for a rolling cap', async () => {
    const cap = await service.quota(333, { ...ROLLING, cap: 'enforce', expire_at: inDays(5) })
    const page = await open(`/mail/quotas/${cap}?edit=true`)
    await field(page, 'Window').waitFor()
    expect(await field(page, 'Notify at').count()).toBe(0)
    await field(page, 'Total').fill('400')
    await button(page, 'Save').click()
    await told(page, `Quota ${cap} is saved.`).waitFor()
  })
})
