import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from '@jest/globals'
import type { SMTPServerOptions } from 'smtp-server'
import { Authority, CAN_CERTIFY } from './support/certificates.js'
import { Instance } from './support/instance.js'
import { MailServer } from './support/mail-server.js'
import { temporaryFolder } from './support/opened.js'
import { type Store, STORES } from './support/store.js'
import { bodyOf } from './support/wire.js'

const PATIENCE_MS = 180_000
/** An address of this machine that is not a loopback one: here, encryption and certificates matter. */
const BEYOND = '0.0.0.0'

const withCertificates = CAN_CERTIFY ? describe : describe.skip

withCertificates('mail over a network', () => {
  let folder: string
  let store: Store
  let instance: Instance
  const servers = new Map<string, MailServer>()

  beforeAll(async () => {
    folder = temporaryFolder('quota-mail-tls-')
    store = await STORES.at(-1)!.open()
    const authority = await Authority.found(folder, 'authority')
    const stranger = await Authority.found(folder, 'stranger')
    const certified = async (by: Authority, names: string): Promise<SMTPServerOptions> => {
      const { certificate, key } = await by.issue(names)
      return { cert: await readFile(certificate), key: await readFile(key), disabledCommands: [] }
    }
    const known = await certified(authority, `IP:${BEYOND}`)
    const unknown = await certified(stranger, `IP:${BEYOND}`)
    const other = await certified(authority, 'DNS:mail.example.org')
    const endpoints: object[] = []
    const add = async (name: string, scheme: string, host: string, options: SMTPServerOptions): Promise<void> => {
      const server = await MailServer.start({ ...options, secure: scheme === 'smtps' })
      servers.set(name, server)
      const smtp = `${scheme}://quota:password@${host}:${server.port}`
      endpoints.push({ name, kind: 'mail', to: ['ops@example.org'], from: 'quota@example.org', smtp })
    }
    for (const scheme of ['smtp', 'smtps']) {
      await add(`${scheme}-known`, scheme, BEYOND, known)
      await add(`${scheme}-unknown`, scheme, BEYOND, unknown)
      await add(`${scheme}-other`, scheme, BEYOND, other)
    }
    const unencrypted = { hideSTARTTLS: true, allowInsecureAuth: true }
    await add('not-offered', 'smtp', BEYOND, { ...unencrypted, disabledCommands: ['STARTTLS'] })
    // One that hides the offer from clients, or whose offer somebody on the way removes.
    await add('hidden', 'smtp', BEYOND, { ...unknown, ...unencrypted })
    await add('loopback', 'smtp', '127.0.0.1', unknown)
    await add('loopback-not-offered', 'smtp', '127.0.0.1', { ...unencrypted, disabledCommands: ['STARTTLS'] })
    const file = join(folder, 'webhooks.json')
    await writeFile(file, JSON.stringify(endpoints))
    const env = { WEBHOOKS_FILE: file, NODE_EXTRA_CA_CERTS: authority.certificate }
    instance = await Instance.start(store.url, env)
  }, PATIENCE_MS)

  const attempt = async (name: string): Promise<{ status: number | null; error: string | null }> =>
    bodyOf(await instance.post(`/api/v1/webhooks/${name}/test`, undefined))

  for (const [name, secure] of [
    ['smtp-known', true],
    ['smtps-known', true],
    ['loopback', true],
    ['loopback-not-offered', false],
  ] as const)
    it(
      `is sent ${secure ? '' : 'un'}encrypted to "${name}"`,
      async () => {
        expect(await attempt(name)).toMatchObject({ status: 250, error: null })
        expect(servers.get(name)?.mails).toMatchObject([{ to: ['ops@example.org'], secure, user: 'quota' }])
      },
      PATIENCE_MS,
    )

  for (const [name, error] of [
    ['smtp-unknown', /certificate/],
    ['smtps-unknown', /certificate/],
    ['smtp-other', /altnames/],
    ['smtps-other', /altnames/],
    ['not-offered', /not recognized/],
    ['hidden', /certificate/],
  ] as const)
    it(
      `is not begun with "${name}", nor is the password told`,
      async () => {
        const { status, error: said } = await attempt(name)
        expect([status === 250, said]).toEqual([false, expect.stringMatching(error)])
        expect(servers.get(name)).toMatchObject({ mails: [], begun: 0 })
      },
      PATIENCE_MS,
    )
})
