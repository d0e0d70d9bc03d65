import { beforeAll, describe, expect, it } from '@jest/globals'
import { finishCopy, migrate, prepareCopy } from '../src/database/migrate.js'
import { ENTITIES } from '../src/entities.js'
import { TestApp } from './support/app.js'
import { TestClock } from './support/clock.js'
import { runNode } from './support/command.js'
import { copying, ENTRY, Opened } from './support/copied.js'
import { bodyOf } from './support/quota-api.js'
import { type Store, STORES } from './support/store.js'

const [FILE, OTHER] = [STORES[0]!, STORES.at(-1)!]

describe(`the copy command, from SQLite to ${OTHER.name}`, () => {
  const clock = new TestClock(new Date().toISOString())
  let source: Store
  let app: TestApp

  beforeAll(async () => {
    source = await FILE.open()
    app = await TestApp.start(source, { clock })
    const quota = { account_id: 7, quota_type: 1, total: 1_000, expire_at: '2099-01-01T00:00:00Z', label: 'Ünicode' }
    for (let n = 0; n < 3; n += 1) bodyOf(201, await app.post('/api/v1/quotas', quota))
    bodyOf(200, await app.post('/api/v1/quotas/usage/consume', { account_id: 7, amount: 20 }, { key: 'one' }))
    bodyOf(201, await app.post('/api/v1/quotas/usage/reserve', { account_id: 7, amount: 2 }, { key: 'two' }))
    await app.stop()
  })

  it('goes on after a kill at any step, and no instance starts on the target before it is complete', async () => {
    const target = await OTHER.openEmpty()
    const steps = [
      'To ',
      'mail_quota',
      'mail_act',
      'mail_event_feed',
      'sms_event_feed',
      'equal    sms_quota',
      'contradictions',
    ]
    for (const step of steps) {
      expect(await copying(source.url, target.url, step)).toMatchObject({ code: null })
      // The first has made nothing yet.
      if (step === steps[0]) continue
      await expect(migrate(target.config, ENTITIES)).rejects.toThrow(/unfinished copy of sqlite:.*begin npm run copy/)
    }
    const whole = await copying(source.url, target.url)
    expect(whole).toMatchObject({ code: 0, stderr: '' })
    expect(whole.stdout).not.toMatch(/^copied/m)
    expect(await migrate(target.config, ENTITIES)).toEqual([])
    const [from, to] = [await Opened.of(source), await Opened.of(target)]
    for (const { name } of from.tables()) expect([name, await to.bytes(name)]).toEqual([name, await from.bytes(name)])
    for (const store of [from, to]) await store.close()
    await target.drop()
  })

  it('names the place of any difference, and ends with 1', async () => {
    const target = await OTHER.openEmpty()
    await copying(source.url, target.url, 'equal    mail_quota')
    const to = await Opened.of(target)
    const [{ id }] = await to.dataSource.query("SELECT HEX(id) AS id FROM mail_act WHERE kind = 'consume'")
    for (const sql of [
      `UPDATE mail_act SET caller = 'Admin', amount = amount + 1 WHERE id = X'${id}'`,
      "UPDATE mail_quota SET label = 'Ünicode ' WHERE id = 2",
      'DELETE FROM mail_change WHERE id = 1',
      'INSERT INTO sms_owner (owner_id) VALUES (999999)',
    ])
      await to.dataSource.query(sql)
    await to.close()
    const ended = await copying(source.url, target.url)
    expect(ended).toMatchObject({ code: 1, stderr: '' })
    expect([...ended.stdout.matchAll(/^differs +(.*)$/gm)].map(([, place]) => place)).toEqual([
      'mail_quota id=2: label differ',
      `mail_act id=${id}: caller, amount differ`,
      'mail_change: the source has id=1 where the target has id=2',
      'sms_owner owner_id=999999: only the target has this row',
    ])
    await expect(migrate(target.config, ENTITIES)).rejects.toThrow('unfinished copy')
    await target.drop()
  })

  it('refuses what it cannot copy, and changes nothing', async () => {
    const [empty, full] = [await OTHER.openEmpty(), await OTHER.openEmpty()]
    const refusedFor = async (from: string, to: string): Promise<string> => {
      const { code, stderr } = await copying(from, to)
      expect([code, stderr]).toEqual([1, expect.any(String)])
      return stderr
    }
    expect(await refusedFor('sqlite:/nowhere/quota.db', empty.url)).toContain('sqlite:/nowhere/quota.db does not exist')
    expect(await refusedFor(source.url, source.url)).toContain('--from and --to name the same database')
    expect(await refusedFor(empty.url, full.url)).toMatch(/its schema is not that of this version/)
    await prepareCopy(full.config, ENTITIES, 'sqlite:/another.db')
    expect(await refusedFor(source.url, full.url)).toContain('it is an unfinished copy of sqlite:/another.db')
    expect(await refusedFor(full.url, empty.url)).toContain('it is an unfinished copy of sqlite:/another.db')
    await finishCopy(full.config, ENTITIES)
    expect(await refusedFor(source.url, full.url)).toMatch(/it is not empty, it has \d+ tables, such as mail_act/)
    clock.set(Date.now())
    app = await TestApp.start(source, { clock })
    expect(await refusedFor(source.url, empty.url)).toMatch(
      /is in use: instances were running within the last minute.\n {2}\S+ {2}.*pid/,
    )
    await app.stop()
    clock.set(Date.now())
    app = await TestApp.start(full, { clock })
    expect(await refusedFor(source.url, full.url)).toMatch(/is in use: instances/)
    await app.stop()

    const wrong = await runNode([ENTRY, '--to', 'postgres://geheim'], { env: { DATABASE_TLS: 'perhaps' } })
    expect(wrong).toMatchObject({ code: 2, stdout: '' })
    for (const mistake of ['DATABASE_TLS must be', '--from is required', '--to must be mysql://'])
      expect(wrong.stderr).toContain(mistake)
    expect(wrong.stderr).not.toContain('geheim')
    expect(await runNode([ENTRY, '--form', 'x'])).toMatchObject({ code: 2, stdout: '' })
    for (const store of [empty, full]) await store.drop()
  })
})
