/** What a mail system asks two connectors, for their dashboard. */
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { connector } from './processes.mjs'
import { DRY } from './store.mjs'

/** Processes of each mail server. */
const AT_ONCE = 6
const PAUSE_MS = 100
/** Senders, with the account of each: most have quotas that do not end, one has nothing left, one has no quota. */
const SENDERS = [...Array.from({ length: 10 }, (_, n) => n + 1), DRY.first, 900_001]

/**
 * A connector for each of two instances. In the middle of the load, the second instance stands still for a sixth of it.
 * @returns the ports of their metrics, and what sends the load
 */
export async function connectorsUnderLoad(instances, folder, seconds) {
  const accounts = join(folder, 'accounts')
  writeFileSync(accounts, SENDERS.map((account) => `user-${account}@example.org ${account}\n`).join(''))
  const connectors = await Promise.all(
    instances.map(({ port }, place) =>
      connector({
        QUOTA_URL: `http://127.0.0.1:${port}`,
        ACCOUNTS_FILE: accounts,
        STATE_DIRECTORY: join(folder, `state-${place}`),
      }),
    ),
  )
  const outage = async () => {
    const [pid] = instances[1].pids
    await sleep((seconds * 1_000) / 2)
    process.kill(pid, 'SIGSTOP')
    await sleep((seconds * 1_000) / 6)
    process.kill(pid, 'SIGCONT')
  }
  return {
    ports: connectors.map(({ metricsPort }) => metricsPort),
    send: async () => {
      const until = performance.now() + seconds * 1_000
      const processes = connectors.flatMap(({ port }) =>
        Array.from({ length: AT_ONCE }, (_, place) => mail(port, place, until)),
      )
      await Promise.all([...processes, outage(), strangers(connectors[0].port, until)])
    },
  }
}

/** One process of a mail server: messages one after the other, each asked about at `DATA` and at its end. */
async function mail(port, place, until) {
  const socket = connect(port, '127.0.0.1').setEncoding('utf8')
  const ask = async (attributes) => {
    socket.write(`${attributes.join('\n')}\n\n`)
    let said = ''
    while (!said.endsWith('\n\n')) said += await once(socket, 'data')
    return said
  }
  for (let n = place; performance.now() < until; n += 1) {
    // One in twenty has no account.
    const login = n % 20 === 0 ? 'stranger@elsewhere.test' : `user-${SENDERS[n % SENDERS.length]}@example.org`
    const attributes = [
      'request=smtpd_access_policy',
      `instance=${port}.${place}.${n}`,
      `sasl_username=${login}`,
      `recipient_count=${1 + (n % 5)}`,
      'size=1000',
    ]
    const said = await ask([...attributes, 'protocol_state=DATA'])
    if (said.includes('DUNNO')) await ask([...attributes, 'protocol_state=END-OF-MESSAGE'])
    await sleep(PAUSE_MS)
  }
  socket.destroy()
}

/** Somebody who speaks another protocol, now and then. */
async function strangers(port, until) {
  while (performance.now() < until) {
    connect(port, '127.0.0.1')
      .on('error', () => undefined)
      .end('EHLO client.test\r\n')
      .resume()
    await sleep(10_000)
  }
}
