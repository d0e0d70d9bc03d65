import { describe, expect } from '@jest/globals'
import type { As } from '../app.js'
import { bodyOf, brokenFields, fresh, refusal, START } from '../quota-api.js'
import { it } from '../scoped.js'
import { END, type QuotaSuite } from './suite.js'

/** A create with a key is safe to repeat. */
export function createKeyContract(suite: QuotaSuite): void {
  const { api, app, cycle, total, create, updated, remove, changes, listed, idsOf, ofOwner, summary, consumed } = suite

  describe('a create with a key', () => {
    const keyed = (body: object, key: string, as: As = 'admin') => create(body, { key, as })

    it('replays the answer byte for byte and creates nothing twice', async () => {
      const owner = fresh()
      const first = await keyed(cycle(owner), `k-${owner}`)
      const second = await keyed(cycle(owner), `k-${owner}`)
      expect([first.status, second.status]).toEqual([201, 201])
      expect(second.text).toBe(first.text)
      expect(second.headers['location']).toBe(first.headers['location'])
      expect(second.headers['content-type']).toBe(first.headers['content-type'])
      expect(first.headers['idempotency-replayed']).toBeUndefined()
      expect(second.headers['idempotency-replayed']).toBe('true')
      expect(await idsOf(ofOwner(owner))).toEqual([first.body.id])
      expect(await changes(first.body.id)).toMatchObject({ total: 1 })
    })

    it('compares requests by meaning', async () => {
      const owner = fresh()
      const first = await keyed(cycle(owner, { expire_at: END }), `k-${owner}`)
      const retold = {
        cycle_time_zone: 'UTC',
        cycle_reset_at: '2026-12-01T02:00:00.0004+02:00',
        cycle_unit: 'month',
        expire_at: '2026-12-31T19:00:00-05:00',
        total: 100,
        quota_type: 2,
        [api.owner]: owner,
        ...api.unnamed,
      }
      expect((await keyed(retold, `k-${owner}`)).text).toBe(first.text)
      const other = fresh()
      const plain = await keyed(cycle(other), `k-${other}`)
      const explicit = cycle(other, { expire_at: null, cycle_time_zone: null })
      expect((await keyed(explicit, `k-${other}`)).text).toBe(plain.text)
      const third = fresh()
      const foreign = { cycle_unit: null, cycle_reset_at: null, cycle_time_zone: null }
      const bare = await keyed(total(third), `k-${third}`)
      expect((await keyed(total(third, foreign), `k-${third}`)).text).toBe(bare.text)
    })

    it("replays the answer regardless of the quota's present state, also when its times have passed", async () => {
      const owner = fresh()
      const body = cycle(owner, { expire_at: END })
      const first = await keyed(body, `k-${owner}`)
      await updated(first.body.id, { total: 7 })
      await consumed(owner, 3)
      await remove(first.body.id)
      expect((await keyed(body, `k-${owner}`)).text).toBe(first.text)
      app().clock.set('2026-12-20T00:00:00Z')
      expect((await keyed(body, `k-${owner}`)).text).toBe(first.text)
      app().clock.set('2027-03-01T00:00:00Z')
      const late = await keyed(body, `k-${owner}`)
      expect([late.status, late.text, late.headers['idempotency-replayed']]).toEqual([201, first.text, 'true'])
      expect(await listed(ofOwner(owner))).toMatchObject({ total: 0 })
    })

    it.each([
      ['total', { total: 101 }],
      ['type', { quota_type: 1, expire_at: END, cycle_unit: null, cycle_reset_at: null }],
      ['unit', { cycle_unit: 'week' }],
      ['reset', { cycle_reset_at: '2026-12-01T00:00:00.001Z' }],
      ['zone', { cycle_time_zone: 'Europe/Berlin' }],
      ['end', { expire_at: END }],
      ...Object.entries(api.named).map(([field, value]): [string, object] => [field, { [field]: value }]),
    ])('refuses its key for a create of another %s', async (_what, other) => {
      const owner = fresh()
      bodyOf(201, await keyed(cycle(owner), `k-${owner}`))
      expect(refusal(await keyed(cycle(owner, other), `k-${owner}`))).toEqual([422, 'idempotency_key_reused'])
      expect(await listed(ofOwner(owner))).toMatchObject({ total: 1 })
    })

    it('refuses its key for another owner, and for another act', async () => {
      const owner = fresh()
      bodyOf(201, await keyed(cycle(owner), `k-${owner}`))
      expect(refusal(await keyed(cycle(fresh()), `k-${owner}`))).toEqual([422, 'idempotency_key_reused'])
      const spend = await app().post(api.consume, { [api.owner]: owner, amount: 1 }, { key: `k-${owner}` })
      expect(refusal(spend)).toEqual([422, 'idempotency_key_reused'])
      expect(await summary(owner)).toMatchObject({ used: 0 })
    })

    it('compares keys by bytes', async () => {
      const owner = fresh()
      const ids = []
      for (const key of [`k-${owner}`, `K-${owner}`, `k-${owner}a`, `k-${owner} a`, `"k-${owner}"`]) {
        ids.push(bodyOf(201, await keyed(cycle(owner), key)).id)
      }
      expect(new Set(ids).size).toBe(5)
    })

    it('gives many parallel retries the one answer', async () => {
      const owner = fresh()
      const answers = await Promise.all(Array.from({ length: 12 }, () => keyed(cycle(owner), `k-${owner}`)))
      expect(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size).toBe(1)
      expect(answers.filter(({ headers }) => headers['idempotency-replayed'] === undefined)).toHaveLength(1)
      expect(await listed(ofOwner(owner))).toMatchObject({ total: 1 })
    })

    it('lets one of two different parallel creates use the key', async () => {
      const owner = fresh()
      const bodies = Array.from({ length: 8 }, (_, at) => cycle(owner, { total: at % 2 }))
      const answers = await Promise.all(bodies.map(async (body) => keyed(body, `k-${owner}`)))
      expect(answers.map(({ status }) => status).sort()).toEqual([201, 201, 201, 201, 422, 422, 422, 422])
      expect(new Set(answers.filter(({ status }) => status === 201).map(({ text }) => text)).size).toBe(1)
      expect(await listed(ofOwner(owner))).toMatchObject({ total: 1 })
    })

    it('does not remember refusals', async () => {
      const owner = fresh()
      brokenFields(await keyed(cycle(owner, { cycle_reset_at: START }), `k-${owner}`))
      const second = await keyed(cycle(owner), `k-${owner}`)
      expect([second.status, second.headers['idempotency-replayed']]).toEqual([201, undefined])
    })

    it('accepts a key of 255 characters with spaces within', async () => {
      const owner = fresh()
      const key = `${owner} `.padEnd(255, '~')
      const first = await keyed(cycle(owner), key)
      expect((await keyed(cycle(owner), key)).text).toBe(first.text)
      expect(first.status).toBe(201)
    })

    it.each([
      ['an empty key', ''],
      ['a key of spaces', '   '],
      ['a key of 256 characters', 'k'.repeat(256)],
      ['a key beyond ASCII', 'clé'],
      ['a key with a tab', 'a\tb'],
    ])('refuses %s', async (_what, key) => {
      const owner = fresh()
      expect(refusal(await keyed(cycle(owner), key))).toEqual([400, 'idempotency_key_invalid'])
      expect(await listed(ofOwner(owner))).toMatchObject({ total: 0 })
    })

    it('refuses a repeated key', async () => {
      const answer = await create(cycle(fresh())).set('Idempotency-Key', ['a', 'a'] as unknown as string)
      expect(refusal(answer)).toEqual([400, 'idempotency_key_invalid'])
    })

    it('checks the times of another create under a used key before the key', async () => {
      const owner = fresh()
      bodyOf(201, await keyed(cycle(owner), `k-${owner}`))
      const past = await keyed(cycle(owner, { cycle_reset_at: START }), `k-${owner}`)
      expect(brokenFields(past)).toEqual({ cycle_reset_at: 'must lie in the future' })
    })

    it('checks the body before the key', async () => {
      expect(refusal(await keyed(cycle(fresh(), { total: -1 }), ''))).toEqual([400, 'validation_failed'])
    })
  })
}
