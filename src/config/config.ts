import { X509Certificate } from 'node:crypto'
import { isIP } from 'node:net'
import { type OidcConfig, readOidc } from './oidc.js'
import { readRegularSync } from './regular-file.js'
import { parseWebhooksFile, type WebhookEndpoint, WEBHOOKS_FILE } from './webhook-endpoints.js'
import { parseTokens, parseTokensFile, type ReadTokens, type TokenEntry, TOKENS_FILE } from './token-entries.js'

/** The log levels: each includes the ones before it. */
export type LogLevel = 'error' | 'warn' | 'info' | 'debug'

const LOG_LEVELS: readonly LogLevel[] = ['error', 'warn', 'info', 'debug']

/** The location of the data: a SQLite file, or a server that speaks MySQL's protocol. */
export type DatabaseConfig = { readonly kind: 'sqlite'; readonly path: string } | ServerConfig

/** A server that speaks MySQL's protocol. */
export interface ServerConfig {
  readonly kind: 'mysql'
  /** As configured, with its password: never show it. */
  readonly url: string
  /** The maximum number of connections of this process. */
  readonly poolSize: number
  /** The encryption of connections; absent if they are not encrypted. */
  readonly tls?: ServerTls
}

/** The encryption of connections to a server. */
export interface ServerTls {
  /** Must the server's certificate be trusted, and name the server? */
  readonly verify: boolean
  /** The trusted authorities, as PEM; absent: those of Node. */
  readonly ca?: string
}

/** The trusted proxies: this number of them in a row, or those at these addresses and networks. */
export type TrustProxy = number | readonly string[]

const SAMPLERS = [
  'always_on',
  'always_off',
  'traceidratio',
  'parentbased_always_on',
  'parentbased_always_off',
  'parentbased_traceidratio',
] as const

/** The destination of spans, and the traced requests. The names of the variables and samplers are OpenTelemetry's. */
export interface TracesConfig {
  /** An endpoint of OTLP over HTTP. */
  readonly url: string
  /** Headers of every export, `name=value,name=value`, percent-encoded; may contain a secret. */
  readonly headers: string
  readonly serviceName: string
  /** Further attributes of this instance, in the same format. */
  readonly resource: string
  readonly sampler: (typeof SAMPLERS)[number]
  /** The ratio of sampled requests, 0 … 1. */
  readonly ratio: number
}

/** All mistakes in the environment, one per line. */
export class ConfigError extends Error {
  constructor(readonly mistakes: readonly string[]) {
    super(['The configuration has mistakes:', ...mistakes.map((mistake) => `  - ${mistake}`)].join('\n'))
    this.name = 'ConfigError'
  }
}

/** The minimum number of days for which keys replay (contract, §4). */
const MIN_RETENTION_DAYS = 30
const MAX_RETENTION_DAYS = 36_500

/** The mistakes found so far, and the readers of one variable. An empty variable counts as absent. */
class Reader {
  readonly mistakes: string[] = []

  constructor(private readonly env: NodeJS.ProcessEnv) {}

  text(name: string): string | undefined {
    const value = this.env[name]?.trim()
    return value === '' ? undefined : value
  }

  integer(name: string, fallback: number, min: number, max: number): number {
    const text = this.text(name)
    if (text === undefined) return fallback
    const value = /^\d{1,10}$/.test(text) ? Number(text) : NaN
    if (value >= min && value <= max) return value
    this.mistakes.push(`${name} must be an integer from ${min} to ${max}`)
    return fallback
  }

  /** A retention; undefined: unlimited. */
  days(name: string): number | undefined {
    return this.text(name) === undefined ? undefined : this.integer(name, 0, MIN_RETENTION_DAYS, MAX_RETENTION_DAYS)
  }

  ratio(name: string, fallback: number): number {
    const text = this.text(name)
    if (text === undefined) return fallback
    const value = /^[01](?:\.\d{1,9})?$/.test(text) ? Number(text) : NaN
    if (value <= 1) return value
    this.mistakes.push(`${name} must be a number from 0 to 1`)
    return fallback
  }

