/**
 * `npm run screenshots`: takes pictures of every screen of the console at 1440 and 360 pixels, light and dark, with the
 * store of `npm run demo -- --keep`, into `screenshots/`. `--docs` also takes the four of the README, into docs/images.
 */
/* global document, sessionStorage */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { chromium } from 'playwright-core'
import { fill, makeTokens, startService } from '../examples/back-office.mjs'
import { launchOptions } from './programs.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))
const WIDTHS = [1440, 360]
const SCHEMES = ['light', 'dark']

/** Screens by name: the address, and the steps before the picture. */
const SCREENS = {
  overview: ['/mail'],
  quotas: ['/mail/quotas'],
  'quotas-filtered': ['/mail/quotas?status=disabled'],
  'quotas-deleted': ['/mail/quotas?deleted=true'],
  'quotas-chosen': ['/mail/quotas', async (page) => page.getByLabel('Select all on this page').check()],
  'quotas-empty': ['/mail/quotas?label=nothing'],
  quota: ['/mail/quotas/12'],
  'quota-more': ['/mail/quotas/12', async (page) => page.getByRole('button', { name: 'More', exact: true }).click()],
  edit: ['/mail/quotas/12?edit=true'],
  conflict: ['/mail/quotas/12?edit=true', conflict],
  delete: ['/mail/quotas/12', async (page) => pressInMenu(page, 'Delete')],
  new: ['/mail/new'],
  owner: ['/mail/owners/7'],
  'top-up': ['/mail/owners/7', async (page) => page.getByRole('button', { name: 'Top up' }).click()],
  groups: ['/mail/groups'],
  group: ['/mail/groups/2'],
  'group-new': ['/mail/groups', async (page) => page.getByRole('button', { name: 'New group' }).click()],
  'group-add': ['/mail/groups/2', addMembers],
  'group-quota': ['/mail/new?group=2'],
  member: ['/mail/owners/21'],
  count: [
    '/mail/owners/21',
    async (page) =>
      page
        .getByRole('link', { name: /^Cap #/ })
        .nth(1)
        .click(),
  ],
  changes: ['/mail/changes'],
  found: ['/mail/search?q=newslet'],
  'found-key': ['/mail/search?q=hold-7'],
  operations: ['/mail/operations'],
  operation: ['/mail/search?q=hold-7', async (page) => page.locator('[data-row-link]').first().click()],
  undo: ['/mail/owners/7', async (page) => page.getByRole('button', { name: 'Undo' }).first().click()],
  done: ['/mail/owners/4', topUp],
  keys: ['/mail/quotas', async (page) => page.keyboard.press('?')],
  'held-up': ['/mail/owners/11'],
  enforce: ['/mail/owners/11', async (page) => page.getByRole('button', { name: 'Enforce it' }).click()],
  caps: ['/mail/quotas?cap=enforce'],
  cap: ['/mail/quotas?cap=enforce', async (page) => page.locator('[data-row-link]').first().click()],
  'cap-edit': ['/mail/quotas?cap=observe', editCap],
  'new-cap': ['/mail/new?owner=11', newCap],
  'new-watching': ['/mail/new?owner=11', async (page) => page.getByLabel('only watches').check()],
  thresholds: ['/mail/quotas/3'],
  webhooks: ['/webhooks'],
  'change-many': ['/mail/change-sets/new?label=Trial', askForMore],
  'change-many-more': ['/mail/change-sets/new?status=active&cap=none', askForAll],
  preview: ['/mail/change-sets/new?label=Trial', async (page) => previewed(page)],
  applying: ['/mail/change-sets/new?label=Trial', applying],
  applied: ['/mail/change-sets/new?label=Trial', applied],
  undone: ['/mail/change-sets/new?label=Trial', undone],
  'change-sets': ['/mail/change-sets'],
  import: ['/mail/import'],
  'import-mistakes': ['/mail/import', mistakes],
  sms: ['/sms/owners/3'],
  link: ['/mail/owners/7', async (page) => pressInMenu(page, 'Send a link')],
  missing: ['/mail/quotas/999999'],
  view: ['/mail/owners/11', followLink],
}
/** The README's pictures, at the width of a column: name, screen, scheme. */
const SHOWN = [
  ['console-overview', 'overview', 'light'],
  ['console-owner', 'owner', 'light'],
  ['console-conflict', 'conflict', 'light'],
  ['console-quotas', 'quotas', 'dark'],
]

const forDocs = process.argv.includes('--docs')
const only = process.argv.slice(2).filter((argument) => !argument.startsWith('--'))
const scratch = mkdtempSync(join(tmpdir(), 'quota-pictures-'))
const folder = join(root, 'screenshots')
mkdirSync(folder, { recursive: true })
const tokens = makeTokens()
const databaseUrl = process.env.FILLED ?? `sqlite:${join(scratch, 'quota.db')}`
if (process.env.FILLED === undefined) await fill({ databaseUrl, tokens, say: console.log })
const service = await startService({ databaseUrl, tokens })
const browser = await chromium.launch(launchOptions())
try {
  const names = Object.keys(SCREENS).filter((name) => only.length === 0 || only.includes(name))
  for (const width of forDocs ? [1080] : WIDTHS) {
    for (const colorScheme of SCHEMES) {
      const context = await browser.newContext({
        viewport: { width, height: forDocs ? 560 : 900 },
        colorScheme,
        locale: 'en-GB',
        timezoneId: 'Europe/Berlin',
      })
      const page = await context.newPage()
      await page.goto(`${service.url}/admin/`)
      await page.getByLabel('Token').waitFor()
      if (!forDocs) await page.screenshot({ path: join(folder, `sign-in-${width}-${colorScheme}.png`) })
      await page.getByLabel('Token').fill(tokens.anna)
      await page.getByRole('button', { name: 'Sign in' }).click()
      await page.getByRole('banner').waitFor()
      for (const name of names) {
        const docs = SHOWN.filter(([, screen, scheme]) => screen === name && scheme === colorScheme)
        if (forDocs && docs.length === 0) continue
        const [path, prepare] = SCREENS[name]
        await page.goto(`${service.url}/admin${path}`)
        await page.getByRole('heading', { level: 1 }).waitFor()
        await settled(page)
        await prepare?.(page)
        await settled(page)
        if (forDocs)
          for (const [file] of docs) await page.screenshot({ path: join(root, 'docs/images', `${file}.png`) })
        else await page.screenshot({ path: join(folder, `${name}-${width}-${colorScheme}.png`), fullPage: true })
        // Until the picture is taken: the page asks again and again.
        await page.unrouteAll({ behavior: 'ignoreErrors' })
        await page.evaluate(() => {
          for (const key of Object.keys(sessionStorage)) if (key.includes('draft')) sessionStorage.removeItem(key)
        })
      }
      await context.close()
    }
  }
} finally {
  await browser.close()
  await service.stop()
  rmSync(scratch, { recursive: true, force: true })
}

/** Waits until nothing on the screen is loading; polls from outside, since the page's policy blocks polling within it. */
async function settled(page) {
  const done = () => document.querySelector('h1') !== null && document.querySelector('.loading') === null
  while (!(await page.evaluate(done))) await page.waitForTimeout(50)
}

async function pressInMenu(page, name) {
  await page.getByRole('button', { name: 'More', exact: true }).click()
  await page.locator('.menu').getByText(name, { exact: true }).click()
}

async function addMembers(page) {
  await page.getByRole('button', { name: 'Add members' }).click()
  await page.getByLabel('Numbers of accounts').fill('21 34 35')
}

async function askForMore(page) {
  await page.getByLabel('By how much').fill('10')
}

async function askForAll(page) {
  for (const name of ['Label', 'End', 'Thresholds', 'Window of rolling caps', 'Next reset of cycle quotas'])
    await page.getByRole('checkbox', { name }).check()
  await page.getByLabel('New label').fill('Basic')
  await page.getByRole('button', { name: 'Preview' }).click()
}

/** The preview of all rows; one of them is of another kind by then. */
async function previewed(page) {
  await askForMore(page)
  await page.getByRole('button', { name: 'Preview' }).click()
  await page.getByRole('button', { name: /^Change \d/ }).waitFor()
}

/** Halfway: the progress as the service would report it. */
async function applying(page) {
  await previewed(page)
  let done = 12_000
  await page.route(/\/change-sets\/\d+$/, async (route) => {
    const answer = await (await route.fetch()).json()
    done += 700
    const counts = { ...answer.counts, rows: 40_000, planned: 39_988 - done, applied: done, conflict: 12 }
    await route.fulfill({ json: { ...answer, state: 'applying', counts } })
  })
  await page.getByRole('button', { name: 'Refresh' }).click()
  await page
    .locator('.progress')
    .getByText(/ left$/)
    .waitFor()
}

async function applied(page) {
  await previewed(page)
  const { QuotaClient } = await import('@quota-service/client')
  const boris = new QuotaClient({ baseUrl: service.url, token: tokens.boris })
  const first = await page.locator('tbody [data-row-link]').first().innerText()
  const now = await boris.mail.quotas.get(Number(first.replace('#', '')))
  await boris.mail.quotas.update(now.id, { total: now.total + 1 })
  await page.getByRole('button', { name: /^Change \d/ }).click()
  await page.getByRole('button', { name: /^Undo \d/ }).waitFor()
}

async function undone(page) {
  await applied(page)
  await page.getByRole('button', { name: /^Undo \d/ }).click()
  await page
    .getByRole('dialog')
    .getByRole('button', { name: /^Undo \d/ })
    .click()
  await page.getByText(/as before/).waitFor()
}

async function mistakes(page) {
  await page
    .getByLabel('Paste from a spreadsheet, or type')
    .fill(
      'account_id\tquota_type\ttotal\texpire_at\tlabel\n7\t1\tmany\t2027-01-31T00:00:00Z\tSpring\n8\t1\t500\t2027-01-31T00:00:00Z\tAutumn\n9\t4\t500\tsoon\tA label that is rather long and goes on and on',
    )
  await page.getByRole('button', { name: 'Check' }).click()
  await page.getByRole('list', { name: 'Mistakes by line' }).waitFor()
}

/** Another user saves after the form is opened and before it is saved. */
async function conflict(page) {
  await page.getByLabel('Total').fill('5000')
  const { QuotaClient } = await import('@quota-service/client')
  const boris = new QuotaClient({ baseUrl: service.url, token: tokens.boris })
  const now = await boris.mail.quotas.get(12)
  await boris.mail.quotas.update(12, { total: now.total + 1, label: 'Business, agreed by phone' })
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByRole('button', { name: 'Save mine on top' }).waitFor()
}

async function newCap(page) {
  await page.getByLabel(/^limits/).check()
  await page.getByLabel('Total', { exact: true }).fill('300')
}

async function editCap(page) {
  await page.locator('[data-row-link]').first().click()
  await page.getByRole('button', { name: 'Edit' }).click()
  await page.getByRole('button', { name: '7 days' }).click()
}

/** The message after an action. */
async function topUp(page) {
  await page.getByRole('button', { name: 'Top up' }).click()
  await page.getByLabel('Units', { exact: true }).fill('1.500')
  await page.getByRole('button', { name: /^Give/ }).click()
  await page.locator('.announcement').getByText('units are given').waitFor()
}

/** Leaves the console for the page that a link shows. */
async function followLink(page) {
  await pressInMenu(page, 'Send a link')
  await page.getByRole('button', { name: 'Create link' }).click()
  await page.goto(await page.locator('dialog code').innerText())
  await page.getByText('This link works until').waitFor()
}
