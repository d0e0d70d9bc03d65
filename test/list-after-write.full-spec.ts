import { expect, it } from '@jest/globals'
import { DataSource } from 'typeorm'
import { RowCodec } from '../src/database/row-codec.js'
import { MailQuota } from '../src/mail-quota/mail-quota.entity.js'
import { TestApp } from './support/app.js'
import { listsAfterWrites } from './support/lists-after-writes.js'
import { onEveryStore } from './support/store.js'

listsAfterWrites(200)

onEveryStore('the check of plans', (kind) => {
  it('tells a sort over an index with a virtual column from one of what was found by it', async () => {
    const store = await kind.open()
    const app = await TestApp.start(store)
    const quota = RowCodec.of(app.app.get(DataSource), MailQuota)
    const found =
      `SELECT id FROM ${quota.readBy('mysql', ['deleted', 'labelSearch', 'id'])} ` +
      'WHERE `deleted` = ? AND label_search >= ? AND account_id = ?'
    const sorted = `${found} ORDER BY id DESC LIMIT 20`
    const sortedOutside = `SELECT id FROM (${found} LIMIT 1000) found ORDER BY id DESC LIMIT 20`
    // There is none on SQLite, where an index is named in another way and nothing is left out.
    expect(await app.sorts?.sortsByVirtual(sorted)).toBe(kind.name === 'SQLite' ? undefined : true)
    expect(await app.sorts?.sortsByVirtual(sortedOutside)).toBe(kind.name === 'SQLite' ? undefined : false)
  })
})
