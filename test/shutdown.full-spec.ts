import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { constants } from 'node:os'
import { beforeAll, expect, it } from '@jest/globals'
import { AUTH_TOKENS } from './support/app.js'
import { NoAnswer } from './support/http-client.js'
import { Instance } from './support/instance.js'
import { onEveryStore, type Store } from './support/store.js'
import { bodyOf, fresh, inParallel, owners, times, totalQuota, WIRES } from './support/wire.js'

/** Requests of each owner in each channel. */
const ATTEMPTS = 60

onEveryStore('the orderly end of a process', (kind) => {
  let store: Store
  let instance: Instance

  beforeAll(async () => {
    store = await kind.open()
    instance = await Instance.start(store.url)
  })

  it('writes down the refusals that it has counted and kept to itself', async () => {
    const [dry, closed] = owners(2) as [number, number]
    for (const wire of WIRES) {
      const one = { status: 201 }
      expect(await instance.post(wire.quotas, totalQuota(wire, dry, 1), fresh('dry'))).toMatchObject(one)
      const made = await instance.post(wire.quotas, totalQuota(wire, closed, 1), fresh('closed'))
      expect(made).toMatchObject(one)
      const disabled = await instance.put(`${wire.quotas}/${bodyOf(made).id}`, { status: 'disabled' })
      expect(disabled).toMatchObject({ status: 200 })
    }

    // The signal comes while they are in hand: what was refused counts, what the drain turned away does not.
    const heard = { mail: [0, 0], sms: [0, 0] }
    const ends: Promise<number | null>[] = []
    await inParallel(8, times(ATTEMPTS * 4), async (n) => {
      if (n === ATTEMPTS * 2) ends.push(instance.terminate())
      const wire = WIRES[n % 2]!
      const which = Math.floor(n / 2) % 2
      const body = { [wire.owner]: [dry, closed][which], amount: 5 }
      try {
        const answer = await instance.post(`${wire.usage}/${n % 3 === 0 ? 'reserve' : 'consume'}`, body, fresh('no'))
        if (answer.status === 409) heard[wire.channel][which]! += 1
        else expect(answer.status).toBe(503)
      } catch (error) {
        // Sent when there was nobody left to hear it.
        if (!(error instanceof NoAnswer)) throw error
      }
    })
    expect(await Promise.all(ends)).toEqual([0])

    await instance.start()
    for (const wire of WIRES) {
      const [exceeded, none] = heard[wire.channel] as [number, number]
      expect(exceeded + none).toBeGreaterThanOrEqual(ATTEMPTS / 2)
      const { items } = bodyOf(await instance.get(`${wire.quotas}/refusals/top?hours=2`))
      expect(items).toEqual(
        expect.arrayContaining([
          expect.objectContaining({
            [wire.owner]: dry,
            code: 'quota_exceeded',
            count: exceeded,
            requested: 5 * exceeded,
          }),
          expect.objectContaining({
            [wire.owner]: closed,
            code: 'no_active_quota',
            count: none,
            requested: 5 * none,
          }),
        ]),
      )
      expect(items).toHaveLength(2)
    }
    expect(await instance.terminate()).toBe(0)
  })
})

it.each(['SIGTERM', 'SIGINT'] as const)('a process that waits for its database ends at %s', async (signal) => {
  const silent = createServer().listen(0, '127.0.0.1')
  await once(silent, 'listening')
  const { port } = silent.address() as AddressInfo
  const asked = once(silent, 'connection')
  const child = spawn(process.execPath, ['dist/src/main.js'], {
    env: { PATH: process.env['PATH'], AUTH_TOKENS, DATABASE_URL: `mysql://nobody@127.0.0.1:${port}/none` },
    stdio: 'ignore',
  })
  try {
    const ended = once(child, 'exit')
    const [socket] = (await asked) as [Socket]
    // To read files anew is no reason to end.
    child.kill('SIGHUP')
    child.kill(signal)
    // By itself: the first process of a container has no end by a signal.
    expect(await ended).toEqual([128 + constants.signals[signal], null])
    socket.destroy()
  } finally {
    child.kill('SIGKILL')
    silent.close()
  }
})
