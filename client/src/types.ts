import type { components, operations } from './schema.js'
import type { Camel } from './wire.js'

type Schemas = components['schemas']
type Body<Name extends keyof Schemas> = Camel<Schemas[Name]>
/** Optional members may be undefined: neither is sent. */
type Lax<Value> = {
  [Name in keyof Value]: Value extends Record<Name, Value[Name]> ? Value[Name] : Value[Name] | undefined
}
/** The form in which callers send. */
type Sent<Name extends keyof Schemas> = Lax<Body<Name>>
type Query<Name extends keyof operations> = Lax<Camel<NonNullable<operations[Name]['parameters']['query']>>>
/** A list's filters; `deleted` is a boolean here. */
type Filter<Name extends 'mailQuotaList' | 'smsQuotaList'> = Omit<Query<Name>, 'deleted'> & {
  /** Only soft-deleted quotas, each with the time of its deletion; other lists do not contain them. */
  deleted?: true | undefined
}

/* What both channels share. */

/** The principal of the client's token. */
export interface Me extends Body<'Me'> {}
/** A cap in a summary, a check and a refusal. */
export interface Cap extends Body<'Cap'> {}
/** What a cap on trial would have refused in the last days. */
export interface CapTrial extends Body<'CapTrial'> {}
/** The settings of a shared cap on trial. */
export interface GroupCapTrial extends Sent<'GroupCapTrial'> {}
/** Whether an amount fits now. A check charges and reserves nothing. */
export interface Check extends Body<'Check'> {}
/** Usage by step. */
export interface Series extends Body<'Series'> {}
/** The part of an operation that one quota paid. */
export interface Allocation extends Body<'Allocation'> {}
/** An act on an operation. */
export interface Act extends Body<'Act'> {}
/** The number of refusals of an owner, or of all, in one hour, by code. */
export interface Refusal extends Body<'Refusal'> {}
/** The settings that a change changed. */
export interface ChangedSettings extends Body<'ChangedSettings'> {}
/** A quota in a refusal. */
export interface RefusingQuota extends Body<'RefusingQuota'> {}
/** A wrong field of a request, by its camelCase name (`cycleUnit`, `items[3].amount`). */
export interface FieldError extends Body<'FieldError'> {}
/** The part of a hold to spend. */
export interface Commit extends Sent<'Commit'> {}
/** The part of an operation to refund. */
export interface Refund extends Sent<'Refund'> {}
/** The version of the quota to reset. */
export interface Group extends Body<'Group'> {}
export interface GroupPage extends Body<'GroupPage'> {}
export interface GroupSummary extends Body<'GroupSummary'> {}
export interface MembersAdded extends Body<'MembersAdded'> {}
export interface CreateGroup extends Sent<'CreateGroup'> {}
export interface UpdateGroup extends Sent<'UpdateGroup'> {}
export interface Reset extends Sent<'Reset'> {}
/** The additional members of a problem, by its code. */
export type ProblemBody = Camel<Extract<Schemas[keyof Schemas], { code: string; detail: string; request_id: string }>>

/** The result of a refused item of a batch. */
export interface BatchRefused extends Body<'BatchRefused'> {}

/** The event of a quota that reached thresholds. */
export interface ThresholdReached extends Body<'PassedThresholds'> {}
/** The refusals that an event of an owner tells of. */
export interface RefusedSpell extends Body<'RefusedSpell'> {}
/** An endpoint that receives events; the operator configures it in a file. */
export interface WebhookEndpoint extends Body<'Webhook'> {}
/** The result of a test message. */
export interface WebhookTest extends Body<'Tested'> {}
/** The period of the events to send again, `[from, to)`. */
export interface WebhookReplay extends Sent<'Replay'> {}
/** A change set: a change of many quotas, with the request as the service stored it. */
export interface AnyChangeSet extends Body<'ChangeSet'> {}
/** The reason why a row is `invalid`, in `conflict` or `kept`, or a change set `failed`. */
export interface RowProblem extends Body<'RowProblem'> {}

/** A link to the page of one owner. */
export interface Link extends Body<'Link'> {}
/** The lifetime of a link. */
export interface CreateLink extends Sent<'CreateLink'> {}
/** What the owner of a link sees. */
export interface OwnerView extends Body<'OwnerView'> {}

/* Mail: an account's quotas. */

export interface MailQuota extends Body<'MailQuota'> {}
export interface MailListedQuota extends Body<'MailListedQuota'> {}
export interface MailOperation extends Body<'MailOperation'> {}
export interface MailListedOperation extends Body<'MailListedOperation'> {}
export interface MailSummary extends Body<'MailSummary'> {}
export interface MailChange extends Body<'MailChange'> {}
export interface MailTopRefusal extends Body<'MailTopRefusal'> {}
export interface MailConsume extends Sent<'MailConsume'> {}
export interface MailReserve extends Sent<'MailReserve'> {}
export interface MailBatchItem extends Sent<'MailBatchItem'> {}
export interface MailBatchDone extends Body<'MailBatchDone'> {}
export interface CreateMailQuota extends Sent<'CreateMailQuota'> {}
export interface UpdateMailQuota extends Sent<'UpdateMailQuota'> {}
export interface MailQuotaPage extends Body<'MailQuotaPage'> {}
export interface MailChangePage extends Body<'MailChangePage'> {}
export interface MailChangesPage extends Body<'MailChangesPage'> {}
export interface MailOwnersPage extends Body<'MailOwnersPage'> {}
export interface MailCapTrial extends Sent<'MailCapTrial'> {}
export interface MailExpiringPage extends Body<'MailExpiringPage'> {}
export interface MailLedgerPage extends Body<'MailLedgerPage'> {}
export interface MailEventsPage extends Body<'MailEventsPage'> {}
export interface NewMailChangeSet extends Sent<'NewMailChangeSet'> {}
export interface MailMembersPage extends Body<'MailMembersPage'> {}
export interface MailAddMembers extends Sent<'MailAddMembers'> {}
export interface MailChangeSetRowsPage extends Body<'MailChangeSetRowsPage'> {}

