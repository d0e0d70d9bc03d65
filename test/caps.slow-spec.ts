import { setTimeout as sleep } from 'node:timers/promises'
import { beforeAll, describe, expect, it } from '@jest/globals'
import { TestApp } from './support/app.js'
import { audit } from './support/audit.js'
import { HAS_SERVER, TestDatabase } from './support/database.js'
import { figure, SCALE } from './support/figures.js'
import type { Answer } from './support/http-client.js'
import { Instance } from './support/instance.js'
import { onEveryStore } from './support/store.js'
import { bodyOf, fresh, MAIL, owners, times, totalQuota } from './support/wire.js'
import { verified } from './support/verify.js'

const CALLERS = 64
const PATIENCE_MS = 600_000
const WINDOW_SECONDS = 60

type Post = (path: string, body: object, key?: string) => Promise<Answer>

interface Limits {
  readonly owner: number
  readonly payers: readonly number[]
  readonly caps: readonly number[]
}

/** Two payers, and three caps: the tightest bounds all. */
async function limited(post: Post): Promise<Limits> {
  const [owner] = owners(1) as [number]
  const made = async (body: object): Promise<number> => {
    const answer = await post(MAIL.quotas, { account_id: owner, ...body })
    expect([answer.status, answer.status === 201 ? '' : answer.text]).toEqual([201, ''])
    return bodyOf(answer).id
  }
  const payer = async (total: number): Promise<number> => made(totalQuota(MAIL, owner, total))
  const caps = [
    await made({ ...totalQuota(MAIL, owner, 1_100), cap: 'enforce' }),
    await made({ quota_type: 3, total: 1_000, window_seconds: 2_678_400, cap: 'enforce' }),
    await made({ quota_type: 3, total: 100, window_seconds: 2_678_400, cap: 'observe' }),
  ]
  return { owner, payers: [await payer(300), await payer(900)], caps }
}

/** What callers were told was taken: each takes, holds, commits and gives back until it is refused. */
async function race(post: Post, { owner }: Limits, rounds: number): Promise<number> {
  const taken = await Promise.all(
    times(CALLERS).map(async (caller) => {
      let kept = 0
      for (const round of times(rounds)) {
        const kind = (caller + round) % 4
        const amount = 1 + ((caller * 7 + round) % 5)
        const what = kind < 2 ? 'consume' : 'reserve'
        const answer = await post(`${MAIL.usage}/${what}`, { account_id: owner, amount }, fresh('race'))
        if (answer.status === 409) continue
        expect(answer.status).toBe(kind < 2 ? 200 : 201)
        const { id } = bodyOf(answer)
        if (kind === 1 && amount > 1) {
          expect((await post(`${MAIL.usage}/${id}/refund`, { amount: 1 }, fresh('back'))).status).toBe(200)
          kept -= 1
        }
        if (kind === 2) expect((await post(`${MAIL.usage}/${id}/commit`, { amount: 1 })).status).toBe(200)
        if (kind === 3) expect((await post(`${MAIL.usage}/${id}/release`, {})).status).toBe(200)
        kept += kind < 2 ? amount : kind === 2 ? 1 : 0
      }
      return kept
    }),
  )
  return taken.reduce((sum, one) => sum + one, 0)
}

async function used(get: (path: string) => Promise<Answer>, ids: readonly number[]): Promise<number[]> {
  return Promise.all(ids.map(async (id) => Number(bodyOf(await get(`${MAIL.quotas}/${id}`)).used)))
}

onEveryStore('64 callers against three caps and two payers', (kind) => {
  let app: TestApp

  beforeAll(async () => {
    app = await TestApp.on(kind)
  })

  it(
    'take what they were told, to the unit, of payers and caps alike',
    async () => {
      const post: Post = async (path, body, key) =>
        (await app.post(path, body, key === undefined ? {} : { key })) as unknown as Answer
      const limits = await limited(post)
      const told = await race(post, limits, 12)
      const get = async (path: string): Promise<Answer> => (await app.get(path)) as unknown as Answer
      const [first = 0, second = 0] = await used(get, limits.payers)
      expect(first + second).toBe(told)
      expect(await used(get, limits.caps)).toEqual([told, told, told])
      expect(told).toBeLessThanOrEqual(1_000)
      expect(told).toBeGreaterThan(900)
    },
    PATIENCE_MS,
  )
})

