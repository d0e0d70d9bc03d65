import { Unavailable } from '../../error/service-error.js'

/** How long requests wait for room, in milliseconds; the same as for admission (Admission). */
const PATIENCE_MS = 10_000
/** Requests that may wait for room, as a multiple of the caller's limit; further ones are refused at once. */
const MAX_WAITING = 4

/** Requests that wait for room. */
interface Waiter {
  readonly count: number
  readonly letIn: () => void
}

interface Room {
  taken: number
  wanted: number
  /** In order of arrival. */
  readonly waiting: Set<Waiter>
}

/**
 * Limits the number of each caller's requests in the engine. Excess requests wait, so a short burst is not rejected. A
 * batch larger than the limit runs alone.
 */
export class PrincipalQueue {
  private readonly rooms = new Map<string, Room>()

  /**
   * @param limit requests of one caller in the engine
   * @param patienceMs how long further requests wait for room
   */
  constructor(
    private readonly limit: number,
    private readonly patienceMs: number = PATIENCE_MS,
  ) {}

  /** Requests in the engine, for callers that have any. */
  taken(): ReadonlyMap<string, number> {
    return new Map([...this.rooms].map(([caller, { taken }]) => [caller, taken]))
  }

  /**
   * Takes room for a number of requests of a caller. Return it with `giveBack`.
   * @returns undefined if there is room at once, otherwise a promise
   * @throws Unavailable, at once or from the promise, if too many requests wait or no room becomes free in time
   */
  take(caller: string, count: number): Promise<void> | undefined {
    let room = this.rooms.get(caller)
    if (room === undefined) {
      room = { taken: 0, wanted: 0, waiting: new Set() }
      this.rooms.set(caller, room)
    }
    if (room.waiting.size === 0 && this.fits(room, count)) {
      room.taken += count
      return undefined
    }
    if (room.wanted > 0 && room.wanted + count > this.limit * MAX_WAITING) throw new Unavailable('principal_queue')
    return this.wait(room, count)
  }

  /** Returns room that `take` took. */
  giveBack(caller: string, count: number): void {
    const room = this.rooms.get(caller)
    if (room === undefined) return
    room.taken -= count
    for (const waiter of room.waiting) {
      if (!this.fits(room, waiter.count)) break
      waiter.letIn()
    }
    if (room.taken === 0 && room.waiting.size === 0) this.rooms.delete(caller)
  }

  private fits({ taken }: Room, count: number): boolean {
    return taken === 0 || taken + count <= this.limit
  }

  private async wait(room: Room, count: number): Promise<void> {
    return new Promise((resolve, reject) => {
      const leave = (): void => {
        clearTimeout(timer)
        room.wanted -= count
        room.waiting.delete(waiter)
      }
      const waiter: Waiter = {
        count,
        letIn: () => {
          leave()
          room.taken += count
          resolve()
        },
      }
      const timer = setTimeout(() => {
        leave()
        reject(new Unavailable('principal_queue'))
      }, this.patienceMs)
      room.wanted += count
      room.waiting.add(waiter)
    })
  }
}
