import { readFileSync } from 'node:fs'
import { domainToASCII, fileURLToPath } from 'node:url'
import { type Directory, filterOf } from './account-directory.js'
import { REFERENCE } from './account-query.js'
import { LOG_LEVELS, type LogLevel } from './log.js'
import type { Rules } from './judge.js'
import type { Address } from './listen.js'
import { readTexts, type Texts } from './texts.js'

const MIN_SECRET_LENGTH = 32
const ENGLISH = fileURLToPath(new URL('../../texts/en.txt', import.meta.url))

/** The environment's settings, validated. docs/postfix.md has a line for each. */
export interface Settings {
  readonly quotaUrl: string
  readonly quotaToken: { readonly token: string } | { readonly file: string }
  /** The secret of hashes; undefined: derived from the token. */
  readonly keySecret: string | undefined
  /** Of the policy protocol; undefined if switched off, as each. */
  readonly listen: Address | undefined
  /** Of the milter protocol. */
  readonly milterListen: Address | undefined
  /** Of HTTP, with the token of its callers. */
  readonly http: { readonly listen: Address; readonly token: string } | undefined
  readonly metrics: Address | undefined
  readonly accountsFile: string | undefined
  readonly accountsDatabase: { readonly url: string; readonly query: string } | undefined
  readonly accountsDirectory: Directory | undefined
  /** How long answers of the database and the directory are valid. */
  readonly accountsCacheMs: number
  /** Keeps doubts over an end of the process; undefined: they are in memory. */
  readonly stateDirectory: string | undefined
  readonly rules: Rules
  readonly maxConnections: number
  readonly logLevel: LogLevel
}

/** The configuration is invalid; the message names every mistake. */
export class SettingsError extends Error {}

type Environment = Readonly<Record<string, string | undefined>>

