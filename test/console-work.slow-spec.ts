import { beforeAll, describe, expect, it, jest } from '@jest/globals'
import type { Page, Route } from 'playwright-core'
import { TestBrowser } from './support/browser.js'
import {
  becomes,
  button,
  eventually,
  field,
  heading,
  inDays,
  open as openIn,
  panel,
  pressInMenu,
  type Person,
  reads,
  ready,
  resize,
  rowsShown,
  Service,
  signIn,
  until,
} from './support/console.js'
import { figure } from './support/figures.js'
import { STORES } from './support/store.js'

// A browser on a busy machine.
jest.setTimeout(600_000)

let browser: TestBrowser
let service: Service

beforeAll(async () => {
  browser = await TestBrowser.start()
  service = await Service.on(STORES[0]!)
})

const open = async (path: string, options?: Parameters<TestBrowser['page']>[0], as?: Person) =>
  openIn(browser, service, path, as, options)
const QUOTAS = '/api/v1/quotas'
const USAGE = `${QUOTAS}/usage`
const DAY_MS = 86_400_000
const german = { locale: 'de-DE' }
const total = (expireAt = inDays(30)) => ({
  quota_type: 1,
  expire_at: expireAt,
  cycle_unit: null,
  cycle_reset_at: null,
})

/** Keeps answers to such requests until they are let go; later requests are not touched. */
async function held(page: Page, url: string, method: string): Promise<{ asked: Promise<void>; letGo: () => void }> {
  let isOver = false
  let lift: () => void = () => undefined
  let tell: () => void = () => undefined
  const gate = new Promise<void>((resolve) => (lift = resolve))
  const asked = new Promise<void>((resolve) => (tell = resolve))
  const letGo = (): void => {
    isOver = true
    lift()
  }
  await page.route(url, async (route: Route) => {
    if (isOver || route.request().method() !== method) return route.fallback()
    const response = await route.fetch()
    tell()
    await gate
    return route.fulfill({ response })
  })
  return { asked, letGo }
}

const told = (page: Page, text: string | RegExp) => page.locator('.announcement', { hasText: text })
const goTo = async (page: Page, name: string): Promise<void> =>
  page.getByRole('navigation', { name: 'Sections' }).getByRole('link', { name }).click()

