import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals'
import { type Attempt, isProblem, QuotaClient } from '../../client/src/index.js'
import { figure } from './figures.js'
import { ADMIN, Instance } from './instance.js'
import { LOSSY, LossyProxy } from './lossy-proxy.js'
import type { Store, StoreKind } from './store.js'
import { times } from './wire.js'

const SENDERS = 50
const OWNERS = 10
const PATIENCE_MS = 600_000

/** The client against the built service on a store, over a network that loses answers. */
export class ClientBench {
  readonly attempts: Attempt[] = []

  private constructor(
    readonly store: Store,
    readonly instance: Instance,
    readonly proxy: LossyProxy,
  ) {}

  static async start(kind: StoreKind): Promise<ClientBench> {
    const store = await kind.open()
    const instance = await Instance.start(store.url)
    return new ClientBench(store, instance, await LossyProxy.start(instance.url))
  }

  /** Creates a client; over the network unless `direct`. */
  client({ direct = false } = {}): QuotaClient {
    return new QuotaClient({
      baseUrl: direct ? this.instance.url : this.proxy.url,
      token: async () => ADMIN,
      onAttempt: (attempt) => this.attempts.push(attempt),
    })
  }

  async stop(): Promise<void> {
    await this.proxy.close()
    expect(await this.instance.terminate()).toBe(0)
    await this.store.drop()
  }
}

/**
 * Senders of both channels consume over a network that loses answers; in the end every unit is accounted for, once.
 */
export function clientLosesNothing(kind: StoreKind, consumes: number): void {
  let bench: ClientBench

  beforeAll(async () => {
    bench = await ClientBench.start(kind)
  }, 90_000)

  afterAll(async () => bench.stop(), 60_000)

  it(
    `spends ${consumes} times by ${SENDERS} senders, exactly once each, with one answer in ten lost and one connection in twenty reset`,
    async () => {
      const direct = bench.client({ direct: true })
      for (let owner = 1; owner <= OWNERS; owner += 1) {
        // The first one of each channel is soon exhausted, so that some calls are refused.
        const settings = {
          quotaType: 1,
          total: owner === 1 ? Math.round(consumes * 0.06) : 1_000_000,
          expireAt: '2099-01-01T00:00:00Z',
        } as const
        await direct.mail.quotas.create({ accountId: owner, ...settings })
        await direct.sms.quotas.create({ userId: owner, ...settings })
      }
      bench.attempts.length = 0
      bench.proxy.rule = LOSSY
      const client = bench.client()
      const spent = new Map<string, { owner: string; amount: number; operation: string }>()
      const refused: string[] = []
      let next = 0
      await Promise.all(
        Array.from({ length: SENDERS }, async () => {
          while (next < consumes) {
            const number = (next += 1)
            const key = `message-${number}`
            const owner = 1 + (Math.floor(number / 2) % OWNERS)
            const amount = 1 + (number % 5)
            const name = `${number % 2 === 0 ? 'mail' : 'sms'} ${owner}`
            try {
              const { id, charged } = await (number % 2 === 0
                ? client.mail.consume({ accountId: owner, amount }, { key })
                : client.sms.consume({ userId: owner, amount }, { key }))
              expect(charged).toBe(amount)
              spent.set(key, { owner: name, amount, operation: id })
            } catch (error) {
              if (!isProblem(error, 'quota_exceeded')) throw error
              expect(error.remaining).toBeLessThan(amount)
              refused.push(key)
            }
          }
        }),
      )
      bench.proxy.rule = () => 'pass'

      // Every call was answered.
      expect(spent.size + refused.length).toBe(consumes)
      expect(refused.length).toBeGreaterThan(0)
      // No two keys have the same operation, and the ledger has no other ones: no key was spent twice.
      const operations = new Map<string, number>()
      let used = 0
      for (let owner = 1; owner <= OWNERS; owner += 1) {
        for (const [name, summary, ledger] of [
          [
            `mail ${owner}`,
            await direct.mail.quotas.summary({ accountId: owner }),
            direct.mail.operations({ accountId: owner, pageSize: 100 }),
          ],
          [
            `sms ${owner}`,
            await direct.sms.quotas.summary({ userId: owner }),
            direct.sms.operations({ userId: owner, pageSize: 100 }),
          ],
        ] as const) {
          for await (const { id, charged } of ledger) operations.set(id, charged)
          const sum = [...spent.values()]
            .filter((one) => one.owner === name)
            .reduce((total, { amount }) => total + amount, 0)
          expect([name, summary.used]).toEqual([name, sum])
          used += summary.used
        }
      }
      expect(new Map([...spent.values()].map(({ operation, amount }) => [operation, amount]))).toEqual(operations)
      expect(operations.size).toBe(spent.size)

      // The control: without keys, each of these would have been spent twice.
      const consumeAttempts = bench.attempts.filter(({ path }) => path.endsWith('/consume'))
      const replayed = consumeAttempts.filter((attempt) => attempt.replayed).length
      expect(replayed).toBeGreaterThan(consumes / 50)
      const { count } = bench.proxy
      expect(count.lose).toBeGreaterThan(consumes / 20)
      expect(count['reset before'] + count['reset within']).toBeGreaterThan(consumes / 50)
      figure(`client, ${kind.name}`, {
        consumes,
        attempts: consumeAttempts.length,
        'answers lost': count.lose,
        'connections reset': count['reset before'] + count['reset within'],
        'answered again': replayed,
        refused: refused.length,
        'units used': used,
      })
    },
    PATIENCE_MS,
  )
}

