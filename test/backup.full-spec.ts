import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync, statSync } from 'node:fs'
import { mkdir, readdir, readFile, rm, stat, symlink, utimes, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals'
import Database from 'libsql'
import { createConnection, type RowDataPacket } from 'mysql2/promise'
import { runNode } from './support/command.js'
import { Instance } from './support/instance.js'
import { temporaryFolder } from './support/opened.js'
import { type Store, type StoreKind, STORES } from './support/store.js'

// Processes one after the other, on a machine that may be busy.
jest.setTimeout(120_000)

// Needs `npm run build` before.
const ENTRY = join(process.cwd(), 'dist/src/backup.js')
const QUOTA = { account_id: 7, quota_type: 1, total: 1_000_000, expire_at: '2099-01-01T00:00:00Z' }
const CONSUME = '/api/v1/quotas/usage/consume'

let folder: string
const at = (name: string): string => join(folder, name)

beforeEach(async () => {
  folder = temporaryFolder('quota-backup-')
})

describe('the backup command', () => {
  it('copies everything that was answered before, as one consistent state, while the service continues to write', async () => {
    const env = { DATABASE_URL: `sqlite:${at('quota.db')}` }
    const instance = await Instance.start(env.DATABASE_URL)
    let consumed = 0
    let ended = false as boolean
    try {
      expect((await instance.post('/api/v1/quotas', QUOTA)).status).toBe(201)
      const consume = async () => {
        const { status } = await instance.post(CONSUME, { account_id: 7, amount: 1 }, `key-${consumed}`)
        expect(status).toBe(200)
        consumed += 1
      }
      while (consumed < 50) await consume()
      const running = runNode([ENTRY, 'copy.db'], { cwd: folder, env }).finally(() => {
        ended = true
      })
      while (!ended) await consume()
      expect(await running).toMatchObject({ code: 0, stderr: '' })
    } finally {
      await instance.kill()
    }
    const copy = new Database(at('copy.db'))
    const { used } = copy.prepare('SELECT used FROM mail_quota').get([]) as { used: number }
    const { acts } = copy.prepare("SELECT COUNT(*) AS acts FROM mail_act WHERE kind = 'consume'").get([]) as {
      acts: number
    }
    copy.close()
    expect(used).toBeGreaterThanOrEqual(50)
    expect(used).toBeLessThanOrEqual(consumed)
    expect(acts).toBe(used)
    expect((await stat(at('copy.db'))).mode & 0o777).toBe(0o600)

    const restored = await Instance.start(`sqlite:${at('copy.db')}`)
    try {
      expect(JSON.parse((await restored.get('/api/v1/quotas/summary/7')).text)).toMatchObject({ used })
    } finally {
      await restored.kill()
    }
  })

  it('is not taken from the work of another backup to the same file, nor replaces what has come meanwhile', async () => {
    const large = new Database(at('quota.db'))
    large.exec('CREATE TABLE filler (content BLOB)')
    const insert = large.prepare('INSERT INTO filler VALUES (zeroblob(1000000))')
    for (let n = 0; n < 100; n += 1) insert.run([])
    large.close()
    const part = at('copy.db.part')
    /** Stops a backup in its midst, and does something to the files. */
    const interrupted = async (meanwhile: () => Promise<void>): Promise<number | null> => {
      for (;;) {
        const env = { PATH: process.env['PATH'], DATABASE_URL: 'sqlite:./quota.db' }
        const child = spawn(process.execPath, [ENTRY, 'copy.db'], { cwd: folder, env, stdio: 'ignore' })
        const ended = once(child, 'exit') as Promise<[number | null]>
        while (child.exitCode === null && (statSync(part, { throwIfNoEntry: false })?.size ?? 0) === 0) await sleep(1)
        child.kill('SIGSTOP')
        while (child.exitCode === null && !/\) T /.test(readFileSync(`/proc/${child.pid}/stat`, 'latin1')))
          await sleep(1)
        const isCaught = existsSync(part) && !existsSync(at('copy.db'))
        if (isCaught) await meanwhile()
        child.kill('SIGCONT')
        const [code] = await ended
        if (isCaught) return code
        // It was faster.
        await rm(at('copy.db'))
      }
    }
    const another = await interrupted(async () => {
      await rm(part)
      await writeFile(part, 'half')
    })
    expect([another, await readdir(folder)]).toEqual([1, expect.arrayContaining(['copy.db.part', 'quota.db'])])
    expect([existsSync(at('copy.db')), (await stat(part)).size]).toEqual([false, 'half'.length])
    await rm(part)
    expect(await interrupted(async () => writeFile(at('copy.db'), 'the last copy'))).toBe(1)
    expect([existsSync(part), (await stat(at('copy.db'))).size]).toEqual([false, 'the last copy'.length])
  })

  it('refuses without any change: no file, an existing one, a server', async () => {
    const copyOf = async (url: string) => runNode([ENTRY, 'copy.db'], { cwd: folder, env: { DATABASE_URL: url } })
    const missing = await copyOf('sqlite:./none.db')
    expect(missing).toMatchObject({ code: 1, stdout: '' })
    expect(missing.stderr).toContain(`${at('none.db')} does not exist`)
    expect(await readdir(folder)).toEqual([])

    await writeFile(at('quota.db'), '')
    await writeFile(at('copy.db'), 'the last copy')
    expect(await copyOf('sqlite:./quota.db')).toMatchObject({ code: 1, stdout: '' })
    expect((await stat(at('copy.db'))).size).toBe('the last copy'.length)
    await rm(at('copy.db'))

    const server = await copyOf('mysql://someone:geheim@127.0.0.1:1/quota')
    expect(server).toMatchObject({ code: 1, stdout: '' })
    expect(server.stderr).toMatch(/mysql:\/\/someone@127\.0\.0\.1:1\/quota.*mariadb-dump/)
    expect(server.stderr).not.toContain('geheim')
    expect(await runNode([ENTRY], { cwd: folder })).toMatchObject({ code: 2, stdout: '' })
    expect(existsSync(at('copy.db'))).toBe(false)
  })
})

