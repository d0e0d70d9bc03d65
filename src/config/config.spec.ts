import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { rootCertificates } from 'node:tls'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import express from 'express'
import { ConfigError, loadConfig, loadDatabaseConfig, type ServerConfig, variableOf, VARIABLES } from './config.js'
import { parseTokensFile } from './token-entries.js'

const DIGEST = createHash('sha256').update('one').digest('hex')
const OTHER = createHash('sha256').update('two').digest('hex')
const THIRD = createHash('sha256').update('three').digest('hex')
const PRODUCTION = {
  NODE_ENV: 'production',
  AUTH_TOKENS: `ops:admin:${DIGEST}`,
  DATABASE_URL: 'mysql://quota:secret@db:3306/quota',
}

function mistakes(env: NodeJS.ProcessEnv): readonly string[] {
  try {
    loadConfig(env)
  } catch (error) {
    if (error instanceof ConfigError) return error.mistakes
    throw error
  }
  return []
}

describe('loadConfig', () => {
  it('does not treat a misspelt production as development', () => {
    expect(mistakes({ NODE_ENV: 'Production' })).toEqual(['NODE_ENV must be production, in lower case'])
  })

  it('has a default for everything outside production', () => {
    expect(loadConfig({})).toEqual({
      production: false,
      host: '127.0.0.1',
      port: 3000,
      metricsPort: undefined,
      metricsHost: '127.0.0.1',
      database: { kind: 'sqlite', path: './data/quota.db' },
      tokens: [],
      webhooks: [],
      corsOrigins: [],
      docsPublic: false,
      metricsPublic: false,
      console: true,
      consoleIdleMinutes: 0,
      publicUrl: undefined,
      linkSecret: [],
      viewFrameAncestors: [],
      verifyBackground: true,
      logLevel: 'info',
      logFormat: 'text',
      shutdownGraceSeconds: 25,
      shutdownDelaySeconds: 1,
      queueLimit: 10_000,
      principalQueueLimit: 4_000,
      newOwnersPerHour: 10_000,
      principalRequests: 256,
      principalBodyBytes: 250_000,
      maxConnections: 2_000,
      requestTimeoutSeconds: 20,
      trustProxy: undefined,
    })
  })

  it('treats an empty variable as absent', () => {
    const names = [
      'NODE_ENV',
      'HOST',
      'PORT',
      'DATABASE_URL',
      'AUTH_TOKENS',
      'CORS_ORIGINS',
      'LOG_LEVEL',
      'DOCS_PUBLIC',
      'CONSOLE',
    ]
    expect(loadConfig(Object.fromEntries(names.map((name) => [name, ' '])))).toEqual(loadConfig({}))
  })

  it('reads every variable', () => {
    const config = loadConfig({
      ...PRODUCTION,
      HOST: '0.0.0.0',
      PORT: '0',
      METRICS_PORT: '9464',
      METRICS_HOST: '::1',
      DATABASE_POOL_SIZE: '3',
      CORS_ORIGINS: 'https://office.example, http://localhost:5173',
      DOCS_PUBLIC: 'true',
      METRICS_PUBLIC: 'true',
      CONSOLE: 'false',
      PUBLIC_URL: 'https://quota.example/below/',
      LINK_SECRET: `${DIGEST}, ${OTHER}`,
      VIEW_FRAME_ANCESTORS: 'https://webmail.example',
      VERIFY_BACKGROUND: 'false',
      LOG_LEVEL: 'debug',
      SHUTDOWN_GRACE_SECONDS: '9',
      SHUTDOWN_DELAY_SECONDS: '0',
      QUEUE_LIMIT: '5',
      RETENTION_DAYS: '30',
      CHANGES_RETENTION_DAYS: '36500',
      PRINCIPAL_QUEUE_LIMIT: '4',
      PRINCIPAL_REQUESTS: '3',
      PRINCIPAL_BODY_BYTES: '2',
      MAX_CONNECTIONS: '20',
      REQUEST_TIMEOUT_SECONDS: '5',
      TRUST_PROXY: '10.0.0.0/8, ::1,loopback',
    })
    expect(config).toEqual({
      production: true,
      host: '0.0.0.0',
      port: 0,
      metricsPort: 9464,
      metricsHost: '::1',
      database: { kind: 'mysql', url: PRODUCTION.DATABASE_URL, poolSize: 3 },
      tokens: [{ name: 'ops', role: 'admin', hash: Buffer.from(DIGEST, 'hex') }],
      webhooks: [],
      corsOrigins: ['https://office.example', 'http://localhost:5173'],
      docsPublic: true,
      metricsPublic: true,
      console: false,
      consoleIdleMinutes: 0,
      publicUrl: 'https://quota.example/below',
      linkSecret: [DIGEST, OTHER],
      viewFrameAncestors: ['https://webmail.example'],
      verifyBackground: false,
      logLevel: 'debug',
      logFormat: 'json',
      shutdownGraceSeconds: 9,
      shutdownDelaySeconds: 0,
      queueLimit: 5,
      retentionDays: 30,
      changesRetentionDays: 36_500,
      principalQueueLimit: 4,
      newOwnersPerHour: 10_000,
      principalRequests: 3,
      principalBodyBytes: 2,
      maxConnections: 20,
      requestTimeoutSeconds: 5,
      trustProxy: ['10.0.0.0/8', '::1', 'loopback'],
    })
  })

  it('is deeply frozen', () => {
    const config = loadConfig(PRODUCTION)
    const parts: readonly unknown[] = [config, config.database, config.tokens, config.tokens[0], config.corsOrigins]
    expect(parts.map((part) => Object.isFrozen(part))).toEqual(parts.map(() => true))
  })

  it('names every mistake in one message, one per line', () => {
    const env = { NODE_ENV: 'production', PORT: '65536', DOCS_PUBLIC: 'yes', LOG_LEVEL: 'loud', QUEUE_LIMIT: '1e3' }
    expect(mistakes(env)).toEqual([
      expect.stringMatching(/^PORT /),
      expect.stringMatching(/^DOCS_PUBLIC /),
      expect.stringMatching(/^LOG_LEVEL /),
      expect.stringMatching(/^QUEUE_LIMIT /),
      expect.stringMatching(/^DATABASE_URL is required/),
      expect.stringMatching(/^AUTH_TOKENS is required/),
    ])
    expect(() => loadConfig(env)).toThrow(new RegExp(mistakes(env).join('.*\n.*')))
  })

  it('keeps everything by default, and keys for as long as the contract promises', () => {
    expect(loadConfig(PRODUCTION)).toMatchObject({ retentionDays: undefined, changesRetentionDays: undefined })
    expect(mistakes({ RETENTION_DAYS: '29', CHANGES_RETENTION_DAYS: '36501' })).toEqual([
      'RETENTION_DAYS must be an integer from 30 to 36500',
      'CHANGES_RETENTION_DAYS must be an integer from 30 to 36500',
    ])
  })

  it('serves metrics on a separate port if one is configured, on the same host', () => {
    expect(loadConfig({ METRICS_PORT: '9464', HOST: '10.0.0.1' })).toMatchObject({
      metricsPort: 9464,
      metricsHost: '10.0.0.1',
    })
    expect(loadConfig({ METRICS_PORT: '0', PORT: '0' })).toMatchObject({ port: 0, metricsPort: 0 })
    expect(mistakes({ METRICS_PORT: '3000' })).toEqual(['METRICS_PORT must differ from PORT'])
    expect(mistakes({ METRICS_PORT: '80', PORT: '80', METRICS_HOST: '::1' })).toEqual([
      'METRICS_PORT must differ from PORT',
    ])
    expect(mistakes({ METRICS_PORT: 'x' })).toEqual(['METRICS_PORT must be an integer from 0 to 65535'])
    expect(mistakes({ METRICS_HOST: '::1' })).toEqual(['METRICS_HOST needs METRICS_PORT'])
  })

  it('sends traces if a collector is configured, and checks the related variables only then', () => {
    expect(loadConfig({}).traces).toBeUndefined()
    expect(loadConfig({ OTEL_TRACES_SAMPLER: 'jaeger_remote', OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' }).traces).toBe(
      undefined,
    )
    const OTEL_EXPORTER_OTLP_ENDPOINT = 'http://collector:4318/'
    expect(loadConfig({ OTEL_EXPORTER_OTLP_ENDPOINT }).traces).toEqual({
      url: 'http://collector:4318/v1/traces',
      headers: '',
      serviceName: 'quota-service',
      resource: '',
      sampler: 'parentbased_always_on',
      ratio: 1,
    })
    const all = {
      OTEL_EXPORTER_OTLP_ENDPOINT,
      OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'https://traces.example/here',
      OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Bearer%20x',
      OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
      OTEL_SERVICE_NAME: 'quotas',
      OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test',
      OTEL_TRACES_SAMPLER: 'parentbased_traceidratio',
      OTEL_TRACES_SAMPLER_ARG: '0.01',
    }
    expect(loadConfig(all).traces).toEqual({
      url: 'https://traces.example/here',
      headers: 'authorization=Bearer%20x',
      serviceName: 'quotas',
      resource: 'deployment.environment.name=test',
      sampler: 'parentbased_traceidratio',
      ratio: 0.01,
    })
    expect(
      mistakes({
        OTEL_EXPORTER_OTLP_ENDPOINT: 'collector:4318',
        OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc',
        OTEL_TRACES_SAMPLER: 'some',
        OTEL_TRACES_SAMPLER_ARG: '1.5',
        OTEL_EXPORTER_OTLP_HEADERS: 'a=b%3Bc, api-key: x ,k=50%,key=x;y',
        OTEL_RESOURCE_ATTRIBUTES: 'a=b,,c=',
      }),
    ).toEqual([
      'OTEL_EXPORTER_OTLP_ENDPOINT must be the URL of a collector, like http://collector:4318',
      'OTEL_EXPORTER_OTLP_PROTOCOL must be one of http/json',
      'OTEL_EXPORTER_OTLP_HEADERS, entry 2: must be name=value, percent-encoded',
      'OTEL_EXPORTER_OTLP_HEADERS, entry 3: must be name=value, percent-encoded',
      'OTEL_EXPORTER_OTLP_HEADERS, entry 4: must be name=value, percent-encoded',
      'OTEL_RESOURCE_ATTRIBUTES, entry 3: must be name=value, percent-encoded',
      expect.stringContaining('OTEL_TRACES_SAMPLER must be one of always_on'),
      'OTEL_TRACES_SAMPLER_ARG must be a number from 0 to 1',
    ])
  })

  it('requires a delay that is shorter than the grace time', () => {
    expect(mistakes({ SHUTDOWN_DELAY_SECONDS: '5', SHUTDOWN_GRACE_SECONDS: '5' })).toEqual([
      expect.stringContaining('SHUTDOWN_DELAY_SECONDS'),
    ])
  })

  it.each([
    '*',
    'office.example',
    'https://office.example/',
    'https://Office.example',
    'ftp://office.example',
    'https://*.office.example',
    'null',
  ])('refuses %s as an origin', (origin) => {
    expect(mistakes({ CORS_ORIGINS: origin })).toEqual([expect.stringContaining('CORS_ORIGINS')])
  })

  it.each<[string, Record<string, string>, RegExp]>([
    ['a short secret', { LINK_SECRET: 'x'.repeat(31) }, /^LINK_SECRET: each .* at least 32 characters$/],
    ['a short second one', { LINK_SECRET: `${DIGEST},${'y'.repeat(31)}` }, /at least 32 characters/],
    ['no second one', { LINK_SECRET: `${DIGEST},` }, /at least 32 characters/],
    ['three secrets', { LINK_SECRET: [DIGEST, OTHER, THIRD].join() }, /^LINK_SECRET must be one secret, or two/],
    ['a secret and a file', { LINK_SECRET: DIGEST, LINK_SECRET_FILE: '/nowhere' }, /both set: set only one/],
    ['a file that is not there', { LINK_SECRET_FILE: '/nowhere' }, /^LINK_SECRET_FILE cannot be read/],
    ['an address without a scheme', { PUBLIC_URL: 'quota.example' }, /^PUBLIC_URL must be the URL/],
    ['an address with a query', { PUBLIC_URL: 'https://quota.example/?a' }, /^PUBLIC_URL must be/],
    ['an address with a fragment', { PUBLIC_URL: 'https://quota.example/#' }, /^PUBLIC_URL must be/],
    ['an address with a user', { PUBLIC_URL: 'https://a:b@quota.example' }, /^PUBLIC_URL must be/],
    ['an address with a password', { PUBLIC_URL: 'https://:b@quota.example' }, /^PUBLIC_URL must be/],
    ['an address with a blank', { PUBLIC_URL: 'https://quota.example/ a' }, /^PUBLIC_URL must be/],
    ['a frame that is no origin', { VIEW_FRAME_ANCESTORS: '*' }, /^VIEW_FRAME_ANCESTORS: "\*" is no origin/],
  ])('does not accept %s, and shows no secret', (_what, env, mistake) => {
    expect(mistakes(env)).toEqual([expect.stringMatching(mistake)])
    expect(mistakes(env).join()).not.toMatch(/xxx|yyy|[0-9a-f]{64}/)
  })

  it.each<[string, unknown]>([
    ['0', 0],
    ['2', 2],
    ['loopback, uniquelocal,linklocal', ['loopback', 'uniquelocal', 'linklocal']],
    ['10.1.2.3,10.0.0.0/8', ['10.1.2.3', '10.0.0.0/8']],
    ['2001:db8::/32,::1', ['2001:db8::/32', '::1']],
    ['', undefined],
  ])('takes TRUST_PROXY=%s, which Express understands', (text, value) => {
    const { trustProxy } = loadConfig({ TRUST_PROXY: text })
    expect(trustProxy).toEqual(value)
    expect(() => express().set('trust proxy', trustProxy ?? false)).not.toThrow()
  })

  it.each([
    'true',
    'all',
    '11',
    '-1',
    '1.5',
    '10.0.0.0/0',
    '10.0.0.0/33',
    '10.0.0.1/8/8',
    '::/129',
    'fe80::1%eth0',
    'proxy.example',
  ])('refuses TRUST_PROXY=%s', (text) => {
    expect(mistakes({ TRUST_PROXY: text })).toEqual([expect.stringContaining('TRUST_PROXY')])
  })
})

describe('the table of variables', () => {
  const defaults = new Map<string, unknown>(Object.entries(loadConfig({})))
  /** Their default depends on another variable. */
  const derived = ['logFormat', 'metricsHost']
  const shown = (name: string): string =>
    derived.includes(name) ? '' : `${(defaults.get(name) ?? '') as string | number | boolean}`

  it.each(Object.entries(VARIABLES))('is what .env.example says of %s', (name, { doc }) => {
    const paragraphs = readFileSync('.env.example', 'utf8').split('\n\n')
    const found = paragraphs.filter((text) => text.endsWith(`\n# ${variableOf(name)}=${shown(name)}`))
    expect(found.map((text) => text.split('\n')[0])).toEqual([`# ${doc}`])
  })

  it.each(Object.keys(VARIABLES))('is what docs/run/configuration.md says of %s', (name) => {
    const rows = [...readFileSync('docs/run/configuration.md', 'utf8').matchAll(/^\| (`[A-Z_`, ]+`) \| (.*?) \|/gm)]
    const cells = rows.flatMap(([, names = '', values = '']) => {
      const told = values.split(', ')
      return names
        .split(', ')
        .map((one, index) => [one.slice(1, -1), told[told.length === 1 ? 0 : index] ?? ''] as const)
    })
    const [value] = cells.flatMap(([variable, told]) => (variable === variableOf(name) ? [told] : []))
    expect(value).toBeDefined()
    if (shown(name) !== '') expect(value?.split('`')[1]).toBe(shown(name))
  })

  it.each(Object.keys(VARIABLES).map(variableOf))('includes both ends of the range of %s', (variable) => {
    const outside = (value: string): string | undefined =>
      mistakes({ [variable]: value }).find((mistake) => mistake.startsWith(`${variable} must be an integer`))
    const [, ...ends] = /from (\d+) to (\d+)$/.exec(outside('many') ?? '') ?? []
    expect(ends.map(outside)).toEqual(ends.map(() => undefined))
  })
})

describe('DATABASE_URL', () => {
  it.each([
    ['sqlite:./data/x.db', { kind: 'sqlite', path: './data/x.db' }],
    ['sqlite:/var/lib/x.db', { kind: 'sqlite', path: '/var/lib/x.db' }],
    ['sqlite:///var/lib/x.db', { kind: 'sqlite', path: '/var/lib/x.db' }],
    ['mariadb://u:p%40ss@h/db', { kind: 'mysql', url: 'mariadb://u:p%40ss@h/db', poolSize: 10 }],
    ['mysql://u:p@[::1]:3306/db', { kind: 'mysql', url: 'mysql://u:p@[::1]:3306/db', poolSize: 10 }],
    ['mysql://u:p@[fe80::1]/db', { kind: 'mysql', url: 'mysql://u:p@[fe80::1]/db', poolSize: 10 }],
  ])('takes %s', (url, database) => {
    expect(loadConfig({ DATABASE_URL: url }).database).toEqual(database)
  })

  it.each([
    ['sqlite:', 'names no file'],
    ['sqlite://data/x.db', 'names no file'],
    ['sqlite::memory:', 'must name a file'],
    ['sqlite:file:x?mode=memory', 'must name a file'],
    ['postgres://u:hush@h/db', 'must be mysql://'],
    ['mysql:hush', 'must be mysql://'],
    ['mysql://u:hush%zz@h/db', 'cannot be read'],
    ['mysql://u:hu/sh@h/db', 'cannot be read'],
    ['mysql://h', 'lacks a user, a database: mysql://'],
    ['mysql://u:p@x#hush@h/db', 'lacks a database; special characters in user and password must be percent-encoded'],
    ['mysql://u:p@x?hush@h/db', 'lacks a database; special characters in user and password must be percent-encoded'],
    ['mysql://u:hush@h/', 'lacks a database'],
    ['mysql://u:hush@h/db/more', 'lacks a database'],
    ['mysql://u:hush@h/db?ssl=true', 'takes no parameters'],
    ['mysql://u:hush@[::1/db', 'cannot be read'],
    ['mysql://u:hush@::1/db', 'cannot be read'],
    ['mysql://u:hush@[fe80::1%25eth0]/db', 'cannot be read'],
    ['mysql://u:hush@h/db\nmysql://u:hush@h/db', 'cannot be read'],
    ['mysql://u:hush@h/d%zz', 'cannot be read'],
  ])('refuses %s without repeating it', (url, why) => {
    const found = mistakes({ DATABASE_URL: url })
    expect(found).toEqual([expect.stringContaining(why)])
    expect(found.join()).not.toMatch(/hush|hu\/sh/)
  })
})

describe('variables that name files', () => {
  let folder: string

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'quota-config-'))
  })

  afterEach(() => {
    rmSync(folder, { recursive: true, force: true })
  })

  function file(name: string, text: string): string {
    const path = join(folder, name)
    writeFileSync(path, text)
    return path
  }

  const SERVER = { DATABASE_URL: 'mysql://u:hush@h/db' }
  const CERTIFICATE = rootCertificates[0] ?? ''

  it('DATABASE_URL_FILE contains the URL, and is equivalent to DATABASE_URL', () => {
    const url = 'mysql://quota:hush@db:3306/quota'
    for (const text of [url, `${url}\n`, `${url}\r\n\n`]) {
      const env = { ...PRODUCTION, DATABASE_URL: '', DATABASE_URL_FILE: file('url', text) }
      expect(loadConfig(env).database).toEqual({ kind: 'mysql', url, poolSize: 10 })
      expect(loadDatabaseConfig(env)).toEqual({ kind: 'mysql', url, poolSize: 10 })
    }
  })

  it('DATABASE_URL_FILE is refused with the reason, without the content of the file', () => {
    const absent = join(folder, 'absent')
    const cases: [NodeJS.ProcessEnv, RegExp][] = [
      [{ DATABASE_URL_FILE: absent }, /^DATABASE_URL_FILE cannot be read: ENOENT.*absent/],
      [{ DATABASE_URL_FILE: folder }, /^DATABASE_URL_FILE cannot be read: .* is not a regular file$/],
      [{ DATABASE_URL_FILE: file('empty', ' \n') }, /^DATABASE_URL_FILE: .*empty is empty$/],
      [{ DATABASE_URL_FILE: file('other', 'hush\n') }, /^DATABASE_URL_FILE must be mysql:/],
      [
        { DATABASE_URL_FILE: file('two', 'mysql://u:hush@h/db\nmysql://u:hush@h/db') },
        /^DATABASE_URL_FILE cannot be read/,
      ],
      [
        { DATABASE_URL_FILE: file('url', 'mysql://u:hush@h/db'), ...SERVER },
        /^DATABASE_URL and DATABASE_URL_FILE are both/,
      ],
    ]
    for (const [env, why] of cases) {
      const found = mistakes({ ...PRODUCTION, DATABASE_URL: '', ...env })
      expect(found).toEqual([expect.stringMatching(why)])
      expect(found.join()).not.toContain('hush')
    }
  })

  it('DATABASE_TLS and DATABASE_TLS_CA determine how connections are encrypted', () => {
    const tls = (env: NodeJS.ProcessEnv) => (loadConfig({ ...SERVER, ...env }).database as ServerConfig).tls
    const ca = `${CERTIFICATE}\n${rootCertificates[1]}`
    expect(tls({})).toBeUndefined()
    expect(tls({ DATABASE_TLS: 'off' })).toBeUndefined()
    expect(tls({ DATABASE_TLS: 'required' })).toEqual({ verify: false })
    expect(tls({ DATABASE_TLS: 'verify' })).toEqual({ verify: true })
    expect(tls({ DATABASE_TLS: 'verify', DATABASE_TLS_CA: file('ca.pem', ca) })).toEqual({ verify: true, ca })
    expect(Object.isFrozen(tls({ DATABASE_TLS: 'verify' }))).toBe(true)
  })

  it('DATABASE_TLS and DATABASE_TLS_CA are refused if they would have no effect', () => {
    const good = file('ca.pem', CERTIFICATE)
    const broken = file('broken.pem', `${CERTIFICATE}\n${CERTIFICATE.slice(0, 200)}`)
    const verify = { ...SERVER, DATABASE_TLS: 'verify' }
    const cases: [NodeJS.ProcessEnv, RegExp][] = [
      [{ ...SERVER, DATABASE_TLS: 'on' }, /^DATABASE_TLS must be one of off, required, verify$/],
      [{ ...SERVER, DATABASE_TLS: 'on', DATABASE_TLS_CA: good }, /^DATABASE_TLS must be one of off, required, verify$/],
      [{ ...SERVER, DATABASE_TLS_CA: good }, /^DATABASE_TLS_CA is for DATABASE_TLS=verify/],
      [{ ...SERVER, DATABASE_TLS: 'required', DATABASE_TLS_CA: good }, /^DATABASE_TLS_CA is for DATABASE_TLS=verify/],
      [{ ...verify, DATABASE_TLS_CA: join(folder, 'absent') }, /^DATABASE_TLS_CA cannot be read: ENOENT.*absent/],
      [{ ...verify, DATABASE_TLS_CA: file('key.pem', 'hush') }, /^DATABASE_TLS_CA: .*key\.pem holds no certificate/],
      [{ ...verify, DATABASE_TLS_CA: broken }, /^DATABASE_TLS_CA: .*invalid certificate, number 2$/],
      [{ DATABASE_TLS: 'required' }, /^DATABASE_TLS is for a server/],
      [{ DATABASE_URL: 'sqlite:x.db', DATABASE_TLS: 'verify' }, /^DATABASE_TLS is for a server/],
    ]
    for (const [env, why] of cases) {
      const found = mistakes(env)
      expect(found).toEqual([expect.stringMatching(why)])
      expect(found.join()).not.toContain('hush')
    }
  })
})

