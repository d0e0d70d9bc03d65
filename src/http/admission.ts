import type { EventEmitter } from 'node:events'
import { Injectable } from '@nestjs/common'
import { Config } from '../config/config.js'
import { Unavailable } from '../error/service-error.js'

/**
 * How long a request waits to be let in, in milliseconds; well below the time in which a request must have arrived
 * whole.
 */
const PATIENCE_MS = 10_000

/** A request that waits to be let in. */
interface Waiter {
  readonly bytes: number
  readonly letIn: () => void
}

/** What of one principal is in hand. */
interface Party {
  requests: number
  bytes: number
  refused: number
  /** In order of arrival. */
  readonly waiting: Set<Waiter>
}

/** What of one principal is in hand, as it is measured. */
export interface InHand {
  readonly principal: string
  /** Requests that are worked on. */
  readonly requests: number
  /** Requests that wait to be let in, bodies unread. */
  readonly waiting: number
  /** Requests refused since the start, because too many waited or they waited for too long. */
  readonly refused: number
}

/** The answer to a request; its `close` says that the request is over, also where the connection broke. */
interface Answer extends EventEmitter {
  /** Has that been said? */
  readonly closed: boolean
}

/**
 * Bounds what of one principal's requests is worked on at the same time, in requests and in bytes of their bodies. What
 * is beyond waits with its body unread: whoever sends more than the service can do is slowed down by its own sockets,
 * costs nothing while it waits, and leaves the others their part of the processor and of the queues behind. With those
 * that wait, a principal's requests keep at most half of MAX_CONNECTIONS busy.
 */
@Injectable()
export class Admission {
  private readonly parties = new Map<string, Party>()

  constructor(private readonly config: Config) {}

  /**
   * Lets a request in.
   * @param bytes that its body has at most, after decompression; one that is larger than all that a principal may have
   *   in hand goes alone
   * @param response of the request; its `close` gives the share back
   * @returns undefined where it may go on at once, else a promise of its turn
   * @throws ServiceError unavailable, where its turn does not come in time, too many wait for theirs, or the caller has
   *   gone by now
   */
  enter(principal: string, bytes: number, response: Answer): Promise<void> | undefined {
    // What is over by now, as a request that the parser broke off while its token was looked up, will not close again.
    if (response.closed) throw new Unavailable('caller_gone')
    let party = this.parties.get(principal)
    if (party === undefined) {
      party = { requests: 0, bytes: 0, refused: 0, waiting: new Set() }
      this.parties.set(principal, party)
    }
    if (party.waiting.size === 0 && this.fits(party, bytes)) {
      this.take(party, bytes, response)
      return undefined
    }
    if (party.requests + party.waiting.size >= this.config.maxConnections / 2) throw refusal(party)
    return this.wait(party, bytes, response)
  }

  /** What is in hand, by principal. */
  inHand(): InHand[] {
    return [...this.parties].map(([principal, { requests, waiting, refused }]) => ({
      principal,
      requests,
      waiting: waiting.size,
      refused,
    }))
  }

  private fits({ requests, bytes: inHand }: Party, bytes: number): boolean {
    if (requests >= this.config.principalRequests) return false
    return inHand === 0 || inHand + bytes <= this.config.principalBodyBytes
  }

  private take(party: Party, bytes: number, response: Answer): void {
    party.requests += 1
    party.bytes += bytes
    response.once('close', () => {
      party.requests -= 1
      party.bytes -= bytes
      for (const waiter of party.waiting) {
        if (!this.fits(party, waiter.bytes)) break
        waiter.letIn()
      }
    })
  }

  private async wait(party: Party, bytes: number, response: Answer): Promise<void> {
    return new Promise((resolve, reject) => {
      const leave = () => {
        clearTimeout(timer)
        response.off('close', leave)
        party.waiting.delete(waiter)
      }
      const waiter: Waiter = {
        bytes,
        letIn: () => {
          leave()
          this.take(party, bytes, response)
          resolve()
        },
      }
      const timer = setTimeout(() => {
        leave()
        reject(refusal(party))
      }, PATIENCE_MS)
      // Whoever hung up waits no longer; nobody is there to be told.
      response.once('close', leave)
      party.waiting.add(waiter)
    })
  }
}

function refusal(party: Party): Unavailable {
  party.refused += 1
  return new Unavailable('principal_requests')
}