  flag(name: string, fallback: boolean): boolean {
    const text = this.text(name)
    if (text === 'true' || text === 'false') return text === 'true'
    if (text !== undefined) this.mistakes.push(`${name} must be true or false`)
    return fallback
  }

  choice<T extends string, F>(name: string, fallback: F, values: readonly T[]): T | F {
    const text = this.text(name)
    if (text === undefined) return fallback
    const found = values.find((value) => value === text)
    if (found === undefined) this.mistakes.push(`${name} must be one of ${values.join(', ')}`)
    return found ?? fallback
  }

  /** The content of the file that a variable names, without surrounding blanks. */
  file(name: string): string | undefined {
    const path = this.text(name)
    return path === undefined ? undefined : this.content(name, path)
  }

  /** The content of a file, without surrounding blanks. */
  content(name: string, path: string): string | undefined {
    try {
      const text = readRegularSync(path).trim()
      if (text !== '') return text
      this.mistakes.push(`${name}: ${path} is empty`)
    } catch (error) {
      this.mistakes.push(`${name} cannot be read: ${(error as Error).message}`)
    }
    return undefined
  }

  list(name: string): string[] {
    const items = this.text(name)?.split(',') ?? []
    return items.map((item) => item.trim()).filter((item) => item !== '')
  }
}

/** One row of the table of configuration variables. */
interface Variable<T> {
  /** Its meaning, in one line; `.env.example` repeats it. */
  readonly doc: string
  /** Reads the variable of that name. */
  readonly read: (read: Reader, name: string) => T
}

const variable = <T>(doc: string, read: Variable<T>['read']): Variable<T> => ({ doc, read })
const integer = (doc: string, fallback: number, min: number, max: number): Variable<number> =>
  variable(doc, (read, name) => read.integer(name, fallback, min, max))
const flag = (doc: string, fallback: boolean): Variable<boolean> =>
  variable(doc, (read, name) => read.flag(name, fallback))
const days = (doc: string): Variable<number | undefined> => variable(doc, (read, name) => read.days(name))

const MAX_PORT = 65_535

/**
 * The configuration variables that are read one by one, by their property of `Config`: `maxConnections` is the variable
 * `MAX_CONNECTIONS`. The others (database, tokens, webhooks, OIDC, tracing) depend on each other and have their own
 * readers. config.spec.ts compares the meanings and defaults with `.env.example`, and the defaults with
 * docs/run/configuration.md.
 */
