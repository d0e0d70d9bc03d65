import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { afterEach, beforeEach } from '@jest/globals'
import { type Browser, type BrowserContext, type BrowserContextOptions, chromium, type Page } from 'playwright-core'
import { launchOptions } from '../../scripts/programs.mjs'
import { opened } from './opened.js'

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
/** Chromium's own console message about an answer without success; tests provoke these. */
const NO_SUCCESS = /^Failed to load resource:/
/** To end what hangs, not to measure: on a busy machine an answer takes long. */
export const PATIENCE_MS = 60_000

// Strings, since they run in the page.
const TELL_VIOLATIONS = `document.addEventListener('securitypolicyviolation', (event) =>
  reportViolation(event.violatedDirective + ': ' + event.blockedURI + ' ' + event.sourceFile))`
const RUN_AXE = `axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) =>
  violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(({ id, impact, nodes }) => ({
      id,
      impact,
      places: nodes.map(({ html, failureSummary }) => html.slice(0, 160) + ' ' + failureSummary.slice(0, 200)),
    })))`

/** A finding of axe-core, with the places. */
export interface Finding {
  readonly id: string
  readonly impact: string
  readonly places: readonly string[]
}

/** The contexts that the current test has opened. If left open, each page would keep polling the service. */
const openedByTest = new Set<BrowserContext>()
let testRuns = false

beforeEach(() => {
  testRuns = true
})

afterEach(async () => {
  testRuns = false
  const contexts = [...openedByTest]
  openedByTest.clear()
  await Promise.all(contexts.map(async (context) => context.close()))
})

/** Chromium, and the errors of all pages shown. */
export class TestBrowser {
  /** Errors of pages: thrown, or written to the console. */
  readonly errors: string[] = []
  /** The violations of the content security policy. */
  readonly reports: string[] = []
  /** The requested addresses. */
  readonly addresses: string[] = []

  private constructor(private readonly browser: Browser) {}

  static async start(): Promise<TestBrowser> {
    const browser = await chromium.launch(launchOptions())
    opened(async () => browser.close())
    return new TestBrowser(browser)
  }

  /**
   * Opens a page with its own cache and storage. A page that a test opens is closed at its end; one of a
   * `beforeAll` stays.
   */
  async page(options: BrowserContextOptions = {}): Promise<Page> {
    const context = await this.browser.newContext({
      viewport: { width: 1280, height: 800 },
      locale: 'en-GB',
      timezoneId: 'Europe/Berlin',
      ...options,
    })
    if (testRuns) openedByTest.add(context)
    context.setDefaultTimeout(PATIENCE_MS)
    await this.watch(context)
    return context.newPage()
  }

  private async watch(context: BrowserContext): Promise<void> {
    await context.exposeBinding('reportViolation', (_source, text: string) => this.reports.push(text))
    await context.addInitScript({ content: TELL_VIOLATIONS })
    context.on('console', (message) => {
      if (message.type() === 'error' && !NO_SUCCESS.test(message.text())) this.errors.push(message.text())
    })
    context.on('weberror', (error) => this.errors.push(String(error.error())))
    context.on('request', (request) => this.addresses.push(request.url()))
  }
}

/**
 * The serious and critical findings of axe-core. The debugger loads it into the page, so no policy
 * blocks it.
 */
export async function seriousFindings(page: Page): Promise<Finding[]> {
  if (!(await page.evaluate<boolean>("'axe' in window"))) await page.evaluate(AXE)
  return page.evaluate<Finding[]>(RUN_AXE)
}
