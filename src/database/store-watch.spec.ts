import { setImmediate as turn } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { Logger } from '@nestjs/common'
import { StoreUnavailable } from './store-error.js'
import { type Found, StoreWatch } from './store-watch.js'

const REFUSED = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' })
const HERE: Found = { reach: 'all' }
const AWAY: Found = { reach: 'none', cause: REFUSED }
const READ_ONLY: Found = { reach: 'reads', cause: Object.assign(new Error('read-only'), { errno: 1290 }) }

/** In this many milliseconds; far more than the tests take. */
const LONG = 60_000
const soon = (): number => performance.now() + LONG

describe('StoreWatch', () => {
  /** What the probe will find, one after the other; the last one for ever. */
  let findings: Found[]
  let probes: number
  let underWay: number
  let lines: string[]
  /** The time for which a disk counts as full, in milliseconds. */
  let now: number
  let watch: StoreWatch

  beforeEach(() => {
    findings = [HERE]
    probes = 0
    underWay = 0
    lines = []
    now = 0
    const line = (message: unknown): void => void lines.push(String(message))
    Logger.overrideLogger({ log: line, warn: line, error: line })
    watch = new StoreWatch(
      async () => {
        underWay += 1
        expect(underWay).toBe(1)
        await turn()
        underWay -= 1
        probes += 1
        return findings.length > 1 ? findings.shift()! : findings[0]!
      },
      1,
      () => now,
    )
  })

  afterEach(() => {
    watch.stop()
    Logger.overrideLogger(false)
  })

  async function until(condition: () => boolean): Promise<void> {
    while (!condition()) await turn()
  }

  const refused = (use: 'read' | 'write'): boolean => {
    try {
      watch.require(use)
      return false
    } catch (error) {
      expect(error).toBeInstanceOf(StoreUnavailable)
      expect((error as StoreUnavailable).fault).toBe('away')
      expect((error as StoreUnavailable).retryAfterSeconds).toBe(1)
      return true
    }
  }

  it('believes the probe and not the fault that was reported', async () => {
    await Promise.all([watch.probed('read', soon()), watch.probed('write', soon())])
    expect([probes, watch.reach, refused('read'), refused('write'), lines]).toEqual([1, 'all', false, false, []])
  })

  it('refuses at once while the store is unavailable, and logs once when it fails and once when it returns', async () => {
    findings = [AWAY]
    watch.suspect()
    await until(() => watch.reach === 'none')
    for (let n = 0; n < 100; n += 1) watch.suspect()
    expect([refused('read'), refused('write')]).toEqual([true, true])
    await until(() => probes > 5)
    expect(lines).toEqual([expect.stringMatching(/is unavailable.*ECONNREFUSED/)])
    findings = [HERE]
    await until(() => watch.reach === 'all')
    expect([refused('read'), refused('write')]).toEqual([false, false])
    expect(lines).toEqual([expect.anything(), expect.stringMatching(/is available again after \d+\.\d s/)])
    const count = probes
    for (let n = 0; n < 20; n += 1) await turn()
    expect(probes).toBe(count)
  })

  it('admits reads while the store accepts no writes', async () => {
    findings = [READ_ONLY]
    await watch.probed('read', soon())
    expect([watch.reach, refused('read'), refused('write')]).toEqual(['reads', false, true])
    expect(lines).toEqual([expect.stringMatching(/accepts no writes.*1290/)])
  })

  it('recognizes a full disk, which no probe can find, until no unit has met it for 10 s', async () => {
    const full = Object.assign(new Error("The table 'mail_act' is full"), { errno: 1114 })
    const probed = async (): Promise<void> => {
      const count = probes
      await until(() => probes > count + 1)
    }
    expect(watch.full(full)).toMatchObject({ fault: 'away', reason: 'database_full' })
    await probed()
    expect([watch.reach, refused('read'), refused('write')]).toEqual(['reads', false, true])
    expect(() => watch.requireAll()).toThrow(/disk of the database is full/)
    // Now and then a few units try. Whoever balances is not told that they may come.
    now = 1_020
    expect(refused('write')).toBe(false)
    expect(() => watch.requireAll()).toThrow(/disk of the database is full/)
    watch.full(full)
    expect(refused('write')).toBe(true)
    now = 10_500
    await probed()
    expect(watch.reach).toBe('reads')
    now = 11_020
    await until(() => watch.reach === 'all')
    expect(refused('write')).toBe(false)
    expect(lines).toEqual([
      expect.stringMatching(/accepts no writes.*1114.*is full/),
      expect.stringMatching(/is available again after/),
    ])
  })

  it('tells the cause anew when a server with a full disk accepts no writes at all, and tries none', async () => {
    const full = Object.assign(new Error('is full'), { errno: 1114 })
    findings = [READ_ONLY]
    watch.full(full)
    await until(() => lines.length > 1)
    now = 1_020
    expect(refused('write')).toBe(true)
    expect(lines).toEqual([expect.stringMatching(/1114/), expect.stringMatching(/accepts no writes.*1290/)])
  })

  it('lets requests in progress wait for the return', async () => {
    findings = [AWAY, AWAY, READ_ONLY, READ_ONLY, HERE]
    const order: string[] = []
    await Promise.all([
      watch.probed('write', soon()).then(() => order.push(`write, ${watch.reach}`)),
      watch.probed('read', soon()).then(() => order.push(`read, ${watch.reach}`)),
    ])
    expect(order).toEqual(['read, reads', 'write, all'])
  })

  it('lets no request wait beyond its deadline, or for a watch that has ended', async () => {
    findings = [AWAY]
    await watch.probed('write', performance.now() + 20)
    expect(watch.reach).toBe('none')
    const waiting = watch.probed('write', soon())
    watch.stop()
    await waiting
    const count = probes
    await watch.probed('write', soon())
    for (let n = 0; n < 20; n += 1) await turn()
    expect(probes).toBeLessThanOrEqual(count + 1)
  })

  it('logs a cause that makes some requests wait once, however often it occurs', () => {
    for (let n = 0; n < 50; n += 1) {
      watch.busy(Object.assign(new Error('too many'), { errno: 1226 }))
      watch.busy(Object.assign(new Error('full'), { errno: 1114 }))
    }
    expect(lines).toEqual([expect.stringMatching(/1226, too many/), expect.stringMatching(/1114, full/)])
  })
})
