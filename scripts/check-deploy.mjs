/**
 * `npm run check:deploy`: compares deploy/ and compose.yaml with the built service and its connector for mail servers.
 *
 * - Alert rules and their tests: promtool, if it is installed (Debian: prometheus). Each alert has a test in which it
 *   fires, one in which it does not, and a description in docs/run/runbook.md.
 * - A running service, or connector, exposes every metric, label and label value in the rules and on its dashboard: the
 *   script starts the built service, on SQLite and, if MariaDB is installed, on a throwaway MariaDB too, uses each feature a little, and
 *   reads its metrics.
 * - systemd-analyze, if it is installed, accepts the units of the service and of the connector; that of the service leaves it enough time to
 *   shut down.
 * - Manifests parse, the service knows and accepts their settings, and they leave it enough time to shut down.
 * - Pages send signals to containers in a way that the engine does not take for a stop.
 * - The image has its labels, and its list of contents names Node, Debian and each package. What the images are built
 *   from is not ignored.
 *
 * The exit code is 0 only if all checks pass.
 */
import { execFileSync, spawn } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { CORE_SCHEMA, load as parseYaml, mergeTag } from 'js-yaml'
import Database from 'libsql'
import mysql from 'mysql2/promise'
import { findMariaDb, freePort, startMariaDb } from './mariadb.mjs'
import { namesIn } from './promql.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))
const at = (path) => join(root, path)
const read = (path) => readFileSync(at(path), 'utf8')

const SERVICE = {
  rules: 'deploy/prometheus/rules.yaml',
  tests: 'deploy/prometheus/rules.test.yaml',
  dashboard: 'deploy/grafana/quota-service.json',
  source: 'src',
}
const CONNECTOR = {
  rules: 'deploy/prometheus/postfix-rules.yaml',
  tests: 'deploy/prometheus/postfix-rules.test.yaml',
  dashboard: 'deploy/grafana/quota-postfix.json',
  source: 'connectors/mail/src',
}
const SERVICE_UNIT = 'deploy/quota-service.service'
const UNITS = [SERVICE_UNIT, 'connectors/mail/quota-postfix.service']
/** The margin between an instance's shutdown time and its kill: the runtime's own time, and a last send of spans. */
const STOP_MARGIN_SECONDS = 10
/** A separate policy, so that an overlay names addresses without repeating others. */
const DATABASE_POLICY = 'quota-service-database'
const ENTRY = `check:admin:${'0'.repeat(64)}`
/** The realm that the provider imports in the profile `sign-in` of compose.yaml. */
const REALM = 'examples/sign-in/realm.json'
const MANIFESTS = 'deploy/kubernetes/base'
/** The names that Prometheus adds by itself. */
const OF_PROMETHEUS = { metrics: ['up'], labels: ['job', 'instance'] }
const PATIENCE_MS = 60_000
/** Kubernetes' default period of a probe. */
const DEFAULT_PROBE_SECONDS = 10
/** Stands for a metric that is declared but has no measurement. */
const UNSEEN = new Map()

const mistakes = []
const wrong = (text) => mistakes.push(text)

const cleanups = []
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'])
  process.once(signal, () => void cleanUp().finally(() => process.exit(1)))
try {
  promtool('check', 'config', '--syntax-only', 'deploy/prometheus/prometheus.yaml')
  for (const place of [SERVICE, CONNECTOR]) checkRules(place)
  await checkUnits()
  await checkManifests()
  checkSignals()
  checkImage()
  await checkNames(SERVICE, await seriesOfLoadedServices())
  await checkNames(CONNECTOR, await seriesOfConnector())
} finally {
  await cleanUp()
}
for (const mistake of mistakes) console.error(`wrong: ${mistake}`)
if (mistakes.length === 0) console.log('deploy/ fits the service')
process.exitCode = mistakes.length === 0 ? 0 : 1

async function cleanUp() {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
}

// --- Alert rules

function checkRules({ rules, tests: file }) {
  const alerts = alertRules(rules)
  const tests = parseYaml(read(file)).tests.flatMap((test) => test.alert_rule_test)
  const runbook = read('docs/run/runbook.md')
  for (const { alert } of alerts) {
    const own = tests.filter((test) => test.alertname === alert)
    const firing = own.filter((test) => (test.exp_alerts ?? []).length > 0)
    if (firing.length === 0) wrong(`${file}: no test sees ${alert} fire`)
    if (firing.length === own.length) wrong(`${file}: no test sees ${alert} not fire`)
    if (!runbook.includes(`\`${alert}\``)) wrong(`docs/run/runbook.md does not say what ${alert} means`)
  }
  for (const { alertname } of tests) {
    if (!alerts.some(({ alert }) => alert === alertname)) wrong(`${file}: there is no alert ${alertname}`)
  }
  promtool('check', 'rules', rules)
  promtool('test', 'rules', file)
}

