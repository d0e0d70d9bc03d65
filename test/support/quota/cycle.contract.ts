import { describe, expect } from '@jest/globals'
import { fresh, refusal, START } from '../quota-api.js'
import { it } from '../scoped.js'
import { END, LATEST, type QuotaSuite, RESET } from './suite.js'

/** The times of resets. */
export function cycleContract(suite: QuotaSuite): void {
  const { app, cycle, made, read, updated, listed, ofOwner, summary, consume, consumed, sweep } = suite

  describe('a cycle', () => {
    const resets = async (id: number, expected: [string, string][]) => {
      const seen: [string, string][] = []
      for (const [now] of expected) {
        app().clock.set(now)
        seen.push([now, (await read(id)).cycle_reset_at])
      }
      expect(seen).toEqual(expected)
    }

    it('of a month is counted from its anchor, so that ends of months are kept', async () => {
      const { id } = await made(cycle(fresh(), { cycle_reset_at: '2027-01-31T10:00:00Z' }))
      await resets(id, [
        ['2027-01-31T09:59:59.999Z', '2027-01-31T10:00:00.000Z'],
        ['2027-01-31T10:00:00.000Z', '2027-02-28T10:00:00.000Z'],
        ['2027-02-28T10:00:00.000Z', '2027-03-31T10:00:00.000Z'],
        ['2027-03-31T10:00:00.000Z', '2027-04-30T10:00:00.000Z'],
        ['2027-04-30T10:00:00.000Z', '2027-05-31T10:00:00.000Z'],
        ['2028-02-01T00:00:00.000Z', '2028-02-29T10:00:00.000Z'],
        ['2028-02-29T10:00:00.000Z', '2028-03-31T10:00:00.000Z'],
      ])
    })

    it('of a year handles leap days', async () => {
      const { id } = await made(cycle(fresh(), { cycle_unit: 'year', cycle_reset_at: '2028-02-29T00:00:00Z' }))
      await resets(id, [
        ['2028-02-29T00:00:00.000Z', '2029-02-28T00:00:00.000Z'],
        ['2031-03-01T00:00:00.000Z', '2032-02-29T00:00:00.000Z'],
      ])
    })

    it('of a day follows the clocks of its zone: skipped times move on, repeated ones are the first', async () => {
      const zone = { cycle_unit: 'day', cycle_time_zone: 'Europe/Berlin' }
      const spring = await made(cycle(fresh(), { ...zone, cycle_reset_at: '2027-03-27T02:30:00+01:00' }))
      await resets(spring.id, [
        ['2027-03-27T01:30:00.000Z', '2027-03-28T01:30:00.000Z'],
        ['2027-03-28T01:30:00.000Z', '2027-03-29T00:30:00.000Z'],
        ['2027-03-29T00:30:00.000Z', '2027-03-30T00:30:00.000Z'],
      ])
      const autumn = await made(cycle(fresh(), { ...zone, cycle_reset_at: '2027-10-30T02:30:00+02:00' }))
      await resets(autumn.id, [
        ['2027-10-30T00:30:00.000Z', '2027-10-31T00:30:00.000Z'],
        ['2027-10-31T00:30:00.000Z', '2027-11-01T01:30:00.000Z'],
        ['2027-11-01T01:30:00.000Z', '2027-11-02T01:30:00.000Z'],
      ])
    })

    it('of an hour is elapsed time, clock change or not', async () => {
      const body = { cycle_unit: 'hour', cycle_time_zone: 'Europe/Berlin', cycle_reset_at: '2027-03-28T00:30:00Z' }
      const { id } = await made(cycle(fresh(), body))
      await resets(id, [
        ['2027-03-28T00:30:00.000Z', '2027-03-28T01:30:00.000Z'],
        ['2027-03-28T01:30:00.000Z', '2027-03-28T02:30:00.000Z'],
      ])
    })

    it('of a week follows the calendar', async () => {
      const body = { cycle_unit: 'week', cycle_time_zone: 'Europe/Berlin', cycle_reset_at: '2027-03-22T00:00:00+01:00' }
      const { id } = await made(cycle(fresh(), body))
      await resets(id, [
        ['2027-03-21T23:00:00.000Z', '2027-03-28T22:00:00.000Z'],
        ['2027-03-28T22:00:00.000Z', '2027-04-04T22:00:00.000Z'],
      ])
    })

    it('begins at its reset itself, with nothing used', async () => {
      const owner = fresh()
      const { id } = await made(cycle(owner))
      await consumed(owner, 100)
      app().clock.set('2026-11-30T23:59:59.999Z')
      expect(await read(id)).toMatchObject({ used: 100, remaining: 0, cycle_reset_at: RESET })
      expect(refusal(await consume(owner, 1))).toEqual([409, 'quota_exceeded'])
      app().clock.set(RESET)
      expect(await read(id)).toMatchObject({ used: 0, remaining: 100, cycle_reset_at: END })
      expect(await summary(owner)).toMatchObject({ used: 0, remaining: 100 })
      await consumed(owner, 1)
      expect(await read(id)).toMatchObject({ used: 1, remaining: 99, cycle_reset_at: END, cycle_anchor_at: RESET })
      expect((await listed(ofOwner(owner))).items).toEqual([await read(id)])
    })

    it('that was missed a thousand times is skipped in one step, and allowances do not accumulate', async () => {
      const owner = fresh()
      const { id } = await made(cycle(owner, { cycle_unit: 'hour', cycle_reset_at: '2026-11-21T12:30:00Z' }))
      await consumed(owner, 5)
      app().clock.pass(1000 * 3600 + 1)
      const quota = await read(id)
      expect(quota).toMatchObject({ used: 0, remaining: 100, cycle_reset_at: '2027-01-02T04:30:00.000Z' })
      expect(quota).toMatchObject({ version: 1, updated_at: START, cycle_anchor_at: '2026-11-21T12:30:00.000Z' })
      expect(refusal(await consume(owner, 101))).toEqual([409, 'quota_exceeded'])
      await consumed(owner, 100)
      expect(await read(id)).toMatchObject({ used: 100, version: 1, updated_at: START })
      app().clock.set('2999-01-01T00:00:00Z')
      expect(await read(id)).toMatchObject({ used: 0, cycle_reset_at: '2999-01-01T00:30:00.000Z' })
    })

    it('can be the first for years', async () => {
      const { id } = await made(cycle(fresh(), { cycle_unit: 'hour', cycle_reset_at: '2036-01-01T00:00:00Z' }))
      await resets(id, [
        ['2035-12-31T23:59:59.999Z', '2036-01-01T00:00:00.000Z'],
        ['2036-01-01T00:00:00.000Z', '2036-01-01T01:00:00.000Z'],
      ])
    })

    it('shows its next reset by the calendar even if the end is earlier', async () => {
      const expire_at = '2026-12-05T00:00:00.000Z'
      const { id } = await made(cycle(fresh(), { expire_at }))
      app().clock.set('2026-12-04T00:00:00Z')
      expect(await read(id)).toMatchObject({ status: 'active', expire_at, cycle_reset_at: END })
    })

    it('of an expired quota stops, and continues when it is revived', async () => {
      const owner = fresh()
      const expire_at = '2026-12-05T00:00:00.000Z'
      const { id } = await made(cycle(owner, { expire_at }))
      app().clock.set('2026-12-02T00:00:00Z')
      await consumed(owner, 30)
      app().clock.set('2027-06-15T00:00:00Z')
      const over = { status: 'expired', used: 30, remaining: 70, cycle_reset_at: END }
      expect(await read(id)).toMatchObject(over)
      await sweep()
      expect(await read(id)).toMatchObject(over)
      expect(await updated(id, { total: 90 })).toMatchObject({ ...over, total: 90, remaining: 60 })
      expect(await updated(id, { expire_at: '2028-01-01T00:00:00Z' })).toMatchObject({
        status: 'active',
        used: 0,
        remaining: 90,
        cycle_reset_at: '2027-07-01T00:00:00.000Z',
        cycle_anchor_at: RESET,
      })
    })

    it('of a revived quota continues if it has not ended', async () => {
      const owner = fresh()
      const { id } = await made(cycle(owner, { expire_at: '2026-11-22T00:00:00Z' }))
      await consumed(owner, 30)
      app().clock.set('2026-11-25T00:00:00Z')
      expect(await updated(id, { expire_at: null })).toMatchObject({
        status: 'active',
        used: 30,
        cycle_reset_at: RESET,
      })
    })

    it('that ends together with the quota is its last', async () => {
      const owner = fresh()
      const { id } = await made(cycle(owner, { expire_at: RESET }))
      await consumed(owner, 30)
      app().clock.set(RESET)
      expect(await read(id)).toMatchObject({ status: 'expired', used: 30, cycle_reset_at: RESET })
      expect(await updated(id, { expire_at: null })).toMatchObject({ status: 'active', used: 0, cycle_reset_at: END })
    })

    it('of an expired quota can be changed while it is stopped', async () => {
      const { id } = await made(cycle(fresh(), { expire_at: '2026-11-25T00:00:00Z' }))
      app().clock.set('2027-06-15T00:00:00Z')
      expect(await updated(id, { cycle_unit: 'day' })).toMatchObject({
        status: 'expired',
        cycle_reset_at: RESET,
        cycle_anchor_at: RESET,
      })
      expect(await updated(id, { expire_at: null })).toMatchObject({
        status: 'active',
        cycle_reset_at: '2027-06-16T00:00:00.000Z',
      })
    })

    it('without usage before the end shows nothing used', async () => {
      const owner = fresh()
      const { id } = await made(cycle(owner, { expire_at: '2026-12-05T00:00:00.000Z' }))
      await consumed(owner, 30)
      app().clock.set('2027-06-15T00:00:00Z')
      expect(await read(id)).toMatchObject({ status: 'expired', used: 0, cycle_reset_at: END })
    })

    it('ends at the latest time', async () => {
      const { id } = await made(cycle(fresh(), { cycle_unit: 'year', cycle_reset_at: '9998-06-01T00:00:00Z' }))
      await resets(id, [
        ['9998-06-01T00:00:00.000Z', '9999-06-01T00:00:00.000Z'],
        ['9999-06-01T00:00:00.000Z', LATEST],
        [LATEST, LATEST],
      ])
    })
  })
}