describe('numbers, as people of the browser’s language type them', () => {
  it('a time that is typed in part is not taken for none', async () => {
    await service.quota(240)
    const sent: string[] = []
    const listen = (page: Page): void => {
      page.on('request', (request) => {
        if (request.method() === 'POST') sent.push(request.url())
      })
    }
    const typeDay = async (page: Page): Promise<void> => {
      await field(page, 'Ends').focus()
      await page.keyboard.type('31122099')
    }
    const isPointedAt = async (page: Page): Promise<void> =>
      becomes(async () => page.evaluate('document.activeElement.validity?.badInput'), true)
    let page = await open('/mail/new?owner=240')
    listen(page)
    await field(page, 'Total').fill('50')
    await typeDay(page)
    await button(page, 'Create quota').focus()
    await button(page, 'Create quota').click()
    await isPointedAt(page)
    expect(sent).toEqual([])
    await field(page, 'Ends').fill('2099-12-31T10:00')
    await button(page, 'Create quota').click()
    await heading(page, /^Quota \d+/).waitFor()
    expect(await service.call('anna', 'GET', `${QUOTAS}?account_id=240&page_size=1`)).toMatchObject({
      items: [{ expire_at: '2099-12-31T09:00:00.000Z' }],
    })

    sent.length = 0
    page = await open('/mail/change-sets/new?owner=240')
    listen(page)
    await page.getByLabel('Total', { exact: true }).uncheck()
    await page.getByLabel('End', { exact: true }).check()
    await typeDay(page)
    await button(page, 'Preview').focus()
    await button(page, 'Preview').click()
    await isPointedAt(page)
    expect(sent).toEqual([])
  })

  it('a time beyond the contract’s is a mistake at its field, and a quota until the latest one can be edited', async () => {
    const page = await open('/mail/new?owner=241')
    await field(page, 'Total').fill('50')
    for (const name of ['Ends', 'Next reset']) await field(page, name).fill('202609-12-31T09:00')
    await button(page, 'Create quota').click()
    await becomes(async () => page.getByText('a time until the end of the year 9999').count(), 2)
    await field(page, 'Ends').fill('')
    await field(page, 'Ends').focus()
    // Whatever the order of day and month, and the hours of a day.
    await page.keyboard.type('12122026090000AM')
    expect(await field(page, 'Ends').inputValue()).toMatch(/^2026-12-12T09:00/)

    const id = await service.quota(241, total('9999-12-31T23:59:59.999Z'))
    await page.goto(`${service.url}/admin/mail/quotas/${id}?edit=true`)
    await field(page, 'Total').fill('60')
    await button(page, 'Save').click()
    await told(page, `Quota ${id} is saved.`).waitFor()
    expect(await service.call('admin', 'GET', `${QUOTAS}/${id}`)).toMatchObject({
      total: 60,
      expire_at: '9999-12-31T23:59:59.999Z',
    })
  })

  it('a screen that fails leaves the ways out of it', async () => {
    const id = await service.quota(248)
    const quota = await service.call('admin', 'GET', `${QUOTAS}/${id}`)
    const page = await open('/mail')
    const before = browser.errors.length
    await page.route(`**${QUOTAS}/${id}`, async (route) => route.fulfill({ json: { ...quota, expire_at: 'soon' } }))
    await page.goto(`${service.url}/admin/mail/quotas/${id}`)
    await page.getByRole('alert').getByText('Something is wrong with this page').waitFor()
    await goTo(page, 'Overview')
    await heading(page, 'Mail overview').waitFor()
    expect(browser.errors.splice(before)).not.toEqual([])
  })

  it('1.000 in a German browser is a thousand, and is shown so before it is saved', async () => {
    const id = await service.quota(201, { total: 50 })
    const page = await open(`/mail/quotas/${id}?edit=true`, german)
    await field(page, 'Total').fill('1.000')
    await page.getByText('= 1.000').waitFor()
    await button(page, 'Save').click()
    await told(page, `Quota ${id} is saved.`).waitFor()
    expect(await service.call('admin', 'GET', `${QUOTAS}/${id}`)).toMatchObject({ total: 1000 })
  })

  it.each(['0x10', '1e3', '1.5', '1,50'])('%s is refused beside the field, and not sent', async (text) => {
    const id = await service.quota(202, { total: 50 })
    const page = await open(`/mail/quotas/${id}?edit=true`, german)
    const sent: string[] = []
    page.on('request', (request) => request.method() === 'PUT' && sent.push(request.url()))
    await field(page, 'Total').fill(text)
    await button(page, 'Save').click()
    await page.getByText(/a whole number from 0 to 1\.000\.000\.000\.000/).waitFor()
    await until(page, "document.activeElement.getAttribute('aria-invalid') === 'true'")
    expect(sent).toEqual([])
  })

  it('in a top-up too: 1.500 is accepted, and an unreadable number is reported at its field', async () => {
    await service.quota(203, { total: 50 })
    const page = await open('/mail/owners/203', german)
    await button(page, 'Top up').click()
    const dialog = page.getByRole('dialog')
    for (const text of ['', '1,5', '0']) {
      await field(dialog, 'Units').fill(text)
      await dialog.getByRole('button', { name: /^Give/ }).click()
      await dialog.getByText(/a whole number from 1 to/).waitFor()
    }
    await field(dialog, 'Units').fill('1.500')
    await dialog.getByText('= 1.500').waitFor()
    await dialog.getByRole('button', { name: 'Give 1.500' }).click()
    await told(page, '1.500 units are given').waitFor()
    expect(await service.call('admin', 'GET', `${QUOTAS}/summary/203`)).toMatchObject({ total: 1550 })
  })

  it('in every other field: a new quota, a check, a commit, filters', async () => {
    const page = await open('/mail/new', german)
    await field(page, 'Account').fill('0xcc')
    await field(page, 'Total').fill('2.000')
    await button(page, 'Create quota').click()
    await page.getByText('a number from 1, in digits alone').waitFor()
    await field(page, 'Account').fill('204')
    await button(page, 'Create quota').click()
    await heading(page, /^Quota \d+/).waitFor()
    expect(await service.call('admin', 'GET', `${QUOTAS}/summary/204`)).toMatchObject({ total: 2000 })

    await page.locator('#search').fill('204')
    await page.keyboard.press('Enter')
    await field(page, 'Would this many fit?').fill('2.001')
    await button(page, 'Ask').click()
    await page.getByText(/2\.001 would be refused: 2\.000 left/).waitFor()
    await field(page, 'Would this many fit?').fill('1e3')
    await page.getByText(/a whole number from 1 to/).waitFor()

    const hold = await service.call('mailer', 'POST', `${USAGE}/reserve`, { account_id: 204, amount: 1500 }, 'n-204')
    await page.locator('#search').fill(hold.id)
    await page.keyboard.press('Enter')
    await button(page, 'Commit').click()
    const dialog = page.getByRole('dialog')
    await field(dialog, 'Amount').fill('1,5')
    await dialog.getByText(/a whole number from 1 to 1\.500/).waitFor()
    await dialog.getByRole('button', { name: 'Commit' }).click()
    await field(dialog, 'Amount').fill('1.200')
    await dialog.getByRole('button', { name: 'Commit' }).click()
    await heading(page, /committed/).waitFor()
    expect(await service.call('admin', 'GET', `${USAGE}/${hold.id}`)).toMatchObject({ charged: 1200 })

    await goTo(page, 'Changes')
    await field(page, 'Quota').fill('1e1')
    await page.getByText('a number from 1, in digits alone').waitFor()
    await field(page, 'Quota').fill('#1')
    await button(page, 'Filter').click()
    await page.waitForURL(/quotaId=1/)
  })
})