function alertRules(file) {
  return parseYaml(read(file)).groups.flatMap(({ rules }) => rules)
}

function promtool(...args) {
  try {
    execFileSync('promtool', args, { cwd: root, stdio: 'pipe', encoding: 'utf8' })
    console.log(`promtool ${args.join(' ')}: fine`)
  } catch (error) {
    if (error.code === 'ENOENT')
      console.log(`promtool is not installed, so this did not run: promtool ${args.join(' ')}`)
    else wrong(`promtool ${args.join(' ')}:\n${error.stdout}${error.stderr}`)
  }
}

// --- Units

/** Checks the units as systemd reads them; the programs that they start need not be installed here. */
async function checkUnits() {
  const { loadConfig } = await import('../dist/src/config/config.js')
  const stop = Number(/^TimeoutStopSec=(\d+)$/m.exec(read(SERVICE_UNIT))?.[1] ?? 0)
  const end = endOf(loadConfig({}))
  if (stop < end) wrong(`${SERVICE_UNIT}: TimeoutStopSec must be at least ${end}`)

  const { HOME } = process.env
  const env = { PATH: process.env.PATH, ...(HOME === undefined ? {} : { HOME }) }
  for (const unit of UNITS) {
    try {
      execFileSync('systemd-analyze', ['verify', '--man=no', at(unit)], { env, stdio: 'pipe', encoding: 'utf8' })
      console.log(`systemd-analyze verify ${unit}: fine`)
    } catch (error) {
      if (error.code === 'ENOENT') return console.log('systemd-analyze is not installed, so this did not run: verify')
      const said = error.stderr.split('\n').filter((line) => line !== '' && !/is not executable/.test(line))
      for (const line of said) wrong(`systemd-analyze verify ${unit}: ${line}`)
    }
  }
}

// --- Manifests