export const VARIABLES = {
  host: variable('Address to listen on. The image sets 0.0.0.0.', (read, name) => read.text(name) ?? '127.0.0.1'),
  port: integer('TCP port to listen on, 0 to 65535; 0 takes a free one.', 3000, 0, MAX_PORT),
  metricsPort: variable(
    'TCP port for /metrics alone, which PORT then no longer serves. Not set: /metrics is on PORT.',
    (read, name) => (read.text(name) === undefined ? undefined : read.integer(name, 0, 0, MAX_PORT)),
  ),
  metricsHost: variable('Address to listen on for METRICS_PORT. Default: HOST.', (read, name) => read.text(name)),
  corsOrigins: variable(
    'Origins whose pages may call, exactly as browsers write them, comma-separated, like https://office.example. Default: none.',
    readOrigins,
  ),
  docsPublic: flag('true: /docs and /openapi.json without a token.', false),
  metricsPublic: flag('true: /metrics without a token.', false),
  console: flag('false: the console in the browser, under /admin, is not served.', true),
  publicUrl: variable(
    'Address at which people reach this service, for links of owners, like https://quota.example.com. Default: that of the request.',
    readPublicUrl,
  ),
  linkSecret: variable(
    'Secrets that sign links of owners, at least 32 random characters each: one, or two during a rotation, the new one first. Not set: no links.',
    readLinkSecret,
  ),
  viewFrameAncestors: variable(
    'Origins whose pages may show the page of a link in a frame, comma-separated, like https://webmail.example. Default: none.',
    readOrigins,
  ),
  consoleIdleMinutes: integer(
    'Minutes of inactivity after which the console signs a person out, 0 to 1440; 0: never.',
    0,
    0,
    1440,
  ),
  verifyBackground: flag('false: this instance does not compare counters with the ledger in the background.', true),
  logLevel: variable('Lowest severity that is logged: error, warn, info or debug.', (read, name) =>
    read.choice(name, 'info', LOG_LEVELS),
  ),
  logFormat: variable(
    'json (one object a line) or text. Default: json with NODE_ENV=production, else text.',
    (read, name) => read.choice(name, undefined, ['json', 'text'] as const),
  ),
  shutdownGraceSeconds: integer('Seconds from SIGTERM to the end at the latest, 1 to 3600.', 25, 1, 3600),
  shutdownDelaySeconds: integer(
    'Seconds after SIGTERM during which new requests are answered with 503 before the socket closes, 0 to 600. The image and compose.yaml set 12.',
    1,
    0,
    600,
  ),
  queueLimit: integer('Writes of a channel that may wait for the database; further ones get 503.', 10_000, 1, 1e6),
  principalQueueLimit: integer('Writes of one principal that may wait; further ones wait for capacity.', 4_000, 1, 1e6),
  newOwnersPerHour: integer(
    'Owners that one principal may bring in through the default group of a channel in an hour; further ones get 409.',
    10_000,
    1,
    1e9,
  ),
  principalRequests: integer('Requests of one principal in progress at a time; further ones wait.', 256, 1, 100_000),
  principalBodyBytes: integer(
    'Bytes of bodies of one principal in progress at a time; further ones wait.',
    250_000,
    1,
    1e8,
  ),
  maxConnections: integer('Connections of callers that may be open at a time.', 2_000, 10, 100_000),
  requestTimeoutSeconds: integer(
    'Seconds within which a request must arrive, 1 to 30; its head within half of them.',
    20,
    1,
    30,
  ),
  retentionDays: days('Days for which settled operations are kept, 30 to 36500. Not set: for ever.'),
  changesRetentionDays: days('Days for which changes of quotas are kept, 30 to 36500. Not set: for ever.'),
  trustProxy: variable(
    'Proxies whose X-Forwarded-For is believed, and logged: their number (0 to 10), or a list of addresses and networks.',
    readTrustProxy,
  ),
} as const

type Values = { readonly [Name in keyof typeof VARIABLES]: ReturnType<(typeof VARIABLES)[Name]['read']> }

/** The whole configuration: read once from the environment, checked, frozen. */
export interface Config extends Values {
  /** Is this NODE_ENV=production? Then database and tokens have no defaults. */
  readonly production: boolean
  readonly metricsHost: string
  readonly logFormat: 'json' | 'text'
  readonly database: DatabaseConfig
  /** The valid tokens at start; empty only outside production, where tokens are then generated. */
  readonly tokens: readonly TokenEntry[]
  /** The file of tokens, which is read again when it changes; undefined: none. */
  readonly tokensFile: string | undefined
  /** The webhook endpoints at start. */
  readonly webhooks: readonly WebhookEndpoint[]
  /** The file of endpoints, which is read again when it changes; undefined: none. */
  readonly webhooksFile: string | undefined
  /** The identity provider whose tokens are accepted, too; undefined: none. */
  readonly oidc: OidcConfig | undefined
  /** Undefined: requests are not traced. */
  readonly traces: TracesConfig | undefined
}

/** The token by which Nest injects the configuration. */
export const CONFIG = Symbol('CONFIG')

/** @returns the variable of a property of `VARIABLES` */
export function variableOf(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase()
}

/** The default database outside production. */
const DEFAULT_DATABASE_URL = 'sqlite:./data/quota.db'

/** The default, the least and the most. */
const POOL_SIZE = [10, 1, 1000] as const

const DATABASE_FORMS = 'mysql://USER:PASSWORD@HOST/DATABASE, mariadb://… or sqlite:PATH'

