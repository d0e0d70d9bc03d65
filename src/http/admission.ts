import type { EventEmitter } from 'node:events'
import { Injectable } from '@nestjs/common'
import { principalLabel } from '../auth/principal.js'
import { Config } from '../config/config.js'
import { Unavailable } from '../error/service-error.js'
import { FairSemaphore, type Wait } from '../fairness/fair-semaphore.js'

/**
 * How long a request waits to be let in, in milliseconds; well below the time in which a request must have arrived
 * whole.
 */
const PATIENCE_MS = 10_000

/** The requests of a principal, as they are measured. */
export interface InHand {
  /** The label of the principal (`principalLabel`). */
  readonly principal: string
  /** Requests that are worked on. */
  requests: number
  /** Requests that wait to be let in, bodies unread. */
  waiting: number
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
  private readonly semaphore: FairSemaphore
  /** Requests refused, by label of the principals that have called; one label for all of the identity provider. */
  private readonly refused = new Map<string, number>()

  constructor({ principalRequests, principalBodyBytes, maxConnections }: Config) {
    this.semaphore = new FairSemaphore({
      itemsOfOne: principalRequests,
      weightOfOne: principalBodyBytes,
      keptOfOne: maxConnections / 2,
    })
  }

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
    const label = principalLabel(principal)
    if (!this.refused.has(label)) this.refused.set(label, 0)
    const wait = this.semaphore.acquire(principal, bytes, PATIENCE_MS)
    if (wait !== undefined) return this.turn(wait, principal, bytes, response)
    this.releaseAfter(principal, bytes, response)
    return undefined
  }

  /** The requests of everybody who has called, by label. */
  inHand(): InHand[] {
    const found = new Map<string, InHand>()
    for (const [principal, refused] of this.refused)
      found.set(principal, { principal, requests: 0, waiting: 0, refused })
    for (const [principal, { items, waiting }] of this.semaphore.shares()) {
      const one = found.get(principalLabel(principal))
      if (one === undefined) continue
      one.requests += items
      one.waiting += waiting
    }
    return [...found.values()]
  }

  private releaseAfter(principal: string, bytes: number, response: Answer): void {
    response.once('close', () => this.semaphore.release(principal, bytes))
  }

  private async turn({ granted, cancel }: Wait, principal: string, bytes: number, response: Answer): Promise<void> {
    // Whoever hung up waits no longer.
    response.once('close', cancel)
    const isGranted = await granted
    response.off('close', cancel)
    if (response.closed) {
      if (isGranted) this.semaphore.release(principal, bytes)
      throw new Unavailable('caller_gone')
    }
    if (!isGranted) {
      const label = principalLabel(principal)
      this.refused.set(label, (this.refused.get(label) ?? 0) + 1)
      throw new Unavailable('principal_requests')
    }
    this.releaseAfter(principal, bytes, response)
  }
}