describe('an answer that comes late', () => {
  it('does not leave the screen that the user has opened meanwhile, and reports that it is saved', async () => {
    const id = await service.quota(211)
    const page = await open(`/mail/quotas/${id}?edit=true`)
    const { asked, letGo } = await held(page, `**${QUOTAS}/${id}`, 'PUT')
    await field(page, 'Total').fill('1234')
    await button(page, 'Save').click()
    await asked
    await goTo(page, 'Changes')
    await field(page, 'Who').fill('half typed')
    letGo()
    await told(page, `Quota ${id} is saved.`).waitFor()
    await ready(page)
    expect(new URL(page.url()).pathname).toBe('/admin/mail/changes')
    expect(await field(page, 'Who').inputValue()).toBe('half typed')
    // Nothing is left over of what is saved.
    await page.goBack()
    await becomes(async () => field(page, 'Total').inputValue(), '1234')
    expect(await page.getByText('not saved yet').count()).toBe(0)
  })

  it('keeps a form that was opened again, with the input since, which can be saved', async () => {
    const id = await service.quota(212, { label: 'before' })
    const page = await open(`/mail/quotas/${id}?edit=true`)
    const { asked, letGo } = await held(page, `**${QUOTAS}/${id}`, 'PUT')
    await field(page, 'Total').fill('1234')
    await button(page, 'Save').click()
    await asked
    await goTo(page, 'Quotas')
    await heading(page, 'Mail quotas').waitFor()
    await page.goBack()
    await field(page, 'Label').fill('typed since')
    letGo()
    await told(page, 'What you typed since then is not.').waitFor()
    expect(await field(page, 'Label').inputValue()).toBe('typed since')
    await page.unrouteAll()
    await button(page, 'Save').click()
    await told(page, new RegExp(`Quota ${id} is saved\\.$`)).waitFor()
    expect(await service.call('admin', 'GET', `${QUOTAS}/${id}`)).toMatchObject({ total: 1234, label: 'typed since' })
  })

  it('keeps what is typed during the request', async () => {
    const id = await service.quota(213)
    const page = await open(`/mail/quotas/${id}?edit=true`)
    const { asked, letGo } = await held(page, `**${QUOTAS}/${id}`, 'PUT')
    await field(page, 'Total').fill('1234')
    await button(page, 'Save').click()
    await asked
    await field(page, 'Label').fill('meanwhile')
    letGo()
    await told(page, 'What you typed since then is not.').waitFor()
    expect(await field(page, 'Label').inputValue()).toBe('meanwhile')
    await page.getByText('Changes label.').waitFor()
  })

  it('says what is wrong if somebody changes a quota, and deletes it before the change is read', async () => {
    const id = await service.quota(241, { total: 50 })
    const page = await open(`/mail/quotas/${id}?edit=true`)
    await field(page, 'Total').fill('60')
    await service.call('boris', 'PUT', `${QUOTAS}/${id}`, { total: 70 })
    const answer = await held(page, `**${QUOTAS}/${id}`, 'PUT')
    await button(page, 'Save').click()
    await answer.asked
    await service.call('boris', 'DELETE', `${QUOTAS}/${id}`)
    answer.letGo()
    await page.getByRole('alert').getByText('Somebody changed it meanwhile').waitFor()
  })

  it('shows a conflict when the user returns', async () => {
    const id = await service.quota(214)
    const page = await open(`/mail/quotas/${id}?edit=true`)
    await service.call('boris', 'PUT', `${QUOTAS}/${id}`, { total: 700 })
    const { asked, letGo } = await held(page, `**${QUOTAS}/${id}`, 'PUT')
    await field(page, 'Total').fill('5000')
    await button(page, 'Save').click()
    await asked
    await goTo(page, 'Changes')
    letGo()
    await told(page, `Somebody else has changed quota ${id} meanwhile.`).waitFor()
    await ready(page)
    expect(new URL(page.url()).pathname).toBe('/admin/mail/changes')
    await page.goBack()
    await page.getByRole('region', { name: 'boris has saved this quota since you opened it' }).waitFor()
    await becomes(async () => field(page, 'Total').inputValue(), '5000')
  })

  it('creates a quota without leaving the screen that the user has opened', async () => {
    const page = await open('/mail/new')
    const { asked, letGo } = await held(page, `**${QUOTAS}`, 'POST')
    await field(page, 'Account').fill('215')
    await field(page, 'Total').fill('10')
    await button(page, 'Create quota').click()
    await asked
    await goTo(page, 'Quotas')
    await heading(page, 'Mail quotas').waitFor()
    letGo()
    await told(page, /Quota \d+ is created\./).waitFor()
    await ready(page)
    expect(new URL(page.url()).pathname).toBe('/admin/mail/quotas')
  })

  it('closes no dialog that was opened since', async () => {
    await service.quota(216)
    const page = await open('/mail/owners/216')
    const { asked, letGo } = await held(page, `**${QUOTAS}`, 'POST')
    await button(page, 'Top up').click()
    await field(page, 'Units').fill('5')
    await button(page, 'Give 5').click()
    await asked
    await page.keyboard.press('Escape')
    await button(page, 'Top up').click()
    await field(page, 'Units').fill('7000')
    letGo()
    await until(page, "document.querySelector('.announcement').textContent.includes('5 units are given')")
    await page.waitForLoadState('networkidle')
    await ready(page)
    expect(await field(page, 'Units').inputValue()).toBe('7000')
    await button(page, 'Give 7,000').waitFor()
  })

  it('ends a top-up with the running cycle, also one that is opened before that is known', async () => {
    await service.quota(218)
    const page = await open('/mail')
    const { asked, letGo } = await held(page, `**${QUOTAS}?*account_id=218*`, 'GET')
    await page.goto(`${service.url}/admin/mail/owners/218`)
    await asked
    await button(page, 'Top up').click()
    await page.getByRole('radio', { name: /this month ends/, checked: true }).waitFor()
    letGo()
    await page.getByRole('radio', { name: /the running cycle ends/, checked: true }).waitFor()
    await field(page, 'Units').fill('5')
    await button(page, 'Give 5').click()
    await told(page, '5 units are given').waitFor()
    const { items } = await service.call('anna', 'GET', `${QUOTAS}?account_id=218`)
    const [given, cycle] = items as { expire_at: string | null; cycle_reset_at: string | null }[]
    expect(given!.expire_at).toBe(cycle!.cycle_reset_at)
  })

  it('sends a top-up again as it was, though its cycle ends at another time by then', async () => {
    const id = await service.quota(219)
    const page = await open('/mail/owners/219')
    let attempts = 0
    await page.route(`**${QUOTAS}`, async (route) => {
      if (route.request().method() !== 'POST' || (attempts += 1) > 1) return route.fallback()
      await route.fetch()
      return route.fulfill({ status: 404, body: 'no' })
    })
    await button(page, 'Top up').click()
    await page.getByRole('radio', { name: /the running cycle ends/, checked: true }).waitFor()
    await field(page, 'Units').fill('7')
    await button(page, 'Give 7').click()
    await page.getByRole('dialog').getByRole('alert').waitFor()
    const { version } = await service.call('anna', 'GET', `${QUOTAS}/${id}`)
    await service.call('anna', 'PUT', `${QUOTAS}/${id}`, { version, cycle_reset_at: inDays(3) })
    await page.reload()
    await button(page, 'Top up').click()
    await page.getByRole('radio', { name: /the running cycle ends/, checked: true }).waitFor()
    await button(page, 'Give 7').click()
    await told(page, '7 units are given').waitFor()
    const { items } = await service.call('anna', 'GET', `${QUOTAS}?account_id=219`)
    expect(items).toHaveLength(2)
  })

  it('sends a refund again as it was, though less is left to refund by then', async () => {
    await service.quota(220)
    const consumed = { account_id: 220, amount: 20 }
    const { id } = await service.call('mailer', 'POST', `${USAGE}/consume`, consumed, 'refunded-220')
    const page = await open(`/mail/operations/${id}`)
    let attempts = 0
    await page.route(`**${USAGE}/${id}/refund`, async (route) => {
      if ((attempts += 1) > 2) return route.fallback()
      await route.fetch()
      return route.fulfill({ status: 404, body: 'no' })
    })
    const dialog = page.getByRole('dialog')
    const refund = dialog.getByRole('button', { name: 'Refund' })
    await button(page, 'Refund').click()
    await field(dialog, 'Amount').fill('15')
    await refund.click()
    await dialog.getByRole('alert').waitFor()
    await page.evaluate("document.querySelector('.as-of button').click()")
    await page.locator('dd', { hasText: /^15$/ }).waitFor()
    await refund.click()
    await becomes(async () => attempts, 2)
    await dialog.getByRole('alert').waitFor()
    await page.reload()
    await button(page, 'Refund').click()
    expect(await field(dialog, 'Amount').inputValue()).toBe('15')
    await refund.click()
    await told(page, 'The operation is refunded.').waitFor()
    expect(await service.call('anna', 'GET', `${USAGE}/${id}`)).toMatchObject({ refunded: 15 })
    // The next one is another refund.
    await button(page, 'Refund').click()
    expect(await field(dialog, 'Amount').inputValue()).toBe('5')
  })

  it('is done once it is done, also while the page cannot be read again', async () => {
    await service.quota(246)
    const consumed = { account_id: 246, amount: 20 }
    const { id } = await service.call('mailer', 'POST', `${USAGE}/consume`, consumed, 'refunded-246')
    const page = await open(`/mail/operations/${id}`)
    await button(page, 'Refund').click()
    await field(page, 'Amount').fill('15')
    await page.route(`**/api/v1/**`, async (route) =>
      route.request().method() === 'GET' ? route.fulfill({ status: 503 }) : route.fallback(),
    )
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('button', { name: 'Refund' }).click()
    // In the dialog, since nothing else is read out while it is open; then on the page.
    await dialog.locator('.announcement', { hasText: 'The operation is refunded.' }).waitFor()
    await dialog.waitFor({ state: 'detached' })
    await page.locator('body > * .announcement', { hasText: 'The operation is refunded.' }).waitFor()
    await page.locator('main [data-waiting]').waitFor()
  })

  it('closes no other question', async () => {
    const id = await service.quota(217)
    const page = await open(`/mail/quotas/${id}`)
    const { asked, letGo } = await held(page, `**${QUOTAS}/${id}`, 'PUT')
    await pressInMenu(page, 'Disable')
    await page.getByRole('dialog').getByRole('button', { name: 'Disable' }).click()
    await asked
    await page.keyboard.press('Escape')
    await pressInMenu(page, 'Delete')
    const question = page.getByRole('dialog', { name: `Delete quota ${id}?` })
    await question.waitFor()
    letGo()
    await until(page, "document.querySelector('.announcement').textContent.includes('is disabled')")
    // All that follows an answer has followed.
    await page.waitForLoadState('networkidle')
    await ready(page)
    expect(await question.count()).toBe(1)
  })
})

