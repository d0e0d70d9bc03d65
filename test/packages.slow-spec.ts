import { execFile } from 'node:child_process'
import { cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { promisify } from 'node:util'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { type LockedPackage, neededBy } from '../scripts/shipped.mjs'
import { Connector, PolicyClient } from './support/connector.js'
import { opened } from './support/opened.js'

const run = promisify(execFile)
const CONNECTOR = 'connectors/mail'
const TSC = join(process.cwd(), 'node_modules/typescript/bin/tsc')
const MAX_BYTES = 8_600
/** Parts that are imported by themselves, and what each may add. */
const OPTIONAL = ['change-sets', 'events', 'refusal', 'webhooks']
const MAX_BYTES_MORE = 2_500

/** What a service written in TypeScript may do with the package, and what it may not. */
const TYPED = `
import { isProblem, mailRecipients, OutcomeUnknown, Problem, QuotaClient, smsSegments } from '@quota-service/client'
import type { MailOperation, MailQuota, Me, SmsQuotaPage } from '@quota-service/client'

const quota = new QuotaClient({ baseUrl: process.argv[2] ?? '', token: async () => 'secret', timeoutMs: 15_000, deadlineMs: 60_000 })

export async function send(messageId: string): Promise<string> {
  try {
    const done: MailOperation = await quota.mail.consume({ accountId: 7, amount: 20 }, { key: messageId, signal: AbortSignal.timeout(5_000) })
    const [first] = done.allocations
    return first === undefined ? done.state : String(first.quotaId + done.ownerRemaining)
  } catch (error) {
    if (error instanceof OutcomeUnknown) return error.key ?? error.requestId
    if (!(error instanceof Problem)) throw error
    // @ts-expect-error not every refusal says what remains
    error.remaining
    switch (error.code) {
      case 'quota_exceeded': {
        const refill: string | null = error.refillsAt
        return refill ?? String(error.quotas[0]?.remaining ?? error.remaining)
      }
      case 'validation_failed':
        return error.errors.map(({ field, message }) => field + message).join()
      case 'no_active_quota':
        // @ts-expect-error an owner without quotas has nothing remaining
        return error.remaining
      default:
        return error.code + error.detail + String(error.status)
    }
  }
}

export async function office(): Promise<void> {
  const me: Me = await quota.me()
  // @ts-expect-error there is no such role
  if (me.role === 'guest') return
  for await (const item of quota.mail.quotas.list({ status: 'active' })) {
    const label: string | null = item.label
    // @ts-expect-error a version conflict is not overlooked: there is no such field
    await quota.mail.quotas.update(item.id, { label, versoin: item.version })
  }
  const page: SmsQuotaPage = await quota.sms.quotas.list({ page: 2, userId: 3 }).page()
  // @ts-expect-error SMS has no accounts
  page.items[0]?.accountId
  // @ts-expect-error nor do its calls
  await quota.sms.consume({ accountId: 3, amount: 1 }, { key: 'k' })
  // @ts-expect-error a key is required
  await quota.sms.consume({ userId: 3, amount: 1 })
  // @ts-expect-error in its options, too
  await quota.mail.refund('id', {}, {})
  const record: MailQuota = await quota.mail.quotas.get(1)
  // The whole record may be sent back.
  await quota.mail.quotas.update(record.id, { ...record, total: 5 })
  const sent: number = await quota.sms.withHold({ userId: 3, amount: 2 }, { key: 'k' }, async (hold) => {
    hold.spend(1)
    return hold.amount
  })
  for (const result of await quota.mail.consumeBatch([{ accountId: 1, amount: sent, idempotencyKey: 'k' }])) {
    // @ts-expect-error not every item has an operation
    result.operation
    if (result.status === 200) console.log(result.operation.accountId, result.replayed)
    else if (result.status === 'unknown') console.log(result.error.key)
    else if (result.problem.code === 'quota_exceeded') console.log(result.problem.refillsAt)
  }
  const error: unknown = undefined
  if (isProblem(error, 'commit_exceeds_hold')) console.log(error.held)
  // @ts-expect-error no problem has that code
  isProblem(error, 'no_such_code')
}

console.log(await send('msg-1'), smsSegments('Grüße').segments, mailRecipients({ to: 'ann@example.org' }).length)
`

/** The same in plain JavaScript. */
const PLAIN = `
import { QuotaClient, isProblem, mailRecipients, smsSegments } from '@quota-service/client'

const quota = new QuotaClient({ baseUrl: process.argv[2], token: 'secret' })
const { ownerRemaining } = await quota.mail.consume({ accountId: 7, amount: 1 }, { key: 'msg-1' })
let code
try {
  await quota.sms.consume({ userId: 7, amount: 1 }, { key: 'msg-2' })
} catch (error) {
  if (!isProblem(error, 'quota_exceeded')) throw error
  code = error.code + error.remaining
}
console.log(JSON.stringify({ ownerRemaining, code, segments: smsSegments('Hi').segments, recipients: mailRecipients({ to: 'a@b.c' }) }))
`

/** Where the tarballs are, and the projects that install them. */
let folder: string
const tarballs: string[] = []

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'quota-package-'))
  opened(async () => rm(folder, { recursive: true, force: true }))
  await run('npm', ['pack', '--workspace', 'client', '--workspace', CONNECTOR, '--pack-destination', folder])
  for (const name of (await readdir(folder)).sort()) tarballs.push(join(folder, name))
  expect(tarballs).toHaveLength(2)
})