function readDatabase(read: Reader, production: boolean): DatabaseConfig {
  const poolSize = read.integer('DATABASE_POOL_SIZE', ...POOL_SIZE)
  const tls = readTls(read)
  const inFile = read.text('DATABASE_URL_FILE') !== undefined
  const given = [read.text('DATABASE_URL'), read.file('DATABASE_URL_FILE')]
  if (given[0] !== undefined && inFile) {
    read.mistakes.push('DATABASE_URL and DATABASE_URL_FILE are both set: set only one of them')
  } else if (given[0] === undefined && !inFile && production) {
    read.mistakes.push(`DATABASE_URL is required with NODE_ENV=production, or DATABASE_URL_FILE: ${DATABASE_FORMS}`)
  }
  const [url = DEFAULT_DATABASE_URL] = given.filter((one) => one !== undefined)
  const found = parseDatabaseUrl(url, poolSize)
  if (typeof found === 'string') {
    read.mistakes.push(`${inFile ? 'DATABASE_URL_FILE' : 'DATABASE_URL'} ${found}`)
    return { kind: 'sqlite', path: '' }
  }
  if (tls === undefined) return found
  if (found.kind === 'mysql') return { ...found, tls }
  read.mistakes.push('DATABASE_TLS is for a server, and the database is a SQLite file')
  return found
}

const TLS_MODES = ['off', 'required', 'verify'] as const

function readTls(read: Reader): ServerTls | undefined {
  const mode = read.choice('DATABASE_TLS', 'off', TLS_MODES)
  const path = read.text('DATABASE_TLS_CA')
  const ca = read.file('DATABASE_TLS_CA')
  // An invalid mode is reported already.
  const known = TLS_MODES.some((one) => one === (read.text('DATABASE_TLS') ?? 'off'))
  if (path !== undefined && mode !== 'verify' && known) {
    read.mistakes.push('DATABASE_TLS_CA is for DATABASE_TLS=verify: nothing would be checked against it otherwise')
  }
  const mistake = ca === undefined ? undefined : certificatesMistake(ca)
  if (mistake !== undefined) read.mistakes.push(`DATABASE_TLS_CA: ${path} ${mistake}`)
  if (mode === 'off') return undefined
  return Object.freeze({ verify: mode === 'verify', ...(ca === undefined ? {} : { ca }) })
}

const BEGIN_CERTIFICATE = '-----BEGIN CERTIFICATE-----'

/** TLS itself silently treats an invalid certificate as an empty list. */
function certificatesMistake(pem: string): string | undefined {
  const [, ...certificates] = pem.split(BEGIN_CERTIFICATE)
  if (certificates.length === 0) return `holds no certificate in PEM form (${BEGIN_CERTIFICATE})`
  for (const [index, text] of certificates.entries()) {
    try {
      new X509Certificate(BEGIN_CERTIFICATE + text)
    } catch {
      return `contains an invalid certificate, number ${index + 1}`
    }
  }
  return undefined
}

const ENCODED = 'special characters in user and password must be percent-encoded'

