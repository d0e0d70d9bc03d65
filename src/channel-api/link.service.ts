import type { OwnerLink, OwnerLinks } from '../auth/owner-link.js'
import type { LinkHolder } from '../auth/principal.js'
import type { Clock } from '../common/clock.js'
import type { QuotaReader } from '../ledger/read/quota-reader.js'
import type { RefusalReader, RefusalView } from '../ledger/read/refusal-reader.js'
import type { SeriesReader } from '../ledger/read/series-reader.js'
import type { Channel } from '../ledger/rows/channel.js'
import type { QuotaRow } from '../ledger/rows/quota.entity.js'
import { beginningOf, STEP_MS } from '../ledger/rows/utc-step.js'
import type { OwnerLimitView } from '../ledger/store/answers.js'
import type { LinkGenerations } from '../ledger/write/link-generations.js'
import { formatInstant } from '../common/instant.js'

/** The number of refusals, and of days of usage, that a view shows (contract, §14). */
const REFUSALS_SHOWN = 20
const DAYS_SHOWN = 31

/** What an owner sees of itself; the owner's field comes first. */
export interface OwnerView {
  available: number
  expires_at: string
  limits: OwnerLimitView[]
  refusals: Pick<RefusalView, 'hour' | 'code' | 'count'>[]
  days: { day: string; charged: number }[]
}

/** The readers of a view. */
export interface ViewReaders<Q extends QuotaRow> {
  readonly quotas: QuotaReader<Q>
  readonly refusals: RefusalReader<Q>
  readonly series: SeriesReader<Q>
}

/** The links with which one channel's owners see what they have left. Every error is a ServiceError. */
export class LinkService<Q extends QuotaRow> {
  constructor(
    private readonly channel: Channel<Q>,
    private readonly links: OwnerLinks,
    private readonly generations: LinkGenerations<Q>,
    private readonly readers: ViewReaders<Q>,
    private readonly clock: Clock,
  ) {
    links.add(channel.name, async (ownerId) => generations.of(ownerId))
  }

  /** Makes a link for an owner, with or without a quota. @param ttlSeconds its lifetime */
  async make(ownerId: number, ttlSeconds: number): Promise<OwnerLink> {
    return this.links.make(this.channel.name, ownerId, ttlSeconds)
  }

  /** Ends all links of an owner that were made before. */
  async revoke(ownerId: number): Promise<void> {
    await this.generations.revoke(ownerId)
  }

  /** What the holder of a link sees: only the owner of the link. */
  async view({ id: holderId, ownerId, expiresAt }: LinkHolder): Promise<OwnerView> {
    const now = this.clock.now()
    const from = beginningOf('day', now) - (DAYS_SHOWN - 1) * STEP_MS.day
    const { quotas, refusals, series } = this.readers
    const [{ available, limits }, refused, used] = await Promise.all([
      quotas.ownLimits(ownerId),
      refusals.ofOwner(holderId, ownerId, {}, { most: REFUSALS_SHOWN }),
      series.series(holderId, { ownerId }, 'day', from, now + 1),
    ])
    return {
      [this.channel.subjects[0].field]: ownerId,
      available,
      expires_at: formatInstant(expiresAt),
      limits,
      refusals: refused.items.map(({ hour, code, count }) => ({ hour, code, count })),
      days: used.items.map(({ began_at: day, charged }) => ({ day, charged })),
    }
  }
}