/** Requests and answers of the mail channel. */
export interface Mail {
  owner: { accountId: number }
  consume: MailConsume
  reserve: MailReserve
  item: MailBatchItem
  done: MailBatchDone
  check: Query<'mailUsageCheck'>
  operation: MailOperation
  ledger: Query<'mailUsageList'>
  series: Query<'mailUsageSeries'>
  ledgerPage: MailLedgerPage
  quota: MailQuota
  listedQuota: MailListedQuota
  create: CreateMailQuota
  update: UpdateMailQuota
  list: Filter<'mailQuotaList'>
  quotaPage: MailQuotaPage
  summary: MailSummary
  change: MailChange
  changePage: MailChangePage
  changes: Query<'mailOfficeChanges'>
  changesPage: MailChangesPage
  ownersPage: MailOwnersPage
  expiringPage: MailExpiringPage
  capTrial: MailCapTrial
  refusals: Query<'mailOfficeRefusals'>
  topRefusal: MailTopRefusal
  events: Query<'mailOfficeEvents'>
  eventsPage: MailEventsPage
  newChangeSet: NewMailChangeSet
  changeSetRowsPage: MailChangeSetRowsPage
  membersPage: MailMembersPage
  addMembers: MailAddMembers
}

/* SMS: a user's quotas. */

export interface SmsQuota extends Body<'SmsQuota'> {}
export interface SmsListedQuota extends Body<'SmsListedQuota'> {}
export interface SmsOperation extends Body<'SmsOperation'> {}
export interface SmsListedOperation extends Body<'SmsListedOperation'> {}
export interface SmsSummary extends Body<'SmsSummary'> {}
export interface SmsChange extends Body<'SmsChange'> {}
export interface SmsTopRefusal extends Body<'SmsTopRefusal'> {}
export interface SmsConsume extends Sent<'SmsConsume'> {}
export interface SmsReserve extends Sent<'SmsReserve'> {}
export interface SmsBatchItem extends Sent<'SmsBatchItem'> {}
export interface SmsBatchDone extends Body<'SmsBatchDone'> {}
export interface CreateSmsQuota extends Sent<'CreateSmsQuota'> {}
export interface UpdateSmsQuota extends Sent<'UpdateSmsQuota'> {}
export interface SmsQuotaPage extends Body<'SmsQuotaPage'> {}
export interface SmsChangePage extends Body<'SmsChangePage'> {}
export interface SmsChangesPage extends Body<'SmsChangesPage'> {}
export interface SmsOwnersPage extends Body<'SmsOwnersPage'> {}
export interface SmsCapTrial extends Sent<'SmsCapTrial'> {}
export interface SmsExpiringPage extends Body<'SmsExpiringPage'> {}
export interface SmsLedgerPage extends Body<'SmsLedgerPage'> {}
export interface SmsEventsPage extends Body<'SmsEventsPage'> {}
export interface NewSmsChangeSet extends Sent<'NewSmsChangeSet'> {}
export interface SmsMembersPage extends Body<'SmsMembersPage'> {}
export interface SmsAddMembers extends Sent<'SmsAddMembers'> {}
export interface SmsChangeSetRowsPage extends Body<'SmsChangeSetRowsPage'> {}

/** Requests and answers of the SMS channel. */
export interface Sms {
  owner: { userId: number }
  consume: SmsConsume
  reserve: SmsReserve
  item: SmsBatchItem
  done: SmsBatchDone
  check: Query<'smsUsageCheck'>
  operation: SmsOperation
  ledger: Query<'smsUsageList'>
  series: Query<'smsUsageSeries'>
  ledgerPage: SmsLedgerPage
  quota: SmsQuota
  listedQuota: SmsListedQuota
  create: CreateSmsQuota
  update: UpdateSmsQuota
  list: Filter<'smsQuotaList'>
  quotaPage: SmsQuotaPage
  summary: SmsSummary
  change: SmsChange
  changePage: SmsChangePage
  changes: Query<'smsOfficeChanges'>
  changesPage: SmsChangesPage
  ownersPage: SmsOwnersPage
  expiringPage: SmsExpiringPage
  capTrial: SmsCapTrial
  refusals: Query<'smsOfficeRefusals'>
  topRefusal: SmsTopRefusal
  events: Query<'smsOfficeEvents'>
  eventsPage: SmsEventsPage
  newChangeSet: NewSmsChangeSet
  changeSetRowsPage: SmsChangeSetRowsPage
  membersPage: SmsMembersPage
  addMembers: SmsAddMembers
}

/** The types of one channel. */
export type AnyChannel = Mail | Sms

/** The filters that both channels have. */
export type ExpiringFilter = Query<'mailOfficeExpiring'>
export type TopRefusalsFilter = Query<'mailOfficeTopRefusals'>
export type ChangeSetsFilter = Query<'mailChangeSetList'>
export type RowsFilter = Query<'mailChangeSetRows'>
export type GroupsFilter = Query<'mailGroupList'>
export type MembersFilter = Query<'mailGroupMembers'>
export type OwnersFilter = Query<'mailOfficeOwners'>
export type ChangesOfFilter = Query<'mailQuotaChanges'>
