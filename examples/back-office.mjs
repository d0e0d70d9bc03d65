/**
 * Creates a store as after months of use, to explore in the console: owners, quotas of both types, messages, holds,
 * refusals, quotas that end soon, and changes by several people. All of it goes through the service itself, whose clock
 * the script sets meanwhile (examples/other-day.mjs), so that each row has its own time.
 */
import { spawn } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { fileURLToPath } from 'node:url'
import { setTimeout as sleep } from 'node:timers/promises'
import { isProblem, QuotaClient } from '@quota-service/client'

const DAY_MS = 86_400_000
const OWNERS = 200
/** The accounts of a group. */
const DOMAIN = [21, 22, 23, 25, 26, 27, 28, 29, 31, 33]
const USERS = 60
const DAYS = 92
/** The callers: people under their own names, and programs that send. */
const ROLES = { anna: 'admin', boris: 'admin', chen: 'service', mailer: 'usage', newsletter: 'usage', gateway: 'usage' }
const PLANS = ['Starter', 'Team', 'Business', 'Newsletter', 'Trial']

/** A token for each of them. */
export function makeTokens() {
  return Object.fromEntries(
    Object.keys(ROLES).map((name) => [name, `qs_${ROLES[name]}_${randomBytes(32).toString('base64url')}`]),
  )
}

/** The service's entries for these tokens. */
export function entriesOf(tokens) {
  const digest = (token) => createHash('sha256').update(token).digest('hex')
  return Object.entries(tokens)
    .map(([name, token]) => `${name}:${ROLES[name]}:${digest(token)}`)
    .join(',')
}

/**
 * Starts the built service on a separate port, and waits until it is ready.
 * @param options.day allows the caller to set the service's clock
 */
export async function startService({ databaseUrl, tokens, day = false, port }) {
  const root = fileURLToPath(new URL('..', import.meta.url))
  const own = port ?? (await freePort())
  const service = spawn(
    process.execPath,
    [...(day ? ['--import', new URL('other-day.mjs', import.meta.url).href] : []), `${root}/dist/src/main.js`],
    {
      // Neither the caller's environment nor a file .env of the project is meant for it.
      cwd: tmpdir(),
      env: {
        PATH: process.env.PATH,
        NODE_ENV: 'production',
        PORT: String(own),
        DATABASE_URL: databaseUrl,
        AUTH_TOKENS: entriesOf(tokens),
        LINK_SECRET: randomBytes(32).toString('base64'),
        LOG_LEVEL: 'error',
      },
      stdio: ['ignore', 'inherit', 'inherit', ...(day ? ['ipc'] : [])],
    },
  )
  const ended = once(service, 'exit')
  const url = `http://127.0.0.1:${own}`
  const stop = async () => {
    service.kill('SIGINT')
    await ended
  }
  for (let attempt = 0; attempt < 1_200; attempt += 1) {
    const answer = await fetch(`${url}/health/ready`).catch(() => undefined)
    if (answer?.ok) return { url, stop, process: service }
    if (service.exitCode !== null || service.signalCode !== null) break
    await sleep(50)
  }
  await stop()
  throw new Error('the service does not start')
}

/** Fills an empty store. @param say called with the progress */
export async function fill({ databaseUrl, tokens, say = () => undefined }) {
  const service = await startService({ databaseUrl, tokens, day: true })
  try {
    const clients = Object.fromEntries(
      Object.entries(tokens).map(([name, token]) => [name, new QuotaClient({ baseUrl: service.url, token })]),
    )
    await live(service, clients, say)
  } finally {
    await service.stop()
  }
}

