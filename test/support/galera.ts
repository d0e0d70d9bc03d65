import { type ChildProcess, execFile, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chownSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { createConnection, type RowDataPacket } from 'mysql2/promise'
import { findGalera } from '../../scripts/galera.mjs'
import { findMariaDb, freePort } from '../../scripts/mariadb.mjs'
import { guard } from './guard.js'
import { opened } from './opened.js'

const LIBRARY = findGalera()

/** Is everything here that a cluster on this machine needs, rsync for the joining nodes apart? */
export const CAN_START_CLUSTER = LIBRARY !== undefined && findMariaDb() !== undefined

const USER = 'quota'
const PASSWORD = 'loopback'
/** A joining node copies the data of another one first. */
const JOINED_WITHIN_MS = 60_000
const STOPPED_WITHIN_MS = 20_000
/** Below the range from which systems take the ports of outgoing connections. */
const FIRST_PORT = 20_000
const LAST_FIRST_PORT = 30_000

/** One server of the cluster. */
export class GaleraNode {
  private child: ChildProcess | undefined
  private release: () => void = () => undefined

  private constructor(
    readonly name: string,
    readonly port: number,
    private readonly directory: string,
    private readonly options: readonly string[],
  ) {}

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
      // All else is Galera's default: above all the 5 s after which a silent member is given up.
      `--wsrep-provider-options=gmcast.listen_addr=tcp://127.0.0.1:${gcomm};ist.recv_addr=127.0.0.1:${ist};gcache.size=32M`,
    ])
  }

  /**
   * Starts it and waits until it is in step with the others.
   * @param first it founds the cluster instead of joining it
   */
  async start({ first = false } = {}): Promise<void> {
    // Whoever joins gets the user with the data.
    const founding = first ? ['--wsrep-new-cluster', `--init-file=${join(this.directory, 'init.sql')}`] : []
    const child = spawn(findMariaDb()!.server, [...this.options, ...founding], { stdio: 'ignore', detached: true })
    this.child = child
    if (child.pid !== undefined) this.release = guard(child.pid)
    const closed = opened(async () => this.stop())
    child.once('exit', () => {
      this.release()
      closed()
      if (this.child === child) this.child = undefined
    })
    const deadline = performance.now() + JOINED_WITHIN_MS
    while ((await this.status('wsrep_local_state_comment').catch(() => '')) !== 'Synced') {
      if (this.child !== child) throw new Error(`${this.name} ended at once:\n${this.log}`)
      if (performance.now() > deadline) throw new Error(`${this.name} is not in step:\n${this.log}`)
      await sleep(50)
    }
  }

  /** Names a database, which it does not create. */
  url(database = ''): string {
    return `mysql://${USER}:${PASSWORD}@127.0.0.1:${this.port}/${database}`
  }

  /** A crash. */
  async kill(): Promise<void> {
    await this.end('SIGKILL')
  }

  /** The orderly end; its data goes too. */
  async stop(): Promise<void> {
    await this.end('SIGTERM')
    rmSync(this.directory, { recursive: true, force: true, maxRetries: 5 })
  }

  /** What is committed anywhere in the cluster at this moment, as this node has it. */
  async rows<T extends object = Record<string, unknown>>(sql: string, database?: string): Promise<T[]> {
    const connection = await createConnection({
      uri: this.url(database),
      connectTimeout: 2_000,
      supportBigNumbers: true,
    })
    try {
      await connection.query('SET SESSION wsrep_sync_wait = 1')
      const [rows] = await connection.query<RowDataPacket[]>(sql)
      return rows as T[]
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

  private async end(signal: NodeJS.Signals): Promise<void> {
    const ending = this.child
    if (ending === undefined) return
    const gone = once(ending, 'exit')
    ending.kill(signal)
    const timer = setTimeout(() => ending.kill('SIGKILL'), STOPPED_WITHIN_MS)
    await gone
    clearTimeout(timer)
  }

  private get log(): string {
    try {
      return readFileSync(join(this.directory, 'server.log'), 'utf8').slice(-4_000)
    } catch {
      return ''
    }
  }
}

/** Three servers on loopback that commit together. */
export class GaleraCluster {
  private constructor(
    readonly nodes: readonly [GaleraNode, GaleraNode, GaleraNode],
    /** A database that is empty at first. */
    readonly database: string,
  ) {}

  static async start(): Promise<GaleraCluster> {
    const ports: number[] = []
    let from = FIRST_PORT + Math.floor(Math.random() * (LAST_FIRST_PORT - FIRST_PORT))
    while (ports.length < 12) {
      const port = await freePort(from)
      ports.push(port)
      from = port + 1
    }
    const group = [ports[1]!, ports[5]!, ports[9]!]
    const nodes = (await Promise.all(
      group.map(async (_, n) => GaleraNode.prepare(`node-${n + 1}`, ports.slice(4 * n, 4 * n + 4), group)),
    )) as [GaleraNode, GaleraNode, GaleraNode]
    const cluster = new GaleraCluster(nodes, 'quota_galera')
    try {
      // One by one: a node that gives its data to a second one has none for a third.
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
    await this.nodes[0].rows("SET GLOBAL wsrep_provider_options = 'pc.bootstrap=YES'")
  }

  /** What the nodes together say of themselves, as one sum. */
  private async sum(status: string): Promise<number> {
    const values = await Promise.all(this.nodes.map(async (node) => Number(await node.status(status))))
    return values.reduce((a, b) => a + b, 0)
  }

  async stop(): Promise<void> {
    for (const node of [...this.nodes].reverse()) await node.stop()
  }
}

/** Servers of one cluster, as whoever connects sees them. */
export interface Nodes {
  readonly nodes: readonly { readonly port: number; url(database?: string): string }[]
  readonly database: string
}

/**
 * Sends every connection to one node, and from the moment at which that one refuses to the next, until that one
 * refuses.
 */
export class Failover {
  /** The place of the node that is written to. */
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

  /** The cluster's database by way of this. */
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
      // Another connection may have found out already.
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
