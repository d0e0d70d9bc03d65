import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals'
import { DataSource } from 'typeorm'
import { freePort } from '../scripts/mariadb.mjs'
import { dataSourceOptions } from '../src/database/data-source-options.js'
import { recordStart } from '../src/database/instances.js'
import { migrate, withoutStarts } from '../src/database/migrate.js'
import { MIGRATIONS } from '../src/database/migrations/index.js'
import { ENTITIES } from '../src/entities.js'
import { VERSION } from '../src/common/version.js'
import { type Ended, runNode } from './support/command.js'
import { Instance } from './support/instance.js'
import { NextVersion } from './support/next-version.js'
import { temporaryFolder } from './support/opened.js'
import { onEveryStore, type Store } from './support/store.js'
import { TcpProxy } from './support/tcp-proxy.js'

// Processes one after the other, on a machine that may be busy.
jest.setTimeout(120_000)

// Needs `npm run build` before.
const ENTRY = join(process.cwd(), 'dist/src/migrate.js')
const NAMES = MIGRATIONS.map(({ name }) => name)

/** The migrations that a command says it ran. */
function ranBy({ stdout }: Ended): string[] {
  return [...stdout.matchAll(/^ran +(\S+)$/gm)].map(([, name]) => name ?? '')
}

/** Does something with a store, as the migrations do; nobody else uses it meanwhile. */
async function inside<T>(store: Store, work: (dataSource: DataSource) => Promise<T>): Promise<T> {
  const dataSource = await new DataSource(dataSourceOptions(store.config, ENTITIES, 'migration')).initialize()
  try {
    return await work(dataSource)
  } finally {
    await dataSource.destroy()
  }
}

/** The migrations that a store says it has, one for each time. */
async function recordedIn(store: Store): Promise<string[]> {
  const rows = await inside(store, async (dataSource): Promise<{ name: string }[]> =>
    dataSource.query('SELECT name FROM schema_migration ORDER BY id'),
  )
  return rows.map(({ name }) => name)
}

let folder: string

beforeEach(() => {
  folder = temporaryFolder('quota-migrate-')
})

