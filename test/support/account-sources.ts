import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { chmod, chown, copyFile, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { findAccountSources } from '../../scripts/programs.mjs'
import { freePort } from '../../scripts/mariadb.mjs'
import type { Authority } from './certificates.js'
import { guard } from './guard.js'
import { opened } from './opened.js'

const run = promisify(execFile)
const PROGRAMS = findAccountSources() ?? { postgres: '', slapd: 'slapd' }
const READY_WITHIN_MS = 60_000
const IS_ROOT = process.getuid?.() === 0
export const PASSWORD = 'secret'

interface Ids {
  readonly uid?: number
  readonly gid?: number
}

/** A program that keeps accounts, on loopback with its own directory, removed at the end of the suite. */
class Source {
  private child: ChildProcess | undefined
  private output = ''

  protected constructor(
    readonly folder: string,
    readonly port: number,
    private readonly command: readonly [string, ...string[]],
    private readonly user: Ids,
    private readonly endsWith: NodeJS.Signals,
    private readonly ready: () => Promise<boolean>,
  ) {
    opened(async () => {
      this.child?.kill('SIGKILL')
      await rm(folder, { recursive: true, force: true })
    })
  }

  async start(): Promise<void> {
    const [program, ...args] = this.command
    const child = spawn(program, args, { ...this.user, cwd: this.folder, stdio: ['ignore', 'pipe', 'pipe'] })
    this.child = child
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk: Buffer) => (this.output += chunk.toString('utf8')))
    if (child.pid !== undefined) child.once('exit', guard(child.pid))
    const deadline = performance.now() + READY_WITHIN_MS
    while (!(await this.ready())) {
      if (child.exitCode !== null || performance.now() > deadline) throw new Error(`${program}:\n${this.output}`)
      await sleep(50)
    }
  }

  signal(name: NodeJS.Signals): void {
    this.child?.kill(name)
  }

  /** Stops the process: a thread of a busy machine may go on for a while after the signal. */
  async pause(): Promise<void> {
    this.signal('SIGSTOP')
    const tasks = `/proc/${this.child?.pid}/task`
    const isRunning = (task: string): boolean => !readFileSync(`${tasks}/${task}/stat`, 'utf8').includes(') T ')
    for (let n = 0; readdirSync(tasks).some(isRunning); n += 1) {
      if (n === 3_000) throw new Error('the process does not stop')
      await sleep(10)
    }
  }

  async stop(): Promise<void> {
    if (this.child === undefined) return
    const gone = once(this.child, 'exit')
    this.child.kill(this.endsWith)
    await gone
    this.child = undefined
  }
}

/** A PostgreSQL with an empty database `mail`, and `reader` as its administrator. */
export class Postgres extends Source {
  static async open(authority: Authority): Promise<Postgres> {
    const program = (name: string): string => join(PROGRAMS.postgres, name)
    const folder = await mkdtemp(join(tmpdir(), 'quota-pg-'))
    // It does not run as root.
    const ids: Ids = IS_ROOT ? await idsOf('postgres') : {}
    const at = (name: string): string => join(folder, name)
    const { certificate, key } = await authority.issue('DNS:localhost')
    await copyFile(certificate, at('server.pem'))
    await copyFile(key, at('server.key'))
    await chmod(at('server.key'), 0o600)
    await writeFile(at('password'), PASSWORD)
    for (const path of [folder, at('server.pem'), at('server.key'), at('password')])
      if (ids.uid !== undefined && ids.gid !== undefined) await chown(path, ids.uid, ids.gid)
    const options = [
      '-D',
      at('data'),
      '-U',
      'reader',
      `--pwfile=${at('password')}`,
      '-A',
      'scram-sha-256',
      '-E',
      'UTF8',
      '-N',
    ]
    await run(program('initdb'), [...options, '--locale=C.UTF-8'], { ...ids, cwd: folder })
    const port = await freePort()
    const settings = [
      `port=${port}`,
      'listen_addresses=127.0.0.1',
      `unix_socket_directories=${folder}`,
      'fsync=off',
      'ssl=on',
      `ssl_cert_file=${at('server.pem')}`,
      `ssl_key_file=${at('server.key')}`,
    ]
    const command = [program('postgres'), '-D', at('data'), ...settings.flatMap((setting) => ['-c', setting])] as const
    const isReady = async (): Promise<boolean> =>
      run(program('pg_isready'), ['-h', '127.0.0.1', '-p', String(port)]).then(
        () => true,
        () => false,
      )
    const postgres = new Postgres(folder, port, command, ids, 'SIGINT', isReady)
    await postgres.start()
    await postgres.execute('CREATE DATABASE mail', 'postgres')
    return postgres
  }

