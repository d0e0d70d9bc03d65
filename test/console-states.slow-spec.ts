import { afterAll, beforeAll, beforeEach, describe, it, jest } from '@jest/globals'
import type { Page, Route } from 'playwright-core'
import { TestBrowser } from './support/browser.js'
import {
  becomes,
  expectSoundAt,
  field,
  heading,
  reads,
  resize,
  Service,
  signIn,
  TOKENS,
  until,
} from './support/console.js'
import { figure } from './support/figures.js'
import { STORES } from './support/store.js'

// A browser on a busy machine.
jest.setTimeout(600_000)

/** What the screens ask for; who is asking is told all the same. */
const DATA = /\/(api\/v1\/quotas|health)/
const REQUEST_ID = '01939f3e-5c00-7a6b-8c1d-2e3f4a5b6c7d'
/** Beyond any time for which the client tries again by itself. */
const LATER = { 'retry-after': '3600' }

describe('each screen of the console', () => {
  let service: Service
  let browser: TestBrowser
  let page: Page
  let looked = 0
  /** Screens that read something, each with what it says where there is nothing. */
  const screens: Record<string, { path: string; empty: [path: string, ...texts: string[]] }> = {}

  beforeAll(async () => {
    service = await Service.on(STORES[0]!)
    const id = await service.quota(7, { label: 'Team' })
    const unused = await service.quota(8)
    const usage = '/api/v1/quotas/usage'
    const hold = await service.call('mailer', 'POST', `${usage}/reserve`, { account_id: 7, amount: 5 }, 'held')
    Object.assign(screens, {
      overview: {
        path: '/mail',
        empty: [
          '/sms',
          'Nobody was refused.',
          'No active quota ends within 7 days.',
          'Nobody has changed anything yet.',
        ],
      },
      quotas: { path: '/mail/quotas', empty: ['/sms/quotas', 'There is no quota yet.'] },
      'a quota': { path: `/mail/quotas/${id}`, empty: [`/mail/quotas/${unused}`, 'Nothing was spent'] },
      'a quota, editing': {
        path: `/mail/quotas/${id}?edit=true`,
        empty: ['/mail/quotas/999999', 'There is no such quota'],
      },
      'an owner': {
        path: '/mail/owners/7',
        empty: [
          '/sms/owners/999',
          'has no active quota: everything is refused.',
          'Nothing is held.',
          'Nothing was refused.',
          'Nothing was spent or held yet.',
        ],
      },
      'an operation': {
        path: `/mail/operations/${hold.id}`,
        empty: ['/mail/operations/01939f3e-5c00-7a6b-8c1d-2e3f4a5b6c7d', 'There is no such operation'],
      },
      'an operation by its key': {
        path: '/mail/operations?key=held&caller=mailer',
        empty: ['/mail/operations?key=none&caller=mailer', 'No operation has the key'],
      },
      changes: { path: '/mail/changes', empty: ['/sms/changes', 'Nobody has changed anything yet.'] },
    })
    browser = await TestBrowser.start()
  })

  // No test is left the page, the session or the routes of another one.
  beforeEach(async () => {
    page = await browser.page()
    await page.goto(`${service.url}/admin/`)
    await signIn(page, 'anna')
  })

  afterAll(async () => {
    figure('console, states', { screens: Object.keys(screens).length, looks: looked })
  })

  async function look(): Promise<void> {
    for (const [colorScheme, width, height] of [
      ['light', 1280, 800],
      ['dark', 360, 740],
    ] as const) {
      await expectSoundAt(page, { width, height }, colorScheme)
      looked += 1
    }
    await resize(page, { width: 1280, height: 800 })
  }

  /** Goes to each screen while the service answers so. */
  async function onEach(
    answer: (route: Route) => Promise<void>,
    check: (name: string) => Promise<void>,
  ): Promise<void> {
    await page.route(DATA, answer)
    try {
      for (const [name, { path }] of Object.entries(screens)) {
        await page.goto(`${service.url}/admin${path}`)
        await page.getByRole('banner').waitFor()
        await check(name)
      }
    } finally {
      await page.unrouteAll({ behavior: 'ignoreErrors' })
    }
  }

  const refuses =
    (status: number, code: string, headers: Record<string, string> = {}) =>
    async (route: Route): Promise<void> =>
      route.fulfill({
        status,
        headers: { 'content-type': 'application/problem+json', ...headers },
        body: JSON.stringify({
          type: 'about:blank',
          title: code,
          status,
          detail: `it is ${code}`,
          code,
          request_id: REQUEST_ID,
        }),
      })

  /** The cause is told once, with what to do and the request id, and each other part says that it is not there. */
  async function failed(text: RegExp): Promise<void> {
    await page.getByRole('alert').first().waitFor()
    await until(page, "document.querySelector('.loading') === null")
    await becomes(async () => page.getByRole('alert').count(), 1)
    await reads(page.getByRole('alert'), text)
    await look()
  }

  it('says so if there is nothing', async () => {
    for (const { empty } of Object.values(screens)) {
      const [path, ...texts] = empty
      await page.goto(`${service.url}/admin${path}`)
      for (const text of texts) await page.getByText(text).first().waitFor()
      await look()
    }
  })

  it('shows that it is loading', async () => {
    await onEach(
      async () => new Promise(() => undefined),
      async () => {
        await page.getByText('Loading…').first().waitFor()
        await look()
      },
    )
  })

  it('reports an unavailable service, and continues when it returns', async () => {
    await onEach(refuses(503, 'unavailable', LATER), async () =>
      failed(new RegExp(`unavailable[\\s\\S]*Try again; if it stays so[\\s\\S]*${REQUEST_ID}`)),
    )
    await page.getByRole('alert').getByRole('button', { name: 'Try again' }).click()
    await page.getByRole('alert').waitFor({ state: 'detached' })
    await page.locator('tbody [data-row]').first().waitFor()
  })

  it('retries all parts at once, not only the first', async () => {
    await page.route(DATA, refuses(503, 'unavailable', LATER))
    await page.goto(`${service.url}/admin/mail/owners/7`)
    await until(page, "document.querySelectorAll('.unread').length >= 5 && document.querySelector('.loading') === null")
    await page.unrouteAll({ behavior: 'ignoreErrors' })
    await page.getByRole('alert').getByRole('button', { name: 'Try again' }).click()
    await until(page, "document.querySelector('.unread, .failure, .loading') === null")
    await page.getByText('Nothing was refused.').waitFor()
  })

  it('no longer waits for a read that nobody looks at', async () => {
    await page.route(DATA, refuses(503, 'unavailable', { 'retry-after': '3' }))
    await page.goto(`${service.url}/admin/mail/quotas`)
    await page.locator('[data-waiting]').waitFor()
    await page.unrouteAll({ behavior: 'ignoreErrors' })
    await page.getByRole('navigation', { name: 'Sections' }).getByRole('link', { name: 'Groups' }).click()
    await page.locator('[data-waiting]').waitFor({ state: 'detached' })
  })

  it('says that the user has no access', async () => {
    await onEach(refuses(403, 'forbidden'), async () => failed(/forbidden[\s\S]*Ask for a token with that role/))
  })

  it('asks for a token if its own is no longer accepted', async () => {
    await onEach(refuses(401, 'unauthenticated'), async () => {
      const dialog = page.getByRole('dialog', { name: 'Sign in again' })
      await dialog.waitFor()
      await look()
    })
    await field(page.getByRole('dialog'), 'Token').fill(TOKENS.anna)
    await page.getByRole('dialog').getByRole('button', { name: 'Sign in' }).click()
    await page.locator('tbody [data-row]').first().waitFor()
    await becomes(async () => page.getByRole('alert').count(), 0)
  })

  it('says first that it waits, then that no answer came, without a network', async () => {
    page = await browser.page()
    await page.clock.install()
    await page.goto(`${service.url}/admin/`)
    await signIn(page, 'anna')
    await onEach(
      async (route) => route.abort('connectionrefused'),
      async () => {
        await page.clock.runFor(1_000)
        await page.locator('[data-waiting]').getByText('No answer from the service.').waitFor()
        for (let seconds = 0; seconds < 120 && (await page.getByRole('alert').count()) === 0; seconds += 1)
          await page.clock.runFor(1_000)
        for (let seconds = 0; seconds < 30; seconds += 1) await page.clock.runFor(1_000)
        await failed(/No answer came[\s\S]*Look whether the connection is there, then try again/)
      },
    )
  })

  it('says on the sign-in page why a kept token could not be checked, and signs in when it can', async () => {
    await page.route('**/api/v1/me', refuses(503, 'unavailable', LATER))
    await page.goto(`${service.url}/admin/mail/changes`)
    await heading(page, 'Sign in').waitFor()
    await reads(page.getByRole('alert'), new RegExp(REQUEST_ID))
    await look()
    await page.unrouteAll({ behavior: 'ignoreErrors' })
    await page.getByRole('button', { name: 'Try again' }).click()
    await heading(page, 'Mail: changes').waitFor()
  })
})
