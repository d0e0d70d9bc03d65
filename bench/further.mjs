/** Measurements besides the service's figures against its references: instances, load, size, memory and the start. */
import { setTimeout as sleep } from 'node:timers/promises'
import { startMariaDb } from '../scripts/mariadb.mjs'
import { FEW, grow, MANY, SERVER } from './growth.mjs'
import { median } from './median.mjs'
import { cpuOf, healthOf, load, reference, service } from './processes.mjs'
import { STEADY } from './steady.mjs'
import { connect, OWNERS } from './store.mjs'

const API = '/api/v1/quotas'
const CONSUME = `${API}/usage/consume`

export const CURVE = 'latency against load'
/** Numbers of connections, each with one request at a time. */
const LOADS = [1, 4, 16, 64, 256]
const WARM_UP = 10_000
/** How long background work may take to begin; after that, its figure fails. */
const BEGINS_WITHIN_MS = 60_000

async function consuming(instance, connections, bound, whose = { owners: OWNERS }) {
  const figure = await load({
    kind: 'consume',
    port: instance.port,
    connections,
    options: { path: CONSUME, token: instance.token, ...whose },
    ...bound,
  })
  return right(figure, 200)
}

async function reading(instance, path, connections, bound) {
  const options = { path, token: instance.token, owners: OWNERS }
  return right(await load({ kind: 'get', port: instance.port, connections, options, ...bound }), 200)
}

function right(figure, status) {
  const others = Object.keys(figure.statuses).filter((one) => Number(one) !== status)
  if (others.length > 0) throw new Error(`answers other than ${status}: ${JSON.stringify(figure.statuses)}`)
  return figure
}

/** The same number of connections on one instance, and shared by two on the same database. */
export async function twoInstances({ url, instance, seconds, pairs }) {
  const other = await service(url)
  for (const each of [instance, other]) await consuming(each, 64, { count: WARM_UP })
  const [one, both] = [[], []]
  let acknowledged = 2 * WARM_UP
  for (let pair = 0; pair < pairs; pair += 1) {
    const alone = await consuming(instance, 64, { seconds })
    const shared = await Promise.all([instance, other].map((each) => consuming(each, 32, { seconds })))
    one.push(alone.perSecond)
    both.push(shared.reduce((sum, { perSecond }) => sum + perSecond, 0))
    acknowledged += [alone, ...shared].reduce((sum, { answered }) => sum + answered, 0)
  }
  await other.stop()
  const times = median(both) / median(one)
  console.log(
    `\ntwo instances: ${median(both).toFixed(0)}/s together, one ${median(one).toFixed(0)}/s: ${times.toFixed(2)} × (goal ≥ 1 ×, ${times >= 1 ? 'met' : 'missed'})`,
  )
  return { one: median(one), both: median(both), times, acknowledged }
}

/** The latency of a consume by the number of callers, each of which sends one after the other. */
export async function curve({ instance, seconds }) {
  console.log(`\n| ${CURVE}: connections | consumes/s | p50 ms | p99 ms |\n|---|---|---|---|`)
  const points = []
  await consuming(instance, 64, { count: WARM_UP })
  let acknowledged = WARM_UP
  for (const connections of LOADS) {
    const { answered, perSecond, p50, p99 } = await consuming(instance, connections, { seconds })
    acknowledged += answered
    points.push({ connections, perSecond, p50, p99 })
    console.log(`| ${connections} | ${perSecond.toFixed(0)} | ${p50.toFixed(1)} | ${p99.toFixed(1)} |`)
  }
  return { points, acknowledged }
}

/** Resident memory during the same load, in steps. */
export async function memory({ instance, quick }) {
  const [steps, seconds] = quick ? [3, 3] : [10, 30]
  const residentMb = []
  let acknowledged = 0
  for (let step = 0; step < steps; step += 1) {
    acknowledged += (await consuming(instance, 64, { seconds })).answered
    residentMb.push((await healthOf(instance)).residentMb)
  }
  console.log(`\nmemory over ${steps * seconds} s of consumes: ${residentMb.join(', ')} MB (goal ≤ 250 MB, flat)`)
  return { residentMb, everySeconds: seconds, acknowledged }
}

