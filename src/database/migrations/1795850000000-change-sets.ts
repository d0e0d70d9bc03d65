import { type QueryRunner, Table, TableColumn, TableIndex } from 'typeorm'
import { ChannelMigration } from './channel-migration.js'
import { indexOver } from './index-over.js'

/**
 * Adds change sets with their rows, and a change's change set. Statements of the previous version name their columns,
 * and leave the new one null.
 *
 * MySQL commits each DDL statement, so an aborted attempt leaves a part behind: each step checks whether it is already
 * done.
 */
export class ChangeSets1795850000000 extends ChannelMigration {
  async up(runner: QueryRunner): Promise<void> {
    for (const { prefix } of this.channels) {
      await runner.createTable(changeSets(prefix, isSqlite(runner)), true, false, true)
      await runner.createTable(items(prefix), true, false, true)
      const change = `${prefix}_change`
      if (!(await runner.hasColumn(change, 'change_set_id'))) {
        await runner.query(`ALTER TABLE \`${change}\` ADD COLUMN \`change_set_id\` bigint NULL`)
      }
      if ((await indexOver(runner, change, BY_SET)) === undefined) {
        await runner.createIndex(change, new TableIndex({ columnNames: BY_SET }))
      }
    }
  }

  async down(runner: QueryRunner): Promise<void> {
    for (const { prefix } of this.channels) {
      // First the step that requires a separate privilege: if it is refused, nothing has been removed.
      await runner.dropTable(`${prefix}_change_set_item`, true)
      await runner.dropTable(`${prefix}_change_set`, true)
      const change = `${prefix}_change`
      const index = await indexOver(runner, change, BY_SET)
      if (index !== undefined) await runner.dropIndex(change, index)
      if (await runner.hasColumn(change, 'change_set_id'))
        await runner.query(`ALTER TABLE \`${change}\` DROP COLUMN \`change_set_id\``)
    }
  }
}

const BY_SET = ['change_set_id', 'quota_id']

const integer = (name: string): object => ({ name, type: 'bigint' })
const text = (name: string): object => ({ name, type: 'text', isNullable: true })
const ascii = (name: string, length: number): object => ({ name, type: 'varchar', length: String(length) })
const instant = (name: string): object => ({ name, type: 'datetime', precision: 3 })
const nullable = (column: object): object => ({ ...column, isNullable: true })

function tableOf(
  name: string,
  columns: readonly object[],
  indices: readonly string[][],
  unique: readonly string[] = [],
): Table {
  return new Table({
    name,
    columns: columns.map((column) => new TableColumn(column as { name: string; type: string })),
    indices: [
      ...indices.map((columnNames) => ({ columnNames })),
      ...unique.map((column) => ({ columnNames: [column], isUnique: true })),
    ],
  })
}

function isSqlite(runner: QueryRunner): boolean {
  return runner.dataSource.options.type === 'better-sqlite3'
}

function changeSets(prefix: string, sqlite: boolean): Table {
  const id = {
    name: 'id',
    type: sqlite ? 'integer' : 'bigint',
    isPrimary: true,
    isGenerated: true,
    generationStrategy: 'increment',
  }
  return tableOf(
    `${prefix}_change_set`,
    [
      id,
      ascii('state', 9),
      integer('hidden'),
      nullable(ascii('work', 7)),
      nullable(ascii('holder', 36)),
      nullable(instant('held_until')),
      ascii('source', 6),
      text('filter'),
      text('change'),
      text('columns'),
      ascii('actor', 64),
      nullable(ascii('acting_name', 64)),
      nullable(ascii('acting_id', 64)),
      nullable(ascii('acting_request_id', 128)),
      integer('version'),
      instant('created_at'),
      nullable(instant('applied_at')),
      nullable(instant('reverted_at')),
      text('problem'),
      nullable(ascii('once', 32)),
      nullable(ascii('request', 64)),
      text('answer'),
      ...['planned', 'unchanged', 'invalid', 'applied', 'conflict', 'reverted', 'kept'].map(integer),
    ],
    [
      ['hidden', 'id'],
      ['state', 'id'],
      ['work', 'id'],
    ],
    ['once'],
  )
}

function items(prefix: string): Table {
  return tableOf(
    `${prefix}_change_set_item`,
    [
      { ...integer('set_id'), isPrimary: true },
      { ...integer('row_number'), isPrimary: true },
      nullable(integer('line')),
      nullable(integer('quota_id')),
      nullable(integer('owner_id')),
      ascii('action', 6),
      ascii('outcome', 9),
      nullable(integer('version')),
      nullable(instant('anchor_at')),
      nullable(integer('applied_version')),
      nullable(integer('reverted_version')),
      ...['given', 'command', 'before_json', 'after_json', 'problem'].map(text),
    ],
    [
      ['set_id', 'outcome', 'row_number'],
      ['set_id', 'owner_id', 'row_number'],
      ['quota_id', 'version'],
    ],
  )
}
