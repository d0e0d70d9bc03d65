import { Entity, Index } from 'typeorm'
import { ActRow } from '../ledger/rows/act.entity.js'
import { AllocationRow } from '../ledger/rows/allocation.entity.js'
import { CallerRow } from '../ledger/rows/caller.entity.js'
import { ChangeRow } from '../ledger/rows/change.entity.js'
import { EventFeedRow } from '../ledger/rows/event-feed.entity.js'
import { EventRow } from '../ledger/rows/event.entity.js'
import { HoldRow } from '../ledger/rows/hold.entity.js'
import { OperationRow } from '../ledger/rows/operation.entity.js'
import { OwnerRow } from '../ledger/rows/owner.entity.js'
import { RefusalRow } from '../ledger/rows/refusal.entity.js'
import { LedgerGateRow } from '../ledger/rows/ledger-gate.entity.js'
import { LedgerStateRow } from '../ledger/rows/ledger-state.entity.js'
import { UsageTotalRow } from '../ledger/rows/usage-total.entity.js'

@Entity('sms_owner')
export class SmsOwner extends OwnerRow {}

@Entity('sms_act')
@Index(['operationId'])
@Index(['plainOwnerId', 'id'])
@Index(['plainQuotaId', 'id'])
export class SmsAct extends ActRow {}

@Entity('sms_operation')
@Index(['ownerId', 'id'])
export class SmsOperation extends OperationRow {}

@Entity('sms_allocation')
@Index(['quotaId', 'operationId'])
export class SmsAllocation extends AllocationRow {}

@Entity('sms_hold')
@Index(['ownerId', 'expiresAt'])
@Index(['expiresAt'])
export class SmsHold extends HoldRow {}

@Entity('sms_change')
@Index(['quotaId', 'id'])
@Index(['ownerId', 'id'])
@Index(['actor', 'id'])
@Index(['action', 'id'])
@Index(['requestId', 'id'])
@Index(['at', 'id'])
@Index(['changeSetId', 'quotaId'])
export class SmsChange extends ChangeRow {}

@Entity('sms_refusal')
@Index(['ownerId', 'hour'])
export class SmsRefusal extends RefusalRow {}

@Entity('sms_usage_total')
@Index(['step', 'beganAt'])
export class SmsUsageTotal extends UsageTotalRow {}

@Entity('sms_ledger_state')
export class SmsLedgerState extends LedgerStateRow {}

@Entity('sms_caller')
export class SmsCaller extends CallerRow {}

@Entity('sms_ledger_gate')
export class SmsLedgerGate extends LedgerGateRow {}

@Entity('sms_event')
@Index(['position'], { unique: true })
@Index(['actId', 'quotaId', 'type'], { unique: true })
@Index(['quotaId', 'type', 'position'])
@Index(['quotaId', 'position'])
@Index(['ownerId', 'type', 'position'])
@Index(['ownerId', 'position'])
@Index(['type', 'position'])
@Index(['at'])
export class SmsEvent extends EventRow {}

@Entity('sms_event_feed')
export class SmsEventFeed extends EventFeedRow {}