describe('why an account is refused', () => {
  const spend = async (account: number, amount: number, key: string): Promise<unknown> =>
    service.call('mailer', 'POST', `${USAGE}/consume`, { account_id: account, amount }, key).catch(() => undefined)
  /** Counts are kept to the instance for some seconds. */
  const counted = async (account: number, count: number): Promise<void> =>
    eventually(async () => {
      const { items } = await service.call('admin', 'GET', `${QUOTAS}/refusals?account_id=${account}`)
      return items.reduce((sum: number, item: { count: number }) => sum + item.count, 0) === count
    })

  it('is shown by the refused amounts, not by their average', async () => {
    await service.quota(221, { total: 1000 })
    await spend(221, 990, 'first')
    for (let n = 0; n < 4; n += 1) await spend(221, 11, `small ${n}`)
    await spend(221, 5000, 'large')
    await spend(221, 12, 'last')
    await counted(221, 6)
    // Something has returned since: what was asked for last fits by now, and the largest does not.
    await service.call('boris', 'PUT', `${QUOTAS}/${(await ids(221))[0]}`, { total: 1100 })
    const page = await open('/mail/owners/221')
    const now = panel(page, 'Summary')
    await now.getByText('quota exceeded, asked for 12. They asked for 11 to 5,000.').waitFor()
    await now.getByText('12 would fit now.').waitFor()
    await now.getByText('11 would fit now.').waitFor()
    await now.getByText('5,000 would be refused: 110 left. No reset will make it fit; top up.').waitFor()
  })

  it('is shown by the last refusal, also if another reason of that hour comes first', async () => {
    const id = await service.quota(222, { total: 10 })
    await service.call('anna', 'PUT', `${QUOTAS}/${id}`, { status: 'disabled' })
    await spend(222, 3, 'none')
    await counted(222, 1)
    await service.call('anna', 'PUT', `${QUOTAS}/${id}`, { status: 'active' })
    await spend(222, 20, 'exceeded')
    await counted(222, 2)
    const page = await open('/mail/owners/222')
    await panel(page, 'Summary').getByText('quota exceeded, asked for 20').waitFor()
    // A top-up begins with what it lacked; what is typed replaces that.
    await panel(page, 'Summary').getByText('20 would be refused: 10 left').waitFor()
    await button(page, 'Top up').click()
    const dialog = page.getByRole('dialog')
    await becomes(async () => field(dialog, 'Units').inputValue(), '10')
    await dialog.getByText('what the 20 that were refused lack').waitFor()
    await page.keyboard.type('7')
    await button(page, 'Give 7').click()
    await told(page, '7 units are given').waitFor()
  })

  it.each([
    ['disabled', async (id: number) => service.call('boris', 'PUT', `${QUOTAS}/${id}`, { status: 'disabled' })],
    ['deleted', async (id: number) => service.call('boris', 'DELETE', `${QUOTAS}/${id}`)],
    ['expired', async (id: number) => service.call('boris', 'PUT', `${QUOTAS}/${id}`, { expire_at: inDays(-1) })],
  ])('by a quota that is %s, with who did it, and undone there', async (what, act) => {
    const account = { disabled: 223, deleted: 224, expired: 225 }[what]!
    const id = await service.quota(account, { ...total(), total: 100, label: 'Newsletter' })
    await act(id)
    await spend(account, 5, `gone ${account}`)
    await counted(account, 1)
    const page = await open(`/mail/owners/${account}`)
    const now = panel(page, 'Summary')
    await now.getByText(/no active quota, asked for 5/).waitFor()
    const cause = now.getByRole('listitem')
    await reads(cause, new RegExp(`#${id} Newsletter \\(100, total\\) is ${what} since .* by boris`))
    await cause.getByRole('button', { name: 'Undo' }).click()
    await page
      .getByRole('dialog')
      .getByRole('button', { name: what === 'deleted' ? 'Restore it' : 'Undo it' })
      .click()
    await told(page, 'The change is undone.').waitFor()
    await now.getByText('100 left of 100').waitFor()
    expect(await service.call('admin', 'GET', `${QUOTAS}/${id}`)).toMatchObject({ status: 'active' })
  })

  it('is listed with recent changes on the account’s page, and is undone there', async () => {
    const id = await service.quota(226, { total: 2500 })
    await service.call('boris', 'PUT', `${QUOTAS}/${id}`, { total: 120 })
    const page = await open('/mail/owners/226')
    const row = panel(page, 'Changed lately').getByRole('listitem').first()
    await becomes(
      async () => (await row.innerText()).replace(/\s+/g, ' '),
      expect.stringMatching(`^#${id}: limit cut from 2,500 to 120 .*(ago|now) by boris Undo`),
    )
    await row.getByRole('button', { name: 'Undo' }).click()
    await button(page, 'Undo it').click()
    await told(page, 'The change is undone.').waitFor()
    expect(await service.call('admin', 'GET', `${QUOTAS}/${id}`)).toMatchObject({ total: 2500 })
  })

  it('is shown for an account that never had a quota', async () => {
    const page = await open('/mail/owners/999001')
    await page.getByText('This account never had a quota. Is 999001 the right number?').waitFor()
    await ready(page)
    // Nothing was refused, so no reason is shown.
    expect(await page.locator('.why').count()).toBe(0)
    await page.goto(`${service.url}/admin/mail/owners/226`)
    await panel(page, 'Changed lately').waitFor()
    expect(await page.getByText('never had a quota').count()).toBe(0)
  })

  it('changes are undone on the page of all changes as well', async () => {
    const id = await service.quota(227, { total: 300 })
    await service.call('boris', 'PUT', `${QUOTAS}/${id}`, { total: 30 })
    await service.call('boris', 'DELETE', `${QUOTAS}/${id}`)
    const page = await open(`/mail/changes?quotaId=${id}`)
    const undo = async (row: number, verb: string): Promise<void> => {
      await page.getByRole('row').nth(row).getByRole('button', { name: 'Undo' }).click()
      await page.getByRole('dialog').getByRole('button', { name: verb }).click()
      await page.getByRole('dialog').waitFor({ state: 'detached' })
      await ready(page)
    }
    // Of a deleted quota nothing else can be undone.
    await page.getByRole('row').nth(2).getByRole('button', { name: 'Undo' }).click()
    await page.getByRole('dialog').getByText('The quota is deleted. Restore it first').waitFor()
    await page.keyboard.press('Escape')
    await undo(1, 'Restore it')
    await page.getByRole('row', { name: /restore/ }).waitFor()
    await undo(3, 'Undo it')
    expect(await service.call('admin', 'GET', `${QUOTAS}/${id}`)).toMatchObject({ total: 300 })
    // Both are marked, also where the filters leave out what undid them.
    for (const filter of ['', '&actor=boris']) {
      await page.goto(`${service.url}/admin/mail/changes?quotaId=${id}${filter}`)
      for (const action of ['delete', 'update'])
        await page.getByRole('row', { name: new RegExp(`boris.*${action}.*undone`, 's') }).waitFor()
    }
    await ready(page)
    expect(await page.getByRole('row').getByRole('button', { name: 'Undo' }).count()).toBe(0)
  })

  async function ids(account: number): Promise<number[]> {
    const { items } = await service.call('admin', 'GET', `${QUOTAS}?account_id=${account}`)
    return items.map(({ id }: { id: number }) => id)
  }
})

