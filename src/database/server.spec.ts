import { describe, expect, it } from '@jest/globals'
import { DataSource } from 'typeorm'
import { dataSourceOptions } from './data-source-options.js'
import { serverOf, serverOptions } from './server.js'

describe('the address of a server', () => {
  it.each([
    ['mysql://u:p@db:33060/quota', ['db', 33060, 'u', 'p', 'quota']],
    ['mariadb://u@db/quota', ['db', 3306, 'u', '', 'quota']],
    ['mysql://u:p@[::1]:3307/quota', ['::1', 3307, 'u', 'p', 'quota']],
    ['mysql://u:p@[2001:DB8:0::5]/quota', ['2001:db8::5', 3306, 'u', 'p', 'quota']],
    ['mysql://a%40b:p%2F%3A%40%25@10.0.0.5/my%20quota', ['10.0.0.5', 3306, 'a@b', 'p/:@%', 'my quota']],
  ])('is read from %s', (url, parts) => {
    const { host, port, user, password, database, ...more } = serverOptions({ url })
    expect([host, port, user, password, database]).toEqual(parts)
    expect(more).toEqual({})
  })

  it('says whether the certificate counts, and against what it is checked', () => {
    const url = 'mysql://u:p@db/quota'
    expect(serverOptions({ url, tls: { verify: false } }).ssl).toEqual({ rejectUnauthorized: false })
    const ssl = { rejectUnauthorized: true, verifyIdentity: true }
    expect(serverOptions({ url, tls: { verify: true } })).toMatchObject({ host: 'db', ssl })
    expect(serverOptions({ url, tls: { verify: true, ca: 'PEM' } }).ssl).toEqual({ ...ssl, ca: 'PEM' })
  })

  it('is the same for TypeORM and for connections that bypass it', () => {
    const url = 'mysql://u:p@[::1]:3307/quota'
    const config = { kind: 'mysql', url, poolSize: 4, tls: { verify: true, ca: 'PEM' } } as const
    const dataSource = new DataSource(dataSourceOptions(config, [], 'service'))
    const { stream, ...server } = serverOf(dataSource)
    expect(stream).toBeInstanceOf(Function)
    expect(server).toEqual({
      host: '::1.',
      port: 3307,
      user: 'u',
      password: 'p',
      database: 'quota',
      ssl: { rejectUnauthorized: true, verifyIdentity: true, ca: 'PEM' },
    })
    expect(dataSource.options).toMatchObject({ database: 'quota', extra: server })
  })
})
