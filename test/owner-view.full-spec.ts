import { readdir, readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { beforeAll, describe, expect, it, jest } from '@jest/globals'
import type { Page } from 'playwright-core'
import { TestBrowser } from './support/browser.js'
import {
  button,
  expectSound,
  field,
  heading,
  inDays,
  open as openIn,
  pressInMenu,
  ready,
  Service,
  storageOf,
} from './support/console.js'
import { opened } from './support/opened.js'
import { type Store, STORES } from './support/store.js'

// A browser on a busy machine.
jest.setTimeout(180_000)

const LINK_SECRET = 'a secret of the tests with more than 32 characters'
const QUOTAS = '/api/v1/quotas'
const MAX_BYTES = 60_000

let store: Store
let service: Service
/** With the console. */
let office: Service
let browser: TestBrowser
let embedding: string
let keys = 0

beforeAll(async () => {
  store = await STORES[0]!.open()
  const server = createServer((request, response) => {
    // The address of the frame follows the question mark.
    const frame = decodeURIComponent(request.url?.split('?')[1] ?? '')
    response.setHeader('Content-Type', 'text/html').end(`<iframe title="left" src="${frame}"></iframe>`)
  })
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  opened(() => void server.close())
  embedding = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  service = await Service.start(store, {
    LINK_SECRET,
    CONSOLE: 'false',
    LOG_LEVEL: 'debug',
    VIEW_FRAME_ANCESTORS: embedding,
  })
  office = await Service.start(store, { LINK_SECRET })
  browser = await TestBrowser.start()
})

const linkOf = async (account: number, ttl = 3600): Promise<string> =>
  (await service.call('anna', 'POST', `${QUOTAS}/owners/${account}/link`, { ttl_seconds: ttl })).url as string

async function consume(account: number, amount: number): Promise<void> {
  keys += 1
  await service.call('mailer', 'POST', `${QUOTAS}/usage/consume`, { account_id: account, amount }, `view-${keys}`)
}

async function shown(url: string, options: Parameters<TestBrowser['page']>[0] = {}): Promise<Page> {
  const page = await browser.page(options)
  await page.goto(url)
  await page.locator('main:not([aria-busy]) h1').waitFor()
  return page
}

/** An account with everything that the page can show. */
async function fullAccount(account: number): Promise<void> {
  await service.quota(account, { label: 'Newsletter <b>', total: 12_000 })
  await service.quota(account, {
    ...{ quota_type: 3, total: 100, cap: 'enforce', window_seconds: 3600 },
    ...{ cycle_unit: null, cycle_reset_at: null },
  })
  await service.quota(account, { cap: 'observe', total: 10, cycle_unit: 'day', cycle_reset_at: inDays(1) })
  const group = await service.call('anna', 'POST', `${QUOTAS}/groups`, { name: `group of ${account}` })
  await service.call('anna', 'POST', `${QUOTAS}/groups/${group.id}/members`, { account_ids: [account] })
  const shared = { group_id: group.id, quota_type: 1, total: 5_000, expire_at: inDays(90), label: 'Team' }
  await service.call('anna', 'POST', QUOTAS, shared)
  await consume(account, 40)
  await consume(account, 61).catch(() => undefined)
}

/** Reads the page again until it says something: counts of refusals are written a few seconds later. */
async function untilSaid(page: Page, text: string): Promise<void> {
  while (!(await page.locator('main').innerText()).includes(text)) {
    await page.waitForTimeout(200)
    await page.getByRole('button').click()
    await page.locator('main:not([aria-busy])').waitFor()
  }
}

describe('the page of a link', () => {
  it('shows what is left, what limits it, refusals and usage, and nothing of others', async () => {
    await fullAccount(71)
    const page = await shown(await linkOf(71))
    await untilSaid(page, 'Not enough was left')
    await page.getByText('As a table').click()
    const text = (await page.locator('main').innerText()).replaceAll(/\s+/g, ' ')
    for (const part of [
      ...['What you have left Account 71', '60 can be sent now', 'Newsletter <b> Quota 11,960 of 12,000 left'],
      ...['Limit 60 of 100 left', 'Limit, only watched 0 of 10 left', 'Team Quota, shared with others 60 left for you'],
      ...['More from', 'Ends', 'Last refusals', 'Used in the last 31 days 40 in all. Most on', 'This link works until'],
    ])
      expect(text).toContain(part)
    expect(text).not.toContain('5,000')
    expect(await page.locator('tbody tr').count()).toBe(32 + 1)
  })

  it('is accessible in light and dark, at 360 pixels, with and without content', async () => {
    await fullAccount(72)
    await service.quota(72, { label: 'l'.repeat(120) })
    const full = await shown(await linkOf(72))
    await full.getByText('As a table').click()
    await expectSound(full)
    await expectSound(await shown(await linkOf(73)))
    await expectSound(await shown(`${service.url}/view/#nothing`))
  })

  it.each([
    ['en-US', 'What you have left'],
    ['de-AT', 'Was Ihnen noch bleibt'],
    ['fr-CA', 'Ce qu’il vous reste'],
    ['es-MX', 'Lo que le queda'],
    ['pt-BR', 'O que ainda tem'],
    ['ja-JP', 'What you have left'],
  ])('is in the language of a browser in %s', async (locale, title) => {
    const account = 80
    if (locale === 'en-US') await service.quota(account, { total: 12_345 })
    const page = await shown(await linkOf(account), { locale })
    expect(await page.title()).toBe(title)
    expect(await heading(page, title).count()).toBe(1)
    const used = locale === 'ja-JP' ? 'en' : locale
    expect(await page.evaluate('document.documentElement.lang')).toBe(used)
    const { format } = new Intl.NumberFormat(used)
    expect(await page.locator('.available strong').innerText()).toBe(format(12_345))
  })

  it('says in a clear sentence that a link does not open: expired, cut, revoked or none', async () => {
    const url = await linkOf(90)
    await service.call('anna', 'POST', `${QUOTAS}/owners/91/links/revoke`)
    const revoked = await linkOf(91)
    await service.call('anna', 'POST', `${QUOTAS}/owners/91/links/revoke`)
    for (const one of [url.slice(0, -1), revoked, `${service.url}/view/`, `${service.url}/view/#%F0%9F%92%A3`]) {
      const page = await shown(one)
      expect(await page.locator('main').innerText()).toMatch(/^This link does not open\s+It has ended, or/)
      // Another link in the same tab.
      await page.evaluate(`location.hash = ${JSON.stringify(new URL(url).hash)}`)
      await page.getByText('can be sent now').waitFor()
    }
  })

  it('says that the service does not answer, and tries again', async () => {
    const page = await browser.page()
    let isAway = true
    await page.route('**/api/v1/view', async (route) =>
      isAway ? route.fulfill({ status: 500, body: '{}' }) : route.continue(),
    )
    await page.goto(await linkOf(92))
    await heading(page, 'The service does not answer').waitFor({ timeout: 60_000 })
    isAway = false
    await page.getByRole('button').click()
    await page.getByText('can be sent now').waitFor()
  })

  it('keeps the token in the fragment: in no address that is sent, storage, header, log or error', async () => {
    const url = await linkOf(93)
    const token = new URL(url).hash.slice(1)
    const sent: string[] = []
    const page = await browser.page()
    page.on('request', (request) => {
      const { authorization, ...headers } = request.headers()
      sent.push(JSON.stringify([request.url().split('#')[0], headers, request.postData()]))
      if (authorization !== undefined) expect(new URL(request.url()).pathname).toBe('/api/v1/view')
    })
    await page.goto(url)
    await page.getByText('can be sent now').waitFor()
    await ready(page)
    expect(sent.length).toBeGreaterThan(2)
    expect([sent.join(), await storageOf(page), service.log].join()).not.toContain(token.split('.')[5])
    expect(service.log).toContain('"principal":"link"')
    expect(service.log).not.toContain('link:mail')
  })

  it('may be shown in a frame by the configured origins, and by no other', async () => {
    const url = encodeURIComponent(await linkOf(94))
    const page = await browser.page()
    await page.goto(`${embedding}/?${url}`)
    await page.frameLocator('iframe').getByText('can be sent now').waitFor()
    const other = await browser.page()
    const elsewhere = embedding.replace('127.0.0.1', 'localhost')
    const blocked = other.waitForEvent('console', (message) => message.text().includes('frame-ancestors'))
    await other.goto(`${elsewhere}/?${url}`)
    await blocked
    browser.errors.splice(0)
  })

  it('is served with its policy, is kept nowhere, and its own files are small', async () => {
    const answer = await fetch(`${service.url}/view/`)
    expect(Object.fromEntries(answer.headers)).toMatchObject({
      'cache-control': 'no-store',
      'referrer-policy': 'no-referrer',
      'content-security-policy': expect.stringContaining(`form-action 'none'; frame-ancestors ${embedding}`),
    })
    expect((await fetch(`${service.url}/view`, { redirect: 'manual' })).headers.get('location')).toBe('/view/')
    for (const path of ['/view/x', '/view/assets/', '/view/view.html', '/admin/'])
      expect([path, (await fetch(`${service.url}${path}`)).ok]).toEqual([path, false])
    const assets = join(process.cwd(), 'console/dist/view/assets')
    const names = (await readdir(assets)).filter((name) => !name.endsWith('.gz'))
    const cached = await fetch(`${service.url}/view/assets/${names[0]!}`)
    expect(cached.headers.get('cache-control')).toBe('public, max-age=31536000, immutable')
    const files = await Promise.all(names.map(async (name) => readFile(join(assets, name))))
    expect(gzipSync(Buffer.concat(files)).length).toBeLessThan(MAX_BYTES)
  })

  it('is reached by a link that the console makes, shows once, and ends', async () => {
    const page = await openIn(browser, office, '/mail/owners/95')
    await pressInMenu(page, 'Send a link')
    await expectSound(page)
    await field(page, 'It works for').selectOption('a week')
    await button(page, 'Create link').click()
    const url = await page.locator('dialog code').innerText()
    await page.locator('dialog .announcement', { hasText: 'The link is created.' }).waitFor()
    await page.locator('button:focus', { hasText: 'Copy' }).waitFor()
    await expectSound(page)
    expect(await storageOf(page)).not.toContain(url.split('#')[1])
    const view = await shown(url)
    expect(await view.locator('main').innerText()).toContain('Account 95')
    await button(page, 'End all links…').click()
    await expectSound(page)
    await button(page, 'End them').click()
    await page.locator('.announcement', { hasText: 'are ended' }).waitFor()
    await view.getByRole('button').click()
    await heading(view, 'This link does not open').waitFor()
  })

  it('breaks no rule of its policy, and throws nothing', () => {
    expect([browser.reports, browser.errors]).toEqual([[], []])
  })
})
