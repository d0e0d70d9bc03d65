import { readFile } from 'node:fs/promises'
import type { AddressInfo, Socket } from 'node:net'
import { join } from 'node:path'
import { databaseOf } from './core/account-database.js'
import { DirectorySource } from './core/account-directory.js'
import { AccountFile } from './core/account-file.js'
import { AccountQuery, type AccountSource } from './core/account-query.js'
import { firstOf } from './core/accounts.js'
import { Desk } from './core/desk.js'
import { DoubtFile } from './core/doubt-file.js'
import { Doubts } from './core/doubts.js'
import { Exemptions } from './core/exemptions.js'
import { Judge } from './core/judge.js'
import { type Address, type Connection, type Front, serveSockets } from './core/listen.js'
import { type Log, openLog } from './core/log.js'
import { Metrics } from './core/metrics.js'
import { serveOperations } from './core/operations.js'
import { serveHttp } from './fronts/http.js'
import { MilterConnection } from './fronts/milter.js'
import { PolicyConnection } from './fronts/policy.js'
import { type Readiness, readinessOf } from './core/readiness.js'
import { readSettings, type Settings, SettingsError } from './core/settings.js'
import { listDoubts, settle } from './core/settle.js'
import { Spending, wordsOf } from './core/spending.js'

/** How long doubts are checked at shutdown. Questions in progress have their own time. */
const DOUBTS_GRACE_MS = 5_000

async function serve(settings: Settings): Promise<void> {
  const metrics = new Metrics()
  const { log, close: closeLog } = openLog(settings.logLevel, () => metrics.linesDropped.inc())

  const { accountsFile, stateDirectory } = settings
  const copy = stateDirectory === undefined ? `${accountsFile}.good` : join(stateDirectory, 'accounts')
  const file = accountsFile === undefined ? undefined : await openAccounts(accountsFile, copy, log)
  const queries = sourcesOf(settings).map((source) => new AccountQuery(source, settings.accountsCacheMs))
  if (file !== undefined) {
    metrics.read('accounts', 'Entries of ACCOUNTS_FILE in force.', () => file.size)
    metrics.read('accounts_stale', '1: ACCOUNTS_FILE cannot be used as it is.', () => Number(file.stale))
  }
  process.on('SIGHUP', () => {
    for (const query of queries) query.forget()
    void file?.look(true)
  })

  const token = tokenOf(settings.quotaToken)
  const spending = new Spending({ url: settings.quotaUrl, token })
  // Without a setting, all connectors with one token have the same keys.
  const secret = async (): Promise<string> => settings.keySecret ?? `keys of ${await token()}`
  const doubtFile = stateDirectory === undefined ? undefined : new DoubtFile(stateDirectory, log, metrics)
  const doubts = new Doubts(spending.client, log, metrics, doubtFile, Date.now)
  const accounts = firstOf(file === undefined ? queries : [file, ...queries])
  const { rules, maxConnections } = settings
  const exemptions = new Exemptions(rules)
  const judge = new Judge(rules, exemptions, accounts, spending, doubts, secret, Date.now)
  let begin = (): void => undefined
  const restored = new Promise<void>((resolve) => (begin = resolve))
  const desk = new Desk(judge, doubts, exemptions, metrics, log, restored)
  const needs = { size: rules.unit === 'kb', checkAtRcpt: rules.checkAtRcpt }
  const serveFront = async (
    address: Address | undefined,
    take: (socket: Socket) => Connection,
  ): Promise<Front | undefined> =>
    address === undefined ? undefined : serveSockets(address, maxConnections, desk, take)
  let ending = false
  const probe = readinessOf(spending.client)
  const readiness: Readiness = async () => (ending ? 'ending' : probe())
  // First: a process that ends serves no front any more, but writes the same file until it is gone, with this port.
  const operations =
    settings.metrics === undefined ? undefined : await serveOperations(settings.metrics, metrics.registry, readiness)
  const policy = await serveFront(settings.listen, (socket) => new PolicyConnection(socket, desk))
  const milter = await serveFront(settings.milterListen, (socket) => new MilterConnection(socket, desk, needs))
  const http =
    settings.http === undefined
      ? undefined
      : await serveHttp(settings.http.listen, settings.http.token, maxConnections, desk)
  // Only now: another connector, which listens already, would write the same file.
  doubts.restore()
  begin()

  const end = async (signal: string): Promise<void> => {
    if (ending) return
    ending = true
    log.info({ signal }, 'ending')
    file?.close()
    await Promise.all([policy?.close(), milter?.close(), http?.close()])
    await doubts.close(DOUBTS_GRACE_MS)
    await Promise.all(queries.map((query) => query.close()))
    operations?.closeAllConnections()
    log.info('the end')
    await closeLog()
    process.exit(0)
  }
  for (const signal of ['SIGTERM', 'SIGINT']) process.on(signal, (name: string) => void end(name))
  const { texts: _, localDomains, ...loggedRules } = rules
  log.info(
    {
      listen: policy?.address,
      milter: milter?.address,
      http: http?.address,
      metrics: operations?.address() as AddressInfo | null | undefined,
      ...loggedRules,
      localDomains: localDomains.size,
    },
    'listening',
  )
  const trouble = await probe()
  if (trouble !== undefined) log.error(trouble)
}

async function openAccounts(path: string, copy: string, log: Log): Promise<AccountFile> {
  try {
    return await AccountFile.open(path, copy, log)
  } catch (error) {
    throw new SettingsError(`ACCOUNTS_FILE ${path}: ${(error as Error).message}\n`)
  }
}

/** The places that are asked for accounts, in order. */
function sourcesOf({ accountsDatabase, accountsDirectory }: Settings): AccountSource[] {
  const sources: AccountSource[] = []
  try {
    if (accountsDatabase !== undefined) sources.push(databaseOf(accountsDatabase.url, accountsDatabase.query))
  } catch (error) {
    throw new SettingsError(`ACCOUNTS_DATABASE_URL: ${(error as Error).message}\n`)
  }
  if (accountsDirectory !== undefined) sources.push(new DirectorySource(accountsDirectory))
  return sources
}

/** The token. A token file is read for each request, so that it can be replaced. */
function tokenOf(source: Settings['quotaToken']): () => Promise<string> {
  return async () => ('token' in source ? source.token : (await readFile(source.file, 'utf8')).trim())
}

try {
  const [command, ...keys] = process.argv.slice(2)
  if (command !== undefined && command !== 'settle')
    throw new SettingsError('usage: quota-postfix, or quota-postfix settle [KEY…]\n')
  const settings = readSettings(process.env)
  if (command === undefined) await serve(settings)
  else if (keys.length === 0) listDoubts(settings.stateDirectory)
  else
    process.exitCode = await settle(
      keys,
      new Spending({ url: settings.quotaUrl, token: tokenOf(settings.quotaToken) }).client,
    )
} catch (error) {
  process.stderr.write(error instanceof SettingsError ? error.message : `${wordsOf(error)}\n`)
  process.exit(1)
}
