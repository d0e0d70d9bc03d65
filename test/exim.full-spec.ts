import { execFile, spawn } from 'node:child_process'
import { chown, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { beforeAll, describe, expect, it } from '@jest/globals'
import { findExim } from '../scripts/programs.mjs'
import { freePort } from '../scripts/mariadb.mjs'
import { Connector } from './support/connector.js'
import { guard } from './support/guard.js'
import { ADMIN, Instance } from './support/instance.js'
import { opened, temporaryFolder } from './support/opened.js'
import { Sink, SmtpSession } from './support/postfix.js'
import { STORES } from './support/store.js'
import { bodyOf, MAIL, times } from './support/wire.js'

const PATIENCE_MS = 300_000
const EXIM = findExim() ?? 'exim4'

/** An Exim with the documented ACL, in which the envelope's sender pays, and which delivers to the sink at once. */
async function startExim(policy: number, sink: number): Promise<number> {
  const page = await readFile('connectors/mail/README.md', 'utf8')
  const [, main = '', acl = ''] = /```\n(acl_smtp_predata[^`]*)begin acl\n([^`]*)```/.exec(page) ?? []
  const folder = temporaryFolder('quota-exim-')
  const ids = await Promise.all(['-u', '-g'].map((option) => promisify(execFile)('id', [option, 'Debian-exim'])))
  const [uid = 0, gid = 0] = ids.map(({ stdout }) => Number(stdout))
  await mkdir(join(folder, 'spool'))
  for (const path of [folder, join(folder, 'spool')]) await chown(path, uid, gid)
  const port = await freePort()
  // It does not read a file that others may write. Deliveries run as its own user, who reads it, too.
  await writeFile(
    join(folder, 'exim.conf'),
    `
exim_path = ${EXIM}
spool_directory = ${join(folder, 'spool')}
log_file_path = ${join(folder, 'spool')}/%slog
primary_hostname = exim.test
local_interfaces = 127.0.0.1
daemon_smtp_ports = ${port}
tls_advertise_hosts =
host_lookup =
acl_smtp_rcpt = acl_rcpt
${main}
begin acl
acl_rcpt:
  accept
${acl.replace(':10040', `:${policy}`)}
begin routers
sink:
  driver = manualroute
  route_list = * 127.0.0.1
  self = send
  transport = sink
begin transports
sink:
  driver = smtp
  port = ${sink}
  hosts_try_fastopen =
  hosts_try_chunking =
begin retry
* * F,1h,1s
begin authenticators
`,
    { mode: 0o644 },
  )
  const child = spawn(EXIM, ['-C', join(folder, 'exim.conf'), '-bdf', '-q1s'], { stdio: 'ignore' })
  if (child.pid !== undefined) child.once('exit', guard(child.pid))
  opened(async () => {
    child.kill('SIGTERM')
    await rm(folder, { recursive: true, force: true, maxRetries: 5 })
  })
  for (;;) {
    const session = await SmtpSession.open(port).catch(() => undefined)
    session?.close()
    if (session !== undefined) return port
    if (child.exitCode !== null) throw new Error(`Exim ended with ${child.exitCode}`)
    await sleep(100)
  }
}

describe('a real Exim that asks by ${readsocket}', () => {
  let service: Instance
  let connector: Connector
  let sink: Sink
  let exim: number

  const user = (n: number): string => `user-${n}@example.org`
  const usedBy = async (n: number): Promise<number> => bodyOf(await service.get(`/api/v1/quotas/summary/${n + 1}`)).used
  const to = (recipients: number): string[] => times(recipients).map((n) => `someone-${n}@elsewhere.test`)

  beforeAll(async () => {
    const [kind] = STORES
    service = await Instance.start((await kind!.open()).url)
    const folder = temporaryFolder('quota-connector-')
    const lines = times(10).map((n) => `${user(n)} ${n + 1}\n`)
    await writeFile(join(folder, 'accounts'), lines.join(''))
    connector = await Connector.start({
      QUOTA_URL: service.url,
      QUOTA_TOKEN: ADMIN,
      ACCOUNTS_FILE: join(folder, 'accounts'),
      PAYER_WITHOUT_SASL: 'sender',
    })
    sink = await Sink.start()
    exim = await startExim(connector.port, sink.port)
    for (const n of times(10)) {
      const quota = { account_id: n + 1, quota_type: 1, total: 10, expire_at: '2999-01-01T00:00:00Z' }
      expect(await service.post(MAIL.quotas, quota)).toMatchObject({ status: 201 })
    }
  }, PATIENCE_MS)

  it(
    'charges what it delivers, and refuses at DATA what does not fit',
    async () => {
      const taken = await Promise.all(
        times(10).map(async (n) => {
          const session = await SmtpSession.open(exim)
          let units = 0
          for (const recipients of [3, 4, 4, 1 + (n % 3)]) {
            const reply = await session.send(user(n), to(recipients))
            if (reply.startsWith('250')) units += recipients
            // A busy machine is told to come again.
            else if (!/^451[ -].*cannot be checked/.test(reply)) {
              expect(reply).toMatch(/^550[ -]Sending quota exceeded: \d recipients? asked for, \d left/)
              expect(recipients).toBeGreaterThan(10 - units)
            }
          }
          session.close()
          return units
        }),
      )
      while ((await connector.metric('quota_postfix_doubts ')) > 0) await sleep(100)
      expect(await Promise.all(times(10).map(usedBy))).toEqual(taken)
      expect(Math.max(...taken)).toBeGreaterThan(7)
      const delivered = (n: number): number => sink.recipients.get(user(n)) ?? 0
      while (taken.some((units, n) => delivered(n) < units)) await sleep(100)
      expect(times(10).map(delivered)).toEqual(taken)
      const refused = connector.log.filter(({ message }) => message === 'reject: exceeded')
      expect(refused.length).toBeGreaterThan(0)
      expect(new Set(refused.map(({ state }) => state))).toEqual(new Set(['DATA']))
    },
    PATIENCE_MS,
  )

  it('defers while the connector is away', async () => {
    connector.signal('SIGTERM')
    await connector.exited
    const session = await SmtpSession.open(exim)
    expect(await session.send(user(1), to(1))).toMatch(/^451 .*Sending quotas cannot be checked at the moment/)
    session.close()
  })
})
