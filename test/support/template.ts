/**
 * The initial schema of the suites' stores: the migrations run once for each kind of store and run of Jest, and their
 * result is copied.
 */
import { existsSync } from 'node:fs'
import { readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createConnection, type RowDataPacket } from 'mysql2/promise'
import type { DatabaseConfig } from '../../src/config/config.js'
import type { Store } from './store.js'

/** Runs all migrations on an empty store. They are loaded only here, since most suites never need them. */
async function migrated(config: DatabaseConfig): Promise<void> {
  const [{ migrate }, { ENTITIES }] = await Promise.all([
    import('../../src/database/migrate.js'),
    import('../../src/entities.js'),
  ])
  await migrate(config, ENTITIES)
}

/**
 * @param name the name of the template
 * @param make writes it to the given path
 * @returns its path
 */
async function template(name: string, make: (path: string) => Promise<void>): Promise<string> {
  const folder = process.env['QUOTA_TEMPLATES']
  if (folder === undefined) throw new Error('QUOTA_TEMPLATES is missing: templates.setup.mjs makes it')
  const path = join(folder, name)
  if (!existsSync(path)) {
    // Two workers may make it at the same time, with the same result.
    const own = `${path}-${process.pid}`
    await make(own)
    await rename(own, path)
  }
  return path
}

/** The path of a SQLite file with the schema, to be copied. */
export async function sqliteTemplate(): Promise<string> {
  return template('sqlite.db', async (path) => {
    await migrated({ kind: 'sqlite', path })
  })
}

/**
 * The statements that create the schema in an empty database of a server.
 * @param makeEmpty creates such a database
 */
export async function serverTemplate(makeEmpty: () => Promise<Store>): Promise<string> {
  const path = await template('server.sql', async (own) => {
    const store = await makeEmpty()
    try {
      await migrated(store.config)
      await writeFile(own, await dumped(store.url))
    } finally {
      await store.drop()
    }
  })
  return readFile(path, 'utf8')
}

/** The server's definitions of the tables, and the rows of the migrations, as statements. */
async function dumped(url: string): Promise<string> {
  const database = new URL(url).pathname.slice(1)
  const connection = await createConnection({ uri: url.replace(/^\w+:/, 'mysql:'), dateStrings: true })
  const ask = async (sql: string, ...values: string[]): Promise<RowDataPacket[]> =>
    (await connection.query<RowDataPacket[]>(sql, values))[0]
  try {
    const statements: string[] = []
    for (const row of await ask('SHOW TABLES')) {
      const table = String(Object.values(row)[0])
      const [made] = await ask('SHOW CREATE TABLE ??', table)
      statements.push(String(made?.['Create Table'] ?? made?.['Create View']))
      for (const stored of await ask('SELECT * FROM ??', table)) {
        const columns = Object.keys(stored).map((column) => connection.escapeId(column))
        // TypeORM stores the database's name with the definition of a computed column.
        const values = Object.values(stored).map((one) => (one === database ? 'DATABASE()' : connection.escape(one)))
        statements.push(`INSERT INTO ${connection.escapeId(table)} (${columns.join()}) VALUES (${values.join()})`)
      }
    }
    return statements.join(';\n')
  } finally {
    connection.destroy()
  }
}
