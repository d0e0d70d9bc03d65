import { type QueryRunner, Table, TableColumn } from 'typeorm'
import { ChannelMigration } from './channel-migration.js'

/**
 * Adds the owner of acts, if it differs from the shown name, and the recent callers of a channel, filled with those of
 * the last 31 days. Instances of previous versions do not write them: callers that only they serve are found by the
 * exact caller of a key, as before, until this version serves them.
 *
 * MySQL commits each DDL statement: an existing table was created by an earlier attempt.
 */
export class Callers1795700000000 extends ChannelMigration {
  async up(runner: QueryRunner): Promise<void> {
    const embedded = runner.dataSource.options.type === 'better-sqlite3'
    for (const { prefix } of this.channels) {
      await runner.createTable(callers(prefix, embedded), true, false, true)
      if (!(await runner.hasColumn(`${prefix}_act`, 'caller_id')))
        await runner.query(`ALTER TABLE \`${prefix}_act\` ADD COLUMN \`caller_id\` varchar(37) NULL`)
      await runner.query(embedded ? fromActsInFile(prefix) : fromActs(prefix))
    }
  }

  async down(runner: QueryRunner): Promise<void> {
    for (const { prefix } of this.channels) {
      await runner.dropTable(`${prefix}_caller`)
      await runner.query(`ALTER TABLE \`${prefix}_act\` DROP COLUMN \`caller_id\``)
    }
  }
}

function callers(prefix: string, embedded: boolean): Table {
  // SQLite compares text by bytes by default, and has no such collation.
  const bytes = embedded ? {} : { charset: 'utf8mb4', collation: 'utf8mb4_bin' }
  return new Table({
    name: `${prefix}_caller`,
    columns: [
      { name: 'id', type: 'varchar', length: '64', ...bytes, isPrimary: true },
      { name: 'name', type: 'varchar', length: '64', ...bytes },
      { name: 'spent_at', type: 'datetime', precision: 3 },
    ].map((column) => new TableColumn(column)),
  })
}

const SPENDING = "`kind` IN ('consume', 'reserve', 'refund')"
/** 32 days, in seconds: an act's id begins with its time, in milliseconds and hexadecimal digits. */
const LOOK_BACK_SECONDS = 2_764_800

function fromActs(prefix: string): string {
  const time = `LPAD(HEX((UNIX_TIMESTAMP() - ${LOOK_BACK_SECONDS}) * 1000), 12, '0')`
  const since = `LOWER(CONCAT(SUBSTR(${time}, 1, 8), '-', SUBSTR(${time}, 9, 4)))`
  const id = 'CONVERT(`caller` USING utf8mb4) COLLATE utf8mb4_bin'
  return (
    `INSERT INTO \`${prefix}_caller\` (\`id\`, \`name\`, \`spent_at\`) SELECT ${id}, ${id}, MAX(\`at\`) FROM \`${prefix}_act\` ` +
    `WHERE \`id\` >= ${since} AND ${SPENDING} GROUP BY ${id} ON DUPLICATE KEY UPDATE \`spent_at\` = VALUES(\`spent_at\`)`
  )
}

function fromActsInFile(prefix: string): string {
  const time = `printf('%012x', (strftime('%s', 'now') - ${LOOK_BACK_SECONDS}) * 1000)`
  const since = `substr(${time}, 1, 8) || '-' || substr(${time}, 9, 4)`
  return (
    `INSERT OR REPLACE INTO \`${prefix}_caller\` (\`id\`, \`name\`, \`spent_at\`) SELECT \`caller\`, \`caller\`, MAX(\`at\`) FROM \`${prefix}_act\` ` +
    `WHERE \`id\` >= ${since} AND ${SPENDING} GROUP BY \`caller\``
  )
}
