import { beforeAll, describe, expect } from '@jest/globals'
import type { Response } from 'supertest'
import { hashOf, newToken } from '../src/auth/token.js'
import { type As, authTokens, type Sent, TestApp } from './support/app.js'
import { bodyOf, fresh, refusal } from './support/quota-api.js'
import { it } from './support/scoped.js'
import { forSharedRules, type Store } from './support/store.js'

/** How an operation that is none is missed. */
const NOWHERE = '01939f3e-5c00-7a6b-8c1d-2e3f4a5b6c7d'
const MISSED = [404, 'operation_not_found']

/** A token of a name that differs in case alone, which stores may take for the same. */
const LOUDER = newToken('usage')

forSharedRules('a token of the scope own', (kind, channels) => {
  let store: Store
  /** All roles as they are. */
  let plain: TestApp
  /** The same principals and clock, but `usage` sees its own operations alone. */
  let narrowed: TestApp
  /** Knows one principal, whose name differs from `usage` in case alone. No instance knows both. */
  let loud: TestApp

  beforeAll(async () => {
    store = await kind.open()
    plain = await TestApp.start(store)
    const { clock } = plain
    narrowed = await TestApp.start(store, { clock, env: { AUTH_TOKENS: authTokens({ usage: 'usage+own' }) } })
    const louder = `USAGE:usage:${hashOf(LOUDER).toString('hex')}`
    loud = await TestApp.start(store, { clock, env: { AUTH_TOKENS: louder } })
  })

  describe.each(channels)('in the channel $name', (api) => {
    const key = (): string => `key-${fresh()}`
    const total = async (owner: number, amount = 1_000_000): Promise<number> => {
      const body = { [api.owner]: owner, quota_type: 1, total: amount, expire_at: plain.clock.after(86_400 * 30) }
      return bodyOf(201, await plain.post(api.quotas, body)).id
    }
    const spend = async (as: As, owner: number, kind: 'consume' | 'reserve' = 'consume'): Promise<{ id: string }> => {
      plain.clock.pass(0.001)
      const answer = await narrowed.post(`${api.usage}/${kind}`, { [api.owner]: owner, amount: 5 }, { as, key: key() })
      return bodyOf(kind === 'consume' ? 200 : 201, answer)
    }
    const spendAThousand = async (as: As, owner: number): Promise<void> => {
      plain.clock.pass(0.001)
      const item = () => ({ [api.owner]: owner, amount: 1, idempotency_key: key() })
      const items = Array.from({ length: 1000 }, item)
      bodyOf(200, await plain.post(`${api.usage}/consume/batch`, { items }, { as }))
    }
    /** As the narrowed token. */
    const get = async (path: string): Promise<Response> => narrowed.get(`${api.usage}${path}`, { as: 'usage' })
    const act = async (id: string, what: string, sent: Sent = {}): Promise<Response> =>
      narrowed.post(`${api.usage}/${id}/${what}`, {}, { as: 'usage', ...sent })
    const idsOf = ({ body }: Response): string[] => body.items.map(({ id }: { id: string }) => id)

    it('works with its own operations as before', async () => {
      const owner = fresh()
      await total(owner)
      const consumed = await spend('usage', owner)
      const [one, two] = [await spend('usage', owner, 'reserve'), await spend('usage', owner, 'reserve')]
      expect(bodyOf(200, await get(`/${consumed.id}`))).toEqual(consumed)
      expect(bodyOf(200, await act(one.id, 'commit')).state).toBe('committed')
      expect(bodyOf(200, await act(two.id, 'release')).state).toBe('released')
      const again = key()
      const refunded = await act(consumed.id, 'refund', { key: again })
      expect(bodyOf(200, refunded).refunded).toBe(5)
      const repeated = await act(consumed.id, 'refund', { key: again })
      expect([repeated.text, repeated.headers['idempotency-replayed']]).toEqual([refunded.text, 'true'])
      expect(bodyOf(200, await act(one.id, 'refund', { key: key() })).refunded).toBe(5)
      const { items } = bodyOf(200, await get(`/${consumed.id}/acts`))
      expect(items.map(({ kind, actor }: Record<string, string>) => [kind, actor])).toEqual([
        ['consume', 'usage'],
        ['refund', 'usage'],
      ])
      const check = bodyOf(200, await get(`/check?${api.owner}=${owner}&amount=1000000`))
      expect(check).toMatchObject({ allowed: true, remaining: 1_000_000 })
      const batch = { items: [{ [api.owner]: owner, amount: 1, idempotency_key: key() }] }
      const [result] = bodyOf(200, await narrowed.post(`${api.usage}/consume/batch`, batch, { as: 'usage' })).results
      expect(result.status).toBe(200)
      expect(bodyOf(200, await get(`/${result.operation.id}`))).toEqual(result.operation)
    })

    it('gets 404 for operations of others, and does not change them', async () => {
      const owner = fresh()
      await total(owner)
      const consumed = await spend('other', owner)
      const refunded = await spend('other', owner)
      bodyOf(200, await plain.post(`${api.usage}/${refunded.id}/refund`, { amount: 1 }, { as: 'other', key: key() }))
      const held = await spend('other', owner, 'reserve')
      const before = await plain.get(`${api.usage}?${api.owner}=${owner}`)
      const missed = async (id: string): Promise<Response[]> => [
        await get(`/${id}`),
        await get(`/${id}/acts`),
        await act(id, 'commit'),
        await act(id, 'release'),
        await act(id, 'refund', { key: key() }),
      ]
      const details = (answers: Response[], id: string): unknown[] =>
        answers.map(({ status, body }) => [status, body.code, body.detail.replace(id, 'ID')])
      const nowhere = details(await missed(NOWHERE), NOWHERE)
      expect(nowhere.map((one) => (one as unknown[]).slice(0, 2))).toEqual(Array.from({ length: 5 }, () => MISSED))
      for (const { id } of [consumed, refunded, held]) expect(details(await missed(id), id)).toEqual(nowhere)
      expect((await plain.get(`${api.usage}?${api.owner}=${owner}`)).text).toBe(before.text)
    })

    it('keeps its own although another name has settled or refunded them', async () => {
      const owner = fresh()
      await total(owner)
      const held = await spend('usage', owner, 'reserve')
      bodyOf(200, await plain.post(`${api.usage}/${held.id}/commit`, {}, { as: 'admin' }))
      bodyOf(200, await plain.post(`${api.usage}/${held.id}/refund`, { amount: 1 }, { as: 'admin', key: key() }))
      expect(bodyOf(200, await get(`/${held.id}`))).toMatchObject({ state: 'committed', refunded: 1 })
      expect(idsOf(await get(`?${api.owner}=${owner}`))).toEqual([held.id])
      expect(bodyOf(200, await get(`/${held.id}/acts`)).items).toHaveLength(3)
    })

    it('lists its own among those of all, by pages that examine so many acts', async () => {
      const owner = fresh()
      await total(owner)
      const mine = [await spend('usage', owner, 'reserve'), await spend('usage', owner)].reverse()
      for (const _ of [1, 2]) await spendAThousand('other', owner)
      const first = bodyOf(200, await get('?all=true'))
      expect(first.items).toEqual([])
      const second = await get(`?all=true&before=${first.next_before}&page_size=2`)
      expect(idsOf(second)).toEqual(mine.map(({ id }) => id))
    })

    it('gets no access by acting on operations of another name', async () => {
      const owner = fresh()
      await total(owner)
      const held = await spend('other', owner, 'reserve')
      const consumed = await spend('other', owner)
      const [used, spent] = [key(), key()]
      // Before its token was narrowed.
      bodyOf(200, await plain.post(`${api.usage}/${held.id}/commit`, {}, { as: 'usage' }))
      bodyOf(200, await plain.post(`${api.usage}/${consumed.id}/refund`, { amount: 1 }, { as: 'usage', key: used }))
      const own = bodyOf(
        200,
        await plain.post(api.consume, { [api.owner]: owner, amount: 5 }, { as: 'usage', key: spent }),
      )
      // The very same requests would be repeated to a token without the scope.
      expect(refusal(await act(held.id, 'commit'))).toEqual(MISSED)
      const refund = await narrowed.post(
        `${api.usage}/${consumed.id}/refund`,
        { amount: 1 },
        { as: 'usage', key: used },
      )
      expect(refusal(refund)).toEqual(MISSED)
      for (const { id } of [held, consumed]) {
        expect(refusal(await get(`/${id}`))).toEqual(MISSED)
        expect(refusal(await get(`/${id}/acts`))).toEqual(MISSED)
      }
      expect(bodyOf(200, await get(`?idempotency_key=${used}`))).toEqual({ items: [], next_before: null })
      expect(idsOf(await get(`?idempotency_key=${spent}`))).toEqual([own.id])
      expect(idsOf(await get(`?${api.owner}=${owner}`))).toEqual([own.id])
      // A key that was used is reused, whether there is such an operation or not.
      for (const id of [NOWHERE, held.id]) {
        expect(refusal(await act(id, 'refund', { key: spent }))).toEqual([422, 'idempotency_key_reused'])
        expect(refusal(await act(id, 'refund', { key: used }))).toEqual([422, 'idempotency_key_reused'])
      }
    })

    it('looks up only its own keys', async () => {
      const found = await get('?idempotency_key=x&caller=usage')
      expect(bodyOf(200, found)).toEqual({ items: [], next_before: null })
      expect(refusal(await get('?idempotency_key=x&caller=other'))).toEqual([403, 'forbidden'])
    })

    it('lists only its own operations: of an owner and of a quota, filtered and page by page', async () => {
      const owner = fresh()
      const quota = await total(owner)
      const own: string[] = []
      for (let n = 0; n < 4; n += 1) {
        await spend('other', owner, n % 2 === 0 ? 'consume' : 'reserve')
        own.unshift((await spend('usage', owner, n % 2 === 0 ? 'reserve' : 'consume')).id)
        await spend('admin', owner)
      }
      // Then it has rows of its own.
      bodyOf(200, await act(own[0]!, 'refund', { key: key() }))
      for (const of of [`${api.owner}=${owner}`, `quota_id=${quota}`]) {
        expect(idsOf(await get(`?${of}`))).toEqual(own)
        const first = await get(`?${of}&page_size=3`)
        expect([idsOf(first), first.body.next_before]).toEqual([own.slice(0, 3), own[2]])
        const second = await get(`?${of}&page_size=3&before=${own[2]}`)
        expect([idsOf(second), second.body.next_before]).toEqual([own.slice(3), null])
        expect((await get(`?${of}&page_size=4`)).body.next_before).toBeNull()
        expect(idsOf(await get(`?${of}&state=reserved`))).toEqual([own[1], own[3]])
        expect(idsOf(await get(`?${of}&kind=consume`))).toEqual([own[0], own[2]])
        expect(idsOf(await get(`?${of}&state=released`))).toEqual([])
        const { created_at: at } = bodyOf(200, await get(`/${own[1]}`))
        expect(idsOf(await get(`?${of}&from=${at}`))).toEqual(own.slice(0, 2))
        expect(idsOf(await get(`?${of}&to=${at}`))).toEqual(own.slice(2))
      }
      expect(idsOf(await narrowed.get(`${api.usage}?${api.owner}=${owner}`, { as: 'admin' }))).toHaveLength(12)
    })

    it('distinguishes names that differ only in case', async () => {
      const owner = fresh()
      const quota = await total(owner)
      const headers = { Authorization: `Bearer ${LOUDER}` }
      const body = { [api.owner]: owner, amount: 5 }
      const spendLouder = async () => loud.post(api.consume, body, { as: undefined, headers, key: key() })
      const own: string[] = []
      let louder = ''
      for (let n = 0; n < 3; n += 1) {
        own.unshift((await spend('usage', owner)).id)
        plain.clock.pass(0.001)
        louder = bodyOf(200, await spendLouder()).id
      }
      expect(refusal(await get(`/${louder}`))).toEqual(MISSED)
      for (const of of [`${api.owner}=${owner}`, `quota_id=${quota}`]) {
        expect(idsOf(await get(`?${of}`))).toEqual(own)
        // Page by page: no other's operation fills one, or is the one that the next page begins after.
        let before = ''
        for (const [place, id] of own.entries()) {
          const page = await get(`?${of}&page_size=1${before}`)
          expect([idsOf(page), page.body.next_before]).toEqual([[id], place === 2 ? null : id])
          before = `&before=${id}`
        }
      }
    })

    it('never reads all operations of others: a page ends, and names the next one', async () => {
      const owner = fresh()
      const quota = await total(owner)
      const oldest = await spend('usage', owner)
      for (let n = 0; n < 3; n += 1) await spendAThousand('other', owner)
      const newest = await spend('usage', owner)
      for (const of of [`${api.owner}=${owner}`, `quota_id=${quota}`]) {
        const first = await get(`?${of}`)
        expect(idsOf(first)).toEqual([newest.id])
        const next = first.body.next_before as string
        // Nobody's id, by which somebody else's operation could be known.
        expect(refusal(await plain.get(`${api.usage}/${next}`))).toEqual(MISSED)
        const second = await get(`?${of}&before=${next}`)
        expect([idsOf(second), second.body.next_before]).toEqual([[oldest.id], null])
        // What is open is few and found at once.
        expect((await get(`?${of}&state=reserved`)).body).toEqual({ items: [], next_before: null })
      }
    })

    it('names no next page if the limit of a page is also the end of the list', async () => {
      const owner = fresh()
      await total(owner)
      for (let n = 0; n < 2; n += 1) await spendAThousand('other', owner)
      expect((await get(`?${api.owner}=${owner}`)).body).toEqual({ items: [], next_before: null })
    })
  })
})
