import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { Logger } from '@nestjs/common'
import { TestClock } from '../../../test/support/clock.js'
import { LockedOwners } from './locked-owners.js'

describe('owners that another session keeps locked', () => {
  let lines: string[]
  let clock: TestClock
  let owners: LockedOwners

  beforeEach(() => {
    lines = []
    const line = (message: unknown): void => void lines.push(String(message))
    Logger.overrideLogger({ log: line, warn: line, error: line })
    clock = new TestClock('2026-11-21T12:00:00.000Z')
    owners = new LockedOwners({ field: 'account_id', channel: 'mail' }, clock)
  })

  afterEach(() => {
    Logger.overrideLogger(false)
  })

  it('may be groups', () => {
    owners.refused(-5)
    owners.had(-5)
    expect(lines).toEqual([
      expect.stringMatching(/^group 5 of mail has been kept locked /),
      'group 5 of mail is no longer locked, after 0 s',
    ])
  })

  it('are logged with the first refusal, then once a minute, and when they are free again', () => {
    owners.found(7)
    clock.pass(6)
    expect(lines).toEqual([])
    for (let n = 0; n < 100; n += 1) owners.refused(7)
    expect(lines).toEqual([
      expect.stringMatching(
        /^account_id 7 of mail has been kept locked .* since 2026-11-21T12:00:00\.000Z; .*A locked/,
      ),
    ])
    clock.pass(60)
    owners.refused(7)
    owners.refused(8)
    expect(lines).toHaveLength(3)
    clock.pass(4)
    owners.had(7)
    owners.had(7)
    expect(lines.at(-1)).toBe('account_id 7 of mail is no longer locked, after 70 s')
    expect(lines).toHaveLength(4)
  })

  it('are measured by the one that has been locked longest, also between its requests', () => {
    expect(owners.longestSeconds()).toBe(0)
    owners.found(7)
    clock.pass(100)
    owners.found(8)
    clock.pass(100)
    expect(owners.longestSeconds()).toBe(200)
    owners.had(7)
    expect(owners.longestSeconds()).toBe(100)
    // Nobody has asked for it for so long that nothing is known of it.
    clock.pass(301)
    expect(owners.longestSeconds()).toBe(0)
  })

  it('are not logged if they were locked only for a moment', () => {
    owners.found(7)
    owners.had(7)
    expect(lines).toEqual([])
  })

  it('are remembered up to a maximum number', () => {
    for (let n = 1; n <= 5_000; n += 1) owners.refused(n)
    expect(lines).toHaveLength(1_000)
  })
})
