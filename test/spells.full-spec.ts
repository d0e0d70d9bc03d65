import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it } from '@jest/globals'
import { DataSource } from 'typeorm'
import { instantToStore } from '../src/database/column.js'
import { dataSourceOptions } from '../src/database/data-source-options.js'
import { ENTITIES } from '../src/entities.js'
import { figure, SCALE } from './support/figures.js'
import { Instance } from './support/instance.js'
import { onEveryStore, type Store } from './support/store.js'
import { bodyOf, fresh, owners, resultsOf, tally, type Wire, WIRES } from './support/wire.js'

const PATIENCE_MS = 600_000 * Math.max(1, SCALE)
/** On SQLite two instances share one file, which is no way to run them: fewer show that each is told once. */
const OWNERS = { SQLite: 200, server: 1_000 } as const
/** When an instance is killed after the refusals: while it writes them, and when they are due. */
const KILLED_AFTER_MS = [2_000, 5_000]
const HOUR_MS = 3_600_000

onEveryStore('spells of two instances that are killed', (kind) => {
  const count = kind.name === 'SQLite' ? OWNERS.SQLite : OWNERS.server
  it(
    `are told once to begin and once to end, each of ${count} owners of each channel`,
    async () => {
      const store = await kind.open()
      const instances: Instance[] = []
      for (const _ of [0, 1]) instances.push(await Instance.start(store.url))
      const [one, two] = instances as [Instance, Instance]
      const feeds = WIRES.map((wire) => new Feed(wire))
      for (const [round, after] of KILLED_AFTER_MS.entries()) {
        const [victim, other] = round % 2 === 0 ? [one, two] : [two, one]
        const refusals = await Promise.all(WIRES.map(async (wire) => refusalsOf(other, wire, count)))
        const refuse = async (instance: Instance): Promise<void> => {
          await Promise.all(refusals.map(async ({ send }) => send(instance)))
        }
        await Promise.all([refuse(victim), refuse(other)])
        await sleep(after)
        await victim.kill()
        await until(async () => {
          await Promise.all(feeds.map(async (feed) => feed.read(other)))
          return refusals.every(({ ids }, n) => ids.every((id) => feeds[n]!.of('owner.refused').has(id)))
        })
        await victim.start()
        // They go on, on both: nothing more is told of them today.
        await Promise.all([refuse(victim), refuse(other)])
      }
      expect(await Promise.all(instances.map(async (instance) => instance.terminate()))).toEqual([0, 0])

      // Two hours later nobody is refused any more.
      await inStore(store, async (dataSource) => {
        const lastAt = Date.now() - 2 * HOUR_MS
        const values = [lastAt, lastAt, lastAt + HOUR_MS].map(instantToStore)
        for (const { channel } of WIRES) {
          const [left] = await dataSource.query(`SELECT COUNT(*) AS n FROM ${channel}_spell WHERE stage <> 'told'`)
          expect(Number(left.n)).toBe(0)
          await dataSource.query(`UPDATE ${channel}_spell SET since = ?, last_at = ?, due_at = ?`, values)
        }
      })
      await Promise.all(instances.map(async (instance) => instance.start()))
      const began = performance.now()
      const recovered = async (least: number): Promise<void> =>
        until(async () => {
          await Promise.all(feeds.map(async (feed) => feed.read(two)))
          return feeds.every((feed) => feed.of('owner.recovered').size >= least)
        })
      await recovered(1)
      figure(`${kind.name}: recovered after a start`, { ms: Math.round(performance.now() - began) })
      await one.kill()
      await recovered(KILLED_AFTER_MS.length * count)
      await Promise.all(feeds.map(async (feed) => feed.read(two)))
      for (const feed of feeds)
        for (const type of ['owner.refused', 'owner.recovered'])
          expect(tally([...feed.of(type).values()])).toEqual({ 1: KILLED_AFTER_MS.length * count })
    },
    PATIENCE_MS,
  )
})

/** Owners who are refused because their group has no quota. */
async function refusalsOf(
  instance: Instance,
  wire: Wire,
  count: number,
): Promise<{ ids: number[]; send(to: Instance): Promise<void> }> {
  const ids = owners(count)
  const { id } = bodyOf(await instance.post(`${wire.quotas}/groups`, { name: fresh('refused') }))
  const joined = await instance.post(`${wire.quotas}/groups/${id}/members`, { [`${wire.owner}s`]: ids })
  expect(bodyOf(joined)).toMatchObject({ added: count })
  return {
    ids,
    send: async (to) => {
      const items = ids.map((owner) => ({ [wire.owner]: owner, amount: 1, idempotency_key: fresh('refused') }))
      const results = resultsOf(await to.post(`${wire.usage}/consume/batch`, { items }))
      expect(tally(results.map(({ problem }) => problem.code))).toEqual({ no_active_quota: count })
    },
  }
}

/** A reader of a channel's feed, which counts the events of each owner and day. */
class Feed {
  private after = ''
  private readonly told: { type: string; owner: number; day: string }[] = []

  constructor(private readonly wire: Wire) {}

  /** Reads to the end for now. */
  async read(instance: Instance): Promise<void> {
    for (;;) {
      const answer = await instance.get(`${this.wire.quotas}/events?page_size=100${this.after}`)
      if (answer.status !== 200) return
      const { items, next_after: next } = bodyOf(answer)
      for (const { type, at, [this.wire.owner]: owner } of items) this.told.push({ type, owner, day: at.slice(0, 10) })
      this.after = `&after=${next}`
      if (items.length === 0) return
    }
  }

  /** The owners that events of a type tell of, each with the largest number of a day. */
  of(type: string): Map<number, number> {
    const days = tally(this.told.filter((one) => one.type === type).map(({ owner, day }) => `${owner} ${day}`))
    const counts = new Map<number, number>()
    for (const [name, count] of Object.entries(days)) {
      const owner = Number(name.split(' ')[0])
      counts.set(owner, Math.max(count, counts.get(owner) ?? 0))
    }
    return counts
  }
}

async function until(look: () => Promise<boolean>): Promise<void> {
  while (!(await look())) await sleep(200)
}

async function inStore(store: Store, work: (dataSource: DataSource) => Promise<void>): Promise<void> {
  const dataSource = await new DataSource(dataSourceOptions(store.config, ENTITIES, 'service')).initialize()
  try {
    await work(dataSource)
  } finally {
    await dataSource.destroy()
  }
}