async function checkManifests() {
  const { loadConfig } = await import('../dist/src/config/config.js')
  const known = settingsOf(loadConfig)

  const files = readdirSync(at(MANIFESTS)).filter((file) => file.endsWith('.yaml'))
  const byFile = new Map(files.map((file) => [file, parseYaml(read(`${MANIFESTS}/${file}`))]))
  const kustomization = byFile.get('kustomization.yaml')
  byFile.delete('kustomization.yaml')
  for (const file of byFile.keys()) {
    if (!kustomization.resources.includes(file)) wrong(`${MANIFESTS}/kustomization.yaml leaves out ${file}`)
  }
  for (const file of kustomization.resources) {
    if (!byFile.has(file)) wrong(`${MANIFESTS}/kustomization.yaml names ${file}, which does not exist`)
  }
  const { version } = JSON.parse(read('package.json'))
  if (kustomization.images[0].newTag !== version) wrong(`${MANIFESTS}/kustomization.yaml: newTag is not ${version}`)

  const ofKind = (kind) => [...byFile.values()].find((resource) => resource.kind === kind)
  const { data } = ofKind('ConfigMap')
  const pod = ofKind('Deployment').spec.template.spec
  const [container] = pod.containers
  const env = container.env.map(({ name }) => name)
  for (const name of [...Object.keys(data), ...env]) {
    if (!known.has(name)) wrong(`${MANIFESTS}: the service knows no setting ${name}`)
  }
  for (const [name, value] of Object.entries(data)) {
    if (typeof value !== 'string') wrong(`${MANIFESTS}/configmap.yaml: ${name} must be in quotes`)
  }
  checkSecrets(pod, container)
  checkEgress([...byFile.values()].filter(({ kind }) => kind === 'NetworkPolicy'))
  const config = accepted(loadConfig, MANIFESTS, {
    ...imageEnvironment(),
    ...data,
    DATABASE_URL: 'mariadb://quota:secret@database:3306/quota',
    AUTH_TOKENS: ENTRY,
  })
  if (config !== undefined) {
    const { containerPort } = container.ports[0]
    if (config.port !== containerPort)
      wrong(`${MANIFESTS}: the service listens on ${config.port}, not ${containerPort}`)
    if (config.host !== '::')
      wrong(`${MANIFESTS}: the service must listen on ::, since a pod may have only IPv6 addresses`)
    if (pod.terminationGracePeriodSeconds < endOf(config))
      wrong(`${MANIFESTS}: terminationGracePeriodSeconds must be at least ${endOf(config)}`)
    if (container.readinessProbe.periodSeconds >= config.shutdownDelaySeconds) {
      wrong(`${MANIFESTS}: SHUTDOWN_DELAY_SECONDS must be more than the period of the readiness probe`)
    }
  }
  for (const probe of ['startupProbe', 'livenessProbe', 'readinessProbe']) {
    const { path } = container[probe].httpGet
    if (JSON.parse(read('openapi.json')).paths[path] === undefined) wrong(`${MANIFESTS}: there is no ${path}`)
  }

  const compose = parseYaml(read('compose.yaml'), { schema: CORE_SCHEMA.withTags(mergeTag) })
  const { service, 'sign-in': signIn, provider } = compose.services
  for (const name of Object.keys({ ...service.environment, ...signIn.environment })) {
    if (!known.has(name)) wrong(`compose.yaml: the service knows no setting ${name}`)
  }
  for (const name of known) {
    // The image sets some, some are for processes without a container only, and one excludes a setting that is set.
    const fixed = ['NODE_ENV', 'HOST', 'PORT', 'DATABASE_URL_FILE'].includes(name)
    if (!fixed && !(name in service.environment)) wrong(`compose.yaml does not hand ${name} to the service`)
    if (!read('.env.example').includes(`${name}=`)) wrong(`.env.example does not name ${name}`)
    if (!read('docs/run/configuration.md').includes(`\`${name}\``))
      wrong(`docs/run/configuration.md does not name ${name}`)
  }
  for (const [name, value] of Object.entries(imageEnvironment())) {
    // Compose removes a variable of the image that it names without a value.
    const set = service.environment[name]
    if (set !== undefined && set !== `\${${name}:-${value}}`) wrong(`compose.yaml: ${name} is not ${value} by default`)
  }
  // Compose evaluates `${A:+${B:?…}}` also without A, so a range by default is what serves several instances.
  if (!service.ports.includes('127.0.0.1:${PUBLISHED_PORT:-3000${INSTANCES:+-3009}}:3000'))
    wrong('compose.yaml: INSTANCES alone does not publish a range of ports')
  const ofImage = accepted(loadConfig, 'Dockerfile', {
    ...imageEnvironment(),
    DATABASE_URL: 'sqlite:data/quota.db',
    AUTH_TOKENS: ENTRY,
  })
  if (ofImage?.shutdownDelaySeconds <= DEFAULT_PROBE_SECONDS)
    wrong(`Dockerfile: SHUTDOWN_DELAY_SECONDS must be more than ${DEFAULT_PROBE_SECONDS}`)
  if (ofImage !== undefined && parseInt(service.stop_grace_period, 10) < endOf(ofImage))
    wrong(`compose.yaml: stop_grace_period must be at least ${endOf(ofImage)}s`)
  for (const [name, { build, image, ports = [], logging, deploy }] of Object.entries(compose.services)) {
    if (image !== service.image && !/:\d+\.\d+\.\d+(?:@|$)/.test(image))
      wrong(`compose.yaml: the image of ${name} must be a full version, so that it does not change by itself`)
    if (image === service.image && name !== 'service' && build !== undefined)
      wrong(`compose.yaml: ${name} builds the image of service again, and two builds of one name may collide`)
    if (ports.some((port) => !port.startsWith('127.0.0.1:'))) wrong(`compose.yaml: ${name} is open to other machines`)
    if (logging?.options?.['max-size'] === undefined) wrong(`compose.yaml: the log of ${name} grows without limit`)
    if (deploy?.resources?.limits?.memory === undefined) wrong(`compose.yaml: ${name} has no memory limit`)
  }
  checkSignIn(signIn, provider)
  accepted(loadConfig, 'compose.yaml, profile sign-in', {
    ...imageEnvironment(),
    // A setting without a value is handed through if .env sets it; others may name a default.
    ...Object.fromEntries(
      Object.entries(signIn.environment)
        .filter(([, value]) => value !== null)
        .map(([name, value]) => [name, value.replace(/^\$\{\w+:-(.*)\}$/, '$1')]),
    ),
    DATABASE_URL: 'sqlite:data/quota.db',
    AUTH_TOKENS: ENTRY,
  })
  console.log(`${byFile.size} manifests and compose.yaml: read, against ${known.size} settings`)
}