/** @returns the database, or the mistake in the URL; never the URL itself, which may contain a password */
function parseDatabaseUrl(text: string, poolSize: number): DatabaseConfig | string {
  if (/^sqlite:/i.test(text)) return parseSqliteUrl(text.slice('sqlite:'.length))
  if (!/^(?:mysql|mariadb):\/\//.test(text)) return `must be ${DATABASE_FORMS}`
  let url: URL
  try {
    url = new URL(text)
    decodeURIComponent(url.username + url.password + url.hostname + url.pathname)
    // The URL parser silently removes line ends, for example of a file that contains more than the URL.
    if (/\s/.test(text)) throw new Error('a blank')
  } catch {
    return `cannot be read as a URL; ${ENCODED}: ${DATABASE_FORMS}`
  }
  const missing = [
    ...(url.username === '' ? ['a user'] : []),
    ...(url.hostname === '' ? ['a host'] : []),
    ...(/^\/[^/]+$/.test(url.pathname) ? [] : ['a database']),
  ]
  if (missing.length > 0) {
    // What follows an unencoded # or ? of a password is lost to the URL.
    const cut = url.hash !== '' || url.search !== ''
    return `lacks ${missing.join(', ')}${cut ? `; ${ENCODED}` : ''}: ${DATABASE_FORMS}`
  }
  // Not all parameters can be supported, and a request for TLS must not be ignored silently.
  if (url.search !== '' || url.hash !== '') {
    return 'takes no parameters: nothing may follow the database (TLS is DATABASE_TLS)'
  }
  return { kind: 'mysql', url: text, poolSize }
}

function parseSqliteUrl(rest: string): DatabaseConfig | string {
  const path = rest.replace(/^\/\/(?=\/)/, '')
  if (path === '' || path.startsWith('//')) return 'names no file: sqlite:PATH, for example sqlite:./data/quota.db'
  if (path === ':memory:' || /[?&]mode=memory/.test(path)) {
    return 'must name a file: data in memory is lost with the process'
  }
  return { kind: 'sqlite', path }
}

/** The valid tokens, and the file from which they are read again, if there is one. */
function readTokens(read: Reader, production: boolean): Pick<Config, 'tokens' | 'tokensFile'> {
  const text = read.text('AUTH_TOKENS')
  const tokensFile = read.text(TOKENS_FILE)
  if (text !== undefined && tokensFile !== undefined) {
    read.mistakes.push(`AUTH_TOKENS and ${TOKENS_FILE} are both set: set only one of them`)
  }
  const entries = read.list('AUTH_TOKENS')
  if (text === undefined && tokensFile === undefined) {
    if (production) {
      read.mistakes.push(
        `AUTH_TOKENS is required with NODE_ENV=production, or ${TOKENS_FILE}: name:role:sha256hex, comma-separated; \`node dist/src/token.js\` makes one`,
      )
    }
  } else if (text !== undefined && entries.length === 0) {
    read.mistakes.push('AUTH_TOKENS holds no entry')
  }
  const found = tokensFile === undefined ? parseTokens(entries, 'AUTH_TOKENS') : readTokensFile(tokensFile)
  read.mistakes.push(...found.mistakes)
  return { tokens: found.tokens, tokensFile }
}

/** The webhook endpoints, and their file. */
function readWebhooks(read: Reader): Pick<Config, 'webhooks' | 'webhooksFile'> {
  const webhooksFile = read.text(WEBHOOKS_FILE)
  if (webhooksFile === undefined) return { webhooks: [], webhooksFile }
  try {
    const { value: webhooks, mistakes } = parseWebhooksFile(readRegularSync(webhooksFile))
    read.mistakes.push(...mistakes)
    return { webhooks, webhooksFile }
  } catch (error) {
    read.mistakes.push(`${WEBHOOKS_FILE} cannot be read: ${(error as Error).message}`)
    return { webhooks: [], webhooksFile }
  }
}

function readTokensFile(path: string): ReadTokens {
  try {
    return parseTokensFile(readRegularSync(path))
  } catch (error) {
    return { tokens: [], mistakes: [`${TOKENS_FILE} cannot be read: ${(error as Error).message}`] }
  }
}

function readOrigins(read: Reader, name: string): readonly string[] {
  const origins = read.list(name)
  for (const origin of origins) {
    if (!isOrigin(origin)) {
      read.mistakes.push(
        `${name}: ${JSON.stringify(origin)} is no origin; write scheme, host and port alone, like https://office.example.com`,
      )
    }
  }
  return Object.freeze(origins)
}

/** The minimum length of a LINK_SECRET in characters, and the maximum number of them (contract, §14). */
const MIN_SECRET_LENGTH = 32
const MAX_SECRETS = 2

/** Reads the variable, or the file that the variable with `_FILE` names. The mistakes contain no secret. */
function readLinkSecret(read: Reader, name: string): readonly string[] {
  const [own, file] = [read.text(name), `${name}_FILE`]
  const isInFile = read.text(file) !== undefined
  if (own !== undefined && isInFile) read.mistakes.push(`${name} and ${file} are both set: set only one of them`)
  const text = own ?? read.file(file)
  const lines = text?.trim().replace(/\n\s*\n/g, '\n')
  const secrets = lines?.split(/[,\n]/).map((secret) => secret.trim()) ?? []
  if (secrets.length > MAX_SECRETS) read.mistakes.push(`${name} must be one secret, or two separated by a comma`)
  if (secrets.some((secret) => secret.length < MIN_SECRET_LENGTH))
    read.mistakes.push(`${name}: each secret must have at least ${MIN_SECRET_LENGTH} characters`)
  return Object.freeze(secrets)
}

/** @returns the address without a slash at its end */
function readPublicUrl(read: Reader, name: string): string | undefined {
  const text = read.text(name)
  if (text === undefined) return undefined
  const isAddress = isHttpUrl(text) && /^[^?#@\s]+$/.test(text)
  if (!isAddress)
    read.mistakes.push(
      `${name} must be the URL of this service without query and fragment, like https://quota.example.com`,
    )
  return text.replace(/\/$/, '')
}

/** Is this the form in which browsers send the origin? Anything else would never match. */
function isOrigin(text: string): boolean {
  try {
    const { origin, protocol } = new URL(text)
    return origin === text && !text.includes('*') && (protocol === 'http:' || protocol === 'https:')
  } catch {
    return false
  }
}

/** The URL for traces from OTEL_EXPORTER_OTLP_ENDPOINT, as OpenTelemetry specifies. */
const TRACES_PATH = 'v1/traces'

function readTraces(read: Reader): TracesConfig | undefined {
  const before = read.mistakes.length
  const common = read.text('OTEL_EXPORTER_OTLP_ENDPOINT')
  const own = read.text('OTEL_EXPORTER_OTLP_TRACES_ENDPOINT')
  const url = own ?? (common === undefined ? undefined : `${common.replace(/\/$/, '')}/${TRACES_PATH}`)
  if (url !== undefined && !isHttpUrl(url)) {
    const name = own === undefined ? 'OTEL_EXPORTER_OTLP_ENDPOINT' : 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT'
    read.mistakes.push(`${name} must be the URL of a collector, like http://collector:4318`)
  }
  read.choice('OTEL_EXPORTER_OTLP_PROTOCOL', 'http/json', ['http/json'])
  const found = Object.freeze({
    url: url ?? '',
    headers: readPairs(read, 'OTEL_EXPORTER_OTLP_HEADERS'),
    serviceName: read.text('OTEL_SERVICE_NAME') ?? 'quota-service',
    resource: readPairs(read, 'OTEL_RESOURCE_ATTRIBUTES'),
    sampler: read.choice('OTEL_TRACES_SAMPLER', 'parentbased_always_on', SAMPLERS),
    ratio: read.ratio('OTEL_TRACES_SAMPLER_ARG', 1),
  })
  if (url !== undefined) return found
  // A platform may set these variables for all of its processes, also where tracing is not configured.
  read.mistakes.splice(before)
  return undefined
}

/** Reads what OpenTelemetry parses without an error: it leaves out what it cannot read, and ends a value at `;`. */
function readPairs(read: Reader, name: string): string {
  const text = read.text(name) ?? ''
  for (const [place, pair] of text.split(',').entries())
    if (pair.trim() !== '' && !isPair(pair))
      read.mistakes.push(`${name}, entry ${place + 1}: must be name=value, percent-encoded`)
  return text
}

function isPair(text: string): boolean {
  const [name = '', ...value] = text.split('=').map((part) => part.trim())
  try {
    decodeURIComponent(text)
  } catch {
    return false
  }
  return name !== '' && value.join('') !== '' && !text.includes(';')
}

function isHttpUrl(text: string): boolean {
  return URL.canParse(text) && /^https?:$/.test(new URL(text).protocol)
}

/** Express's names for networks that are not on the Internet. */
const NETWORKS = ['loopback', 'linklocal', 'uniquelocal']

const MAX_HOPS = 10

function readTrustProxy(read: Reader, name: string): TrustProxy | undefined {
  const text = read.text(name)
  if (text === undefined) return undefined
  if (/^\d+$/.test(text)) return read.integer(name, 0, 0, MAX_HOPS)
  const entries = read.list(name)
  for (const entry of entries) {
    if (!NETWORKS.includes(entry) && !isNetwork(entry)) {
      read.mistakes.push(
        `${name}: ${JSON.stringify(entry)} is invalid: write a number of proxies from 0 to ${MAX_HOPS}, an address, a network like 10.0.0.0/8, ${NETWORKS.join(', ')}`,
      )
    }
  }
  return Object.freeze(entries)
}

/** Is this an IP address, optionally with the length of its network's prefix? */
function isNetwork(text: string): boolean {
  const [address = '', bits, ...rest] = text.split('/')
  const family = isIP(address)
  // A zone (fe80::1%eth0) is valid on one machine only.
  if (family === 0 || address.includes('%') || rest.length > 0) return false
  return bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) > 0 && Number(bits) <= (family === 4 ? 32 : 128))
}

