import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import { findPostfix } from '../scripts/programs.mjs'
import { HAS_SERVER, TestDatabase } from './support/database.js'
import { until } from './support/endpoints.js'
import { figure, SCALE } from './support/figures.js'
import { Instance } from './support/instance.js'
import { decoded, MailServer, parsed } from './support/mail-server.js'
import { temporaryFolder } from './support/opened.js'
import { Postfix } from './support/postfix.js'
import { SmtpTap } from './support/smtp-tap.js'
import { type Fate, type Statement, TcpProxy } from './support/tcp-proxy.js'
import { bodyOf, fresh, inParallel, MAIL, owners, resultsOf, tally, totalQuota } from './support/wire.js'

const PATIENCE_MS = 600_000 * Math.max(1, SCALE)
const OWNERS = Math.max(20, Math.round(1_000 * SCALE))
const MAX_BATCH = 1_000
const MAX_SUBJECT_LENGTH = 78
/**
 * At most so many mails are accepted and not recorded: while a turn records what has ended, the rest of what was read
 * ahead (64) goes on; the turn reads ahead again; and 16 are in flight (`src/webhook/delivery.ts`).
 */
const MAX_OPEN = 64 + 64 + 16

/** A moment at which an instance is killed. */
interface Point {
  readonly what: string
  /** Is it this statement, of this instance? None: it is a moment of SMTP. */
  readonly matches?: (statement: Statement, instance: number) => boolean
  /** Before it reaches the server, or when it was executed and not answered. */
  readonly when: 'before' | 'after'
}

const inserts = (table: string) => (text: string) => new RegExp(`^INSERT INTO .?${table}\\b.?[ (]`).test(text)
const commits =
  (what: (text: string) => boolean, only?: number): NonNullable<Point['matches']> =>
  ({ text, earlier }, instance) =>
    text === 'COMMIT' && instance === (only ?? instance) && earlier.some(what)
const counts = inserts('mail_refusal')
const numbers = (text: string): boolean => /^UPDATE .?mail_event\b.? SET/.test(text)
const settles = (text: string): boolean => /^DELETE FROM .?webhook_delivery\b/.test(text)
const around = (what: string, matches: NonNullable<Point['matches']>): Point[] =>
  (['before', 'after'] as const).map((when) => ({ what: `${when} COMMIT of ${what}`, matches, when }))

/**
 * In each list, a point is armed when the one before it was met: since that one left its work undone, somebody comes
 * to the next one in any case.
 * @param last the last owner that the second instance counts, in the order of their ids
 */
const pointsUpTo = (last: number): Point[][] => [
  around('counts', commits(counts, 0)).slice(0, 1),
  around(
    'counts',
    commits((text) => counts(text) && new RegExp(`\\b${last}\\b`).test(text), 1),
  ).slice(1),
  around('events', commits(inserts('mail_event'))),
  around('places', commits(numbers)),
  around('the queue', commits(inserts('webhook_delivery'))),
  [
    { what: 'given', when: 'before' },
    { what: 'accepted', when: 'after' },
    { what: 'before the record', matches: ({ text }) => settles(text), when: 'before' },
    ...around('the record', commits(settles)),
  ],
]

const inEarnest = HAS_SERVER && findPostfix() !== undefined ? describe : describe.skip

