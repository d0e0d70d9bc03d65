import { beforeAll, describe, expect, it } from '@jest/globals'
import { DataSource } from 'typeorm'
import { TestApp } from './support/app.js'
import { onEveryStore } from './support/store.js'
import { fresh, tally, times, totalQuota, type Wire, WIRES } from './support/wire.js'

// What a restored dump, or a fail-over to a replica that lags, looks like to an instance that goes on running: rows are
// gone that it has seen.
onEveryStore('a database put back under a running instance', (kind) => {
  let app: TestApp
  let owner = 0

  beforeAll(async () => {
    app = await TestApp.on(kind)
  })

  /** An owner with a quota, whose lock row is gone again; @param all and its quotas and acts too */
  async function forgotten(wire: Wire, all: boolean): Promise<number> {
    owner += 1
    expect((await app.post(wire.quotas, totalQuota(wire, owner, 1_000))).status).toBe(201)
    const database = app.app.get(DataSource)
    await database.query(`DELETE FROM ${wire.channel}_owner WHERE owner_id = ${owner}`)
    if (all) await database.query(`DELETE FROM ${wire.channel}_quota WHERE ${wire.owner} = ${owner}`)
    return owner
  }

  async function lockRows(wire: Wire, ownerId: number): Promise<number> {
    const rows: unknown[] = await app.app
      .get(DataSource)
      .query(`SELECT owner_id FROM ${wire.channel}_owner WHERE owner_id = ${ownerId}`)
    return rows.length
  }

  describe.each(WIRES)('for $channel', (wire) => {
    const consume = (ownerId: number, amount = 1) =>
      app.post(`${wire.usage}/consume`, { [wire.owner]: ownerId, amount }, { key: fresh('restored') })

    it('creates the lock row again with a create, and pays from the created quota', async () => {
      const ownerId = await forgotten(wire, true)
      expect((await app.post(wire.quotas, totalQuota(wire, ownerId, 5))).status).toBe(201)
      expect(await lockRows(wire, ownerId)).toBe(1)
      expect((await consume(ownerId, 5)).status).toBe(200)
      expect((await consume(ownerId)).body.code).toBe('quota_exceeded')
    })

    it('creates it again with a consume that finds quotas without one', async () => {
      const ownerId = await forgotten(wire, false)
      expect((await consume(ownerId)).status).toBe(200)
      expect(await lockRows(wire, ownerId)).toBe(1)
    })

    it('still limits an owner to 200 quotas', async () => {
      const ownerId = await forgotten(wire, true)
      const statuses = await Promise.all(
        times(210).map(async () => (await app.post(wire.quotas, totalQuota(wire, ownerId, 1))).status),
      )
      expect(tally(statuses)).toEqual({ 201: 200, 409: 10 })
    })

    it('creates no lock row for an owner without quotas', async () => {
      const stranger = 800_000 + owner
      expect((await consume(stranger)).body.code).toBe('no_active_quota')
      expect(await lockRows(wire, stranger)).toBe(0)
    })
  })
})