/** The sign-in instance and its provider must agree on addresses and names. */
function checkSignIn({ profiles, environment, ports }, provider) {
  const realm = JSON.parse(read(REALM))
  const origins = ports.map((port) => `http://localhost:${port.split(':')[1]}`)
  const [console, login] = origins
  const client = realm.clients.find(({ clientId }) => clientId === environment.OIDC_CONSOLE_CLIENT_ID)
  const roles = environment.OIDC_ROLES.split(',').map((entry) => entry.replace(/:[^:]*$/, ''))
  const agreed = [
    ['the profile', provider.profiles, profiles],
    ['the network', provider.network_mode, 'service:sign-in'],
    ['the file of the realm', provider.volumes[0].split(':')[0], `./${REALM}`],
    ['the address of the provider', provider.environment.KC_HOSTNAME, login],
    ['the issuer', environment.OIDC_ISSUER, `${login}/realms/${realm.realm}`],
    ['where people come back to', client?.redirectUris, [`${console}/admin/`]],
    ['where they are signed out', client?.attributes['post.logout.redirect.uris'], `${console}/admin/`],
    ['the origin of the console', client?.webOrigins, [console]],
    ['roles', realm.roles.realm.map(({ name }) => name), roles],
    ...realm.clients.map(({ clientId, protocolMappers: [{ config }] }) => [
      `the audience of ${clientId}`,
      config['included.custom.audience'],
      environment.OIDC_AUDIENCE,
    ]),
  ]
  for (const [what, ...both] of agreed) {
    const [one, other] = both.map((value) => JSON.stringify(value))
    if (one !== other) wrong(`compose.yaml and ${REALM} do not agree about ${what}: ${one}, ${other}`)
  }
}

/** The minimum time in seconds before an instance is killed: its maximum shutdown time, and a margin. */
function endOf({ shutdownDelaySeconds, shutdownGraceSeconds }) {
  return Math.max(shutdownDelaySeconds, shutdownGraceSeconds) + STOP_MARGIN_SECONDS
}

/** Secrets come in files, not in the environment, which child processes and dumps contain as well. */
function checkSecrets(pod, container) {
  for (const { name, value, valueFrom } of container.env) {
    if (valueFrom?.secretKeyRef !== undefined) wrong(`${MANIFESTS}: ${name} is in the environment, not in a file`)
    if (!name.endsWith('_FILE')) continue
    const mount = container.volumeMounts.find(({ mountPath }) => value?.startsWith(`${mountPath}/`))
    const { secret } = pod.volumes.find((volume) => volume.name === mount?.name) ?? {}
    const path = value?.slice((mount?.mountPath.length ?? 0) + 1)
    if (!secret?.items.some((item) => item.path === path)) wrong(`${MANIFESTS}: no secret is mounted at ${name}`)
  }
  for (const name of ['DATABASE_URL_FILE', 'AUTH_TOKENS_FILE']) {
    if (!container.env.some((one) => one.name === name)) wrong(`${MANIFESTS}: ${name} is not set`)
  }
}

/** No policy allows egress to everywhere. The example sets its own addresses; checked if `kubectl` is installed. */
function checkEgress(policies) {
  for (const { metadata, spec } of policies) {
    for (const { to, ports } of spec.egress ?? []) {
      if (to === undefined || ports === undefined || to.some(({ ipBlock }) => ipBlock?.cidr.endsWith('/0')))
        wrong(`${MANIFESTS}: ${metadata.name} allows egress to everywhere, or to every port`)
    }
  }
  const database = policies.find(({ metadata }) => metadata.name === DATABASE_POLICY)
  const cidr = database?.spec.egress[0].to[0].ipBlock.cidr
  if (cidr === undefined) return wrong(`${MANIFESTS}: there is no policy ${DATABASE_POLICY}`)
  try {
    const made = execFileSync('kubectl', ['kustomize', 'deploy/kubernetes/example'], { cwd: root, encoding: 'utf8' })
    if (made.includes(cidr)) wrong(`deploy/kubernetes/example leaves the database at ${cidr}`)
    console.log('kubectl kustomize deploy/kubernetes/example: fine')
  } catch (error) {
    if (error.code === 'ENOENT') console.log('kubectl is not installed, so this did not run: kubectl kustomize')
    else wrong(`kubectl kustomize deploy/kubernetes/example:\n${error.stderr}`)
  }
}

/** Every variable that the configuration reads. */
function settingsOf(loadConfig) {
  const known = new Set()
  const asked = new Proxy({}, { get: (_, name) => void known.add(String(name)) })
  loadConfig(asked)
  return known
}

function accepted(loadConfig, place, env) {
  try {
    return loadConfig(env)
  } catch (error) {
    wrong(`${place}: ${error.message}`)
    return undefined
  }
}

/** The environment that the image sets. */
function imageEnvironment() {
  return imagePairs('ENV')
}

/** The names and values of an instruction of the Dockerfile's last stage. */
function imagePairs(instruction) {
  const last = read('Dockerfile')
    .split(/^FROM /m)
    .at(-1)
  const block = new RegExp(`^${instruction} ((?:.*\\\\\n)*.*)$`, 'm').exec(last)?.[1] ?? ''
  const pairs = block.matchAll(/([\w.]+)=(?:"([^"]*)"|(\S*))/g)
  return Object.fromEntries([...pairs].map(([, name, quoted, plain]) => [name, quoted ?? plain]))
}

