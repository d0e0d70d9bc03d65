import { randomBytes } from 'node:crypto'
import { copyFile, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe } from '@jest/globals'
import { createConnection } from 'mysql2/promise'
import { ask } from '../../scripts/mariadb.mjs'
import type { DatabaseConfig } from '../../src/config/config.js'
import { type ChannelApi, MAIL_API, SMS_API } from './channel-api.js'
import { opened } from './opened.js'
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

/** `npm run test:all` runs each suite on each store and for both channels; `npm test` runs each contract once. */
const WHOLE_MATRIX = process.env['QUOTA_SUITES'] !== 'guard'

/** Runs a suite on each kind of store; in `npm test` on one, the server if there is one. */
export function onEveryStore(title: string, suite: (kind: StoreKind) => void): void {
  for (const kind of WHOLE_MATRIX ? STORES : STORES.slice(-1)) onStore(title, kind, suite)
}

/** Runs a suite on each kind of store in `npm test`, too, since the stores differ in what it tests. */
export function alwaysOnEveryStore(title: string, suite: (kind: StoreKind) => void): void {
  for (const kind of STORES) onStore(title, kind, suite)
}

/**
 * Runs a contract that is the same for both channels on each kind of store.
 * @param suite receives the channels to test: both; in `npm test`, if there is a server, mail there and SMS on SQLite
 */
export function forEveryChannel(
  title: string,
  suite: (kind: StoreKind, channels: readonly ChannelApi[]) => void,
): void {
  for (const kind of STORES) {
    const both = WHOLE_MATRIX || STORES.length === 1
    onStore(title, kind, () => {
      suite(kind, both ? [MAIL_API, SMS_API] : [kind === sqlite ? SMS_API : MAIL_API])
    })
  }
}

function onStore(title: string, kind: StoreKind, suite: (kind: StoreKind) => void): void {
  describe(`${title} on ${kind.name}`, () => {
    suite(kind)
  })
}
