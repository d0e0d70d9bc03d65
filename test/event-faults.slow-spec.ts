import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { createConnection } from 'mysql2/promise'
import { Webhook } from 'standardwebhooks'
import { CAN_START_SERVER, OwnServer } from './support/database.js'
import { figure, SCALE } from './support/figures.js'
import { type Answer, NoAnswer } from './support/http-client.js'
import { Instance } from './support/instance.js'
import { inTime, repeatOnce } from './support/pace.js'
import { type Received, Receiver, status } from './support/receiver.js'
import { onEveryStore, onOneStore, type Store } from './support/store.js'
import { type Statement, TcpProxy } from './support/tcp-proxy.js'
import { bodyOf, fresh, MAIL, owners, totalQuota } from './support/wire.js'

repeatOnce()

const PATIENCE_MS = 300_000
/** Within this time after a kill another instance goes on (contract, §10). */
const TAKEN_OVER_MS = 15_000

interface Event {
  readonly id: string
  readonly type: string
  readonly quota_id: number
  readonly data: { readonly crossed?: number[] }
}

interface Page {
  readonly items: Event[]
  readonly next_after: string
}

const secret = (): string => `whsec_${randomBytes(32).toString('base64')}`

async function until<T>(what: string, ms: number, look: () => Promise<T | false> | T | false): Promise<T> {
  const end = performance.now() + ms
  for (;;) {
    const found = await look()
    if (found !== false) return found
    if (performance.now() > end) throw new Error(`not within ${Math.round(ms)} ms: ${what}`)
    await sleep(20)
  }
}

/** Sends a request until it is done, to one instance after the other. */
async function done(instances: readonly Instance[], send: (instance: Instance) => Promise<Answer>): Promise<Answer> {
  for (let turn = 0; ; turn += 1) {
    try {
      const answer = await send(instances[turn % instances.length]!)
      if (answer.status < 300) return answer
      if (answer.status !== 503) throw new Error(`${answer.status} ${answer.text}`)
    } catch (error) {
      if (!(error instanceof NoAnswer)) throw error
    }
    await sleep(50)
  }
}

/** Events behind a cursor, up to the end for now. */
async function eventsAfter(instance: Instance, after?: string): Promise<{ events: Event[]; after: string }> {
  const events: Event[] = []
  for (let from = after; ;) {
    const answer = await instance.get(
      `${MAIL.quotas}/events?page_size=100${from === undefined ? '' : `&after=${from}`}`,
    )
    if (answer.status !== 200) throw new Unread(answer)
    const { items, next_after: next } = bodyOf(answer) as Page
    events.push(...items)
    if (items.length === 0) return { events, after: next }
    from = next
  }
}

/** A page of the feed was refused. */
class Unread extends Error {
  constructor(readonly answer: Answer) {
    super(`${answer.status} ${answer.text}`)
  }
}

