import { randomUUID } from 'node:crypto'
import { type ChannelApi, MAIL_API, SMS_API } from './channel-api.js'
import type { Answer } from './http-client.js'

/** The paths and fields of a channel, without the application under test. */
export type Wire = ChannelApi
export { MAIL_API as MAIL, SMS_API as SMS }
export const WIRES = [MAIL_API, SMS_API] as const

/** The body of a create of type 1, which does not end within the test. */
export function totalQuota(wire: Wire, owner: number, total: number): object {
  return { [wire.owner]: owner, quota_type: 1, total, expire_at: '2999-01-01T00:00:00Z' }
}

/** The body of a create of type 2, whose cycle does not end within the test. */
export function cycleQuota(wire: Wire, owner: number, total: number): object {
  return { [wire.owner]: owner, quota_type: 2, total, cycle_unit: 'year', cycle_reset_at: '2900-01-01T00:00:00Z' }
}

/** The parsed body, without a type. */
export function bodyOf({ text }: Answer) {
  return JSON.parse(text)
}

/** One item of a batch's answer. */
export interface ItemResult {
  readonly status: number
  readonly replayed: boolean
  readonly operation: { readonly id: string; readonly amount: number }
  readonly problem: { readonly code: string }
}

/** The results of a batch's items, in order. */
export function resultsOf(answer: Answer): ItemResult[] {
  return bodyOf(answer).results
}

/** A key, or anything else that must be unique. */
export function fresh(prefix: string): string {
  return `${prefix}-${randomUUID()}`
}

let lastOwner = 1000

/** Owners that no other test of the process has used. */
export function owners(count: number): number[] {
  return Array.from({ length: count }, () => (lastOwner += 1))
}

/** Counts values. */
export function tally(values: readonly (string | number)[]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const value of values) counts[value] = (counts[value] ?? 0) + 1
  return counts
}

/** The same values in another order. */
export function shuffled<T>(values: readonly T[]): T[] {
  const mixed = [...values]
  for (let i = mixed.length - 1; i > 0; i -= 1) {
    const j = Math.floor(Math.random() * (i + 1))
    ;[mixed[i], mixed[j]] = [mixed[j]!, mixed[i]!]
  }
  return mixed
}

/** Runs `width` workers that take the values one by one. */
export async function inParallel<T>(
  width: number,
  values: Iterable<T>,
  work: (value: T, place: number) => Promise<void>,
): Promise<void> {
  const queue = values[Symbol.iterator]()
  let place = 0
  await Promise.all(
    Array.from({ length: width }, async () => {
      for (let next = queue.next(); next.done !== true; next = queue.next()) await work(next.value, place++)
    }),
  )
}

/** 0 … count - 1. */
export function times(count: number): number[] {
  return Array.from({ length: count }, (_, i) => i)
}
