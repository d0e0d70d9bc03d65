import type { CallerInfo } from '../auth/principal.js'
import { pagingOf, type PageQuery, type WalkQuery } from '../http/page.dto.js'
import { validationFailed } from '../error/service-error.js'
import type { Outcome } from '../ledger/command.js'
import type { Caller, Ledger } from '../ledger/ledger.js'
import type { QuotaRow } from '../ledger/quota.entity.js'
import type { Page } from '../ledger/list-reader.js'
import type { QuotaFilter } from '../ledger/list-sources.js'
import type { QuotaReader, SummaryView } from '../ledger/quota-reader.js'
import type { ChangeView, QuotaView } from '../ledger/view.js'
import { type NewSettingsFields, patchOf, type SettingsPatchFields, settingsOf } from './settings.dto.js'

/** Whom the ledger writes down. */
export function callerOf({ principal, requestId }: CallerInfo): Caller {
  return { name: principal.name, requestId }
}

/** What administrators do with one channel's quotas: requests in, the domain's terms out. Every error is a ServiceError. */
export abstract class QuotaService<Q extends QuotaRow> {
  protected constructor(
    private readonly ledger: Ledger<Q>,
    private readonly reader: QuotaReader<Q>,
  ) {}

  /**
   * Makes a quota.
   * @param people whom it names, by property, the owner first
   * @param key makes a retry answer what the first try answered
   */
  async create(
    caller: CallerInfo,
    people: { ownerId: number } & Record<string, number | null>,
    settings: NewSettingsFields,
    key: string | undefined,
  ): Promise<Outcome> {
    return this.ledger.create(callerOf(caller), people.ownerId, people, settingsOf(settings), key ?? null)
  }

  /** A page of live quotas, newest first, as the JSON that all who ask for it at once share. */
  async list(filter: QuotaFilter<Q>, query: WalkQuery): Promise<string> {
    return this.reader.listAsJson(filter, pagingOf(query))
  }

  /** The sums of an owner's active quotas. */
  async summary(ownerId: number): Promise<SummaryView> {
    return this.reader.summary(ownerId)
  }

  /** One live quota. */
  async get(id: number): Promise<QuotaView> {
    return this.reader.get(id)
  }

  /** Changes settings. What is wrong with the body and what only the record tells is told together. */
  async update(caller: CallerInfo, id: number, patch: SettingsPatchFields): Promise<Outcome> {
    if (patch.errors !== undefined) {
      const known = new Set(patch.errors.map(({ field }) => field))
      const more = (await this.reader.brokenBy(id, patchOf(patch))).filter(({ field }) => !known.has(field))
      throw validationFailed([...patch.errors, ...more])
    }
    return this.ledger.update(callerOf(caller), id, patchOf(patch), patch.version)
  }

  /** Soft-deletes. */
  async remove(caller: CallerInfo, id: number, version: number | undefined): Promise<void> {
    await this.ledger.remove(callerOf(caller), id, version)
  }

  /** Takes a soft delete back. */
  async restore(caller: CallerInfo, id: number): Promise<Outcome> {
    return this.ledger.restore(callerOf(caller), id)
  }

  /** Begins a new count of a quota's units. */
  async reset(caller: CallerInfo, id: number, version: number | undefined, key: string | undefined): Promise<Outcome> {
    return this.ledger.reset(callerOf(caller), id, version, key ?? null)
  }

  /** A page of what was changed in a quota's settings, newest first. */
  async changes(id: number, query: PageQuery): Promise<Page<ChangeView>> {
    return this.reader.changes(id, pagingOf(query))
  }
}
