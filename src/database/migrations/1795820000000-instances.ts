import { type MigrationInterface, type QueryRunner, Table, TableColumn } from 'typeorm'

/** Adds the running instances and their versions. Release 0.1.0 does not write them. */
export class Instances1795820000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    const table = new Table({
      name: 'service_instance',
      columns: [
        { name: 'id', type: 'varchar', length: '36', isPrimary: true },
        { name: 'name', type: 'varchar', length: '128' },
        { name: 'version', type: 'varchar', length: '32' },
        { name: 'seen_at', type: 'datetime', precision: 3 },
      ].map((column) => new TableColumn(column)),
    })
    await runner.createTable(table, true, false, true)
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.dropTable('service_instance')
  }
}
