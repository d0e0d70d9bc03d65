import { networkInterfaces } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import { createConnection } from 'mysql2/promise'
import { CAN_START_SERVER, OwnServer } from './support/database.js'
import { Instance } from './support/instance.js'
import { temporaryFolder } from './support/opened.js'
import { bodyOf, fresh, MAIL, owners, totalQuota } from './support/wire.js'

const HAS_LOOPBACK = Object.values(networkInterfaces()).some((all) => all?.some(({ address }) => address === '::1'))
const onLoopback = HAS_LOOPBACK && CAN_START_SERVER ? describe : describe.skip

onLoopback(`a database at an IPv6 address${HAS_LOOPBACK ? '' : ', not tried: this machine has no ::1'}`, () => {
  it('is migrated, written and read', async () => {
    const server = await OwnServer.start({ host: '::1' })
    expect(server.url).toContain('@[::1]:')
    const connection = await createConnection(server.url)
    await connection.query('CREATE DATABASE quota')
    connection.destroy()
    const instance = await Instance.start(`${server.url}quota`)
    const [owner] = owners(1) as [number]
    expect((await instance.post(MAIL.quotas, totalQuota(MAIL, owner, 10))).status).toBe(201)
    const body = { account_id: owner, amount: 3 }
    expect((await instance.post(`${MAIL.usage}/consume`, body, fresh('six'))).status).toBe(200)
    expect(bodyOf(await instance.get(`${MAIL.quotas}/summary/${owner}`)).used).toBe(3)
    expect(await instance.terminate()).toBe(0)
  })
})

;(HAS_LOOPBACK ? describe : describe.skip)('a service that listens on ::, as in deploy/kubernetes', () => {
  it('is reached by IPv4 and by IPv6', async () => {
    const folder = temporaryFolder('quota-six-')
    const instance = await Instance.start(`sqlite:${join(folder, 'quota.db')}`, { HOST: '::' })
    for (const host of ['127.0.0.1', '[::1]']) {
      const { status } = await fetch(`http://${host}:${new URL(instance.url).port}/health/ready`)
      expect([host, status]).toEqual([host, 200])
    }
    expect(await instance.terminate()).toBe(0)
  })
})
