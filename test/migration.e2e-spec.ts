import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { DataSource } from 'typeorm'
import { dataSourceOptions } from '../src/database/data-source-options.js'
import { migrate } from '../src/database/migrate.js'
import { ENTITIES } from '../src/entities.js'
import { TestApp } from './support/app.js'
import { onEveryStore, type Store } from './support/store.js'

onEveryStore('migrations', (kind) => {
  let store: Store
  let dataSource: DataSource

  beforeAll(async () => {
    store = await kind.open()
    // Several instances starting together: each finds the schema in place when it is done.
    await Promise.all([1, 2, 3].map(async () => migrate(store.config, ENTITIES)))
    dataSource = await new DataSource(dataSourceOptions(store.config, ENTITIES, 'migration')).initialize()
  })

  afterAll(async () => {
    await dataSource.destroy()
    await store.drop()
  })

  it('leave a schema that equals the entities', async () => {
    if (kind.name === 'SQLite') {
      // SQLite generates ids for a column of type INTEGER alone, which holds 64 bits there; the entities say BIGINT for
      // the servers' sake.
      for (const { columns } of dataSource.entityMetadatas)
        for (const column of columns) if (column.isGenerated) column.type = 'integer'
    }
    const difference = await dataSource.driver.createSchemaBuilder().log()
    expect(difference.upQueries.map(({ query }) => query)).toEqual([])
  })

  it('run once, however many instances start together', async () => {
    const rows: unknown[] = await dataSource.query('SELECT name FROM schema_migration')
    expect(rows).toHaveLength(dataSource.migrations.length)
    expect(await dataSource.showMigrations()).toBe(false)
  })

  it('can be taken back and run again', async () => {
    await dataSource.undoLastMigration({ transaction: 'none' })
    expect(await dataSource.showMigrations()).toBe(true)
    await dataSource.runMigrations({ transaction: 'none' })
    expect(await dataSource.showMigrations()).toBe(false)
  })

  it('go on where a killed process stopped', async () => {
    await dataSource.query('DROP TABLE sms_change')
    await dataSource.query('DROP TABLE mail_hold')
    await dataSource.query('DELETE FROM schema_migration')
    await migrate(store.config, ENTITIES)
    const difference = await dataSource.driver.createSchemaBuilder().log()
    expect(difference.upQueries.map(({ query }) => query)).toEqual([])
  })

  if (kind.name !== 'SQLite') {
    it('keep counters from falling below zero in the database itself', async () => {
      await dataSource.query(
        "INSERT INTO mail_quota (quota_type, total, state, created_at, updated_at, account_id) VALUES (1, 1, 'active', NOW(3), NOW(3), 1)",
      )
      await expect(dataSource.query('UPDATE mail_quota SET used = -1')).rejects.toThrow(/constraint/i)
    })

    it.each(['latin1', 'utf16', 'utf8mb4 COLLATE utf8mb4_unicode_ci'])(
      'serve keys by their bytes, and labels of any script, in a database of %s too',
      async (characterSet) => {
        const other = await kind.open()
        const administrator = await new DataSource(dataSourceOptions(other.config, [], 'migration')).initialize()
        await administrator.query(`ALTER DATABASE CHARACTER SET ${characterSet}`)
        await administrator.destroy()
        const app = await TestApp.start(other)
        try {
          const quota = {
            account_id: 7,
            quota_type: 1,
            total: 10,
            expire_at: '2099-01-01T00:00:00Z',
            label: 'Bjöŕn Ж 🐟',
          }
          const created = await app.post('/api/v1/quotas', quota, { key: 'create' }).expect(201)
          expect(created.body).toMatchObject({ label: quota.label })
          expect((await app.post('/api/v1/quotas', quota, { key: 'create' }).expect(201)).text).toBe(created.text)
          const history = await app.get('/api/v1/quotas/1/changes').expect(200)
          expect(history.body.items).toMatchObject([{ after: { label: quota.label } }])
          const consume = async (key: string) =>
            app.post('/api/v1/quotas/usage/consume', { account_id: 7, amount: 1 }, { key }).expect(200)
          const [first, second] = [await consume('Key-a'), await consume('KEY-A')]
          expect((await consume('Key-a')).text).toBe(first.text)
          expect((await consume('KEY-A')).text).toBe(second.text)
          const { body } = await app.get('/api/v1/quotas/summary/7').expect(200)
          expect(body).toMatchObject({ used: 2 })
        } finally {
          await app.stop()
          await other.drop()
        }
      },
    )
  }
})
