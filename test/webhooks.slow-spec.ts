import { randomBytes } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { beforeAll, expect, it, jest } from '@jest/globals'
import { Webhook } from 'standardwebhooks'
import { Instance } from './support/instance.js'
import { temporaryFolder } from './support/opened.js'
import type { Body } from './support/quota-api.js'
import { Receiver } from './support/receiver.js'
import { onEveryStore, type Store } from './support/store.js'

// Processes, on a machine that may be busy.
jest.setTimeout(300_000)

const QUOTAS = 40
const KILLS = 6
const UNITS = 10

onEveryStore('webhooks of instances that are killed', (kind) => {
  let store: Store
  let receiver: Receiver
  let folder: string
  let instances: Instance[]
  const secret = `whsec_${randomBytes(32).toString('base64')}`

  /** Sends a request until it is answered, to whichever instance answers. */
  const done = async (method: string, path: string, body: unknown, key: string): Promise<Body> => {
    for (let turn = 0; ; turn += 1) {
      const instance = instances[turn % instances.length]
      try {
        const answer = await instance?.send(method, path, { body, key })
        if (answer !== undefined && answer.status < 300) return JSON.parse(answer.text)
        if (answer !== undefined && answer.status !== 503) throw new Error(`${answer.status} ${answer.text}`)
      } catch (error) {
        if ((error as Error).constructor.name !== 'NoAnswer') throw error
      }
      await sleep(50)
    }
  }

  beforeAll(async () => {
    store = await kind.open()
    receiver = await Receiver.start()
    folder = temporaryFolder('quota-webhooks-')
    const file = join(folder, 'webhooks.json')
    await writeFile(file, JSON.stringify([{ name: 'ops', url: receiver.url('/ops'), secrets: [secret] }]))
    instances = []
    for (let n = 0; n < 2; n += 1) instances.push(await Instance.start(store.url, { WEBHOOKS_FILE: file }))
  })

  it('writes one event for each crossing, and delivers each at least once, always the same', async () => {
    let over = false
    const killing = (async () => {
      for (let n = 0; n < KILLS; n += 1) {
        await sleep(200 + Math.random() * 600)
        const victim = instances[n % 2]
        await victim?.kill()
        await victim?.start()
      }
      over = true
    })()
    // As long as somebody is killed: quotas that are used up unit by unit.
    const ids: number[] = []
    const use = async (): Promise<void> => {
      while (!over || ids.length < QUOTAS) {
        const owner = 1 + ids.length
        const place = ids.push(0) - 1
        const quota = await done(
          'POST',
          '/api/v1/quotas',
          { account_id: owner, quota_type: 1, total: UNITS, expire_at: '2099-01-01T00:00:00Z', thresholds: [50, 100] },
          `quota-${owner}`,
        )
        ids[place] = quota.id
        await Promise.all(
          Array.from({ length: UNITS }, async (_, unit) =>
            done('POST', '/api/v1/quotas/usage/consume', { account_id: owner, amount: 1 }, `${owner}-${unit}`),
          ),
        )
        // A process that starts must find the processor free for some of the time.
        await sleep(50)
      }
    }
    await Promise.all([killing, use(), use()])

    const feed: Body[] = []
    for (let after = ''; ;) {
      const page = JSON.parse((await instances[0]!.get(`/api/v1/quotas/events?page_size=100${after}`)).text)
      if (page.items.length === 0) break
      feed.push(...page.items)
      after = `&after=${page.next_after}`
    }
    const told = new Map(ids.map((id) => [id, [] as unknown[]]))
    for (const { quota_id: id, type, data } of feed) told.get(id)?.push(type === 'quota.created' ? type : data.crossed)
    for (const events of told.values()) expect(events).toEqual(['quota.created', [50], [100]])

    const bodies = new Map<string, Set<string>>()
    // At most 15 s after the last kill somebody goes on.
    const end = performance.now() + 30_000
    while (performance.now() < end && bodies.size < feed.length) {
      await sleep(100)
      bodies.clear()
      for (const { headers, body } of receiver.of('/ops')) {
        const id = headers['webhook-id'] ?? ''
        bodies.set(id, (bodies.get(id) ?? new Set()).add(body))
      }
    }
    expect([...bodies.keys()].sort()).toEqual(feed.map(({ id }) => id).sort())
    for (const [id, same] of bodies) expect([id, same.size]).toEqual([id, 1])
    const { headers, body } = receiver.of('/ops').at(-1)!
    expect(new Webhook(secret).verify(body, headers)).toBeDefined()
    process.stdout.write(`${feed.length} events, ${receiver.of('/ops').length} messages, ${KILLS} kills\n`)
  })
})