/**
 * Reads the configuration.
 * @throws ConfigError which names every mistake, without any secret
 */
export function loadConfig(env: NodeJS.ProcessEnv): Config {
  const read = new Reader(env)
  const production = read.text('NODE_ENV') === 'production'
  if (!production && read.text('NODE_ENV')?.toLowerCase() === 'production') {
    read.mistakes.push('NODE_ENV must be production, in lower case')
  }
  const values = Object.fromEntries(
    Object.entries(VARIABLES).map(([name, row]) => [name, row.read(read, variableOf(name))]),
  ) as unknown as Values
  const config: Config = {
    ...values,
    production,
    metricsHost: values.metricsHost ?? values.host,
    logFormat: values.logFormat ?? (production ? 'json' : 'text'),
    database: Object.freeze(readDatabase(read, production)),
    ...readTokens(read, production),
    ...readWebhooks(read),
    oidc: readOidc(read),
    traces: readTraces(read),
  }
  if (config.shutdownDelaySeconds >= config.shutdownGraceSeconds) {
    read.mistakes.push('SHUTDOWN_DELAY_SECONDS must be less than SHUTDOWN_GRACE_SECONDS')
  }
  if (config.metricsPort !== undefined && config.metricsPort !== 0 && config.metricsPort === config.port) {
    read.mistakes.push('METRICS_PORT must differ from PORT')
  }
  if (config.metricsPort === undefined && read.text('METRICS_HOST') !== undefined) {
    read.mistakes.push('METRICS_HOST needs METRICS_PORT')
  }
  if (read.mistakes.length > 0) throw new ConfigError(read.mistakes)
  return Object.freeze(config)
}

