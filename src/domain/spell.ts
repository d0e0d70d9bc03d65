import type { Instant } from '../common/instant.js'
import type { EventTypeOf } from './event-type.js'

/** A spell ends when this time has passed without refusals (contract, §14). */
const QUIET_MS = 3_600_000
/** Every instance has written its counts after this time (contract, §8): then nothing that is told changes any more. */
export const SETTLED_MS = 5_000
const DAY_MS = 86_400_000

/** Refusals of an owner under one code within one UTC hour. */
export interface Refusals {
  readonly firstAt: Instant
  readonly lastAt: Instant
  readonly count: number
  /** The sum of the requested amounts, at most 2^53-1. */
  readonly requested: number
}

/** The refusals of an owner under one code from the first one until an hour passes without any. */
export interface Spell {
  /** The time of the first refusal; it no longer changes once told. */
  readonly since: Instant
  readonly lastAt: Instant
  readonly count: number
  /** The sum of the requested amounts, at most 2^53-1. */
  readonly requested: number
  /** The beginning of the last UTC day of which `owner.refused` tells; null: none. */
  readonly toldDay: Instant | null
  /** `pending`: `owner.refused` is due or about to be; `told`: it was told of each day; `over`: the end was told. */
  readonly stage: SpellStage
  /** Refusals after an hour without any, as far as is known: counts from before them may not be written yet. */
  readonly next: Refusals | null
}

export type SpellStage = 'pending' | 'told' | 'over'

/** What becomes of a spell, with the events that are due, in order; each tells of the spell as it is there. */
export interface Told {
  readonly spell: Spell
  readonly events: readonly { readonly type: EventTypeOf<'spell'>; readonly spell: Spell }[]
}

/**
 * Adds refusals to a spell, or begins the next one.
 *
 * Refusals may come late, from an instance that could not write. Those that belong to a spell that was told as over,
 * and those of a spell before a newer one, change nothing that is told, so that no spell is told twice.
 * @param steady as in `toldBy`
 */
export function withRefusals(known: Spell | undefined, refusals: Refusals, now: Instant, steady: boolean): Told {
  const begun = begunBy(refusals, now)
  if (known === undefined) return { spell: begun, events: [] }
  const spell = stored(known, now)
  if (begun.since >= spell.lastAt + QUIET_MS) {
    if (spell.stage === 'over') return { spell: begun, events: [] }
    if (!steady || now < endsAt(spell)) return { spell: { ...spell, next: merged(refusals, spell.next) }, events: [] }
    // Nobody has looked meanwhile: what is due is told first.
    const { events } = ended(refusedTold(spell))
    if (spell.next === null) return { spell: begun, events }
    const after = withRefusals(begunBy(spell.next, now), refusals, now, steady)
    return { spell: after.spell, events: [...events, ...after.events] }
  }
  const lastAt = Math.max(spell.lastAt, begun.lastAt)
  if (spell.stage === 'over') return { spell: now < lastAt + QUIET_MS ? begun : { ...spell, lastAt }, events: [] }
  if (begun.lastAt + QUIET_MS <= spell.since) return { spell, events: [] }
  const { count, requested } = merged(refusals, { ...spell, firstAt: spell.since })
  const since = spell.toldDay === null ? Math.min(spell.since, begun.since) : spell.since
  const grown = stored({ ...spell, since, lastAt, count, requested, next: null }, now)
  return spell.next === null ? { spell: grown, events: [] } : withRefusals(grown, spell.next, now, steady)
}

/**
 * Tells what is due of a spell.
 * @param steady may a permanent conclusion be drawn from the time: that the spell is over?
 */
export function toldBy(known: Spell, now: Instant, steady: boolean): Told {
  const spell = stored(known, now)
  if (spell.stage === 'over') return { spell, events: [] }
  const told = now < dueAt({ ...spell, stage: 'pending' }) ? { spell, events: [] } : refusedTold(spell)
  if (!steady || now < endsAt(spell)) return told
  const over = ended(told)
  if (spell.next === null) return over
  const begun = toldBy(begunBy(spell.next, now), now, steady)
  return { spell: begun.spell, events: [...over.events, ...begun.events] }
}

/** The time at which something is due: the telling, or the end; of one that is over, its last refusal. */
export function dueAt(spell: Spell): Instant {
  const { stage, since, lastAt, toldDay } = spell
  if (stage === 'over') return lastAt
  if (stage === 'told') return endsAt(spell)
  return toldDay === null ? since + SETTLED_MS : lastAt
}

/** No time after this one may be due in any stage; a later one comes from a clock that was wrong. */
export function latestDue(now: Instant): Instant {
  return now + QUIET_MS + 2 * SETTLED_MS
}

/** The time from which the spell is over: no count that could continue it is still to be written. */
function endsAt({ lastAt }: Spell): Instant {
  return lastAt + QUIET_MS + SETTLED_MS
}

/** Tells the refusals of each UTC day that were not told yet: within a spell, each of its days has some. */
function refusedTold(spell: Spell): Told {
  const last = dayOf(spell.lastAt)
  const days = (last - (spell.toldDay ?? dayOf(spell.since) - DAY_MS)) / DAY_MS
  const events = Array.from({ length: Math.max(0, days) }, () => ({ type: 'owner.refused' as const, spell }))
  return { spell: { ...spell, toldDay: last, stage: 'told' }, events }
}

function ended({ spell, events }: Told): Told {
  return { spell: { ...spell, stage: 'over', next: null }, events: [...events, { type: 'owner.recovered', spell }] }
}

function begunBy(refusals: Refusals, now: Instant): Spell {
  return stored({ ...refusals, since: refusals.firstAt, toldDay: null, stage: 'pending', next: null }, now)
}

function merged({ firstAt, lastAt, count, requested }: Refusals, others: Refusals | null): Refusals {
  if (others === null) return { firstAt, lastAt, count, requested }
  return {
    firstAt: Math.min(firstAt, others.firstAt),
    lastAt: Math.max(lastAt, others.lastAt),
    count: count + others.count,
    requested: Math.min(requested + others.requested, Number.MAX_SAFE_INTEGER),
  }
}

/** A spell as it is stored: without times in the future, which come from a clock that was wrong. */
function stored(spell: Spell, now: Instant): Spell {
  const [since, lastAt] = [Math.min(spell.since, now), Math.min(spell.lastAt, now)]
  const toldDay = spell.toldDay === null ? null : Math.min(spell.toldDay, dayOf(now))
  const stage = spell.stage === 'over' ? 'over' : toldDay !== null && toldDay >= dayOf(lastAt) ? 'told' : 'pending'
  return { since, lastAt, count: spell.count, requested: spell.requested, toldDay, stage, next: spell.next }
}

function dayOf(instant: Instant): Instant {
  return Math.floor(instant / DAY_MS) * DAY_MS
}
