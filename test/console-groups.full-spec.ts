import { beforeAll, describe, expect, it, jest } from '@jest/globals'
import type { Page } from 'playwright-core'
import { TestBrowser } from './support/browser.js'
import {
  becomes,
  button,
  expectSound,
  field,
  heading,
  inDays,
  open as openIn,
  panel,
  pressInMenu,
  reads,
  rowsShown,
  Service,
  signIn,
} from './support/console.js'
import { STORES } from './support/store.js'

// A browser on a busy machine.
jest.setTimeout(600_000)

const QUOTAS = '/api/v1/quotas'

let service: Service
let browser: TestBrowser
let keys = 0

beforeAll(async () => {
  service = await Service.on(STORES[0]!)
  browser = await TestBrowser.start()
})

const open = async (path: string): Promise<Page> => openIn(browser, service, path)
const told = (page: Page, text: string | RegExp) => page.locator('.announcement', { hasText: text })

async function group(name: string, settings: object = {}): Promise<number> {
  return (await service.call('anna', 'POST', `${QUOTAS}/groups`, { name, ...settings })).id as number
}

async function groupQuota(groupId: number, settings: object): Promise<number> {
  const body = { group_id: groupId, quota_type: 2, cycle_unit: 'day', cycle_reset_at: inDays(1), ...settings }
  return (await service.call('anna', 'POST', QUOTAS, body)).id as number
}

async function join(groupId: number, ...owners: number[]): Promise<void> {
  await service.call('anna', 'POST', `${QUOTAS}/groups/${groupId}/members`, { account_ids: owners })
}

async function consume(account: number, amount: number): Promise<void> {
  keys += 1
  const body = { account_id: account, amount }
  await service.call('mailer', 'POST', `${QUOTAS}/usage/consume`, body, `groups-${keys}`)
}

