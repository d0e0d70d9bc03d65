import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it } from '@jest/globals'
import { Instance } from './support/instance.js'
import { STORES } from './support/store.js'

const PATIENCE_MS = 10_000

it('SIGUSR2 switches a running process to debug, and back to LOG_LEVEL', async () => {
  const store = await STORES[0]!.open()
  const instance = await Instance.start(store.url, { LOG_LEVEL: 'error' })
  /** Whose requests have a line. */
  const told = () => ['asked-one', 'asked-two', 'asked-three'].filter((id) => instance.log.includes(`"${id}"`))
  const ask = async (id: string) =>
    fetch(`${instance.url}/api/v1/me`, { headers: { 'X-Request-Id': id } }).then(async (answer) => answer.text())
  const signal = async (said: string): Promise<void> => {
    process.kill(instance.pid!, 'SIGUSR2')
    const deadline = performance.now() + PATIENCE_MS
    while (!instance.log.includes(said)) {
      if (performance.now() > deadline) throw new Error(`it never said: ${said}\n${instance.log}`)
      await sleep(10)
    }
  }
  await ask('asked-one')
  await signal('log level changed to debug')
  await ask('asked-two')
  await signal('log level changed to error')
  await ask('asked-three')
  expect((await instance.get('/health/ready')).status).toBe(200)
  expect(await instance.terminate()).toBe(0)
  expect(told()).toEqual(['asked-two'])
})