/** @throws SettingsError */
export function readSettings(environment: Environment): Settings {
  const mistakes: string[] = []
  const given = (name: string): string | undefined => {
    const value = environment[name]?.trim()
    return value === '' ? undefined : value
  }
  const read = <Value>(name: string, text: string | undefined, parse: (text: string) => Value): Value | undefined => {
    try {
      return text === undefined ? undefined : parse(text)
    } catch (error) {
      mistakes.push(`${name} ${(error as Error).message}`)
      return undefined
    }
  }
  const oneOf = <Word extends string>(name: string, words: readonly Word[], otherwise: Word): Word =>
    read(name, given(name), (text) => {
      const word = words.find((one) => one === text)
      if (word === undefined) throw new Error(`must be one of ${words.join(', ')}`)
      return word
    }) ?? otherwise
  const integer = (name: string, least: number, most: number, otherwise: number): number =>
    read(name, given(name), (text) => {
      if (!/^\d{1,9}$/.test(text) || Number(text) < least || Number(text) > most)
        throw new Error(`must be an integer from ${least} to ${most}`)
      return Number(text)
    }) ?? otherwise
  const address = (name: string, otherwise: string): Address | undefined =>
    read(name, given(name) ?? otherwise, (text) => (text === 'off' ? undefined : addressOf(text)))
  /** A value, or the contents of the file that `NAME_FILE` names. */
  const secretFrom = (name: string): string | undefined =>
    given(name) ?? read(`${name}_FILE`, given(`${name}_FILE`), (path) => readFileSync(path, 'utf8').trim())
  const required = (names: string): void => void mistakes.push(`${names} is required`)
  const has = (name: string): boolean => given(name) !== undefined || given(`${name}_FILE`) !== undefined
  /** A setting that needs others, and those that it may have; without it, none of them has an effect. */
  const together = (name: string, needed: readonly string[], possible: readonly string[] = []): void => {
    if (has(name)) for (const one of needed.filter((other) => !has(other))) required(`${one}, beside ${name},`)
    else for (const one of [...needed, ...possible].filter(has)) mistakes.push(`${one} has no effect without ${name}`)
  }
  const readDirectory = (): Directory | undefined => {
    const LDAP = 'ACCOUNTS_LDAP_'
    const named = (...names: string[]): string[] => names.map((name) => LDAP + name)
    const url = read(`${LDAP}URL`, given(`${LDAP}URL`), urlOf('ldap:', 'ldaps:'))
    const filter = read(`${LDAP}FILTER`, given(`${LDAP}FILTER`), ldapFilterOf)
    const startTls = oneOf(`${LDAP}STARTTLS`, ['true', 'false'], 'false') === 'true'
    const ca = read(`${LDAP}CA_FILE`, given(`${LDAP}CA_FILE`), (path) => readFileSync(path, 'utf8'))
    const [dn, password] = [given(`${LDAP}BIND_DN`), secretFrom(`${LDAP}PASSWORD`)]
    together(`${LDAP}URL`, named('BASE', 'FILTER', 'ATTRIBUTE'), named('STARTTLS', 'CA_FILE', 'BIND_DN'))
    together(`${LDAP}BIND_DN`, named('PASSWORD'))
    if (url?.startsWith('ldaps:') === true && startTls) mistakes.push(`${LDAP}STARTTLS is for ldap:// alone`)
    if (url?.startsWith('ldap:') === true && !startTls && ca !== undefined)
      mistakes.push(`${LDAP}CA_FILE has no effect without ldaps:// or ${LDAP}STARTTLS`)
    return url === undefined
      ? undefined
      : {
          url,
          startTls,
          ca,
          bind: dn === undefined ? undefined : { dn, password: password ?? '' },
          base: given(`${LDAP}BASE`) ?? '',
          filter: filter ?? '',
          attribute: given(`${LDAP}ATTRIBUTE`) ?? '',
        }
  }

  const quotaUrl = read('QUOTA_URL', given('QUOTA_URL'), urlOf('http:', 'https:'))
  if (given('QUOTA_URL') === undefined) required('QUOTA_URL')
  const token = given('QUOTA_TOKEN')
  const file = given('QUOTA_TOKEN_FILE')
  if ((token === undefined) === (file === undefined)) required('one of QUOTA_TOKEN and QUOTA_TOKEN_FILE')

  const accountsFile = given('ACCOUNTS_FILE')
  const databaseUrl = secretFrom('ACCOUNTS_DATABASE_URL')
  const url = read('ACCOUNTS_DATABASE_URL', databaseUrl, urlOf('mysql:', 'mariadb:', 'postgresql:', 'postgres:'))
  const query = read('ACCOUNTS_QUERY', given('ACCOUNTS_QUERY'), namingSender)
  together('ACCOUNTS_DATABASE_URL', ['ACCOUNTS_QUERY'])
  const accountsDirectory = readDirectory()
  if (accountsFile === undefined && databaseUrl === undefined && given('ACCOUNTS_LDAP_URL') === undefined)
    required('one of ACCOUNTS_FILE, ACCOUNTS_DATABASE_URL and ACCOUNTS_LDAP_URL')

  const httpListen = address('HTTP_LISTEN', 'off')
  const httpToken = read('HTTP_TOKEN', secretFrom('HTTP_TOKEN'), secretOf)
  if (httpListen !== undefined && secretFrom('HTTP_TOKEN') === undefined)
    required('one of HTTP_TOKEN and HTTP_TOKEN_FILE, beside HTTP_LISTEN,')

  const textsFile = given('TEXTS_FILE') ?? ENGLISH
  const texts = read(`TEXTS_FILE ${textsFile}:`, textsFile, (path) => readTexts(readFileSync(path, 'utf8')))
  const localDomains = read('LOCAL_DOMAINS', secretFrom('LOCAL_DOMAINS') ?? '', domainsOf)

  const settings = {
    quotaUrl: quotaUrl ?? '',
    quotaToken: file === undefined ? { token: token ?? '' } : { file },
    keySecret: read('KEY_SECRET', given('KEY_SECRET'), secretOf),
    listen: address('LISTEN', '127.0.0.1:10040'),
    milterListen: address('MILTER_LISTEN', 'off'),
    http: httpListen === undefined ? undefined : { listen: httpListen, token: httpToken ?? '' },
    metrics: address('METRICS_LISTEN', '127.0.0.1:10041'),
    accountsFile,
    accountsDatabase: url === undefined || query === undefined ? undefined : { url, query },
    accountsDirectory,
    accountsCacheMs: integer('ACCOUNTS_CACHE_SECONDS', 0, 86_400, 60) * 1_000,
    stateDirectory: given('STATE_DIRECTORY'),
    rules: {
      payerWithoutSasl: oneOf('PAYER_WITHOUT_SASL', ['none', 'sender', 'network'], 'none'),
      unknownSender: oneOf('UNKNOWN_SENDER', ['pass', 'reject', 'defer'], 'defer'),
      noQuota: oneOf('NO_QUOTA', ['pass', 'reject', 'defer'], 'reject'),
      unreachable: oneOf('UNREACHABLE', ['defer', 'pass'], 'defer'),
      checkAtRcpt: oneOf('CHECK_AT_RCPT', ['true', 'false'], 'false') === 'true',
      localDomains: localDomains ?? new Set<string>(),
      nullSender: oneOf('NULL_SENDER', ['pay', 'pass'], 'pay'),
      unit: oneOf('UNITS', ['recipients', 'messages', 'kb'], 'recipients'),
      contact: read('CONTACT', given('CONTACT') ?? texts?.contact, contactOf) ?? '',
      timeZone: read('TIME_ZONE', given('TIME_ZONE') ?? 'UTC', zoneOf) ?? 'UTC',
      texts: texts ?? ({} as Texts),
    },
    maxConnections: integer('MAX_CONNECTIONS', 1, 100_000, 1_000),
    logLevel: oneOf('LOG_LEVEL', LOG_LEVELS, 'info'),
  }
  if (['LISTEN', 'MILTER_LISTEN', 'HTTP_LISTEN'].every((name) => (given(name) ?? 'off') === 'off') && given('LISTEN'))
    required('one of LISTEN, MILTER_LISTEN and HTTP_LISTEN')
  if (mistakes.length > 0)
    throw new SettingsError(`The configuration has mistakes:\n${mistakes.map((one) => `  - ${one}\n`).join('')}`)
  return settings
}

