import { beforeAll, describe, expect, it, jest } from '@jest/globals'
import type { Locator, Page } from 'playwright-core'
import { TestBrowser } from './support/browser.js'
import {
  becomes,
  button,
  field,
  focused,
  heading,
  inDays,
  open,
  panel,
  ready,
  resize,
  Service,
  until,
} from './support/console.js'
import { STORES } from './support/store.js'

// A browser on a busy machine.
jest.setTimeout(600_000)

const QUOTAS = '/api/v1/quotas'
const TRIALS = 44

describe('the console, by someone in a hurry', () => {
  let service: Service
  let browser: TestBrowser
  let group: number
  let set: number
  let own: number
  let operation: string

  beforeAll(async () => {
    service = await Service.on(STORES[0]!)
    browser = await TestBrowser.start()
    const rolling = { quota_type: 3, window_seconds: 3600, cycle_unit: null, cycle_reset_at: null }
    const customer = (await service.call('anna', 'POST', `${QUOTAS}/groups`, { name: 'North' })).id as number
    const pool = { quota_type: 2, total: 20_000, cycle_unit: 'month', cycle_reset_at: inDays(5) }
    await service.call('anna', 'POST', QUOTAS, { group_id: customer, per: 'group', label: 'pool', ...pool })
    const under = { name: 'example.org', parent_id: customer }
    group = (await service.call('anna', 'POST', `${QUOTAS}/groups`, under)).id as number
    for (const per of ['group', 'member'])
      await service.call('anna', 'POST', QUOTAS, {
        ...{ group_id: group, per, quota_type: 3, window_seconds: 3600, total: 60, cap: 'enforce' },
        label: `${per} at example.org`,
      })
    const members = Array.from({ length: 20 }, (_, place) => 101 + place)
    await service.call('anna', 'POST', `${QUOTAS}/groups/${group}/members`, { account_ids: members }, 'join')
    for (let account = 1; account <= TRIALS; account += 1)
      await service.quota(account, { label: `Trial ${account}`, thresholds: [10, 50] })
    for (const member of members) await service.quota(member, { label: `Team ${member}` })
    own = await service.quota(101, { label: 'All of a large team', thresholds: [10, 50] })
    for (let turn = 0; turn < 5; turn += 1) await service.call('anna', 'PUT', `${QUOTAS}/${own}`, { total: 500 + turn })
    await service.call('mailer', 'POST', `${QUOTAS}/usage/reserve`, { account_id: 9, amount: 5 }, 'held')
    for (let place = 0; place < 3; place += 1) {
      await service.quota(7, { quota_type: 1, expire_at: inDays(2), total: 9, cycle_unit: null, cycle_reset_at: null })
      await service.quota(7, { ...rolling, total: 2000 + place, cap: place < 2 ? 'enforce' : 'observe', label: 'cap' })
    }
    for (let turn = 0; turn < 30; turn += 1) {
      const spent = { account_id: 7, amount: 12 }
      operation = (await service.call('mailer', 'POST', `${QUOTAS}/usage/consume`, spent, `${turn}`)).id as string
      await service.call('anna', 'PUT', `${QUOTAS}/2`, { total: 2000 + turn })
      for (const account of [7, 101 + (turn % 20)])
        await service
          .call(
            'mailer',
            'POST',
            `${QUOTAS}/usage/consume`,
            { account_id: account, amount: 9000 },
            `r${account} ${turn}`,
          )
          .catch(() => undefined)
    }
    const change = { update: { total: { percent: 0 } } }
    set = (await service.call('anna', 'POST', `${QUOTAS}/change-sets`, { filter: { label: 'Trial' }, change }))
      .id as number
  })

  it('has no page longer than four screens of a phone before more is asked for, and one line of header', async () => {
    const phones = [
      { width: 390, height: 844 },
      { width: 360, height: 780 },
    ]
    const page = await open(browser, service, '/mail', 'anna')
    const paths = [
      ...['/mail', '/mail/quotas', '/mail/quotas?label=Trial', '/mail/quotas/2', '/mail/quotas/2?edit=true'],
      ...[`/mail/quotas/${own}`, `/mail/quotas/${own}?edit=true`, '/mail/quotas?cap=observe', '/mail/quotas/999999'],
      ...['/mail/new', '/mail/new?owner=7', `/mail/new?group=${group}`, `/mail/operations/${operation}`],
      ...['/mail/owners/7', '/mail/owners/101', '/mail/groups', `/mail/groups/${group}`, '/mail/changes'],
      ...['/mail/changes?quotaId=2', '/mail/search?q=Trial', '/mail/operations', '/mail/operations?key=1'],
      ...['/mail/change-sets', '/mail/change-sets/new?label=Trial', `/mail/change-sets/${set}`, '/mail/import'],
      ...['/mail/quotas?deleted=true', '/webhooks', '/sms', '/sms/quotas'],
    ]
    const tall: unknown[] = []
    for (const path of paths) {
      await page.goto(`${service.url}/admin${path}`)
      for (const phone of phones) {
        await resize(page, phone)
        await ready(page)
        const [tallness = 0, breadth = 0, header = 0] = await page.evaluate<number[]>(
          "[document.documentElement.scrollHeight, document.documentElement.scrollWidth, document.querySelector('main').getBoundingClientRect().top]",
        )
        if (tallness > 4 * phone.height || breadth > phone.width || header > 64)
          tall.push([path, phone, tallness, breadth, header])
      }
    }
    expect(tall).toEqual([])
  })

  it('shows a phone the rest when asked: filters, rows, parts of a page, and the menu', async () => {
    const page = await open(browser, service, '/mail/quotas?label=Trial', 'anna', {
      viewport: { width: 360, height: 740 },
    })
    const row = page.locator('tbody [data-row]:visible')
    const few = await row.count()
    expect(few).toBeLessThan(TRIALS)
    await button(page, `Show ${TRIALS - few} more of: Mail quotas, newest first`).click()
    await becomes(async () => row.count(), TRIALS)
    expect(await field(page, 'Label begins with').isVisible()).toBe(false)
    await button(page, 'Filters (1 set)').click()
    await field(page, 'Label begins with').fill('Trial 1')
    await page.keyboard.press('Enter')
    await page.getByText('11 quotas').waitFor()
    await button(page, 'Menu').click()
    await page.getByRole('link', { name: 'Changes', exact: true }).click()
    await heading(page, 'Mail: changes').waitFor()
    await button(page, 'Sign out').waitFor({ state: 'hidden' })
    // The key for the search opens the menu that holds it; Esc closes it.
    await page.keyboard.press('/')
    await page.getByRole('searchbox').waitFor()
    await page.keyboard.type('7')
    await page.keyboard.press('Enter')
    await heading(page, 'Account 7').waitFor()
    await ready(page)
    expect(await panel(page, 'Ledger').getByRole('table').isVisible()).toBe(false)
    await button(page, 'Show Ledger').click()
    await panel(page, 'Ledger').getByRole('table').waitFor()
    await button(page, 'Hide Ledger').click()
    await panel(page, 'Ledger').getByRole('table').waitFor({ state: 'hidden' })
    await button(page, 'Menu').click()
    await page.getByRole('searchbox').waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('searchbox').waitFor({ state: 'hidden' })
    await becomes(async () => focused(page), expect.stringContaining('Menu'))
  })

  it('holds secondary actions in a menu for the keyboard', async () => {
    const id = await service.quota(900)
    const page = await open(browser, service, `/mail/quotas/${id}`)
    const more = button(page, 'More')
    const on = async (name: string): Promise<void> => becomes(async () => focused(page), expect.stringContaining(name))
    const expanded = async (is: string): Promise<void> => becomes(async () => more.getAttribute('aria-expanded'), is)
    await more.focus()
    await page.keyboard.press('Enter')
    await expanded('true')
    await on('Disable')
    await page.keyboard.press('ArrowDown')
    await on('Reset')
    await page.keyboard.press('End')
    await on('Delete')
    await page.keyboard.press('ArrowDown')
    await on('Disable')
    await page.keyboard.press('ArrowUp')
    await on('Delete')
    await page.keyboard.press('Escape')
    await on('More')
    await expanded('false')
    await page.keyboard.press('ArrowDown')
    await on('Disable')
    await page.keyboard.press('End')
    await on('Delete')
    await page.keyboard.press('Enter')
    // The focus returns to the button after the question.
    await page.getByRole('dialog', { name: `Delete quota ${id}?` }).waitFor()
    await page.keyboard.press('Escape')
    await on('More')
    await more.click()
    await heading(page, `Quota ${id} active`).click()
    await expanded('false')
  })

  describe('does each task with few clicks, from the overview on', () => {
    let page: Page
    let clicks = 0
    const click = async (on: Locator): Promise<void> => {
      clicks += 1
      await on.click()
    }
    const link = (name: string | RegExp): Locator => page.getByRole('link', { name, exact: true })
    /** Where one can type without a click. */
    const inField = async (): Promise<void> => until(page, "document.activeElement.matches('input')")
    const begin = async (): Promise<void> => {
      page = await open(browser, service, '/mail')
      clicks = 0
    }

    it('2: undo what was changed last', async () => {
      await begin()
      await click(panel(page, 'Latest changes').getByRole('button', { name: 'Undo' }).first())
      await click(page.getByRole('dialog').getByRole('button', { name: 'Undo it' }))
      await page.locator('.announcement').getByText('The change is undone.').waitFor()
      expect(clicks).toBe(2)
      expect(await service.call('anna', 'GET', `${QUOTAS}/2`)).toMatchObject({ total: 2028 })
    })

    it('3: why account 7 is refused, and help', async () => {
      await begin()
      await click(panel(page, 'Refused most').getByRole('link', { name: 'Account 7' }))
      await page.getByText('asked for 9,000').first().waitFor()
      await click(button(page, 'Top up'))
      await click(page.getByRole('dialog').getByRole('button', { name: /^Give \d/ }))
      await page.locator('.announcement').getByText('units are given').waitFor()
      expect(clicks).toBe(3)
    })

    it('6: change 44 quotas by their label, and undo it', async () => {
      await begin()
      await click(link('Quotas'))
      await click(field(page, 'Label begins with'))
      await page.keyboard.type('Trial\n')
      await click(link(`Change all ${TRIALS}`))
      await heading(page, 'Change many Mail quotas').waitFor()
      await inField()
      await page.keyboard.type('10\n')
      await click(button(page, `Change ${TRIALS} quotas`))
      await click(button(page, `Undo ${TRIALS}`))
      await click(page.getByRole('dialog').getByRole('button', { name: `Undo ${TRIALS}` }))
      await page.getByText(`${TRIALS} quotas are as before.`).waitFor()
      expect(clicks).toBe(6)
    })

    it('3: see the mistakes of a CSV file', async () => {
      await begin()
      await click(link('Quotas'))
      await click(link('Import'))
      const chooser = page.waitForEvent('filechooser')
      await click(field(page, 'Or choose a file'))
      const text = 'account_id,quota_type,total,expire_at\r\n7,1,many,2099-01-01T00:00:00Z\r\n'
      await (await chooser).setFiles({ name: 'quotas.csv', mimeType: 'text/csv', buffer: Buffer.from(text) })
      await page.getByRole('list', { name: 'Mistakes by line' }).getByText('total must be').waitFor()
      expect(clicks).toBe(3)
    })

    it('4: make a cap that only watches', async () => {
      await begin()
      await click(link('Quotas'))
      await click(link('New quota'))
      await heading(page, 'New Mail quota').waitFor()
      await inField()
      await page.keyboard.type('8')
      await click(page.getByLabel(/^only watches/))
      await click(field(page, 'Total'))
      await page.keyboard.type('100\n')
      await heading(page, /^Cap \d+/).waitFor()
      expect(clicks).toBe(4)
    })

    it('2: who changed a quota in a week, without typing', async () => {
      await begin()
      await click(link('Changes'))
      await click(button(page, 'This week'))
      await until(page, "document.querySelector('[aria-pressed=true]')?.textContent === 'This week'")
      await page.locator('tbody [data-row]').getByText('anna').first().waitFor()
      expect(clicks).toBe(2)
    })

    it('2: who changed a quota last week, without typing', async () => {
      await begin()
      await click(link('Changes'))
      await heading(page, 'Mail: changes').waitFor()
      await click(button(page, 'Last week'))
      await until(page, "document.querySelector('[aria-pressed=true]')?.textContent === 'Last week'")
      // All changes are of today.
      await page.getByText('No change matches these filters.').waitFor()
      expect(clicks).toBe(2)
    })

    it('4: enforce a cap that only watches', async () => {
      await begin()
      await click(link('Caps that only watch'))
      await heading(page, 'Mail quotas').waitFor()
      await ready(page)
      await click(page.locator('[data-row-link]').first())
      await click(page.getByRole('button', { name: /^Enforce it/ }))
      await click(page.getByRole('dialog').getByRole('button', { name: 'Enforce it' }))
      await page.locator('.announcement').getByText('limits from now on.').waitFor()
      expect(clicks).toBe(4)
    })

    it('3: restore a deleted quota', async () => {
      const id = await service.quota(45, { label: 'deleted by mistake' })
      await service.call('anna', 'DELETE', `${QUOTAS}/${id}`)
      await begin()
      await click(link('Quotas'))
      await heading(page, 'Mail quotas').waitFor()
      await field(page, 'Status').selectOption('deleted')
      clicks += 1
      await click(button(page, `Restore quota ${id}`))
      await page.locator('.announcement').getByText('is restored').waitFor()
      expect(clicks).toBe(3)
    })

    it('4: release the hold of a message, by its key', async () => {
      await begin()
      await click(page.getByRole('searchbox'))
      await page.keyboard.type('held\n')
      await click(panel(page, 'Operations with this key').locator('[data-row-link]'))
      await click(button(page, 'Release'))
      await click(page.getByRole('dialog').getByRole('button', { name: 'Release' }))
      await heading(page, 'Operation released').waitFor()
      expect(clicks).toBe(4)
    })

    it('5: stop a quota for now', async () => {
      await begin()
      await click(link('Quotas'))
      await heading(page, 'Mail quotas').waitFor()
      await click(page.locator('[data-row-link]').first())
      await click(button(page, 'More'))
      await click(button(page, 'Disable'))
      await click(page.getByRole('dialog').getByRole('button', { name: 'Disable' }))
      await page.locator('.announcement').getByText('is disabled.').waitFor()
      expect(clicks).toBe(5)
    })
  })

  it('there was no report of the policy, and no error', () => {
    expect([...browser.reports, ...browser.errors]).toEqual([])
  })
})