const onServer = HAS_SERVER ? describe : describe.skip

onServer('caps on two instances', () => {
  let database: TestDatabase

  beforeAll(async () => {
    database = await TestDatabase.open()
  })

  it(
    'are exact to the unit, also where one is killed in the middle and its callers ask again',
    async () => {
      let one = await Instance.start(database.url)
      const other = await Instance.start(database.url)
      let turn = 0
      const post: Post = async (path, body, key) => {
        for (let tries = 0; ; tries += 1) {
          const answer = await [one, other][(turn += 1) % 2]!.post(path, body, key).catch(() => undefined)
          if (answer !== undefined && answer.status < 500) return answer
          if (tries > 400) throw new Error('nobody answers')
          await sleep(50)
        }
      }
      const limits = await limited(post)
      const racing = race(post, limits, 30)
      await sleep(1_000)
      await one.kill()
      one = await Instance.start(database.url)
      const told = await racing
      const get = async (path: string): Promise<Answer> => other.get(path)
      const [first = 0, second = 0] = await used(get, limits.payers)
      expect(first + second).toBe(told)
      expect(await used(get, limits.caps)).toEqual([told, told, told])
      figure('three caps, two instances, kill -9', { callers: CALLERS, taken: told, of: 1_000 })
      expect(await audit(database)).toEqual([])
      expect(await verified(database.url)).toEqual([])
      await Promise.all([one.terminate(), other.terminate()])
    },
    PATIENCE_MS,
  )

  it(
    'let no more pass in any minute of a flood than a rolling cap allows, and nearly as much as an ideal window',
    async () => {
      // The window is full, opens again, and is full again.
      const seconds = Math.max(75, Math.round(75 * SCALE))
      const instances = await Promise.all([Instance.start(database.url), Instance.start(database.url)])
      const [owner] = owners(1) as [number]
      const make = async (body: object): Promise<number> => (await instances[0].post(MAIL.quotas, body)).status
      expect(await make(totalQuota(MAIL, owner, 1_000_000_000))).toBe(201)
      const cap = { account_id: owner, quota_type: 3, total: 100, window_seconds: WINDOW_SECONDS, cap: 'enforce' }
      expect(await make(cap)).toBe(201)
      const end = performance.now() + seconds * 1_000
      let asked = 0
      await Promise.all(
        times(4).map(async (caller) => {
          while (performance.now() < end) {
            await instances[caller % 2]!.post(MAIL.consume, { account_id: owner, amount: 1 }, fresh('flood'))
            asked += 1
            await sleep(20)
          }
        }),
      )
      const rows = await database.rows(
        `SELECT TIMESTAMPDIFF(MICROSECOND, '1970-01-01', at) DIV 1000 AS at FROM mail_act WHERE plain_owner_id = ${owner} ORDER BY at`,
      )
      const taken = rows.map((row) => Number(row['at']))
      let most = 0
      for (let from = 0, to = 0; from < taken.length; from += 1) {
        while (to < taken.length && taken[to]! < taken[from]! + WINDOW_SECONDS * 1_000) to += 1
        most = Math.max(most, to - from)
      }
      // An ideal window lets 100 pass at once, and 100 again as soon as each minute is over.
      const ideal = 100 * Math.ceil(seconds / WINDOW_SECONDS)
      const share = (taken.length / ideal).toFixed(3)
      figure('rolling cap of 100 in 60 s, flood', { seconds, asked, passed: taken.length, ideal, share, most })
      console.log({ seconds, asked, passed: taken.length, ideal, share, most })
      expect(most).toBe(100)
      expect(taken.length / ideal).toBeGreaterThan(0.9)
      expect(await verified(database.url)).toEqual([])
      await Promise.all(instances.map(async (instance) => instance.terminate()))
    },
    PATIENCE_MS,
  )
})
