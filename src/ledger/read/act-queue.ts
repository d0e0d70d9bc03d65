import type { Instant } from '../../common/instant.js'
import { instantOfId } from '../rows/act-id.js'

/** What an act did to the counters of a cap. */
export interface QueuedAct {
  readonly at: Instant
  /** The time of the operation that the act settled; undefined if the act made an operation. */
  readonly countedAt: Instant | undefined
  readonly used: number
  readonly reserved: number
}

/** The numbers of an act: its time, its place among those of that time (three), and the rest. */
const NUMBERS = 7
const [AT, LAST_OF_PLACE] = [0, 3] as const

/** Acts in the order in which they were decided: by their time, then by their ids. A heap of 56 bytes an act. */
export class ActQueue {
  private numbers = new Float64Array(NUMBERS * 1_024)
  /** The number of acts. */
  length = 0

  /** The time of the next act; infinite if there is none. */
  get nextAt(): Instant {
    return this.length === 0 ? Infinity : (this.numbers[AT] ?? Infinity)
  }

  /** @param id of the act; empty for the end of a hold, which is before all acts of its time */
  push(id: string, { at, countedAt = NaN, used, reserved }: QueuedAct): void {
    const end = NUMBERS * this.length
    if (end === this.numbers.length) {
      const larger = new Float64Array(2 * end)
      larger.set(this.numbers)
      this.numbers = larger
    }
    this.numbers.set([at, ...placeOf(id), countedAt, used, reserved], end)
    let place = this.length
    this.length += 1
    while (place > 0) {
      const above = (place - 1) >> 1
      if (!this.isBefore(place, above)) return
      this.swap(place, above)
      place = above
    }
  }

  /** Removes the next act. */
  pop(): QueuedAct {
    const [at = NaN, , , , countedAt = NaN, used = 0, reserved = 0] = this.numbers.subarray(0, NUMBERS)
    this.length -= 1
    this.numbers.copyWithin(0, NUMBERS * this.length, NUMBERS * (this.length + 1))
    for (let place = 0; ;) {
      const [left, right] = [2 * place + 1, 2 * place + 2]
      const first = right < this.length && this.isBefore(right, left) ? right : left
      if (first >= this.length || !this.isBefore(first, place)) break
      this.swap(place, first)
      place = first
    }
    return { at, countedAt: Number.isNaN(countedAt) ? undefined : countedAt, used, reserved }
  }

  private isBefore(one: number, other: number): boolean {
    for (let number: number = AT; number <= LAST_OF_PLACE; number += 1) {
      const difference = (this.numbers[NUMBERS * one + number] ?? 0) - (this.numbers[NUMBERS * other + number] ?? 0)
      if (difference !== 0) return difference < 0
    }
    return false
  }

  private swap(one: number, other: number): void {
    for (let number = 0; number < NUMBERS; number += 1) {
      const [a, b] = [NUMBERS * one + number, NUMBERS * other + number]
      const kept = this.numbers[a] ?? 0
      this.numbers[a] = this.numbers[b] ?? 0
      this.numbers[b] = kept
    }
  }
}

/** The order of a UUIDv7: its milliseconds, and what follows as two numbers. All are 0 for the empty text. */
function placeOf(id: string): [number, number, number] {
  const after = id.slice(15, 18) + id.slice(19, 23) + id.slice(24)
  return [instantOfId(id), Number.parseInt(after.slice(0, 10), 16) || 0, Number.parseInt(after.slice(10), 16) || 0]
}
