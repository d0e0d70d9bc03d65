import { Calls } from './calls.js'
import type { ChannelClient } from './channel.js'
import type { QuotaClient } from './client.js'
import type { CallOptions } from './transport.js'
import type { AnyChannel, WebhookEndpoint, WebhookReplay, WebhookTest } from './types.js'

export type { RefusedSpell, ThresholdReached, WebhookEndpoint, WebhookReplay, WebhookTest } from './types.js'

/** An event of a quota, or of an owner, whose `quotaId` is null. Names in `data` are in camelCase, too. */
export type QuotaEvent<Channel extends AnyChannel> = Channel['eventsPage']['items'][number]

/** Selects events; `after` is the `cursor` of an earlier feed, or `latest`. */
export type EventFilter<Channel extends AnyChannel> = Channel['events']

/** The options of `follow`. */
export interface Following {
  /** The pause between reads without new events, in milliseconds; default 5,000. */
  readonly everyMs?: number
}

const EVERY_MS = 5_000

/**
 * Events, oldest first, after a cursor. `for await (const event of feed)` ends after the last present event; `follow()`
 * waits for further ones, until its signal is aborted. Store `cursor` after you have processed an event: a feed that
 * begins there repeats at most the events of the last page.
 */
export class EventFeed<Channel extends AnyChannel> implements AsyncIterable<QuotaEvent<Channel>> {
  private at: string | undefined

  constructor(
    private readonly channel: ChannelClient<Channel>,
    private readonly filter: Partial<EventFilter<Channel>>,
    private readonly options: CallOptions,
  ) {
    this.at = filter.after
  }

  /**
   * The cursor after which to continue: all events before it were processed, since the next one was requested.
   * Undefined before the first page.
   */
  get cursor(): string | undefined {
    return this.at
  }

  /**
   * @throws Problem `cursor_expired`: events after it have been removed; begin without a cursor, or with `latest`
   * @throws OutcomeUnknown no answer until the deadline; the feed can be continued
   */
  async *[Symbol.asyncIterator](): AsyncGenerator<QuotaEvent<Channel>, void, undefined> {
    for (;;) {
      const { items, nextAfter } = await this.page()
      yield* items
      this.at = nextAfter
      if (items.length === 0) return
    }
  }

  /**
   * Iterates, and then waits for further events. @throws Problem, OutcomeUnknown as the iteration, and the signal's
   * reason
   */
  async *follow({ everyMs = EVERY_MS }: Following = {}): AsyncGenerator<QuotaEvent<Channel>, void, undefined> {
    const { signal } = this.options
    for (;;) {
      yield* this
      await this.channel.transport.sleep(everyMs, signal)
      signal?.throwIfAborted()
    }
  }

  private async page(): Promise<Channel['eventsPage']> {
    const { transport, paths } = this.channel
    const query = { ...this.filter, after: this.at }
    const path = `${paths.quotas}/events`
    return (await transport.send({ ...this.options, method: 'GET', path, query })).body as Channel['eventsPage']
  }
}

/** The events of a channel: `events(quota.mail, { after })`. */
export function events<Channel extends AnyChannel>(
  channel: ChannelClient<Channel>,
  filter?: EventFilter<Channel>,
  options: CallOptions = {},
): EventFeed<Channel> {
  return new EventFeed(channel, filter ?? {}, options)
}

/** The endpoints of webhooks, for administrators. */
export class WebhookEndpoints extends Calls {
  async list(options: CallOptions = {}): Promise<WebhookEndpoint[]> {
    return (await this.call<{ items: WebhookEndpoint[] }>({ ...options, method: 'GET', path: this.at() })).items
  }

  /**
   * Sends one `webhook.test` now; a server for mail may take half a minute.
   * @throws Problem `webhook_not_found`, `webhook_disabled`
   */
  test(name: string, options: CallOptions = {}): Promise<WebhookTest> {
    return this.call({ timeoutMs: 40_000, ...options, method: 'POST', path: this.at(name, 'test'), repeatable: true })
  }

  /** Enables a disabled endpoint. @throws Problem `webhook_not_found`, `webhook_disabled` if it was removed */
  enable(name: string, options: CallOptions = {}): Promise<WebhookEndpoint> {
    return this.call({ ...options, method: 'POST', path: this.at(name, 'enable'), repeatable: true })
  }

  /**
   * Sends the events of a period again, `[from, to)`, each with its own id.
   * @returns their number
   * @throws Problem `webhook_not_found`, `webhook_disabled`
   */
  async replay(name: string, body: WebhookReplay, options: CallOptions = {}): Promise<number> {
    return (await this.call<{ events: number }>({ ...options, method: 'POST', path: this.at(name, 'replay'), body }))
      .events
  }
}

/** `webhookEndpoints(quota)`. */
export function webhookEndpoints({ mail: { transport } }: QuotaClient): WebhookEndpoints {
  return new WebhookEndpoints(transport, '/api/v1/webhooks')
}