describe('AUTH_TOKENS', () => {
  it('takes two entries of one name and role, for rotation', () => {
    const { tokens } = loadConfig({ AUTH_TOKENS: ` mta:usage:${DIGEST} , mta:usage:${OTHER.toUpperCase()}, ` })
    expect(tokens.map(({ name, role, hash }) => [name, role, hash.toString('hex')])).toEqual([
      ['mta', 'usage', DIGEST],
      ['mta', 'usage', OTHER],
    ])
  })

  it.each([
    [`mta:usage`, 'must be name:role:sha256hex'],
    [`mta:usage:${DIGEST}:x`, 'must be name:role:sha256hex'],
    [`:usage:${DIGEST}`, 'a name must be'],
    [`m ta:usage:${DIGEST}`, 'a name must be'],
    [`${'x'.repeat(65)}:usage:${DIGEST}`, 'a name must be'],
    [`mta:root:${DIGEST}`, 'the role must be one of usage, service, admin'],
    [`mta:usage:${DIGEST}0`, 'the digest must be'],
    ['mta:usage:qs_usage_hush', 'is a token itself'],
  ])('refuses %s and tells the entry by its place', (entry, why) => {
    const found = mistakes({ AUTH_TOKENS: `good:admin:${OTHER},${entry}` })
    expect(found).toEqual([expect.stringMatching(new RegExp(`^AUTH_TOKENS, entry 2: .*${why}`))])
    expect(found.join()).not.toMatch(new RegExp(`${DIGEST}|${OTHER}|hush`))
  })

  it.each([
    ['usage+mail', 'usage', ['mail']],
    ['usage+own+sms', 'usage', ['sms', 'own']],
    ['service+mail', 'service', ['mail']],
    ['admin+sms', 'admin', ['sms']],
    ['admin', 'admin', undefined],
  ])('takes %s for a role and what narrows it', (right, role, scopes) => {
    expect(loadConfig({ AUTH_TOKENS: `a:${right}:${DIGEST}` }).tokens).toEqual([
      { name: 'a', role, scopes, hash: Buffer.from(DIGEST, 'hex') },
    ])
  })

  it.each([
    ['usage+hush', 'a scope must be one of mail, sms, own'],
    ['usage+', 'a scope must be one of mail, sms, own'],
    ['usage+Mail', 'a scope must be one of mail, sms, own'],
    ['usage+service', 'a scope must be one of mail, sms, own'],
    ['usage+own+own', 'a scope is named twice'],
    ['usage+mail+sms', 'a token has one of the scopes mail, sms, or neither and with it every channel'],
    ['service+own', 'the scope own does not go with the role service; it goes with usage'],
    ['metrics+mail', 'the scope mail does not go with the role metrics; it goes with usage, service, admin'],
    ['admin+own', 'the scope own does not go with the role admin; it goes with usage'],
    ['mail', 'the role must be one of usage, service, admin, metrics'],
  ])('refuses %s', (right, why) => {
    const found = mistakes({ AUTH_TOKENS: `a:${right}:${DIGEST}` })
    expect(found).toEqual([`AUTH_TOKENS, entry 1: ${why}`])
    expect(found.join()).not.toContain('hush')
  })

  it('refuses a token in place of its entry or digest, and says what to write', () => {
    const why = 'AUTH_TOKENS, entry 1: is a token itself; its entry is'
    for (const entry of ['qs_admin_hush', 'a:admin:qs_admin_hush']) {
      const found = mistakes({ AUTH_TOKENS: entry })
      expect(found).toEqual([expect.stringContaining(why)])
      expect(found.join()).not.toContain('hush')
    }
  })

  it('refuses one name with two scopes', () => {
    const same = `a:usage+own+mail:${DIGEST},a:usage+mail+own:${OTHER}`
    expect(mistakes({ AUTH_TOKENS: same })).toEqual([])
    for (const right of ['usage', 'usage+own', 'usage+sms+own']) {
      expect(mistakes({ AUTH_TOKENS: `a:usage+own+mail:${DIGEST},a:${right}:${OTHER}` })).toEqual([
        'AUTH_TOKENS, entry 2: another entry of that name has other scopes',
      ])
    }
  })

  it('refuses two names that differ only in case, and accepts one name twice', () => {
    const why = 'another entry has a name that differs in case alone: write both the same way, or rename one'
    expect(mistakes({ AUTH_TOKENS: `Mailer:usage:${DIGEST},mailer:usage:${OTHER}` })).toEqual([
      `AUTH_TOKENS, entry 2: ${why}`,
    ])
    expect(mistakes({ AUTH_TOKENS: `mailer:usage:${DIGEST},MAILER:admin:${OTHER}` })).toEqual([
      `AUTH_TOKENS, entry 2: ${why}`,
    ])
    expect(mistakes({ AUTH_TOKENS: `mailer:usage:${DIGEST},mailer:usage:${OTHER}` })).toEqual([])
    const file = `Mailer:usage:${DIGEST}\nother:usage:${OTHER}\nmailer:usage:${THIRD}\n`
    expect(parseTokensFile(file).mistakes).toEqual([`AUTH_TOKENS_FILE, line 3: ${why}`])
  })

  it('refuses one name with two roles, and one token twice', () => {
    expect(mistakes({ AUTH_TOKENS: `a:usage:${DIGEST},a:admin:${OTHER}` })).toEqual([
      'AUTH_TOKENS, entry 2: another entry of that name has another role',
    ])
    expect(mistakes({ AUTH_TOKENS: `a:usage:${DIGEST},b:usage:${DIGEST.toUpperCase()}` })).toEqual([
      'AUTH_TOKENS, entry 2: another entry has the same digest',
    ])
  })

  it.each([
    ['2027-01-01T00:00:00Z', '2027-01-01T00:00:00.000Z'],
    ['2027-01-01T01:30:00.0009+01:30', '2027-01-01T00:00:00.000Z'],
    ['1999-12-31T23:59:59.999z', '1999-12-31T23:59:59.999Z'],
  ])('takes %s for the end of a token', (time, end) => {
    const { tokens } = loadConfig({ AUTH_TOKENS: `a:usage:${DIGEST}:${time},b:usage+own:${OTHER}` })
    expect(tokens.map(({ notAfter }) => notAfter)).toEqual([Date.parse(end), undefined])
  })

  it.each([
    '',
    'x',
    '2027-01-01',
    '2027-01-01T00:00:00',
    '2027-01-01T00:00:00Z:',
    '2027-02-29T00:00:00Z',
    '1798761600',
  ])('refuses %j as one', (time) => {
    expect(mistakes({ AUTH_TOKENS: `a:usage:${DIGEST}:${time}` })).toEqual([
      expect.stringMatching(/^AUTH_TOKENS, entry 1: must be name:role:sha256hex, or .*:not_after with a time like/),
    ])
  })

  it('refuses a list without entries', () => {
    expect(mistakes({ AUTH_TOKENS: ',' })).toEqual(['AUTH_TOKENS holds no entry'])
    expect(mistakes({ ...PRODUCTION, AUTH_TOKENS: ',' })).toEqual(['AUTH_TOKENS holds no entry'])
  })
})

