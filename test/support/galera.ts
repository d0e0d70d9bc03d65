import { execFile, execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { chownSync, mkdtempSync, writeFileSync } from 'node:fs'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { createConnection, type RowDataPacket } from 'mysql2/promise'
import { findGalera } from '../../scripts/programs.mjs'
import { findMariaDb } from '../../scripts/mariadb.mjs'
import { ClusterServer, clusterPorts, PASSWORD, USER } from './cluster-server.js'
import { readable } from './ids.js'
import { opened } from './opened.js'

const LIBRARY = findGalera()

/** Is everything installed that a cluster on this machine needs, except rsync for the joining nodes? */
export const CAN_START_CLUSTER = LIBRARY !== undefined && findMariaDb() !== undefined

/** One server of the cluster. */
export class GaleraNode extends ClusterServer {
  private constructor(
    name: string,
    port: number,
    directory: string,
    private readonly options: readonly string[],
  ) {
    super(name, port, directory)
  }

  /** Prepares an empty data directory; starts nothing. @param ports for clients, the group, IST and SST */
  static async prepare(name: string, ports: readonly number[], group: readonly number[]): Promise<GaleraNode> {
    const [port, gcomm, ist, sst] = ports as [number, number, number, number]
    const directory = mkdtempSync(join(tmpdir(), 'quota-galera-'))
    const asRoot = process.getuid?.() === 0
    const userOption = asRoot ? ['--user=mysql'] : []
    const init = join(directory, 'init.sql')
    writeFileSync(
      init,
      `CREATE USER IF NOT EXISTS '${USER}'@'127.0.0.1' IDENTIFIED BY '${PASSWORD}';\n` +
        `GRANT ALL PRIVILEGES ON *.* TO '${USER}'@'127.0.0.1';\n`,
    )
    if (asRoot) for (const path of [directory, init]) chownSync(path, idOf('-u'), idOf('-g'))
    const data = join(directory, 'data')
    await promisify(execFile)(findMariaDb()!.installer, [
      '--no-defaults',
      ...userOption,
      `--datadir=${data}`,
      `--tmpdir=${directory}`,
      '--auth-root-authentication-method=normal',
      '--skip-test-db',
    ])
    return new GaleraNode(name, port, directory, [
      '--no-defaults',
      ...userOption,
      `--datadir=${data}`,
      `--tmpdir=${directory}`,
      `--port=${port}`,
      '--bind-address=127.0.0.1',
      '--skip-name-resolve',
      `--socket=${join(directory, 's.sock')}`,
      `--pid-file=${join(directory, 'server.pid')}`,
      `--log-error=${join(directory, 'server.log')}`,
      '--character-set-server=utf8mb4',
      '--innodb-flush-log-at-trx-commit=1',
      '--innodb-buffer-pool-size=64M',
      '--binlog-format=ROW',
      '--innodb-autoinc-lock-mode=2',
      '--wsrep-on=ON',
      `--wsrep-provider=${LIBRARY}`,
      '--wsrep-cluster-name=quota-test',
      `--wsrep-cluster-address=gcomm://${group.map((member) => `127.0.0.1:${member}`).join()}`,
      `--wsrep-node-name=${name}`,
      `--wsrep-node-address=127.0.0.1:${gcomm}`,
      '--wsrep-sst-method=rsync',
      `--wsrep-sst-receive-address=127.0.0.1:${sst}`,
      // All other options are Galera's defaults, including the 5 s after which a silent member is expelled.
      `--wsrep-provider-options=gmcast.listen_addr=tcp://127.0.0.1:${gcomm};ist.recv_addr=127.0.0.1:${ist};gcache.size=32M`,
    ])
  }

  /**
   * Starts it and waits until it is synchronized.
   * @param first it founds the cluster instead of joining it
   */
  async start({ first = false } = {}): Promise<void> {
    // Joining nodes get the user with the data.
    const founding = first ? ['--wsrep-new-cluster', `--init-file=${join(this.directory, 'init.sql')}`] : []
    this.run(findMariaDb()!.server, [...this.options, ...founding])
    await this.until('is in step', async () => (await this.status('wsrep_local_state_comment')) === 'Synced')
  }

  /** The rows committed anywhere in the cluster at this moment, as this node sees them. */
  async rows<T extends object = Record<string, unknown>>(sql: string, database?: string): Promise<T[]> {
    const connection = await createConnection({
      uri: this.url(database),
      connectTimeout: 2_000,
      supportBigNumbers: true,
    })
    try {
      await connection.query('SET SESSION wsrep_sync_wait = 1')
      const [rows] = await connection.query<RowDataPacket[]>(sql)
      return readable(rows as T[])
    } finally {
      connection.destroy()
    }
  }

  /** One of the server's status variables. */
  async status(name: string): Promise<string> {
    const connection = await createConnection({ uri: this.url(), connectTimeout: 2_000 })
    try {
      const [rows] = await connection.query<RowDataPacket[]>('SHOW GLOBAL STATUS WHERE Variable_name = ?', [name])
      return String(rows[0]?.['Value'])
    } finally {
      connection.destroy()
    }
  }
}

/** Three servers on loopback that commit together. */
export class GaleraCluster {
  private constructor(
    readonly nodes: readonly [GaleraNode, GaleraNode, GaleraNode],
    /** An initially empty database. */
    readonly database: string,
  ) {}

  static async start(): Promise<GaleraCluster> {
    const ports = await clusterPorts(12)
    const group = [ports[1]!, ports[5]!, ports[9]!]
    const nodes = (await Promise.all(
      group.map(async (_, n) => GaleraNode.prepare(`node-${n + 1}`, ports.slice(4 * n, 4 * n + 4), group)),
    )) as [GaleraNode, GaleraNode, GaleraNode]
    const cluster = new GaleraCluster(nodes, 'quota_galera')
    try {
      // One by one: a node that sends its data to a second one cannot serve a third.
      for (const [n, node] of nodes.entries()) await node.start({ first: n === 0 })
      await nodes[0].rows(`CREATE DATABASE ${cluster.database} CHARACTER SET utf8mb4`)
    } catch (error) {
      await cluster.stop()
      throw error
    }
    return cluster
  }

  readonly kind = 'Galera'

  async collisions(): Promise<number> {
    return (await this.sum('wsrep_local_cert_failures')) + (await this.sum('wsrep_local_bf_aborts'))
  }

  /** The first node alone becomes the cluster, which the others then join. */
  async goOnAlone(): Promise<void> {
    const [node] = this.nodes
    // Since MariaDB 11, a plug-in that is active with the provider has a variable for each of its options.
    const [own] = await node.rows("SHOW GLOBAL VARIABLES LIKE 'wsrep_provider_pc_bootstrap'")
    const name = own === undefined ? "wsrep_provider_options = 'pc.bootstrap=YES'" : 'wsrep_provider_pc_bootstrap = ON'
    await node.rows(`SET GLOBAL ${name}`)
  }

  /** The sum of a status variable over the nodes. */
  private async sum(status: string): Promise<number> {
    const values = await Promise.all(this.nodes.map(async (node) => Number(await node.status(status))))
    return values.reduce((a, b) => a + b, 0)
  }

  async stop(): Promise<void> {
    for (const node of [...this.nodes].reverse()) await node.stop()
  }
}

/** Servers of one cluster, as clients see them. */
export interface Nodes {
  readonly nodes: readonly { readonly port: number; url(database?: string): string }[]
  readonly database: string
}

/**
 * Forwards every connection to one node; when that one refuses, to the next, until that
 * one refuses.
 */
export class Failover {
  /** The index of the node that gets the writes. */
  current = 0
  private readonly listener: Server
  private readonly sockets = new Set<Socket>()
  private closed: () => void = () => undefined

  private constructor(private readonly cluster: Nodes) {
    this.listener = createServer((client) => {
      this.track(client)
      this.pass(client, cluster.nodes.length)
    })
  }

  static async start(cluster: Nodes): Promise<Failover> {
    const failover = new Failover(cluster)
    failover.closed = opened(async () => failover.close())
    failover.listener.listen(0, '127.0.0.1')
    await once(failover.listener, 'listening')
    return failover
  }

  /** The URL of the cluster's database through this proxy. */
  get url(): string {
    const url = new URL(this.cluster.nodes[0]!.url(this.cluster.database))
    url.port = String((this.listener.address() as AddressInfo).port)
    return url.toString()
  }

  async close(): Promise<void> {
    const closed = once(this.listener, 'close')
    this.listener.close()
    for (const socket of this.sockets) socket.destroy()
    await closed
    this.closed()
  }

  private pass(client: Socket, triesLeft: number): void {
    const chosen = this.current
    const server = connect(this.cluster.nodes[chosen]!.port, '127.0.0.1')
    this.track(server)
    let connected = false
    server.on('connect', () => {
      connected = true
      client.pipe(server).pipe(client)
    })
    server.on('close', () => {
      if (connected || client.destroyed || triesLeft <= 1) {
        client.destroy()
        return
      }
      // Another connection may have switched already.
      if (this.current === chosen) this.current = (chosen + 1) % this.cluster.nodes.length
      this.pass(client, triesLeft - 1)
    })
    client.on('close', () => server.destroy())
  }

  private track(socket: Socket): void {
    this.sockets.add(socket)
    socket.setNoDelay(true)
    socket.on('error', () => undefined)
    socket.on('close', () => this.sockets.delete(socket))
  }
}

function idOf(option: string): number {
  return Number(execFileSync('id', [option, 'mysql'], { encoding: 'utf8' }))
}
