import { beforeAll, describe, expect, it } from '@jest/globals'
import { TestApp } from './support/app.js'
import { forSharedRules } from './support/store.js'
import { fresh, tally, times, totalQuota, type Wire } from './support/wire.js'

interface Result {
  readonly status: number
  readonly replayed?: boolean
  readonly problem?: { readonly code: string; readonly errors?: { readonly field: string }[] }
}

forSharedRules('a batch', (kind, channels) => {
  let app: TestApp
  let owner = 0

  beforeAll(async () => {
    app = await TestApp.on(kind)
  })

  async function made(wire: Wire, total = 1_000): Promise<number> {
    owner += 1
    expect((await app.post(wire.quotas, totalQuota(wire, owner, total))).status).toBe(201)
    return owner
  }

  async function batch(wire: Wire, items: readonly [owner: number, key: string, amount?: number][]): Promise<Result[]> {
    const answer = await app.post(`${wire.usage}/consume/batch`, {
      items: items.map(([ownerId, key, amount = 1]) => ({ [wire.owner]: ownerId, amount, idempotency_key: key })),
    })
    expect(answer.status).toBe(200)
    return (answer.body as { results: Result[] }).results
  }

  const told = (results: readonly Result[]): string[] =>
    results.map(({ status, replayed, problem }) => `${status} ${problem?.code ?? String(replayed)}`)

  it.each([3, 8])('of 1,000, %d of one sender at once, is done and not refused', async (batches) => {
    const [wire] = channels as [Wire]
    const ownerId = await made(wire, 100_000)
    const all = await Promise.all(
      times(batches).map(async (one) =>
        // Short keys: three such bodies are let in together.
        batch(
          wire,
          times(1_000).map((n): [number, string] => [ownerId, `${batches}.${one}.${n}`]),
        ),
      ),
    )
    expect(tally(all.flatMap(told))).toEqual({ '200 false': batches * 1_000 })
  })

  describe.each(channels)('of $channel', (wire) => {
    it('decides items with one key in order, whatever owners they name', async () => {
      const seen: string[] = []
      for (const round of times(40)) {
        const [one, two] = [await made(wire), await made(wire)]
        const key = fresh('two-owners')
        // Other items before and between, so that the two do not always share a transaction.
        const others = times(round % 5).map((): [number, string] => [one, fresh('other')])
        const results = await batch(wire, [
          ...others,
          [one, key],
          ...others.map(([id]): [number, string] => [id, fresh('other')]),
          [two, key],
        ])
        seen.push(told([results[others.length]!, results.at(-1)!]).join(', '))
      }
      expect(tally(seen)).toEqual({ '200 false, 422 idempotency_key_reused': 40 })
    })

    it("reports key reuse before it checks the second owner's quotas", async () => {
      for (const stranger of times(10)) {
        const key = fresh('stranger')
        const results = await batch(wire, [
          [await made(wire), key],
          [900_000 + stranger, key],
        ])
        expect(told(results)).toEqual(['200 false', '422 idempotency_key_reused'])
      }
    })

    it('lets the next item use a key if the previous one was refused', async () => {
      const [dry, well] = [await made(wire, 1), await made(wire)]
      const key = fresh('refused')
      const results = await batch(wire, [
        [dry, key, 5],
        [well, key],
        [well, key],
        [dry, key],
      ])
      expect(told(results)).toEqual(['409 quota_exceeded', '200 false', '200 true', '422 idempotency_key_reused'])
    })

    it('refuses a key with a blank at either end, which no header can contain', async () => {
      const one = await made(wire)
      const results = await batch(wire, [
        [one, ' blank'],
        [one, 'blank '],
        [one, ' '],
        [one, 'in between'],
        [one, '\tblank'],
      ])
      expect(told(results)).toEqual([
        '400 validation_failed',
        '400 validation_failed',
        '400 validation_failed',
        '200 false',
        '400 validation_failed',
      ])
      expect(results[0]?.problem?.errors?.map(({ field }) => field)).toEqual(['items[0].idempotency_key'])
      const header = await app.post(`${wire.usage}/consume`, { [wire.owner]: one, amount: 1 }, { key: 'in between' })
      expect([header.status, header.headers['idempotency-replayed']]).toEqual([200, 'true'])
    })
  })
})
