import { expect } from '@jest/globals'
import type { Locator, Page } from 'playwright-core'
import { hashOf, newToken } from '../../src/auth/token.js'
import type { Role } from '../../src/common/role.js'
import { PATIENCE_MS, seriousFindings, type TestBrowser } from './browser.js'
import { Instance } from './instance.js'
import type { Body } from './quota-api.js'
import type { StoreKind } from './store.js'

/** People under their own names, and a program that sends. */
export const PEOPLE = {
  admin: 'admin',
  anna: 'admin',
  boris: 'admin',
  chen: 'service',
  mailer: 'usage',
} satisfies Record<string, Role>
export type Person = keyof typeof PEOPLE
export const TOKENS = Object.fromEntries(
  Object.entries(PEOPLE).map(([name, role]) => [name, newToken(role)]),
) as Record<Person, string>
const AUTH_TOKENS = Object.entries(PEOPLE)
  .map(([name, role]) => `${name}:${role}:${hashOf(TOKENS[name as Person]).toString('hex')}`)
  .join(',')

const DAY_MS = 86_400_000
/** The interval of looks at a page, in milliseconds. */
const LOOK_MS = 20
export const inDays = (days: number): string => new Date(Date.now() + days * DAY_MS).toISOString()
/** Addresses of the service, not of the console's files. */
export const API = /\/(api|health)\//

/** The built service, as its callers see it. */
export class Service {
  private constructor(private readonly instance: Instance) {}

  /** @param store any store, by its URL */
  static async start(store: { readonly url: string }, env: Record<string, string> = {}): Promise<Service> {
    return new Service(await Instance.start(store.url, { AUTH_TOKENS, ...env }))
  }

  /** Starts it on a store of its own. */
  static async on(kind: StoreKind, env?: Record<string, string>): Promise<Service> {
    return Service.start(await kind.open(), env)
  }

  get url(): string {
    return this.instance.url
  }

  get log(): string {
    return this.instance.log
  }

  async call(as: Person, method: string, path: string, body?: unknown, key?: string): Promise<Body> {
    const answer = await this.instance.send(method, path, { token: TOKENS[as], body, key })
    if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status} ${answer.text}`)
    return answer.text === '' ? undefined : JSON.parse(answer.text)
  }

  /** Creates a quota of an account, monthly unless `settings` say otherwise. @returns its id */
  async quota(account: number, settings: object = {}, as: Person = 'anna'): Promise<number> {
    const monthly = { quota_type: 2, total: 1000, cycle_unit: 'month', cycle_reset_at: inDays(10) }
    const { id } = await this.call(as, 'POST', '/api/v1/quotas', { account_id: account, ...monthly, ...settings })
    return id as number
  }

  async stop(): Promise<void> {
    await this.instance.kill()
  }
}

/** Opens the console, signed in as one of PEOPLE. */
export async function open(
  browser: TestBrowser,
  service: Service,
  path: string,
  as: Person = 'anna',
  options: Parameters<TestBrowser['page']>[0] = {},
): Promise<Page> {
  const page = await browser.page(options)
  await page.goto(`${service.url}/admin${path}`)
  await signIn(page, as)
  await ready(page)
  return page
}

export async function signIn(page: Page, as: Person): Promise<void> {
  await field(page, 'Token').fill(TOKENS[as])
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
  await page.getByRole('banner').waitFor()
}

/** Waits until nothing on the screen is loading, or is read again. */
export async function ready(page: Page): Promise<void> {
  await until(
    page,
    "document.querySelector('h1') !== null && document.querySelector('.loading') === null && " +
      "document.querySelector('.as-of')?.textContent.includes('Refreshing') !== true",
  )
}

/** Polls from outside: the page's policy would block polling within it. */
export async function until(page: Page, expression: string): Promise<void> {
  const deadline = performance.now() + PATIENCE_MS
  while (!(await page.evaluate<boolean>(expression))) {
    if (performance.now() > deadline) throw new Error(`it never was so: ${expression}`)
    await page.waitForTimeout(LOOK_MS)
  }
}

/**
 * Waits until what is read from a page equals this: answers come one by one, so a text may be there before the rows
 * that it counts. A reading that fails is repeated, too.
 * @param expected a value, or an asymmetric matcher
 */
export async function becomes(read: () => Promise<unknown>, expected: unknown): Promise<void> {
  const deadline = performance.now() + PATIENCE_MS
  for (;;) {
    try {
      expect(await read()).toEqual(expected)
      return
    } catch (error) {
      if (performance.now() > deadline) throw error
      await new Promise((resolve) => setTimeout(resolve, LOOK_MS))
    }
  }
}

/** Waits until a table has exactly so many rows. @returns them */
export async function rowsShown(on: Page | Locator, count: number): Promise<Locator> {
  const rows = on.locator('tbody [data-row]')
  await becomes(async () => rows.count(), count)
  return rows
}

/** Waits until the text of an element matches. */
export async function reads(element: Locator, text: RegExp | string): Promise<void> {
  await becomes(async () => element.innerText(), typeof text === 'string' ? text : expect.stringMatching(text))
}

interface Size {
  readonly width: number
  readonly height: number
}

/** Waits until a page has this width, and these colours. */
export async function resize(page: Page, size: Size, colorScheme: 'light' | 'dark' = 'light'): Promise<void> {
  await page.emulateMedia({ colorScheme })
  await page.setViewportSize(size)
  await until(page, `innerWidth === ${size.width} && matchMedia('(prefers-color-scheme: ${colorScheme})').matches`)
}

/** No finding of axe, and nothing sticks out, in this size and these colours. */
export async function expectSoundAt(page: Page, size: Size, colorScheme: 'light' | 'dark'): Promise<void> {
  await resize(page, size, colorScheme)
  const sticksOut = await page.evaluate<number>('document.documentElement.scrollWidth - innerWidth')
  const where = [page.url(), size.width, colorScheme]
  expect([...where, await seriousFindings(page), sticksOut]).toEqual([...where, [], 0])
}

/** The same: light and wide, dark and narrow, light and narrow. */
export async function expectSound(page: Page): Promise<void> {
  await ready(page)
  await expectSoundAt(page, { width: 1280, height: 800 }, 'light')
  await expectSoundAt(page, { width: 360, height: 800 }, 'dark')
  await expectSoundAt(page, { width: 360, height: 800 }, 'light')
  await resize(page, { width: 1280, height: 800 })
}

/** Waits until something is so outside of the page. */
export async function eventually(look: () => Promise<boolean>): Promise<void> {
  const deadline = performance.now() + PATIENCE_MS
  while (!(await look())) {
    if (performance.now() > deadline) throw new Error('it never was so')
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
}

export const field = (page: Page | Locator, name: string) => page.getByLabel(name, { exact: true })
export const heading = (page: Page, name: string | RegExp) => page.getByRole('heading', { level: 1, name })
export const button = (page: Page, name: string | RegExp) =>
  page.getByRole('button', { name, exact: typeof name === 'string' })
/** Presses a secondary action, which a menu holds. */
export async function pressInMenu(page: Page, name: string): Promise<void> {
  await button(page, 'More').click()
  await page.locator('.menu').getByText(name, { exact: true }).click()
}
export const panel = (page: Page, name: string) => page.getByRole('region', { name, exact: true })
export const storageOf = async (page: Page): Promise<string> =>
  page.evaluate<string>('JSON.stringify([{ ...sessionStorage }, { ...localStorage }, document.cookie])')
export const focused = async (page: Page): Promise<string> => page.evaluate<string>('document.activeElement.outerHTML')
