import { Global, Injectable, Module } from '@nestjs/common'
import type { EventReader } from '../ledger/feed/event-reader.js'
import type { QuotaRow } from '../ledger/rows/quota.entity.js'

/** The events of one channel, for modules that forward them. */
export type EventFeed = EventReader<QuotaRow>

/** The feeds of all channels. Each channel registers its own, so that readers need not import the features. */
@Injectable()
export class EventFeeds {
  private readonly byChannel = new Map<string, EventFeed>()

  add<Q extends QuotaRow>(reader: EventReader<Q>): void {
    this.byChannel.set(reader.channel.name, reader as unknown as EventFeed)
  }

  /** By the channel's name. */
  get all(): ReadonlyMap<string, EventFeed> {
    return this.byChannel
  }
}

/** Collects every channel's feed. */
@Global()
@Module({ providers: [EventFeeds], exports: [EventFeeds] })
export class EventFeedsModule {}