inEarnest('mails of two instances that are killed at every step', () => {
  it(
    `tell once of each of ${OWNERS} owners refused at once; twice only what a kill left open`,
    async () => {
      const folder = temporaryFolder('quota-mails-')
      const database = await TestDatabase.open()
      const mailboxes = await MailServer.start()
      const postfix = await Postfix.start([], mailboxes.port)
      const instances: Instance[] = []
      const proxies: TcpProxy[] = []
      const taps: SmtpTap[] = []
      try {
        const waiting = async (): Promise<Set<string>> => {
          const rows = await database.rows<{ id: string }>(
            'SELECT e.id FROM webhook_delivery d JOIN mail_event e ON e.position = d.position',
          )
          return new Set(rows.map(({ id }) => id))
        }
        /** What still waits when another process begins to send. */
        const left: Set<string>[] = []
        let [sender, order] = ['', Promise.resolve()]
        const opening = async (name: string): Promise<number> => {
          order = order.then(async () => {
            if (sender !== name) left.push(await waiting())
            sender = name
          })
          return order.then(() => left.length - 1)
        }

        const ids = owners(OWNERS)
        // Of the others, the first instance alone knows, which dies before it has written anything.
        const known = ids.slice(0, Math.ceil(0.9 * ids.length))
        const points = pointsUpTo(known.at(-1)!)
        const died: { what: string; instance: number }[] = []
        const dying = new Set<number>()
        const restarts: Promise<void>[] = []
        const deathsOf = (instance: number): number => died.filter((one) => one.instance === instance).length
        /** Points that are met, with the instance that is killed when the statement is answered. */
        const awaited = new Map<Point, number>()
        const dies = async (instance: number, { what }: Point): Promise<void> => {
          for (const [point, victim] of awaited) if (victim === instance) awaited.delete(point)
          if (dying.has(instance)) return
          died.push({ what, instance })
          dying.add(instance)
          const deaths = deathsOf(instance)
          await instances[instance]!.kill()
          dying.delete(instance)
          const restart = instances[instance]!.start().catch((error: unknown) => {
            // It was killed while it started, and starts again.
            if (deathsOf(instance) === deaths) throw error
          })
          restart.catch(() => undefined)
          restarts.push(restart)
        }
        /** The armed point that this is, which is met now. */
        const met = (is: (point: Point) => boolean | undefined): Point | undefined =>
          points.find(([first]) => first !== undefined && is(first))?.shift()

        let burst: () => void = () => undefined
        const refused = new Promise<void>((resolve) => (burst = resolve))
        const ruleOf =
          (instance: number) =>
          async (statement: Statement): Promise<Fate> => {
            // Until all are refused, no count is committed.
            if (commits(counts)(statement, instance)) await refused
            if (dying.has(instance)) return 'cut'
            const point = met(({ matches }) => matches?.(statement, instance))
            if (point === undefined) return 'pass'
            if (point.when === 'after') {
              awaited.set(point, instance)
              return { after: () => void (awaited.has(point) && dies(instance, point)) }
            }
            await dies(instance, point)
            return 'cut'
          }

        for (const n of [0, 1]) {
          const proxy = await TcpProxy.start(database.url)
          proxies.push(proxy)
          const tap = await SmtpTap.start(postfix.queue, {
            opening: async () => opening(`${n} ${deathsOf(n)}`),
            dies: async (moment) => {
              if (dying.has(n)) return true
              const point = met(({ what }) => what === moment)
              if (point !== undefined) await dies(n, point)
              return point !== undefined
            },
          })
          taps.push(tap)
          const file = join(folder, `${n}.json`)
          const people = { kind: 'mail', to: ['people@example.org'], from: 'quota@example.org', smtp: tap.url }
          await writeFile(file, JSON.stringify([{ name: 'people', types: ['owner.refused'], ...people }]))
          instances.push(await Instance.start(proxy.url, { WEBHOOKS_FILE: file }))
        }
        const accepted = () => taps.flatMap((tap) => tap.accepted)

        const labelOf = (owner: number): string => `Postfach ${owner} von ${'Ä'.repeat(1 + (owner % 60))}`
        await inParallel(16, ids, async (owner, place) => {
          const quota = { ...totalQuota(MAIL, owner, 1), label: labelOf(owner) }
          bodyOf(await instances[place % 2]!.post(MAIL.quotas, quota))
        })
        const refuse = async (instance: number, some: readonly number[]): Promise<void> => {
          for (let from = 0; from < some.length; from += MAX_BATCH) {
            const items = some
              .slice(from, from + MAX_BATCH)
              .map((owner) => ({ [MAIL.owner]: owner, amount: 2, idempotency_key: fresh('refused') }))
            const results = resultsOf(await instances[instance]!.post(`${MAIL.usage}/consume/batch`, { items }))
            expect(tally(results.map(({ problem }) => problem.code))).toEqual({ quota_exceeded: items.length })
          }
        }
        const ownersIn = async (table: string): Promise<Set<number>> => {
          const rows = await database.rows<{ id: number }>(`SELECT DISTINCT owner_id AS id FROM ${table}`)
          return new Set(rows.map(({ id }) => id))
        }

        const unplaced = 'SELECT COUNT(*) FROM mail_event WHERE position IS NULL'
        await until('the quotas told', async () => (await database.number(unplaced)) === 0, PATIENCE_MS)
        proxies.forEach((proxy, n) => (proxy.rule = ruleOf(n)))
        await Promise.all([refuse(0, ids), refuse(1, known)])
        burst()
        const over = (): boolean => points.every(({ length }) => length === 0) && awaited.size + dying.size === 0
        await until('all kills', async () => over() && restarts.length === died.length, PATIENCE_MS)
        await Promise.all(restarts)

        const counted = await ownersIn('mail_refusal')
        const lost = ids.filter((id) => !counted.has(id))
        expect(lost).toEqual(expect.arrayContaining(ids.slice(known.length)))
        await Promise.all([refuse(0, lost), refuse(1, lost)])
        const told = `SELECT COUNT(DISTINCT owner_id) FROM mail_event WHERE type = 'owner.refused'`
        await until('all told', async () => (await database.number(told)) === ids.length, PATIENCE_MS)
        interface Shown {
          readonly delivered: number
          readonly failed: number
          readonly waiting: number
        }
        let row: Shown | undefined
        await until(
          'all mailed',
          async () => {
            const events = await database.number(`SELECT COUNT(*) FROM mail_event WHERE type = 'owner.refused'`)
            const [now] = bodyOf(await instances[0]!.get('/api/v1/webhooks')).items as [Shown]
            row = now
            return now.delivered + now.failed >= events && now.waiting === 0
          },
          PATIENCE_MS,
        )
        await until('all in the mailbox', async () => mailboxes.mails.length >= accepted().length, PATIENCE_MS)

        const events = new Map<string, number>()
        const days: string[] = []
        for (let after = ''; ;) {
          const path = `${MAIL.quotas}/events?type=owner.refused&page_size=100${after}`
          const page = bodyOf(await instances[1]!.get(path))
          if (page.items.length === 0) break
          for (const { id, at, [MAIL.owner]: owner } of page.items) {
            events.set(id, owner)
            days.push(`${owner} ${at.slice(0, 10)}`)
          }
          after = `&after=${page.next_after}`
        }
        expect([...new Set(events.values())].sort((a, b) => a - b)).toEqual(ids)
        // Once a day: the test may run over midnight.
        expect(new Set(days).size).toBe(days.length)
        expect(row).toMatchObject({ delivered: events.size, failed: 0 })

        // What Postfix accepted: again only if another process found it not recorded.
        const idOf = (text: string): string => /^Message-ID: <(.*)\.people@example\.org>\r$/m.exec(text)?.[1] ?? text
        const sent = accepted().map(({ reign, text }) => ({ reign, text, id: idOf(text) }))
        expect(new Set(sent.map(({ id }) => id))).toEqual(new Set(events.keys()))
        expect(new Set(sent.map(({ text }) => text)).size).toBe(events.size)
        expect(Object.values(tally(sent.map(({ id, reign }) => `${id} ${reign}`))).every((count) => count === 1)).toBe(
          true,
        )
        const open = left.slice(1).map((found, reign) => {
          const inReign = sent.filter((one) => one.reign === reign).map(({ id }) => id)
          const later = new Set(sent.filter((one) => one.reign > reign).map(({ id }) => id))
          const again = inReign.filter((id) => later.has(id))
          expect(again.filter((id) => !found.has(id))).toEqual([])
          return again.length
        })
        for (const count of open) expect(count).toBeLessThanOrEqual(MAX_OPEN)
        expect(open.reduce((sum, count) => sum + count, 0)).toBe(sent.length - events.size)

        // What people read.
        expect(mailboxes.mails).toHaveLength(sent.length)
        const read = mailboxes.mails.map(({ to, text }) => {
          const { headers, body } = parsed(text)
          const id = idOf(text)
          const owner = events.get(id)!
          const subject = decoded(headers.get('Subject') ?? '')
          expect(to).toEqual(['people@example.org'])
          expect(subject).toMatch(
            new RegExp(`^Mail account ${owner}: [12] requests? refused \\(Postfach ${owner} .*\\)$`),
          )
          expect(subject.length).toBeLessThanOrEqual(MAX_SUBJECT_LENGTH)
          expect(body).toContain(`Requests of mail account ${owner} are refused, because too little is left.`)
          expect(body).toContain(labelOf(owner))
          return id
        })
        expect(tally(read)).toEqual(tally(sent.map(({ id }) => id)))
        expect(new Set(died.map(({ instance }) => instance)).size).toBe(2)
        const figures = { kills: died.length, events: events.size, mails: read.length, lost: lost.length }
        figure('mails of killed instances', { ...figures, again: open.filter((count) => count > 0).join(' + ') })
        process.stdout.write(`${JSON.stringify({ ...figures, open })}\n`)
        expect(await Promise.all(instances.map(async (instance) => instance.terminate()))).toEqual([0, 0])
      } finally {
        for (const proxy of proxies) proxy.rule = undefined
        for (const instance of instances) await instance.kill()
        for (const proxy of proxies) await proxy.close()
        await mailboxes.stop()
        await database.drop()
        await rm(folder, { recursive: true, force: true })
      }
    },
    PATIENCE_MS,
  )
})