/**
 * After `docker kill`, the engine takes the container for stopped by hand, and does not restart it after a crash. So a
 * process in the container sends the signal: the shell, since the image has no program `kill`.
 */
function checkSignals() {
  const pages = readdirSync(at('docs'), { recursive: true }).filter((name) => name.endsWith('.md'))
  const sent = new Set()
  for (const page of ['README.md', ...pages.map((name) => `docs/${name}`)]) {
    const text = read(page)
    if (/(?:compose|docker) kill -s/.test(text)) wrong(`${page} sends a signal by docker kill`)
    for (const [command] of text.matchAll(/docker compose exec[^`\n]* kill [^`\n]*/g))
      wrong(`${page}: the image has no program for this: ${command}`)
    for (const [, signal] of text.matchAll(/docker compose exec --index \d+ service sh -c 'kill -(\w+) 1'/g))
      sent.add(signal)
  }
  for (const signal of ['HUP', 'USR2']) if (!sent.has(signal)) wrong(`no page sends ${signal} to a container`)
}

/** The image's labels, and the list of what is in it. */
function checkImage() {
  const { name, version, license, dependencies, scripts } = JSON.parse(read('package.json'))
  const starts = {
    Dockerfile: `CMD ${JSON.stringify(scripts['start:prod'].split(' ')).replaceAll(',', ', ')}`,
    [SERVICE_UNIT]: `ExecStart=/usr/bin/${scripts['start:prod'].replace('dist/', '/opt/quota-service/dist/')}`,
    'docs/run/operations.md': `NODE_ENV=production ${scripts['start:prod']}`,
  }
  for (const [file, line] of Object.entries(starts))
    if (!read(file).split('\n').includes(line)) wrong(`${file} does not start what npm run start:prod does: ${line}`)
  const labels = imagePairs('LABEL')
  const expected = { title: name, licenses: license, version, revision: '${COMMIT}' }
  for (const [key, value] of Object.entries(expected)) {
    const label = `org.opencontainers.image.${key}`
    if (labels[label] !== value) wrong(`Dockerfile: the label ${label} is not ${value}`)
  }
  for (const file of ['Dockerfile', 'connectors/mail/Dockerfile']) checkCopied(file)
  const folder = mkdtempSync(join(tmpdir(), 'quota-sbom-'))
  cleanups.push(async () => rmSync(folder, { recursive: true, force: true }))
  const file = join(folder, 'sbom.json')
  execFileSync(process.execPath, [at('scripts/sbom.mjs'), file], { stdio: ['ignore', 'ignore', 'inherit'] })
  const listed = new Set(
    JSON.parse(readFileSync(file, 'utf8')).components.map((one) => `${one.group ? `${one.group}/` : ''}${one.name}`),
  )
  for (const one of ['node', 'debian', ...Object.keys(dependencies)])
    if (!listed.has(one)) wrong(`npm run sbom leaves out ${one}`)
}

/** .dockerignore, which leaves out all that it does not name, names what a Dockerfile copies. */
function checkCopied(file) {
  const named = [...read('.dockerignore').matchAll(/^!(.+)$/gm)].map(([, path]) => path)
  const within = (path, folder) => `${path}/`.startsWith(`${folder}/`)
  for (const [, list] of read(file).matchAll(/^COPY (?!--)(.+)$/gm))
    for (const source of list.split(' ').slice(0, -1))
      if (!named.some((path) => within(source, path) || within(path, source)))
        wrong(`${file} copies ${source}, which .dockerignore leaves out`)
}

// --- Names in expressions

