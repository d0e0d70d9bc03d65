import type { DataSource, EntityTarget, QueryRunner } from 'typeorm'
import type { DatabaseConfig } from '../config/config.js'
import { INSTANCES } from './instance.entity.js'
import { connected, isAbsent } from './migrate.js'
import type { Dialect } from './row-codec.js'
import type { Transaction } from './transaction-runner.js'

/** An instance that was seen within this time counts as running. Four times the interval of the heartbeats. */
const PRESENT_SECONDS = 60
/** Rows of instances that have been gone for this time are removed. */
const FORGOTTEN_SECONDS = 600
/** The tables of acts; release 0.1.0, which writes no heartbeats, is recognized by them. */
const FIRST_RELEASE = { version: '0.1.0', tables: ['mail_act', 'sms_act'] } as const

/** A running instance. */
export interface Instance {
  readonly name: string
  readonly version: string
  /** How long ago it was seen, in whole seconds of the store's clock. */
  readonly secondsAgo: number
}

/** The store's clock, so that the clocks of hosts do not matter; `back` seconds ago. */
function now(dialect: Dialect, back = 0): string {
  return dialect === 'mysql'
    ? `(UTC_TIMESTAMP(3) - INTERVAL ${back} SECOND)`
    : `strftime('%Y-%m-%d %H:%M:%f', 'now', '-${back} seconds')`
}

/** Records a heartbeat, and removes old rows. */
export async function recordHeartbeat(
  transaction: Transaction,
  id: string,
  name: string,
  version: string,
): Promise<void> {
  const { dialect } = transaction
  await transaction.execute(`DELETE FROM ${INSTANCES} WHERE seen_at < ${now(dialect, FORGOTTEN_SECONDS)}`)
  await transaction.execute(
    `REPLACE INTO ${INSTANCES} (id, name, version, seen_at) VALUES (?, ?, ?, ${now(dialect)})`,
    [id, name, version],
  )
}

/** Records that an instance has stopped. */
export async function removeHeartbeat(transaction: Transaction, id: string): Promise<void> {
  await transaction.execute(`DELETE FROM ${INSTANCES} WHERE id = ?`, [id])
}

/**
 * The instances that were running within the last minute, the oldest version first, including those of release 0.1.0,
 * which is recognized by its acts. One of those without a consume or reserve for a minute is not found.
 */
export async function runningInstances(
  config: DatabaseConfig,
  entities: readonly EntityTarget<unknown>[],
): Promise<Instance[]> {
  if (isAbsent(config)) return []
  return connected(config, entities, async (dataSource, runner) => {
    const found = [...(await named(dataSource, runner)), ...(await ofFirstRelease(dataSource, runner))]
    return found.sort((a, b) => compareVersions(a.version, b.version) || (a.name < b.name ? -1 : 1))
  })
}

/** Negative if the first version is the older one, 0 if both are the same release. */
export function compareVersions(first: string, second: string): number {
  const [a, b] = [first, second].map((version) => version.split(/\D+/).map(Number)) as [number[], number[]]
  for (const part of [0, 1, 2]) {
    const difference = (a[part] ?? 0) - (b[part] ?? 0)
    if (difference !== 0) return difference
  }
  return 0
}

function dialectOf(dataSource: DataSource): Dialect {
  return dataSource.options.type === 'better-sqlite3' ? 'sqlite' : 'mysql'
}

/** Milliseconds since 1970 of a time in the store, or of its clock. */
function milliseconds(dialect: Dialect, time: string): string {
  return dialect === 'mysql'
    ? `TIMESTAMPDIFF(MICROSECOND, '1970-01-01', ${time}) DIV 1000`
    : `CAST((julianday(${time}) - 2440587.5) * 86400000 AS INTEGER)`
}

async function named(dataSource: DataSource, runner: QueryRunner): Promise<Instance[]> {
  if (!(await runner.hasTable(INSTANCES))) return []
  const dialect = dialectOf(dataSource)
  const ago = `${milliseconds(dialect, now(dialect))} - ${milliseconds(dialect, 'seen_at')}`
  const rows = (await runner.query(
    `SELECT name, version, ${ago} AS ago FROM ${INSTANCES} WHERE seen_at >= ${now(dialect, PRESENT_SECONDS)}`,
  )) as { name: string; version: string; ago: string | number }[]
  return rows.map(({ name, version, ago: elapsed }) => ({ name, version, secondsAgo: seconds(Number(elapsed)) }))
}

/**
 * Finds acts that only 0.1.0 writes: a `default_amount` for a consume or a reserve, whose amount is never absent. Acts
 * are found by their ids, which begin with their time.
 */
async function ofFirstRelease(dataSource: DataSource, runner: QueryRunner): Promise<Instance[]> {
  const dialect = dialectOf(dataSource)
  const [clock] = (await runner.query(`SELECT ${milliseconds(dialect, now(dialect))} AS now`)) as [{ now: string }]
  const present = Number(clock.now)
  const found = new Map<string, Instance>()
  for (const table of FIRST_RELEASE.tables) {
    if (!(await runner.hasTable(table))) continue
    const rows = (await runner.query(
      `SELECT id, caller FROM ${table} WHERE id >= ? AND kind IN ('consume', 'reserve') AND default_amount IS NOT NULL ` +
        'ORDER BY id DESC LIMIT 1',
      [idOf(present - PRESENT_SECONDS * 1000)],
    )) as { id: string; caller: string }[]
    for (const { id, caller } of rows) {
      const name = `what consumed for "${caller}" (${table} ${id})`
      found.set(name, { name, version: FIRST_RELEASE.version, secondsAgo: seconds(present - timeOf(id)) })
    }
  }
  return [...found.values()]
}

/** Less than every UUIDv7 of this time. */
function idOf(milliseconds: number): string {
  const digits = Math.max(0, milliseconds).toString(16).padStart(12, '0')
  return `${digits.slice(0, 8)}-${digits.slice(8)}`
}

function timeOf(id: string): number {
  return Number.parseInt(id.replace('-', '').slice(0, 12), 16)
}

function seconds(milliseconds: number): number {
  return Math.max(0, Math.round(milliseconds / 1000))
}
