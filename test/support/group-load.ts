import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from '@jest/globals'
import { type Answer, NoAnswer } from './http-client.js'
import type { Instance } from './instance.js'
import { bodyOf, fresh, inParallel, MAIL, owners, shuffled, times, totalQuota } from './wire.js'

const CALLERS = 64
const MEMBERS = 10_000
/** The owners of a call that adds members. */
const MOVED_AT_ONCE = 1_000
/** How often, in the course of the load, members move to the other group and back. */
const MOVES = 30
/** Members that use up their own counts, and then what is shared; every other operation is of one of them. */
const HOT = 20
const OF_EACH = 5
const WINDOW_SECONDS = 60

/** A request that a caller was told has taken effect, as it may be repeated. */
interface Acknowledged {
  readonly path: string
  readonly body: object
  readonly key: string | undefined
  readonly text: string
}

/** What an answer says of an operation. */
interface Told {
  readonly id: string
  readonly amount: number
  readonly charged: number
  readonly refunded: number
  readonly allocations: readonly { readonly quota_id: number; readonly amount: number }[]
  readonly caps: readonly number[]
  readonly created_at: string
}

/** The quotas in force: shared payers of two groups, a cap of the group above both, and what each member has. */
interface Limits {
  readonly payers: readonly [number, number]
  readonly cap: number
  readonly followed: number
}

/**
 * 64 callers that consume, reserve, settle and refund for 10,000 members, who move between two groups meanwhile, and
 * who repeat what was not answered until it is. It knows what callers were told, and compares it with what is stored.
 */
export class GroupLoad {
  /** The operations of the load: their number bounds what the shared quotas pay. */
  readonly operations: number
  /** Answers other than those that the load expects. */
  readonly strange: string[] = []
  begun = 0
  refused = 0
  moves = 0
  private readonly acknowledged: Acknowledged[] = []
  /** What was told last of each operation. */
  private readonly told = new Map<string, Told>()
  private running: Promise<unknown> = Promise.resolve()

  private constructor(
    private readonly instances: readonly Instance[],
    private readonly size: number,
    private readonly groups: readonly [number, number],
    private readonly limits: Limits,
    private readonly members: readonly number[],
  ) {
    this.operations = Math.round(6_000 * size)
  }

  /** Makes the groups, their quotas and their members. @param size a multiple of 6,000 operations */
  static async prepare(instances: readonly Instance[], size: number): Promise<GroupLoad> {
    const made = async (path: string, body: object): Promise<number> => {
      const answer = await instances[0]!.post(`${MAIL.quotas}${path}`, body)
      expect([answer.status, answer.text]).toEqual([201, expect.anything()])
      return bodyOf(answer).id
    }
    const parent_id = await made('/groups', { name: fresh('above') })
    const groups = [
      await made('/groups', { name: fresh('one'), parent_id }),
      await made('/groups', { name: fresh('two'), parent_id }),
    ] as const
    const of = (group_id: number, body: object): Promise<number> =>
      made('', { group_id, quota_type: 1, expire_at: '2999-01-01T00:00:00Z', ...body })
    const rolling = { quota_type: 3, window_seconds: WINDOW_SECONDS, cap: 'enforce', expire_at: null }
    const limits: Limits = {
      payers: [
        await of(groups[0], { total: Math.round(1_000 * size) }),
        await of(groups[1], { total: Math.round(300 * size) }),
      ],
      cap: await of(parent_id, { ...rolling, total: Math.round(9_000 * size) }),
      followed: await of(groups[0], { per: 'member', total: OF_EACH }),
    }
    const members = owners(MEMBERS)
    const load = new GroupLoad(instances, size, groups, limits, members)
    for (let from = 0; from < MEMBERS; from += MOVED_AT_ONCE)
      await load.move(0, groups[0], members.slice(from, from + MOVED_AT_ONCE))
    return load
  }

