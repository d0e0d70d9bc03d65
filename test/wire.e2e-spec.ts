import { request as httpRequest } from 'node:http'
import { brotliCompressSync, constants, deflateRawSync, deflateSync, gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { DataSource } from 'typeorm'
import type { Response } from 'supertest'
import { channelToken } from '../src/channel-api/ledger.module.js'
import type { ErrorCode } from '../src/common/service-error.js'
import { ERROR_CODES } from '../src/http/problem.js'
import { Ledger } from '../src/ledger/write/ledger.js'
import type { MailQuota } from '../src/mail-quota/mail-quota.entity.js'
import { MAIL } from '../src/mail-quota/mail.channel.js'
import { TestApp, TOKENS } from './support/app.js'
import { MAIL_API, SMS_API } from './support/channel-api.js'
import { bodyOf, brokenFields, copyQuota, fresh, refusal } from './support/quota-api.js'
import { onEveryStore } from './support/store.js'

const QUOTAS = '/api/v1/quotas'
const USAGE = '/api/v1/quotas/usage'
const SMS = '/api/sms/admin/quota'
const SMS_USAGE = '/api/sms/quota/usage'
const ABSENT = '9007199254740991'
const OPERATION_ID = '01939f3e-5c00-7a6b-8c1d-2e3f4a5b6c7d'
const ORIGINS = ['https://office.example.com', 'http://localhost:8080']
const UUID_V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

onEveryStore('the wire', (kind) => {
  let app: TestApp

  beforeAll(async () => {
    app = await TestApp.on(kind, { env: { CORS_ORIGINS: ORIGINS.join(), NEW_OWNERS_PER_HOUR: '2' } })
  })

  const newQuota = (owner: number, more: object = {}) => ({
    account_id: owner,
    quota_type: 2,
    total: 100,
    cycle_unit: 'month',
    cycle_reset_at: '2026-12-01T00:00:00.000Z',
    ...more,
  })

  /** Sends bytes as they are, as JSON unless `headers` say otherwise. */
  const raw = (path: string, bytes: string | Buffer, headers: Record<string, string> = {}, method = 'POST') =>
    app
      .send(method, path, { headers: { 'Content-Type': 'application/json', ...headers } })
      .serialize((sent: unknown) => sent as string)
      .send(bytes as unknown as string)

  /** A request as it is written, path and headers untouched. */
  const plain = (
    method: string,
    path: string,
    headers: Record<string, string> = {},
    chunks: readonly (string | Buffer)[] = [],
  ) =>
    new Promise<{ status: number; headers: Record<string, unknown>; text: string }>((resolve, reject) => {
      const sent = httpRequest(app.url, { method, path, headers }, (response) => {
        let text = ''
        response.setEncoding('utf8')
        response.on('data', (chunk: string) => (text += chunk))
        response.on('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers, text }))
      })
      sent.on('error', reject)
      for (const chunk of chunks) sent.write(chunk)
      sent.end()
    })
  const ADMIN = { Authorization: `Bearer ${TOKENS.admin}` }

  const made = async (owner = fresh(), more: object = {}) => {
    const { id } = bodyOf(201, await app.post(QUOTAS, newQuota(owner, more)))
    return { owner, id: id as number }
  }
  const spend = (verb: 'consume' | 'reserve', owner: number, amount: number, key = `k-${fresh()}`) =>
    app.post(`${USAGE}/${verb}`, { account_id: owner, amount }, { key })
  const operation = async (verb: 'consume' | 'reserve', amount: number) => {
    const { owner } = await made()
    const answer = await spend(verb, owner, amount)
    return `${USAGE}/${answer.body.id}`
  }

  const group = async (name = `group ${fresh()}`): Promise<number> =>
    bodyOf(201, await app.post(`${QUOTAS}/groups`, { name })).id as number

  /** One that is ready, of one row. */
  const changeSet = async (): Promise<number> => {
    const { owner } = await made()
    const sent = { filter: { account_id: owner }, change: { update: { total: 7 } } }
    const { id } = bodyOf(202, await app.post(`${QUOTAS}/change-sets`, sent))
    while ((await app.get(`${QUOTAS}/change-sets/${id}`)).body.state === 'preparing') {
      await new Promise((resolve) => setTimeout(resolve, 10))
    }
    return id
  }

  /** One way to each code. A code that is added and not reached here does not compile. */
  const WAYS: Record<ErrorCode, { status: number; title: string; ask: () => Promise<Response> }> = {
    validation_failed: {
      status: 400,
      title: 'The request is not valid',
      ask: async () => app.get(`${QUOTAS}/0`),
    },
    malformed_json: { status: 400, title: 'The body is not JSON', ask: async () => raw(QUOTAS, '{') },
    idempotency_key_missing: {
      status: 400,
      title: 'An Idempotency-Key is needed',
      ask: async () => app.post(`${USAGE}/consume`, { account_id: 1, amount: 1 }),
    },
    idempotency_key_invalid: {
      status: 400,
      title: 'The Idempotency-Key is not valid',
      ask: async () => spend('consume', 1, 1, ''),
    },
    unauthenticated: {
      status: 401,
      title: 'A bearer token is needed',
      ask: async () => app.get(QUOTAS, { as: undefined }),
    },
    forbidden: { status: 403, title: 'The token may not do this', ask: async () => app.get(QUOTAS, { as: 'usage' }) },
    quota_not_found: {
      status: 404,
      title: 'There is no such quota',
      ask: async () => app.get(`${QUOTAS}/${ABSENT}`),
    },
    operation_not_found: {
      status: 404,
      title: 'There is no such operation',
      ask: async () => app.get(`${USAGE}/${OPERATION_ID}`),
    },
    change_set_not_found: {
      status: 404,
      title: 'There is no such change set',
      ask: async () => app.get(`${QUOTAS}/change-sets/${ABSENT}`),
    },
    change_set_state: {
      status: 409,
      title: 'The state of the change set does not allow it',
      ask: async () => app.post(`${QUOTAS}/change-sets/${await changeSet()}/revert`, { version: 2 }),
    },
    change_set_differs: {
      status: 409,
      title: 'The change set has a different number of rows',
      ask: async () => app.post(`${QUOTAS}/change-sets/${await changeSet()}/apply`, { version: 2, rows: 2 }),
    },
    group_not_found: {
      status: 404,
      title: 'There is no such group',
      ask: async () => app.get(`${QUOTAS}/groups/${ABSENT}`),
    },
    member_not_found: {
      status: 404,
      title: 'The owner is not a member of the group',
      ask: async () => app.delete(`${QUOTAS}/groups/${await group()}/members/7`),
    },
    group_name_taken: {
      status: 409,
      title: 'Another group has this name',
      ask: async () => {
        await group('twice')
        return app.post(`${QUOTAS}/groups`, { name: 'twice' })
      },
    },
    group_not_empty: {
      status: 409,
      title: 'The group is not empty',
      ask: async () => {
        const id = await group()
        await app.post(`${QUOTAS}/groups/${id}/members`, { account_ids: [fresh()] })
        return app.delete(`${QUOTAS}/groups/${id}`)
      },
    },
    default_group_taken: {
      status: 409,
      title: 'Another group is the default',
      ask: async () => {
        const id = bodyOf(201, await app.post(`${QUOTAS}/groups`, { name: `g ${fresh()}`, default: true })).id
        const answer = await app.post(`${QUOTAS}/groups`, { name: `g ${fresh()}`, default: true })
        bodyOf(204, await app.delete(`${QUOTAS}/groups/${id}`))
        return answer
      },
    },
    nothing_to_reset: {
      status: 409,
      title: 'The quota has no count of its own',
      ask: async () => {
        const ofMembers = {
          group_id: await group(),
          per: 'member',
          quota_type: 1,
          total: 1,
          expire_at: '2099-01-01T00:00:00Z',
        }
        return app.post(`${QUOTAS}/${bodyOf(201, await app.post(QUOTAS, ofMembers)).id}/reset`, {})
      },
    },
    too_many_new_owners: {
      status: 409,
      title: 'Too many new owners',
      ask: async () => {
        const id = bodyOf(201, await app.post(`${QUOTAS}/groups`, { name: `g ${fresh()}`, default: true })).id
        const ofAll = { group_id: id, quota_type: 1, total: 9, expire_at: '2099-01-01T00:00:00Z' }
        const made = bodyOf(201, await app.post(QUOTAS, ofAll))
        const use = () => app.post(`${USAGE}/consume`, { account_id: fresh(), amount: 1 }, { key: `new-${fresh()}` })
        bodyOf(200, await use())
        bodyOf(200, await use())
        const answer = await use()
        bodyOf(204, await app.delete(`${QUOTAS}/${made.id}`))
        bodyOf(204, await app.delete(`${QUOTAS}/groups/${id}`))
        return answer
      },
    },
    too_many_rows: {
      status: 409,
      title: 'Too many rows wait in change sets',
      ask: async () => {
        const id = await changeSet()
        const waiting = async (rows: number) =>
          app.app.get(DataSource).query(`UPDATE mail_change_set SET waiting_rows = ${rows} WHERE id = ${id}`)
        await waiting(1_000_000)
        const answer = await app.post(`${QUOTAS}/change-sets`, { filter: { all: true }, change: { delete: true } })
        await waiting(1)
        return answer
      },
    },
    route_not_found: { status: 404, title: 'There is no such route', ask: async () => app.get('/nowhere') },
    webhook_not_found: {
      status: 404,
      title: 'There is no such webhook',
      ask: async () => app.post('/api/v1/webhooks/nobody/enable', undefined, { as: 'admin' }),
    },
    webhook_disabled: {
      status: 409,
      title: 'The webhook is disabled',
      ask: async () => {
        await app.app
          .get(DataSource)
          .query(
            "INSERT INTO webhook (name, state, delivered, failed, waiting, failures_in_row, progress) VALUES ('gone', 'removed', 0, 0, 0, 0, '{}')",
          )
        return app.post('/api/v1/webhooks/gone/test', undefined, { as: 'admin' })
      },
    },
    cursor_expired: {
      status: 410,
      title: 'The cursor is too old',
      ask: async () => {
        await app.app.get(DataSource).query('UPDATE mail_event_feed SET removed_to = 1')
        return app.get(`${QUOTAS}/events?after=e0`)
      },
    },
    method_not_allowed: {
      status: 405,
      title: 'The route does not take this method',
      ask: async () => app.delete(QUOTAS),
    },
    quota_exceeded: {
      status: 409,
      title: 'The quota is exceeded',
      ask: async () => spend('consume', (await made()).owner, 101),
    },
    no_active_quota: {
      status: 409,
      title: 'The owner has no active quota',
      ask: async () => spend('consume', fresh(), 1),
    },
    too_many_quotas: {
      status: 409,
      title: 'The owner has too many quotas',
      ask: async () => {
        const owner = fresh()
        await copyQuota(app, MAIL_API, (await made(owner)).id, 199)
        return app.post(QUOTAS, newQuota(owner))
      },
    },
    version_mismatch: {
      status: 409,
      title: 'The record has changed',
      ask: async () => app.put(`${QUOTAS}/${(await made()).id}`, { total: 1, version: 2 }),
    },
    operation_already_settled: {
      status: 409,
      title: 'The operation is settled',
      ask: async () => app.post(`${await operation('consume', 1)}/commit`, {}),
    },
    commit_exceeds_hold: {
      status: 409,
      title: 'The amount exceeds the hold',
      ask: async () => app.post(`${await operation('reserve', 1)}/commit`, { amount: 2 }),
    },
    refund_exceeds_charge: {
      status: 409,
      title: 'The amount exceeds the remaining charge',
      ask: async () => app.post(`${await operation('consume', 1)}/refund`, { amount: 2 }, { key: 'refund' }),
    },
    payload_too_large: {
      status: 413,
      title: 'The body is too large',
      ask: async () => raw(QUOTAS, ' '.repeat(100_001)),
    },
    unsupported_media_type: {
      status: 415,
      title: 'The media type of the body is not supported',
      ask: async () => raw(QUOTAS, '{}', { 'Content-Type': 'text/plain' }),
    },
    idempotency_key_reused: {
      status: 422,
      title: 'The Idempotency-Key belongs to another request',
      ask: async () => {
        const { owner } = await made()
        await spend('consume', owner, 1, `k-${owner}`)
        return spend('consume', owner, 2, `k-${owner}`)
      },
    },
    internal_error: {
      status: 500,
      title: 'The service has failed',
      ask: async () => {
        const ruined = await kind.open()
        const failing = await TestApp.start(ruined)
        failing.app.useLogger(false)
        await failing.app.get(DataSource).query('ALTER TABLE mail_quota RENAME TO mail_elsewhere')
        const answer = await failing.get(`${QUOTAS}/1`)
        await failing.stop()
        await ruined.drop()
        app.app.useLogger(['error', 'fatal'])
        return answer
      },
    },
    unavailable: {
      status: 503,
      title: 'The service is not available',
      ask: async () => {
        const closing = await TestApp.start(app.store)
        await closing.app.get<Ledger<MailQuota>>(channelToken(MAIL, Ledger)).engine.close()
        const answer = await closing.post(QUOTAS, newQuota(fresh()))
        await closing.stop()
        return answer
      },
    },
  }

  describe('of errors', () => {
    it('has a way to every code', () => {
      expect(Object.keys(WAYS).sort()).toEqual([...ERROR_CODES].sort())
    })

    it.each(Object.entries(WAYS))('says %s as a problem', async (code, { status, title, ask }) => {
      const answer = await ask()
      expect(refusal(answer)).toEqual([status, code])
      expect(answer.headers['content-type']).toBe('application/problem+json')
      expect(answer.headers['cache-control']).toBe('no-store')
      expect(answer.headers['location']).toBeUndefined()
      const { type, detail, request_id, errors, ...members } = answer.body
      expect(type).toBe(
        code === 'quota_exceeded' ? 'https://iana.org/assignments/http-problem-types#quota-exceeded' : 'about:blank',
      )
      expect(detail).toEqual(expect.stringMatching(/^.{10,}$/))
      expect(request_id).toBe(answer.headers['x-request-id'])
      expect(members).toMatchObject({ title, status, code })
      expect(errors === undefined).toBe(code !== 'validation_failed')
      expect(answer.headers['www-authenticate']).toBe(status === 401 ? 'Bearer realm="quota"' : undefined)
      expect(answer.headers['allow']).toBe(status === 405 ? 'GET, HEAD, POST' : undefined)
      expect(answer.headers['retry-after']).toEqual(status === 503 ? expect.stringMatching(/^[1-9]\d*$/) : undefined)
      expect(answer.text).not.toMatch(
        /select|insert|mail_|driver|node_modules|\.[jt]s\b|\bat \w+\.|sqlite|maria|mysql/i,
      )
    })

    it('adds to a problem only what helps', async () => {
      const members = async (code: ErrorCode) => {
        const known = ['type', 'title', 'status', 'detail', 'code', 'request_id']
        return Object.keys((await WAYS[code].ask()).body).filter((name) => !known.includes(name))
      }
      expect(await members('validation_failed')).toEqual(['errors'])
      expect(await members('quota_exceeded')).toEqual([
        'requested',
        'remaining',
        'payable',
        'refills_at',
        'caps',
        'quotas',
      ])
      expect(await members('version_mismatch')).toEqual(['version'])
      expect(await members('no_active_quota')).toEqual([])
      expect(await members('quota_not_found')).toEqual([])
    })

    it('names broken fields with a sentence each', async () => {
      const answer = await raw(QUOTAS, '{"account_id":7,"quota_type":2,"total":-1,"cycle_unit":"eon"}')
      expect(answer.body.errors).toEqual([
        { field: 'total', message: 'must be an integer from 0 to 1000000000000' },
        { field: 'cycle_unit', message: 'must be one of hour, day, week, month, year' },
        { field: 'cycle_reset_at', message: 'is required for quota_type 2 (cycle)' },
      ])
      expect(answer.body.detail).toBe(
        'total: must be an integer from 0 to 1000000000000; cycle_unit: must be one of hour, day, week, month, year; ' +
          'cycle_reset_at: is required for quota_type 2 (cycle)',
      )
      expect(brokenFields(await app.get(`${QUOTAS}/nothing`))).toEqual({
        id: 'must be an integer from 1 to 9007199254740991 in decimal digits',
      })
      expect(Object.keys(brokenFields(await app.delete(`${QUOTAS}/groups/x/members/0`)))).toEqual(['id', 'account_id'])
    })
  })

  it('carries identifiers up to 2^53-1 and none beyond', async () => {
    const body = (owner: string) => JSON.stringify(newQuota(7)).replace('"account_id":7', `"account_id":${owner}`)
    expect(bodyOf(201, await raw(QUOTAS, body('9007199254740991'))).account_id).toBe(Number.MAX_SAFE_INTEGER)
    expect(bodyOf(201, await raw(QUOTAS, body('7.0'))).account_id).toBe(7)
    for (const owner of ['9007199254740992', '9007199254740993', '1e16', '0', '-1']) {
      expect(Object.keys(brokenFields(await raw(QUOTAS, body(owner))))).toEqual(['account_id'])
    }
    expect((await app.get(`${QUOTAS}/summary/${ABSENT}`)).body.account_id).toBe(Number.MAX_SAFE_INTEGER)
    expect(bodyOf(200, await app.get(`${QUOTAS}?account_id=${ABSENT}`)).total).toBe(1)
  })

  describe('of every answer', () => {
    it('carries a request id: the caller’s where it is one, else a new one', async () => {
      for (const id of ['a', 'A.b_c-9', 'x'.repeat(128)]) {
        const headers = { 'X-Request-Id': id }
        expect((await app.get(QUOTAS, { headers })).headers['x-request-id']).toBe(id)
        const refused = await app.get('/nowhere', { headers, as: undefined })
        expect([refused.headers['x-request-id'], refused.body.request_id]).toEqual([id, id])
      }
      const ids = new Set<string>()
      for (const id of ['', 'x'.repeat(129), 'a b', 'a/b', 'ä', '"a"', 'a,b', "';--"]) {
        const answer = await app.get(QUOTAS, { headers: { 'X-Request-Id': id } })
        expect(answer.headers['x-request-id']).toMatch(UUID_V7)
        ids.add(answer.headers['x-request-id']!)
      }
      expect(ids.size).toBe(8)
    })

    it('forbids storing it and names no framework, whatever it is', async () => {
      const { id } = await made()
      const answers = [
        await app.get(QUOTAS),
        await app.post(QUOTAS, newQuota(fresh())),
        await app.get('/nowhere'),
        await app.get('/health/live', { as: undefined }),
        await app.get('/metrics'),
        await app.get('/docs'),
        await app.send('head', `${QUOTAS}/${id}`),
        await app.delete(`${QUOTAS}/${id}`),
        await app.get(QUOTAS, { as: undefined }),
        await raw(QUOTAS, '{'),
      ]
      for (const { headers } of answers) {
        expect(headers['cache-control']).toBe('no-store')
        expect(headers['x-request-id']).toMatch(UUID_V7)
        for (const name of ['x-powered-by', 'etag', 'server', 'strict-transport-security']) {
          expect([name, headers[name]]).toEqual([name, undefined])
        }
        expect(headers['content-security-policy']).not.toContain('upgrade-insecure-requests')
      }
    })

    it('is the same to an expectation that nobody knows', async () => {
      expect((await plain('GET', QUOTAS, { ...ADMIN, Expect: 'more' })).status).toBe(200)
    })

    it('is JSON in UTF-8', async () => {
      const answer = await app.get(QUOTAS)
      expect(answer.headers['content-type']).toMatch(/^application\/json(; charset=utf-8)?$/)
    })
  })

  describe('of routes', () => {
    it.each([
      ['delete', QUOTAS, 'GET, HEAD, POST'],
      ['patch', QUOTAS, 'GET, HEAD, POST'],
      ['options', QUOTAS, 'GET, HEAD, POST'],
      ['post', `${QUOTAS}/7`, 'DELETE, GET, HEAD, PUT'],
      ['patch', `${QUOTAS}/x`, 'DELETE, GET, HEAD, PUT'],
      ['get', `${QUOTAS}/7/restore`, 'POST'],
      ['delete', `${QUOTAS}/7/changes`, 'GET, HEAD'],
      ['put', `${QUOTAS}/summary/7`, 'GET, HEAD'],
      ['put', `${QUOTAS}/owners`, 'GET, HEAD'],
      ['delete', `${QUOTAS}/changes`, 'GET, HEAD'],
      ['post', `${QUOTAS}/expiring`, 'GET, HEAD'],
      ['put', `${QUOTAS}/refusals`, 'GET, HEAD'],
      ['post', `${QUOTAS}/refusals/top`, 'GET, HEAD'],
      ['post', `${QUOTAS}/summary/changes`, 'GET, HEAD'],
      ['put', USAGE, 'GET, HEAD'],
      ['delete', USAGE, 'GET, HEAD'],
      ['post', USAGE, 'GET, HEAD'],
      ['get', `${USAGE}/consume`, 'POST'],
      ['delete', `${USAGE}/consume`, 'POST'],
      ['get', `${USAGE}/consume/batch`, 'POST'],
      ['get', `${USAGE}/reserve`, 'POST'],
      ['post', `${USAGE}/check`, 'GET, HEAD'],
      ['post', `${USAGE}/${OPERATION_ID}`, 'GET, HEAD'],
      ['get', `${USAGE}/${OPERATION_ID}/commit`, 'POST'],
      ['get', SMS, 'POST'],
      ['put', `${SMS}/list`, 'GET, HEAD'],
      ['delete', `${SMS}/list`, 'GET, HEAD'],
      ['delete', `${SMS}/list/`, 'GET, HEAD'],
      ['put', `${SMS}/summary`, 'GET, HEAD'],
      ['delete', `${SMS}/summary`, 'GET, HEAD'],
      ['delete', SMS_USAGE, 'GET, HEAD'],
      ['post', `${SMS}/expiring`, 'GET, HEAD'],
      ['get', `${SMS}/caps/preview`, 'POST'],
      ['put', `${QUOTAS}/groups/7/caps/preview`, 'POST'],
      ['post', '/health/live', 'GET, HEAD'],
      ['post', '/metrics', 'GET, HEAD'],
      ['put', '/openapi.json', 'GET, HEAD'],
    ])('answers 405 to %s %s', async (method, path, allow) => {
      const answer = await app.send(method, path, { body: method === 'get' ? undefined : { total: 1 } })
      expect([...refusal(answer), answer.headers['allow']]).toEqual([405, 'method_not_allowed', allow])
      expect(answer.body.allow).toEqual(allow.split(', '))
      expect(refusal(await app.send(method, path, { as: undefined }))).toEqual([401, 'unauthenticated'])
    })

    it.each([
      '/',
      '/nowhere',
      '/api',
      '/api/v1',
      `${QUOTAS}/summary`,
      `${QUOTAS}/7/nowhere`,
      `${QUOTAS}/summary/7/8`,
      `${QUOTAS}/refusals/bottom`,
      `${QUOTAS}/changes/changes`,
      `${QUOTAS}/expiring/7`,
      `${QUOTAS}/caps`,
      `${SMS}/caps/restore`,
      `${QUOTAS}/owners/reset`,
      `${SMS}/summary/changes`,
      `${USAGE}/consume/commit`,
      `${USAGE}/check/refund`,
      `${SMS}/list/restore`,
      `${SMS}/summary/7`,
      '/api/sms/quota',
      `${QUOTAS}//7`,
      '//api/v1/quotas',
      `${QUOTAS}/7/`.replace('/7/', '/7//'),
      '/api/v2/quotas',
      '/.env',
      '/docs/package.json',
      '/docs/..%2f..%2fpackage.json',
      '/docs/__proto__',
      '/health',
    ])('answers 404 to %s with a token, and 401 without', async (path) => {
      const known = await plain('GET', path, ADMIN)
      expect([known.status, JSON.parse(known.text).code]).toEqual([404, 'route_not_found'])
      const unknown = await plain('GET', path)
      expect([unknown.status, JSON.parse(unknown.text).code]).toEqual([401, 'unauthenticated'])
    })

    it('answers 401 to whoever asks for an unknown path with a bad token', async () => {
      const answer = await plain('GET', '/nowhere', { Authorization: 'Bearer bad' })
      expect([answer.status, answer.headers['www-authenticate']]).toEqual([
        401,
        'Bearer realm="quota", error="invalid_token"',
      ])
    })

    it.each([`${QUOTAS}/%zz`, `${QUOTAS}/%`, `${QUOTAS}/summary/%c3%28`, `${SMS}/%ff`])(
      'answers 400 to the encoding of %s, and 401 without a token',
      async (path) => {
        const known = await plain('GET', path, ADMIN)
        expect([known.status, JSON.parse(known.text).code]).toEqual([400, 'validation_failed'])
        expect((await plain('GET', path)).status).toBe(401)
        expect((await app.get(path, { as: 'usage' })).status).toBe(403)
        expect((await plain('PATCH', path, ADMIN)).status).toBe(405)
      },
    )

    it('answers HEAD like GET, without a body', async () => {
      const { id } = await made()
      const path = `${QUOTAS}/${id}`
      const [head, get] = [await app.send('head', path), await app.get(path)]
      expect([head.status, head.text]).toEqual([200, undefined])
      expect(head.headers['content-type']).toBe(get.headers['content-type'])
      expect(head.headers['content-length']).toBe(get.headers['content-length'])
      expect((await app.send('head', `${QUOTAS}/${ABSENT}`)).status).toBe(404)
      expect((await app.send('head', `${QUOTAS}/0`)).status).toBe(400)
    })

    it('takes one trailing slash, and its own words in lower case alone', async () => {
      const { id } = await made()
      expect(bodyOf(200, await app.get(`${QUOTAS}/${id}/`)).id).toBe(id)
      const other = await app.get(`/api/v1/Quotas/${id}`)
      expect(refusal(other)).toEqual([404, 'route_not_found'])
      expect(other.body.detail).toBe(`there is no route GET /api/v1/Quotas/${id}; did you mean GET /api/v1/quotas/:id?`)
      expect(bodyOf(200, await app.get(`${QUOTAS}/?page_size=1`)).page_size).toBe(1)
    })
  })

  describe('of origins', () => {
    const preflight = (origin: string) =>
      plain('OPTIONS', QUOTAS, { Origin: origin, 'Access-Control-Request-Method': 'GET' })

    it.each(ORIGINS)('lets %s call', async (origin) => {
      const { status, headers } = await preflight(origin)
      expect(status).toBe(204)
      expect(headers).toMatchObject({
        'access-control-allow-origin': origin,
        'access-control-allow-methods': 'GET, HEAD, POST, PUT, DELETE',
        'access-control-allow-headers': 'Authorization, Content-Type, Idempotency-Key, X-Request-Id',
        'access-control-max-age': '600',
        'cache-control': 'no-store',
        'x-request-id': expect.any(String),
        vary: 'Origin',
      })
      const got = await app.get(QUOTAS, { headers: { Origin: origin } })
      expect(got.status).toBe(200)
      expect(got.headers).toMatchObject({ 'access-control-allow-origin': origin, vary: 'Origin' })
      expect(got.headers['access-control-expose-headers']).toContain('Idempotency-Replayed')
    })

    it.each(['https://office.example.com.evil.org', 'https://OFFICE.example.com', 'http://office.example.com', 'null'])(
      'does not let %s call',
      async (origin) => {
        const asked = await preflight(origin)
        expect(asked.status).toBe(401)
        const got = await app.get(QUOTAS, { headers: { Origin: origin } })
        for (const { headers } of [asked, got]) {
          expect(Object.keys(headers).filter((name) => name.startsWith('access-control'))).toEqual([])
          expect(headers['vary']).toContain('Origin')
        }
      },
    )
  })

  describe('of the form of a body', () => {
    it.each([
      'application/json',
      'APPLICATION/JSON',
      'application/json; charset=utf-8',
      'application/json;charset="UTF-8"',
      'application/json;',
      'application/json ; charset=utf-8 ;',
    ])('takes %s', async (type) => {
      expect((await raw(QUOTAS, JSON.stringify(newQuota(fresh())), { 'Content-Type': type })).status).toBe(201)
    })

    it.each([
      'text/plain',
      'text/json',
      'application/x-www-form-urlencoded',
      'multipart/form-data; boundary=x',
      'application/json; charset=utf-16',
      'application/json; charset=iso-8859-1',
      'application/jsonp',
      'application/merge-patch+json',
      'application/json, text/plain',
      'json',
      '*/*',
    ])('answers 415 to %s', async (type) => {
      const answer = await raw(QUOTAS, JSON.stringify(newQuota(fresh())), { 'Content-Type': type })
      expect(refusal(answer)).toEqual([415, 'unsupported_media_type'])
    })

    it('answers 415 to a body without a media type', async () => {
      const answer = await plain('POST', QUOTAS, ADMIN, [JSON.stringify(newQuota(fresh()))])
      expect([answer.status, JSON.parse(answer.text).code]).toEqual([415, 'unsupported_media_type'])
    })

    it.each([
      ['an open brace', '{'],
      ['white space', ' \n'],
      ['a blank that is none of JSON', '\u00a0'],
      ['single quotes', "{'total':1}"],
      ['a trailing comma', '{"total":1,}'],
      ['a comment', '{"total":1}//'],
      ['two values', '{}{}'],
      ['NaN', '{"total":NaN}'],
      ['a hexadecimal number', '{"total":0x10}'],
      ['a number with leading zeros', '{"total":007}'],
      ['a number with a plus', '{"total":+7}'],
      ['a bare word', 'undefined'],
      ['a raw line break in a string', '{"cycle_unit":"mo\nnth"}'],
      ['UTF-16', Buffer.from('{"total":1}', 'utf16le')],
    ])('answers malformed_json to %s', async (_what, bytes) => {
      const { id } = await made()
      const answer = await raw(`${QUOTAS}/${id}`, bytes, {}, 'PUT')
      expect(refusal(answer)).toEqual([400, 'malformed_json'])
    })

    it('takes no body for an empty object', async () => {
      for (const answer of [await raw(QUOTAS, ''), await app.post(QUOTAS)]) {
        expect(Object.keys(brokenFields(answer))).toEqual(['quota_type', 'total', 'account_id', 'group_id'])
      }
      const chunked = await plain('POST', QUOTAS, {
        ...ADMIN,
        'Content-Type': 'application/json',
        'Transfer-Encoding': 'chunked',
      })
      expect([chunked.status, JSON.parse(chunked.text).code]).toEqual([400, 'validation_failed'])
    })

    it.each(['null', '7', '"text"', 'true', '[]', '[{"total":1}]'])('wants an object and not %s', async (bytes) => {
      expect(brokenFields(await raw(QUOTAS, bytes))).toEqual({ body: 'must be a JSON object' })
    })

    it.each([
      ['gzip', gzipSync],
      ['GZip', gzipSync],
      ['deflate', deflateSync],
      ['br', brotliCompressSync],
      ['identity', (text: string) => Buffer.from(text)],
    ])('reads a body in %s', async (encoding, pack) => {
      const owner = fresh()
      const bytes = pack(JSON.stringify(newQuota(owner)))
      expect(bodyOf(201, await raw(QUOTAS, bytes, { 'Content-Encoding': encoding })).account_id).toBe(owner)
    })

    it.each(['zstd', 'compress', 'x-gzip', 'gzip, gzip', 'gzip, identity', 'none', 'utf-8'])(
      'answers 415 to the encoding %s',
      async (encoding) => {
        const bytes = gzipSync(JSON.stringify(newQuota(fresh())))
        expect(refusal(await raw(QUOTAS, bytes, { 'Content-Encoding': encoding }))).toEqual([
          415,
          'unsupported_media_type',
        ])
      },
    )

    it.each([
      ['gzip that is none', 'gzip', Buffer.from('{}')],
      ['gzip that is cut off', 'gzip', gzipSync('{"total":1}').subarray(0, 20)],
      ['br that is none', 'br', Buffer.from('{"total":1}')],
      ['deflate that is none', 'deflate', Buffer.from('{}')],
    ])('answers malformed_json to %s', async (_what, encoding, bytes) => {
      expect(refusal(await raw(QUOTAS, bytes, { 'Content-Encoding': encoding }))).toEqual([400, 'malformed_json'])
    })

    it.each<[string, (text: string) => Buffer]>([
      ['deflate', deflateSync],
      ['br', brotliCompressSync],
    ])('refuses what follows a body in %s, in one piece or several, instead of losing it', async (encoding, pack) => {
      const headers = { 'Content-Encoding': encoding }
      const twice = (text: string): Buffer[] => [pack(text), pack(text)]
      const quota = JSON.stringify(newQuota(fresh()))
      expect(refusal(await raw(QUOTAS, Buffer.concat(twice(quota)), headers))).toEqual([400, 'malformed_json'])
      const csv = { ...headers, 'Content-Type': 'text/csv' }
      const file = twice(`account_id,quota_type,total,expire_at\n${fresh()},1,5,2099-01-01\n`)
      const errors = { body: 'ended early, or could not be decompressed' }
      expect(brokenFields(await raw(`${QUOTAS}/import`, Buffer.concat(file), csv))).toEqual(errors)
      const { status, text } = await plain('POST', `${QUOTAS}/import`, { ...ADMIN, ...csv }, file)
      expect([status, JSON.parse(text).errors]).toEqual([400, [{ field: 'body', message: errors.body }]])
      expect((await raw(`${QUOTAS}/import`, file[0]!, csv)).status).toBe(202)
    })

    it('counts 100 kB after decompression', async () => {
      const fits = (owner: number) => JSON.stringify(newQuota(owner)).padEnd(100_000)
      expect((await raw(QUOTAS, fits(fresh()))).status).toBe(201)
      for (const [encoding, pack] of [
        ['gzip', gzipSync],
        ['deflate', deflateSync],
        ['br', brotliCompressSync],
      ] as const) {
        const headers = { 'Content-Encoding': encoding }
        expect((await raw(QUOTAS, pack(fits(fresh())), headers)).status).toBe(201)
        expect(refusal(await raw(QUOTAS, pack(`${fits(fresh())} `), headers))).toEqual([413, 'payload_too_large'])
      }
      expect(refusal(await raw(QUOTAS, `${fits(fresh())} `))).toEqual([413, 'payload_too_large'])
    })

    it('counts a body that comes in chunks and does not say how long it is', async () => {
      const headers = { ...ADMIN, 'Content-Type': 'application/json' }
      const text = JSON.stringify(newQuota(fresh()))
      expect((await plain('POST', QUOTAS, headers, [text.slice(0, 9), text.slice(9)])).status).toBe(201)
      const large = await plain(
        'POST',
        QUOTAS,
        headers,
        Array.from({ length: 11 }, () => ' '.repeat(10_000)),
      )
      expect([large.status, JSON.parse(large.text).code]).toEqual([413, 'payload_too_large'])
    })

    it('counts a batch up to 1 MB', async () => {
      const { owner } = await made()
      const batch = (key: string) => JSON.stringify({ items: [{ account_id: owner, amount: 1, idempotency_key: key }] })
      const path = `${USAGE}/consume/batch`
      expect((await raw(path, batch('a').padEnd(1_000_000))).status).toBe(200)
      const packed = gzipSync(batch('b').padEnd(1_000_001))
      expect(refusal(await raw(path, batch('b').padEnd(1_000_001)))).toEqual([413, 'payload_too_large'])
      expect(refusal(await raw(path, packed, { 'Content-Encoding': 'gzip' }))).toEqual([413, 'payload_too_large'])
      expect(bodyOf(200, await app.get(`${QUOTAS}/summary/${owner}`)).used).toBe(1)
    })

    it.each([
      ['gzip', gzipSync],
      ['deflate', deflateSync],
      // At its best quality it would pack for seconds.
      ['br', (bytes: Buffer) => brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 2 } })],
    ])('stops a bomb in %s', async (encoding, pack) => {
      const bomb = pack(Buffer.alloc(50_000_000, ' '))
      expect(bomb.length).toBeLessThan(100_000)
      for (const path of [QUOTAS, `${USAGE}/consume/batch`]) {
        expect(refusal(await raw(path, bomb, { 'Content-Encoding': encoding }))).toEqual([413, 'payload_too_large'])
      }
    })

    it('takes no body where the route has none', async () => {
      const { id } = await made()
      const path = `${QUOTAS}/${id}/restore`
      expect((await app.post(path, {})).status).toBe(200)
      expect((await plain('POST', path, ADMIN)).status).toBe(200)
      expect(brokenFields(await app.post(path, { force: true }))).toEqual({ force: 'is not a field of this request' })
      for (const bytes of ['{', ' ']) expect(refusal(await raw(path, bytes))).toEqual([400, 'malformed_json'])
      for (const bytes of ['[]', 'null']) expect(Object.keys(brokenFields(await raw(path, bytes)))).toEqual(['body'])
      expect(Object.keys(brokenFields(await raw(path, ' '.repeat(100_000))))).toEqual(['body'])
      expect(refusal(await raw(path, ' '.repeat(100_001)))).toEqual([413, 'payload_too_large'])
      expect(brokenFields(await app.post(`${path}?force=1`))).toEqual({ force: 'is not a parameter of this route' })
      expect(brokenFields(await app.delete(`${QUOTAS}/${id}`, { body: { version: 1 } }))).toEqual({
        version: 'is not a field of this request',
      })
      expect(brokenFields(await app.get(`${QUOTAS}/${id}?fields=id`))).toEqual({
        fields: 'is not a parameter of this route',
      })
      expect(brokenFields(await app.get('/health/live?verbose'))).toEqual({
        verbose: 'is not a parameter of this route',
      })
    })

    it('looks at access, then route and method, then the form, then the fields, then the key, then existence', async () => {
      const json = { 'Content-Type': 'application/json' }
      const ask = async (
        as: 'usage' | 'admin',
        method: string,
        path: string,
        bytes: string,
        type = json['Content-Type'],
      ) =>
        (
          await app
            .send(method, path, { as, headers: { 'Content-Type': type, 'Idempotency-Key': '' } })
            .serialize((sent: unknown) => sent as string)
            .send(bytes)
        ).body.code
      expect(await ask('usage', 'PUT', `${QUOTAS}/0`, '{', 'text/plain')).toBe('forbidden')
      expect(await ask('admin', 'PATCH', `${QUOTAS}/0`, '{', 'text/plain')).toBe('method_not_allowed')
      expect(await ask('admin', 'PUT', `${QUOTAS}/0`, '{', 'text/plain')).toBe('unsupported_media_type')
      expect(await ask('admin', 'PUT', `${QUOTAS}/0`, ' '.repeat(100_001))).toBe('payload_too_large')
      expect(await ask('admin', 'PUT', `${QUOTAS}/0`, '{')).toBe('malformed_json')
      expect(await ask('admin', 'PUT', `${QUOTAS}/0`, '{"total":1}')).toBe('validation_failed')
      expect(await ask('admin', 'POST', `${USAGE}/${OPERATION_ID}/refund`, '{"amount":0}')).toBe('validation_failed')
      expect(await ask('admin', 'POST', `${USAGE}/${OPERATION_ID}/refund`, '{"amount":1}')).toBe(
        'idempotency_key_invalid',
      )
      expect(await ask('admin', 'PUT', `${QUOTAS}/${ABSENT}`, '{"total":1,"version":9}')).toBe('quota_not_found')
    })
  })

  describe('of numbers', () => {
    it.each([
      ['7.0', 7],
      ['1e2', 100],
      ['0.7E1', 7],
      ['70e-1', 7],
      ['-0', 0],
      ['0.0', 0],
      ['1000000000000', 1e12],
      ['1E12', 1e12],
    ])('takes %s for the integer it is', async (written, value) => {
      const { id } = await made()
      const answer = await raw(`${QUOTAS}/${id}`, `{"total":${written}}`, {}, 'PUT')
      expect(bodyOf(200, answer).total).toBe(value)
      expect(answer.text).toContain(`"total":${value},`)
    })

    it.each([
      '7.5',
      '-1',
      '1e400',
      '1e13',
      '1000000000001',
      '9007199254740992',
      '9007199254740993',
      '"7"',
      '[7]',
      'true',
    ])('refuses %s', async (written) => {
      const { id } = await made()
      const answer = await raw(`${QUOTAS}/${id}`, `{"total":${written}}`, {}, 'PUT')
      expect(Object.keys(brokenFields(answer))).toEqual(['total'])
    })

    it.each([
      '007',
      '01',
      '7.0',
      '1e2',
      '0',
      '-7',
      '+7',
      '%207',
      '7%20',
      '٧',
      '９',
      '9007199254740992',
      '1'.repeat(400),
    ])('takes no %s in a path or a query', async (text) => {
      const encoded = text.includes('%') ? text : encodeURIComponent(text)
      const answers = [
        await app.get(`${QUOTAS}/${encoded}`),
        await app.get(`${QUOTAS}/summary/${encoded}`),
        await app.get(`${QUOTAS}?account_id=${encoded}`),
        await app.get(`${QUOTAS}?user_id=${encoded}`),
        await app.get(`${QUOTAS}?page=${encoded}`),
        await app.get(`${QUOTAS}?page_size=${encoded}`),
        await app.get(`${QUOTAS}?before_id=${encoded}`),
        await app.delete(`${QUOTAS}/1?version=${encoded}`),
        await app.get(SMS_API.summary(encoded)),
      ]
      const fields = answers.map((answer) => Object.keys(brokenFields(answer)))
      const names = ['id', 'accountID', 'account_id', 'user_id', 'page', 'page_size', 'before_id', 'version', 'user_id']
      expect(fields).toEqual(names.map((name) => [name]))
    })

    it.each([`${OPERATION_ID}0`, '7', 'x', '01939f3e-5c00-4a6b-8c1d-2e3f4a5b6c7d', OPERATION_ID.replaceAll('-', '')])(
      'takes no %s for an operation',
      async (id) => {
        expect(Object.keys(brokenFields(await app.get(`${USAGE}/${id}`)))).toEqual(['operationId'])
      },
    )

    it('takes an operation’s id in any case', async () => {
      expect(refusal(await app.get(`${USAGE}/${OPERATION_ID.toUpperCase()}`))).toEqual([404, 'operation_not_found'])
    })
  })

  describe('of hostile bodies', () => {
    /** How long the huge ones took, in milliseconds; shown where QUOTA_TEST_TIMES is set, and asserted nowhere. */
    const took: Record<string, number> = {}

    afterAll(() => {
      if (process.env['QUOTA_TEST_TIMES'] !== undefined) process.stderr.write(`${JSON.stringify(took)}\n`)
    })

    const BATCH = `${USAGE}/consume/batch`
    it.each([
      ['arrays nested 10,000 deep', QUOTAS, `${'['.repeat(10_000)}${']'.repeat(10_000)}`, ['body']],
      ['objects nested 10,000 deep', QUOTAS, `${'{"a":'.repeat(10_000)}1${'}'.repeat(10_000)}`, undefined],
      ['a field 10,000 deep', QUOTAS, `{"total":${'['.repeat(10_000)}${']'.repeat(10_000)}}`, undefined],
      ['arrays nested 490,000 deep', BATCH, `${'['.repeat(490_000)}${']'.repeat(490_000)}`, ['body']],
      ['half a million items', BATCH, `{"items":[${'1,'.repeat(499_990)}1]}`, ['items']],
      ['half a million numbers', BATCH, `[${'1,'.repeat(499_990)}1]`, ['body']],
      ['9,000 names', QUOTAS, `{${Array.from({ length: 9000 }, (_, at) => `"n${at}":1`).join(',')}}`, undefined],
      ['90,000 names', BATCH, `{${Array.from({ length: 80_000 }, (_, at) => `"n${at}":1`).join(',')}}`, undefined],
      ['a name of 90,000 letters', QUOTAS, `{"${'_'.repeat(90_000)}":1}`, undefined],
      ['a time of 90,000 digits', QUOTAS, `{"expire_at":"2026-12-01T00:00:00.${'0'.repeat(90_000)}"}`, undefined],
      ['a zone of 90,000 letters', QUOTAS, `{"cycle_time_zone":"${'Europe/'.repeat(12_000)}"}`, undefined],
      ['a number of 90,000 digits', QUOTAS, `{"total":${'9'.repeat(90_000)}}`, undefined],
    ])('answers 400 to %s', async (what, path, text, fields) => {
      const start = performance.now()
      const answer = await raw(path, text)
      took[what] = Math.round(performance.now() - start)
      const broken = Object.keys(brokenFields(answer))
      expect(broken.length).toBeLessThanOrEqual(60)
      expect(answer.text.length).toBeLessThan(20_000)
      if (fields !== undefined) expect(broken).toEqual(fields)
      else expect(broken.length).toBeGreaterThan(0)
    })

    it('answers a batch whose one item is nested 490,000 deep', async () => {
      const start = performance.now()
      const answer = await raw(BATCH, `{"items":${'['.repeat(490_000)}${']'.repeat(490_000)}}`)
      took['a batch nested 490,000 deep'] = Math.round(performance.now() - start)
      const [{ status, problem }] = bodyOf(200, answer).results
      expect([status, problem.errors]).toEqual([400, [{ field: 'items[0]', message: 'must be a JSON object' }]])
    })

    it('answers 413 to an array of a million', async () => {
      const start = performance.now()
      const answer = await raw(BATCH, `{"items":[${'1,'.repeat(999_999)}1]}`)
      took['a million items'] = Math.round(performance.now() - start)
      expect(refusal(answer)).toEqual([413, 'payload_too_large'])
    })

    it.each(['__proto__', 'constructor', 'prototype', 'toString', 'hasOwnProperty', 'violations', 'violationsAt'])(
      'knows no field %s',
      async (name) => {
        const body = JSON.stringify(newQuota(fresh())).replace('{', `{"${name}":{"total":5,"polluted":true},`)
        expect(brokenFields(await raw(QUOTAS, body))).toEqual({ [name]: 'is not a field of this request' })
        expect(Object.keys(brokenFields(await app.get(`${QUOTAS}?${name}=1`)))).toEqual([name])
        expect(({} as Record<string, unknown>)['polluted']).toBeUndefined()
      },
    )

    it('answers in UTF-8 whatever a name is written in', async () => {
      for (const name of ['naïve', '配额', '🙂', '\u0000', '\u2028', 'a\u202eb', '"', '<script>']) {
        const answer = await raw(QUOTAS, JSON.stringify({ ...newQuota(fresh()), [name]: 1 }))
        expect(brokenFields(answer)).toEqual({ [name]: 'is not a field of this request' })
      }
      const surrogate = await raw(QUOTAS, JSON.stringify(newQuota(fresh())).replace('{', '{"\\ud800":1,'))
      expect(refusal(surrogate)).toEqual([400, 'validation_failed'])
      const bytes = Buffer.concat([Buffer.from('{"'), Buffer.from([0xff, 0xfe, 0xc3, 0x28]), Buffer.from('":1}')])
      expect((await raw(QUOTAS, bytes)).status).toBe(400)
      expect(brokenFields(await app.get(`${QUOTAS}?${encodeURIComponent('状态')}=1`))).toEqual({
        状态: 'is not a parameter of this route',
      })
    })

    it('keeps a name that is long to 64 characters, and many names to 50', async () => {
      const broken = brokenFields(await raw(QUOTAS, `{"${'x'.repeat(1000)}":1}`))
      expect(Object.keys(broken)[0]).toBe(`${'x'.repeat(64)}…`)
      const many = await app.get(`${QUOTAS}?${Array.from({ length: 500 }, (_, at) => `p${at}=1`).join('&')}`)
      expect(Object.keys(brokenFields(many))).toHaveLength(50)
    })

    it('sees a parameter behind a thousand others', async () => {
      const last = await app.get(`${QUOTAS}?${'status=active&'.repeat(900)}page=0`)
      expect(Object.keys(brokenFields(last))).toEqual(['status', 'page'])
    })
  })

  it('is the same for both channels', async () => {
    for (const { quotas, list } of [MAIL_API, SMS_API]) {
      expect(refusal(await raw(quotas, '{'))).toEqual([400, 'malformed_json'])
      expect(refusal(await raw(quotas, '{}', { 'Content-Type': 'text/plain' }))).toEqual([
        415,
        'unsupported_media_type',
      ])
      expect(refusal(await raw(quotas, ' '.repeat(100_001)))).toEqual([413, 'payload_too_large'])
      expect(refusal(await app.delete(list))).toEqual([405, 'method_not_allowed'])
      expect(refusal(await app.get(`${list}?page=01`))).toEqual([400, 'validation_failed'])
    }
  })

  it('reads deflate in its zlib envelope alone', async () => {
    const bytes = deflateRawSync(JSON.stringify(newQuota(fresh())))
    const answer = await raw(QUOTAS, bytes, { 'Content-Encoding': 'deflate' })
    // RFC 9110 means the zlib envelope; a body without it is refused, never misread.
    expect(refusal(answer)).toEqual([400, 'malformed_json'])
  })
})