/** Calls with more than one request, or without a key, over the same network. */
export function clientKeepsItsWord(kind: StoreKind): void {
  let bench: ClientBench
  let client: QuotaClient
  const TYPE_1 = { quotaType: 1, total: 1_000_000, expireAt: '2099-01-01T00:00:00Z' } as const

  beforeAll(async () => {
    bench = await ClientBench.start(kind)
    client = bench.client()
  }, 90_000)

  afterAll(async () => bench.stop(), 60_000)

  beforeEach(() => {
    bench.proxy.rule = LOSSY
  })

  it('consumes 2,500 items in batches, once each, and reports the wrong one', async () => {
    const { id } = await client.mail.quotas.create({ accountId: 1, ...TYPE_1 }, { key: 'create-1' })
    const items = Array.from({ length: 2_500 }, (_, index) => ({
      accountId: 1,
      amount: index === 1_700 ? 0 : 1,
      idempotencyKey: `item-${index}`,
    }))
    for (const replayed of [false, true]) {
      const results = await client.mail.consumeBatch(items)
      expect(results).toHaveLength(2_500)
      const done = results.filter((result) => result.status === 200)
      expect(done).toHaveLength(2_499)
      if (replayed) expect(done.every((result) => result.replayed)).toBe(true)
      expect(results[1_700]).toMatchObject({ status: 400, problem: { errors: [{ field: 'items[1700].amount' }] } })
    }
    expect(await client.mail.quotas.get(id)).toMatchObject({ used: 2_499 })
  })

  it('commits the spent units under each of 100 holds, and releases the others', async () => {
    const { id } = await client.sms.quotas.create({ userId: 2, ...TYPE_1 }, { key: 'create-2' })
    const failure = new Error('no carrier')
    await Promise.all(
      Array.from({ length: 100 }, async (_, index) => {
        const call = client.sms.withHold({ userId: 2, amount: 5 }, { key: `hold-${index}` }, async (hold) => {
          expect(hold.state).toBe('reserved')
          if (index % 4 === 0) throw failure
          hold.spend(1 + (index % 4))
        })
        if (index % 4 === 0) await expect(call).rejects.toBe(failure)
        else await call
      }),
    )
    expect(await client.sms.quotas.get(id)).toMatchObject({ used: 25 * (2 + 3 + 4), reserved: 0 })
    await expect(
      client.sms.withHold({ userId: 2, amount: 5 }, { key: 'hold-1' }, () => Promise.reject(new Error('worked again'))),
    ).rejects.toMatchObject({ name: 'HoldSettled', operation: { state: 'committed' } })
  })

  it('does the work of eight runs with one key once, whatever answers are lost', async () => {
    const { id } = await client.sms.quotas.create({ userId: 4, ...TYPE_1 }, { key: 'create-4' })
    for (const round of times(10)) {
      let worked = 0
      let refused = 0
      let othersAreRefused = (): void => undefined
      const others = new Promise<void>((resolve) => (othersAreRefused = resolve))
      await Promise.all(
        times(8).map(async () => {
          const call = client.sms.withHold({ userId: 4, amount: 5 }, { key: `same-${round}` }, async () => {
            worked += 1
            await others
          })
          await call.catch((error: unknown) => {
            expect(error).toMatchObject({ name: 'HoldOpen', operation: { state: 'reserved' } })
            refused += 1
            if (refused === 7) othersAreRefused()
          })
        }),
      )
      expect([worked, refused]).toEqual([1, 7])
    }
    expect(await client.sms.quotas.get(id)).toMatchObject({ used: 50, reserved: 0 })
  })

  it('edits, deletes, restores and resets with every first answer lost, and confuses no edit with another', async () => {
    const direct = bench.client({ direct: true })
    const made = await direct.mail.quotas.create({ accountId: 3, ...TYPE_1 })
    const met = new Set<string>()
    bench.proxy.rule = (head) => {
      const [line = ''] = head.split('\r\n')
      if (line.startsWith('GET') || met.has(line)) return 'pass'
      met.add(line)
      return 'lose'
    }
    const edited = await client.mail.quotas.update(made.id, { ...made, total: 50 })
    expect(edited).toMatchObject({ total: 50, version: 2 })
    met.clear()
    await expect(client.mail.quotas.update(made.id, { ...made, total: 60 })).rejects.toMatchObject({
      code: 'version_mismatch',
      version: 2,
    })
    await client.mail.quotas.delete(made.id, { version: 2 })
    await expect(client.mail.quotas.delete(made.id)).rejects.toMatchObject({ code: 'quota_not_found' })
    expect(await client.mail.quotas.restore(made.id)).toMatchObject({ version: 4 })
    await direct.mail.consume({ accountId: 3, amount: 9 }, { key: 'spend-3' })
    expect(await client.mail.quotas.reset(made.id, {}, { key: 'reset-3' })).toMatchObject({ used: 0 })
    const actions = []
    for await (const { action, accountId } of client.mail.quotas.changesOf(made.id)) actions.push([action, accountId])
    expect(actions).toEqual(['reset', 'restore', 'delete', 'update', 'create'].map((action) => [action, 3]))
  })

  it('iterates over lists of 230 quotas and of their changes, each once', async () => {
    bench.proxy.rule = () => 'pass'
    const ids = []
    for (let index = 0; index < 230; index += 1) {
      const { id } = await client.sms.quotas.create(
        { userId: 100 + Math.floor(index / 100), label: `Walk ${index}`, ...TYPE_1 },
        { key: `walk-${index}` },
      )
      ids.unshift(id)
    }
    bench.proxy.rule = LOSSY
    const walked = []
    for await (const { id } of client.sms.quotas.list({ label: 'walk' })) walked.push(id)
    expect(walked).toEqual(ids)
    const changed = []
    for await (const { quotaId, action } of client.sms.quotas.changes({ action: 'create' }))
      changed.push([quotaId, action])
    expect(changed.slice(0, 230)).toEqual(ids.map((id) => [id, 'create']))
    const owners = []
    for await (const { userId, quotaCount } of client.sms.quotas.owners({ pageSize: 2, after: 99 }))
      owners.push([userId, quotaCount])
    expect(owners).toEqual([
      [100, 100],
      [101, 100],
      [102, 30],
    ])
    expect(await client.me()).toMatchObject({ name: 'admin', role: 'admin', source: 'token' })
  })
}