  /** Starts the callers. */
  start(): void {
    const callers = Promise.all(times(CALLERS).map(async () => this.call()))
    this.running = Promise.all([callers, this.moveAbout()])
    // `end` handles errors.
    this.running.catch(() => undefined)
  }

  /** Waits until a share of the operations has begun. */
  async reach(share: number): Promise<void> {
    while (this.begun < share * this.operations) await Promise.race([sleep(10), this.running])
  }

  /** Waits for the callers, and then demands at once more than the cap allows, of a member that could pay it. */
  async end(): Promise<void> {
    await this.running
    const rich = this.members.at(-1)!
    const own = await this.instances[0]!.post(MAIL.quotas, totalQuota(MAIL, rich, 1_000_000_000))
    expect(own.status).toBe(201)
    const refused = this.refused
    const amount = Math.round(200 * this.size)
    await Promise.all(times(CALLERS).map(async (n) => this.take(n, 'consume', rich, amount)))
    expect(this.refused).toBeGreaterThan(refused)
  }

  /** Compares what callers were told with the store, and repeats every acknowledged request. */
  async verify(): Promise<void> {
    expect(this.strange).toEqual([])
    expect(await this.contradictions()).toEqual([])
    expect(await this.repeated()).toEqual([])
    expect(await this.contradictions()).toEqual([])
  }

  /** Sends every acknowledged request again. @returns those that are answered differently */
  async repeated(): Promise<string[]> {
    const different: string[] = []
    await inParallel(CALLERS, this.acknowledged, async ({ path, body, key, text }, n) => {
      const again = await this.persist(n, path, body, key)
      if (again.text !== text || !again.replayed) different.push(`${path} ${text} and then ${again.text}`)
    })
    return different
  }

  /** Compares what is stored with what callers were told, and that with what was allowed. @returns contradictions */
  private async contradictions(): Promise<string[]> {
    const wrong: string[] = []
    const paid = new Map<number, number>()
    const counted: [at: number, units: number][] = []
    for (const { id, amount, charged, refunded, allocations: shares, caps, created_at } of this.told.values()) {
      const both = this.limits.payers.every((payer) => shares.some(({ quota_id }) => quota_id === payer))
      const whole = shares.reduce((sum, share) => sum + share.amount, 0) === amount
      if (both || !whole || String(caps) !== String(this.limits.cap)) wrong.push(`${id}: not of one chain`)
      // What it keeps is the first of what it took.
      let kept = charged - refunded
      counted.push([Date.parse(created_at), kept])
      for (const share of shares) {
        const units = Math.min(share.amount, kept)
        kept -= units
        paid.set(share.quota_id, (paid.get(share.quota_id) ?? 0) + units)
      }
    }
    const stored = await this.stored()
    for (const { id, total, used, reserved } of stored.values()) {
      if (used !== (paid.get(id) ?? 0) || reserved !== 0) wrong.push(`${id}: ${used}, told ${paid.get(id) ?? 0}`)
      if (used > total) wrong.push(`${id}: ${used} of ${total}`)
    }
    for (const [id, units] of paid)
      if (units > 0 && !stored.has(id)) wrong.push(`${id}: told ${units}, of a quota that is not there`)
    counted.sort(([one], [other]) => one - other)
    const { total } = bodyOf(await this.instances[0]!.get(`${MAIL.quotas}/${this.limits.cap}`))
    let within = 0
    for (let from = 0, to = 0; to < counted.length; to += 1) {
      within += counted[to]![1]
      while (counted[from]![0] <= counted[to]![0] - WINDOW_SECONDS * 1_000) within -= counted[from++]![1]
      if (within > total) wrong.push(`the cap of ${total} has let ${within} pass by ${counted[to]![0]}`)
    }
    // Otherwise nothing bounded the load.
    const [first] = this.limits.payers
    expect(paid.get(first)).toBeGreaterThan(0.5 * stored.get(first)!.total)
    return wrong
  }

  /** Figures of what was done. */
  get figures(): Record<string, number> {
    const { moves, refused } = this
    return { members: MEMBERS, acknowledged: this.acknowledged.length, operations: this.told.size, refused, moves }
  }

