import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals'
import Libsql from 'libsql'
import type { Page } from 'playwright-core'
import { TestBrowser } from './support/browser.js'
import {
  API,
  becomes,
  button,
  eventually,
  expectSoundAt,
  field,
  focused,
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
  storageOf,
  TOKENS,
  until,
} from './support/console.js'
import { figure } from './support/figures.js'
import { onEveryStore, type Store, STORES } from './support/store.js'

// A browser on a busy machine.
jest.setTimeout(600_000)

let browser: TestBrowser

beforeAll(async () => {
  browser = await TestBrowser.start()
})

const open = async (service: Service, path: string, as?: Person, options?: Parameters<TestBrowser['page']>[0]) =>
  openIn(browser, service, path, as, options)

onEveryStore('two people edit one quota', (kind) => {
  let service: Service

  beforeAll(async () => {
    service = await Service.on(kind)
  })

  it('and the second is told, sees both edits and their common base, and saves on top', async () => {
    const id = await service.quota(7, { label: 'Team', total: 1000 })
    const path = `/mail/quotas/${id}?edit=true`
    const [anna, boris] = [await open(service, path, 'anna'), await open(service, path, 'boris')]
    await field(boris, 'Total').fill('800')
    await field(boris, 'Label').fill('Team, agreed by phone')
    await field(anna, 'Total').fill('5000')
    await button(boris, 'Save').click()
    await boris.getByText(`Quota ${id} is saved.`).waitFor()

    await button(anna, 'Save').click()
    const conflict = anna.getByRole('region', { name: 'boris has saved this quota since you opened it' })
    await becomes(
      async () => conflict.getByRole('row').allInnerTexts(),
      [
        'Setting\tBoth started from\tTheirs\tYours',
        'Label\tTeam\tTeam, agreed by phone\tuntouched',
        'Total\t1,000\t800\t5,000',
      ],
    )
    // A phone breaks no word and no number.
    await resize(anna, { width: 360, height: 780 })
    const broken =
      "[...document.querySelectorAll('.conflict-table td > *')].filter((one) => !one.textContent.includes(' ') && one.getClientRects().length > 1).map((one) => one.textContent)"
    expect(await anna.evaluate<string[]>(broken)).toEqual([])
    await resize(anna, { width: 1280, height: 800 })
    // The screen reader and the keyboard are there, and what was typed is, too.
    await becomes(async () => focused(anna), expect.stringContaining('conflict'))
    expect(await field(anna, 'Total').inputValue()).toBe('5000')
    expect(await service.call('admin', 'GET', `/api/v1/quotas/${id}`)).toMatchObject({ total: 800, version: 2 })

    await button(anna, 'Save mine on top').click()
    await anna.getByText(`Quota ${id} is saved.`).waitFor()
    // What only the other one touched stays.
    expect(await service.call('admin', 'GET', `/api/v1/quotas/${id}`)).toMatchObject({
      total: 5000,
      label: 'Team, agreed by phone',
      version: 3,
    })
    await conflict.waitFor({ state: 'detached' })
  })

  it("and the second can accept the first's", async () => {
    const id = await service.quota(8, { total: 1000 })
    const page = await open(service, `/mail/quotas/${id}?edit=true`)
    await field(page, 'Total').fill('5000')
    await service.call('boris', 'PUT', `/api/v1/quotas/${id}`, { total: 700 })
    await button(page, 'Save').click()
    await button(page, 'Take theirs').click()
    await becomes(async () => field(page, 'Total').inputValue(), '700')
    expect(await service.call('admin', 'GET', `/api/v1/quotas/${id}`)).toMatchObject({ total: 700, version: 2 })
  })
})

