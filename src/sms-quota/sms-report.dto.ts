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
import { SmsQuotaDto } from './sms-quota.dto.js'

/** An owner, with the sums of its active quotas. */
export class SmsOwner extends SummaryFields {
  /** The user. */
  @ResponseId()
  user_id!: number
}

/** A page of owners. */
export class SmsOwnersPage extends OwnersPageFields {
  /** The owners, each with the sums of its active quotas. */
  @ResponseObject(() => SmsOwner, { isArray: true })
  items!: SmsOwner[]
}

/** Selects changes of all quotas. */
export class SmsChangesQuery extends ChangesFields {
  /** Returns only entries of this user's quotas. */
  @IdField({ optional: true })
  user_id?: number
}

/** A change of a quota, of a group or of its members. */
export class SmsChange extends ChangeFields {
  /** The owner of the quota; null for a quota of a group, absent in a change of a group. */
  @ResponseId({ nullable: true, optional: true })
  user_id?: number | null
}

/** A page of the changes of one quota. */
export class SmsChangePage extends PageFields {
  /** The changes. */
  @ResponseObject(() => SmsChange, { isArray: true })
  items!: SmsChange[]
}

/** A page of the changes of all quotas. */
export class SmsChangesPage extends ChangesPageFields {
  /** The changes. */
  @ResponseObject(() => SmsChange, { isArray: true })
  items!: SmsChange[]
}

/** A page of the quotas that expire soon. */
export class SmsExpiringPage extends ExpiringPageFields {
  /** The quotas. */
  @ResponseObject(() => SmsQuotaDto, { isArray: true })
  items!: SmsQuotaDto[]
}

/** The refusals of an owner for one reason. */
export class SmsTopRefusal extends TopRefusalFields {
  /** The refused owner. */
  @ResponseId()
  user_id!: number
}

/** The owners with most refusals. */
export class SmsTopRefusals {
  /** One item for each user and reason. */
  @ResponseObject(() => SmsTopRefusal, { isArray: true })
  items!: SmsTopRefusal[]
}

/** Selects refusals by exactly one of owner and `all`. */
export class SmsRefusalsQuery extends RefusalsFields {
  /** Returns only refusals of this user. */
  @IdField({ optional: true })
  user_id?: number

  /** Checks the rules between the fields. */
  violations(): FieldError[] {
    return refusalsViolations(this, 'user_id')
  }
}

/** A cap on trial. */
export class SmsCapTrial extends CapTrialFields {
  /** The user. */
  @IdField()
  user_id!: number
}

/** Selects events. */
export class SmsEventsQuery extends EventsFields {
  /** Returns only entries of this user's quotas. */
  @IdField({ optional: true })
  user_id?: number
}

/** The event of a quota that reached thresholds. */
export class SmsThresholdEvent extends ThresholdEventFields {
  /** The owner of the quota; null for a quota of a group. */
  @ResponseId({ nullable: true })
  user_id!: number | null
}

/** The event of a change of a quota. */
export class SmsChangeEvent extends ChangeEventFields {
  /** The owner of the quota; null for a quota of a group. */
  @ResponseId({ nullable: true })
  user_id!: number | null

  /** The change. */
  @ResponseObject(() => SmsChange)
  data!: SmsChange
}

/** The event of an owner whose requests are refused, or no longer. */
export class SmsOwnerEvent extends OwnerEventFields {
  /** The user. */
  @ResponseId()
  user_id!: number
}

/** The form of events with each cause. */
const EVENT_FORMS = {
  threshold: SmsThresholdEvent,
  change: SmsChangeEvent,
  spell: SmsOwnerEvent,
} satisfies Readonly<Record<EventCause, new () => object>>

/** A page of events. */
export class SmsEventsPage extends EventsPageFields {
  /** The events. */
  @ResponseForms(Object.values(EVENT_FORMS))
  items!: InstanceType<(typeof EVENT_FORMS)[EventCause]>[]
}