describe('groups', () => {
  it('are made with a parent, and found by the beginning of their name', async () => {
    const parent = await group('Customer A')
    let page = await open('/mail/groups')
    await button(page, 'New group').click()
    await button(page, 'Create group').click()
    await becomes(async () => field(page, 'Name').getAttribute('aria-invalid'), 'true')
    await field(page, 'Name').fill('Customer A')
    await button(page, 'Create group').click()
    await page.getByRole('alert').getByText('Customer A').waitFor()
    await field(page, 'Name').fill('a.example.org')
    await field(page, 'Part of: name begins with').fill('cust')
    await page.getByLabel('Customer A', { exact: true }).check()
    await button(page, 'Create group').click()
    await heading(page, 'Group a.example.org').waitFor()
    await panel(page, 'Part of').getByText('no limits of its own').waitFor()
    expect(await service.call('anna', 'GET', `${QUOTAS}/groups?name=a.ex`)).toMatchObject({
      items: [{ name: 'a.example.org', parent_id: parent, default: false }],
    })
    page = await open('/mail/groups?name=A.EX')
    await page.getByRole('link', { name: 'a.example.org' }).waitFor()
    await rowsShown(page, 1)
    await expectSound(page)
  })

  it('are made under another name after an attempt whose answer was an error of a proxy', async () => {
    const page = await open('/mail/groups')
    let attempts = 0
    await page.route(`**${QUOTAS}/groups`, async (route) => {
      if (route.request().method() !== 'POST' || (attempts += 1) > 1) return route.fallback()
      await route.fetch()
      return route.fulfill({ status: 404, body: 'no' })
    })
    await button(page, 'New group').click()
    await field(page, 'Name').fill('first.example.org')
    await button(page, 'Create group').click()
    await page.getByRole('dialog').getByRole('alert').waitFor()
    await field(page, 'Name').fill('second.example.org')
    await button(page, 'Create group').click()
    await heading(page, 'Group second.example.org').waitFor()
  })

  it('are not made by Enter in the search for a parent, and keep what is typed over a reload', async () => {
    const parent = await group('Customer B')
    const page = await open('/mail/groups')
    await button(page, 'New group').click()
    await field(page, 'Name').fill('g.example.org')
    await field(page, 'Part of: name begins with').fill('Customer B')
    await field(page, 'Part of: name begins with').press('Enter')
    await page.getByLabel('Customer B', { exact: true }).check()
    await page.getByRole('dialog', { name: 'New group' }).waitFor()
    await page.reload()
    await button(page, 'New group').click()
    expect(await field(page, 'Name').inputValue()).toBe('g.example.org')
    await button(page, 'Create group').click()
    await heading(page, 'Group g.example.org').waitFor()
    const { items } = await service.call('anna', 'GET', `${QUOTAS}/groups?name=g.example.org`)
    expect(items).toMatchObject([{ parent_id: parent }])
    await button(page, 'Add members').click()
    await field(page, 'Numbers of accounts').fill('1501 1502')
    await page.reload()
    await button(page, 'Add members').click()
    await button(page, 'Add 2 accounts').click()
    await told(page, '2 added').waitFor()
    await button(page, 'Add members').click()
    expect(await field(page, 'Numbers of accounts').inputValue()).toBe('')
  })

  it('get quotas that all share and quotas for each, whose counts are listed', async () => {
    const id = await group('b.example.org')
    let page = await open(`/mail/groups/${id}`)
    await page.getByRole('link', { name: 'New quota' }).click()
    await field(page, 'Already used').fill('70')
    await page.getByLabel(/^each/).check()
    await field(page, 'Already used').waitFor({ state: 'detached' })
    await field(page, 'Total').fill('200')
    await button(page, 'Create quota').click()
    await heading(page, /^Quota \d+/).waitFor()
    await page.getByText('Each member has a count of its own').waitFor()
    await button(page, 'More').click()
    await reads(page.locator('.menu'), 'Disable\nDelete')
    const cap = await groupQuota(id, { total: 5000, cap: 'enforce' })
    await join(id, 1001, 1002)
    await consume(1001, 30)
    page = await open(`/mail/groups/${id}`)
    await panel(page, 'Summary').getByText('5,000 each day, all members together').waitFor()
    await panel(page, 'Summary').getByText('4,970 left of 5,000').waitFor()
    await panel(page, 'Members').getByText('170 left of 200').waitFor()
    await rowsShown(panel(page, 'All members together'), 1)
    await expectSound(page)
    await panel(page, 'Each member').getByRole('link', { name: 'Counts' }).click()
    await page.getByText('the counts that follow').waitFor()
    await rowsShown(page, 1)
    page = await open(`/mail/quotas/${cap}`)
    await page.getByText(', all members together').waitFor()
    await expectSound(page)
  })

  it('take members from a pasted list, after saying which group each leaves', async () => {
    const [from, to] = [await group('c.example.org'), await group('d.example.org')]
    await groupQuota(to, { total: 50, per: 'member' })
    await join(from, 1101)
    const page = await open(`/mail/groups/${to}`)
    await button(page, 'Add members').click()
    await field(page, 'Numbers of accounts').fill('1101, 11o2')
    await page.getByText('not a number, or not clear which: 11o2').waitFor()
    await field(page, 'Numbers of accounts').fill('1101, 1102\n#1103 1102')
    await page.getByText('Account 1101 leaves c.example.org').waitFor()
    await page.getByText('Account 1103 is in no group').waitFor()
    await page.getByRole('dialog').getByText('50 each day').waitFor()
    await expectSound(page)
    await button(page, 'Add 3 accounts').click()
    await told(page, '2 added, 1 moved, 0 were there.').waitFor()
    await panel(page, 'Changes').getByText('1 account moved here: 1101').waitFor()
    await button(page, 'Remove account 1102').click()
    await button(page, 'Remove').click()
    await told(page, 'Account 1102 is no longer a member.').waitFor()
    const { items } = await service.call('anna', 'GET', `${QUOTAS}/groups/${to}/members`)
    expect(items).toMatchObject([{ account_id: 1101 }, { account_id: 1103 }])
  })

  it('lose a member once, also if the first answer is that the service is busy', async () => {
    const id = await group('h.example.org')
    await join(id, 1601)
    const page = await open(`/mail/groups/${id}`)
    let attempts = 0
    await page.route(`**/members/1601`, async (route) => {
      if ((attempts += 1) > 1) return route.fallback()
      await route.fetch()
      return route.fulfill({ status: 503, headers: { 'retry-after': '1' }, body: 'busy' })
    })
    await button(page, 'Remove account 1601').click()
    await button(page, 'Remove').click()
    await told(page, 'Account 1601 is no longer a member.').waitFor()
  })

  it('have their changes among those of quotas, newest first', async () => {
    const id = await group('i.example.org')
    for (let account = 1701; account <= 1708; account += 1) await join(id, account)
    const overview = await open('/mail')
    const latest = await rowsShown(panel(overview, 'Latest changes'), 8)
    await latest.first().getByText('1 account added: 1708').waitFor()
    const page = await open('/mail/changes')
    await field(page, 'What').selectOption('members')
    await button(page, 'Filter').click()
    await page.waitForURL(/action=members/)
    const row = page.locator('tbody [data-row]').first()
    await row.getByText('1 account added: 1708').waitFor()
    await expectSound(page)
    await row.getByRole('link', { name: `Group ${id}` }).click()
    await heading(page, 'Group i.example.org').waitFor()
  })

  it('are never overwritten by an edit that began before that of another person', async () => {
    const id = await group('f.example.org')
    const page = await browser.page()
    await page.clock.install()
    await page.goto(`${service.url}/admin/mail/groups/${id}`)
    await signIn(page, 'anna')
    await heading(page, 'Group f.example.org').waitFor()
    await pressInMenu(page, 'Edit')
    await page.getByLabel(/^default/).check()
    await service.call('boris', 'PUT', `${QUOTAS}/groups/${id}`, { name: 'f.example.net' })
    await page.clock.fastForward(31_000)
    // Behind the dialog, and so hidden from roles.
    await page.locator('h1', { hasText: 'f.example.net' }).waitFor()
    await button(page, 'Save').click()
    const alert = page.getByRole('alert')
    await alert.getByText('Somebody changed it meanwhile').waitFor()
    await alert.getByText('Its name is “f.example.net” now.').waitFor()
    await expectSound(page)
    const read = async (): Promise<unknown> => service.call('anna', 'GET', `${QUOTAS}/groups/${id}`)
    expect(await read()).toMatchObject({ name: 'f.example.net', default: false })
    // What was not changed here is as they saved it, and what was is saved on top.
    expect(await field(page, 'Name').inputValue()).toBe('f.example.net')
    await button(page, 'Save').click()
    await told(page, 'Group f.example.net is saved.').waitFor()
    expect(await read()).toMatchObject({ name: 'f.example.net', default: true })
    await service.call('anna', 'PUT', `${QUOTAS}/groups/${id}`, { name: 'f.example.net', default: false })
  })

  it('are deleted only as they were when the question was asked', async () => {
    const id = await group('j.example.org')
    const page = await browser.page()
    await page.clock.install()
    await page.goto(`${service.url}/admin/mail/groups/${id}`)
    await signIn(page, 'anna')
    await heading(page, 'Group j.example.org').waitFor()
    await pressInMenu(page, 'Delete')
    await service.call('boris', 'PUT', `${QUOTAS}/groups/${id}`, { name: 'j.example.net' })
    await page.clock.fastForward(31_000)
    await page.locator('h1', { hasText: 'j.example.net' }).waitFor()
    const dialog = page.getByRole('dialog', { name: 'Delete group j.example.org?' })
    await dialog.getByRole('button', { name: 'Delete' }).click()
    await dialog.getByRole('alert').getByText('Somebody changed it meanwhile').waitFor()
    expect(await service.call('anna', 'GET', `${QUOTAS}/groups/${id}`)).toMatchObject({ name: 'j.example.net' })
  })

  it('are edited, and deleted only when nothing is left in them', async () => {
    const id = await group('e.example.org')
    await join(id, 1201)
    let page = await open(`/mail/groups/${id}`)
    await pressInMenu(page, 'Edit')
    await field(page, 'Name').fill('e.example.net')
    await button(page, 'Save').click()
    await heading(page, 'Group e.example.net').waitFor()
    await pressInMenu(page, 'Delete')
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
    await page.getByRole('dialog').getByRole('alert').waitFor()
    await service.call('anna', 'DELETE', `${QUOTAS}/groups/${id}/members/1201`)
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
    await heading(page, 'Mail groups').waitFor()
    page = await open(`/mail/groups/${id}`)
    await panel(page, 'Changes').getByText('delete').waitFor()
  })
})

