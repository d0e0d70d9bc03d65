import type { MigrationInterface, QueryRunner } from 'typeorm'
import {
  ascii,
  asciiText,
  bytes16,
  countNumber,
  createViews,
  createTables,
  dropTables,
  dropViews,
  generated,
  initially,
  instant,
  integer,
  key,
  nullable,
  oneOf,
  type TableText,
  unicode,
  unicodeText,
  type ViewText,
} from './tables.js'

/** A channel, as migrations know it. */
export interface MigratedChannel {
  /** The prefix of its tables' names. */
  readonly prefix: string
  /** The column of its quotas that names the owner. */
  readonly ownerColumn: string
  /** A second, optional owner that quotas can be listed by. */
  readonly userColumn?: string
}

const CHANNELS: readonly MigratedChannel[] = [
  { prefix: 'mail', ownerColumn: 'account_id', userColumn: 'user_id' },
  { prefix: 'sms', ownerColumn: 'user_id' },
]

/** Creates every table: those of each channel, and those of the service. */
export class Baseline1796000000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    for (const channel of CHANNELS) await createChannel(runner, channel)
    await createTables(runner, SERVICE)
  }

  async down(runner: QueryRunner): Promise<void> {
    await dropTables(runner, SERVICE)
    for (const channel of CHANNELS.toReversed()) await dropChannel(runner, channel)
  }
}

/** Creates the tables of a channel as this migration does; for the migration of a later channel. */
export async function createChannel(runner: QueryRunner, channel: MigratedChannel): Promise<void> {
  await createTables(runner, tablesOf(channel))
  await createViews(runner, viewsOf(channel))
  await insertRow(runner, `${channel.prefix}_ledger_gate`, `1, ${NO_ID}, NULL, 0`)
  await insertRow(runner, `${channel.prefix}_event_feed`, '1, 0, 0')
}

/** Drops the tables of a channel. */
export async function dropChannel(runner: QueryRunner, channel: MigratedChannel): Promise<void> {
  await dropViews(runner, viewsOf(channel))
  await dropTables(runner, tablesOf(channel))
}

/** Acts and changes for people: ids as text, and names as callers have them. No code reads them. */
function viewsOf({ prefix }: MigratedChannel): readonly ViewText[] {
  return [
    {
      name: `${prefix}_ledger`,
      from: `${prefix}_act`,
      columns: (text) => ({
        id: text('id'),
        at: 'at',
        kind: 'kind',
        owner_id: 'owner_id',
        quota_id: 'COALESCE(quota_id, plain_quota_id)',
        operation_id: `CASE WHEN plain_owner_id IS NULL THEN ${text('operation_id')} ELSE ${text('id')} END`,
        amount: 'amount',
        owner_remaining: 'owner_remaining',
        caller: 'COALESCE(caller_name, caller)',
        idempotency_key: 'idempotency_key',
        request_id: `COALESCE(${text('request_id')}, request_text)`,
        act_id: 'id',
      }),
    },
    {
      name: `${prefix}_changes`,
      from: `${prefix}_change`,
      columns: () => ({
        id: 'id',
        at: 'at',
        action: 'action',
        owner_id: 'owner_id',
        quota_id: 'quota_id',
        group_id: 'group_id',
        caller: 'COALESCE(actor_name, actor)',
        request_id: 'request_id',
        before_json: 'before_json',
        after_json: 'after_json',
        change_set_id: 'change_set_id',
      }),
    },
  ]
}

/** The kinds of acts. A later migration appends to them. */
const ACT_KINDS = [
  ...['create', 'update', 'delete', 'restore', 'reset', 'group', 'members', 'erase'],
  ...['consume', 'reserve', 'commit', 'release', 'refund'],
]

/** The nil UUID, which is less than every id. */
const NO_ID = `X'${'0'.repeat(32)}'`

/** Inserts the one row of a table, unless an aborted attempt has. */
async function insertRow(runner: QueryRunner, table: string, values: string): Promise<void> {
  await runner.query(
    `INSERT INTO ${table} SELECT ${values} FROM (SELECT 1 AS one) made WHERE NOT EXISTS (SELECT 1 FROM ${table})`,
  )
}

