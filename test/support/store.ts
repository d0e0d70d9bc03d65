import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe } from '@jest/globals'
import { createConnection, type RowDataPacket } from 'mysql2/promise'
import type { DatabaseConfig } from '../../src/database/data-source-options.js'

/** A kind of store that the suites run on. */
export interface StoreKind {
  readonly name: 'SQLite' | 'MariaDB'
  /** Makes an empty store that only the caller uses. */
  open(): Promise<Store>
}

/** One store: a file, or a database on a server. */
export interface Store {
  readonly config: DatabaseConfig
  /** As DATABASE_URL names it. */
  readonly url: string
  drop(): Promise<void>
}

const sqlite: StoreKind = {
  name: 'SQLite',
  async open() {
    const directory = await mkdtemp(join(tmpdir(), 'quota-test-'))
    const path = join(directory, 'quota.db')
    return {
      config: { kind: 'sqlite', path },
      url: `sqlite:${path}`,
      drop: async () => rm(directory, { recursive: true, force: true }),
    }
  },
}

/** The databases of the server that TEST_DATABASE_URL names, one for each store. */
function server(serverUrl: string): StoreKind {
  return {
    name: 'MariaDB',
    async open() {
      const database = `quota_test_${randomBytes(6).toString('hex')}`
      const connection = await createConnection(serverUrl.replace(/^mariadb:/, 'mysql:'))
      await connection.query(`CREATE DATABASE \`${database}\``)
      const [rows] = await connection.query<(RowDataPacket & { version: string })[]>('SELECT VERSION() AS version')
      await connection.end()
      const url = new URL(serverUrl)
      // As one who knows the server would write it: TypeORM tells the two apart by it when it compares schemas.
      url.protocol = rows[0]?.version.includes('MariaDB') === true ? 'mariadb:' : 'mysql:'
      url.pathname = `/${database}`
      return {
        config: { kind: 'mysql', url: url.toString(), poolSize: 10 },
        url: url.toString(),
        drop: async () => {
          const end = await createConnection(serverUrl.replace(/^mariadb:/, 'mysql:'))
          await end.query(`DROP DATABASE \`${database}\``)
          await end.end()
        },
      }
    },
  }
}

const serverUrl = process.env['TEST_DATABASE_URL']

/** Every kind of store there is here: SQLite always, a server where `npm test` found one. */
export const STORES: readonly StoreKind[] =
  serverUrl === undefined || serverUrl === '' ? [sqlite] : [sqlite, server(serverUrl)]

/** Runs a suite once for each kind of store. */
export function onEveryStore(title: string, suite: (kind: StoreKind) => void): void {
  for (const kind of STORES) {
    describe(`${title} on ${kind.name}`, () => {
      suite(kind)
    })
  }
}