function urlOf(...protocols: string[]): (text: string) => string {
  return (text) => {
    if (!URL.canParse(text) || !protocols.includes(new URL(text).protocol))
      throw new Error(`must be a URL that begins with ${protocols.map((one) => `${one}//`).join(' or ')}`)
    return text
  }
}

function namingSender(text: string): string {
  if (text.search(REFERENCE) === -1) throw new Error('must name :user, :local or :domain')
  return text
}

function ldapFilterOf(text: string): string {
  try {
    filterOf(text, { user: 'user', local: 'local', domain: 'domain' })
  } catch (error) {
    throw new Error(`must be a filter (RFC 4515): ${(error as Error).message}`, { cause: error })
  }
  return namingSender(text)
}

function addressOf(text: string): Address {
  if (text.startsWith('unix:/')) return { path: text.slice('unix:'.length) }
  const [, host = '', port = ''] = /^(\[[\da-f:.]+\]|[\w.-]+):(\d{1,5})$/i.exec(text) ?? []
  if (host === '' || Number(port) > 65_535) throw new Error('must be HOST:PORT, [IPV6]:PORT, unix:/PATH or off')
  return { host: host.replace(/[[\]]/g, ''), port: Number(port) }
}

function secretOf(text: string): string {
  if (text.length < MIN_SECRET_LENGTH) throw new Error(`must have at least ${MIN_SECRET_LENGTH} characters`)
  return text
}

function contactOf(text: string): string {
  if (!/^[ -~]{1,100}$/.test(text)) throw new Error('must be an address or a URL: at most 100 characters of ASCII')
  return text
}

function domainsOf(text: string): ReadonlySet<string> {
  const names = text.split(/[\s,]+/).filter((name) => name !== '')
  return new Set(
    names.map((name) => {
      const domain = domainToASCII(name.replace(/^\./, ''))
      if (domain === '' || name.includes('@')) throw new Error(`must be names of domains, which ${name} is not`)
      return name.startsWith('.') ? `.${domain}` : domain
    }),
  )
}

function zoneOf(text: string): string {
  try {
    return new Intl.DateTimeFormat('en', { timeZone: text }).resolvedOptions().timeZone
  } catch {
    throw new Error('must be a time zone, such as Europe/Berlin')
  }
}