/** The folder of a server's own programs: those of MySQL are where `MYSQL_CLIENTS` says. */
const MYSQL_CLIENTS = process.env['MYSQL_CLIENTS']
const run = promisify(execFile)

/** A file is copied by the command above. */
function onEveryServer(title: string, suite: (kind: StoreKind) => void): void {
  for (const kind of STORES)
    if (kind.name !== 'SQLite')
      describe(`${title} on ${kind.name}`, () => {
        suite(kind)
      })
}

onEveryServer('a dump of a server', (kind) => {
  if (kind.name === 'MySQL' && MYSQL_CLIENTS === undefined) {
    // MariaDB's programs write what MySQL does not take: values of computed columns.
    it.skip("is not tried without MySQL's own programs (MYSQL_CLIENTS names their folder)", () => undefined)
    return
  }
  const program = (name: 'dump' | 'client'): string => {
    if (kind.name === 'MariaDB') return name === 'dump' ? 'mariadb-dump' : 'mariadb'
    return join(String(MYSQL_CLIENTS), name === 'dump' ? 'mysqldump' : 'mysql')
  }

  let store: Store
  let instance: Instance | undefined
  let database: string
  let access: string[]
  let env: Record<string, string>

  beforeEach(async () => {
    store = await kind.open()
    const { hostname, port, username, password, pathname } = new URL(store.url)
    database = pathname.slice(1)
    access = [`--host=${hostname}`, `--port=${port}`, `--user=${username}`, '--protocol=tcp']
    env = { PATH: process.env['PATH'] ?? '', MYSQL_PWD: decodeURIComponent(password) }
  })

  afterEach(async () => {
    await instance?.kill()
    instance = undefined
    for (const name of [`${database}_before`, `${database}_restored`])
      await query(`DROP DATABASE IF EXISTS \`${name}\``)
    await store.drop()
  })

  async function query(sql: string): Promise<RowDataPacket[]> {
    const connection = await createConnection(store.url.replace(/^\w+:/, 'mysql:'))
    try {
      const [rows] = await connection.query<RowDataPacket[]>(sql)
      return rows
    } finally {
      connection.destroy()
    }
  }

  /** The options that docs/run/backup-and-upgrade.md names for this kind of server. */
  async function optionsOf(command: string): Promise<string[]> {
    const page = await readFile('docs/run/backup-and-upgrade.md', 'utf8')
    const line = new RegExp(`\`${command} --defaults-extra-file=dump.cnf (--single-transaction[^\`]*) -h HOST`).exec(
      page,
    )?.[1]
    return line?.split(' ') ?? []
  }

  async function dump(): Promise<string> {
    const options = await optionsOf(basename(program('dump')))
    expect(options.length).toBeGreaterThan(0)
    const { stdout } = await run(program('dump'), [...access, ...options, database], { env, maxBuffer: 64_000_000 })
    await writeFile(at('quota.sql'), stdout)
    return stdout
  }

  /** As the page says. */
  async function restore(
    file: string,
    before: readonly string[] = [],
  ): Promise<{ code: number; stdout: string; stderr: string }> {
    const command = [...before, program('client'), ...access]
    const { code, stdout, stderr } = await run('sh', ['deploy/restore.sh', at(file), database, ...command], {
      env,
    }).then(
      (ended) => ({ code: 0, ...ended }),
      (error: unknown) => error as { code: number; stdout: string; stderr: string },
    )
    // MariaDB's client from 11.4 on does not see that MYSQL_PWD is a password.
    return { code, stdout, stderr: stderr.replace(/^WARNING: option --ssl-verify-server-cert is disabled.*\n/gm, '') }
  }

  const databases = async (): Promise<string[]> =>
    (await query(`SHOW DATABASES LIKE '${database}%'`)).map((row) => String(Object.values(row)[0]))

  const summary = async (): Promise<unknown> => JSON.parse((await instance!.get('/api/v1/quotas/summary/7')).text)

  async function started(): Promise<void> {
    instance = await Instance.start(store.url)
  }

  async function stopped(): Promise<void> {
    expect(await instance!.terminate()).toBe(0)
  }

  const consume = async (key: string): Promise<{ status: number; text: string }> =>
    instance!.post(CONSUME, { account_id: 7, amount: 5 }, key)

  it('is one consistent state, taken while the service writes, and replaces the existing one in one step', async () => {
    await started()
    expect((await instance!.post('/api/v1/quotas', { ...QUOTA, label: 'Ünicode 💡' })).status).toBe(201)
    const first = await consume('first')
    expect(first.status).toBe(200)
    await dump()
    expect((await consume('second')).status).toBe(200)
    await stopped()

    const ended = await restore('quota.sql')
    expect(ended).toMatchObject({ code: 0, stderr: '' })
    expect(ended.stdout).toContain(`What it was before is in ${database}_before`)
    expect(await databases()).toEqual([database, `${database}_before`])
    const [was] = await query(`SELECT used FROM \`${database}_before\`.mail_quota`)
    expect(Number(was!['used'])).toBe(10)

    await started()
    expect(await summary()).toMatchObject({ used: 5 })
    expect((await consume('first')).text).toBe(first.text)
    expect((await consume('second')).status).toBe(200)
    expect(await summary()).toMatchObject({ used: 10 })
    const list = await instance!.get('/api/v1/quotas?label=%C3%BCnicode')
    expect(JSON.parse(list.text)).toMatchObject({ total: 1 })
    await stopped()
  })

  it('is kept each day, and removed only after a later one is whole', async () => {
    await mkdir(at('mounted'))
    await symlink(at('mounted'), at('kept'))
    const old = async (day: string): Promise<void> => {
      await writeFile(at(`kept/${day}`), 'old')
      await utimes(at(`kept/${day}`), 0, 0)
    }
    await old('quota-2026-01-01.sql')
    await old('quota-2026-01-02.sql.part')
    await old('others.sql')
    const keep = async (...command: string[]): Promise<string> =>
      run('sh', ['deploy/backup.sh', at('kept'), '14', ...command], { env }).then(
        ({ stdout }) => stdout,
        (error: unknown) => (error as { stderr: string }).stderr,
      )
    await writeFile(at('cut.sql'), (await dump()).slice(0, -1_000))
    expect(await keep('cat', at('cut.sql'))).toMatch(/not whole.*as they were/)
    await writeFile(at('other.sql'), 'CREATE TABLE `other` (\n  `id` int\n);\n-- Dump completed\n')
    expect(await keep('cat', at('other.sql'))).toMatch(/another database.*as they were/)
    expect(await keep('false')).toMatch(/false failed.*as they were/)
    // Dash runs no EXIT trap at a signal.
    expect(await keep('sh', '-c', 'kill -TERM $PPID; sleep 0.1')).toBe('')
    expect(await readdir(at('kept'))).toEqual(['others.sql', 'quota-2026-01-01.sql', 'quota-2026-01-02.sql.part'])
    const made = /quota-\d{4}-\d\d-\d\d\.sql/.exec(
      await keep(program('dump'), ...access, ...(await optionsOf(basename(program('dump')))), database),
    )![0]
    expect(await readdir(at('kept'))).toEqual(['others.sql', made])
    expect((await stat(at(`kept/${made}`))).mode & 0o777).toBe(0o600)
    expect(await restore(`kept/${made}`)).toMatchObject({ code: 0, stderr: '' })
  })

  it('that is not whole, not of the service, or cannot be loaded, changes nothing', async () => {
    await started()
    expect((await instance!.post('/api/v1/quotas', QUOTA)).status).toBe(201)
    expect((await consume('first')).status).toBe(200)
    const whole = await dump()
    expect(await restore('quota.sql')).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/is in use: .*\(pid \d+\), stop that first.*Nothing was changed/),
    })
    await stopped()
    const middle = whole.indexOf('CREATE TABLE `sms_act`')
    expect(middle).toBeGreaterThan(0)
    const end = '\n-- Dump completed on 2026-11-23  1:00:00\n'
    const broken: [string, string, RegExp][] = [
      ['cut', whole.slice(0, whole.length / 2), /not whole.*Nothing was changed/],
      [
        'its database named',
        whole.replace('CREATE TABLE', `CREATE DATABASE \`x\`;\nUSE \`x\`;\nCREATE TABLE`),
        /--databases.*Nothing was changed/,
      ],
      [
        'with gtids',
        `SET @@SESSION.SQL_LOG_BIN= 0;\nSET @@GLOBAL.GTID_PURGED=/*!80000 '+'*/ 'a-b:1-9,\nc-d:1-7';\n${whole}`,
        /without --set-gtid-purged=OFF.*Nothing was changed/,
      ],
      [
        'an error in its midst',
        `${whole.slice(0, middle)}THIS IS NO SQL;\n${whole.slice(middle)}`,
        /could not be loaded.*is as it was/,
      ],
      ["somebody else's", `CREATE TABLE other (id int);${end}`, /could not be read.*is as it was/],
    ]
    for (const [name, text, words] of broken) {
      await writeFile(at('broken.sql'), text)
      const ended = await restore('broken.sql')
      expect([name, ended.code]).toEqual([name, 1])
      expect(ended.stderr).toMatch(words)
      const [quota] = await query(`SELECT used FROM \`${database}\`.mail_quota`)
      expect([name, Number(quota!['used'])]).toEqual([name, 5])
      if (name === 'with gtids') {
        await run('sh', ['-c', /awk .*/.exec(ended.stderr)![0]], { env })
        expect(await readFile(at('broken.sql.without-gtid'), 'utf8')).toBe(whole)
      }
      const undo = [...ended.stderr.matchAll(/DROP DATABASE `\w+`;/g)].map(([sql]) => sql)
      for (const sql of undo) await query(sql)
      expect([name, await databases()]).toEqual([name, [database]])
    }
    // The service goes on afterwards, and what it wrote is there.
    await started()
    expect(await summary()).toMatchObject({ used: 5 })
    expect((await consume('first')).status).toBe(200)
    await stopped()
    // The last one's remains are no obstacle, once they are removed as it says.
    expect(await restore('quota.sql')).toMatchObject({ code: 0, stderr: '' })
    const again = await restore('quota.sql')
    expect(again).toMatchObject({ code: 1 })
    expect(again.stderr).toMatch(/must not be there.*is as it was/)
    expect(await databases()).toEqual([database, `${database}_before`])
  })

  it('is put back when the answer to the exchange of the tables is lost', async () => {
    await started()
    await stopped()
    await dump()
    // A client that fails after its statement took effect, from the exchange on for as long as the file is there.
    await writeFile(
      at('client.sh'),
      `sql=$(cat); printf '%s\\n' "$sql" | "$@" || exit 1; case $sql in 'RENAME TABLE'*) exit 1;; SELECT*left*) [ ! -e ${at('away')} ];; esac\n`,
    )
    const lost = async (): ReturnType<typeof restore> => restore('quota.sql', ['sh', at('client.sh')])
    expect(await lost()).toMatchObject({ code: 0, stderr: '' })
    expect(await databases()).toEqual([database, `${database}_before`])
    await query(`DROP DATABASE \`${database}_before\``)
    await writeFile(at('away'), '')
    const unknown = await lost()
    expect(unknown).toMatchObject({ code: 1 })
    expect(unknown.stderr).toMatch(/not known whether.*Look before you drop/)
    expect(unknown.stderr).not.toContain('DROP')
    const again = await restore('quota.sql')
    expect(again.stderr).toMatch(/Tables in \w+_before are what \w+ was before/)
    for (const name of ['before', 'restored']) await query(`DROP DATABASE \`${database}_${name}\``)
    expect(await restore('quota.sql')).toMatchObject({ code: 0, stderr: '' })
  })

  if (kind.name === 'MySQL') {
    it('of a server with gtid_mode=ON needs only the privileges of the page', async () => {
      const [row] = await query('SELECT @@gtid_mode AS mode')
      expect(row!['mode']).toMatch(/^(ON|OFF)$/)
      await started()
      expect((await instance!.post('/api/v1/quotas', QUOTA)).status).toBe(201)
      await stopped()
      const account = database.slice(-20)
      await query(`CREATE USER ${account}@'%' IDENTIFIED BY 'p'`)
      try {
        await query(`GRANT SELECT, SHOW VIEW ON \`${database}\`.* TO ${account}@'%'`)
        access = access.map((option) => (option.startsWith('--user=') ? `--user=${account}` : option))
        env['MYSQL_PWD'] = 'p'
        expect(await dump()).toContain('-- Dump completed')
      } finally {
        await query(`DROP USER ${account}@'%'`)
      }
    })
  }
})