describe('the console', () => {
  let service: Service

  beforeAll(async () => {
    service = await Service.on(STORES[0]!)
  })

  afterAll(async () => {
    await service.stop()
  })

  describe('on the sign-in page', () => {
    it('accepts only a valid token, and says what is wrong with others', async () => {
      const page = await browser.page()
      await page.goto(`${service.url}/admin/mail/changes`)
      await field(page, 'Token').fill('qs_admin_wrong')
      await button(page, 'Sign in').click()
      await reads(page.getByRole('alert'), /You are not signed in[\s\S]*request id/)
      await signIn(page, 'anna')
      // Where one wanted to go.
      await heading(page, 'Mail: changes').waitFor()
      await reads(page.getByRole('banner'), /anna \(admin\)/)
    })

    it('stays signed in after a reload and in a new tab, until a sign-out in any; a shown page stores nothing', async () => {
      const page = await open(service, '/mail/quotas')
      await page.reload()
      await heading(page, 'Mail quotas').waitFor()
      const another = await page.context().newPage()
      await another.goto(`${service.url}/admin/mail/changes`)
      await heading(another, 'Mail: changes').waitFor()
      for (const tab of [page, another]) expect(await storageOf(tab)).toBe('[{},{},""]')
      await button(another, 'Sign out').click()
      for (const tab of [page, another]) {
        await heading(tab, 'Sign in').waitFor()
        await tab.reload()
        await heading(tab, 'Sign in').waitFor()
        expect(await storageOf(tab)).toBe('[{},{},""]')
      }
    })

    it('asks for the token in a tab that was elsewhere for a minute', async () => {
      const page = await browser.page()
      await page.clock.install()
      await page.goto(`${service.url}/admin/mail/quotas`)
      await signIn(page, 'anna')
      const comeBackAfter = async (ms: number): Promise<void> => {
        await page.goto('about:blank')
        await page.clock.fastForward(ms)
        await page.goto(`${service.url}/admin/mail/quotas`)
      }
      await comeBackAfter(10_000)
      await heading(page, 'Mail quotas').waitFor()
      await comeBackAfter(60_000)
      await heading(page, 'Sign in').waitFor()
      expect(await storageOf(page)).toBe('[{},{},""]')
    })

    it('stays signed out if another tab signs out while a reload is checked', async () => {
      const page = await open(service, '/mail/quotas')
      const another = await page.context().newPage()
      await another.goto(`${service.url}/admin/mail/quotas`)
      await ready(another)
      let release: () => void = () => undefined
      const held = new Promise<void>((resolve) => (release = resolve))
      await page.route('**/api/v1/me', async (route) => {
        await held
        return route.fallback()
      })
      const asked = page.waitForRequest('**/api/v1/me')
      await page.reload()
      await asked
      await button(another, 'Sign out').click()
      await heading(page, 'Sign in').waitFor()
      const answered = page.waitForResponse('**/api/v1/me')
      release()
      await (await answered).finished()
      // The page has handled the answer before it signs in as somebody else, and is refused.
      await field(page, 'Token').fill('qs_admin_wrong')
      await button(page, 'Sign in').click()
      await page.getByRole('alert').getByText('You are not signed in').waitFor()
      expect(await page.getByRole('banner').count()).toBe(0)
    })

    it('shows a service only mail, and tells a sender that it may not manage', async () => {
      const chen = await open(service, '/mail', 'chen')
      expect(await chen.getByRole('navigation', { name: 'Channel' }).count()).toBe(0)
      await chen.goto(`${service.url}/admin/sms/quotas`)
      await heading(chen, 'SMS quotas are for administrators').waitFor()
      const mailer = await open(service, '/mail', 'mailer')
      await heading(mailer, 'This token may not manage quotas').waitFor()
      expect(await mailer.getByRole('navigation').count()).toBe(0)
    })
  })

  describe('nothing typed is lost', () => {
    it('if the service no longer accepts the token: the user signs in again and continues', async () => {
      const id = await service.quota(11)
      const page = await open(service, `/mail/quotas/${id}?edit=true`)
      await field(page, 'Total').fill('1234')
      // The next change finds the token gone; what comes after it finds the world as it is.
      let refused = false
      await page.route(`**/api/v1/quotas/${id}`, async (route) => {
        if (route.request().method() !== 'PUT' || refused) return route.fallback()
        refused = true
        return route.continue({ headers: { ...route.request().headers(), authorization: 'Bearer gone' } })
      })
      await button(page, 'Save').click()
      const dialog = page.getByRole('dialog', { name: 'Sign in again' })
      await dialog.waitFor()
      // The browser lets a page keep a dialog open only so often.
      for (let presses = 0; presses < 3; presses += 1) await page.keyboard.press('Escape')
      await field(dialog, 'Token').fill(TOKENS.boris)
      await dialog.getByRole('button', { name: 'Sign in' }).click()
      await dialog.waitFor({ state: 'detached' })
      expect(await field(page, 'Total').inputValue()).toBe('1234')
      await button(page, 'Save').click()
      await page.getByText(`Quota ${id} is saved.`).waitFor()
      const { items } = await service.call('admin', 'GET', `/api/v1/quotas/${id}/changes`)
      expect(items[0]).toMatchObject({ actor: 'boris', after: { total: 1234 } })
    })

    it('if it is a dialog that finds the token gone: the user signs in again, too', async () => {
      const id = await service.quota(1013)
      const page = await open(service, `/mail/quotas/${id}`)
      await page.route(`**/api/v1/quotas/${id}`, async (route) =>
        route.request().method() === 'PUT'
          ? route.continue({ headers: { ...route.request().headers(), authorization: 'Bearer gone' } })
          : route.fallback(),
      )
      await button(page, 'More').click()
      await button(page, 'Disable').click()
      await page.getByRole('dialog').getByRole('button', { name: 'Disable' }).click()
      await page.getByRole('dialog', { name: 'Sign in again' }).waitFor()
    })

    it('if the service is busy: it waits as long as requested, says so, and continues', async () => {
      const id = await service.quota(12)
      const page = await open(service, `/mail/quotas/${id}?edit=true`)
      await field(page, 'Total').fill('1234')
      const sent: number[] = []
      await page.route(`**/api/v1/quotas/${id}`, async (route) => {
        if (route.request().method() !== 'PUT') return route.fallback()
        sent.push(Date.now())
        if (sent.length > 1) return route.fallback()
        const problem = {
          type: 'about:blank',
          title: 'Busy',
          status: 503,
          detail: 'busy',
          code: 'unavailable',
          request_id: 'x',
        }
        return route.fulfill({
          status: 503,
          contentType: 'application/problem+json',
          headers: { 'Retry-After': '4' },
          body: JSON.stringify(problem),
        })
      })
      // The notice is there for as long as the page waits.
      const said = page.getByText('The service is busy (503). Nothing is lost').waitFor()
      await Promise.all([said, button(page, 'Save').click()])
      await page.getByText(`Quota ${id} is saved.`).waitFor()
      expect(sent).toHaveLength(2)
      expect(sent[1]! - sent[0]!).toBeGreaterThanOrEqual(4000)
      await page.getByText('The service is busy').waitFor({ state: 'detached' })
    })

    it('if the page is reloaded, on each form', async () => {
      const id = await service.quota(13)
      const page = await browser.page()
      await page.goto(`${service.url}/admin/mail/quotas/${id}?edit=true`)
      await signIn(page, 'anna')
      await field(page, 'Total').fill('4321')
      await page.reload()
      await page.getByText('What you typed before is still here').waitFor()
      expect(await field(page, 'Total').inputValue()).toBe('4321')
      await button(page, 'Discard').click()
      await page.waitForURL(/\/quotas\/\d+$/)
      await page.reload()
      // It is there once the quota is, unless the form is open.
      await button(page, 'Edit').waitFor()
      expect(await field(page, 'Total').count()).toBe(0)

      await page.goto(`${service.url}/admin/mail/new`)
      await field(page, 'Account').fill('99')
      await field(page, 'Label').fill('half typed')
      await page.reload()
      expect(await field(page, 'Account').inputValue()).toBe('99')
      expect(await field(page, 'Label').inputValue()).toBe('half typed')
    })
  })

  describe('the quotas', () => {
    it('are found by filters in the address', async () => {
      const wanted = await service.quota(21, { label: 'Spring campaign' })
      await service.call('anna', 'PUT', `/api/v1/quotas/${wanted}`, { status: 'disabled' })
      await service.quota(21, { label: 'Autumn campaign' })
      const page = await open(service, '/mail/quotas')
      await field(page, 'Account').fill('21')
      await field(page, 'Label begins with').fill('spring')
      await button(page, 'Filter').click()
      await page.getByText('1 quota · page 1').waitFor()
      await field(page, 'Status').selectOption('disabled')
      await page.waitForURL(/status=disabled/)
      expect(new URL(page.url()).search).toBe('?owner=21&label=spring&status=disabled')
      const again = await open(service, `/mail/quotas${new URL(page.url()).search}`)
      await rowsShown(again, 1)
      await reads(again.locator('tbody'), /Spring campaign[\s\S]*disabled/)
      await page.goBack()
      await page.waitForURL(/label=spring$/)
      await becomes(async () => field(page, 'Status').inputValue(), '')
      // By keyboard, one status after the other.
      await field(page, 'Status').focus()
      for (const status of ['active', 'disabled']) {
        await page.keyboard.press('ArrowDown')
        await page.waitForURL(new RegExp(`status=${status}`))
      }
    })

    it('are created with the key n, with every mistake shown at its field', async () => {
      const page = await open(service, '/mail/quotas')
      await page.keyboard.press('n')
      await heading(page, 'New Mail quota').waitFor()
      await button(page, 'Create quota').click()
      await until(page, "document.activeElement.getAttribute('aria-invalid') === 'true'")
      const wrong = page.locator('[aria-invalid="true"]')
      await becomes(async () => wrong.count(), 2)
      await field(page, 'Account').fill('22')
      await field(page, 'Total').fill('1500')
      await field(page, 'Already used').fill('1501')
      await button(page, 'Create quota').click()
      await page.getByText('at most the total').waitFor()
      await field(page, 'Already used').fill('1,200')
      await field(page, 'Time zone').fill('Mars/Phobos')
      await button(page, 'Create quota').click()
      await page.getByRole('alert').waitFor()
      await becomes(async () => wrong.count(), 1)
      await field(page, 'Time zone').fill('Asia/Tokyo')
      await button(page, 'Create quota').click()
      await heading(page, /^Quota \d+/).waitFor()
      await expectText(page, 'Next resets', 'Asia/Tokyo')
      await expectText(page, 'Settings and usage', '300 left of 1,500 · 1,200 used')
      await page.goto(`${service.url}/admin/mail/owners/22`)
      await page.getByText('created with 1,500, 1,200 used already').waitFor()
    })

    it('are deleted and restored, disabled and enabled, and reset, each after a confirmation', async () => {
      const id = await service.quota(23)
      await service.call('mailer', 'POST', '/api/v1/quotas/usage/consume', { account_id: 23, amount: 40 }, 'k-23')
      const page = await open(service, `/mail/quotas/${id}`)
      const confirm = async (first: string, second: string, said: string): Promise<void> => {
        await pressInMenu(page, first)
        await page.getByRole('dialog').getByRole('button', { name: second, exact: true }).click()
        await page.getByText(said).waitFor()
        // It stays until everything is read again.
        await page.getByRole('dialog').waitFor({ state: 'detached' })
        await ready(page)
      }
      await confirm('Disable', 'Disable', `Quota ${id} is disabled.`)
      await heading(page, /disabled/).waitFor()
      await confirm('Enable', 'Enable', `Quota ${id} is enabled.`)
      await confirm('Reset', 'Reset to 0', `Quota ${id} begins again at 0.`)
      await expectText(page, 'Settings and usage', '1,000 left of 1,000 · 0 used')
      await confirm('Delete', 'Delete', `Quota ${id} is deleted.`)
      await heading(page, /deleted/).waitFor()
      await page.goto(`${service.url}/admin/mail/quotas?deleted=true`)
      await button(page, `Restore quota ${id}`).click()
      await page.getByText(`Quota ${id} is restored.`).waitFor()
      expect(await service.call('admin', 'GET', `/api/v1/quotas/${id}`)).toMatchObject({ used: 0, status: 'active' })
    })

    it('show the next three resets in their own zone and in the browser’s', async () => {
      const year = new Date().getUTCFullYear() + 1
      const february = new Date(Date.UTC(year, 2, 0)).getUTCDate()
      const id = await service.quota(24, {
        cycle_reset_at: `${year}-01-31T00:00:00-05:00`,
        cycle_time_zone: 'America/New_York',
      })
      const page = await open(service, `/mail/quotas/${id}`)
      const rows = panel(page, 'Next resets').getByRole('row')
      await becomes(
        async () => (await rows.allInnerTexts()).map((text) => text.replace(/ \(in .*/, '')),
        [
          'In its own zone (America/New_York)\tIn yours (Europe/Berlin)',
          `31 Jan ${year}, 00:00\t31 Jan ${year}, 06:00`,
          `${february} Feb ${year}, 00:00\t${february} Feb ${year}, 06:00`,
          // Summer has begun on one side of the sea.
          `31 Mar ${year}, 00:00\t31 Mar ${year}, 06:00`,
        ],
      )
      expect(await rows.nth(1).locator('time').getAttribute('title')).toBe(`${year}-01-31 05:00:00 UTC`)
      // A name that does not break is no wider than the screen.
      const far = await service.quota(24, { cycle_time_zone: 'America/Argentina/ComodRivadavia' })
      const other = await open(service, `/mail/quotas/${far}`)
      await expectText(other, 'Next resets', 'ComodRivadavia')
      await expectSoundAt(other, { width: 360, height: 800 }, 'dark')
    })

    it('show their changes as differences, and undo one', async () => {
      const id = await service.quota(25, { total: 1000 })
      await service.call('boris', 'PUT', `/api/v1/quotas/${id}`, { total: 10, label: 'lowered' })
      const page = await open(service, `/mail/quotas/${id}`)
      const row = panel(page, 'Changes').getByRole('row').nth(1)
      await reads(row, /boris[\s\S]*update[\s\S]*Total: 1,000 →[\s\S]*10[\s\S]*Label: none →[\s\S]*lowered/)
      await row.getByRole('button', { name: 'Undo' }).click()
      await page.getByRole('dialog').getByRole('button', { name: 'Undo it' }).click()
      await page.getByText('The change is undone.').waitFor()
      expect(await service.call('admin', 'GET', `/api/v1/quotas/${id}`)).toMatchObject({ total: 1000, label: null })
    })
  })

  describe('an owner', () => {
    const account = 31
    beforeAll(async () => {
      await service.quota(account, { total: 100, label: 'monthly' })
      await service.quota(account, {
        quota_type: 1,
        total: 50,
        expire_at: inDays(3),
        cycle_unit: null,
        cycle_reset_at: null,
        label: 'soon',
      })
      const usage = '/api/v1/quotas/usage'
      await service.call('mailer', 'POST', `${usage}/consume`, { account_id: account, amount: 60 }, 'k-31')
      await service.call(
        'mailer',
        'POST',
        `${usage}/reserve`,
        { account_id: account, amount: 5, ttl_seconds: 3600 },
        'h-31',
      )
      for (const n of [1, 2, 3]) {
        await service
          .call('mailer', 'POST', `${usage}/consume`, { account_id: account, amount: 500 + n }, `r-${n}`)
          .catch(() => undefined)
      }
      // Counts are kept to the instance for some seconds.
      await eventually(async () => {
        const { items } = await service.call('admin', 'GET', `/api/v1/quotas/refusals?account_id=${account}`)
        return items[0]?.count === 3
      })
    })

    it('shows what pays first, why it was refused, and when more fits', async () => {
      const page = await open(service, `/mail/owners/${account}`)
      await expectText(page, 'Summary', '85 left of 150 · 60 used (40%) · 5 held')
      await expectText(page, 'Summary', 'Refused 3 times in the last 48 hours')
      await expectText(page, 'Summary', 'quota exceeded, asked for 503. They asked for 501 to 503.')
      for (const asked of [501, 503]) await expectText(page, 'Summary', `${asked} would be refused: 85 left.`)
      expect(await panel(page, 'Summary').getByText('502').count()).toBe(0)
      await becomes(async () => panel(page, 'Active quotas').locator('.label').allInnerTexts(), ['soon', 'monthly'])
      await field(page, 'Would this many fit?').fill('95')
      await button(page, 'Ask').click()
      await page.getByText(/^.*95 would be refused: 85 left. It fits from/).waitFor()
      const chart = panel(page, 'Refusals by hour')
      await chart.getByText('3 refusals; at most 3 in an hour.').waitFor()
      await chart.getByText('Show as table').click()
      await reads(chart.getByRole('row').nth(1), /quota exceeded\t3\t1,506/)
    })

    it('shows the values of its charts with the arrow keys, with the pointer, and as a table', async () => {
      const page = await open(service, `/mail/owners/${account}`)
      const usage = panel(page, 'Usage by day')
      const [chart, value] = [
        usage.getByRole('application', { name: 'Usage day by day' }),
        usage.locator('[aria-live]'),
      ]
      // The holds are not used; a refused attempt is.
      await usage.getByText('60 used in 30 days, 0 given back, 1,506 refused in 3 attempts.').waitFor()
      await becomes(async () => usage.getByRole('listitem').allInnerTexts(), ['used', 'refused'])
      expect(await value.innerText()).toBe('')
      await chart.focus()
      await page.keyboard.press('ArrowLeft')
      await reads(value, /^\d+ \w+: 60 used, 0 given back, 1,506 refused in 3 attempts$/)
      const today = await value.innerText()
      await page.keyboard.press('ArrowLeft')
      await reads(value, /: 0 used, 0 given back$/)
      await page.keyboard.press('End')
      await reads(value, today)
      await page.keyboard.press('Escape')
      await reads(value, '')
      const box = (await chart.boundingBox())!
      await page.mouse.move(box.x + box.width - 4, box.y + box.height / 2)
      await reads(value, today)
      await usage.getByText('Show as table').click()
      await becomes(
        async () => (await usage.getByRole('row').allInnerTexts()).slice(0, 2),
        ['Day (UTC)\tUsed\tGiven back\tRefused', expect.stringMatching(/\t60\t0\t1,506 in 3 attempts$/)],
      )
    })

    it('is among the figures of the overview, which lead to what explains them', async () => {
      const page = await open(service, '/mail')
      const figures = page.getByRole('list', { name: 'Figures' })
      const refused = figures.getByRole('listitem').filter({ hasText: 'Refused today' })
      await refused.getByText(/^\d+ in 24 hours$/).waitFor()
      for (const [name, note] of [
        ['Units today', /^[\d,]+ in 24 hours$/],
        ['Units in 7 days', /^[\d,]+ given back$/],
      ] as const) {
        const units = figures.getByRole('listitem').filter({ hasText: name })
        await units.getByText(note).waitFor()
        await becomes(async () => Number((await units.locator('b').innerText()).replaceAll(',', '')) >= 60, true)
      }
      const blocked = figures.getByRole('listitem').filter({ hasText: 'Accounts blocked now' })
      await becomes(async () => Number(await blocked.locator('b').innerText()) >= 1, true)
      await blocked.getByRole('link').click()
      await page.waitForURL(/#refused$/)
      await figures.getByRole('link', { name: 'Caps that only watch' }).click()
      await page.waitForURL(/cap=observe/)
    })

    it('releases its holds, after a confirmation', async () => {
      const page = await open(service, `/mail/owners/${account}`)
      await button(page, 'Release the hold of 5').click()
      await page.getByRole('dialog').getByRole('button', { name: 'Release' }).click()
      await page.getByText('The hold is released.').waitFor()
      await panel(page, 'Open holds').getByText('Nothing is held.').waitFor()
    })

    it('is topped up until the current cycle ends, once for any number of requests', async () => {
      const page = await open(service, `/mail/owners/${account}`)
      await button(page, 'Top up').click()
      const dialog = page.getByRole('dialog')
      await field(dialog, 'Units').fill('5000')
      await becomes(async () => dialog.getByRole('radio').first().isChecked(), true)
      // The first answer is lost on its way.
      let lost = false
      await page.route('**/api/v1/quotas', async (route) => {
        if (route.request().method() !== 'POST' || lost) return route.fallback()
        lost = true
        await route.fetch()
        return route.abort()
      })
      await dialog.getByRole('button', { name: 'Give 5,000' }).click()
      await page.getByText(/5,000 units are given/).waitFor()
      const { items } = await service.call('admin', 'GET', `/api/v1/quotas?account_id=${account}`)
      const given = items.filter(({ total }: { total: number }) => total === 5000)
      expect(given).toHaveLength(1)
      const monthly = items.find(({ quota_type }: { quota_type: number }) => quota_type === 2)
      expect(given[0]).toMatchObject({ quota_type: 1, label: 'Top-up', expire_at: monthly.cycle_reset_at })
    })
  })

  describe('an operation', () => {
    it('is found by its key and its sender, committed in part, and refunded', async () => {
      await service.quota(41)
      const hold = await service.call(
        'mailer',
        'POST',
        '/api/v1/quotas/usage/reserve',
        { account_id: 41, amount: 20 },
        'order-41',
      )
      const page = await open(service, '/mail/operations')
      const latest = panel(page, 'Latest').locator('tbody [data-row]').first()
      await reads(latest, /reserved\s+20\s+41\s+mailer\s+order-41/)
      await field(page, 'Identifier or idempotency key').fill('order-41')
      await field(page, 'Sent by').fill('boris')
      await button(page, 'Find').click()
      await page.getByText('No operation has the key').waitFor()
      await field(page, 'Sent by').fill('mailer')
      await button(page, 'Find').click()
      await page.locator('[data-row-link]').click()
      await heading(page, /Operation.*reserved/).waitFor()
      await button(page, 'Commit').click()
      await field(page.getByRole('dialog'), 'Amount').fill('12')
      await page.getByRole('dialog').getByRole('button', { name: 'Commit' }).click()
      await heading(page, /Operation.*committed/).waitFor()
      await button(page, 'Refund').click()
      await field(page.getByRole('dialog'), 'Amount').fill('2')
      await page.getByRole('dialog').getByRole('button', { name: 'Refund' }).click()
      await page.getByText('The operation is refunded.').waitFor()
      await expectText(page, 'What was done with it', 'order-41')
      expect(await service.call('admin', 'GET', `/api/v1/quotas/usage/${hold.id}`)).toMatchObject({
        charged: 12,
        refunded: 2,
      })
      // By its identifier, from anywhere.
      await page.locator('#search').fill(hold.id)
      await page.keyboard.press('Enter')
      await page.waitForURL(new RegExp(hold.id))
    })
  })

  it('shows all changes with all filters in the address', async () => {
    const id = await service.quota(51)
    await service.call('boris', 'PUT', `/api/v1/quotas/${id}`, { total: 3 })
    const page = await open(service, '/mail/changes')
    await field(page, 'Who').fill('boris')
    await field(page, 'What').selectOption('update')
    await field(page, 'Quota').fill(String(id))
    await field(page, 'Account').fill('51')
    await field(page, 'From').fill('2026-01-01T00:00')
    await button(page, 'Filter').click()
    await page.waitForURL(/actor=boris/)
    await ready(page)
    expect(Object.fromEntries(new URL(page.url()).searchParams)).toEqual({
      actor: 'boris',
      action: 'update',
      quotaId: String(id),
      owner: '51',
      from: '2025-12-31T23:00:00.000Z',
    })
    await rowsShown(page, 1)
  })

  it('serves SMS with the same screens', async () => {
    await service.call('anna', 'POST', '/api/sms/admin/quota', {
      user_id: 3,
      quota_type: 1,
      total: 500,
      expire_at: inDays(2),
      label: 'SMS',
    })
    const page = await open(service, '/sms')
    await expectText(page, 'Ending within 7 days', 'SMS')
    await page.locator('#search').fill('3')
    await page.keyboard.press('Enter')
    await heading(page, 'User 3').waitFor()
    await expectText(page, 'Summary', '500 left of 500')
    await button(page, 'Top up').click()
    await field(page.getByRole('dialog'), 'Units').fill('25')
    await page.getByRole('dialog').getByRole('button', { name: 'Give 25' }).click()
    await page.getByText(/25 units are given/).waitFor()
    expect(await service.call('admin', 'GET', '/api/sms/admin/quota/summary?user_id=3')).toMatchObject({ total: 525 })
  })

  describe('by keyboard alone', () => {
    it('searches, moves between rows, opens one, and lists its keys; the focus returns', async () => {
      await service.quota(61)
      await service.quota(61)
      const page = await open(service, '/mail/quotas?owner=61')
      await page.keyboard.press('j')
      await until(page, "document.activeElement.matches('[data-row-link]')")
      const first = await focused(page)
      await page.keyboard.press('j')
      await becomes(async () => focused(page), expect.not.stringContaining(first))
      await page.keyboard.press('k')
      await becomes(async () => focused(page), first)
      await page.keyboard.press('?')
      const help = page.getByRole('dialog', { name: 'Keys' })
      await becomes(async () => help.getByRole('term').allInnerTexts(), ['/', 'n', 'j', 'k', 'Enter', 'Esc', '?'])
      // Keys of the page do nothing behind a dialog.
      await page.keyboard.press('n')
      await page.keyboard.press('Escape')
      await help.waitFor({ state: 'detached' })
      await becomes(async () => focused(page), first)
      await page.keyboard.press('Enter')
      await heading(page, /^Quota/).waitFor()
      // With a pointer, the whole row leads there.
      await page.goBack()
      await heading(page, 'Mail quotas').waitFor()
      await page.locator('tbody [data-row]').first().locator('td.wide').click()
      await heading(page, /^Quota/).waitFor()
      await until(page, "document.activeElement.tagName === 'H1'")
      await page.keyboard.press('/')
      await becomes(async () => focused(page), expect.stringContaining('id="search"'))
      await page.keyboard.type('/n?61')
      await becomes(async () => page.locator('#search').inputValue(), '/n?61')
    })

    it('can have single keys switched off', async () => {
      const page = await open(service, '/mail')
      await page.keyboard.press('?')
      await field(page, 'Single keys are on').uncheck()
      await page.keyboard.press('Escape')
      await page.getByRole('dialog').waitFor({ state: 'detached' })
      await page.keyboard.press('n')
      await page.keyboard.press('?')
      // No dialog is in the way of this link, and no other screen between this one and the next.
      await page.getByRole('link', { name: 'Changes', exact: true }).click()
      await heading(page, 'Mail: changes').waitFor()
      await page.goBack()
      await heading(page, 'Mail overview').waitFor()
    })

    it('edits a quota, from the search to the save', async () => {
      const id = await service.quota(62)
      const page = await open(service, '/mail')
      await page.keyboard.press('/')
      await page.keyboard.type(`#${id}`)
      await page.keyboard.press('Enter')
      await heading(page, `Quota ${id}`)
        .or(heading(page, /^Quota/))
        .waitFor()
      await ready(page)
      await tabTo(page, 'Edit')
      await page.keyboard.press('Enter')
      await field(page, 'Total').waitFor()
      await tabTo(page, 'Total')
      await page.keyboard.press('Control+A')
      await page.keyboard.type('77')
      await until(page, "getComputedStyle(document.activeElement).outlineStyle === 'solid'")
      await page.keyboard.press('Enter')
      await page.getByText(`Quota ${id} is saved.`).waitFor()
      expect(await service.call('admin', 'GET', `/api/v1/quotas/${id}`)).toMatchObject({ total: 77 })
    })

    it('skips what is on every screen', async () => {
      const page = await browser.page()
      await page.goto(`${service.url}/admin/mail`)
      await signIn(page, 'anna')
      await page.reload()
      await ready(page)
      await page.keyboard.press('Tab')
      await becomes(async () => focused(page), expect.stringContaining('To the content'))
      await page.keyboard.press('Enter')
      await becomes(async () => focused(page), expect.stringContaining('id="main"'))
    })
  })

  describe('says what happens', () => {
    it('while it loads, if there is nothing, and after an error', async () => {
      const page = await open(service, '/mail/quotas?label=nobody-has-this')
      await page.getByText('No quota matches these filters.').waitFor()

      let release: () => void = () => undefined
      const held = new Promise<void>((resolve) => (release = resolve))
      await page.route('**/api/v1/quotas?*', async (route) => {
        await held
        return route.fallback()
      })
      await page.goto(`${service.url}/admin/mail/quotas`)
      await page.getByText('Loading…').waitFor()
      release()
      await ready(page)

      const problem = {
        type: 'about:blank',
        title: 'Something went wrong',
        status: 500,
        detail: 'it broke',
        code: 'internal_error',
        request_id: 'req-500',
      }
      await page.route('**/api/v1/quotas/changes?*', async (route) =>
        route.fulfill({ status: 500, contentType: 'application/problem+json', body: JSON.stringify(problem) }),
      )
      await page.getByRole('link', { name: 'Changes' }).click()
      const alert = page.getByRole('alert')
      await reads(alert, /Something went wrong[\s\S]*It broke[\s\S]*tell whoever runs the service[\s\S]*req-500/)
      await alert.getByRole('button', { name: 'Copy the request id' }).waitFor()
      await page.unrouteAll()
      await alert.getByRole('button', { name: 'Try again' }).click()
      await page.locator('tbody [data-row]').first().waitFor()
    })

    it('about unknown pages', async () => {
      const page = await open(service, '/mail/quotas/999999')
      await page.getByRole('alert').getByText('There is no such quota').waitFor()
      await page.goto(`${service.url}/admin/mail/quotas/abc`)
      await heading(page, 'There is no such screen').waitFor()
      await page.goto(`${service.url}/admin/fax`)
      await heading(page, 'There is no such screen').waitFor()
    })

    it('to screen readers, and in the title of the tab', async () => {
      const id = await service.quota(71)
      const page = await open(service, `/mail/quotas/${id}`)
      await becomes(async () => page.title(), expect.stringMatching(`^Quota ${id} .*· Quota console$`))
      await pressInMenu(page, 'Disable')
      await page.getByRole('dialog').getByRole('button', { name: 'Disable' }).click()
      await page.locator('.announcement[aria-live="polite"]', { hasText: `Quota ${id} is disabled.` }).waitFor()
    })
  })

  describe('for the support desk', () => {
    const account = 107
    let lowered: number
    const clicks: Record<string, number> = {}

    beforeAll(async () => {
      const usage = '/api/v1/quotas/usage'
      lowered = await service.quota(account, { total: 1000, label: 'Newsletter' })
      await service.quota(108, {
        quota_type: 1,
        total: 50,
        expire_at: inDays(2),
        cycle_unit: null,
        cycle_reset_at: null,
        label: 'ends soon',
      })
      await service.call('mailer', 'POST', `${usage}/consume`, { account_id: account, amount: 90 }, 'desk')
      await service.call(
        'mailer',
        'POST',
        `${usage}/reserve`,
        { account_id: account, amount: 5, ttl_seconds: 80_000 },
        'stuck',
      )
      await service.call('boris', 'PUT', `/api/v1/quotas/${lowered}`, { total: 100 })
      for (let n = 0; n < 40; n += 1) {
        await service
          .call('mailer', 'POST', `${usage}/consume`, { account_id: account, amount: 20 }, `desk-${n}`)
          .catch(() => undefined)
      }
      await eventually(async () => {
        const { items } = await service.call('admin', 'GET', `/api/v1/quotas/refusals?account_id=${account}`)
        return items[0]?.count === 40
      })
    })

    afterAll(() => figure('console, clicks', clicks))

    /** Begins on the overview, as after signing in. @returns how often something was clicked since */
    async function desk(): Promise<[Page, () => Promise<number>]> {
      const page = await open(service, '/mail')
      await page.evaluate("window.clicks = 0; addEventListener('click', () => { window.clicks += 1 }, true)")
      return [page, async () => page.evaluate<number>('window.clicks')]
    }
    const search = async (page: Page, text: string): Promise<void> => {
      await page.keyboard.press('/')
      await page.keyboard.type(text)
      await page.keyboard.press('Enter')
    }

    it('shows why an account is refused, and until when', async () => {
      const [page, clicked] = await desk()
      await page.getByRole('link', { name: `Account ${account}` }).click()
      await page.getByText(/20 would be refused: 5 left\. It fits from .* on\./).waitFor()
      expect((clicks['why'] = await clicked())).toBe(1)
    })

    it('shows first that a cap refuses an account, and enforces no observing cap by itself', async () => {
      await service.quota(109)
      const rolling = { quota_type: 3, total: 10, window_seconds: 3600, cycle_unit: null, cycle_reset_at: null }
      const cap = await service.quota(109, { ...rolling, cap: 'enforce' })
      await service.quota(109, { ...rolling, total: 5, cap: 'observe' })
      const body = { account_id: 109, amount: 10 }
      await service.call('mailer', 'POST', '/api/v1/quotas/usage/consume', body, 'capped')
      const page = await open(service, '/mail/owners/109')
      await page.getByRole('region', { name: 'Held up' }).getByText(`Cap #${cap}`).waitFor()
      await becomes(
        async () => panel(page, 'Summary').locator('.limit').allInnerTexts(),
        [
          expect.stringMatching(/^1 quota pays\s+990 left of 1,000/),
          expect.stringMatching(/limits\s+10 in any hour\s+0 left of 10/),
          expect.stringMatching(/only watches\s+5 in any hour\s+5 over 5[\s\S]*Enforce it/),
        ],
      )
    })

    it('gives 5,000 until the end of the month', async () => {
      const [page, clicked] = await desk()
      await search(page, String(account))
      await button(page, 'Top up').click()
      await until(page, "document.activeElement.matches('dialog input')")
      await page.keyboard.type('5000')
      await page.getByRole('radio', { name: /this month ends/ }).click()
      await button(page, 'Give 5,000').click()
      await page.getByText(/5,000 units are given/).waitFor()
      expect((clicks['give'] = await clicked())).toBe(3)
    })

    it('shows who lowered a quota, and undoes it', async () => {
      const [page, clicked] = await desk()
      await search(page, `#${lowered}`)
      const row = panel(page, 'Changes').getByRole('row', { name: /boris.*1,000.*100/s })
      await row.getByRole('button', { name: 'Undo' }).click()
      await button(page, 'Undo it').click()
      await page.getByText('The change is undone.').waitFor()
      expect((clicks['undo'] = await clicked())).toBe(2)
      expect(await service.call('admin', 'GET', `/api/v1/quotas/${lowered}`)).toMatchObject({ total: 1000 })
    })

    it('releases a hold that is stuck', async () => {
      const [page, clicked] = await desk()
      await search(page, String(account))
      await button(page, 'Release the hold of 5').click()
      await page.getByRole('dialog').getByRole('button', { name: 'Release' }).click()
      await page.getByText('The hold is released.').waitFor()
      expect((clicks['release'] = await clicked())).toBe(2)
    })

    it('shows which quotas end this week', async () => {
      const [page, clicked] = await desk()
      await expectText(page, 'Ending within 7 days', 'ends soon')
      expect((clicks['ending'] = await clicked())).toBe(0)
    })
  })

  it('shows what people entered as text', async () => {
    const label = '<img src=x onerror="document.title=\'broken\'"><script>alert(1)</script>'
    const id = await service.quota(81, { label })
    for (const path of ['/mail/quotas?owner=81', `/mail/quotas/${id}`, '/mail', `/mail/changes?quotaId=${id}`]) {
      const page = await open(service, path)
      await page.getByText(label).first().waitFor()
      expect(await page.locator('main img, main script').count()).toBe(0)
    }
  })

  describe('is accessible', () => {
    /** Of each its path, and how it is prepared. */
    const SCREENS: Record<string, [string, ((page: Page) => Promise<unknown>)?]> = {
      overview: ['/mail'],
      quotas: ['/mail/quotas'],
      'no quotas': ['/mail/quotas?label=nobody-has-this'],
      'deleted quotas': ['/mail/quotas?deleted=true'],
      'a quota, editing': ['/mail/quotas/1?edit=true'],
      'a question': ['/mail/quotas/1', async (page) => pressInMenu(page, 'Delete').then(async () => inDialog(page))],
      'secondary actions': ['/mail/quotas/1', async (page) => button(page, 'More').click()],
      'the menu of a phone': [
        '/mail',
        async (page) => resize(page, WIDTHS[2]!).then(async () => button(page, 'Menu').click()),
      ],
      'chosen quotas': ['/mail/quotas', async (page) => page.getByLabel('Select all on this page').check()],
      'a new quota with mistakes': [
        '/mail/new',
        async (page) => {
          await button(page, 'Create quota').click()
          await until(page, "document.activeElement.getAttribute('aria-invalid') === 'true'")
        },
      ],
      'an owner': ['/mail/owners/91'],
      'an owner with caps': ['/mail/owners/93'],
      'a new cap': ['/mail/new', async (page) => page.getByLabel(/^limits/).check()],
      webhooks: ['/webhooks'],
      'a top-up': [
        '/mail/owners/91',
        async (page) =>
          button(page, 'Top up')
            .click()
            .then(async () => inDialog(page)),
      ],
      changes: ['/mail/changes'],
      'finding operations': ['/mail/operations?key=x'],
      'an operation': [
        '/mail/owners/91',
        async (page) => {
          await page.locator('[href*="/operations/"]').first().click()
          await heading(page, /^Operation/).waitFor()
        },
      ],
      keys: ['/mail', async (page) => page.keyboard.press('?').then(async () => inDialog(page))],
      'no such quota': ['/mail/quotas/999999'],
      'what is found': ['/mail/search?q=h-91'],
      'what is done': [
        '/mail/quotas/1',
        async (page) => {
          await pressInMenu(page, 'Disable')
          await page.getByRole('dialog').getByRole('button', { name: 'Disable' }).click()
          await page.locator('.announcement').getByText('is disabled').waitFor()
        },
      ],
    }
    /** 640 by 400 is what twice the size leaves of 1280 by 800. */
    const WIDTHS = [
      { width: 1280, height: 800 },
      { width: 640, height: 400 },
      { width: 360, height: 740 },
    ]
    let page: Page
    let looked = 0

    beforeAll(async () => {
      await service.quota(91)
      await service.call(
        'mailer',
        'POST',
        '/api/v1/quotas/usage/reserve',
        { account_id: 91, amount: 5, ttl_seconds: 3600 },
        'h-91',
      )
      await service
        .call('mailer', 'POST', '/api/v1/quotas/usage/consume', { account_id: 91, amount: 5000 }, 'r-91')
        .catch(() => undefined)
      await service.call('anna', 'DELETE', `/api/v1/quotas/${await service.quota(92)}`)
      for (const cap of ['enforce', 'observe'])
        await service.quota(93, {
          quota_type: 3,
          total: 0,
          window_seconds: 3600,
          cap,
          cycle_unit: null,
          cycle_reset_at: null,
        })
      page = await browser.page()
      await page.goto(`${service.url}/admin/`)
      await heading(page, 'Sign in').waitFor()
    })

    afterAll(() => figure('console', { screens: Object.keys(SCREENS).length + 1, looks: looked, seriousFindings: 0 }))

    /** Each width in one of the colours, by turns: from one screen to the next it is the other one. */
    const look = async (): Promise<void> => {
      for (const viewport of WIDTHS) {
        const colorScheme = looked % 2 === 0 ? 'light' : 'dark'
        await expectSoundAt(page, viewport, colorScheme)
        looked += 1
      }
    }

    it('on the sign-in page: nothing serious for axe-core, and no overflow', look)

    it.each(Object.entries(SCREENS))(
      '%s: nothing serious for axe-core, and nothing sticks out',
      async (_name, [path, prepare]) => {
        if ((await page.getByRole('banner').count()) === 0) await signIn(page, 'anna')
        await resize(page, WIDTHS[0]!)
        await page.goto(`${service.url}/admin${path}`)
        await ready(page)
        await prepare?.(page)
        await ready(page)
        await look()
        await page.evaluate(
          "Object.keys(sessionStorage).forEach((key) => key.includes('draft') && sessionStorage.removeItem(key))",
        )
      },
    )

    it('never by colour alone: each status has a word and a sign', async () => {
      const list = await open(service, '/mail/quotas')
      const badges = list.locator('.badge')
      await badges.first().waitFor()
      for (const text of await badges.allInnerTexts())
        expect(text).toMatch(/^\S\s+(active|disabled|expired|deleted|limits|only watches)$/)
    })
  })

  it('made only permitted requests: no report of the policy, no error, no token in any address, storage or log', () => {
    expect(browser.reports).toEqual([])
    expect(browser.errors).toEqual([])
    const secrets = Object.values(TOKENS)
    expect(browser.addresses.length).toBeGreaterThan(300)
    expect(browser.addresses.filter((address) => secrets.some((secret) => address.includes(secret)))).toEqual([])
    expect(secrets.filter((secret) => service.log.includes(secret))).toEqual([])
  })
})

describe('a list of more than 10,000 quotas', () => {
  const ROWS = 10_050
  let service: Service

  beforeAll(async () => {
    const store = await STORES[0]!.open()
    service = await Service.start(store)
    await service.quota(1)
    await service.stop()
    fill(store, ROWS)
    service = await Service.start(store)
  })

  it('opens with two requests, shows the approximate number, and is paged', async () => {
    const page = await browser.page()
    await page.goto(`${service.url}/admin/mail/quotas`)
    await signIn(page, 'anna')
    await ready(page)
    const asked: string[] = []
    page.on('request', (request) => {
      if (API.test(request.url())) asked.push(request.url())
    })
    const began = performance.now()
    await page.reload()
    await page.locator('tbody [data-row]').first().waitFor()
    const usable = Math.round(performance.now() - began)
    expect(asked.map((url) => new URL(url).pathname)).toEqual(['/api/v1/me', '/api/v1/quotas'])
    await page.getByText(/^about 10,0\d\d quotas · page 1$/).waitFor()
    asked.length = 0
    await page.getByRole('link', { name: 'Next' }).click()
    await page.getByText(/page 2$/).waitFor()
    expect(asked).toHaveLength(1)
    await page.goto(`${service.url}/admin/mail/quotas?page=1000`)
    await page.getByText('There is no page 1,000.').waitFor()
    await button(page, /^Last page: 20\d$/).click()
    await page.getByText(/^about 10,0\d\d quotas · page 20\d$/).waitFor()
    expect(await page.locator('tbody [data-row]').count()).toBeGreaterThan(0)
    await page.goto(`${service.url}/admin/mail/quotas?beforeId=1`)
    await page.getByText('There is no quota below #1.').waitFor()
    await button(page, 'First page').click()
    await page.getByText(/ · page 1$/).waitFor()
    await page.goto(`${service.url}/admin/mail/quotas?beforeId=10000`)
    await page.getByRole('link', { name: 'Next' }).click()
    await page.getByText(/below #9950$/).waitFor()
    figure('console, 10,000 quotas', { usableAfterMs: usable, requestsOfListPage: 2 })
  })
})

/** Copies the one quota there is, each for an owner of its own: no API could make so many within a test. */
function fill(store: Store, count: number): void {
  const database = new Libsql(store.url.replace(/^sqlite:/, ''))
  const columns = (
    database.prepare("SELECT name FROM pragma_table_xinfo('mail_quota') WHERE hidden = 0").all() as { name: string }[]
  )
    .map(({ name }) => name)
    .filter((name) => name !== 'id' && name !== 'account_id')
  const list = columns.join(', ')
  database.exec(
    `WITH RECURSIVE n(i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n WHERE i < ${count}) ` +
      `INSERT INTO mail_quota (account_id, ${list}) SELECT n.i, ${list} FROM mail_quota, n WHERE mail_quota.id = 1`,
  )
  database.close()
}

const inDialog = async (page: Page): Promise<void> => page.getByRole('dialog').waitFor()

async function expectText(page: Page, title: string, text: string): Promise<void> {
  await panel(page, title).getByText(text).first().waitFor()
}

/** Presses Tab until something of that name has the focus. */
async function tabTo(page: Page, name: string): Promise<void> {
  for (let press = 0; press < 60; press += 1) {
    await page.keyboard.press('Tab')
    const found = await page.evaluate<string>(
      '(document.activeElement.labels?.[0] ?? document.activeElement).textContent.trim()',
    )
    if (found === name) return
  }
  throw new Error(`Tab never came to ${name}`)
}