/** An empty project. */
async function newProject(name: string): Promise<string> {
  const project = join(folder, name)
  await mkdir(project)
  await writeFile(join(project, 'package.json'), JSON.stringify({ type: 'module' }))
  return project
}

/** Installs tarballs; the registry is not asked. */
async function install(project: string, files: readonly string[]): Promise<void> {
  await run('npm', ['install', '--offline', '--no-audit', '--no-fund', ...files], { cwd: project })
}

describe('the package of the client', () => {
  let project: string
  let installed: string
  let service: Server
  let url: string

  beforeAll(async () => {
    project = await newProject('client')
    installed = join(project, 'node_modules/@quota-service/client')
    await install(project, tarballs.slice(0, 1))
    service = createServer((request, response) => {
      const mail = request.url?.startsWith('/api/v1') === true
      response.writeHead(mail ? 200 : 409, { 'content-type': 'application/json' })
      response.end(
        JSON.stringify(
          mail
            ? { id: 'x', state: 'consumed', allocations: [{ quota_id: 1, amount: 1 }], owner_remaining: 9 }
            : { code: 'quota_exceeded', detail: '', status: 409, remaining: 3, request_id: 'r' },
        ),
      )
    })
    opened(() => service.close())
    await new Promise<void>((resolve) => service.listen(0, '127.0.0.1', resolve))
    url = `http://127.0.0.1:${(service.address() as AddressInfo).port}`
  })

  afterAll(() => {
    service.closeAllConnections()
  })

  /** A file of the package, and all that it imports. */
  const loadedBy = async (file: string, found = new Set<string>()): Promise<Set<string>> => {
    if (found.has(file)) return found
    found.add(file)
    const text = await readFile(join(installed, 'dist', file), 'utf8')
    for (const [, next] of text.matchAll(/(?:from|import)\s*['"]\.\/([\w-]+\.js)['"]/g)) await loadedBy(next!, found)
    return found
  }

  it('has no dependencies, and contains only build output', async () => {
    const manifest = JSON.parse(await readFile(join(installed, 'package.json'), 'utf8'))
    expect(Object.keys(manifest).filter((name) => /dependencies/i.test(name))).toEqual([])
    expect(await readdir(join(project, 'node_modules'))).toEqual(['.package-lock.json', '@quota-service'])
    const files = (await readdir(installed, { recursive: true })).filter((name) => name !== 'dist')
    expect(files.filter((name) => !/^dist\/[\w-]+(\.d\.ts|\.js)$/.test(name)).sort()).toEqual([
      'LICENSE',
      'README.md',
      'package.json',
    ])
  })

  it(`comes to less than ${MAX_BYTES} bytes of code, compressed, before any bundler has made it smaller`, async () => {
    const bytes = async (files: Iterable<string>): Promise<number> => {
      const code = await Promise.all([...files].sort().map(async (name) => readFile(join(installed, 'dist', name))))
      return gzipSync(Buffer.concat(code), { level: 9 }).length
    }
    const core = await loadedBy('index.js')
    expect(core.size).toBeGreaterThan(5)
    expect(await bytes(core)).toBeLessThan(MAX_BYTES)
    for (const entry of OPTIONAL) {
      const more = [...(await loadedBy(`${entry}.js`))].filter((file) => !core.has(file))
      expect([entry, await bytes(more)]).toEqual([entry, expect.any(Number)])
      expect(await bytes(more)).toBeLessThan(MAX_BYTES_MORE)
      // What nobody asks for is not loaded.
      expect([...core]).not.toContain(`${entry}.js`)
    }
  })

  it('does not depend on Node: it imports only its own modules', async () => {
    const names = (await readdir(join(installed, 'dist'))).filter((name) => name.endsWith('.js'))
    for (const name of names) {
      const text = await readFile(join(installed, 'dist', name), 'utf8')
      const imported = [...text.matchAll(/(?:from|import\(?)\s*['"]([^'"]+)['"]/g)].map(([, module]) => module)
      expect(imported.filter((module) => !/^\.\/[\w-]+\.js$/.test(module ?? ''))).toEqual([])
      expect(text).not.toMatch(/\b(?:process|Buffer|require|setImmediate|__dirname)\b/)
    }
  })

  it.each([
    ['for Node', { module: 'nodenext', lib: ['es2022', 'dom', 'dom.iterable'] }],
    [
      'for a bundler, with exact optional properties',
      { module: 'esnext', moduleResolution: 'bundler', exactOptionalPropertyTypes: true },
    ],
    [
      'without the skipping of libraries, and stricter',
      { module: 'nodenext', skipLibCheck: false, noUncheckedIndexedAccess: true },
    ],
  ])('is used from strict TypeScript %s: types narrow by code, status and channel', async (_, options) => {
    const globals = 'declare const process: { argv: string[] }\n'
    await writeFile(join(project, 'typed.ts'), globals + TYPED)
    await writeFile(
      join(project, 'tsconfig.json'),
      JSON.stringify({
        compilerOptions: { strict: true, target: 'es2022', types: [], ...options },
        files: ['typed.ts'],
      }),
    )
    const said = await run(process.execPath, [TSC, '-p', '.'], { cwd: project }).then(
      () => '',
      (error: unknown) => (error as { stdout: string }).stdout,
    )
    expect(said).toBe('')
    const { stdout } = await run(process.execPath, ['typed.js', url], { cwd: project })
    expect(stdout).toBe('10 1 1\n')
  })

  it('works in plain JavaScript', async () => {
    await writeFile(join(project, 'plain.js'), PLAIN)
    const { stdout } = await run(process.execPath, ['plain.js', url], { cwd: project })
    expect(JSON.parse(stdout)).toEqual({
      ownerRemaining: 9,
      code: 'quota_exceeded3',
      segments: 1,
      recipients: ['a@b.c'],
    })
  })
})

describe('the package of the connector', () => {
  let project: string
  let installed: string

  /** What the packages depend on is there before, in the versions of package-lock.json, since npm asks no registry. */
  beforeAll(async () => {
    project = await newProject('connector')
    installed = join(project, 'node_modules/@quota-service/mail')
    const { packages } = JSON.parse(await readFile('package-lock.json', 'utf8')) as {
      packages: Record<string, LockedPackage>
    }
    for (const place of neededBy(packages, CONNECTOR, Object.keys(packages[CONNECTOR]?.dependencies ?? {}))) {
      if (packages[place]?.link === true) continue
      const target = place.startsWith(`${CONNECTOR}/`) ? relative(CONNECTOR, place) : place
      await cp(place, join(project, target), { recursive: true })
    }
    await install(project, tarballs)
  })

  it('contains its program, the texts and the unit of systemd', async () => {
    const files = (await readdir(installed, { recursive: true, withFileTypes: true })).filter((one) => one.isFile())
    const names = files.map(({ parentPath, name }) => relative(installed, join(parentPath, name)))
    expect(names.filter((name) => !/^dist\/(?:[\w-]+\/)*[\w-]+\.js$/.test(name)).sort()).toEqual([
      'LICENSE',
      'README.md',
      'bin/quota-postfix.mjs',
      'package.json',
      'quota-postfix.service',
      'texts/de.txt',
      'texts/en.txt',
    ])
  })

  it('starts by the command that npm links, answers Postfix, and says that it lives', async () => {
    await writeFile(join(project, 'accounts'), 'ann@example.org 7\n')
    const connector = await Connector.start(
      {
        // Nobody answers here: what needs no service is answered all the same.
        QUOTA_URL: 'http://127.0.0.1:9',
        QUOTA_TOKEN: 'secret',
        ACCOUNTS_FILE: join(project, 'accounts'),
        UNKNOWN_SENDER: 'reject',
        TEXTS_FILE: join(installed, 'texts/de.txt'),
      },
      undefined,
      join(project, 'node_modules/.bin/quota-postfix'),
    )
    expect(connector.stderr).toBe('')
    expect((await connector.get('/health/live')).status).toBe(200)
    const said = await PolicyClient.to(connector.port).ask({ sasl_username: 'bob@example.org' })
    expect(said).toMatch(/^REJECT /)
    connector.signal('SIGTERM')
    expect(await connector.exited).toBe(0)
  })
})
