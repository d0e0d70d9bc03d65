import { validationFailed } from '../common/service-error.js'
import { firstOfEach } from '../http/dto.js'
import { pagingOf, type PageQuery } from '../http/page.dto.js'
import type { Page } from '../ledger/read/list-reader.js'
import type { QuotaReader, SummaryWithCaps } from '../ledger/read/quota-reader.js'
import type { Channel } from '../ledger/rows/channel.js'
import type { QuotaRow } from '../ledger/rows/quota.entity.js'
import type { ChangeView, QuotaView } from '../ledger/store/answers.js'
import type { Caller, Outcome } from '../ledger/store/command.js'
import type { Ledger } from '../ledger/write/ledger.js'
import { ownerOf, subjectsOf, subjectFilter } from './subjects.js'
import { filterOf, type QuotaListFields } from './quota.dto.js'
import { type NewSettingsFields, patchOf, placeOf, type SettingsPatchFields, settingsOf } from './settings.dto.js'

/**
 * Administrators' operations on one channel's quotas: takes DTOs, returns domain values. Every error is a ServiceError.
 */
export class QuotaService<Q extends QuotaRow> {
  constructor(
    private readonly channel: Channel<Q>,
    private readonly ledger: Ledger<Q>,
    private readonly reader: QuotaReader<Q>,
  ) {}

  /**
   * Creates a quota.
   * @param dto names its subjects, in addition to the settings
   * @param key makes a retry return the first answer
   */
  async create(caller: Caller, dto: NewSettingsFields, key: string | undefined): Promise<Outcome> {
    const [ownerId, subjects] = [ownerOf(this.channel, dto), subjectsOf(this.channel, dto)]
    return this.ledger.create(caller, ownerId, subjects, settingsOf(dto), key ?? null, placeOf(dto))
  }

  /** A page of live quotas, newest first, as the JSON that concurrent requests for it share. */
  async list({ id: principalId }: Caller, query: QuotaListFields): Promise<string> {
    return this.reader.listAsJson(principalId, filterOf(query, subjectFilter(this.channel, query)), pagingOf(query))
  }

  /** The sums of an owner's active quotas. */
  async summary(ownerId: number): Promise<SummaryWithCaps> {
    return this.reader.summary(ownerId)
  }

  /** One live quota. */
  async get(id: number): Promise<QuotaView> {
    return this.reader.get(id)
  }

  /** Changes settings. Errors of the body and errors that depend on the record are reported together. */
  async update(caller: Caller, id: number, patch: SettingsPatchFields): Promise<Outcome> {
    const overrides = patch.overrides ?? undefined
    if (patch.errors !== undefined) {
      throw validationFailed(firstOfEach(await this.reader.violationsBy(id, patchOf(patch), patch.errors, overrides)))
    }
    return this.ledger.update(caller, id, patchOf(patch), patch.version, overrides)
  }

  /** Soft-deletes. */
  async remove(caller: Caller, id: number, version: number | undefined): Promise<void> {
    await this.ledger.remove(caller, id, version)
  }

  /** Reverts a soft delete. */
  async restore(caller: Caller, id: number): Promise<Outcome> {
    return this.ledger.restore(caller, id)
  }

  /** Begins a new count of a quota's units. */
  async reset(caller: Caller, id: number, version: number | undefined, key: string | undefined): Promise<Outcome> {
    return this.ledger.reset(caller, id, version, key ?? null)
  }

  /** A page of the changes of a quota's settings, newest first. */
  async changes({ id: principalId }: Caller, id: number, query: PageQuery): Promise<Page<ChangeView>> {
    return this.reader.changes(principalId, id, pagingOf(query))
  }
}
