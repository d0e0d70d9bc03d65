import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import type { DataSource, EntityTarget, QueryRunner } from 'typeorm'
import { VERSION } from '../common/version.js'
import type { DatabaseConfig } from '../config/config.js'
import { INSTANCES } from './instance.entity.js'
import { connected, isAbsent } from './migrate.js'
import type { Dialect } from './row-codec.js'
import type { Transaction } from './transaction-runner.js'

/** An instance that was seen within this time counts as running. Four times the interval of the heartbeats. */
const PRESENT_SECONDS = 60
/** Rows of instances that have been gone for this time are removed. */
const FORGOTTEN_SECONDS = 600

/** The name of this process. */
export const PROCESS_NAME = `${hostname().slice(0, 100)} (pid ${process.pid})`
/** The id of this process's record between the lock of migrations and its first heartbeat. */
const STARTING = randomUUID()

/** A running instance. */
export interface Instance {
  readonly name: string
  readonly version: string
  /** How long ago it was seen, in whole seconds of the store's clock. */
  readonly secondsAgo: number
}

/** The store's clock, so that the clocks of hosts do not matter; `back` seconds ago, or ahead if negative. */
function now(dialect: Dialect, back = 0): string {
  return dialect === 'mysql'
    ? `(UTC_TIMESTAMP(3) - INTERVAL ${back} SECOND)`
    : `strftime('%Y-%m-%d %H:%M:%f', 'now', '${-back} seconds')`
}

/** Records under the lock of migrations that this process starts, so that whoever gets the lock next knows it. */
export async function recordStart(dataSource: DataSource, runner: QueryRunner): Promise<void> {
  const dialect = dialectOf(dataSource)
  // A file's disk may be full; its transaction would be lost.
  if (dialect === 'sqlite') return
  await runner
    .query(recorded(dialect), [STARTING, PROCESS_NAME, VERSION])
    // A server that takes no writes takes no heartbeat either; an instance starts nevertheless.
    .catch(() => undefined)
}

/** Records a heartbeat, and removes old rows. */
export async function recordHeartbeat(
  transaction: Transaction,
  id: string,
  name: string,
  version: string,
): Promise<void> {
  const { dialect } = transaction
  await transaction.execute(`DELETE FROM ${INSTANCES} WHERE id = ? OR seen_at < ${now(dialect, FORGOTTEN_SECONDS)}`, [
    STARTING,
  ])
  await transaction.execute(recorded(dialect), [id, name, version])
}

/** Records that an instance has stopped. */
export async function removeHeartbeat(transaction: Transaction, id: string): Promise<void> {
  await transaction.execute(`DELETE FROM ${INSTANCES} WHERE id = ?`, [id])
}

/** The instances that were running within the last minute, the oldest version first. */
export async function runningInstances(
  config: DatabaseConfig,
  entities: readonly EntityTarget<unknown>[],
): Promise<Instance[]> {
  if (isAbsent(config)) return []
  return connected(config, entities, instancesIn)
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

/** The statement that records an id, a name and a version. */
function recorded(dialect: Dialect): string {
  return `REPLACE INTO ${INSTANCES} (id, name, version, seen_at) VALUES (?, ?, ?, ${now(dialect)})`
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

/** The instances that were running within the last minute, the oldest version first, by a connection that is there. */
export async function instancesIn(dataSource: DataSource, runner: QueryRunner): Promise<Instance[]> {
  if (!(await runner.hasTable(INSTANCES))) return []
  const dialect = dialectOf(dataSource)
  const ago = `${milliseconds(dialect, now(dialect))} - ${milliseconds(dialect, 'seen_at')}`
  const rows = (await runner.query(
    `SELECT name, version, ${ago} AS ago FROM ${INSTANCES} WHERE seen_at >= ${now(dialect, PRESENT_SECONDS)} ` +
      // Later ones are of instances that are gone, and of a clock that was ahead: whoever is there writes anew.
      `AND seen_at <= ${now(dialect, -PRESENT_SECONDS)}`,
  )) as { name: string; version: string; ago: string | number }[]
  return rows
    .map(({ name, version, ago: elapsed }) => ({ name, version, secondsAgo: seconds(Number(elapsed)) }))
    .sort((a, b) => compareVersions(a.version, b.version) || (a.name < b.name ? -1 : 1))
}

function seconds(milliseconds: number): number {
  return Math.max(0, Math.round(milliseconds / 1000))
}