onEveryStore('the migrate command', (kind) => {
  let store: Store

  beforeEach(async () => {
    store = await kind.openEmpty()
  })

  it('runs each migration once, however many commands start together', async () => {
    const all = await Promise.all([1, 2, 3].map(async () => runNode([ENTRY], { env: { DATABASE_URL: store.url } })))
    expect(all.map(({ code, stderr }) => ({ code, stderr }))).toEqual(Array(3).fill({ code: 0, stderr: '' }))
    expect(all.flatMap(ranBy)).toEqual(NAMES)
    expect(await recordedIn(store)).toEqual(NAMES)
  })

  it('uses the database that .env names, as the service does, and names it', async () => {
    await writeFile(join(folder, '.env'), `NODE_ENV=production\nDATABASE_URL=${store.url}\n`)
    const ended = await runNode([ENTRY], { cwd: folder })
    expect(ended).toMatchObject({ code: 0, stderr: '' })
    expect(ranBy(ended)).toEqual(NAMES)
    expect(await recordedIn(store)).toEqual(NAMES)
    const named = store.config.kind === 'sqlite' ? store.config.path : new URL(store.url).pathname
    expect(ended.stdout.split('\n')[0]).toMatch(new RegExp(`^Database .*${named}$`))
    expect(existsSync(join(folder, 'data'))).toBe(false)
  })

  it('gives the environment precedence over .env', async () => {
    await writeFile(join(folder, '.env'), 'DATABASE_URL=sqlite:./other.db\n')
    const ended = await runNode([ENTRY], { cwd: folder, env: { DATABASE_URL: store.url } })
    expect(ended.code).toBe(0)
    expect(await recordedIn(store)).toEqual(NAMES)
    expect(existsSync(join(folder, 'other.db'))).toBe(false)
  })

  it('lists with --status what has run, and changes nothing', async () => {
    const env = { DATABASE_URL: store.url }
    const before = await runNode([ENTRY, '--status'], { env })
    expect(before).toMatchObject({ code: 3, stderr: '' })
    expect(ranBy(before)).toEqual([])
    expect(before.stdout).toMatch(new RegExp(`^waiting +${NAMES.at(-1) ?? ''}$`, 'm'))
    if (store.config.kind === 'sqlite') expect(existsSync(store.config.path)).toBe(false)
    else await expect(recordedIn(store)).rejects.toThrow(/schema_migration/)

    expect((await runNode([ENTRY], { env })).code).toBe(0)
    const after = await runNode([ENTRY, '--status'], { env })
    expect(after).toMatchObject({ code: 0, stderr: '' })
    expect(ranBy(after)).toEqual(NAMES)
    const again = await runNode([ENTRY], { env })
    expect(again.code).toBe(0)
    expect(again.stdout).toMatch(/nothing to do/)
  })

  it('explains a schema that is newer, and so does the log of an instance', async () => {
    await migrate(store.config, ENTITIES)
    const dataSource = await new DataSource(dataSourceOptions(store.config, [], 'migration')).initialize()
    await dataSource.query(
      "INSERT INTO schema_migration (timestamp, name) VALUES (1999000000000, 'Ahead1999000000000')",
    )
    await dataSource.destroy()
    const status = await runNode([ENTRY, '--status'], { env: { DATABASE_URL: store.url } })
    expect(status).toMatchObject({ code: 0, stderr: '' })
    expect(status.stdout).toMatch(/^newer +Ahead1999000000000$/m)
    expect(status.stdout).toMatch(/newer than this version/)
    const instance = await Instance.start(store.url, { LOG_LEVEL: 'warn' })
    expect(await instance.terminate()).toBe(0)
    expect(instance.log).toMatch(/"level":"warn".*newer than this version.*Ahead1999000000000/)
    expect(await runNode([ENTRY], { env: { DATABASE_URL: store.url } })).toMatchObject({ code: 0 })
    expect(await recordedIn(store)).toEqual([...NAMES, 'Ahead1999000000000'])
  })

  describe('with instances there', () => {
    let next: NextVersion

    beforeAll(async () => {
      next = await NextVersion.make()
    })

    /** The command of the next version. */
    const command = async (...args: string[]): Promise<Ended> =>
      runNode([next.program('migrate.js'), ...args], { env: { DATABASE_URL: store.url } })

    /** As after an update from the present version: what is left for --finish has not run. */
    async function updated(): Promise<void> {
      await migrate(store.config, ENTITIES)
      const update = await command()
      expect(update).toMatchObject({ code: 0, stderr: '' })
      expect(ranBy(update)).toEqual([next.adds])
    }

    /** An instance that has said so; times are those of the store's clock. */
    async function seen(name: string, version: string, secondsAgo: number): Promise<void> {
      const at =
        kind.name === 'SQLite'
          ? `strftime('%Y-%m-%d %H:%M:%f', 'now', '${-secondsAgo} seconds')`
          : `UTC_TIMESTAMP(3) - INTERVAL ${secondsAgo} SECOND`
      await inside(store, async (dataSource) =>
        dataSource.query(`INSERT INTO service_instance (id, name, version, seen_at) VALUES (?, ?, ?, ${at})`, [
          name,
          name,
          version,
        ]),
      )
    }

    it('leaves for --finish what an instance of the version before cannot handle', async () => {
      await updated()
      const status = await command('--status')
      expect(status).toMatchObject({ code: 0, stderr: '' })
      expect(ranBy(status)).toEqual([...NAMES, next.adds])
      expect(status.stdout).toMatch(new RegExp(`^later +${next.uses}$`, 'm'))
      expect(status.stdout).toMatch(/--finish/)
      expect(ranBy(await command('--finish'))).toEqual([next.uses])
      expect((await command('--status')).stdout).not.toMatch(/later|--finish/)
      expect(await recordedIn(store)).toEqual([...NAMES, next.adds, next.uses])
    })

    it('does not finish if an older instance was running within the last minute, and names it', async () => {
      await updated()
      await seen('old-1 (pid 7)', VERSION, 20)
      await seen('old-2 (pid 8)', VERSION, 70)
      // The clock of the store was ahead.
      await seen('old-3 (pid 6)', VERSION, -7_200)
      await seen('new-1 (pid 9)', next.version, 1)
      const status = await command('--status')
      const ages = new RegExp(
        `^here     ${VERSION}  old-1 \\(pid 7\\), (\\d+) s ago\nhere     ${next.version}  new-1 \\(pid 9\\), (\\d+) s ago$`,
        'm',
      ).exec(status.stdout)
      // On a busy machine, all of them are older by the time that passed.
      const [older, newer] = [Number(ages?.[1]), Number(ages?.[2])]
      expect(older).toBeGreaterThanOrEqual(20)
      expect(newer).toBeGreaterThanOrEqual(1)
      expect(older - newer).toBeGreaterThanOrEqual(18)
      const refused = await command('--finish')
      expect(refused.code).toBe(1)
      expect(refused.stderr).toMatch(
        /^--finish changes nothing: instances older than .* within the last minute\.\n {2}\S+ {2}old-1 \(pid 7\), \d+ s ago\nStop them/,
      )
      expect(refused.stderr).not.toMatch(/old-2|old-3|new-1/)
      expect(await recordedIn(store)).toEqual([...NAMES, next.adds])

      await inside(store, async (dataSource) =>
        dataSource.query("DELETE FROM service_instance WHERE name LIKE 'old-1%'"),
      )
      expect(ranBy(await command('--finish'))).toEqual([next.uses])
      // Nothing is left to finish: whoever is there can stand it.
      await seen('old-4', VERSION, 1)
      expect(await command('--finish')).toMatchObject({ code: 0, stderr: '' })
    })

    it('reverts migrations one by one with --back, unless an instance is running that needs them', async () => {
      await updated()
      expect(ranBy(await command('--finish'))).toEqual([next.uses])
      await seen('new-1', next.version, 5)
      const refused = await command('--back')
      expect(refused.code).toBe(1)
      expect(refused.stderr).toMatch(
        /^--back changes nothing: instances of .* or newer were running within the last minute\.\n {2}\S+ {2}new-1, \d+ s ago\n/,
      )
      await inside(store, async (dataSource) => dataSource.query('DELETE FROM service_instance'))
      const unknown = await runNode([ENTRY, '--back'], { env: { DATABASE_URL: store.url } })
      expect(unknown).toMatchObject({ code: 1, stderr: expect.stringContaining('was run by a newer version') })
      for (const name of [next.uses, next.adds]) {
        const ended = await command('--back')
        expect(ended).toMatchObject({ code: 0, stderr: '' })
        expect(ended.stdout).toMatch(new RegExp(`\ntaken back ${name}\n$`))
      }
      expect(await command('--back')).toMatchObject({
        code: 1,
        stderr: expect.stringMatching(/only Baseline\d+ is left/),
      })
      expect(await recordedIn(store)).toEqual(NAMES)
    })

    if (kind.name !== 'SQLite') {
      it('refuses beside an instance that has just begun to start, and beside one that came while it waited', async () => {
        const back = async () => runNode([ENTRY, '--back'], { env: { DATABASE_URL: store.url } })
        await migrate(store.config, ENTITIES, { after: recordStart })
        const started = await back()
        expect([started.code, started.stderr]).toEqual([1, expect.stringContaining(`(pid ${process.pid})`)])
        await inside(store, async (dataSource) => dataSource.query('DELETE FROM service_instance'))
        const late = await withoutStarts(store.config, ENTITIES, async () => {
          const ended = back()
          await inside(store, async (dataSource) => {
            const waits = "SELECT 1 FROM information_schema.processlist WHERE state = 'User lock'"
            while ((await dataSource.query(waits)).length === 0) await new Promise((resolve) => setTimeout(resolve, 50))
          })
          await seen('late', next.version, 0)
          return { ended }
        })
        expect(await late.ended).toMatchObject({ code: 1, stderr: expect.stringContaining(' late, ') })
      })

      it('runs each with the grants that docs/run/database.md names for it', async () => {
        const account = `m${randomBytes(6).toString('hex')}`
        const { pathname } = new URL(store.url)
        const url = new URL(store.url)
        url.username = account
        url.password = 'p'
        const env = { DATABASE_URL: url.toString() }
        const asRoot = async (sql: string): Promise<unknown> =>
          inside(store, async (dataSource) => dataSource.query(sql))
        const page = await readFile('docs/run/database.md', 'utf8')
        const [, serve] = /GRANT ([A-Z, ]+) ON quota\.\* TO quota@'%'/.exec(page) ?? []
        const [, back] = /GRANT (DROP) ON quota\.\* TO/.exec(page) ?? []
        await asRoot(`CREATE USER ${account}@'%' IDENTIFIED BY 'p'`)
        try {
          await asRoot(`GRANT ${String(serve)} ON ${pathname.slice(1)}.* TO ${account}@'%'`)
          const migrateWith = async (...args: string[]): Promise<Ended> =>
            runNode([next.program('migrate.js'), ...args], { env })
          expect(ranBy(await migrateWith())).toEqual([...NAMES, next.adds, next.uses])
          expect(await migrateWith('--back')).toMatchObject({ code: 0, stderr: '' })
          const refused = await migrateWith('--back')
          expect(refused.code).toBe(1)
          expect(refused.stderr).toMatch(/DROP command denied/)
          await asRoot(`GRANT ${String(back)} ON ${pathname.slice(1)}.* TO ${account}@'%'`)
          expect(await migrateWith('--back')).toMatchObject({ code: 0, stderr: '' })
        } finally {
          await asRoot(`DROP USER ${account}@'%'`)
        }
      })

      it('reverts one migration with --back, also if the answer that it is done is lost', async () => {
        await updated()
        expect(ranBy(await command('--finish'))).toEqual([next.uses])
        const proxy = await TcpProxy.start(store.url)
        let lost = 0
        proxy.rule = ({ text }) =>
          lost === 0 && /^DELETE FROM .*schema_migration/.test(text) ? ((lost += 1), 'swallow') : 'pass'
        try {
          const ended = await runNode([next.program('migrate.js'), '--back'], { env: { DATABASE_URL: proxy.url } })
          expect([lost, ended.code, ended.stdout.split('\n').at(-2)]).toEqual([1, 0, `taken back ${next.uses}`])
        } finally {
          await proxy.close()
        }
        expect(await recordedIn(store)).toEqual([...NAMES, next.adds])
      })
    }
  })
})

