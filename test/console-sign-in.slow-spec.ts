import { afterAll, beforeAll, expect, it } from '@jest/globals'
import type { Page } from 'playwright-core'
import { seriousFindings, TestBrowser } from './support/browser.js'
import { Service, signIn } from './support/console.js'
import { AUDIENCE, OpenIdProvider } from './support/open-id-provider.js'
import { opened } from './support/opened.js'
import { onEveryStore, type Store } from './support/store.js'

/** How the service refuses a token that has ended. */
const UNAUTHENTICATED = JSON.stringify({
  type: 'about:blank',
  title: 'Unauthorized',
  status: 401,
  code: 'unauthenticated',
  detail: 'the token is unknown or has expired',
  request_id: 'x',
})

onEveryStore('signing in at an identity provider', (kind) => {
  let store: Store
  let provider: OpenIdProvider
  let service: Service
  let browser: TestBrowser

  beforeAll(async () => {
    provider = await OpenIdProvider.start()
    store = await kind.open()
    service = await Service.start(store, {
      OIDC_ISSUER: provider.issuer,
      OIDC_AUDIENCE: AUDIENCE,
      OIDC_ROLES: 'quota-admins:admin,mailers:usage+mail',
      OIDC_CONSOLE_CLIENT_ID: 'console',
      OIDC_CONSOLE_SCOPE: 'openid quota',
      CONSOLE_IDLE_MINUTES: '30',
    })
    opened(async () => service.stop())
    await provider.register([
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
  afterAll(async () => {
    await service.stop()
    await store.drop()
  })

  const button = (page: Page) => page.getByRole('button', { name: /^Sign in with 127\.0\.0\.1/ })
  /** At the provider's own page. */
  const passAs = async (page: Page, name: string): Promise<void> => {
    await page.fill('input[name=login]', name)
    await page.fill('input[name=password]', 'any')
    await page.click('button[type=submit]')
    await page.click('button[type=submit]')
  }
  const signedIn = async (page: Page, name: string): Promise<void> => {
    await page.locator('.who b', { hasText: `oidc:${name}` }).waitFor()
  }
  const kept = async (page: Page): Promise<string> =>
    page.evaluate<string>('JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie])')

  it('admits a service by client credentials', async () => {
    const token = await provider.tokenFor('mailer', 'secret')
    const answer = await fetch(`${service.url}/api/v1/me`, { headers: { authorization: `Bearer ${token}` } })
    expect(await answer.json()).toMatchObject({ name: 'oidc:mailer', role: 'usage', scopes: ['mail'], source: 'oidc' })
  })

  it('comes back to the screen that was asked for, keeps no token, and stays in when the page is loaded anew', async () => {
    const page = await browser.page()
    await page.goto(`${service.url}/admin/mail/quotas?status=active`)
    expect(await seriousFindings(page)).toEqual([])
    await button(page).click()
    await passAs(page, 'anna')
    await signedIn(page, 'anna')
    expect(page.url()).toBe(`${service.url}/admin/mail/quotas?status=active`)
    expect(await kept(page)).not.toMatch(/eyJ/)
    await page.reload()
    await signedIn(page, 'anna')
    expect(page.url()).toBe(`${service.url}/admin/mail/quotas?status=active`)
    const addresses = browser.addresses.filter((address) => address.startsWith(service.url))
    expect(addresses.filter((address) => address.includes('eyJ'))).toEqual([])
    await page.context().close()
  })

  it('renews the token in the middle of a form, and loses nothing of it at its end', async () => {
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
    // Whose keys are gone is asked to sign in again, and finds what was typed.
    provider.lifetime = 600
    await page.goto(`${service.url}/admin/mail/quotas/${id}?edit=true`)
    await signedIn(page, 'boris')
    await page.getByLabel('Total').fill('5678')
    await page.route('**/api/v1/quotas/**', async (route) =>
      route.fulfill({ status: 401, body: UNAUTHENTICATED, contentType: 'application/problem+json' }),
    )
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('dialog').getByText('Sign in again').waitFor()
    await page.unroute('**/api/v1/quotas/**')
    await page
      .getByRole('dialog')
      .getByRole('button', { name: /^Sign in with/ })
      .click()
    await signedIn(page, 'boris')
    expect(page.url()).toBe(`${service.url}/admin/mail/quotas/${id}?edit=true`)
    expect(await page.getByLabel('Total').inputValue()).toBe('5678')
    await page.context().close()
  })

  it('signs out here and at the provider', async () => {
    const page = await browser.page()
    await page.goto(`${service.url}/admin/`)
    await button(page).click()
    await passAs(page, 'chen')
    await signedIn(page, 'chen')
    await page.getByRole('button', { name: 'Sign out' }).click()
    // The provider asks whether that is meant.
    await page.waitForURL(`${provider.issuer}/session/end**`)
    await page.click('button[value=yes]')
    await page.waitForURL(`${service.url}/admin/**`)
    await button(page).waitFor()
    expect(await kept(page)).toBe('[{},{},""]')
    await button(page).click()
    await page.locator('input[name=login]').waitFor()
    await page.context().close()
  })

  it('says what the provider says, and is there again', async () => {
    const page = await browser.page()
    await page.goto(`${service.url}/admin/`)
    await button(page).click()
    await page.locator('input[name=login]').waitFor()
    await page.getByText('[ Cancel ]').click()
    await page.getByText('The identity provider did not sign you in: End-User aborted interaction').waitFor()
    expect(await page.getByRole('alert').innerText()).toContain('You are not signed in')
    await button(page).waitFor()
    await page.goto(`${service.url}/admin/?code=stolen&state=forged`)
    await button(page).waitFor()
    await page.context().close()
  })

  it('signs out whoever touches nothing', async () => {
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
    expect(await page.getByRole('alert').innerText()).toContain('You were signed out')
    expect(await kept(page)).toBe('[{},{},""]')
    await page.context().close()
  })

  it('names the issuer in the policy, and nobody else, and met no hole in it', async () => {
    const answer = await fetch(`${service.url}/admin/`)
    expect(answer.headers.get('content-security-policy')).toContain(`connect-src 'self' ${provider.issuer};`)
    expect(browser.reports).toEqual([])
    expect(browser.errors).toEqual([])
  })
})