onEveryStore('events of two instances that are killed', (kind) => {
  const onServer = kind.name !== 'SQLite'
  let store: Store
  let receiver: Receiver
  let folder: string
  let proxies: TcpProxy[]
  let instances: Instance[]
  const known = secret()

  beforeEach(async () => {
    store = await kind.open()
    receiver = await Receiver.start()
    folder = mkdtempSync(join(tmpdir(), 'quota-event-faults-'))
    const file = join(folder, 'webhooks.json')
    writeFileSync(file, JSON.stringify([{ name: 'ops', url: receiver.url('/ops'), secrets: [known] }]))
    proxies = []
    instances = []
    for (let n = 0; n < 2; n += 1) {
      if (onServer) proxies.push(await TcpProxy.start(store.url))
      const url = onServer ? new URL(proxies[n]!.url) : undefined
      if (url !== undefined) url.protocol = new URL(store.url).protocol
      instances.push(await Instance.start(url?.toString() ?? store.url, { WEBHOOKS_FILE: file }))
    }
  })

  afterEach(async () => {
    for (const proxy of proxies) proxy.rule = undefined
    for (const instance of instances) await instance.kill()
    for (const proxy of proxies) await proxy.close()
    await receiver.stop()
    rmSync(folder, { recursive: true, force: true })
    await store.drop()
  })

  /** A quota that the next consume takes past its threshold. */
  async function quota(): Promise<{ owner: number; id: number }> {
    const [owner] = owners(1) as [number]
    const body = { ...totalQuota(MAIL, owner, 2), thresholds: [50] }
    const made = await done(instances, async (instance) => instance.post(MAIL.quotas, body, `quota-${owner}`))
    return { owner, id: bodyOf(made).id }
  }

  /** Sends the consume that passes the threshold until it is answered, first to the instance named. */
  async function cross(owner: number, first: number): Promise<void> {
    const inTurn = first === 0 ? instances : [...instances].reverse()
    const body = { account_id: owner, amount: 1 }
    await done(inTurn, async (instance) => instance.post(`${MAIL.usage}/consume`, body, `cross-${owner}`))
  }

  const messagesOf = (id: number): Received[] =>
    receiver.of('/ops').filter(({ body }) => {
      const { type, data } = JSON.parse(body)
      return type === 'quota.threshold_reached' && data.quota_id === id
    })

  /** One event of the crossing in the feed, and each message of it the same. */
  async function toldOnce(id: number): Promise<number> {
    const messages = await until(`the event of quota ${id} received`, inTime(2 * TAKEN_OVER_MS), () => {
      const found = messagesOf(id)
      return found.length > 0 && found
    })
    const path = `${MAIL.quotas}/events?quota_id=${id}&type=quota.threshold_reached`
    const { items } = bodyOf(await done(instances, async (instance) => instance.get(path))) as Page
    expect(items.map(({ data }) => data.crossed)).toEqual([[50]])
    const [event] = items
    for (const { headers, body } of messages) {
      expect(headers['webhook-id']).toBe(event?.id)
      expect(JSON.parse(body).data).toEqual(event)
      expect(new Webhook(known).verify(body, headers)).toBeDefined()
    }
    expect(new Set(messages.map(({ body }) => body)).size).toBe(1)
    return messages.length
  }

  const inserts = ({ text }: { text: string }): boolean => /^INSERT INTO .?mail_event\b.?[ (]/.test(text)
  const numbers = ({ text }: { text: string }): boolean => /^UPDATE .?mail_event\b.? SET/.test(text)
  const queues = ({ text }: { text: string }): boolean => /^INSERT INTO .?webhook_delivery\b/.test(text)
  const settles = ({ text }: { text: string }): boolean => /^DELETE FROM .?webhook_delivery\b/.test(text)
  const commits =
    (what: (statement: { text: string }) => boolean) =>
    ({ text, earlier }: Statement): boolean =>
      text === 'COMMIT' && earlier.some((one) => what({ text: one }))
  /**
   * What is killed where: before a statement reaches the server, or when it was carried out and not yet answered. And
   * how often the event is sent then: what was received and not written down comes again.
   */
  const POINTS: [string, (statement: Statement) => boolean, 'before' | 'after', number][] = [
    ['before the event is inserted', inserts, 'before', 1],
    ['before COMMIT of the act', commits(inserts), 'before', 1],
    ['after COMMIT of the act', commits(inserts), 'after', 1],
    ['before the event gets its place', numbers, 'before', 1],
    ['before COMMIT of its place', commits(numbers), 'before', 1],
    ['after COMMIT of its place', commits(numbers), 'after', 1],
    ['before COMMIT of its delivery', commits(queues), 'before', 1],
    ['after COMMIT of its delivery', commits(queues), 'after', 1],
    ['after sending, before that is written down', settles, 'before', 2],
    ['after sending, before COMMIT of that', commits(settles), 'before', 2],
    ['after sending, after COMMIT of that', commits(settles), 'after', 1],
  ]

  if (onServer) {
    it(
      'are one for each crossing, and received, wherever one of them dies',
      async () => {
        const took: Record<string, number> = {}
        for (const [n, [what, matches, when, messages]] of POINTS.entries()) {
          const { owner, id } = await quota()
          await until('its creation received', inTime(2 * TAKEN_OVER_MS), () =>
            receiver.messages.some(({ body }) => body.includes(`"quota_id":${id},`)),
          )
          await until('that written down', inTime(2 * TAKEN_OVER_MS), async () => {
            const answer = await done(instances, async (instance) => instance.get('/api/v1/webhooks'))
            return (bodyOf(answer) as { items: { waiting: number }[] }).items[0]?.waiting === 0
          })
          let killed: { victim: Instance; at: number } | undefined
          proxies.forEach((proxy, place) => {
            proxy.rule = async (statement) => {
              if (killed !== undefined || !matches(statement)) return 'pass'
              killed = { victim: instances[place]!, at: performance.now() }
              if (when === 'before') {
                await killed.victim.kill()
                return 'cut'
              }
              setTimeout(() => void killed?.victim.kill(), 100)
              return 'silence'
            }
          })
          const crossing = cross(owner, n % 2)
          const { victim, at } = await until(`killed ${what}`, 30_000, () => killed ?? false)
          await crossing
          await until(
            `received: ${what}`,
            inTime(TAKEN_OVER_MS) - (performance.now() - at),
            () => messagesOf(id).length >= messages,
          )
          took[what] = Math.round(performance.now() - at)
          await victim.exited
          await victim.start()
          expect([what, await toldOnce(id)]).toEqual([what, messages])
        }
        figure('ms from a kill to the event received', took)
      },
      2 * PATIENCE_MS,
    )
  }

  if (onServer) {
    it('count once where the answer to COMMIT of their results is lost', async () => {
      let lost = false
      for (const proxy of proxies)
        proxy.rule = (statement) => {
          if (lost || !commits(settles)(statement)) return 'pass'
          lost = true
          return 'swallow'
        }
      await quota()
      await until('the answer lost', inTime(2 * TAKEN_OVER_MS), () => lost)
      // Its result is recorded after that of the first.
      await quota()
      const items = await until('both recorded', inTime(2 * TAKEN_OVER_MS), async () => {
        const shown = bodyOf(await done(instances, async (instance) => instance.get('/api/v1/webhooks'))).items
        return receiver.of('/ops').length > 1 && shown[0].oldest_waiting_at === null && shown
      })
      expect(items).toMatchObject([{ delivered: 2, failed: 0, waiting: 0 }])
    })
  }

  it('are received again where all end between sending and writing that down', async () => {
    for (const answered of [false, true]) {
      const { owner, id } = await quota()
      let ended: Promise<unknown> | undefined
      receiver.answers.set('/ops', (response, message) => {
        const end = (): void => {
          ended ??= Promise.all(instances.map(async (instance) => instance.kill()))
        }
        if (ended !== undefined || !message.body.includes(`threshold_reached","timestamp`))
          status(204)(response, message, undefined as never)
        else if (answered) response.writeHead(204).end(() => setImmediate(end))
        else end()
      })
      await cross(owner, 0)
      await until('all are killed', 30_000, () => ended !== undefined)
      await ended
      for (const instance of instances) await instance.start()
      await until('received again', inTime(2 * TAKEN_OVER_MS), () => messagesOf(id).length > 1)
      await toldOnce(id)
    }
  })
})

onOneStore('webhooks of two instances whose files change', (kind) => {
  it(
    'has a secret changed, over files that are broken and half written, without a message that is refused',
    async () => {
      const store = await kind.open()
      const receiver = await Receiver.start()
      const folder = mkdtempSync(join(tmpdir(), 'quota-rotation-'))
      const files = ['one.json', 'two.json'].map((name) => join(folder, name))
      const [old, next] = [secret(), secret()]
      const text = (...secrets: string[]): string =>
        JSON.stringify([{ name: 'ops', url: receiver.url('/ops'), secrets }])
      for (const file of files) writeFileSync(file, text(old))
      const instances: Instance[] = []
      try {
        for (const file of files) instances.push(await Instance.start(store.url, { WEBHOOKS_FILE: file }))
        // A receiver that knows one secret at a time.
        let knows = old
        const refused: string[] = []
        const received = new Set<string>()
        receiver.answers.set('/ops', (response, message) => {
          try {
            new Webhook(knows).verify(message.body, message.headers)
            received.add(message.headers['webhook-id']!)
            response.writeHead(204).end()
          } catch (error) {
            refused.push(String(error))
            response.writeHead(401).end()
          }
        })
        const load = new AbortController()
        let made = 0
        const loaded = (async () => {
          while (!load.signal.aborted) {
            const [owner] = owners(1) as [number]
            await done(instances, async (one) => one.post(MAIL.quotas, totalQuota(MAIL, owner, 1), fresh('quota')))
            made += 1
            await sleep(20)
          }
        })()
        /** As an editor does that is slow: the first half, and what is missing after more than one look. */
        const write = async (whole: string): Promise<void> => {
          for (const file of files) writeFileSync(file, whole.slice(0, whole.length / 2))
          await sleep(5_000)
          for (const file of files) writeFileSync(file, whole)
        }
        const inForce = (): Promise<void> => sleep(12_000)
        await write(text(next, old))
        await inForce()
        knows = next
        // One file after the other: what is no JSON, no list, has an address without TLS, and is empty.
        for (const [n, broken] of ['{', '{}', text(next).replace('127.0.0.1', 'example.com'), ''].entries()) {
          writeFileSync(files[n % 2]!, broken)
          await sleep(5_000)
        }
        await write(text(next))
        await inForce()
        load.abort()
        await loaded
        await until('all received', inTime(TAKEN_OVER_MS), () => received.size >= made)
        const shown = async () => bodyOf(await instances[0]!.get('/api/v1/webhooks')).items
        await until('all written down', inTime(TAKEN_OVER_MS), async () => (await shown())[0].waiting === 0)
        const items = await shown()
        figure(`${kind.name}: a secret is changed`, {
          events: made,
          messages: receiver.messages.length,
          refused: refused.length,
        })
        expect(refused).toEqual([])
        expect(items).toMatchObject([{ name: 'ops', state: 'active', failed: 0, delivered: made, waiting: 0 }])
        // Nothing of the old secret is left.
        const last = receiver.messages.at(-1)!
        expect(() => new Webhook(old).verify(last.body, last.headers)).toThrow()
      } finally {
        for (const instance of instances) await instance.kill()
        await receiver.stop()
        rmSync(folder, { recursive: true, force: true })
        await store.drop()
      }
    },
    2 * PATIENCE_MS,
  )

  it('delivers to one endpoint as ever beside others that are gone, redirect, fail, hang, stream and reset', async () => {
    const store = await kind.open()
    const receiver = await Receiver.start()
    const folder = mkdtempSync(join(tmpdir(), 'quota-endpoints-'))
    const file = join(folder, 'webhooks.json')
    const bad = ['gone', 'redirect', 'fail', 'hang', 'stream', 'refuse-and-stream', 'drip', 'reset']
    const known = secret()
    writeFileSync(
      file,
      JSON.stringify(['good', ...bad].map((name) => ({ name, url: receiver.url(`/${name}`), secrets: [known] }))),
    )
    const endless = (code: number) => (response: Parameters<ReturnType<typeof status>>[0]) => {
      response.writeHead(code)
      const timer = setInterval(() => response.write('x'.repeat(50_000)), 5)
      response.on('close', () => clearInterval(timer))
    }
    receiver.answers.set('/gone', status(410))
    receiver.answers.set('/redirect', status(307, { Location: receiver.url('/elsewhere') }))
    receiver.answers.set('/fail', status(500))
    receiver.answers.set('/hang', () => undefined)
    receiver.answers.set('/stream', endless(200))
    receiver.answers.set('/refuse-and-stream', endless(503))
    receiver.answers.set('/drip', (response) => {
      // A head that never ends.
      response.socket?.write('HTTP/1.1 200 OK\r\n')
      const timer = setInterval(() => response.socket?.write('X-More: 1\r\n'), 100)
      response.socket?.on('close', () => clearInterval(timer))
    })
    receiver.answers.set('/reset', (response) => response.socket?.resetAndDestroy())
    let instance: Instance | undefined
    try {
      const only = (instance = await Instance.start(store.url, { WEBHOOKS_FILE: file }))
      const memory = async (): Promise<number> =>
        Number(/^process_resident_memory_bytes (\S+)/m.exec((await only.get('/metrics')).text)?.[1])
      const before = await memory()
      const EVENTS = 200
      const began = performance.now()
      for (const owner of owners(EVENTS))
        expect((await only.post(MAIL.quotas, totalQuota(MAIL, owner, 1))).status).toBe(201)
      await until('the good one has all', inTime(10_000), () => receiver.of('/good').length >= EVENTS)
      const took = performance.now() - began
      await until('the streaming one has all', inTime(60_000), () => receiver.of('/stream').length >= EVENTS)
      const shown = async (): Promise<
        Record<
          string,
          {
            state: string
            delivered: number
            failed: number
            waiting: number
            last_attempt: { status: number | null; error: string } | null
          }
        >
      > =>
        Object.fromEntries(
          bodyOf(await only.get('/api/v1/webhooks')).items.map((one: { name: string }) => [one.name, one]),
        )
      // What never answers is given up after 15 s.
      await until('the hanging ones have failed, and all events wait', inTime(25_000), async () => {
        const { good: _good, stream: _stream, gone: _gone, ...failing } = await shown()
        const attempted = Object.values(failing).every((one) => one.last_attempt !== null)
        return attempted && Object.values(failing).every(({ waiting }) => waiting === EVENTS)
      })
      const all = await shown()
      expect(all['good']).toMatchObject({ state: 'active', delivered: EVENTS, failed: 0, waiting: 0 })
      expect(all['stream']).toMatchObject({ state: 'active', delivered: EVENTS, waiting: 0 })
      expect(all['gone']).toMatchObject({ state: 'disabled', delivered: 0, waiting: 0 })
      for (const [name, code, error] of [
        ['redirect', 307, 'answered 307'],
        ['fail', 500, 'answered 500'],
        ['refuse-and-stream', 503, 'answered 503'],
        ['hang', null, 'no answer within 15 s'],
        ['drip', null, expect.stringMatching(/15 s|[Hh]eader/)],
        ['reset', null, expect.stringMatching(/ECONNRESET|closed|socket/)],
      ] as const) {
        expect([name, all[name]]).toEqual([
          name,
          expect.objectContaining({
            state: 'active',
            delivered: 0,
            failed: 0,
            waiting: EVENTS,
            last_attempt: expect.objectContaining({ status: code, error }),
          }),
        ])
        // At most twenty failures in a row: then the oldest alone.
        expect(receiver.of(`/${name}`).length).toBeLessThanOrEqual(22)
      }
      expect(receiver.of('/elsewhere')).toEqual([])
      const grown = ((await memory()) - before) / 1e6
      figure(`${kind.name}: one good endpoint beside eight bad ones`, {
        'all received after ms': Math.round(took),
        'more memory, MB': Math.round(grown),
      })
      expect(grown).toBeLessThan(150)
      expect(await only.terminate()).toBe(0)
    } finally {
      await instance?.kill()
      await receiver.stop()
      rmSync(folder, { recursive: true, force: true })
      await store.drop()
    }
  })

  it('tries again five seconds after a failed attempt, and at most a tenth later', async () => {
    const store = await kind.open()
    const receiver = await Receiver.start()
    const folder = mkdtempSync(join(tmpdir(), 'quota-again-'))
    const file = join(folder, 'webhooks.json')
    const names = Array.from({ length: 12 }, (_, n) => `again-${n}`)
    const endpoints = names.map((name) => ({ name, url: receiver.url(`/${name}`), secrets: [secret()] }))
    writeFileSync(file, JSON.stringify(endpoints))
    const arrived = new Map(names.map((name) => [name, [] as number[]]))
    for (const name of names)
      receiver.answers.set(`/${name}`, (response) => {
        arrived.get(name)?.push(performance.now())
        response.writeHead(500).end()
      })
    let instance: Instance | undefined
    try {
      instance = await Instance.start(store.url, { WEBHOOKS_FILE: file })
      const [owner] = owners(1) as [number]
      expect((await instance.post(MAIL.quotas, totalQuota(MAIL, owner, 1))).status).toBe(201)
      await until('all are tried again', inTime(15_000), () => [...arrived.values()].every((at) => at.length > 1))
      const pauses = [...arrived.values()].map(([first = 0, second = 0]) => Math.round(second - first))
      figure(`${kind.name}: tried again after ms`, { least: Math.min(...pauses), most: Math.max(...pauses) })
      expect(Math.min(...pauses)).toBeGreaterThanOrEqual(5_000)
      expect(Math.max(...pauses)).toBeLessThan(5_500 + inTime(300))
    } finally {
      await instance?.kill()
      await receiver.stop()
      rmSync(folder, { recursive: true, force: true })
      await store.drop()
    }
  })
})

/** A place that is full when somebody wants it so; undefined where nobody may mount one. */
function smallDisk(
  megabytes: number,
): { folder: string; fill(room: number): void; free(): void; remove(): void } | undefined {
  const folder = mkdtempSync(join(tmpdir(), 'quota-full-'))
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m,mode=1777`, 'tmpfs', folder], { stdio: 'ignore' })
  } catch {
    rmSync(folder, { recursive: true, force: true })
    return undefined
  }
  const ballast = join(folder, 'ballast')
  return {
    folder,
    fill: (room) => {
      expect(() => writeFileSync(ballast, Buffer.alloc(megabytes * 1_000_000))).toThrow(/ENOSPC/)
      truncateSync(ballast, statSync(ballast).size - room)
    },
    free: () => rmSync(ballast),
    remove: () => {
      execFileSync('umount', ['-l', folder])
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** Only root may mount a disk that is really full. */
const CAN_MOUNT = (() => {
  const disk = smallDisk(1)
  disk?.remove()
  return disk !== undefined
})()

describe.each(['SQLite', ...(CAN_START_SERVER ? ['MariaDB'] : [])])('events on a full disk, %s', (name) => {
  ;(CAN_MOUNT ? it : it.skip)(
    'are seen by the next read once their act is answered, or that read is refused; none comes behind a cursor',
    async () => {
      const disk = smallDisk(name === 'SQLite' ? 8 : 192)
      if (disk === undefined) throw new Error('the disk was there a moment ago')
      let server: OwnServer | undefined
      let instance: Instance | undefined
      try {
        let url = `sqlite:${join(disk.folder, 'quota.db')}`
        if (name === 'MariaDB') {
          server = await OwnServer.start({
            folder: disk.folder,
            args: ['--innodb-log-file-size=4M', '--innodb-buffer-pool-size=16M'],
          })
          await sql(server.url, 'CREATE DATABASE quota')
          url = new URL('/quota', server.url).toString()
        }
        const only = (instance = await Instance.start(url))
        const { after: start } = await eventsAfter(only)
        const seen: Event[] = []
        const acknowledged = new Set<number>()
        let after = start
        const counts = { done: 0, refused: 0, unread: 0 }
        /** What comes next of the feed. @returns is it the end? */
        const read = async (): Promise<boolean> => {
          try {
            const page = await eventsAfter(only, after)
            seen.push(...page.events)
            after = page.after
            return true
          } catch (error) {
            if (!(error instanceof Unread)) throw error
            expect(error.answer.status).toBe(503)
            counts.unread += 1
            return false
          }
        }
        const missing = (): number[] => {
          const known = new Set(seen.map(({ quota_id: id }) => id))
          return [...acknowledged].filter((id) => !known.has(id))
        }
        const label = 'x'.repeat(120)
        const round = async (): Promise<number> => {
          const answers = await Promise.all(
            owners(20).map(async (owner) =>
              only.post(MAIL.quotas, { ...totalQuota(MAIL, owner, 1), label }, fresh('full')),
            ),
          )
          for (const answer of answers) {
            expect([201, 503]).toContain(answer.status)
            if (answer.status === 201) acknowledged.add(bodyOf(answer).id)
          }
          const refused = answers.filter(({ status: code }) => code === 503).length
          counts.refused += refused
          counts.done += answers.length - refused
          return refused
        }
        await round()
        expect(await read()).toBe(true)
        // A server whose disk was full may take minutes to take writes again: on demand.
        if (server === undefined || SCALE > 1) {
          disk.fill(200_000)
          for (let full = 0; full < 8;) {
            if ((await round()) > 0) full += 1
            if (await read()) expect(missing()).toEqual([])
            if (full > 0) await sleep(500)
          }
          disk.free()
          await until('there is room again', 120_000, async () => (await round()) === 0)
          await until('all are seen', 30_000, read)
          expect(missing()).toEqual([])
          const { events } = await eventsAfter(only, start)
          expect(seen.map(({ id }) => id)).toEqual(events.map(({ id }) => id))
          expect(new Set(seen.map(({ id }) => id)).size).toBe(seen.length)
          figure(`${name}: events on a full disk`, counts)
          expect(counts.refused).toBeGreaterThan(0)
        }
        if (server === undefined) return

        // Room for the act and none for its place, which is what a page of the feed needs first.
        await sql(
          url,
          "CREATE TRIGGER disk_full BEFORE UPDATE ON mail_event FOR EACH ROW SIGNAL SQLSTATE 'HY000' " +
            "SET MYSQL_ERRNO = 1114, MESSAGE_TEXT = 'The table ''mail_event'' is full'",
        )
        // The store may just be taken for full, since no event gets its place.
        await until('acts are taken', 60_000, async () => (await round()) === 0)
        const ends = await Promise.all(
          [`?after=${after}`, '?after=latest', `?after=${after}&type=quota.created`].map(async (query) =>
            only.get(`${MAIL.quotas}/events${query}`),
          ),
        )
        expect(ends.map(({ status: code }) => code)).toEqual([503, 503, 503])
        // A whole page says nothing of the end.
        expect((await only.get(`${MAIL.quotas}/events?page_size=10`)).status).toBe(200)
        await sql(url, 'DROP TRIGGER disk_full')
        await until('there is room again', 120_000, async () => (await round()) === 0)
        await until('all are seen', 30_000, read)
        expect(missing()).toEqual([])
      } finally {
        await instance?.kill()
        await server?.kill()
        await server?.stop()
        disk.remove()
      }
    },
  )
})

async function sql(url: string, statement: string): Promise<void> {
  const connection = await createConnection(url)
  try {
    await connection.query(statement)
  } finally {
    await connection.end()
  }
}
