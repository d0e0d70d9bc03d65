import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { DataSource } from 'typeorm'
import { dataSourceOptions } from '../../src/database/data-source-options.js'
import { InstanceRow } from '../../src/database/instance.entity.js'
import type { CopySide } from '../../src/database/store-copy.js'
import { StoredTable } from '../../src/database/stored-table.js'
import { TransactionRunner } from '../../src/database/transaction-runner.js'
import { ENTITIES } from '../../src/entities.js'
import { WebhookReaderRow } from '../../src/webhook/webhook.entity.js'
import { type Ended, runNode } from './command.js'
import { opened } from './opened.js'
import type { Store } from './store.js'

/** The program, which needs `npm run build` before. */
export const ENTRY = join(process.cwd(), 'dist/src/copy.js')
const DIES_AT = pathToFileURL(join(process.cwd(), 'test/support/dies-at.mjs')).href

/** The entities of the copied tables. */
export const COPIED = ENTITIES.filter((entity) => entity !== InstanceRow && entity !== WebhookReaderRow)

/** A store without the application. */
export class Opened implements CopySide {
  readonly dataSource: DataSource
  private transactions!: TransactionRunner

  private constructor(readonly store: Store) {
    this.dataSource = new DataSource(dataSourceOptions(store.config, ENTITIES, 'service'))
  }

  static async of(store: Store): Promise<Opened> {
    const made = new Opened(store)
    await made.dataSource.initialize()
    made.transactions = new TransactionRunner(made.dataSource, 60_000)
    const closed = opened(async () => made.close())
    made.close = async () => {
      await made.transactions.onApplicationShutdown()
      await made.dataSource.destroy()
      closed()
    }
    return made
  }

  close = async (): Promise<void> => undefined
  read: CopySide['read'] = async (unit) => this.transactions.read(unit)
  write: CopySide['write'] = async (unit) => this.transactions.write(unit)

  tables(pageRows?: number): StoredTable[] {
    return COPIED.map((entity) => StoredTable.of(this.dataSource, entity, pageRows))
  }

  /** Every value of a table as bytes, in hex, read without the code under test. */
  async bytes(table: string): Promise<string[]> {
    const { columns } = this.dataSource.entityMetadatas.find(({ tableName }) => tableName === table)!
    const type = this.dataSource.options.type === 'better-sqlite3' ? 'TEXT' : 'CHAR'
    const listed = columns
      .filter(({ generatedType }) => generatedType === undefined)
      .map(
        ({ databaseName: name, type: kept }) =>
          `HEX(${kept === 'blob' ? `\`${name}\`` : `CAST(\`${name}\` AS ${type})`}) AS \`${name}\`, \`${name}\` IS NULL AS \`${name}?\``,
      )
    const rows: object[] = await this.dataSource.query(`SELECT ${listed.join(', ')} FROM ${table}`)
    return rows.map((row) => Object.values(row).join()).sort()
  }
}

/** Runs the command. @param diesAt a text; the command is killed when it prints it */
export async function copying(from: string, to: string, diesAt?: string): Promise<Ended> {
  const env = { NODE_OPTIONS: `--import ${DIES_AT}`, DIES_AT: diesAt ?? '' }
  return runNode([ENTRY, '--from', from, '--to', to], diesAt === undefined ? {} : { env })
}

/** The tables with their numbers of rows and sums. */
export function sumsOf({ stdout }: Ended): string[] {
  return [...stdout.matchAll(/^equal +(.*)$/gm)].map(([, line]) => line!)
}