async function live(service, { anna, boris, chen, mailer, newsletter, gateway }, say) {
  const random = numbers(7)
  const pick = (items) => items[Math.floor(random() * items.length)]
  const today = Date.now()
  const iso = (time) => new Date(time).toISOString()
  const nextMonth = (time) => iso(Date.UTC(new Date(time).getUTCFullYear(), new Date(time).getUTCMonth() + 1, 1))
  const goTo = async (time) => {
    const told = once(service.process, 'message')
    service.process.send({ offset: time - Date.now() })
    await told
  }
  let sent = 0
  const consume = async (items) => {
    for (const [client, part] of [
      [mailer, items.filter((_, index) => index % 3 !== 0)],
      [newsletter, items.filter((_, index) => index % 3 === 0)],
    ]) {
      if (part.length > 0) await client.mail.consumeBatch(part)
      sent += part.length
    }
  }

  const first = today - DAYS * DAY_MS
  await goTo(first)
  const made = await inTurns(
    Array.from({ length: OWNERS }, (_, index) => index + 1),
    async (accountId) => {
      const monthly = await pick([anna, boris, chen]).mail.quotas.create({
        accountId,
        userId: 500 + Math.ceil(accountId / 3),
        quotaType: 2,
        total: 500 * Math.ceil(random() * 8),
        cycleUnit: pick(['month', 'month', 'month', 'week', 'day']),
        cycleResetAt: nextMonth(first),
        cycleTimeZone: pick(['UTC', 'Europe/Berlin', 'America/New_York', 'Asia/Tokyo']),
        label: `${pick(PLANS)} ${accountId}`,
      })
      return monthly
    },
  )
  await inTurns(
    Array.from({ length: USERS }, (_, index) => index + 1),
    async (userId) =>
      anna.sms.quotas.create({
        userId,
        quotaType: 2,
        total: 50 * Math.ceil(random() * 6),
        cycleUnit: 'month',
        cycleResetAt: nextMonth(first),
        cycleTimeZone: 'Europe/Berlin',
        label: `SMS ${pick(PLANS)}`,
      }),
  )

  // A domain of a customer: 400 in a day together, 60 for each of its accounts.
  const customer = await anna.mail.quotas.groups.create({ name: 'Customer North' })
  const domain = await anna.mail.quotas.groups.create({ name: 'example.org', parentId: customer.id })
  const cap = { quotaType: 3, windowSeconds: 86_400, cap: 'enforce' }
  await anna.mail.quotas.create({ ...cap, groupId: domain.id, total: 400, label: 'all of example.org' })
  await anna.mail.quotas.create({ ...cap, groupId: domain.id, per: 'member', total: 60, label: 'each at example.org' })
  await anna.mail.quotas.create({
    groupId: customer.id,
    quotaType: 2,
    total: 20_000,
    cycleUnit: 'month',
    cycleResetAt: nextMonth(first),
    label: 'pool of the customer',
  })
  await anna.mail.quotas.groups.addMembers(domain.id, { accountIds: DOMAIN })

  for (let day = DAYS - 1; day >= 0; day -= 1) {
    const lately = day < 3
    // The latest days hour by hour, since the charts show hours.
    const steps = lately ? 12 : 1
    for (let step = 0; step < steps; step += 1) {
      const time =
        today - day * DAY_MS - Math.round(((steps - step) / steps) * DAY_MS * 0.99) + (lately ? 0 : DAY_MS / 2)
      await goTo(Math.min(time, today))
      const messages = lately ? 70 : 110
      await consume(
        Array.from({ length: messages }, (_, index) => ({
          // A few send much more than the others.
          accountId: 1 + Math.floor(OWNERS * random() ** 2),
          amount: 1 + Math.floor(random() * 40),
          idempotencyKey: `message-${day}-${step}-${index}`,
        })),
      )
      if (day % 3 === 0 && step === 0) {
        await gateway.sms.consumeBatch(
          Array.from({ length: 40 }, (_, index) => ({
            userId: 1 + Math.floor(USERS * random() ** 2),
            amount: 1 + Math.floor(random() * 3),
            idempotencyKey: `sms-${day}-${index}`,
          })),
        )
      }
    }
    if (day % 4 === 0) {
      const quota = pick(made)
      const who = pick([anna, boris, chen])
      const now = await who.mail.quotas.get(quota.id)
      await who.mail.quotas.update(quota.id, { total: now.total + 500, version: now.version })
    }
    if (day % 9 === 0) await boris.mail.quotas.reset(pick(made).id)
    if (day % 10 === 0) say(`${DAYS - day} of ${DAYS} days, ${sent.toLocaleString('en')} messages`)
  }
  await goTo(today)

  // The state that the back office finds in the morning.
  // The total of the seventh is cut to a little more than what it has used.
  const seventh = await boris.mail.quotas.get(made[6].id)
  await boris.mail.quotas.update(seventh.id, { total: seventh.used + 120, label: 'Newsletter 7' })
  await consume(
    Array.from({ length: 20 }, (_, index) => ({ accountId: 7, amount: 12, idempotencyKey: `seventh-${index}` })),
  )
  await inTurns(
    Array.from({ length: 60 }, (_, index) => index),
    async (index) =>
      mailer.mail
        .consume({ accountId: pick([3, 7, 7, 7, 19]), amount: 4_000 + index }, { key: `refused-${index}` })
        .catch((error) => {
          if (!isProblem(error, 'quota_exceeded')) throw error
        }),
  )
  const twelfth = await boris.mail.quotas.get(made[11].id)
  const lowered = twelfth.used + Math.round((twelfth.total - twelfth.used) / 4)
  await boris.mail.quotas.update(twelfth.id, { total: lowered, version: twelfth.version })
  for (const [index, accountId] of [4, 7, 9, 21, 30, 42].entries()) {
    await chen.mail.quotas.create({
      accountId,
      quotaType: 1,
      total: 1_000 * (index + 1),
      expireAt: iso(today + (index + 0.6) * DAY_MS),
      label: index % 2 === 0 ? 'Campaign in autumn' : 'Trial, first week',
    })
  }
  for (const [accountId, ttlSeconds] of [
    [7, 86_000],
    [5, 1_200],
    [9, 300],
  ])
    await mailer.mail.reserve({ accountId, amount: 15, ttlSeconds }, { key: `hold-${accountId}` })
  await gateway.sms.reserve({ userId: 3, amount: 2, ttlSeconds: 40_000 }, { key: 'sms-hold-3' })
  await limited({ anna, chen, mailer })
  for (const { id } of made.slice(0, 25)) await anna.mail.quotas.update(id, { thresholds: [50, 80, 95] })
  await chen.mail.quotas.update(made[24].id, { status: 'disabled' })
  await anna.mail.quotas.delete(made[29].id)
  await anna.mail.quotas.delete(made[33].id)
}