/**
 * Reads only the location of the data, which is all that migrations need.
 * @throws ConfigError which names every mistake in it
 */
export function loadDatabaseConfig(env: NodeJS.ProcessEnv): DatabaseConfig {
  const read = new Reader(env)
  const database = readDatabase(read, read.text('NODE_ENV') === 'production')
  if (read.mistakes.length > 0) throw new ConfigError(read.mistakes)
  return database
}

/**
 * Reads databases that arguments name; the size of the pool and TLS come from the environment.
 * @param urls by the name of the argument, `--from`; `@FILE` names a file that contains the URL
 * @throws ConfigError all mistakes at once
 */
export function loadDatabaseArguments(
  env: NodeJS.ProcessEnv,
  urls: Readonly<Record<string, string | undefined>>,
): DatabaseConfig[] {
  const read = new Reader(env)
  const poolSize = read.integer('DATABASE_POOL_SIZE', ...POOL_SIZE)
  const tls = readTls(read)
  const databases = Object.entries(urls).flatMap(([name, given]) => {
    const url = given?.startsWith('@') === true ? read.content(name, given.slice(1)) : given
    // A file that cannot be read is a mistake already.
    if (url === undefined && given !== undefined) return []
    const found = url === undefined ? `is required: ${DATABASE_FORMS}` : parseDatabaseUrl(url, poolSize)
    if (typeof found !== 'string') return [found.kind === 'mysql' && tls !== undefined ? { ...found, tls } : found]
    read.mistakes.push(`${name} ${found}`)
    return []
  })
  if (read.mistakes.length > 0) throw new ConfigError(read.mistakes)
  return databases
}
