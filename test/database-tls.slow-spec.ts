import { chmod, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { beforeAll, describe, expect, it } from '@jest/globals'
import { createConnection, type RowDataPacket } from 'mysql2/promise'
import { Authority, CAN_CERTIFY } from './support/certificates.js'
import { type Ended, runNode } from './support/command.js'
import { CAN_START_SERVER, OwnServer } from './support/database.js'
import { Instance } from './support/instance.js'
import { temporaryFolder } from './support/opened.js'
import { bodyOf, fresh, MAIL, owners, totalQuota } from './support/wire.js'

// Needs `npm run build` before, a MariaDB of its own, and openssl 3 for the certificates.
const MIGRATE = join(process.cwd(), 'dist/src/migrate.js')
const TYPEORM = join(process.cwd(), 'node_modules/typeorm/cli.js')

const withCertificates = CAN_START_SERVER && CAN_CERTIFY ? describe : describe.skip

withCertificates('a server that accepts only encrypted connections', () => {
  let folder: string
  let authority: Authority
  let stranger: Authority
  let server: OwnServer

  beforeAll(async () => {
    folder = temporaryFolder('quota-tls-')
    // For the server, which is another account.
    await chmod(folder, 0o755)
    authority = await Authority.found(folder, 'authority')
    stranger = await Authority.found(folder, 'stranger')
    const { certificate, key } = await authority.issue('DNS:localhost')
    server = await OwnServer.start({ args: [`--ssl-cert=${certificate}`, `--ssl-key=${key}`] })
    await ask('CREATE DATABASE quota')
    await ask('SET GLOBAL require_secure_transport = ON')
  })

  /** As one who cares for nothing but an answer. */
  async function ask(sql: string): Promise<RowDataPacket[]> {
    const connection = await createConnection({ uri: server.url, ssl: { rejectUnauthorized: false } })
    try {
      return (await connection.query<RowDataPacket[]>(sql))[0]
    } finally {
      connection.destroy()
    }
  }

  /** How many connections the server has turned away so far, or they it. */
  async function refused(): Promise<number> {
    const names = "('Aborted_connects', 'Access_denied_errors')"
    const rows = await ask(`SHOW GLOBAL STATUS WHERE Variable_name IN ${names}`)
    return rows.reduce((sum, row) => sum + Number(row['Value']), 0)
  }

  /**
   * Does something while an owner's row is locked by somebody else, until it has done what it does first.
   * @param work gets a look-up of the connection that waits for the row
   */
  async function whileLocked<T>(owner: number, work: (waiting: () => Promise<number>) => Promise<T>): Promise<T> {
    const connection = await createConnection({ uri: url('127.0.0.1'), ssl: { rejectUnauthorized: false } })
    try {
      await connection.query('START TRANSACTION')
      await connection.query('SELECT 1 FROM mail_owner WHERE owner_id = ? FOR UPDATE', [owner])
      return await work(async () => {
        for (;;) {
          const [row] = await ask(
            "SELECT id FROM information_schema.processlist WHERE db = 'quota' AND info LIKE '%mail_owner%FOR UPDATE%'",
          )
          if (row !== undefined) {
            setTimeout(() => connection.destroy(), 200)
            return Number(row['id'])
          }
          await sleep(5)
        }
      })
    } finally {
      connection.destroy()
    }
  }

  /** The database, by one of the names of this machine. */
  function url(host: string): string {
    const url = new URL(server.url)
    url.hostname = host
    url.pathname = '/quota'
    return url.toString()
  }

  async function migrate(host: string, env: Record<string, string>): Promise<Ended> {
    return runNode([MIGRATE], { env: { DATABASE_URL: url(host), ...env } })
  }

  const required = { DATABASE_TLS: 'required' }
  const verified = (by: Authority) => ({ DATABASE_TLS: 'verify', DATABASE_TLS_CA: by.certificate })

  it('is distinguished from an unavailable one for clients without TLS, with the remedy', async () => {
    const { code, stderr } = await migrate('127.0.0.1', {})
    expect(code).toBe(1)
    // MariaDB before 11.8 says to such a one that the password is wrong, others what it is.
    expect(stderr).toMatch(/^The database .* cannot be used: .*(Access denied|insecure transport)/)
    expect(stderr).toMatch(/if DATABASE_TLS is off, accept only encrypted|only encrypted connections: set DATABASE_TLS/)
  })

  it('is used with TLS, without verification', async () => {
    expect(await migrate('127.0.0.1', required)).toMatchObject({ code: 0, stderr: '' })
  })

  it('is used if its certificate names it and is trusted', async () => {
    expect(await migrate('localhost', verified(authority))).toMatchObject({ code: 0, stderr: '' })
  })

  it('is refused with an untrusted certificate', async () => {
    for (const ca of [verified(stranger), { DATABASE_TLS: 'verify' }]) {
      const before = await refused()
      const { code, stderr } = await migrate('localhost', ca)
      expect(code).toBe(1)
      expect(stderr).toMatch(/cannot be used: .*(certificate|signature).*\. With DATABASE_TLS=verify .*DATABASE_TLS_CA/)
      // It does not mend itself: one try is enough.
      expect((await refused()) - before).toBe(1)
    }
  })

  it('is refused under a name or an address that its certificate lacks', async () => {
    const refusal = /cannot be used: .*altnames.*\. DATABASE_URL must name the server as its certificate does/
    // mysql2 by itself would compare the certificate of an address with "localhost".
    const address = await migrate('127.0.0.1', verified(authority))
    expect(address).toMatchObject({ code: 1, stderr: expect.stringMatching(refusal) })
    await authority.issue('IP:127.0.0.1,DNS:elsewhere.example')
    await ask('FLUSH SSL')
    try {
      const name = await migrate('localhost', verified(authority))
      expect(name).toMatchObject({ code: 1, stderr: expect.stringMatching(refusal) })
      expect(await migrate('127.0.0.1', verified(authority))).toMatchObject({ code: 0, stderr: '' })
    } finally {
      await authority.issue('DNS:localhost')
      await ask('FLUSH SSL')
    }
  })

  it("gets no connection without TLS from a running service, nor from TypeORM's command line", async () => {
    const before = await refused()
    const instance = await Instance.start(url('localhost'), verified(authority))
    try {
      const [owner] = owners(1) as [number]
      expect((await instance.post(MAIL.quotas, totalQuota(MAIL, owner, 10))).status).toBe(201)
      const consume = async () =>
        instance.post(`${MAIL.usage}/consume`, { account_id: owner, amount: 1 }, fresh('encrypted'))
      expect((await consume()).status).toBe(200)
      await whileLocked(owner, async (waiting) => {
        const answer = consume()
        // A connection that dies at work has the probe look, on one of its own.
        await ask(`KILL ${await waiting()}`)
        return answer
      }).then(({ status }) => expect(status).toBe(200))
      expect(bodyOf(await instance.get(`${MAIL.quotas}/summary/${owner}`)).used).toBe(2)
    } finally {
      expect(await instance.terminate()).toBe(0)
    }
    const shown = await runNode([TYPEORM, 'migration:show', '-d', 'dist/ormconfig.js'], {
      env: { DATABASE_URL: url('localhost'), ...verified(authority) },
    })
    expect(shown).toMatchObject({ code: 0, stderr: '' })
    expect((await refused()) - before).toBe(0)
  })

  it('is reported in the log and by commands when it begins to require TLS while the service runs', async () => {
    await ask('SET GLOBAL require_secure_transport = OFF')
    const instance = await Instance.start(url('127.0.0.1'), { LOG_LEVEL: 'warn' })
    try {
      await ask('SET GLOBAL require_secure_transport = ON')
      for (const { id } of await ask("SELECT id FROM information_schema.processlist WHERE db = 'quota'")) {
        await ask(`KILL ${id}`).catch(() => undefined)
      }
      const answer = await instance.post(MAIL.quotas, totalQuota(MAIL, owners(1)[0]!, 10))
      expect(answer.status).toBe(503)
      while (!instance.log.includes('only encrypted connections')) await sleep(50)
    } finally {
      await instance.terminate()
    }
  })
})

const onOwnServer = CAN_START_SERVER ? describe : describe.skip

onOwnServer('a server without TLS', () => {
  it('is distinguished from an unavailable one if TLS is required', async () => {
    const server = await OwnServer.start({ args: ['--skip-ssl'] })
    try {
      const env = { DATABASE_URL: `${server.url}quota`, DATABASE_TLS: 'required' }
      const { code, stderr } = await runNode([MIGRATE], { env })
      expect(code).toBe(1)
      expect(stderr).toMatch(/cannot be used: .*\. DATABASE_TLS asks for TLS, which the server does not offer/)
    } finally {
      await server.stop()
    }
  })
})

describe('DATABASE_URL_FILE', () => {
  it('names the database for every command', async () => {
    const folder = temporaryFolder('quota-secret-')
    try {
      const [database, file] = [join(folder, 'quota.db'), join(folder, 'url')]
      await writeFile(file, `sqlite:${database}\n`)
      const env = { NODE_ENV: 'production', DATABASE_URL_FILE: file }
      const commands = [
        [MIGRATE],
        [join(process.cwd(), 'dist/src/backup.js'), join(folder, 'copy.db')],
        [TYPEORM, 'migration:show', '-d', 'dist/ormconfig.js'],
      ]
      for (const command of commands) expect(await runNode(command, { env })).toMatchObject({ code: 0, stderr: '' })
      const both = await runNode([MIGRATE], { env: { ...env, DATABASE_URL: `sqlite:${folder}/other.db` } })
      expect(both).toMatchObject({ code: 1, stderr: expect.stringMatching(/DATABASE_URL_FILE are both set/) })
    } finally {
      await rm(folder, { recursive: true, force: true })
    }
  })
})