  get url(): string {
    return `postgresql://reader:${PASSWORD}@localhost:${this.port}/mail`
  }

  async execute(sql: string, database = 'mail'): Promise<void> {
    const args = ['-h', '127.0.0.1', '-p', String(this.port), '-U', 'reader', '-v', 'ON_ERROR_STOP=1', '-qc', sql]
    await run(join(PROGRAMS.postgres, 'psql'), [...args, database], { env: { PGPASSWORD: PASSWORD } })
  }
}

export const BASE = 'dc=example,dc=org'
export const READER = `cn=reader,${BASE}`

/** A directory of people, in which only `READER` may read. */
export class Slapd extends Source {
  private constructor(
    folder: string,
    port: number,
    readonly securePort: number,
    command: readonly [string, ...string[]],
  ) {
    super(folder, port, command, {}, 'SIGTERM', () => listens(port))
  }

  /** @param people the logins, each with its values of departmentNumber */
  static async open(authority: Authority, people: Readonly<Record<string, readonly number[]>>): Promise<Slapd> {
    const folder = await mkdtemp(join(tmpdir(), 'quota-ldap-'))
    const at = (name: string): string => join(folder, name)
    const { certificate, key } = await authority.issue('DNS:localhost')
    await copyFile(certificate, at('server.pem'))
    await copyFile(key, at('server.key'))
    await mkdir(at('data'))
    await writeFile(
      at('slapd.conf'),
      `
${['core', 'cosine', 'inetorgperson'].map((name) => `include /etc/ldap/schema/${name}.schema`).join('\n')}
modulepath /usr/lib/ldap
moduleload back_mdb
TLSCertificateFile ${at('server.pem')}
TLSCertificateKeyFile ${at('server.key')}
database mdb
suffix ${BASE}
directory ${at('data')}
dbnosync
access to attrs=userPassword by anonymous auth
access to * by dn.exact=${READER} read
`,
    )
    const base64 = (text: string): string => Buffer.from(text).toString('base64')
    const entries = Object.entries(people).map(
      ([login, numbers], n) => `dn: cn=person-${n},${BASE}
objectClass: inetOrgPerson
cn: person-${n}
sn: Somebody
uid:: ${base64(login)}
${numbers.map((number) => `departmentNumber: ${number}\n`).join('')}`,
    )
    await writeFile(
      at('people.ldif'),
      [
        `dn: ${BASE}\nobjectClass: dcObject\nobjectClass: organization\no: Example\ndc: example\n`,
        `dn: ${READER}\nobjectClass: organizationalRole\nobjectClass: simpleSecurityObject\ncn: reader\nuserPassword: ${PASSWORD}\n`,
        ...entries,
      ].join('\n'),
    )
    await run(PROGRAMS.slapd, ['-Tadd', '-f', at('slapd.conf'), '-l', at('people.ldif')])
    const [port, securePort] = [await freePort(), await freePort()]
    const urls = `ldap://127.0.0.1:${port}/ ldaps://127.0.0.1:${securePort}/`
    const slapd = new Slapd(folder, port, securePort, [PROGRAMS.slapd, '-d', '0', '-f', at('slapd.conf'), '-h', urls])
    await slapd.start()
    return slapd
  }
}

async function idsOf(name: string): Promise<{ uid: number; gid: number }> {
  const [uid, gid] = await Promise.all(
    ['-u', '-g'].map(async (option) => Number((await run('id', [option, name])).stdout)),
  )
  return { uid: uid ?? 0, gid: gid ?? 0 }
}

async function listens(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1')
  try {
    await once(socket, 'connect')
    return true
  } catch {
    return false
  } finally {
    socket.destroy()
  }
}