describe('AUTH_TOKENS_FILE', () => {
  let folder: string
  const file = (text: string): string => {
    const path = join(folder, 'tokens')
    writeFileSync(path, text)
    return path
  }

  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'quota-config-'))
  })

  afterAll(() => {
    rmSync(folder, { recursive: true, force: true })
  })

  it.each([
    ['lines', `ops:admin:${DIGEST}\nmta:usage+own:${OTHER}:2027-01-01T00:00:00Z\n`],
    ['lines as other systems end them', `\uFEFFops:admin:${DIGEST}\r\nmta:usage+own:${OTHER}:2027-01-01T00:00:00Z\r\n`],
    ['commas', `ops:admin:${DIGEST} , mta:usage+own:${OTHER}:2027-01-01T00:00:00Z`],
    [
      'comments',
      `# people\n\nops:admin:${DIGEST} # anna, boris\n# machines\nmta:usage+own:${OTHER}:2027-01-01T00:00:00Z#x`,
    ],
  ])('holds entries, with %s', (_how, text) => {
    const tokensFile = file(text)
    for (const env of [{}, { ...PRODUCTION, AUTH_TOKENS: '' }]) {
      const config = loadConfig({ ...env, AUTH_TOKENS_FILE: tokensFile })
      expect(config.tokensFile).toBe(tokensFile)
      expect(config.tokens).toEqual([
        { name: 'ops', role: 'admin', hash: Buffer.from(DIGEST, 'hex') },
        {
          name: 'mta',
          role: 'usage',
          scopes: ['own'],
          hash: Buffer.from(OTHER, 'hex'),
          notAfter: Date.UTC(2027, 0, 1),
        },
      ])
    }
  })

  it.each([
    ['', 'AUTH_TOKENS_FILE holds no entry'],
    ['# nothing\n ,\n', 'AUTH_TOKENS_FILE holds no entry'],
    [`a:usage:${DIGEST}\n# hush\nhush:root:${OTHER}\n`, 'AUTH_TOKENS_FILE, line 3: the role must be one of'],
    [
      `\n# hush\r\na:usage:${DIGEST}, b:usage:${OTHER} , hush:root:${THIRD} # hush\r\n`,
      'AUTH_TOKENS_FILE, line 3, entry 3: ',
    ],
    ['#'.repeat(1_000_001), 'AUTH_TOKENS_FILE is longer than 1000000 characters'],
  ])('is refused with mistakes in it', (text, why) => {
    const found = mistakes({ ...PRODUCTION, AUTH_TOKENS: '', AUTH_TOKENS_FILE: file(text) })
    expect(found).toEqual([expect.stringContaining(why)])
    expect(found.join()).not.toMatch(new RegExp(`${DIGEST}|${OTHER}|hush`))
  })

  it('is refused if it cannot be read, also outside production', () => {
    expect(mistakes({ AUTH_TOKENS_FILE: join(folder, 'none') })).toEqual([
      expect.stringMatching(/^AUTH_TOKENS_FILE cannot be read: ENOENT/),
    ])
    const pipe = join(folder, 'pipe')
    execFileSync('mkfifo', [pipe])
    for (const path of [folder, pipe])
      for (const name of ['AUTH_TOKENS_FILE', 'WEBHOOKS_FILE', 'DATABASE_URL_FILE', 'LINK_SECRET_FILE'])
        expect(mistakes({ ...PRODUCTION, [name]: path })).toContain(
          `${name} cannot be read: ${path} is not a regular file`,
        )
  })

  it('of webhooks may begin with the mark of the byte order, as some editors write it', () => {
    expect(loadConfig({ ...PRODUCTION, WEBHOOKS_FILE: file('\uFEFF[]') }).webhooks).toEqual([])
  })

  it('holds each secret of links on a line of its own', () => {
    const { linkSecret } = loadConfig({ ...PRODUCTION, LINK_SECRET_FILE: file(`${DIGEST}\n\n${OTHER}\n`) })
    expect(linkSecret).toEqual([DIGEST, OTHER])
  })

  it('is refused together with AUTH_TOKENS', () => {
    expect(mistakes({ ...PRODUCTION, AUTH_TOKENS_FILE: file(`a:usage:${OTHER}`) })).toEqual([
      'AUTH_TOKENS and AUTH_TOKENS_FILE are both set: set only one of them',
    ])
  })
})
