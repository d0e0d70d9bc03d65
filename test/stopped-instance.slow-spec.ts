import { setTimeout as sleep } from 'node:timers/promises'
import { beforeAll, describe, expect, it } from '@jest/globals'
import { audit } from './support/audit.js'
import { HAS_SERVER, TestDatabase } from './support/database.js'
import { figure } from './support/figures.js'
import { Instance } from './support/instance.js'
import { Load } from './support/load.js'
import { stop } from './support/stop.js'
import { TcpProxy } from './support/tcp-proxy.js'
import { Victim } from './support/victim.js'
import { fresh, MAIL, owners, tally, times, totalQuota } from './support/wire.js'
import { verified } from './support/verify.js'

const onServer = HAS_SERVER ? describe : describe.skip

const PATIENCE_MS = 180_000
/** From this second on the others are answered as if nothing had happened. */
const OVER_AFTER_MS = 10_000
const WATCHED_SECONDS = 20

onServer('an instance that holds locks and is gone without a word', () => {
  let database: TestDatabase
  let proxy: TcpProxy
  /** Who is gone; it reaches the database through the proxy. */
  let gone: Instance
  let other: Instance
  let accounts: number[]

  beforeAll(async () => {
    database = await TestDatabase.open()
    proxy = await TcpProxy.start(database.url)
    gone = await Instance.start(proxy.url)
    other = await Instance.start(database.url)
  })

  function victimOf(instance: Instance, callers: number): Victim {
    return new Victim(
      (turn) => {
        const body = { account_id: accounts[turn % accounts.length]!, amount: 1 }
        return instance.post(`${MAIL.usage}/consume`, body, fresh('victim'))
      },
      { callers, pauseMs: 20 },
    )
  }

  /** Both instances spend for the same owners, so that each waits for the locks of the other. */
  async function underLoad(): Promise<Load> {
    accounts = owners(20)
    for (const owner of accounts) await other.post(MAIL.quotas, totalQuota(MAIL, owner, 1_000_000))
    const load = new Load([gone], accounts, 10, 12)
    await load.reach(500)
    return load
  }

  function tell(what: string, { told }: Victim): void {
    const perSecond = (outcome: string): string =>
      times(WATCHED_SECONDS)
        .map((second) =>
          told.filter((one) => one.outcome === outcome && Math.floor((one.at + one.ms) / 1000) === second),
        )
        .map(({ length }) => length)
        .join(' ')
    figure(what, {
      'answered in each second': perSecond('200'),
      'refused in each second': perSecond('503'),
      ...tally(told.map(({ outcome }) => outcome)),
    })
  }

  /** How those ended that were sent from the tenth second on. */
  function late({ told }: Victim): Record<string, number> {
    return tally(told.filter(({ at }) => at >= OVER_AFTER_MS).map(({ outcome }) => outcome))
  }

  it(
    'blocks nobody from the tenth second on, when its process is stopped under load',
    async () => {
      const load = await underLoad()
      const { pid } = gone
      await stop(pid!)
      const victim = victimOf(other, 12)
      await sleep(WATCHED_SECONDS * 1000)
      process.kill(pid!, 'SIGCONT')
      await victim.stop()
      await load.stop()
      tell('an instance is stopped', victim)
      expect(Object.keys(late(victim))).toEqual(['200'])
      expect(late(victim)['200']).toBeGreaterThan(20)
      // What the stopped one had in hand is answered in the end, and counted once.
      const answered = victim.told.filter(({ outcome }) => outcome === '200').length
      const used = await database.number(`SELECT SUM(used) FROM mail_quota WHERE account_id IN (${accounts.join()})`)
      expect(used).toBeGreaterThanOrEqual(load.acknowledged.size + answered)
      expect(used).toBeLessThanOrEqual(load.acknowledged.size + victim.told.length)
      expect(await audit(database)).toEqual([])
      expect(await verified(database.url)).toEqual([])
    },
    PATIENCE_MS,
  )

  it(
    'blocks nobody from the tenth second on, when the network between it and the database is cut without a word',
    async () => {
      const load = await underLoad()
      proxy.mute()
      const victim = victimOf(other, 12)
      // New connections get through, so that it helps itself.
      const itself = victimOf(gone, 4)
      await sleep(WATCHED_SECONDS * 1000)
      await Promise.all([victim.stop(), itself.stop()])
      await load.stop()
      tell('the network of an instance is cut', victim)
      tell('the network of an instance is cut, seen from itself', itself)
      expect(Object.keys(late(victim))).toEqual(['200'])
      expect(late(victim)['200']).toBeGreaterThan(20)
      expect(Object.keys(late(itself))).toEqual(['200'])
      expect(await audit(database)).toEqual([])
      expect(await verified(database.url)).toEqual([])
    },
    PATIENCE_MS,
  )
})
