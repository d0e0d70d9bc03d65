import { CapTrialFields } from '../channel-api/cap-trial.dto.js'
import {
  ChangeEventFields,
  EventsFields,
  EventsPageFields,
  OwnerEventFields,
  ThresholdEventFields,
} from '../channel-api/event.dto.js'
import { ChangeFields, PageFields, SummaryFields } from '../channel-api/quota.dto.js'
import {
  ChangesFields,
  ChangesPageFields,
  ExpiringPageFields,
  OwnersPageFields,
  RefusalsFields,
  refusalsViolations,
  TopRefusalFields,
} from '../channel-api/report.dto.js'
import type { FieldError } from '../common/service-error.js'
import type { EventCause } from '../domain/event-type.js'
import { IdField, ResponseForms, ResponseId, ResponseObject } from '../http/field.decorator.js'
import { MailQuotaDto } from './mail-quota.dto.js'

/** An owner, with the sums of its active quotas. */
export class MailOwner extends SummaryFields {
  /** The account. */
  @ResponseId()
  account_id!: number
}

/** A page of owners. */
export class MailOwnersPage extends OwnersPageFields {
  /** The owners, each with the sums of its active quotas. */
  @ResponseObject(() => MailOwner, { isArray: true })
  items!: MailOwner[]
}

/** Selects changes of all quotas. */
export class MailChangesQuery extends ChangesFields {
  /** Returns only entries of this account's quotas. */
  @IdField({ optional: true })
  account_id?: number
}

/** A change of a quota, of a group or of its members. */
export class MailChange extends ChangeFields {
  /** The owner of the quota; null for a quota of a group, absent in a change of a group. */
  @ResponseId({ nullable: true, optional: true })
  account_id?: number | null
}

/** A page of the changes of one quota. */
export class MailChangePage extends PageFields {
  /** The changes. */
  @ResponseObject(() => MailChange, { isArray: true })
  items!: MailChange[]
}

/** A page of the changes of all quotas. */
export class MailChangesPage extends ChangesPageFields {
  /** The changes. */
  @ResponseObject(() => MailChange, { isArray: true })
  items!: MailChange[]
}

/** A page of the quotas that expire soon. */
export class MailExpiringPage extends ExpiringPageFields {
  /** The quotas. */
  @ResponseObject(() => MailQuotaDto, { isArray: true })
  items!: MailQuotaDto[]
}

/** The refusals of an owner for one reason. */
export class MailTopRefusal extends TopRefusalFields {
  /** The refused owner. */
  @ResponseId()
  account_id!: number
}

/** The owners with most refusals. */
export class MailTopRefusals {
  /** One item for each account and reason. */
  @ResponseObject(() => MailTopRefusal, { isArray: true })
  items!: MailTopRefusal[]
}

/** Selects refusals by exactly one of owner and `all`. */
export class MailRefusalsQuery extends RefusalsFields {
  /** Returns only refusals of this account. */
  @IdField({ optional: true })
  account_id?: number

  /** Checks the rules between the fields. */
  violations(): FieldError[] {
    return refusalsViolations(this, 'account_id')
  }
}

/** A cap on trial. */
export class MailCapTrial extends CapTrialFields {
  /** The account. */
  @IdField()
  account_id!: number
}

/** Selects events. */
export class MailEventsQuery extends EventsFields {
  /** Returns only entries of this account's quotas. */
  @IdField({ optional: true })
  account_id?: number
}

/** The event of a quota that reached thresholds. */
export class MailThresholdEvent extends ThresholdEventFields {
  /** The owner of the quota; null for a quota of a group. */
  @ResponseId({ nullable: true })
  account_id!: number | null
}

/** The event of a change of a quota. */
export class MailChangeEvent extends ChangeEventFields {
  /** The owner of the quota; null for a quota of a group. */
  @ResponseId({ nullable: true })
  account_id!: number | null

  /** The change. */
  @ResponseObject(() => MailChange)
  data!: MailChange
}

/** The event of an owner whose requests are refused, or no longer. */
export class MailOwnerEvent extends OwnerEventFields {
  /** The account. */
  @ResponseId()
  account_id!: number
}

/** The form of events with each cause. */
const EVENT_FORMS = {
  threshold: MailThresholdEvent,
  change: MailChangeEvent,
  spell: MailOwnerEvent,
} satisfies Readonly<Record<EventCause, new () => object>>

/** A page of events. */
export class MailEventsPage extends EventsPageFields {
  /** The events. */
  @ResponseForms(Object.values(EVENT_FORMS))
  items!: InstanceType<(typeof EVENT_FORMS)[EventCause]>[]
}
