import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { randomBytes } from 'node:crypto'
import { beforeAll, describe, expect, it, jest } from '@jest/globals'
import type { Page } from 'playwright-core'
import { TestBrowser } from './support/browser.js'
import {
  button,
  eventually,
  expectSoundAt,
  field,
  heading,
  open as openIn,
  type Person,
  reads,
  ready,
  Service,
} from './support/console.js'
import { temporaryFolder } from './support/opened.js'
import { Receiver, status } from './support/receiver.js'
import { STORES } from './support/store.js'

// A browser on a busy machine.
jest.setTimeout(600_000)

describe('the page of notifications', () => {
  let service: Service
  let browser: TestBrowser
  let receiver: Receiver
  let folder: string

  beforeAll(async () => {
    receiver = await Receiver.start()
    receiver.answers.set('/gone', status(410))
    folder = temporaryFolder('quota-webhooks-')
    const file = join(folder, 'webhooks.json')
    const secrets = [`whsec_${randomBytes(32).toString('base64')}`]
    const endpoints = [
      ...['ops', 'gone'].map((name) => ({ name, url: receiver.url(`/${name}`), secrets })),
      // Nothing listens there, and no event is sent to it.
      { name: 'away', url: 'http://127.0.0.1:9/', secrets, channels: ['sms'] },
      { name: 'chat', kind: 'slack', url: receiver.url('/secret'), channels: ['sms'] },
    ]
    await writeFile(file, JSON.stringify(endpoints))
    service = await Service.on(STORES[0]!, { WEBHOOKS_FILE: file })
    browser = await TestBrowser.start()
  })

  const open = async (as?: Person): Promise<Page> => openIn(browser, service, '/webhooks', as)
  const row = (page: Page, name: string) => page.locator(`tr[data-row="${name}"]`)
  const told = (page: Page, text: string | RegExp) => page.locator('.announcement', { hasText: text })

  it('shows the state, tests an endpoint, enables one and sends events again', async () => {
    const page = await open()
    await row(page, 'ops').getByText('none yet').waitFor()
    await button(page, 'Test ops').click()
    await told(page, /^ops answered the test: 204, received, after [\d,]+ ms\.$/).waitFor()
    expect(receiver.of('/ops')).toHaveLength(1)
    await row(page, 'chat').getByRole('cell', { name: 'slack', exact: true }).waitFor()
    await button(page, 'Test chat').click()
    await told(page, /^chat answered the test: 204, received, after [\d,]+ ms\.$/).waitFor()
    expect(JSON.parse(receiver.of('/secret')[0]?.body ?? '')).toEqual({
      text: expect.stringContaining('This is a test'),
    })
    expect(await row(page, 'chat').innerText()).not.toContain('secret')
    await button(page, 'Test away').click()
    await told(page, /^The test of away failed after [\d,]+ ms: \S.*\.$/).waitFor()
    await row(page, 'away').getByText('Test failed: ').waitFor()

    // An endpoint that says it is gone is disabled.
    await service.quota(401)
    await eventually(async () => {
      const { items } = await service.call('anna', 'GET', '/api/v1/webhooks')
      return items.every(
        ({ name, delivered, state }: { name: string; delivered: number; state: string }) =>
          ['away', 'chat'].includes(name) || delivered > 0 || state === 'disabled',
      )
    })
    await button(page, 'Refresh').click()
    await row(page, 'gone').getByText('disabled').waitFor()
    await row(page, 'gone').getByText('410, refused').waitFor()
    await row(page, 'ops').getByText('204, received').first().waitFor()
    await ready(page)
    await expectSoundAt(page, { width: 1280, height: 800 }, 'light')
    await expectSoundAt(page, { width: 360, height: 800 }, 'dark')
    receiver.answers.delete('/gone')
    await button(page, 'Enable gone').click()
    await page.getByRole('dialog').getByRole('button', { name: 'Enable' }).click()
    await told(page, 'gone is enabled.').waitFor()
    await button(page, 'Replay to gone').click()
    const dialog = page.getByRole('dialog')
    await field(dialog, 'Happened from').fill('')
    await dialog.getByText('from when on').waitFor()
    await field(dialog, 'Happened from').fill('2026-01-01T00:00')
    await dialog.getByRole('button', { name: 'Send again' }).click()
    await told(page, '1 event is sent to gone again.').waitFor()
    await eventually(async () => receiver.of('/gone').length >= 2)
  })

  it('does not promise that events are sent once, if no answer came to a replay', async () => {
    const page = await open()
    await page.route('**/replay', async (route) => route.abort('connectionrefused'))
    await button(page, 'Replay to ops').click()
    const dialog = page.getByRole('dialog')
    await field(dialog, 'Happened from').fill('2026-01-01T00:00')
    await dialog.getByRole('button', { name: 'Send again' }).click()
    await reads(dialog.getByRole('alert'), /Look whether it was done before you do it once more/)
    await page.unrouteAll({ behavior: 'ignoreErrors' })
    await page.route('**/replay', async (route) => route.fulfill({ status: 503, body: 'busy' }))
    await dialog.getByRole('button', { name: 'Send again' }).click()
    await reads(dialog.getByRole('alert'), /Foreign answer[\s\S]*A proxy answered 503/)
  })

  it('is for administrators', async () => {
    const page = await open('chen')
    await reads(page.getByRole('alert'), /Ask for a token with that role/)
    expect(await page.getByRole('link', { name: 'Notifications' }).count()).toBe(0)
    await heading(page, 'Notifications').waitFor()
    await ready(page)
  })
})
