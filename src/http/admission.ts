import type { EventEmitter } from 'node:events'
import { Inject, Injectable } from '@nestjs/common'
import { principalLabel } from '../auth/principal.js'
import { CONFIG, type Config } from '../config/config.js'
import { Unavailable } from '../common/service-error.js'
import { FairSemaphore, type Wait } from '../fairness/fair-semaphore.js'

/** The maximum wait for admission, in milliseconds. */
const MAX_PATIENCE_MS = 10_000

/** The load of one principal, for metrics. */
export interface InHand {
  /** Its label (`principalLabel`). */
  readonly principal: string
  /** Admitted requests that have no complete response yet. */
  requests: number
  /** Requests that wait for admission; their bodies are unread. */
  waiting: number
  /** Requests refused since the start, because too many were waiting or they waited too long. */
  readonly refused: number
}

/** A response: it emits `close`, and is then closed, when the request has ended, also if the connection broke. */
type Answer = EventEmitter & { readonly closed: boolean }

/**
 * Limits the requests of one principal that are processed at the same time, by number and by bytes of their bodies.
 * Further requests wait with their bodies unread: TCP slows a caller down that sends more than the service can process,
 * and other callers keep their share of the processor and of the queues. The admitted and waiting requests of a
 * principal occupy at most half of MAX_CONNECTIONS.
 */
@Injectable()
export class Admission {
  private readonly semaphore: FairSemaphore
  /** The wait in milliseconds; half of the time within which a request must arrive, so that its body can be read. */
  private readonly patienceMs: number
  /** Refused requests by label of each principal that has called; one label for all of the identity provider. */
  private readonly refused = new Map<string, number>()

  constructor(
    @Inject(CONFIG) { principalRequests, principalBodyBytes, maxConnections, requestTimeoutSeconds }: Config,
  ) {
    this.patienceMs = Math.min(MAX_PATIENCE_MS, requestTimeoutSeconds * 500)
    this.semaphore = new FairSemaphore({
      itemsOfOne: principalRequests,
      weightOfOne: principalBodyBytes,
      keptOfOne: maxConnections / 2,
    })
  }

  /**
   * Admits a request.
   * @param bytes maximum size of its body after decompression. A body larger than the principal's whole limit is
   *   admitted alone.
   * @param response of the request; its `close` releases the share
   * @returns undefined if the request is admitted at once, otherwise a promise that resolves on admission
   * @throws ServiceError unavailable: not admitted in time, too many requests are waiting, or the caller has
   *   disconnected
   */
  enter(principal: string, bytes: number, response: Answer): Promise<void> | undefined {
    // A closed response emits no second `close`; for example if the parser broke the request off during authentication.
    if (response.closed) throw new Unavailable('caller_gone')
    const label = principalLabel(principal)
    if (!this.refused.has(label)) this.refused.set(label, 0)
    const wait = this.semaphore.acquire(principal, bytes, this.patienceMs)
    const release = (): void => this.semaphore.release(principal, bytes)
    if (wait !== undefined) return this.turn(wait, label, response, release)
    response.once('close', release)
    return undefined
  }

  /** The load of each principal that has called, by label. */
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

  private async turn({ granted, cancel }: Wait, label: string, response: Answer, release: () => void): Promise<void> {
    // A caller that disconnects stops waiting.
    response.once('close', cancel)
    const isGranted = await granted
    response.off('close', cancel)
    if (response.closed) {
      if (isGranted) release()
      throw new Unavailable('caller_gone')
    }
    if (!isGranted) {
      this.refused.set(label, (this.refused.get(label) ?? 0) + 1)
      throw new Unavailable('principal_requests')
    }
    response.once('close', release)
  }
}