/** An account with enough to pay, and one cap that refuses; another cap is on trial. */
export async function limited({ anna, chen, mailer }) {
  const accountId = 11
  const rolling = { accountId, quotaType: 3, total: 300 }
  await chen.mail.quotas.create({
    accountId,
    quotaType: 1,
    total: 9_000,
    expireAt: new Date(Date.now() + 40 * DAY_MS).toISOString(),
    label: 'Spring mailing',
  })
  await anna.mail.quotas.create({
    ...rolling,
    cap: 'enforce',
    windowSeconds: 86_400,
    label: 'No more than our provider takes',
  })
  await chen.mail.quotas.create({ ...rolling, total: 100, cap: 'observe', windowSeconds: 3_600, label: 'On trial' })
  await inTurns(
    Array.from({ length: 28 }, (_, index) => index),
    async (index) =>
      mailer.mail.consume({ accountId, amount: 12 }, { key: `limited-${index}` }).catch((error) => {
        if (!isProblem(error, 'quota_exceeded')) throw error
      }),
  )
}

/** Numbers from 0 to below 1, the same in every run (mulberry32). */
function numbers(seed) {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let value = Math.imul(state ^ (state >>> 15), 1 | state)
    value = (value + Math.imul(value ^ (value >>> 7), 61 | value)) ^ value
    return ((value ^ (value >>> 14)) >>> 0) / 4_294_967_296
  }
}

/** In sequence, so that ids follow the order. */
async function inTurns(items, work) {
  const done = []
  for (const item of items) done.push(await work(item))
  return done
}

async function freePort() {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address()
  server.close()
  await once(server, 'close')
  return port
}
