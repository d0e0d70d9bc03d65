import { randomBytes } from 'node:crypto'
import { copyFile, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect } from '@jest/globals'
import { createConnection } from 'mysql2/promise'
import { ask } from '../../scripts/mariadb.mjs'
import type { DatabaseConfig } from '../../src/config/config.js'
import { type ChannelApi, MAIL_API, SMS_API } from './channel-api.js'
import { SCALE } from './figures.js'
import { closingAtTheEnd, opened } from './opened.js'
import { serverTemplate, sqliteTemplate } from './template.js'

/** A kind of store that the suites run on. */
export interface StoreKind {
  /** A server has the name that it reports. */
  readonly name: 'SQLite' | 'MariaDB' | 'MySQL'
  /** Creates a store that only the caller uses: with the schema of this version, and without rows. */
  open(): Promise<Store>
  /** The same without a schema, for tests of migrations. */
  openEmpty(): Promise<Store>
}

/** One store: a file, or a database on a server. */
export interface Store {
  readonly config: DatabaseConfig
  /** The store's DATABASE_URL. */
  readonly url: string
  drop(): Promise<void>
}

const sqlite: StoreKind = {
  name: 'SQLite',
  async open() {
    const store = await this.openEmpty()
    await copyFile(await sqliteTemplate(), store.url.slice('sqlite:'.length))
    return store
  },
  async openEmpty() {
    const directory = await mkdtemp(join(tmpdir(), 'quota-test-'))
    const path = join(directory, 'quota.db')
    return dropped({
      config: { kind: 'sqlite', path },
      url: `sqlite:${path}`,
      drop: async () => rm(directory, { recursive: true, force: true }),
    })
  },
}

/** The databases of the server that TEST_DATABASE_URL names, one for each store. */
function server(serverUrl: string, name: 'MariaDB' | 'MySQL'): StoreKind {
  const execute = async (statements: string): Promise<void> => {
    const connection = await createConnection({ uri: serverUrl, multipleStatements: true })
    try {
      await connection.query(statements)
    } finally {
      connection.destroy()
    }
  }
  const make = async (schema?: string): Promise<Store> => {
    const database = `quota_test_${randomBytes(6).toString('hex')}`
    await execute(`CREATE DATABASE \`${database}\`` + (schema === undefined ? '' : `; USE \`${database}\`; ${schema}`))
    const url = new URL(serverUrl)
    // The precise protocol: TypeORM distinguishes the two by it when it compares schemas.
    url.protocol = `${name.toLowerCase()}:`
    url.pathname = `/${database}`
    return dropped({
      config: { kind: 'mysql', url: url.toString(), poolSize: 10 },
      url: url.toString(),
      drop: async () => execute(`DROP DATABASE \`${database}\``),
    })
  }
  return {
    name,
    open: async () => make(await serverTemplate(make)),
    openEmpty: async () => make(),
  }
}

/** A store that is dropped at the end of the test file, if not before. */
function dropped(store: Store): Store {
  const drop = async (): Promise<void> => {
    await store.drop()
    closed()
  }
  const closed = opened(drop)
  return { ...store, drop }
}

const serverUrl = (process.env['TEST_DATABASE_URL'] ?? '').replace(/^mariadb:/, 'mysql:')

/** Every available kind of store: SQLite always, a server if `npm test` found one. */
export const STORES: readonly StoreKind[] =
  serverUrl === '' ? [sqlite] : [sqlite, server(serverUrl, nameOf(await ask(serverUrl, 'SELECT VERSION() AS value')))]

function nameOf(version: string): 'MariaDB' | 'MySQL' {
  return version.includes('MariaDB') ? 'MariaDB' : 'MySQL'
}

/** What a run is for: `npm test` (`guard`), what is left after it (`rest`), or everything. */
const RUN = process.env['QUOTA_SUITES'] ?? 'all'
const GUARDS = (expect.getState().testPath ?? '').endsWith('.e2e-spec.ts')
const BOTH = [MAIL_API, SMS_API] as const
const last = STORES.at(-1)

/**
 * Runs the part of a suite that the run is for.
 * @param guarded the channels that `npm test` runs it for on a kind of store
 */
function run(
  title: string,
  guarded: (kind: StoreKind) => readonly ChannelApi[],
  suite: (kind: StoreKind, channels: readonly ChannelApi[]) => void,
): void {
  for (const kind of STORES) {
    const guard = guarded(kind)
    // Without a server, there is no other store that could be left.
    const left = RUN === 'rest' && GUARDS && STORES.length > 1
    const channels = RUN === 'guard' ? guard : BOTH.filter((api) => !left || !guard.includes(api))
    if (channels.length === 0) continue
    onStore(title, kind, () => {
      suite(kind, channels)
    })
  }
}

function onStore(title: string, kind: StoreKind, suite: (kind: StoreKind) => void): void {
  describe(`${title} on ${kind.name}`, () => {
    closingAtTheEnd(() => {
      suite(kind)
    })
  })
}

/** Runs a suite on each kind of store; in `npm test` on one, the server if there is one. */
export function onEveryStore(title: string, suite: (kind: StoreKind) => void): void {
  run(title, (kind) => (kind === last ? BOTH : []), suite)
}

/** Runs a suite on each kind of store in `npm test`, too, since the stores differ in what it tests. */
export function alwaysOnEveryStore(title: string, suite: (kind: StoreKind) => void): void {
  run(title, () => BOTH, suite)
}

/**
 * Runs a suite of what happens before a store is asked on one kind, the server if there is one; with
 * RELIABILITY_SCALE=2 on each.
 */
export function onOneStore(title: string, suite: (kind: StoreKind) => void): void {
  for (const kind of SCALE >= 2 ? STORES : STORES.slice(-1)) onStore(title, kind, suite)
}

/**
 * Runs a contract of the channels on each kind of store.
 * @param suite receives the channels to test: both; in `npm test`, if there is a server, mail there and SMS on SQLite
 */
export function forEveryChannel(
  title: string,
  suite: (kind: StoreKind, channels: readonly ChannelApi[]) => void,
): void {
  run(title, (kind) => (STORES.length === 1 ? BOTH : [kind === sqlite ? SMS_API : MAIL_API]), suite)
}

/** The same for what channels share: in `npm test`, it runs for mail alone, on the server if there is one. */
export function forSharedRules(title: string, suite: (kind: StoreKind, channels: readonly ChannelApi[]) => void): void {
  run(title, (kind) => (kind === last ? [MAIL_API] : []), suite)
}