  /** What pays: the shared payers, the members' counts, and the quota of the last member, by id. */
  private async stored(): Promise<Map<number, { id: number; total: number; used: number; reserved: number }>> {
    const [read] = this.instances as [Instance]
    const found = await Promise.all(
      this.limits.payers.map(async (id) => bodyOf(await read.get(`${MAIL.quotas}/${id}`))),
    )
    for (const filter of [`follows=${this.limits.followed}`, `account_id=${this.members.at(-1)!}&cap=none`]) {
      for (let before = ''; ;) {
        const { items } = bodyOf(await read.get(`${MAIL.list}?${filter}&page_size=100${before}`))
        found.push(...items)
        if (items.length < 100) break
        before = `&before_id=${items.at(-1).id}`
      }
    }
    return new Map(found.map((quota) => [quota.id, quota]))
  }

  private async call(): Promise<void> {
    while (this.begun < this.operations) {
      const n = (this.begun += 1)
      const owner = n % 2 === 0 ? this.members[n % HOT]! : this.members[HOT + (n % (MEMBERS - HOT - 1))]!
      const amount = 1 + (n % 3)
      const id = await this.take(n, n % 5 === 0 ? 'reserve' : 'consume', owner, amount)
      if (id === undefined) continue
      if (n % 5 === 0)
        await this.send(n + 1, `${id}/${n % 2 === 0 ? 'commit' : 'release'}`, n % 2 === 0 ? { amount: 1 } : {})
      if (n % 5 === 1) await this.send(n + 1, `${id}/refund`, { amount: 1 }, fresh('back'))
    }
  }

  /** @returns the operation's id; undefined if it is refused */
  private async take(n: number, act: string, account_id: number, amount: number): Promise<string | undefined> {
    return this.send(n, act, { account_id, amount }, fresh('take'))
  }

  /** @returns the id of the answered operation; undefined if it is refused */
  private async send(n: number, act: string, body: object, key?: string): Promise<string | undefined> {
    const path = `${MAIL.usage}/${act}`
    const answer = await this.persist(n, path, body, key)
    if (answer.status === 409 && bodyOf(answer).code === 'quota_exceeded') this.refused += 1
    if (answer.status >= 300) return undefined
    this.acknowledged.push({ path, body, key, text: answer.text })
    const operation = bodyOf(answer) as Told
    this.told.set(operation.id, operation)
    return operation.id
  }

  private async moveAbout(): Promise<void> {
    for (let turn = 0; this.begun < this.operations; turn += 1) {
      await this.reach(turn / MOVES)
      const moving = shuffled(this.members).slice(0, MOVED_AT_ONCE - HOT / 2)
      const moved = [...new Set([...this.members.slice(0, HOT / 2), ...moving])]
      for (const group of [this.groups[1], this.groups[0]]) await this.move(turn, group, moved)
      this.moves += 2
    }
  }

  private async move(turn: number, group: number, account_ids: readonly number[]): Promise<void> {
    const path = `${MAIL.quotas}/groups/${group}/members`
    const key = fresh('move')
    const answer = await this.persist(turn, path, { account_ids }, key)
    this.acknowledged.push({ path, body: { account_ids }, key, text: answer.text })
  }

  /** Sends to the instances in turn until there is an answer that is not 503. */
  private async persist(n: number, path: string, body: object, key?: string): Promise<Answer> {
    for (let tries = 0; ; tries += 1) {
      try {
        const answer = await this.instances[(n + tries) % this.instances.length]!.post(path, body, key)
        const known = answer.status < 300 || answer.status === 503 || bodyOf(answer).code === 'quota_exceeded'
        if (!known) this.strange.push(`${path}: ${answer.status} ${answer.text}`)
        if (answer.status !== 503) return answer
      } catch (error) {
        if (!(error instanceof NoAnswer)) throw error
      }
      if (tries > 2_000) throw new Error(`${path} is never answered`)
      await sleep(50)
    }
  }
}
