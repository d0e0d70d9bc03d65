import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { connect, createServer, type Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { freePort } from '../../scripts/mariadb.mjs'
import { findPostfix } from '../../scripts/programs.mjs'
import { guard } from './guard.js'
import { opened } from './opened.js'

const run = promisify(execFile)
const PROGRAM = findPostfix() ?? 'postfix'
const READY_WITHIN_MS = 30_000

/**
 * The services (master.cf) in addition to the listening ones: those of Debian's package that are involved, all
 * without chroot.
 */
const SERVICES = `
cleanup   unix n - n -  0 cleanup
qmgr      unix n - n 300 1 qmgr
rewrite   unix - - n -  - trivial-rewrite
bounce    unix - - n -  0 bounce
defer     unix - - n -  0 bounce
trace     unix - - n -  0 bounce
verify    unix - - n -  1 verify
flush     unix n - n 1000? 0 flush
proxymap  unix - - n -  - proxymap
smtp      unix - - n -  - smtp
sink      unix - - n -  - smtp
showq     unix n - n -  - showq
error     unix - - n -  - error
retry     unix - - n -  - error
discard   unix - - n -  - discard
anvil     unix - - n -  1 anvil
scache    unix - - n -  1 scache
postlog   unix-dgram n - n - 1 postlogd
`

/**
 * A Postfix for one suite, with its own configuration, queue and ports. XCLIENT names the login, as a proxy
 * in front of Postfix would.
 *
 * Deferred messages are tried again after three seconds. A queue manager that looks each second meets the lock of the
 * message that it has just deferred, and leaves that for five minutes.
 *
 * It listens twice: `submission` asks the policy server and sends the accepted messages to the sink; `queue` accepts
 * everything and delivers it to `submission`, with retries, as any other mail server would. What `sendmail` hands in
 * goes to the sink.
 */
export class Postfix {
  private constructor(
    private readonly folder: string,
    readonly submission: number,
    readonly queue: number,
  ) {}

  /**
   * @param options parameters of `submission`, such as `smtpd_end_of_data_restrictions=check_policy_service …`
   * @param sink the port for accepted mail
   * @param more parameters of all services
   */
  static async start(options: readonly string[], sink: number, more: readonly string[] = []): Promise<Postfix> {
    const folder = await mkdtemp(join(tmpdir(), 'quota-postfix-'))
    // Its processes run as `postfix`, and need access.
    await chmod(folder, 0o755)
    const at = (name: string): string => join(folder, name)
    for (const name of ['queue', 'data', 'etc']) await mkdir(at(name))
    const { stdout } = await run('id', ['-u', 'postfix'])
    await run('chown', [stdout.trim(), at('data')])
    const [submission, queue] = [await freePort(), await freePort()]
    await writeFile(
      at('etc/main.cf'),
      `
compatibility_level = 3.6
queue_directory = ${at('queue')}
data_directory = ${at('data')}
maillog_file = ${at('log')}
maillog_file_prefixes = ${folder}
myhostname = queue.test
mydestination =
alias_maps =
alias_database =
local_recipient_maps =
inet_interfaces = 127.0.0.1
inet_protocols = ipv4
mynetworks = 127.0.0.0/8
default_transport = smtp:[127.0.0.1]:${submission}
smtp_host_lookup = native
disable_dns_lookups = yes
default_process_limit = 300
smtpd_client_connection_count_limit = 0
smtpd_error_sleep_time = 0
smtpd_hard_error_limit = 100000
smtpd_authorized_xclient_hosts = 127.0.0.1
smtpd_relay_restrictions = permit_mynetworks, reject
minimal_backoff_time = 3s
maximal_backoff_time = 3s
queue_run_delay = 1s
${more.join('\n')}
`,
    )
    const smtpd = (port: number, options: string[]): string =>
      `127.0.0.1:${port} inet n - n - - smtpd\n${options.map((option) => `  -o {${option}}\n`).join('')}`
    const toSink = `content_filter=sink:[127.0.0.1]:${sink}`
    await writeFile(
      at('etc/master.cf'),
      smtpd(queue, []) +
        smtpd(submission, ['myhostname=submission.test', ...options, toSink]) +
        `pickup unix n - n 1 1 pickup\n  -o {${toSink}}\n` +
        SERVICES,
    )
    const postfix = new Postfix(folder, submission, queue)
    opened(async () => postfix.stop())
    await postfix.start()
    return postfix
  }

  /** Hands in a message on the host, as cron does. It is accepted for the queue, whatever becomes of it there. */
  async sendmail(from: string, recipients: readonly string[], text = 'text'): Promise<void> {
    const sent = run('/usr/sbin/sendmail', ['-C', join(this.folder, 'etc'), '-f', from, ...recipients])
    sent.child.stdin?.end(`Subject: test\n\n${text}\n`)
    await sent
  }

  /** The log of Postfix. */
  async log(): Promise<string> {
    return readFile(join(this.folder, 'log'), 'utf8').catch(() => '')
  }

  private async start(): Promise<void> {
    const child = spawn(PROGRAM, ['-c', join(this.folder, 'etc'), 'start-fg'], { stdio: 'ignore' })
    const deadline = performance.now() + READY_WITHIN_MS
    while (!(await greets(this.submission))) {
      if (performance.now() > deadline) throw new Error(`Postfix does not answer:\n${await this.log()}`)
      await sleep(100)
    }
    // The command starts the master, which is a separate process.
    child.once('exit', guard(Number(await readFile(join(this.folder, 'queue/pid/master.pid'), 'utf8'))))
  }

  private async stop(): Promise<void> {
    await run(PROGRAM, ['-c', join(this.folder, 'etc'), 'abort']).catch(() => undefined)
    await rm(this.folder, { recursive: true, force: true })
  }
}

async function greets(port: number): Promise<boolean> {
  try {
    const session = await SmtpSession.open(port)
    session.close()
    return true
  } catch {
    return false
  }
}

/** One connection of a mail program. */
export class SmtpSession {
  private text = ''
  private wake: () => void = () => undefined
  private ended = false

  private constructor(private readonly socket: Socket) {
    socket.on('data', (chunk) => {
      this.text += chunk.toString('latin1')
      this.wake()
    })
    const end = (): void => {
      this.ended = true
      this.wake()
    }
    socket.on('error', end)
    socket.on('close', end)
  }

  /** @param login the login, if any */
  static async open(port: number, login?: string): Promise<SmtpSession> {
    const socket = connect(port, '127.0.0.1')
    const session = new SmtpSession(socket)
    await session.reply()
    await session.command('EHLO client.test')
    if (login !== undefined) {
      await session.command(`XCLIENT LOGIN=${login}`)
      await session.command('EHLO client.test')
    }
    return session
  }

  /** Sends a message. @returns the server's reply to its end, or to `DATA` if it refuses that: no body is sent then */
  async send(from: string, recipients: readonly string[], text?: string): Promise<string> {
    const reply = await this.begin(from, recipients)
    const said = reply.startsWith('354') ? await this.body(from, text) : reply
    // Postfix keeps the envelope of a message that it refused.
    if (!said.startsWith('250')) await this.command('RSET')
    return said
  }

  /** Sends an envelope and `DATA`. @returns the reply to `DATA` */
  async begin(from: string, recipients: readonly string[]): Promise<string> {
    const commands = [`MAIL FROM:<${from}>`, ...recipients.map((address) => `RCPT TO:<${address}>`), 'DATA']
    this.socket.write(commands.map((command) => `${command}\r\n`).join(''))
    let said = ''
    for (const command of commands) {
      said = await this.reply()
      if (!/^[23]/.test(said) && command !== 'DATA') throw new Error(`${command} was refused: ${said}`)
    }
    return said
  }

  /** Sends a body, after the reply 354. @returns the reply to its end */
  async body(from: string, text = 'text'): Promise<string> {
    return this.command(`From: <${from}>\r\nSubject: test\r\n\r\n${text}\r\n.`)
  }

  async command(text: string): Promise<string> {
    this.socket.write(`${text}\r\n`)
    return this.reply()
  }

  close(): void {
    this.socket.destroy()
  }

  /** The next reply, with all its lines. */
  private async reply(): Promise<string> {
    for (;;) {
      const [whole] = /^(?:\d{3}-.*\r\n)*\d{3}(?: .*)?\r\n/.exec(this.text) ?? []
      if (whole !== undefined) {
        this.text = this.text.slice(whole.length)
        return whole.trim()
      }
      if (this.ended) throw new Error('the connection has ended')
      await new Promise<void>((resolve) => (this.wake = resolve))
    }
  }
}

/** Accepts mail, and counts the recipients by sender. */
export class Sink {
  readonly recipients = new Map<string, number>()
  private readonly server: Server

  private constructor() {
    this.server = createServer((socket) => this.serve(socket))
  }

  static async start(): Promise<Sink> {
    const sink = new Sink()
    sink.server.listen(0, '127.0.0.1')
    await once(sink.server, 'listening')
    opened(() => sink.server.close())
    return sink
  }

  get port(): number {
    return (this.server.address() as { port: number }).port
  }

  private serve(socket: Socket): void {
    let [text, sender, count, data] = ['', '', 0, false]
    const say = (line: string): boolean => socket.write(`${line}\r\n`)
    socket.on('error', () => undefined)
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1')
      for (let end = text.indexOf('\r\n'); end !== -1; end = text.indexOf('\r\n')) {
        const line = text.slice(0, end)
        text = text.slice(end + 2)
        if (data && line !== '.') continue
        if (line === '.') {
          data = false
          this.recipients.set(sender, (this.recipients.get(sender) ?? 0) + count)
          say('250 taken')
        } else if (/^DATA/i.test(line)) {
          data = true
          say('354 go on')
        } else {
          if (/^MAIL/i.test(line)) [sender, count] = [/<(.*?)>/.exec(line)?.[1] ?? '', 0]
          if (/^RCPT/i.test(line)) count += 1
          say('250 ok')
        }
      }
    })
    say('220 sink.test')
  }
}
