import { writeFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, it } from '@jest/globals'
import { CAN_START_SERVER, TestDatabase } from './database.js'
import { Instance } from './instance.js'
import { TcpProxy } from './tcp-proxy.js'

/**
 * A suite whose beforeAll fails half-way, so that its own afterAll fails as well. Only
 * harness.slow-spec.ts runs it.
 */
describe('half open', () => {
  let database: TestDatabase
  let instance: Instance
  let second: Instance
  let proxy: TcpProxy

  beforeAll(async () => {
    database = await TestDatabase.open({ own: CAN_START_SERVER })
    proxy = await TcpProxy.start(database.url)
    instance = await Instance.start(proxy.url)
    writeFileSync(
      process.env['HALF_OPEN_REPORT']!,
      JSON.stringify([instance.pid, ...(CAN_START_SERVER ? [database.server.pid] : [])]),
    )
    second = await Instance.start('mysql://nobody@127.0.0.1:1/nothing', { PORT: 'not a port' })
  }, 90_000)

  afterAll(async () => {
    await second.terminate()
    await instance.terminate()
    await proxy.close()
    await database.drop()
  }, 60_000)

  it('is never run', () => undefined)
})
