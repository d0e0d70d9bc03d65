import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { cp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { createConnection, type RowDataPacket } from 'mysql2/promise'
import { findGroupReplication } from '../../scripts/programs.mjs'
import { ClusterServer, clusterPorts, PASSWORD } from './cluster-server.js'
import { readable } from './ids.js'

/** Is there a MySQL server with the plug-in? */
export const CAN_START_GROUP = findGroupReplication() !== undefined

/** How long a member without a majority waits before it leaves. MySQL's own default is for ever. */
const ALONE_SECONDS = 5

/** One server of the group. */
export class GroupNode extends ClusterServer {
  private constructor(
    name: string,
    port: number,
    directory: string,
    private readonly options: readonly string[],
  ) {
    super(name, port, directory)
  }

  /**
   * Prepares an empty data directory; starts nothing.
   * @param template a data directory of a server that never ran
   * @param ports for clients and for the group
   */
  static async prepare(
    id: number,
    template: string,
    ports: readonly [number, number],
    group: { readonly uuid: string; readonly ports: readonly number[]; readonly primaries: 'one' | 'all' },
  ): Promise<GroupNode> {
    const [port, local] = ports
    const { plugins } = findGroupReplication()!
    const directory = mkdtempSync(join(tmpdir(), 'quota-group-'))
    const data = join(directory, 'data')
    await cp(template, data, { recursive: true })
    rmSync(join(data, 'auto.cnf'), { force: true })
    writeFileSync(join(directory, 'init.sql'), ACCOUNTS)
    return new GroupNode(`node-${id}`, port, directory, [
      ...asWhoever(),
      `--datadir=${data}`,
      `--tmpdir=${directory}`,
      `--plugin-dir=${plugins}`,
      `--port=${port}`,
      '--bind-address=127.0.0.1',
      '--skip-name-resolve',
      '--mysqlx=OFF',
      `--socket=${join(directory, 's.sock')}`,
      `--pid-file=${join(directory, 'server.pid')}`,
      `--log-error=${join(directory, 'server.log')}`,
      '--secure-file-priv=NULL',
      '--innodb-buffer-pool-size=64M',
      '--innodb-redo-log-capacity=32M',
      '--performance-schema-max-table-instances=500',
      `--server-id=${id}`,
      '--gtid-mode=ON',
      '--enforce-gtid-consistency=ON',
      '--transaction-isolation=READ-COMMITTED',
      `--report-host=127.0.0.1`,
      `--report-port=${port}`,
      '--plugin-load-add=group_replication.so',
      '--group-replication-start-on-boot=OFF',
      `--group-replication-group-name=${group.uuid}`,
      `--group-replication-local-address=127.0.0.1:${local}`,
      `--group-replication-group-seeds=${group.ports.map((member) => `127.0.0.1:${member}`).join()}`,
      `--group-replication-single-primary-mode=${group.primaries === 'one' ? 'ON' : 'OFF'}`,
      '--group-replication-recovery-get-public-key=ON',
      `--group-replication-unreachable-majority-timeout=${ALONE_SECONDS}`,
      '--group-replication-autorejoin-tries=0',
    ])
  }

  /**
   * Starts it and waits until it is synchronized.
   * @param founds it founds the group instead of joining it
   */
  async start({ founds = false, first = false } = {}): Promise<void> {
    // A returning member accepts no writes before it has joined: nothing keeps the service from it until then.
    const init = first ? [`--init-file=${join(this.directory, 'init.sql')}`] : ['--super-read-only=ON']
    this.run(findGroupReplication()!.server, ['--no-defaults', ...this.options, ...init])
    await this.until('answers', async () => (await this.rows('SELECT 1')).length === 1)
    await this.join({ founds })
  }

  /** Joins the group, for the first time or again. */
  async join({ founds = false } = {}): Promise<void> {
    await this.rows(`SET GLOBAL group_replication_bootstrap_group = ${founds ? 'ON' : 'OFF'}`)
    // A returning member is refused until the others have expelled its former self.
    await this.until('has joined', async () => {
      if ((await this.state()) === 'OFFLINE' || (await this.state()) === 'ERROR') {
        await this.rows('STOP GROUP_REPLICATION')
        await this.rows(`START GROUP_REPLICATION USER = 'joiner', PASSWORD = '${PASSWORD}'`)
      }
      return (await this.state()) === 'ONLINE'
    })
    await this.rows('SET GLOBAL group_replication_bootstrap_group = OFF')
  }

  /** As the administrator; reads what was committed anywhere in the group, if it is whole. */
  async rows<T extends object = Record<string, unknown>>(sql: string, database?: string): Promise<T[]> {
    const connection = await createConnection({
      host: '127.0.0.1',
      port: this.port,
      user: 'admin',
      password: PASSWORD,
      ...(database === undefined ? {} : { database }),
      connectTimeout: 5_000,
      supportBigNumbers: true,
    })
    try {
      if (database !== undefined) await connection.query("SET SESSION group_replication_consistency = 'BEFORE'")
      const [rows] = await connection.query<RowDataPacket[]>(sql)
      return readable(rows as T[])
    } finally {
      connection.destroy()
    }
  }

  /** Its member state: ONLINE, RECOVERING, ERROR, OFFLINE. */
  async state(): Promise<string> {
    const [row] = await this.rows<{ state: string }>(
      'SELECT member_state AS state FROM performance_schema.replication_group_members WHERE member_id = @@server_uuid',
    )
    return row?.state ?? 'OFFLINE'
  }

  /** Does the group, as this node sees it, accept writes on this node? */
  async isPrimary(): Promise<boolean> {
    const rows = await this.rows(
      "SELECT 1 FROM performance_schema.replication_group_members WHERE member_id = @@server_uuid AND member_role = 'PRIMARY' " +
        "AND member_state = 'ONLINE' AND @@super_read_only = 0",
    )
    return rows.length > 0
  }

  /** The number of transactions that this node rolled back because of another node's. */
  async conflicts(): Promise<number> {
    const [row] = await this.rows<{ sum: unknown }>(
      'SELECT SUM(count_conflicts_detected) AS sum FROM performance_schema.replication_group_member_stats ' +
        'WHERE member_id = @@server_uuid',
    )
    return Number(row?.sum)
  }
}

/** Three MySQL servers on loopback that commit together. */
export class Group {
  private constructor(
    readonly nodes: readonly [GroupNode, GroupNode, GroupNode],
    /** An initially empty database. */
    readonly database: string,
  ) {}

  /** @param primaries do all accept writes, or one? */
  static async start(primaries: 'one' | 'all'): Promise<Group> {
    const ports = await clusterPorts(6)
    const group = { uuid: randomUUID(), ports: ports.slice(3), primaries }
    const template = mkdtempSync(join(tmpdir(), 'quota-group-'))
    const nodes: GroupNode[] = []
    try {
      const data = join(template, 'data')
      const { server } = findGroupReplication()!
      await promisify(execFile)(server, [
        '--no-defaults',
        '--initialize-insecure',
        ...asWhoever(),
        `--datadir=${data}`,
        `--log-error=${join(template, 'log')}`,
      ])
      for (const n of [0, 1, 2]) {
        nodes.push(await GroupNode.prepare(n + 1, data, [ports[n]!, ports[n + 3]!], group))
      }
    } finally {
      rmSync(template, { recursive: true, force: true })
    }
    const started = new Group(nodes as [GroupNode, GroupNode, GroupNode], 'quota')
    try {
      for (const [n, node] of nodes.entries()) await node.start({ founds: n === 0, first: true })
      await nodes[0]!.rows(`CREATE DATABASE ${started.database} CHARACTER SET utf8mb4`)
    } catch (error) {
      await started.stop()
      throw error
    }
    return started
  }

  readonly kind = 'Group Replication'

  async collisions(): Promise<number> {
    const all = await Promise.all(this.nodes.map(async (node) => node.conflicts()))
    return all.reduce((a, b) => a + b, 0)
  }

  /** The first node founds a new group, which the others then join. */
  async goOnAlone(): Promise<void> {
    const [first] = this.nodes
    await first.rows('STOP GROUP_REPLICATION')
    await first.join({ founds: true })
    // Since MySQL 8.4, a member that gives up disconnects all users except administrators.
    await first.rows('SET GLOBAL offline_mode = OFF')
  }

  async stop(): Promise<void> {
    for (const node of [...this.nodes].reverse()) await node.stop()
  }
}

// Created on each node separately: the group must not replicate them.
const ACCOUNTS = [
  'SET SESSION sql_log_bin = 0',
  `CREATE USER admin@127.0.0.1 IDENTIFIED BY '${PASSWORD}'`,
  'GRANT ALL PRIVILEGES ON *.* TO admin@127.0.0.1',
  `CREATE USER joiner@127.0.0.1 IDENTIFIED BY '${PASSWORD}'`,
  'GRANT REPLICATION SLAVE, CONNECTION_ADMIN, BACKUP_ADMIN, GROUP_REPLICATION_STREAM ON *.* TO joiner@127.0.0.1',
  // The rights that docs/run/database.md gives to the service.
  `CREATE USER quota@127.0.0.1 IDENTIFIED BY '${PASSWORD}'`,
  'GRANT SELECT, INSERT, UPDATE, DELETE, CREATE, CREATE VIEW, ALTER, INDEX ON quota.* TO quota@127.0.0.1',
]
  .map((statement) => `${statement};\n`)
  .join('')

/** The server refuses to run as root without an explicit option. */
function asWhoever(): string[] {
  return process.getuid?.() === 0 ? ['--user=root'] : []
}
