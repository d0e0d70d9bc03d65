import { beforeAll, describe, expect } from '@jest/globals'
import Database from 'libsql'
import { createConnection } from 'mysql2/promise'
import { TestApp } from './app.js'
import type { ChannelApi } from './channel-api.js'
import { figure } from './figures.js'
import { type Body, bodyOf } from './quota-api.js'
import { it } from './scoped.js'
import { forEveryChannel, type Store } from './store.js'

/** A quota as in its last answer. */
interface Known {
  readonly id: number
  readonly subjects: Readonly<Record<string, number>>
  label: string | null
  disabled: boolean
  readonly ends: number
  deleted: boolean
}

/** One list: its query, and the quotas that match. */
interface List {
  readonly query: string
  readonly ids: number[]
}

const MINUTE_MS = 60_000
const LABELS = ['News', 'Newsletter', 'Sport', null] as const
/** The number of writes between two transactions of the other session, which see the same old versions kept. */
const WRITES_BESIDE_ONE = 7

/**
 * Lists by each filter and each combination of filters, read right after each write, while another transaction that has
 * written stays open, so that the server keeps the versions that the writes replaced. Each list must show the rows that
 * it counts, and these must be the ones that the writes imply.
 * @param reads the number of reads of each channel on each store
 */
export function listsAfterWrites(reads: number): void {
  forEveryChannel('lists read right after writes, beside an open transaction', (kind, channels) => {
    let store: Store
    let app: TestApp

    beforeAll(async () => {
      store = await kind.open()
      app = await TestApp.start(store)
    })

    describe.each(channels)('of $name', (api) => {
      it('show every row that they count', async () => {
        const random = randomNumbers(42)
        const other = await otherSession(store)
        const quotas: Known[] = []
        const wrong: object[] = []
        let done = 0
        try {
          for (let writes = 0; done < reads; writes += 1) {
            if (writes % WRITES_BESIDE_ONE === 0) await other.begin()
            app.clock.pass(1)
            const written = await write(app, api, quotas, random)
            for (const { query, ids } of lists(quotas, written, app.clock.now())) {
              const size = [2, 5, 100][random(3)] ?? 100
              const answer = await app.get(`${api.list}?${query}&page_size=${size}`)
              const { items, total }: Body = bodyOf(200, answer)
              const told = { ids: items.map(({ id }: Body) => id), total }
              const right = { ids: ids.slice(0, size), total: ids.length }
              if (JSON.stringify(told) !== JSON.stringify(right)) wrong.push({ query, size, told, right })
              done += 1
            }
          }
        } finally {
          await other.end()
        }
        figure(`lists after writes, ${api.name} on ${kind.name}`, { reads: done, wrong: wrong.length })
        expect({ wrong: wrong.length, examples: wrong.slice(0, 3) }).toEqual({ wrong: 0, examples: [] })
      }, 600_000)
    })
  })
}

/** Creates, edits, deletes or restores one quota, and records its new state. */
async function write(
  app: TestApp,
  api: ChannelApi,
  quotas: Known[],
  random: (below: number) => number,
): Promise<Known> {
  const known = quotas[random(40)]
  if (known === undefined) {
    const subjects = { [api.owner]: 1 + random(3), ...(api.owner === 'user_id' ? {} : { user_id: 1 + random(2) }) }
    const ends = app.clock.now() + (random(3) === 0 ? MINUTE_MS : 10_000 * MINUTE_MS)
    const label = LABELS[random(LABELS.length)] ?? null
    const body = { ...subjects, quota_type: 1, total: 9, expire_at: new Date(ends).toISOString(), label }
    const { id } = bodyOf(201, await app.post(api.quotas, body))
    const made: Known = { id, subjects, label, disabled: false, ends, deleted: false }
    quotas.push(made)
    return made
  }
  const path = `${api.quotas}/${known.id}`
  if (known.deleted) {
    bodyOf(200, await app.post(`${path}/restore`))
    known.deleted = false
    return known
  }
  switch (random(3)) {
    case 0:
      bodyOf(204, await app.delete(path))
      known.deleted = true
      break
    case 1:
      bodyOf(200, await app.put(path, { status: known.disabled ? 'active' : 'disabled' }))
      known.disabled = !known.disabled
      break
    default: {
      const label = LABELS[random(LABELS.length)] ?? null
      bodyOf(200, await app.put(path, { label }))
      known.label = label
    }
  }
  return known
}

/** Every combination of the filters that match the last written quota, and the matches of each. */
function lists(quotas: readonly Known[], written: Known, now: number): List[] {
  const statusOf = ({ disabled, ends }: Known): string => (disabled ? 'disabled' : ends <= now ? 'expired' : 'active')
  const label = (written.label ?? 'News').toLowerCase()
  const status = statusOf(written)
  const filters: { text: string; meets: (quota: Known) => boolean }[] = [
    ...Object.entries(written.subjects).map(([name, id]) => ({
      text: `${name}=${id}`,
      meets: ({ subjects }: Known) => subjects[name] === id,
    })),
    { text: `status=${status}`, meets: (quota) => statusOf(quota) === status },
    { text: `label=${label}`, meets: (quota) => quota.label?.toLowerCase().startsWith(label) === true },
  ]
  const newest = [...quotas].reverse()
  return [false, true].flatMap((deleted) =>
    Array.from({ length: 2 ** filters.length }, (_, chosen) => {
      const used = filters.filter((_filter, place) => ((chosen >> place) & 1) === 1)
      return {
        query: [...(deleted ? ['deleted=true'] : []), ...used.map(({ text }) => text)].join('&'),
        ids: newest
          .filter((quota) => quota.deleted === deleted && used.every(({ meets }) => meets(quota)))
          .map(({ id }) => id),
      }
    }),
  )
}

/** Another user of the database, with an open transaction. */
interface OtherSession {
  /** Ends the open transaction, and begins one with a snapshot of the present. */
  begin(): Promise<void>
  end(): Promise<void>
}

async function otherSession(store: Store): Promise<OtherSession> {
  if (store.config.kind === 'sqlite') {
    // A writer would block all other writers: a reader keeps the old versions as well.
    const reader = new Database(store.config.path)
    return {
      begin: async () => {
        if (reader.inTransaction) reader.exec('COMMIT')
        reader.exec('BEGIN')
        reader.prepare('SELECT COUNT(*) FROM mail_quota').get()
        return Promise.resolve()
      },
      end: async () => {
        reader.close()
        return Promise.resolve()
      },
    }
  }
  const connection = await createConnection(store.config.url.replace(/^mariadb:/, 'mysql:'))
  await connection.query('CREATE TABLE IF NOT EXISTS elsewhere (id INT PRIMARY KEY)')
  return {
    begin: async () => {
      await connection.query('ROLLBACK')
      await connection.query('START TRANSACTION WITH CONSISTENT SNAPSHOT')
      await connection.query('INSERT INTO elsewhere VALUES (1)')
    },
    end: async () => {
      await connection.query('ROLLBACK')
      await connection.end()
    },
  }
}

/** Numbers from 0, the same at each run (a linear congruential generator). */
function randomNumbers(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}
