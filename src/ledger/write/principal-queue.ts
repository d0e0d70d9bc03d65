import { Unavailable } from '../../error/service-error.js'

/** How long requests wait for room, in milliseconds; as long as for being let in (Admission). */
const PATIENCE_MS = 10_000
/** So many times what a caller may have in hand may wait for room; more is refused at once. */
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
 * Bounds how many requests of each caller the engine has in hand. What is beyond waits: a caller who sends no more than
 * is done in time is not refused for having sent it at once. What by itself is more than a caller may have goes alone.
 */
export class PrincipalQueue {
  private readonly rooms = new Map<string, Room>()

  /**
   * @param limit requests of one caller that are in hand
   * @param patienceMs how long others wait for room
   */
  constructor(
    private readonly limit: number,
    private readonly patienceMs: number = PATIENCE_MS,
  ) {}

  /** Requests in hand by caller, for those who have any. */
  taken(): ReadonlyMap<string, number> {
    return new Map([...this.rooms].map(([caller, { taken }]) => [caller, taken]))
  }

  /**
   * Takes room for so many requests of a caller, to be given back.
   * @returns undefined where there is room, else a promise of it
   * @throws Unavailable at once or by the promise, where too many wait already or the room does not come in time
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

  /** Gives room back that was taken. */
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
