import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Response } from 'supertest'
import { Webhooks } from '../../src/webhook/webhooks.js'
import type { TestApp } from './app.js'
import { temporaryFolder } from './opened.js'
import { type Body, bodyOf, fresh } from './quota-api.js'

const PATIENCE_MS = 60_000

/** Waits for what a condition finds, on a machine that may be busy. */
export async function until<T>(
  what: string,
  look: () => Promise<T | undefined | false>,
  patienceMs = PATIENCE_MS,
): Promise<T> {
  const end = performance.now() + patienceMs
  for (;;) {
    const found = await look()
    if (found !== undefined && found !== false) return found
    if (performance.now() > end) throw new Error(`not within ${patienceMs} ms: ${what}`)
    await sleep(20)
  }
}

/** The file of endpoints of one application, and what the application shows of them. */
export class Endpoints {
  /** The endpoints in the file. */
  list: { name: string }[] = []
  app!: TestApp
  private last = 0

  private constructor(
    readonly folder: string,
    readonly path: string,
  ) {}

  /** An empty file; `app` is to be set. */
  static async make(): Promise<Endpoints> {
    const folder = temporaryFolder('quota-endpoints-')
    const path = join(folder, 'webhooks.json')
    await writeFile(path, '[]')
    return new Endpoints(folder, path)
  }

  get webhooks(): Webhooks {
    return this.app.app.get(Webhooks)
  }

  /** Has the application read the file. */
  async take(): Promise<void> {
    await writeFile(this.path, JSON.stringify(this.list))
    await this.webhooks.file.readAgain()
    await this.webhooks.announce()
    await this.webhooks.announce()
  }

  /** Adds an endpoint, which begins with what happens now. @returns its name */
  async add(made: (name: string) => object): Promise<string> {
    this.last += 1
    const name = `hook-${this.last}`
    this.list.push({ name, ...made(name) })
    await this.take()
    return name
  }

  /** The endpoint as the application shows it. Asks again after 503, which a busy machine may cause. */
  async shown(name: string): Promise<Body> {
    const answer = await until('an answer other than 503', async () => {
      const now = await this.app.get('/api/v1/webhooks')
      return now.status !== 503 && now
    })
    return bodyOf(200, answer).items.find((one: Body) => one.name === name)
  }

  async does(name: string, verb: string, body?: object): Promise<Response> {
    return this.app.post(`/api/v1/webhooks/${name}/${verb}`, body)
  }

  /** Waits until the endpoint is shown so. */
  async settled(name: string, what: object): Promise<Body> {
    let now: Body
    const same = ([member, value]: [string, unknown]): boolean => JSON.stringify(now[member]) === JSON.stringify(value)
    return until(`${name} ${JSON.stringify(what)}`, async () => {
      now = await this.shown(name)
      return Object.entries(what).every(same) && now
    })
  }

  /** Creates quotas. @returns their ids */
  async happen(count = 1, quotas = '/api/v1/quotas', owner = 'account_id', more: object = {}): Promise<number[]> {
    const ids: number[] = []
    for (let n = 0; n < count; n += 1) {
      const quota = { [owner]: fresh(), quota_type: 1, total: 5, expire_at: '2030-01-01T00:00:00Z', ...more }
      ids.push(bodyOf(201, await this.app.post(quotas, quota)).id)
    }
    return ids
  }
}