function tablesOf({ prefix, ownerColumn, userColumn }: MigratedChannel): readonly TableText[] {
  const subjects = userColumn === undefined ? [ownerColumn] : [ownerColumn, userColumn]
  return [
    {
      name: `${prefix}_quota`,
      columns: {
        id: generated,
        [ownerColumn]: integer,
        ...(userColumn === undefined ? {} : { [userColumn]: nullable(integer) }),
        quota_type: { type: 'tinyint' },
        total: integer,
        used: initially(0, integer),
        reserved: initially(0, integer),
        opening_used: initially(0, integer),
        state: ascii(8),
        expire_at: nullable(instant),
        cycle_unit: nullable(ascii(8)),
        cycle_time_zone: nullable(ascii(64)),
        cycle_anchor_at: nullable(instant),
        cycle_ends_at: nullable(instant),
        cycle_seq: initially(0, countNumber),
        hold_due_at: nullable(instant),
        version: initially(1, integer),
        created_at: instant,
        updated_at: instant,
        deleted_at: nullable(instant),
        label: nullable(unicode(120)),
        cap: nullable(ascii(7)),
        window_seconds: nullable(integer),
        thresholds: nullable(ascii(40)),
        passed: nullable(ascii(320)),
        window_counts: nullable(asciiText),
        group_id: nullable(integer),
        per: nullable(ascii(6)),
        follows: nullable(integer),
        overrides: nullable(ascii(160)),
        count_began_at: nullable(instant),
        copies_version: nullable(integer),
        label_search: nullable(unicode(361)),
        deleted: nullable({ type: 'tinyint', generatedType: 'VIRTUAL', asExpression: '`deleted_at` IS NOT NULL' }),
      },
      indexes: [
        ['deleted_at', 'id'],
        ['deleted_at', 'state', 'id'],
        ['deleted_at', 'state', 'expire_at'],
        ['deleted', 'id'],
        ['deleted', 'label_search', 'id'],
        ['deleted', 'cap', 'id'],
        ['deleted', 'cap', 'state', 'id'],
        ['deleted', 'cap', 'state', 'expire_at'],
        ['follows', 'id'],
        ['follows', 'copies_version'],
        ...subjects.flatMap((column) => [
          [column, 'deleted_at', 'id'],
          [column, 'deleted_at', 'state', 'id'],
        ]),
      ],
      unique: [[ownerColumn, 'follows']],
      check: '`used` >= 0 AND `reserved` >= 0 AND `total` >= 0',
    },
    {
      name: `${prefix}_owner`,
      columns: {
        owner_id: key(integer),
        edits: initially(0, integer),
        group_id: nullable(integer),
        member_since: nullable(instant),
        brought_by: nullable(ascii(64)),
        brought_at: nullable(instant),
        link_generation: initially(0, integer),
      },
      indexes: [
        ['group_id', 'owner_id'],
        ['brought_by', 'brought_at'],
      ],
    },
    {
      name: `${prefix}_group`,
      columns: {
        id: generated,
        name: unicode(120),
        live_name: nullable(unicode(361)),
        parent_id: nullable(integer),
        is_default: { type: 'tinyint', default: '0' },
        version: initially(1, integer),
        edits: initially(0, integer),
        created_at: instant,
        updated_at: instant,
        deleted_at: nullable(instant),
      },
      indexes: [
        ['deleted_at', 'id'],
        ['parent_id', 'deleted_at', 'id'],
      ],
      unique: [['live_name']],
    },
    {
      name: `${prefix}_act`,
      columns: {
        id: key(bytes16),
        kind: oneOf(...ACT_KINDS),
        owner_id: integer,
        quota_id: nullable(integer),
        operation_id: nullable(bytes16),
        caller: ascii(64),
        caller_name: nullable(unicode(64)),
        caller_id: nullable(ascii(37)),
        idempotency_key: nullable(ascii(255)),
        deduplication_key: nullable(bytes16),
        request_hash: nullable(bytes16),
        amount: nullable(integer),
        default_amount: nullable(integer),
        answer: unicodeText,
        request_id: nullable(bytes16),
        request_text: nullable(ascii(128)),
        at: instant,
        plain_owner_id: nullable(integer),
        plain_quota_id: nullable(integer),
        cycle_seq: nullable(countNumber),
        owner_remaining: nullable(integer),
        caps: nullable(ascii(600)),
      },
      indexes: [['operation_id'], ['plain_owner_id', 'id'], ['plain_quota_id', 'id']],
      unique: [['deduplication_key']],
    },
    {
      name: `${prefix}_operation`,
      columns: {
        id: key(bytes16),
        owner_id: integer,
        kind: oneOf('consume', 'reserve'),
        state: oneOf('consumed', 'reserved', 'committed', 'released', 'expired'),
        amount: integer,
        charged: integer,
        refunded: integer,
        owner_remaining: integer,
        expires_at: nullable(instant),
        created_at: instant,
      },
      indexes: [['owner_id', 'id']],
    },
    {
      name: `${prefix}_allocation`,
      columns: {
        operation_id: key(bytes16),
        position: key({ type: 'smallint' }),
        quota_id: integer,
        cycle_seq: countNumber,
        amount: integer,
        counted_at: nullable(instant),
      },
      indexes: [['quota_id', 'operation_id']],
    },
    {
      name: `${prefix}_hold`,
      columns: { operation_id: key(bytes16), owner_id: key(integer), expires_at: instant },
      indexes: [['owner_id', 'expires_at'], ['expires_at']],
    },
    {
      name: `${prefix}_change`,
      columns: {
        id: generated,
        quota_id: nullable(integer),
        owner_id: integer,
        group_id: nullable(integer),
        action: ascii(8),
        actor: ascii(64),
        actor_name: nullable(unicode(64)),
        request_id: ascii(128),
        at: instant,
        before_json: unicodeText,
        after_json: unicodeText,
        change_set_id: nullable(integer),
      },
      indexes: [
        ['quota_id', 'id'],
        ['owner_id', 'id'],
        ['group_id', 'id'],
        ['actor', 'id'],
        ['action', 'id'],
        ['request_id', 'id'],
        ['at', 'id'],
        ['change_set_id', 'quota_id'],
      ],
    },
    {
      name: `${prefix}_refusal`,
      columns: {
        hour: key(instant),
        owner_id: key(integer),
        code: key(ascii(16)),
        count: integer,
        requested: integer,
        smallest: integer,
        largest: integer,
        last_amount: integer,
        last_at: instant,
      },
      indexes: [['owner_id', 'hour']],
    },
    {
      name: `${prefix}_spell`,
      columns: {
        owner_id: key(integer),
        code: key(ascii(16)),
        stage: ascii(7),
        due_at: instant,
        since: instant,
        last_at: instant,
        count: integer,
        requested: integer,
        told_day: nullable(instant),
        next: nullable(asciiText),
      },
      indexes: [['stage', 'due_at']],
    },
    {
      name: `${prefix}_usage_total`,
      columns: {
        owner_id: key(integer),
        step: key(ascii(4)),
        began_at: key(instant),
        quota_id: key(integer),
        cycle_seq: key(countNumber),
        charged: integer,
        refunded: integer,
        refusals: integer,
        refused: integer,
      },
      indexes: [['step', 'began_at', 'owner_id']],
    },
    {
      name: `${prefix}_ledger_state`,
      columns: {
        id: key(integer),
        folded_to: bytes16,
        begins_at: nullable(instant),
        removed_to: nullable(instant),
        holder: nullable(ascii(36)),
        held_until: nullable(instant),
      },
    },
    {
      name: `${prefix}_ledger_gate`,
      columns: {
        id: key(integer),
        closed_to: bytes16,
        default_group_id: nullable(integer),
        chains_version: initially(0, integer),
      },
    },
    {
      name: `${prefix}_caller`,
      columns: { id: key(unicode(64)), name: unicode(64), spent_at: instant },
    },
    {
      name: `${prefix}_event`,
      columns: {
        seq: generated,
        position: nullable(integer),
        id: bytes16,
        type: ascii(32),
        at: instant,
        owner_id: integer,
        group_id: nullable(integer),
        quota_id: nullable(integer),
        act_id: nullable(bytes16),
        change_id: nullable(integer),
        label: nullable(unicode(120)),
        until_at: nullable(instant),
        data_json: unicodeText,
      },
      indexes: [
        ['quota_id', 'type', 'position'],
        ['quota_id', 'position'],
        ['owner_id', 'type', 'position'],
        ['owner_id', 'position'],
        ['group_id', 'position'],
        ['type', 'position'],
        ['at'],
      ],
      unique: [['position'], ['act_id', 'quota_id', 'type']],
    },
    {
      name: `${prefix}_event_feed`,
      columns: { id: key(integer), last_position: integer, removed_to: integer },
    },
    {
      name: `${prefix}_change_set`,
      columns: {
        id: generated,
        state: ascii(9),
        hidden: integer,
        work: nullable(ascii(7)),
        work_at: nullable(instant),
        attempts: integer,
        holder: nullable(ascii(36)),
        held_until: nullable(instant),
        source: ascii(6),
        filter: nullable(unicodeText),
        change: nullable(unicodeText),
        columns: nullable(unicodeText),
        actor: ascii(64),
        actor_name: nullable(unicode(64)),
        creator_id: ascii(64),
        waiting_rows: integer,
        acting_name: nullable(ascii(64)),
        acting_unicode_name: nullable(unicode(64)),
        acting_id: nullable(ascii(64)),
        acting_request_id: nullable(ascii(128)),
        version: integer,
        created_at: instant,
        expires_at: instant,
        applied_at: nullable(instant),
        reverted_at: nullable(instant),
        problem: nullable(unicodeText),
        deduplication_key: nullable(ascii(32)),
        request_hash: nullable(ascii(64)),
        answer: nullable(unicodeText),
        planned: integer,
        unchanged: integer,
        invalid: integer,
        applied: integer,
        conflict: integer,
        reverted: integer,
        kept: integer,
      },
      indexes: [
        ['hidden', 'id'],
        ['state', 'id'],
        ['work_at', 'creator_id'],
        ['creator_id', 'waiting_rows'],
        ['expires_at'],
      ],
      unique: [['deduplication_key']],
    },
    {
      name: `${prefix}_change_set_item`,
      columns: {
        set_id: key(integer),
        row_number: key(integer),
        line: nullable(integer),
        quota_id: nullable(integer),
        owner_id: nullable(integer),
        action: ascii(6),
        outcome: ascii(9),
        version: nullable(integer),
        anchor_at: nullable(instant),
        applied_version: nullable(integer),
        reverted_version: nullable(integer),
        given: nullable(unicodeText),
        command: nullable(unicodeText),
        before_json: nullable(unicodeText),
        after_json: nullable(unicodeText),
        problem: nullable(unicodeText),
      },
      indexes: [
        ['set_id', 'outcome', 'row_number'],
        ['set_id', 'owner_id', 'row_number'],
        ['quota_id', 'version'],
      ],
    },
  ]
}

const SERVICE: readonly TableText[] = [
  {
    name: 'service_instance',
    columns: { id: key(ascii(36)), name: unicode(128), version: ascii(32), seen_at: instant },
  },
  {
    name: 'webhook',
    columns: {
      name: key(ascii(64)),
      state: ascii(8),
      holder: nullable(ascii(36)),
      held_until: nullable(instant),
      delivered: integer,
      failed: integer,
      waiting: integer,
      failures_in_row: integer,
      attempt_at: nullable(instant),
      attempt_status: nullable(integer),
      attempt_error: nullable(unicode(200)),
      progress: unicodeText,
    },
  },
  {
    name: 'webhook_delivery',
    columns: {
      name: key(ascii(64)),
      channel: key(ascii(8)),
      position: key(integer),
      at: instant,
      attempts: integer,
      next_at: instant,
      received_by: nullable(asciiText),
      digest: nullable(asciiText),
    },
    indexes: [
      ['name', 'next_at'],
      ['name', 'at'],
    ],
  },
  { name: 'webhook_reader', columns: { name: key(ascii(64)), instance: key(ascii(36)), seen_at: instant } },
]
