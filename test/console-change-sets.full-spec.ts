import { readFile } from 'node:fs/promises'
import { beforeAll, describe, expect, it, jest } from '@jest/globals'
import type { Page } from 'playwright-core'
import { TestBrowser } from './support/browser.js'
import {
  becomes,
  button,
  eventually,
  expectSoundAt,
  field,
  focused,
  heading,
  inDays,
  open,
  reads,
  ready,
  resize,
  rowsShown,
  Service,
} from './support/console.js'
import { STORES } from './support/store.js'

// A browser on a busy machine.
jest.setTimeout(600_000)

const LABEL = 'Trial תקווה'

describe('many quotas at once, in the console', () => {
  let service: Service
  let browser: TestBrowser
  let page: Page
  let looks = 0
  const ids: number[] = []

  beforeAll(async () => {
    service = await Service.on(STORES[0]!)
    browser = await TestBrowser.start()
    for (let place = 0; place < 4; place += 1)
      ids.push(await service.quota(40 + place, { label: LABEL, total: place === 3 ? 0 : 1000 }))
    await service.quota(50, { label: 'Business' })
    page = await open(browser, service, `/mail/quotas?label=Trial`)
  })

  /** One width in one of the colours, by turns. */
  async function look(): Promise<void> {
    await ready(page)
    if (looks % 2 === 0) await expectSoundAt(page, { width: 1280, height: 800 }, 'light')
    else await expectSoundAt(page, { width: 360, height: 800 }, 'dark')
    looks += 1
    await resize(page, { width: 1280, height: 800 })
  }

  /** Walks by Tab to what bears this name. */
  async function tabTo(name: string): Promise<void> {
    for (let steps = 0; steps < 80; steps += 1) {
      if ((await focused(page)).replace(/<[^>]*>/g, '').includes(name)) return
      await page.keyboard.press('Tab')
    }
    throw new Error(`no Tab leads to ${name}`)
  }

  /** The change sets that were not applied. */
  async function unapplied(): Promise<number[]> {
    const { items } = await service.call('anna', 'GET', '/api/v1/quotas/change-sets')
    return (items as { id: number; state: string }[]).filter(({ state }) => state === 'ready').map(({ id }) => id)
  }

  const total = async (id: number): Promise<number> =>
    ((await service.call('admin', 'GET', `/api/v1/quotas/${id}`)) as { total: number }).total

  it('changes all quotas of a filter and undoes it, only with the keyboard', async () => {
    await look()
    await tabTo('Change all 4')
    await page.keyboard.press('Enter')
    await heading(page, 'Change many Mail quotas').waitFor()
    await page.getByText('4 quotas are found now.').waitFor()
    await field(page, 'By how much').focus()
    await page.keyboard.type('10')
    await page
      .locator('output.example')
      .getByText(`Every quota whose label begins with “Trial”: total raised by 10`)
      .waitFor()
    await look()
    await page.keyboard.press('Enter')

    await heading(page, /^Change set \d+ not applied yet$/).waitFor()
    await page.getByText('3 quotas would be changed. 1 is so already.').waitFor()
    await page.getByText('nothing differs').waitFor()
    const row = page.getByRole('row', { name: `#${ids[0]}` })
    await reads(row, /1,000[\s\S]*becomes[\s\S]*1,100[\s\S]*to do/)
    await look()
    // Somebody else is faster with one of them.
    await service.call('boris', 'PUT', `/api/v1/quotas/${ids[1]}`, { total: 77 })
    await tabTo('Change 3 quotas')
    await page.keyboard.press('Enter')
    await heading(page, /applied/).waitFor()
    await page.getByText('2 quotas were changed.').waitFor()
    expect(await Promise.all(ids.map(total))).toEqual([1100, 77, 1100, 0])
    await tabTo('Look at it')
    await page.keyboard.press('Enter')
    await page.getByText('Somebody has changed it meanwhile.').waitFor()
    await rowsShown(page, 1)
    await look()
    const saved = page.waitForEvent('download')
    await button(page, 'Download what failed (1)').click()
    expect(await readFile(await (await saved).path(), 'utf8')).toMatch(
      new RegExp(`^id,.*,outcome,problem\\r?\\n${ids[1]},.*conflict,"version_mismatch: `),
    )

    // A quota's own history leads to the set.
    await page.getByRole('link', { name: `#${ids[1]}` }).click()
    await heading(page, `Quota ${ids[1]} active`).waitFor()
    await page.goBack()
    await page.getByRole('link', { name: /^all / }).click()
    await page.getByRole('link', { name: `#${ids[0]}` }).click()
    await heading(page, `Quota ${ids[0]} active`).waitFor()
    await page.getByRole('link', { name: /^with others, change set/ }).click()
    await button(page, 'Undo 2').focus()
    await page.keyboard.press('Enter')
    await page.getByRole('dialog').getByRole('button', { name: 'Undo 2' }).focus()
    await page.keyboard.press('Enter')
    await heading(page, /undone/).waitFor()
    await page.getByText('2 quotas are as before.').waitFor()
    expect(await Promise.all(ids.map(total))).toEqual([1000, 77, 1000, 0])
    await page.getByRole('link', { name: 'All change sets' }).click()
    await heading(page, 'Mail: change sets').waitFor()
    const set = page.locator('tbody [data-row]').first()
    await reads(set, /anna[\s\S]*“Trial”: total raised[\s\S]*1 in conflict, 2 undone[\s\S]*undone/)
    await look()
  })

  it('changes chosen quotas, and undoes it', async () => {
    await service.call('boris', 'PUT', `/api/v1/quotas/${ids[1]}`, { total: 77 })
    page = await open(browser, service, '/mail/quotas?label=Trial')
    await page.getByLabel('Select all on this page').check()
    await page.getByRole('link', { name: 'Change the 4 chosen' }).waitFor()
    await page.getByLabel(`Choose ${ids[2]}`).uncheck()
    await page.getByLabel(`Choose ${ids[3]}`).uncheck()
    await look()
    await page.getByRole('link', { name: 'Change the 2 chosen' }).click()
    await field(page, 'By how much').fill('20')
    await page.locator('output.example').getByText('Each of 2 chosen quotas: total raised by 20').waitFor()
    await page.keyboard.press('Enter')
    await button(page, 'Ask for something else').click()
    expect(await field(page, 'By how much').inputValue()).toBe('20')
    await page.keyboard.press('Enter')
    await page.getByText('2 quotas would be changed.').waitFor()
    const rows = await rowsShown(page, 2)
    await reads(rows.first(), new RegExp(`#${ids[0]}[\\s\\S]*${LABEL}[\\s\\S]*1,000[\\s\\S]*1,200`))
    await button(page, 'Change 2 quotas').click()
    await page.getByText('2 quotas were changed.').waitFor()
    expect(await Promise.all(ids.map(total))).toEqual([1200, 92, 1000, 0])
    await button(page, 'Undo 2').click()
    await page.getByRole('dialog').getByRole('button', { name: 'Undo 2' }).click()
    await page.getByText('2 quotas are as before.').waitFor()
    expect(await Promise.all(ids.map(total))).toEqual([1000, 77, 1000, 0])
    // An address that names none selects none, not all.
    await page.goto(`${service.url}/admin/mail/change-sets/new?label=Trial&ids=many`)
    await field(page, 'By how much').fill('20')
    await page.keyboard.press('Enter')
    await page.getByRole('alert').getByText('filter.ids').waitFor()
    // Another list begins with none; deleted quotas cannot be chosen.
    await page.goto(`${service.url}/admin/mail/quotas?label=Trial`)
    await page.getByLabel(`Choose ${ids[0]}`).check()
    await field(page, 'Label begins with').fill('')
    await button(page, 'Filter').click()
    await page.getByText('5 quotas').waitFor()
    await rowsShown(page, 5)
    expect(await page.getByRole('link', { name: /chosen$/ }).count()).toBe(0)
    await page.getByLabel('Status').selectOption('deleted')
    await page.getByText('No quota matches these filters.').waitFor()
    expect(await page.getByLabel(/^Choose|^Select all/).count()).toBe(0)
  })

  it('imports pasted records, shows a mistake next to its line, and exports a list', async () => {
    const before = await unapplied()
    const added = async (): Promise<number[]> => (await unapplied()).filter((id) => !before.includes(id))
    page = await open(browser, service, '/mail/change-sets')
    await page.getByRole('link', { name: 'Import' }).click()
    const pasted = field(page, 'Paste from a spreadsheet, or type')
    const end = new Date(Date.now() + 86_400_000).toISOString()
    const text = [
      'Account\tType\tTotal\tEnds\tLabel',
      `7\ttotal\tmany\t${end}\t"Spring, ""first"""`,
      `8\ttotal\t2,500\t${end.slice(0, 10)} 23:59\t=Autumn`,
    ].join('\n')
    await pasted.fill(text.replace(/\tType|\ttotal/g, ''))
    await button(page, 'Check').click()
    await page.getByRole('alert').getByText('For new quotas, the table has no Type.').waitFor()
    expect(await added()).toEqual([])
    await pasted.fill(text)
    await page.getByText('= 2 lines with 5 columns, between tabs').waitFor()
    await button(page, 'Check').click()
    const mistake = page.getByRole('list', { name: 'Mistakes by line' }).getByRole('listitem')
    await mistake.waitFor()
    await reads(mistake, /Line 2[\s\S]*many[\s\S]*total must be an integer from 0 to 1,000,000,000,000/)
    await page.getByRole('link', { name: 'Go on with the other 1' }).waitFor()
    await look()
    await look()
    const first = await added()
    expect(first).toHaveLength(1)
    // A further check replaces the change set of the one before. Nothing is left to go on with.
    await pasted.fill(text.replace(/\n8.*/, ''))
    await button(page, 'Check').click()
    await page.getByText('Correct the lines below and check again.').waitFor()
    expect(await page.getByRole('link', { name: /^Go on|^Change set \d/ }).count()).toBe(0)
    await eventually(async () => {
      const sets = await added()
      return sets.length === 1 && sets[0] !== first[0]
    })
    await pasted.fill(text)
    await button(page, 'Check').click()
    await page.getByRole('link', { name: 'Go on with the other 1' }).waitFor()
    // It stays if it is open in another tab.
    const [other] = await added()
    const opening = page.context().waitForEvent('page')
    await page.getByRole('link', { name: 'Go on with the other 1' }).click({ modifiers: ['ControlOrMeta'] })
    await (await opening).close()
    await page.getByRole('link', { name: 'Quotas', exact: true }).click()
    await heading(page, 'Mail quotas').waitFor()
    await page.goBack()
    await field(page, 'Paste from a spreadsheet, or type').waitFor()
    expect(await added()).toEqual([other])
    await service.call('anna', 'DELETE', `/api/v1/quotas/change-sets/${other}`)
    await button(page, 'Check').click()
    await page.getByRole('link', { name: 'Go on with the other 1' }).waitFor()
    // Otherwise, whoever leaves and comes back finds the text; the change set is dropped.
    await page.getByRole('link', { name: 'Quotas', exact: true }).click()
    await eventually(async () => (await added()).length === 0)
    await page.goBack()
    await page.getByText('What you typed before is still here, and not checked yet.').waitFor()
    await becomes(async () => pasted.inputValue(), text)
    await button(page, 'Check').click()
    await mistake.waitFor()
    await button(page, 'Line 2').click()
    await becomes(
      async () =>
        page.evaluate<string>(
          'document.activeElement.value.slice(document.activeElement.selectionStart, document.activeElement.selectionEnd)',
        ),
      text.split('\n')[1],
    )
    await pasted.fill(text.replace('many', '300'))
    await button(page, 'Check').click()
    await button(page, 'Apply to 2 rows').click()
    await page.getByText('2 rows were applied.').waitFor()
    const { items } = await service.call('anna', 'GET', '/api/v1/quotas?account_id=8')
    expect(items).toMatchObject([{ quota_type: 1, total: 2500, label: '=Autumn' }])
    await page.getByRole('link', { name: 'Quotas', exact: true }).click()
    await field(page, 'Account').fill('7')
    await button(page, 'Filter').click()
    await page.getByText('1 quota · page 1').waitFor()
    const saved = page.waitForEvent('download')
    await button(page, 'Export as CSV').click()
    const file = await (await saved).path()
    const exported = await readFile(file, 'utf8')
    expect(exported).toMatch(/^id,account_id,/)
    expect(exported).toContain('"Spring, ""first"""')
    // The same file once more: nothing differs.
    await page.getByRole('link', { name: 'Import' }).click()
    await field(page, 'Or choose a file').setInputFiles(file)
    await page.getByText('There is nothing to do. 1 is so already.').waitFor()
    expect([browser.errors, browser.reports]).toEqual([[], []])
  })

  /** The lines of what a button saves, and where they are. */
  async function savedFile(name: string): Promise<{ lines: string[]; path: string }> {
    const download = page.waitForEvent('download')
    await button(page, name).click()
    const path = await (await download).path()
    const lines = (await readFile(path, 'utf8')).split('\r\n')
    expect(lines.pop()).toBe('')
    return { lines, path }
  }
  const saved = async (name: string): Promise<string[]> => (await savedFile(name)).lines

  it('exports lists without a file from the service, all pages of them', async () => {
    const id = await service.quota(43)
    // More than a page of them.
    let version = 1
    while (version <= 120) {
      await service.call('anna', 'PUT', `/api/v1/quotas/${id}`, { total: 5000 + version })
      version += 1
    }
    const change = { update: { total: { add: 1 } } }
    await service.call('anna', 'POST', '/api/v1/quotas/change-sets', { filter: { label: 'Trial' }, change })
    page = await open(browser, service, `/mail/changes?quotaId=${id}`)
    const changes = await saved('Export as CSV')
    expect(changes[0]).toBe('id,at,actor,action,quota_id,group_id,account_id,before,after,change_set_id,request_id')
    expect(changes.length).toBe(1 + 120 + 1)
    expect(changes[1]).toMatch(new RegExp(`,anna,update,${id},,43,"{""total"":5119}","{""total"":5120}",,[^,]+$`))
    await page.getByRole('link', { name: 'Change sets' }).click()
    await heading(page, 'Mail: change sets').waitFor()
    const sets = await saved('Export as CSV')
    expect(sets[0]).toMatch(/^id,created_at,actor,source,filter,change,state,/)
    expect(sets.slice(1).some((line) => line.includes(',anna,filter,"{""label"":""Trial""}",'))).toBe(true)
    const key = '=key'
    await service.quota(51)
    await service.call('anna', 'POST', '/api/v1/quotas/usage/consume', { account_id: 51, amount: 7 }, key)
    page = await open(browser, service, '/mail/owners/51')
    const ledger = await saved('Export ledger as CSV')
    expect(ledger[0]).toMatch(/^id,created_at,kind,state,account_id,amount,/)
    expect(ledger).toHaveLength(2)
    expect(ledger[1]).toMatch(new RegExp(`,consume,consumed,51,7,7,0,.*,anna,'${key}$`))
    expect(await saved('Export refusals as CSV')).toEqual(['hour,code,count,requested,last_at'])
    const days = await saved('Export usage by day as CSV')
    expect(days[0]).toBe('began_at,charged,refunded,refused,refusals')
    expect(days).toHaveLength(1 + 30)
    expect(days.at(-1)).toMatch(/^[^,]+,7,0,/)
    await look()
    expect([browser.errors, browser.reports]).toEqual([[], []])
  })

  it('exports quotas that expire soon, owners near a limit, and each passed threshold', async () => {
    const label = '=1+1'
    const id = await service.quota(60, { label, thresholds: [10, 50] })
    // More than a page of events, and of quotas that end.
    const passed = 105
    for (let turn = 1; turn <= passed; turn += 1) {
      await service.call('anna', 'POST', `/api/v1/quotas/${id}/reset`)
      const spent = { account_id: 60, amount: 100 + turn }
      await service.call('anna', 'POST', '/api/v1/quotas/usage/consume', spent, `turn ${turn}`)
    }
    const ending: number[] = []
    for (let turn = 0; turn < 105; turn += 1) {
      const settings = { quota_type: 1, cycle_unit: undefined, cycle_reset_at: undefined, total: turn, label }
      ending.push(await service.quota(6000 + turn, { ...settings, expire_at: inDays(1 + turn / 1000) }))
    }

    const { id: group } = await service.call('anna', 'POST', '/api/v1/quotas/groups', { name: 'Ending' })
    const shared = { group_id: group, per: 'group', quota_type: 1, total: 5, expire_at: inDays(2) }
    await service.call('anna', 'POST', '/api/v1/quotas', shared)

    for (const path of ['/mail/owners/60', `/mail/quotas/${id}`]) {
      page = await open(browser, service, path)
      const [head, ...events] = await saved('Export thresholds as CSV')
      expect(head).toBe('id,at,quota_id,account_id,label,crossed,used,total,cycle_reset_at,operation_id')
      expect(events).toHaveLength(passed)
      for (const [place, line] of events.entries())
        expect(line).toMatch(new RegExp(`^[^,]+,[^,]+,${id},60,'=1\\+1,10,${101 + place},1000,[^,]+,[^,]{36}$`))
    }

    page = await open(browser, service, '/mail')
    const near = await saved('Export near the limit as CSV')
    expect(near[0]).toMatch(/^id,account_id,user_id,quota_type,.*,over,passed_at$/)
    expect(near).toHaveLength(2)
    expect(near[1]).toMatch(new RegExp(`^${id},60,,2,1000,${100 + passed},.*,'=1\\+1,,,10 50,.*,10,[^,]+$`))
    expect((await saved('Export refused most as CSV'))[0]).toBe('account_id,code,count,requested,last_at')
    const { lines, path } = await savedFile('Export ending quotas as CSV')
    // Those of an import before end earlier.
    expect(lines.slice(1).flatMap((line) => (line.includes("'=1+1") ? Number(line.split(',')[0]) : []))).toEqual(ending)
    await look()
    // In the columns of the service's own file: nothing differs where it comes back.
    page = await open(browser, service, '/mail/import')
    await field(page, 'Or choose a file').setInputFiles(path)
    await page.getByText(`There is nothing to do. ${lines.length - 1} are so already.`).waitFor()
    expect([browser.errors, browser.reports]).toEqual([[], []])
  })

  it('is the same for SMS, and only for administrators', async () => {
    const chen = await open(browser, service, '/sms/change-sets', 'chen')
    await heading(chen, 'SMS quotas are for administrators').waitFor()
    await service.call('anna', 'POST', '/api/sms/admin/quota', {
      user_id: 3,
      quota_type: 1,
      total: 500,
      expire_at: new Date(Date.now() + 86_400_000).toISOString(),
    })
    page = await open(browser, service, '/sms/quotas')
    await page.getByRole('link', { name: 'Change all 1' }).click()
    await page.getByLabel(/^delete/).check()
    await button(page, 'Preview').click()
    await button(page, 'Delete 1 quota').click()
    await page.getByRole('dialog').getByRole('button', { name: 'Delete 1 quota' }).click()
    await heading(page, /applied/).waitFor()
    await button(page, 'Undo 1').waitFor()
  })
})