async function checkNames({ rules, dashboard, source: folder }, series) {
  const expressions = [
    ...alertRules(rules).map(({ alert, expr }) => [`${rules}, ${alert}`, expr, []]),
    ...dashboardExpressions(dashboard),
  ]
  const source = sourceText(at(folder))
  const rare = new Set()
  for (const [place, expression, legend] of expressions) {
    const { selectors, groupings } = namesIn(expression)
    const labelsHere = new Set(OF_PROMETHEUS.labels)
    for (const { name, matchers } of selectors) {
      if (OF_PROMETHEUS.metrics.includes(name)) continue
      const labels = series.get(name)
      if (labels === undefined) {
        wrong(`${place}: there is no metric ${name}`)
        continue
      }
      if (labels === UNSEEN) rare.add(name)
      for (const label of labels.keys()) labelsHere.add(label)
      for (const { label, operator, value } of matchers) {
        if (OF_PROMETHEUS.labels.includes(label) || labels === UNSEEN) continue
        const values = labels.get(label)
        if (values === undefined) wrong(`${place}: ${name} has no label ${label}`)
        else if (operator.endsWith('~')) checkPattern(place, name, label, value, values)
        // A value that this small load does not produce must appear in the source as a string literal.
        else if (!values.has(value) && !source.includes(`'${value}'`) && !/^\d{3}$/.test(value)) {
          wrong(`${place}: ${name} never has ${label}="${value}"`)
        }
      }
    }
    if (selectors.some(({ name }) => series.get(name) === UNSEEN)) continue
    for (const label of [...groupings.filter((one) => one !== 'le'), ...legend]) {
      if (!labelsHere.has(label)) wrong(`${place}: no metric in it has a label ${label}`)
    }
    if (groupings.includes('le') && selectors.some(({ name }) => !name.endsWith('_bucket'))) {
      wrong(`${place}: only a histogram's _bucket has le`)
    }
  }
  const count = expressions.length
  console.log(`${count} expressions: every metric and label exists, among ${series.size} of ${folder}`)
  if (rare.size > 0) console.log(`labels not checked, since only a server has these metrics: ${[...rare].join(', ')}`)
}

/** A pattern must match a value that was seen, unless it is a variable of the dashboard or begins with 5. */
function checkPattern(place, name, label, pattern, values) {
  if (pattern.startsWith('$')) return
  const whole = new RegExp(`^(?:${pattern})$`)
  if (![...values].some((value) => whole.test(value)) && !/^5/.test(pattern)) {
    wrong(`${place}: no ${label} of ${name} is like ${pattern}`)
  }
}

/** @returns {[place: string, expression: string, legend: string[]][]} */
function dashboardExpressions(file) {
  const { panels, templating } = JSON.parse(read(file))
  const variables = templating.list.map(({ name }) => name)
  const found = []
  const ids = new Set()
  for (const { id, type, title, targets = [] } of panels) {
    if (ids.has(id)) wrong(`${file}: two panels have the id ${id}`)
    ids.add(id)
    if (type !== 'row' && targets.length === 0) wrong(`${file}: "${title}" shows nothing`)
    for (const { expr, legendFormat } of targets) {
      for (const [, variable] of expr.matchAll(/\$(\w+)/g)) {
        if (!variables.includes(variable) && variable !== '__rate_interval') {
          wrong(`${file}, "${title}": there is no variable ${variable}`)
        }
      }
      found.push([`${file}, "${title}"`, expr, [...legendFormat.matchAll(/\{\{(\w+)\}\}/g)].map(([, label]) => label)])
    }
  }
  for (const { name, type, definition } of templating.list) {
    if (type !== 'query') continue
    const [, metric, label] = /^label_values\((.*), (\w+)\)$/.exec(definition)
    found.push([`${file}, variable ${name}`, metric, [label]])
  }
  return found
}

function sourceText(folder) {
  return readdirSync(folder, { recursive: true })
    .filter((file) => file.endsWith('.ts') && !file.endsWith('.spec.ts'))
    .map((file) => readFileSync(join(folder, file), 'utf8'))
    .join('\n')
}

// --- A service that has used each feature a little

/** @returns {Promise<Map<string, Map<string, Set<string>>>>} by metric, and by label, the values that were seen */
async function seriesOfLoadedServices() {
  const series = new Map()
  const folder = mkdtempSync(join(tmpdir(), 'quota-deploy-'))
  cleanups.push(async () => rmSync(folder, { recursive: true, force: true }))
  const file = join(folder, 'quota.db')
  await loaded(`sqlite:${file}`, series, file)
  if (findMariaDb() === undefined) {
    console.log('no MariaDB is installed: metrics were checked on SQLite only')
    return series
  }
  const server = await startMariaDb()
  cleanups.push(async () => server.stop())
  const connection = await mysql.createConnection(server.url())
  await connection.query('CREATE DATABASE quota')
  await connection.end()
  await loaded(server.url('quota'), series)
  return series
}

/** Starts a service, uses and stops it, and records its metrics meanwhile. */
async function loaded(databaseUrl, series, file) {
  const service = await start(databaseUrl)
  try {
    await use(service)
    await until('the upkeep has looked round', async () =>
      (await service.metrics()).includes('quota_totals_lag_seconds{'),
    )
    if (file !== undefined) await whileLocked(service, file, series)
    note(series, await service.metrics())
    await whileDraining(service, series)
  } catch (error) {
    throw new Error(`the service on ${databaseUrl.split(':')[0]} could not be used; it said:\n${service.said()}`, {
      cause: error,
    })
  }
}

