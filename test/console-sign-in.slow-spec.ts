import { beforeAll, expect, it, jest } from '@jest/globals'
import type { Page } from 'playwright-core'
import { seriousFindings, TestBrowser } from './support/browser.js'
import { becomes, eventually, expectSoundAt, reads, ready, Service, signIn, TOKENS, until } from './support/console.js'
import { AUDIENCE, OpenIdProvider } from './support/open-id-provider.js'
import { opened } from './support/opened.js'
import { onOneStore } from './support/store.js'

// A browser on a busy machine.
jest.setTimeout(600_000)

/** A name as long as some addresses are. */
const LONG = 'anna.lindqvist-of-the-back-office@office.example.com'
/** How the service refuses a token. */
const UNAUTHENTICATED = JSON.stringify({
  type: 'about:blank',
  title: 'Unauthorized',
  status: 401,
  code: 'unauthenticated',
  detail: 'the token is unknown or has expired',
  request_id: 'x',
})

onOneStore('signing in at an identity provider', (kind) => {
  let provider: OpenIdProvider
  let service: Service
  let browser: TestBrowser

  beforeAll(async () => {
    provider = await OpenIdProvider.start()
    service = await Service.on(kind, {
      OIDC_ISSUER: provider.issuer,
      OIDC_AUDIENCE: AUDIENCE,
      OIDC_ROLES: 'quota-admins:admin,mailers:usage+mail',
      OIDC_CONSOLE_CLIENT_ID: 'console',
      OIDC_CONSOLE_SCOPE: 'openid quota',
      CONSOLE_IDLE_MINUTES: '30',
      // A token that has ended is refused at once.
      OIDC_CLOCK_SKEW_SECONDS: '0',
    })
    opened(async () => service.stop())
    provider.register([
      {
        client_id: 'console',
        token_endpoint_auth_method: 'none',
        redirect_uris: [`${service.url}/admin/`],
        post_logout_redirect_uris: [`${service.url}/admin/`],
        grant_types: ['authorization_code', 'refresh_token'],
        response_types: ['code'],
      },
      {
        client_id: 'mailer',
        client_secret: 'secret',
        grant_types: ['client_credentials'],
        redirect_uris: [],
        response_types: [],
      },
    ])
    browser = await TestBrowser.start()
  })

  const button = (page: Page) => page.getByRole('button', { name: /^Sign in with 127\.0\.0\.1/ })
  /** At the provider's own page. */
  const passAs = async (page: Page, name: string): Promise<void> => {
    await page.fill('input[name=login]', name)
    await page.fill('input[name=password]', 'any')
    await page.click('button[type=submit]')
    // Its next page asks whether the console may know that.
    await page.locator('input[name=prompt][value=consent]').waitFor({ state: 'attached' })
    await page.click('button[type=submit]')
  }
  const signedIn = async (page: Page, name: string): Promise<void> => {
    await page.locator('.who b', { hasText: `oidc:${name}` }).waitFor()
  }
  /** Asks the service as a page does, until it refuses that. */
  const refused = async (page: Page): Promise<void> => {
    const request = page.waitForRequest('**/api/v1/quotas/**')
    await page.getByRole('button', { name: 'Refresh' }).click()
    const authorization = (await (await request).headerValue('authorization'))!
    const status = async (): Promise<number> =>
      (await fetch(`${service.url}/api/v1/me`, { headers: { authorization } })).status
    await eventually(async () => (await status()) !== 200)
  }
  const kept = async (page: Page): Promise<string> =>
    page.evaluate<string>('JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie])')

  it('admits a service by client credentials', async () => {
    const token = await provider.tokenFor('mailer', 'secret')
    const answer = await fetch(`${service.url}/api/v1/me`, { headers: { authorization: `Bearer ${token}` } })
    expect(await answer.json()).toMatchObject({ name: 'oidc:mailer', role: 'usage', scopes: ['mail'], source: 'oidc' })
  })

  it('returns to the requested screen, stores no token, and stays signed in after a reload and in a new tab', async () => {
    const page = await browser.page()
    await page.goto(`${service.url}/admin/mail/quotas?status=active`)
    await button(page).waitFor()
    expect(await seriousFindings(page)).toEqual([])
    await button(page).click()
    await passAs(page, LONG)
    await signedIn(page, LONG)
    await becomes(async () => page.url(), `${service.url}/admin/mail/quotas?status=active`)
    expect(await kept(page)).not.toMatch(/eyJ/)
    const another = await page.context().newPage()
    await another.goto(`${service.url}/admin/mail/changes?actor=x`)
    await page.reload()
    for (const [tab, path] of [
      [page, '/mail/quotas?status=active'],
      [another, '/mail/changes?actor=x'],
    ] as const) {
      await signedIn(tab, LONG)
      await becomes(async () => tab.url(), `${service.url}/admin${path}`)
      await becomes(async () => kept(tab), '[{},{},""]')
    }
    await ready(page)
    await expectSoundAt(page, { width: 360, height: 800 }, 'dark')
    const addresses = browser.addresses.filter((address) => address.startsWith(service.url))
    expect(addresses.filter((address) => address.includes('eyJ'))).toEqual([])
  })

  it('renews the token while a form is open', async () => {
    const id = await service.quota(4711)
    // Ends within the half minute in which a token is renewed before it is used.
    provider.lifetime = 20
    const page = await browser.page()
    await page.goto(`${service.url}/admin/mail/quotas/${id}?edit=true`)
    await button(page).click()
    await passAs(page, 'boris')
    await signedIn(page, 'boris')
    const grants = () => provider.asked.filter((one) => one === 'POST /token').length
    const before = grants()
    await page.getByLabel('Total').fill('4321')
    await page.getByRole('button', { name: 'Save' }).click()
    // Not the amount alone: the form shows it as it is understood before it is saved.
    await page.getByText('left of 4,321').waitFor()
    expect(grants()).toBeGreaterThan(before)
    const { items } = (await service.call('admin', 'GET', `/api/v1/quotas/${id}/changes`)) as { items: object[] }
    expect(items[0]).toMatchObject({ actor: 'oidc:boris', after: { total: 4321 } })
  })

  it('renews the token later if the provider did not answer', async () => {
    const id = await service.quota(4714)
    provider.lifetime = 25
    const page = await browser.page()
    await page.goto(`${service.url}/admin/mail/quotas/${id}`)
    await button(page).click()
    await passAs(page, 'boris')
    await signedIn(page, 'boris')
    let [refused, renewed] = [0, 0]
    await page.route('**/token', async (route) => {
      refused += 1
      await (refused > 1 ? route.continue() : route.abort())
    })
    page.on('response', (response) => {
      if (response.url().endsWith('/token') && response.ok()) renewed += 1
    })
    await eventually(async () => {
      await page.getByRole('button', { name: 'Refresh' }).click()
      return refused > 1 && renewed > 0
    })
    expect(await page.getByRole('dialog', { name: 'Sign in again' }).count()).toBe(0)
  })

  it('takes a token while the provider hangs', async () => {
    const page = await browser.page()
    await page.route('**/.well-known/**', async () => Promise.resolve())
    await page.goto(`${service.url}/admin/mail/quotas`)
    await button(page).click()
    await page.getByText('The identity provider did not sign you in: it did not answer in time').waitFor()
    await page.fill('input[type=password]', TOKENS.admin)
    await page.getByRole('button', { name: 'Sign in', exact: true }).click()
    await page.locator('.who b', { hasText: 'admin' }).waitFor()
  })

  it('asks to sign in again after the token has expired and cannot be renewed, and keeps the input', async () => {
    const id = await service.quota(4712)
    // Long enough for a slow answer.
    provider.lifetime = 15
    const page = await browser.page()
    await page.goto(`${service.url}/admin/mail/quotas/${id}?edit=true`)
    await button(page).click()
    await passAs(page, 'boris')
    await signedIn(page, 'boris')
    await page.getByLabel('Total').fill('5678')
    // It knows nobody any more, and signs with another key.
    await provider.rotate()
    provider.lifetime = 600
    await refused(page)
    const dialog = page.getByRole('dialog', { name: 'Sign in again' })
    // What the page reads again by itself may meet it first: then the dialog is in front of the button.
    const save = page.getByRole('button', { name: 'Save' })
    if (await dialog.isHidden()) await save.click({ timeout: 5_000 }).catch(() => undefined)
    await dialog.getByText('Your session has ended. What you typed on this page is kept.').waitFor()
    expect(await seriousFindings(page)).toEqual([])
    await dialog.getByRole('button', { name: /^Sign in with/ }).click()
    await passAs(page, 'boris')
    await signedIn(page, 'boris')
    await becomes(async () => page.url(), `${service.url}/admin/mail/quotas/${id}?edit=true`)
    await becomes(async () => page.getByLabel('Total').inputValue(), '5678')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('left of 5,678').waitFor()

    // A page that is loaded anew asks the provider, which knows nobody.
    provider.forget()
    await page.goto(`${service.url}/admin/mail/quotas/${id}`)
    await page.getByRole('alert').getByText('The identity provider asks you to sign in again.').waitFor()
    await button(page).waitFor()
    expect(page.url()).toBe(`${service.url}/admin/mail/quotas/${id}`)
  })

  it('continues as the user who signs in with a token instead, and not as the previous session', async () => {
    provider.lifetime = 20
    const page = await browser.page()
    await page.goto(`${service.url}/admin/mail/quotas`)
    await button(page).click()
    await passAs(page, 'boris')
    await signedIn(page, 'boris')
    await ready(page)
    const quotas = '**/api/v1/quotas?**'
    await page.route(quotas, async (route) =>
      route.fulfill({ status: 401, body: UNAUTHENTICATED, contentType: 'application/problem+json' }),
    )
    await page.getByRole('button', { name: 'Refresh' }).click()
    const dialog = page.getByRole('dialog', { name: 'Sign in again' })
    await dialog.waitFor()
    await page.unroute(quotas)
    await signIn(page, 'chen')
    await dialog.waitFor({ state: 'detached' })
    await page.locator('.who b', { hasText: 'chen' }).waitFor()
    const asked = page.waitForRequest(quotas)
    await page.getByRole('button', { name: 'Refresh' }).click()
    expect(await (await asked).headerValue('authorization')).toBe(`Bearer ${TOKENS.chen}`)
    provider.lifetime = 600
  })

  it('tells users without a sufficient role, and lets another user sign in', async () => {
    provider.roles.set('dora', []).set('emil', ['mailers'])
    const page = await browser.page()
    await page.goto(`${service.url}/admin/`)
    await button(page).click()
    await passAs(page, 'dora')
    const told = page.getByRole('alert')
    await told.getByText('The identity provider knows you, but gives you no role in this service.').waitFor()
    expect(await seriousFindings(page)).toEqual([])
    await becomes(async () => kept(page), '[{},{},""]')
    // The provider knows dora still, and is to ask all the same.
    await button(page).click()
    await passAs(page, 'emil')
    await signedIn(page, 'emil')
    await page.getByRole('heading', { name: 'You may not manage quotas' }).waitFor()
    await reads(page.locator('main'), /Your account oidc:emil has the role usage/)
    expect(await seriousFindings(page)).toEqual([])
  })

  it('signs out here and at the provider', async () => {
    const page = await browser.page()
    await page.goto(`${service.url}/admin/`)
    await button(page).click()
    await passAs(page, 'chen')
    await signedIn(page, 'chen')
    const another = await page.context().newPage()
    await another.goto(`${service.url}/admin/`)
    await signedIn(another, 'chen')
    await page.getByRole('button', { name: 'Sign out' }).click()
    await button(another).waitFor()
    await becomes(async () => kept(another), '[{},{},""]')
    // The provider asks whether that is meant.
    await page.waitForURL(`${provider.issuer}/session/end**`)
    await page.click('button[value=yes]')
    await page.waitForURL(`${service.url}/admin/**`)
    await button(page).waitFor()
    await becomes(async () => kept(page), '[{},{},""]')
    await button(page).click()
    await page.locator('input[name=login]').waitFor()
  })

  it("shows the provider's error, and then the sign-in page", async () => {
    const page = await browser.page()
    await page.goto(`${service.url}/admin/`)
    await button(page).click()
    await page.locator('input[name=login]').waitFor()
    await page.getByText('[ Cancel ]').click()
    await page.getByText('The identity provider did not sign you in: End-User aborted interaction').waitFor()
    await reads(page.getByRole('alert'), /You are not signed in/)
    await button(page).waitFor()
    await page.goto(`${service.url}/admin/?code=stolen&state=forged`)
    await button(page).waitFor()
  })

  it('signs out an inactive user', async () => {
    const page = await browser.page()
    await page.clock.install()
    await page.goto(`${service.url}/admin/`)
    await signIn(page, 'anna')
    await page.locator('.who b', { hasText: 'anna' }).waitFor()
    await page.clock.fastForward('29:00')
    await page.mouse.move(5, 5)
    await page.keyboard.press('Shift')
    await page.clock.fastForward('29:00')
    await page.locator('.who b', { hasText: 'anna' }).waitFor()
    await page.clock.fastForward('02:00')
    await page.getByText('Nothing was touched for 30 minutes').waitFor()
    await reads(page.getByRole('alert'), /You were signed out/)
    await becomes(async () => kept(page), '[{},{},""]')
  })

  it('signs out a user who is inactive in all tabs', async () => {
    const page = await browser.page()
    await page.clock.install()
    await page.goto(`${service.url}/admin/`)
    await signIn(page, 'anna')
    const another = await page.context().newPage()
    await another.goto(`${service.url}/admin/`)
    const who = another.locator('.who b', { hasText: 'anna' })
    await who.waitFor()
    await page.clock.fastForward('29:00')
    // The console began to listen before, and is told first.
    await another.evaluate(`new BroadcastChannel('quota-console-session').onmessage = () => (window.told = true)`)
    await page.keyboard.press('Shift')
    await until(another, 'window.told === true')
    await page.clock.fastForward('29:00')
    expect(await who.count()).toBe(1)
    await page.clock.fastForward('02:00')
    for (const tab of [page, another]) {
      await tab.getByText('Nothing was touched for 30 minutes').waitFor()
      await becomes(async () => kept(tab), '[{},{},""]')
    }
  })

  it('does not resume or pass on a session after that time, though no timer ran in a sleep', async () => {
    for (const opens of ['reload', 'new tab'] as const) {
      const page = await browser.page()
      await page.clock.install()
      await page.goto(`${service.url}/admin/`)
      await signIn(page, 'anna')
      // Timers stand still.
      await page.clock.pauseAt(Date.now() + 60_000)
      await page.clock.setSystemTime(Date.now() + 32 * 60_000)
      const asked: string[] = []
      page.context().on('request', (request) => {
        if (request.url().endsWith('/api/v1/me')) asked.push(request.url())
      })
      if (opens === 'reload') await page.reload()
      else await (await page.context().newPage()).goto(`${service.url}/admin/`)
      await page.getByText('Nothing was touched for 30 minutes').waitFor()
      expect(asked).toEqual([])
    }
  })

  it('also ends the session at the provider, and says why after the return', async () => {
    const page = await browser.page()
    await page.clock.install()
    await page.goto(`${service.url}/admin/mail/quotas`)
    await button(page).click()
    await passAs(page, 'fritz')
    await signedIn(page, 'fritz')
    await page.clock.fastForward('30:01')
    await page.waitForURL(`${provider.issuer}/session/end**`)
    await page.click('button[value=yes]')
    await page.getByText('Nothing was touched for 30 minutes').waitFor()
    await becomes(async () => kept(page), '[{},{},""]')
    await page.reload()
    await button(page).waitFor()
    expect(await page.getByRole('alert').count()).toBe(0)
  })

  it('names only the issuer in the policy, and had no violation of it', async () => {
    const answer = await fetch(`${service.url}/admin/`)
    expect(answer.headers.get('content-security-policy')).toContain(`connect-src 'self' ${provider.issuer};`)
    expect(browser.reports).toEqual([])
    expect(browser.errors).toEqual([])
  })
})
