import { type QueryRunner, Table, TableColumn } from 'typeorm'
import { ChannelMigration } from './channel-migration.js'

/**
 * Adds events, the position up to which they are numbered, and the thresholds that a quota has passed. Instances of
 * previous versions write no events and do not change the passed thresholds, which belong to one count of a quota.
 *
 * MySQL commits each DDL statement: each step checks whether it is already done.
 */
export class Events1795840000000 extends ChannelMigration {
  async up(runner: QueryRunner): Promise<void> {
    const sqlite = runner.dataSource.options.type === 'better-sqlite3'
    for (const { prefix } of this.channels) {
      if (!(await runner.hasColumn(`${prefix}_quota`, 'passed')))
        await runner.query(`ALTER TABLE \`${prefix}_quota\` ADD COLUMN \`passed\` varchar(320) NULL`)
      await runner.createTable(events(prefix, sqlite), true, false, true)
      const feed = `${prefix}_event_feed`
      const columns = ['id', 'last_position', 'removed_to'].map(
        (name) => new TableColumn({ name, type: 'bigint', isPrimary: name === 'id' }),
      )
      await runner.createTable(new Table({ name: feed, columns }), true)
      await runner.query(
        `INSERT INTO ${feed} (id, last_position, removed_to) SELECT 1, 0, 0 FROM (SELECT 1 AS one) made WHERE NOT EXISTS (SELECT 1 FROM ${feed})`,
      )
    }
  }

  async down(runner: QueryRunner): Promise<void> {
    for (const { prefix } of this.channels) {
      await runner.dropTable(`${prefix}_event_feed`)
      await runner.dropTable(`${prefix}_event`)
      await runner.query(`ALTER TABLE \`${prefix}_quota\` DROP COLUMN \`passed\``)
    }
  }
}

function events(prefix: string, sqlite: boolean): Table {
  return new Table({
    name: `${prefix}_event`,
    columns: [
      {
        name: 'seq',
        type: sqlite ? 'integer' : 'bigint',
        isPrimary: true,
        isGenerated: true,
        generationStrategy: 'increment' as const,
      },
      { name: 'position', type: 'bigint', isNullable: true },
      { name: 'id', type: 'varchar', length: '36' },
      { name: 'type', type: 'varchar', length: '32' },
      { name: 'at', type: 'datetime', precision: 3 },
      { name: 'owner_id', type: 'bigint' },
      { name: 'quota_id', type: 'bigint' },
      { name: 'act_id', type: 'varchar', length: '36' },
      { name: 'change_id', type: 'bigint', isNullable: true },
      { name: 'data_json', type: 'text' },
    ].map((column) => new TableColumn(column)),
    indices: [
      { columnNames: ['position'], isUnique: true },
      { columnNames: ['act_id', 'quota_id', 'type'], isUnique: true },
      { columnNames: ['quota_id', 'type', 'position'] },
      { columnNames: ['quota_id', 'position'] },
      { columnNames: ['owner_id', 'type', 'position'] },
      { columnNames: ['owner_id', 'position'] },
      { columnNames: ['type', 'position'] },
      { columnNames: ['at'] },
    ],
  })
}