/** Starts a connector, whose service does not answer, and asks it about a few messages. */
async function seriesOfConnector() {
  const series = new Map()
  const folder = mkdtempSync(join(tmpdir(), 'quota-deploy-'))
  cleanups.push(async () => rmSync(folder, { recursive: true, force: true }))
  const accounts = join(folder, 'accounts')
  writeFileSync(accounts, 'ann@example.org 7\n')
  const [port, metricsPort] = [await freePort(), await freePort()]
  const child = spawn(process.execPath, [at('connectors/mail/bin/quota-postfix.mjs')], {
    env: {
      PATH: process.env.PATH,
      QUOTA_URL: 'http://127.0.0.1:9',
      QUOTA_TOKEN: 'check',
      ACCOUNTS_FILE: accounts,
      LISTEN: `127.0.0.1:${port}`,
      METRICS_LISTEN: `127.0.0.1:${metricsPort}`,
    },
    stdio: 'ignore',
  })
  const exited = once(child, 'exit')
  cleanups.push(async () => {
    child.kill('SIGTERM')
    await exited
  })
  const metrics = async () => (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text()
  await until('the connector is there', async () => (await metrics().catch(() => '')) !== '')
  const questions = ['ann@example.org', 'bob@example.org'].map((login) => {
    const lines = ['request=smtpd_access_policy', 'protocol_state=END-OF-MESSAGE', `instance=${login}`]
    return [...lines, `sasl_username=${login}`, 'recipient_count=1', 'size=1', '', ''].join('\n')
  })
  // What is malformed ends its connection.
  for (const said of [...questions, 'no question\n']) connect(port, '127.0.0.1').end(said).resume()
  const counted = ['reason="malformed"} 1', 'recipients_total{answer="defer",reason="unknown_sender"} 1']
  await until('all is counted', async () => {
    const text = await metrics()
    return counted.every((one) => text.includes(one))
  })
  note(series, await metrics())
  return series
}

async function start(databaseUrl) {
  const port = await freePort()
  const token = randomBytes(16).toString('hex')
  const digest = createHash('sha256').update(token).digest('hex')
  const child = spawn(process.execPath, [at('dist/src/main.js')], {
    cwd: tmpdir(),
    env: {
      PATH: process.env.PATH,
      NODE_ENV: 'production',
      DATABASE_URL: databaseUrl,
      AUTH_TOKENS: `check:admin:${digest}`,
      HOST: '127.0.0.1',
      PORT: String(port),
      LOG_LEVEL: 'error',
      MAX_CONNECTIONS: '10',
      SHUTDOWN_DELAY_SECONDS: '3',
      RETENTION_DAYS: '30',
      OIDC_ISSUER: 'http://127.0.0.1:9',
      OIDC_AUDIENCE: 'check',
      OIDC_ROLES: 'check:admin',
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let said = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (said += chunk))
  const exited = once(child, 'exit')
  cleanups.push(async () => {
    if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL')
    await exited
  })
  const send = (method, path, { body, key, good = true } = {}) =>
    new Promise((resolve, reject) => {
      const headers = {
        ...(good ? { authorization: `Bearer ${token}` } : {}),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...(key === undefined ? {} : { 'idempotency-key': key }),
      }
      // A connection for each request: idle ones would be closed to make room.
      const sent = request({ host: '127.0.0.1', port, method, path, headers, agent: false }, (response) => {
        let text = ''
        response.setEncoding('utf8').on('data', (chunk) => (text += chunk))
        response.once('end', () => resolve({ status: response.statusCode, text }))
      })
      sent.on('error', reject).end(body === undefined ? undefined : JSON.stringify(body))
    })
  const service = {
    port,
    child,
    exited,
    send,
    said: () => said,
    metrics: async () => (await send('GET', '/metrics')).text,
  }
  await until('the service is ready', async () => {
    if (child.exitCode !== null) throw new Error(`the service did not start:\n${said}`)
    return (await send('GET', '/health/ready').catch(() => undefined))?.status === 200
  })
  return service
}

/** Consumes, is refused, repeats, holds, lists, and sends invalid requests, on both channels. */
async function use({ send, port, metrics }) {
  const expect = async (status, ...request) => {
    const answer = await send(...request)
    if (answer.status !== status) throw new Error(`${request[0]} ${request[1]}: ${answer.status} ${answer.text}`)
    return JSON.parse(answer.text)
  }
  const expireAt = new Date(performance.timeOrigin + 86_400_000).toISOString()
  const quota = { quota_type: 1, total: 1000, expire_at: expireAt }
  for (const [channel, owner, admin, usage] of [
    ['mail', 'account_id', '/api/v1/quotas', '/api/v1/quotas/usage'],
    ['sms', 'user_id', '/api/sms/admin/quota', '/api/sms/quota/usage'],
  ]) {
    const of = (id, amount) => ({ [owner]: id, amount })
    const { id } = await expect(201, 'POST', admin, { body: { ...quota, [owner]: 1 } })
    for (let round = 0; round < 40; round += 1) {
      await Promise.all(
        [0, 1, 2, 3, 4].map((one) =>
          expect(200, 'POST', `${usage}/consume`, { body: of(1, 1), key: `${channel}-${round}-${one}` }),
        ),
      )
    }
    await expect(200, 'POST', `${usage}/consume`, { body: of(1, 1), key: `${channel}-0-0` })
    await expect(422, 'POST', `${usage}/consume`, { body: of(1, 2), key: `${channel}-0-0` })
    await expect(409, 'POST', `${usage}/consume`, { body: of(1, 100_000), key: 'too-much' })
    await expect(409, 'POST', `${usage}/consume`, { body: of(2, 1), key: 'nobody' })
    await expect(201, 'POST', `${usage}/reserve`, { body: of(1, 5), key: 'hold' })
    const items = [1, 2, 3].map((one) => ({ ...of(1, one), idempotency_key: `${channel}-batch-${one}` }))
    await expect(200, 'POST', `${usage}/consume/batch`, { body: { items } })
    await expect(200, 'GET', `${admin}/${id}`)
    await expect(404, 'GET', `${admin}/4711`)
  }
  await expect(401, 'GET', '/api/v1/quotas', { good: false })
  await expect(404, 'GET', '/nowhere')

  const sockets = Array.from({ length: 14 }, () => connect(port, '127.0.0.1').on('error', () => {}))
  sockets[13].write('no HTTP\r\n\r\n')
  await until('connections are closed', async () => /^http_connections_broken_off_total\{/m.test(await metrics()))
  for (const socket of sockets) socket.destroy()
  await until('there is room again', async () => /^http_connections\{state="idle"\} 0$/m.test(await metrics()))
}

/** Another process locks the file: writes wait, and batches are retried. */
async function whileLocked({ send, metrics }, file, series) {
  // The service may be writing at this moment.
  const other = new Database(file, { timeout: 10_000 })
  try {
    other.exec('BEGIN IMMEDIATE')
    const body = { account_id: 1, amount: 1 }
    const waiting = Promise.all(
      [1, 2, 3].map((one) => send('POST', '/api/v1/quotas/usage/consume', { body, key: `locked-${one}` })),
    )
    // If the wait fails, its error is the one to report.
    waiting.catch(() => {})
    await until('a batch is tried again', async () => {
      const text = await metrics()
      note(series, text)
      return /^quota_reruns_total\{/m.test(text)
    })
    other.exec('ROLLBACK')
    await waiting
  } finally {
    other.close()
  }
}

async function whileDraining({ child, exited, send, metrics }, series) {
  child.kill('SIGTERM')
  await until('it refuses since it is being stopped', async () => (await send('GET', '/api/v1/quotas')).status === 503)
  // All scrapes within a second share one result.
  await until('its metrics tell of that', async () => (await metrics()).includes('draining="true"'))
  note(series, await metrics())
  const [code] = await exited
  if (code !== 0) wrong(`the service ended with ${code} after SIGTERM`)
}

async function until(what, reached) {
  const end = performance.now() + PATIENCE_MS
  // One of our connections may be among those that are closed to make room.
  while (!(await reached().catch((error) => (error.code === 'ECONNRESET' ? false : Promise.reject(error))))) {
    if (performance.now() > end) throw new Error(`not within ${PATIENCE_MS / 1000} s: ${what}`)
    await sleep(250)
  }
}

/** Records the names in a scrape: from its lines, and from its types those without a measurement. */
function note(series, text) {
  for (const line of text.split('\n')) {
    const declared = /^# TYPE (\S+) (\S+)$/.exec(line)
    if (declared) {
      const [, name, type] = declared
      for (const suffix of type === 'histogram' ? ['_bucket', '_sum', '_count'] : ['']) {
        if (!series.has(name + suffix)) series.set(name + suffix, UNSEEN)
      }
      continue
    }
    const sample = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? \S+$/.exec(line)
    if (!sample) continue
    const [, name, inside = ''] = sample
    if ((series.get(name) ?? UNSEEN) === UNSEEN) series.set(name, new Map())
    const labels = series.get(name)
    for (const [, label, value] of inside.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)) {
      if (!labels.has(label)) labels.set(label, new Set())
      labels.get(label).add(value)
    }
  }
}