describe('the migrate command', () => {
  it('names a server that does not answer, without the password', async () => {
    const url = `mysql://someone:geheim@127.0.0.1:${await freePort()}/quota`
    const { code, stdout, stderr } = await runNode([ENTRY], { env: { DATABASE_URL: url } })
    expect(code).toBe(1)
    expect(stderr).toMatch(/^The database mysql:\/\/someone@127\.0\.0\.1:\d+\/quota cannot be used: .*ECONNREFUSED/)
    expect(stdout + stderr).not.toContain('geheim')
  })

  it('refuses unknown arguments with 2, and an invalid configuration with 1', async () => {
    expect(await runNode([ENTRY, '--dry'], { cwd: folder })).toMatchObject({ code: 2, stdout: '' })
    expect(await runNode([ENTRY, '--status', '--finish'], { cwd: folder })).toMatchObject({ code: 2, stdout: '' })
    const nowhere = await runNode([ENTRY], { cwd: folder, env: { NODE_ENV: 'production' } })
    expect(nowhere.code).toBe(1)
    expect(nowhere.stderr).toMatch(/DATABASE_URL is required/)
    await mkdir(join(folder, '.env'))
    const unread = await runNode([ENTRY], { cwd: folder })
    expect(unread.code).toBe(1)
    expect(unread.stderr).toMatch(/\.env cannot be read/)
    expect(existsSync(join(folder, 'data'))).toBe(false)
  })
})

