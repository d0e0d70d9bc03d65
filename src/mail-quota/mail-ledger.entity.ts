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

@Entity('mail_owner')
export class MailOwner extends OwnerRow {}

@Entity('mail_act')
@Index(['operationId'])
@Index(['plainOwnerId', 'id'])
@Index(['plainQuotaId', 'id'])
export class MailAct extends ActRow {}

@Entity('mail_operation')
@Index(['ownerId', 'id'])
export class MailOperation extends OperationRow {}

@Entity('mail_allocation')
@Index(['quotaId', 'operationId'])
export class MailAllocation extends AllocationRow {}

@Entity('mail_hold')
@Index(['ownerId', 'expiresAt'])
@Index(['expiresAt'])
export class MailHold extends HoldRow {}

@Entity('mail_change')
@Index(['quotaId', 'id'])
@Index(['ownerId', 'id'])
@Index(['actor', 'id'])
@Index(['action', 'id'])
@Index(['requestId', 'id'])
@Index(['at', 'id'])
@Index(['changeSetId', 'quotaId'])
export class MailChange extends ChangeRow {}

@Entity('mail_refusal')
@Index(['ownerId', 'hour'])
export class MailRefusal extends RefusalRow {}

@Entity('mail_usage_total')
@Index(['step', 'beganAt'])
export class MailUsageTotal extends UsageTotalRow {}

@Entity('mail_ledger_state')
export class MailLedgerState extends LedgerStateRow {}

@Entity('mail_caller')
export class MailCaller extends CallerRow {}

@Entity('mail_ledger_gate')
export class MailLedgerGate extends LedgerGateRow {}

@Entity('mail_event')
@Index(['position'], { unique: true })
@Index(['actId', 'quotaId', 'type'], { unique: true })
@Index(['quotaId', 'type', 'position'])
@Index(['quotaId', 'position'])
@Index(['ownerId', 'type', 'position'])
@Index(['ownerId', 'position'])
@Index(['type', 'position'])
@Index(['at'])
export class MailEvent extends EventRow {}

@Entity('mail_event_feed')
export class MailEventFeed extends EventFeedRow {}