describe("an account's page", () => {
  it('says whose limit is whose, and moves the account', async () => {
    const [small, large] = [await group('small'), await group('large')]
    await groupQuota(small, { total: 20, cap: 'enforce' })
    await groupQuota(small, { total: 10_000 })
    await groupQuota(large, { total: 700, per: 'member' })
    await join(small, 1301, 1302)
    await consume(1302, 8)
    const page = await open('/mail/owners/1301')
    await panel(page, 'Summary').getByText('12 can be taken now').waitFor()
    await panel(page, 'Summary').getByText('of small, all members together').waitFor()
    await panel(page, 'Group').getByText('10,000 each day together').waitFor()
    await panel(page, 'Group').getByText('These pay after its own').waitFor()
    await expectSound(page)
    await panel(page, 'Group').getByRole('button', { name: 'Move' }).click()
    await field(page, 'Into: name begins with').fill('large')
    await page.getByLabel('large', { exact: true }).check()
    await page.getByRole('dialog').getByText('700 each day').waitFor()
    await page.getByRole('dialog').getByRole('button', { name: 'Move' }).click()
    await told(page, 'Account 1301 is in large now.').waitFor()
    // It shows the limits of the group, too.
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await panel(page, 'Group').getByText('large: 700 each day for each').waitFor()
  })

  it('leads to a count, whose own settings are given back one by one', async () => {
    const id = await group('f.example.org')
    const followed = await groupQuota(id, { total: 40, per: 'member', label: 'each' })
    await join(id, 1401)
    await consume(1401, 1)
    const { items } = (await service.call('anna', 'GET', `${QUOTAS}?account_id=1401`)) as { items: { id: number }[] }
    const page = await open(`/mail/quotas/${items[0]!.id}`)
    await page.getByText(`All its settings follow those of #${followed}.`).waitFor()
    await button(page, 'Edit').click()
    await field(page, 'Total').fill('60')
    await page.getByText('no longer follows').waitFor()
    await button(page, 'Save').click()
    await button(page, /^Give back/).waitFor()
    await page.getByText('59 left of 60').waitFor()
    await expectSound(page)
    await button(page, /^Give back/).click()
    await told(page, 'It follows again.').waitFor()
    await page.getByText('39 left of 40').waitFor()
    await button(page, 'Edit').click()
    await field(page, 'Total').fill('60')
    await button(page, 'Save').click()
    await button(page, /^Give back/).waitFor()
    const changes = panel(page, 'Changes')
    // The list is read on its own. Until it is, its newest change is the one that gave the setting back.
    await reads(changes.locator('tbody tr').first(), /Total: 40 [^]*60/)
    await changes.getByRole('button', { name: /^Undo/ }).first().click()
    await page.getByRole('dialog').getByText(`Total: follows that of #${followed} again`).waitFor()
    await page.getByRole('dialog').getByRole('button', { name: 'Undo it' }).click()
    await told(page, 'The change is undone.').waitFor()
    await page.getByText(`All its settings follow those of #${followed}.`).waitFor()
    await changes.getByText('undone').first().waitFor()
    const all = await open(`/mail/quotas/${followed}`)
    await panel(all, 'Usage').getByRole('columnheader', { name: 'Paid by' }).waitFor()
    await panel(all, 'Usage')
      .getByRole('link', { name: `#${items[0]!.id}` })
      .waitFor()
  })
})