describe('what is printed and looked at', () => {
  const LONG = 'Donaudampfschifffahrt'.repeat(6).slice(0, 120)
  let long: number
  let turned: number

  beforeAll(async () => {
    long = await service.quota(231, { label: LONG })
    turned = await service.quota(231, { label: 'tidy\u202egnitekram' })
    await service.call('boris', 'PUT', `${QUOTAS}/${long}`, { label: LONG.toLowerCase() })
    const key = `${'k'.repeat(200)}-231`
    await service.call('mailer', 'POST', `${USAGE}/consume`, { account_id: 231, amount: 2 }, key)
  })

  it.each(['/mail/quotas?owner=231', '/mail/owners/231', '/mail/changes?owner=231', '/mail', 'QUOTA', 'CONFLICT'])(
    'one word of 120 characters breaks nothing: %s',
    async (where) => {
      const path = where.startsWith('/') ? where : `/mail/quotas/${long}${where === 'CONFLICT' ? '?edit=true' : ''}`
      const page = await open(path)
      if (where === 'CONFLICT') {
        await field(page, 'Label').fill(LONG.toUpperCase())
        await service.call('boris', 'PUT', `${QUOTAS}/${long}`, { label: `${LONG.slice(0, 100)}${Date.now()}` })
        await button(page, 'Save').click()
        await button(page, 'Take theirs').waitFor()
      }
      for (const width of [1280, 640, 360]) {
        await resize(page, { width, height: 800 })
        expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth')).toBe(0)
        // Nor out of what holds it.
        const stuckOut = await page.evaluate<string[]>(
          `[...document.querySelectorAll('main .panel, main table[role=table]')].filter((box) =>
            [...box.querySelectorAll('td, li, p, dd')].some((part) => part.offsetParent !== null &&
              part.getBoundingClientRect().right > box.getBoundingClientRect().right + 1)).map((box) => box.textContent.slice(0, 40))`,
        )
        expect([width, stuckOut]).toEqual([width, []])
      }
    },
  )

  it('a label that turns its letters round does not affect the text next to it', async () => {
    for (const path of ['/mail/quotas?owner=231', `/mail/quotas/${turned}`, `/mail/changes?quotaId=${turned}`]) {
      const page = await open(path)
      await page.locator('bdi', { hasText: 'gnitekram' }).first().waitFor()
      const outside = await page.evaluate<string[]>(
        `(() => { const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT); const found = [];
          for (let text; (text = walk.nextNode()); ) if (text.data.includes('\\u202e') && text.parentElement.closest('bdi') === null) found.push(text.parentElement.outerHTML);
          return found })()`,
      )
      expect(outside).toEqual([])
    }
  })

  it('success is seen, and disappears when it is dismissed', async () => {
    const id = await service.quota(232)
    const page = await browser.page()
    await page.clock.install()
    await page.goto(`${service.url}/admin/mail/quotas/${id}`)
    await signIn(page, 'anna')
    await pressInMenu(page, 'Disable')
    const confirm = page.getByRole('dialog').getByRole('button', { name: 'Disable' })
    await confirm.waitFor()
    // The message would disappear by itself as well.
    await page.clock.pauseAt(await page.evaluate<number>('Date.now() + 60_000'))
    await confirm.click()
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    const message = told(page, `Quota ${id} is disabled.`)
    await message.waitFor()
    const box = await message.boundingBox()
    expect(box!.width).toBeGreaterThan(100)
    expect(box!.y + box!.height).toBeLessThanOrEqual(800)
    await button(page, 'Dismiss the message').click()
    await message.waitFor({ state: 'detached' })
  })

  it('each page shows when it was read, and is read again on request', async () => {
    const id = await service.quota(233, { label: 'fresh' })
    for (const path of ['/mail', '/mail/quotas?owner=233', `/mail/quotas/${id}`, '/mail/owners/233', '/mail/changes']) {
      const page = await open(path)
      await page.getByText(/^As of \d\d:\d\d:\d\d/).waitFor()
      await button(page, 'Refresh').waitFor()
    }
    const page = await open('/mail/quotas?owner=233')
    await page.getByText('1 quota · page 1').waitFor()
    await service.quota(233)
    await button(page, 'Refresh').click()
    await page.getByText('2 quotas · page 1').waitFor()
  })

  it('a visible list is kept up to date', async () => {
    await service.quota(234)
    const page = await browser.page()
    await page.clock.install()
    await page.goto(`${service.url}/admin/mail/quotas?owner=234`)
    await signIn(page, 'anna')
    await page.getByText('1 quota · page 1').waitFor()
    await service.quota(234)
    await page.clock.fastForward(31_000)
    await page.getByText('2 quotas · page 1').waitFor()
  })

  it('a page that stays open goes on to new hours', async () => {
    await service.quota(242, { total: 1 })
    const openBefore = async (path: string): Promise<Page> => {
      const page = await browser.page()
      await page.clock.install({ time: Date.now() - 2 * 3_600_000 })
      await page.goto(`${service.url}/admin${path}`)
      await signIn(page, 'anna')
      await ready(page)
      return page
    }
    const owner = await openBefore('/mail/owners/242')
    await owner.getByText('Nothing was refused.').waitFor()
    const overview = await openBefore('/mail')
    const body = { account_id: 242, amount: 2 }
    await expect(service.call('mailer', 'POST', `${USAGE}/consume`, body, 'hours-1')).rejects.toThrow('409')
    await eventually(async () => {
      const { items } = await service.call('anna', 'GET', `${QUOTAS}/refusals?account_id=242`)
      return items.length === 1
    })
    for (const page of [owner, overview]) await page.clock.fastForward(2 * 3_600_000)
    await owner.getByText('Refused 1 time in the last 48 hours').waitFor()
    const bar = overview.locator('.figure', { hasText: 'Refused today' }).locator('rect').last()
    await becomes(async () => Number(await bar.getAttribute('height')) > 0, true)
  })

  it('a page that stays open for days asks only for the days that it shows', async () => {
    const days = 3
    for (const [path, question, shown] of [
      ['/mail', '/quotas/refusals', 1],
      ['/mail', '/usage/series', 7],
      ['/mail/owners/242', '/quotas/refusals', 7],
    ] as const) {
      const page = await browser.page()
      await page.clock.install({ time: Date.now() - days * DAY_MS })
      await page.goto(`${service.url}/admin${path}`)
      await signIn(page, 'anna')
      await ready(page)
      const asked = page.waitForRequest((request) => new URL(request.url()).pathname.endsWith(question))
      await page.clock.fastForward(days * DAY_MS)
      const from = new URL((await asked).url()).searchParams.get('from') ?? ''
      expect(Date.parse(from)).toBeGreaterThan(Date.now() - (shown + 1) * DAY_MS)
    }
  })

  it('quotas near the limit are the latest of however many events, which are read once', async () => {
    const id = await service.quota(243, { total: 10, thresholds: [50] })
    await service.call('mailer', 'POST', `${USAGE}/consume`, { account_id: 243, amount: 6 }, 'near-1')
    let last: object | undefined
    await eventually(async () => {
      const { items } = await service.call('anna', 'GET', `${QUOTAS}/events?quota_id=${id}&page_size=100`)
      last = items.find(({ type }: { type: string }) => type === 'quota.threshold_reached')
      return last !== undefined
    })
    // Of quotas that are gone, before it.
    const feed = [...Array.from({ length: 2_100 }, (_, index) => ({ ...last, quota_id: 1_000_000 + index })), last]
    const reads: number[] = []
    const page = await open('/mail/quotas')
    await page.route(`**${QUOTAS}/events?*`, async (route) => {
      const after = Number(new URL(route.request().url()).searchParams.get('after') ?? 0)
      reads.push(after)
      const items = feed.slice(after, after + 100)
      return route.fulfill({ json: { items, next_after: String(after + items.length) } })
    })
    await goTo(page, 'Overview')
    await panel(page, 'Near the limit')
      .getByRole('link', { name: `#${id}` })
      .waitFor()
    reads.length = 0
    feed.push({ ...last, quota_id: 2_000_000 })
    await ready(page)
    await button(page, 'Refresh').click()
    await eventually(async () => reads.includes(2_102))
    // The screen may renew itself meanwhile.
    expect([...new Set(reads)]).toEqual([2_101, 2_102])
  })

  it('the search accepts whatever is printed', async () => {
    const id = await service.quota(235, { label: 'Späte Post' }, 'boris')
    const key = 'order 8841/ä'.replace('ä', 'a')
    const { id: operation } = await service.call(
      'mailer',
      'POST',
      `${USAGE}/consume`,
      { account_id: 235, amount: 1 },
      key,
    )
    const page = await open('/mail')
    const look = async (text: string): Promise<void> => {
      await page.locator('#search').fill(text)
      await page.keyboard.press('Enter')
    }
    for (const text of ['235', 'Account 235', 'account  235']) {
      await look(text)
      await heading(page, 'Account 235').waitFor()
      await goTo(page, 'Overview')
      await heading(page, 'Mail overview').waitFor()
    }
    const { id: group } = await service.call('anna', 'POST', `${QUOTAS}/groups`, { name: 'example.org' }, 'group')
    const ask = { filter: { ids: [id] }, change: { reset: true } }
    const { id: set } = await service.call('anna', 'POST', `${QUOTAS}/change-sets`, ask, 'set')
    for (const [text, title] of [
      [`#${id}`, `Quota ${id}`],
      [`Quota ${id}`, `Quota ${id}`],
      [`quota #${id}`, `Quota ${id}`],
      [`Cap #${id}`, `Quota ${id}`],
      [`Group ${group}`, 'Group example.org'],
      [`Change set ${set}`, `Change set ${set}`],
    ] as const) {
      await look(text)
      await heading(page, new RegExp(`^${title}`)).waitFor()
      await goTo(page, 'Overview')
      await heading(page, 'Mail overview').waitFor()
    }
    await look(operation)
    await heading(page, /^Operation/).waitFor()
    await look(key)
    const found = panel(page, 'Operations with this key').getByRole('row').nth(1)
    await reads(found, /235[\s\S]*mailer[\s\S]*order 8841\/a/)
    await look('späte')
    await panel(page, 'Quotas whose label begins so').getByText('Späte Post').waitFor()
    await look('example')
    await panel(page, 'Groups whose name begins so').getByText('example.org').waitFor()
    await look('boris')
    await panel(page, 'Changes by boris').getByRole('row').nth(1).waitFor()
    const asked = page.waitForRequest(/actor=oidc%3Aboris/)
    await look('oidc:boris')
    await asked
    await look('nobody-has-this')
    await page.getByText('Nothing: no operation has this key').waitFor()
    await look('User 3')
    await page.waitForURL(/person=3/)
    await page.getByRole('link', { name: 'SMS' }).click()
    await look('User 3')
    await heading(page, 'User 3').waitFor()
    await look('Account 235')
    await heading(page, 'Account 235').waitFor()
  })

  it('the ledger continues beyond 20 operations, with key and sender', async () => {
    const id = await service.quota(236)
    for (let n = 1; n <= 45; n += 1)
      await service.call('mailer', 'POST', `${USAGE}/consume`, { account_id: 236, amount: 1 }, `row-${n}`)
    for (const [path, name] of [
      ['/mail/owners/236', 'Ledger'],
      [`/mail/quotas/${id}`, 'Usage'],
    ] as const) {
      const page = await open(path)
      const rows = await rowsShown(panel(page, name), 20)
      await reads(rows.first(), /mailer[\s\S]*row-45/)
      const more = panel(page, name).getByRole('button', { name: 'Show 20 older ones' })
      await more.click()
      await rowsShown(panel(page, name), 40)
      await more.click()
      await panel(page, name).getByText('row-1', { exact: true }).waitFor()
      await rowsShown(panel(page, name), 45)
      await more.waitFor({ state: 'detached' })
    }
  })

  it('changes of today, of yesterday, of this and last week and of 30 days are one press away', async () => {
    const page = await open('/mail/changes', { timezoneId: 'America/New_York' })
    for (const [name, days] of [
      ['Today', 1],
      ['Yesterday', 1],
      ['This week', 7],
      ['Last week', 7],
      ['Last 30 days', 30],
    ] as const) {
      await button(page, name).click()
      await until(page, `document.querySelector('[aria-pressed=true]')?.textContent === '${name}'`)
      const { from, to } = Object.fromEntries(new URL(page.url()).searchParams) as Record<string, string>
      expect(Math.round((Date.parse(to!) - Date.parse(from!)) / 86_400_000)).toBe(days)
      // Midnight there.
      await becomes(async () => field(page, 'From').inputValue(), expect.stringMatching(/T00:00$/))
    }
  })

  it('another channel opens at the same page', async () => {
    const page = await open('/mail/changes?actor=boris&owner=231')
    /** The link says where it leads as soon as this screen is there. */
    const go = async (name: string, where: string): Promise<void> => {
      const link = page.getByRole('navigation', { name: 'Channel' }).getByRole('link', { name })
      await becomes(async () => link.getAttribute('href'), where)
      await link.click()
      await page.waitForURL(`**${where}`)
    }
    await go('SMS', '/admin/sms/changes?actor=boris')
    await go('Mail', '/admin/mail/changes?actor=boris')
    await goTo(page, 'Quotas')
    await field(page, 'Status').selectOption('disabled')
    await page.waitForURL(/status=disabled/)
    await go('SMS', '/admin/sms/quotas?status=disabled')
    await go('Mail', '/admin/mail/quotas?status=disabled')
    await page.goto(`${service.url}/admin/mail/quotas/${long}`)
    await go('SMS', '/admin/sms/quotas')
    await goTo(page, 'Overview')
    await go('Mail', '/admin/mail')
  })

  it('two links never have the same name', async () => {
    for (const path of [
      '/mail',
      '/mail/quotas',
      `/mail/quotas/${long}`,
      '/mail/owners/231',
      '/mail/changes',
      '/mail/search?q=boris',
    ]) {
      const page = await open(path)
      const links = await page.evaluate<[string, string][]>(
        `[...document.querySelectorAll('a')].map((link) => [(link.getAttribute('aria-label') ?? link.textContent).trim().toLowerCase(), link.pathname + link.search])`,
      )
      const places = new Map<string, Set<string>>()
      for (const [name, place] of links) places.set(name, (places.get(name) ?? new Set()).add(place))
      expect([path, [...places].filter(([, all]) => all.size > 1).map(([name, all]) => [name, ...all])]).toEqual([
        path,
        [],
      ])
    }
  })

  it('cards fold on narrow screens', async () => {
    for (let n = 0; n < 50; n += 1) await service.quota(240, { label: `card ${n}` })
    const page = await open('/mail/quotas?owner=240', { viewport: { width: 360, height: 740 } })
    const height = await page.evaluate<number>('document.documentElement.scrollHeight')
    figure('console, 360 px', { heightOf50Quotas: height })
    expect(height).toBeLessThan(9_000)
    const card = page.locator('tbody [data-row]').first()
    expect(await card.innerText()).not.toMatch(/monthly/)
    await card.getByRole('button', { name: /^More/ }).click()
    await reads(card, /monthly/)
    await card.getByRole('button', { name: /^Less/ }).click()
    await becomes(async () => card.innerText(), expect.not.stringMatching(/monthly/))
  })
})

it('there was no report of the policy, and no error', () => {
  expect([...browser.reports, ...browser.errors]).toEqual([])
})