/** The cost of a consume if none, one in a hundred, or all of them are traced. */
export async function tracing({ url, seconds, pairs }) {
  const collector = await reference('collector.mjs')
  const ratios = { none: undefined, 'one in 100': '0.01', all: '1' }
  const instances = {}
  for (const [name, ratio] of Object.entries(ratios)) {
    const traced = {
      OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${collector.port}`,
      OTEL_TRACES_SAMPLER: 'traceidratio',
      OTEL_TRACES_SAMPLER_ARG: ratio,
    }
    instances[name] = { instance: await service(url, ratio === undefined ? {} : traced), perSecond: [], cpu: [] }
  }
  let acknowledged = 0
  for (const { instance } of Object.values(instances)) {
    acknowledged += (await consuming(instance, 64, { count: WARM_UP })).answered
  }
  for (let pair = 0; pair < pairs; pair += 1) {
    for (const { instance, perSecond, cpu } of Object.values(instances)) {
      const before = cpuOf(instance.pids)
      const figure = await consuming(instance, 64, { seconds })
      acknowledged += figure.answered
      perSecond.push(figure.perSecond)
      cpu.push((cpuOf(instance.pids) - before) / figure.answered)
    }
  }
  console.log('\n| traced | consumes/s | CPU µs | against none |\n|---|---|---|---|')
  const figures = Object.entries(instances).map(([name, { perSecond, cpu }]) => ({
    name,
    perSecond: median(perSecond),
    cpu: median(cpu),
  }))
  for (const { name, perSecond, cpu } of figures) {
    const times = [perSecond / figures[0].perSecond, cpu / figures[0].cpu].map((one) => one.toFixed(2))
    console.log(`| ${name} | ${perSecond.toFixed(0)} | ${cpu.toFixed(0)} | ${times[0]} ×, CPU ${times[1]} × |`)
  }
  for (const { instance } of Object.values(instances)) await instance.stop()
  await collector.stop()
  return { figures, acknowledged }
}

/** From the start of the process to its first ready answer; for an empty Nest application, to its first answer. */
export async function startToReady({ url }) {
  const [own, empty] = [[], []]
  for (let pair = 0; pair < 3; pair += 1) {
    const began = performance.now()
    const nest = await reference('empty-nest.mjs')
    await fetch(`http://127.0.0.1:${nest.port}/`)
    empty.push(performance.now() - began)
    await nest.stop()
    const started = await service(url)
    own.push(started.readyMs)
    await started.stop()
  }
  const times = median(own) / median(empty)
  console.log(
    `\nstart to ready, schema in place: ${median(own).toFixed(0)} ms, an empty Nest application ${median(empty).toFixed(0)} ms: ${times.toFixed(2)} × (goal ≤ 2 ×, ${times <= 2 ? 'met' : 'missed'})`,
  )
  return { own: median(own), empty: median(empty), times }
}

/**
 * The throughput that consumes lose while an old ledger is added up, and while it is removed, and the rate of that work.
 * Each is measured in turn with a ledger at rest.
 */
export async function upkeep({ quick, seconds, pairs }) {
  const acts = quick ? 100_000 : 3_000_000
  const mariadb = await startMariaDb({ args: SERVER })
  let instance
  try {
    const admin = await connect(mariadb.url(''))
    await admin.query('CREATE DATABASE upkeep; USE upkeep')
    instance = await service(mariadb.url('upkeep'))
    await grow(admin, { quotas: 20_000, acts })
    await instance.stop()
    const set = (values) => admin.query(`UPDATE mail_ledger_state SET ${values}, holder = NULL, held_until = NULL`)
    const at = async () =>
      (await admin.query('SELECT HEX(folded_to) AS folded_to, removed_to FROM mail_ledger_state'))[0][0]
    const oldest = async () => (await admin.query('SELECT HEX(MIN(id)) AS id FROM mail_act'))[0][0].id
    const figures = { rest: [], folding: [], removing: [] }
    const during = async (name, env, state, progress = oldest) => {
      await set(state)
      const before = await progress()
      instance = await service(mariadb.url('upkeep'), { ...STEADY, ...env })
      await consuming(instance, 64, { count: WARM_UP })
      // The first round begins after five seconds, and adds up what was consumed last before it removes anything.
      await sleep(6_000)
      if (name !== 'rest') {
        const end = performance.now() + BEGINS_WITHIN_MS
        while ((await progress()) === before && performance.now() < end) await sleep(100)
      }
      const begun = await progress()
      figures[name].push((await consuming(instance, 64, { seconds })).perSecond)
      const went = (await progress()) !== begun
      const found = await at()
      await instance.stop()
      return { ...found, went }
    }
    // The latest time that totals can reach, in the form of an id.
    const reach = () => (Date.now() - 180_000).toString(16).padStart(12, '0').padEnd(32, '0')
    for (let pair = 0; pair < pairs; pair += 1) {
      await during('rest', {}, `folded_to = X'${reach()}', removed_to = '2099-01-01'`)
      const folding = await during(
        'folding',
        {},
        `folded_to = X'${'0'.repeat(32)}'`,
        async () => (await at()).folded_to,
      )
      if (!folding.went || folding.folded_to >= '0194') {
        throw new Error(`nothing was added up during the load: ${folding.folded_to}`)
      }
      const removing = await during(
        'removing',
        { RETENTION_DAYS: '30' },
        `folded_to = X'${reach()}', removed_to = NULL`,
      )
      if (!removing.went || removing.removed_to !== null) throw new Error('nothing was removed during the load')
    }
    const times = {
      folding: median(figures.folding) / median(figures.rest),
      removing: median(figures.removing) / median(figures.rest),
    }
    console.log(
      `\nconsume, 64 callers, ${acts} acts from before: at rest ${median(figures.rest).toFixed(0)}/s; while they are added up ${times.folding.toFixed(2)} ×, while they are removed ${times.removing.toFixed(2)} × (goal ≥ 0.9 ×, ${Math.min(...Object.values(times)) >= 0.9 ? 'met' : 'missed'})`,
    )
    return { acts, rest: median(figures.rest), ...times }
  } finally {
    await instance?.stop()
    await mariadb.stop()
  }
}

/**
 * The same requests on a small and on a large store: p50, with a few callers, in turn. Each store has its own server,
 * with the same settings.
 */
export async function grown({ quick, seconds, pairs }) {
  const sizes = quick
    ? [
        { quotas: 20_000, acts: 100_000 },
        { quotas: 200_000, acts: 400_000 },
      ]
    : [
        { quotas: 20_000, acts: 100_000 },
        { quotas: 5_000_000, acts: 20_000_000 },
      ]
  const stores = []
  try {
    for (const size of sizes) {
      const began = performance.now()
      const mariadb = await startMariaDb({ args: SERVER })
      const store = { mariadb, size }
      stores.push(store)
      store.admin = await connect(mariadb.url(''))
      await store.admin.query('CREATE DATABASE growth; USE growth')
      store.instance = await service(mariadb.url('growth'))
      await grow(store.admin, size)
      store.bytes = await bytesPerAct(store.admin, size.acts)
      process.stderr.write(
        `${size.quotas} quotas, ${size.acts} acts: made in ${Math.round((performance.now() - began) / 1000)} s\n`,
      )
    }
    const [small, large] = stores
    const page = (filter) => (store) => reading(store.instance, `${API}?${filter}`, 8, { seconds })
    const summary = (owner) => (store) => reading(store.instance, `${API}/summary/${owner}`, 8, { seconds })
    const cases = [
      ['consume', 1.5, (store) => consuming(store.instance, 8, { seconds })],
      ['summary', 1.5, summary('{owner}')],
      ['first page', 1.5, page('page=1')],
      ['first page, status=active', 1.5, page('status=active')],
      ['first page, status=disabled', 1.5, page('status=disabled')],
      ['first page, status=expired', 1.5, page('status=expired')],
      ['first page, account_id', 1.5, page('account_id={owner}')],
    ]
    console.log('\n| growth: p50 | small ms | large ms | times | goal | |\n|---|---|---|---|---|---|')
    const results = []
    for (const { instance } of stores) await consuming(instance, 64, { count: WARM_UP })
    for (const [name, goal, measure] of cases) {
      results.push(
        await inTurn(
          name,
          goal,
          () => measure(small),
          () => measure(large),
        ),
      )
    }
    const few = summary(FEW.owner)
    const many = summary(MANY.owner)
    results.push(
      await inTurn(
        `summary, ${MANY.quotas} quotas against ${FEW.quotas}`,
        3,
        () => few(small),
        () => many(small),
      ),
    )
    const spend = (owner) => () => consuming(small.instance, 8, { seconds }, { owners: 1, from: owner })
    results.push(
      await inTurn(`consume, ${MANY.quotas} quotas against ${FEW.quotas}`, 3, spend(FEW.owner), spend(MANY.owner)),
    )
    console.log(
      `bytes of a consume among ${sizes.map(({ acts }) => acts).join(' and ')}: ${stores.map(({ bytes }) => Math.round(bytes)).join(' and ')}`,
    )
    return { sizes, results, bytes: stores.map(({ bytes }) => Math.round(bytes)) }
  } finally {
    for (const { admin, instance, mariadb } of stores) {
      await admin?.end()
      await instance?.stop()
      await mariadb.stop()
    }
  }

  async function inTurn(name, goal, small, large) {
    const p50 = { small: [], large: [] }
    await small()
    await large()
    for (let pair = 0; pair < pairs; pair += 1) {
      p50.small.push((await small()).p50)
      p50.large.push((await large()).p50)
    }
    const [before, after] = [median(p50.small), median(p50.large)]
    const times = after / before
    console.log(
      `| ${name} | ${before.toFixed(2)} | ${after.toFixed(2)} | ${times.toFixed(2)} × | ≤ ${goal} × | ${times <= goal ? 'met' : 'missed'} |`,
    )
    return { name, small: before, large: after, times, goal, met: times <= goal }
  }
}

async function bytesPerAct(admin, acts) {
  const [[{ bytes }]] = await admin.query(
    "SELECT SUM(data_length + index_length) AS bytes FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name = 'mail_act'",
  )
  return Number(bytes) / acts
}
