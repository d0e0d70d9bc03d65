import type { Clock } from '../common/clock.js'
import { validationFailed } from '../common/service-error.js'
import { DEFAULT_PAGE_SIZE } from '../http/field.decorator.js'
import { type EventReader, type EventsPage, parseEventCursor } from '../ledger/feed/event-reader.js'
import type { CapTrialReader, CapTrialView } from '../ledger/read/cap-trial-reader.js'
import type { ChangeReader, ChangesPage } from '../ledger/read/change-reader.js'
import { type ExpiringPage, type ExpiringReader, parseCursor } from '../ledger/read/expiring-reader.js'
import type { OwnerReader, OwnersPage } from '../ledger/read/owner-reader.js'
import type { RefusalReader, RefusalView, TopRefusalView } from '../ledger/read/refusal-reader.js'
import type { Channel } from '../ledger/rows/channel.js'
import type { QuotaRow } from '../ledger/rows/quota.entity.js'
import type { Caller } from '../ledger/store/command.js'
import { type CapTrialFields, trialOf } from './cap-trial.dto.js'
import type { EventsFields } from './event.dto.js'
import {
  type ChangesFields,
  DEFAULT_DAYS,
  DEFAULT_HOURS,
  type ExpiringQuery,
  oldestAdded,
  type OwnersQuery,
  type RefusalsFields,
  type TopRefusalsQuery,
} from './report.dto.js'
import { optionalOwnerOf, ownerOf } from './subjects.js'
import { periodOf } from './period.js'

/** The readers of all quotas of one channel. */
export interface ReportReaders<Q extends QuotaRow> {
  readonly changes: ChangeReader<Q>
  readonly owners: OwnerReader<Q>
  readonly expiring: ExpiringReader<Q>
  readonly refusals: RefusalReader<Q>
  readonly events: EventReader<Q>
  readonly trials: CapTrialReader<Q>
}

/** The reports on all quotas: takes DTOs, returns domain values. Every error is a ServiceError. */
export class ReportService<Q extends QuotaRow> {
  constructor(
    private readonly channel: Channel<Q>,
    private readonly readers: ReportReaders<Q>,
    private readonly clock: Clock,
  ) {}

  /** A page of all owners that ever had a quota. */
  async owners(
    { id: principalId }: Caller,
    { group_id: groupId, after, page_size: size = DEFAULT_PAGE_SIZE }: OwnersQuery,
  ): Promise<OwnersPage> {
    return this.readers.owners.page(principalId, groupId, after, size)
  }

  /** A page of the changes of all quotas, newest first. */
  async changes({ id: principalId }: Caller, query: ChangesFields): Promise<ChangesPage> {
    const ownerId = optionalOwnerOf(this.channel, query)
    const { actor, action, quota_id: quotaId, group_id: groupId, request_id: requestId, before } = query
    const filter = { actor, action, quotaId, groupId, ownerId, requestId, ...periodOf(query) }
    return this.readers.changes.page(principalId, filter, before, query.page_size ?? DEFAULT_PAGE_SIZE)
  }

  /** The owners with most refusals. */
  async topRefusals({ id: principalId }: Caller, query: TopRefusalsQuery): Promise<{ items: TopRefusalView[] }> {
    const { hours = DEFAULT_HOURS, group_id: groupId, page_size: size = DEFAULT_PAGE_SIZE } = query
    return this.readers.refusals.top(principalId, hours, groupId, size)
  }

  /** The refusals of one owner, or of all, by hour. */
  async refusals({ id: principalId }: Caller, query: RefusalsFields): Promise<{ items: RefusalView[] }> {
    const now = this.clock.now()
    const violations = query.violationsAt(now)
    if (violations.length > 0) throw validationFailed(violations)
    const { refusals } = this.readers
    const { from = oldestAdded(now), to } = periodOf(query)
    if (query.all !== undefined) return refusals.ofAll(principalId, from, to)
    const amounts = query.amounts !== undefined
    return refusals.ofOwner(principalId, ownerOf(this.channel, query), periodOf(query), { amounts })
  }

  /** A page of events, oldest first. */
  async events({ id: principalId }: Caller, query: EventsFields): Promise<EventsPage> {
    const { type, quota_id: quotaId, group_id: groupId, after } = query
    const filter = { type, quotaId, groupId, ownerId: optionalOwnerOf(this.channel, query) }
    const cursor = after === undefined ? undefined : parseEventCursor(after)
    return this.readers.events.page(principalId, filter, cursor, query.page_size ?? DEFAULT_PAGE_SIZE)
  }

  /** What a cap would have refused of an owner. */
  async capTrial({ id: principalId }: Caller, dto: CapTrialFields): Promise<CapTrialView> {
    const { settings, days } = trialOf(dto)
    return this.readers.trials.ofOwner(principalId, ownerOf(this.channel, dto), settings, days)
  }

  /** A page of the quotas that expire soon. */
  async expiring({ id: principalId }: Caller, query: ExpiringQuery): Promise<ExpiringPage> {
    const { days = DEFAULT_DAYS, cursor, page_size: size = DEFAULT_PAGE_SIZE } = query
    return this.readers.expiring.page(principalId, days, cursor === undefined ? undefined : parseCursor(cursor), size)
  }
}
