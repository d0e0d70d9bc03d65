import { Entity, Index } from 'typeorm'
import { ActRow } from '../ledger/act.entity.js'
import { AllocationRow } from '../ledger/allocation.entity.js'
import { ChangeRow } from '../ledger/change.entity.js'
import { HoldRow } from '../ledger/hold.entity.js'
import { OperationRow } from '../ledger/operation.entity.js'
import { OwnerRow } from '../ledger/owner.entity.js'

@Entity('mail_owner')
export class MailOwner extends OwnerRow {}

@Entity('mail_act')
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
export class MailChange extends ChangeRow {}