describe('a SQLite file that may not be written', () => {
  const NOBODY = 65_534

  /** Looks at the file as one who is not root, whoever runs the tests. @returns why it cannot be used, or '' */
  async function refusalOf(path: string): Promise<string> {
    const module = join(process.cwd(), 'dist/src/database/sqlite-file.js')
    const script = `
      const { ensureWritable } = await import(${JSON.stringify(module)})
      if (process.getuid() === 0) { process.setgroups([]); process.setgid(${NOBODY}); process.setuid(${NOBODY}) }
      try { ensureWritable(process.argv[1]) } catch (error) { process.stdout.write(error.message) }`
    const { code, stdout } = await runNode(['--input-type=module', '-e', script, path])
    expect(code).toBe(0)
    return stdout
  }

  it('is reported at start: the path, the user, and the remedy', async () => {
    const path = join(folder, 'quota.db')
    await writeFile(path, '')
    await chmod(folder, 0o755)
    // One who owns the folder could still write it; root could in any case.
    if (process.getuid?.() !== 0) await chmod(folder, 0o555)
    const folderClosed = await refusalOf(path)
    expect(folderClosed).toMatch(/runs as \d+:\d+ \(uid:gid\), which may not write/)
    expect(folderClosed).toContain(`${folder} (`)
    expect(folderClosed).toMatch(/\(chown \d+:\d+ \S+\)/)

    await chmod(folder, 0o777)
    await chmod(path, 0o444)
    expect(await refusalOf(path)).toContain(`may not write ${path} (`)
    await chmod(path, 0o666)
    expect(await refusalOf(path)).toBe('')
    await writeFile(`${path}-wal`, '')
    await chmod(`${path}-wal`, 0o400)
    expect(await refusalOf(path)).toContain(`may not write ${path}-wal (`)
  })

  it('is reported also if its folder cannot be created', async () => {
    await chmod(folder, 0o555)
    expect(await refusalOf(join(folder, 'a/b/quota.db'))).toContain(
      `may not make ${join(folder, 'a/b')} in ${folder} (`,
    )
    await chmod(folder, 0o777)
    expect(await refusalOf(join(folder, 'a/b/quota.db'))).toBe('')
    await mkdir(join(folder, 'folder.db'))
    expect(await refusalOf(join(folder, 'folder.db'))).toContain('is a folder')
  })
})
