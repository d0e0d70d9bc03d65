import { randomBytes } from 'node:crypto'
import { connect } from 'node:net'
import { setImmediate as turn } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import type { Response } from 'supertest'
import { DataSource } from 'typeorm'
import { Admission } from '../src/http/admission.js'
import { TestApp } from './support/app.js'
import { type ChannelApi, MAIL_API, otherThan, SMS_API } from './support/channel-api.js'
import { opened } from './support/opened.js'
import { type Body, bodyOf, brokenFields, fresh, ledgerOf, refusal, START, stopSweepers } from './support/quota-api.js'
import { onEveryStore } from './support/store.js'
import { contradictionsOf } from './support/verify.js'

const secret = (): string => randomBytes(32).toString('base64')
const SECRET = secret()
const VIEW = '/api/v1/view'
const END = '2027-01-01T00:00:00.000Z'
const DAY_MS = 86_400_000

onEveryStore('links of owners', (kind) => {
  let app: TestApp

  beforeAll(async () => {
    app = await TestApp.on(kind, { env: { LINK_SECRET: SECRET, PRINCIPAL_REQUESTS: '2' } })
    await stopSweepers(app)
  })

  afterEach(() => {
    app.clock.set(START)
  })

  afterAll(async () => {
    expect(await contradictionsOf(app)).toEqual([])
  })

  const linkPath = (api: ChannelApi, owner: number): string => `${api.quotas}/owners/${owner}/link`
  const make = (api: ChannelApi, owner: number, body: object = {}, at = app) => at.post(linkPath(api, owner), body)
  const tokenIn = (url: string): string => new URL(url).hash.slice(1)
  const linked = async (api: ChannelApi, owner: number, body?: object, at = app): Promise<string> =>
    tokenIn(bodyOf(201, await make(api, owner, body, at)).url)
  const open = (token: string, at = app): Promise<Response> =>
    at.get(VIEW, { as: undefined, headers: { Authorization: `Bearer ${token}` } })
  const seen = async (token: string): Promise<Body> => bodyOf(200, await open(token))
  const revoke = async (api: ChannelApi, owner: number, at = app): Promise<void> => {
    bodyOf(204, await at.post(`${api.quotas}/owners/${owner}/links/revoke`))
  }
  /** The answer of a link that does not open, without its request id. */
  const shut = async (token: string, at = app): Promise<unknown> => {
    const { status, body, headers } = await open(token, at)
    const { request_id: id, ...problem } = body
    expect(id).toBe(headers['x-request-id'])
    return [status, problem, headers['www-authenticate'], headers['cache-control'], headers['content-type']]
  }
  const SHUT = [
    401,
    expect.objectContaining({ code: 'unauthenticated', detail: 'the token is unknown or has expired' }),
    'Bearer realm="quota", error="invalid_token"',
    'no-store',
    'application/problem+json',
  ]

  describe.each([MAIL_API, SMS_API])('of $name', (api) => {
    const quota = async (body: object): Promise<Body> => bodyOf(201, await app.post(api.quotas, body))
    const own = (owner: number, more: object) =>
      quota({ [api.owner]: owner, quota_type: 1, total: 100, expire_at: END, ...more })
    const consume = (owner: number, amount: number) =>
      app.post(api.consume, { [api.owner]: owner, amount }, { key: `k-${fresh()}` })

    it('lead to the page at the address of the request, with the token in the fragment', async () => {
      const owner = fresh()
      const { url, expires_at: expiresAt, ...rest } = bodyOf(201, await make(api, owner))
      expect(rest).toEqual({})
      expect(url.startsWith(`${app.url}/view/#ql.${api.channel}.${owner}.`)).toBe(true)
      expect(expiresAt).toBe(new Date(Date.parse(START) + 30 * DAY_MS).toISOString())
      expect(bodyOf(201, await make(api, owner, { ttl_seconds: 60 })).expires_at).toBe('2026-11-21T12:01:00.000Z')
    })

    it('take a lifetime of a minute to a year, and nothing else', async () => {
      for (const ttl of [59, 31_536_001, 0, -1, 1.5, '60', null])
        expect(Object.keys(brokenFields(await make(api, 7, { ttl_seconds: ttl })))).toEqual(['ttl_seconds'])
      expect(Object.keys(brokenFields(await make(api, 7, { ttl: 60, colour: 1 })))).toEqual(['ttl', 'colour'])
      bodyOf(201, await make(api, 7, { ttl_seconds: 31_536_000 }))
      for (const id of ['0', '07', '-1', 'x', '9007199254740992'])
        expect((await app.post(`${api.quotas}/owners/${id}/link`, {})).status).toBe(400)
    })

    it('show an owner without quotas that it has none', async () => {
      const owner = fresh()
      const { days, ...view } = await seen(await linked(api, owner))
      expect(view).toEqual({
        [api.owner]: owner,
        available: 0,
        expires_at: '2026-12-21T12:00:00.000Z',
        limits: [],
        refusals: [],
      })
      expect(days).toHaveLength(31)
      expect([days[0], days[30]]).toEqual([
        { day: '2026-10-22T00:00:00.000Z', charged: 0 },
        { day: '2026-11-21T00:00:00.000Z', charged: 0 },
      ])
    })

    it('show what is left, what limits it, refusals by hour and usage by day', async () => {
      const owner = fresh()
      const payer = await own(owner, { label: 'Newsletter' })
      const cap = await quota({
        ...{ [api.owner]: owner, quota_type: 2, total: 30, cap: 'enforce' },
        ...{ cycle_unit: 'hour', cycle_reset_at: '2026-11-21T13:00:00.000Z' },
      })
      const disabled = await own(owner, { total: 7 })
      bodyOf(200, await app.put(`${api.quotas}/${disabled.id}`, { status: 'disabled' }))
      bodyOf(200, await consume(owner, 20))
      expect(refusal(await consume(owner, 11))).toEqual([409, 'quota_exceeded'])
      await ledgerOf(app, api).refusals.flush()
      const view = await seen(await linked(api, owner))
      expect(Object.keys(view)).toEqual([api.owner, 'available', 'expires_at', 'limits', 'refusals', 'days'])
      expect(view).toMatchObject({ [api.owner]: owner, available: 10 })
      expect(view.limits).toEqual([
        {
          ...{ id: payer.id, label: 'Newsletter', quota_type: 1, cap: null, total: 100, used: 20, remaining: 80 },
          ...{ refills_at: null, expire_at: END },
        },
        {
          ...{ id: cap.id, label: null, quota_type: 2, cap: 'enforce', total: 30, used: 20, remaining: 10 },
          ...{ refills_at: '2026-11-21T13:00:00.000Z', expire_at: null },
        },
      ])
      expect(view.refusals).toEqual([{ hour: START, code: 'quota_exceeded', count: 1 }])
      expect(view.days.at(-1)).toEqual({ day: '2026-11-21T00:00:00.000Z', charged: 20 })
    })

    it('show at most 20 refusals, the newest first', async () => {
      const owner = fresh()
      await own(owner, { total: 1, expire_at: '2028-01-01T00:00:00Z' })
      for (let hour = 0; hour < 22; hour += 1) {
        await consume(owner, 2)
        await ledgerOf(app, api).refusals.flush()
        app.clock.pass(3600)
      }
      const { refusals } = await seen(await linked(api, owner))
      expect(refusals).toHaveLength(20)
      expect([refusals[0].hour, refusals[19].hour]).toEqual(['2026-11-22T09:00:00.000Z', '2026-11-21T14:00:00.000Z'])
    })

    it('show of shared quotas what this owner may still take, and no counters', async () => {
      const [owner, other] = [fresh(), fresh()]
      const { id: group_id } = bodyOf(201, await app.post(`${api.quotas}/groups`, { name: `group ${fresh()}` }))
      bodyOf(200, await app.post(`${api.quotas}/groups/${group_id}/members`, { [`${api.owner}s`]: [owner, other] }))
      const ofGroup = (more: object) => quota({ group_id, quota_type: 1, expire_at: END, ...more })
      await ofGroup({ total: 1000, label: 'everybody' })
      await ofGroup({ total: 50, per: 'member', cap: 'enforce', label: 'each' })
      bodyOf(200, await consume(other, 30))
      const { available, limits } = await seen(await linked(api, owner))
      expect(available).toBe(50)
      const plain = { quota_type: 1, refills_at: null, expire_at: END }
      expect(limits).toEqual([
        { ...plain, id: null, label: 'everybody', cap: null, total: null, used: null, remaining: 50 },
        { ...plain, id: null, label: 'each', cap: 'enforce', total: 50, used: 0, remaining: 50 },
      ])
      bodyOf(200, await consume(owner, 1))
      const [, each] = (await seen(await linked(api, owner))).limits
      expect(each).toMatchObject({ id: expect.any(Number), total: 50, used: 1, remaining: 49 })
      // Whatever end its count has of its own.
      bodyOf(200, await app.put(`${api.quotas}/${each.id}`, { expire_at: '2099-01-01T00:00:00Z' }))
      expect((await seen(await linked(api, owner))).limits).toMatchObject([{}, { id: each.id, expire_at: END }])
    })

    it('do not open once expired, at the very millisecond', async () => {
      const token = await linked(api, fresh(), { ttl_seconds: 60 })
      app.clock.set('2026-11-21T12:00:59.999Z')
      await seen(token)
      app.clock.set('2026-11-21T12:01:00.000Z')
      expect(await shut(token)).toEqual(SHUT)
    })

    it('are ended by revoking: those made before it, of this owner and channel', async () => {
      const [owner, other] = [fresh(), fresh()]
      const [one, two] = [await linked(api, owner), await linked(api, owner, { ttl_seconds: 60 })]
      const kept = [await linked(api, other), await linked(otherThan(api), owner)]
      await revoke(api, owner)
      expect([await shut(one), await shut(two)]).toEqual([SHUT, SHUT])
      for (const token of kept) await seen(token)
      // In the same millisecond of the clock.
      const later = await linked(api, owner)
      expect((await seen(later))[api.owner]).toBe(owner)
      await revoke(api, owner)
      expect([await shut(one), await shut(later)]).toEqual([SHUT, SHUT])
    })

    it('are ended for other instances, and after a restart', async () => {
      const owner = fresh()
      await own(owner, {})
      const [before, kept] = [await linked(api, owner), await linked(api, fresh())]
      await revoke(api, owner)
      const again = await TestApp.start(app.store, { env: { LINK_SECRET: SECRET }, clock: app.clock })
      expect(await shut(before, again)).toEqual(SHUT)
      expect((await open(kept, again)).status).toBe(200)
      const later = await linked(api, owner, {}, again)
      await seen(later)
      await again.stop()
    })

    it.each(['consume', 'revoke'])('stay revoked if the lock row is lost, and made again by a %s', async (how) => {
      const owner = fresh()
      await own(owner, {})
      const first = await linked(api, owner)
      await revoke(api, owner)
      const second = await linked(api, owner)
      await revoke(api, owner)
      await app.app.get(DataSource).query(`DELETE FROM ${api.channel}_owner WHERE owner_id = ${owner}`)
      await (how === 'revoke' ? revoke(api, owner) : consume(owner, 1))
      expect([await shut(first), await shut(second)]).toEqual([SHUT, SHUT])
      await seen(await linked(api, owner))
    })

    it('leave an owner without quotas out of the list of owners, also once revoked', async () => {
      const owner = fresh()
      await revoke(api, owner)
      const { items } = bodyOf(200, await app.get(`${api.quotas}/owners?after=${owner - 1}&page_size=1`))
      expect(items.map((item: Body) => item[api.owner])).not.toContain(owner)
    })

    it('do not open with anything changed', async () => {
      const owner = fresh()
      const token = await linked(api, owner)
      const [prefix, channel, id, expiry, generation, signature = ''] = token.split('.')
      const other = tokenIn(bodyOf(201, await make(otherThan(api), owner)).url)
      const foreign = await linked(api, owner + 1)
      await revoke(api, owner + 1)
      const parts = (...changed: unknown[]): string => changed.join('.')
      const table: Record<string, string> = {
        'another channel': parts(prefix, otherThan(api).channel, id, expiry, generation, signature),
        'an unknown channel': parts(prefix, 'fax', id, expiry, generation, signature),
        'another owner': parts(prefix, channel, owner + 1, expiry, generation, signature),
        'a later expiry': parts(prefix, channel, id, Number(expiry) + 1, generation, signature),
        'an earlier expiry': parts(prefix, channel, id, Number(expiry) - 1, generation, signature),
        'no expiry': parts(prefix, channel, id, '', generation, signature),
        'another generation': parts(prefix, channel, id, expiry, Number(generation) + 1, signature),
        "another link's signature": parts(prefix, channel, id, expiry, generation, foreign.split('.')[5]),
        "the other channel's signature": parts(prefix, channel, id, expiry, generation, other.split('.')[5]),
        'an empty signature': parts(prefix, channel, id, expiry, generation, ''),
        'no signature': parts(prefix, channel, id, expiry, generation),
        'a signature cut short': token.slice(0, -1),
        'a letter more': `${token}A`,
        padding: `${token}=`,
        'a leading zero': parts(prefix, channel, `0${id}`, expiry, generation, signature),
        'another case': token.toUpperCase(),
        'a zero more': parts(prefix, channel, id, `${expiry}0`, generation, signature),
        'a revoked link': foreign,
        'a JWT': 'eyJhbGciOiJub25lIn0.eyJzdWIiOiI3In0.',
        rubbish: 'x'.repeat(2000),
      }
      // Of every byte: its neighbour, and of the last one those that decode to the same bytes.
      for (let at = 0; at < token.length; at += 1)
        table[`byte ${at}`] = token.slice(0, at) + String.fromCharCode(token.charCodeAt(at) ^ 1) + token.slice(at + 1)
      for (const last of 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_')
        if (!token.endsWith(last)) table[`the end ${last}`] = token.slice(0, -1) + last
      await seen(token)
      const answers = await Promise.all(
        Object.entries(table).map(async ([what, tampered]) => [what, (await open(tampered)).text]),
      )
      const opened = answers.filter(([, text]) => !String(text).includes('"code":"unauthenticated"'))
      expect(opened).toEqual([])
      for (const what of ['another owner', 'a revoked link', 'rubbish']) expect(await shut(table[what]!)).toEqual(SHUT)
      await seen(token)
    })
  })

  it('are taken from the Authorization header alone, before anything else is looked at', async () => {
    const token = await linked(MAIL_API, 7)
    for (const query of [`?access_token=${token}`, `?token=${token}`, '?nonsense=1'])
      expect(refusal(await app.get(`${VIEW}${query}`, { as: undefined }))).toEqual([401, 'unauthenticated'])
    const twice = { Authorization: `Bearer ${token}`, 'Content-Type': 'text/plain' }
    await revoke(MAIL_API, 7)
    expect((await app.send('get', `${VIEW}?nonsense=1`, { as: undefined, headers: twice, body: '{' })).status).toBe(401)
    const good = { Authorization: `Bearer ${await linked(MAIL_API, 7)}` }
    expect(refusal(await app.get(`${VIEW}?nonsense=1`, { as: undefined, headers: good }))[0]).toBe(400)
    expect(refusal(await app.post(VIEW, {}, { as: undefined, headers: good }))).toEqual([401, 'unauthenticated'])
  })

  it('are signed by the first secret, and open by both; so a secret can be replaced', async () => {
    const [first, second] = [secret(), secret()]
    const instance = (linkSecret: string) =>
      TestApp.start(app.store, { env: { LINK_SECRET: linkSecret }, clock: app.clock })
    const [old, both, young] = [await instance(first), await instance(`${second}, ${first}`), await instance(second)]
    const [before, during] = [await linked(MAIL_API, 7, {}, old), await linked(MAIL_API, 7, {}, both)]
    const opens = async (token: string) =>
      Promise.all([old, both, young].map(async (at) => (await open(token, at)).status))
    expect(await opens(before)).toEqual([200, 200, 401])
    expect(await opens(during)).toEqual([401, 200, 200])
    expect(await shut(before, young)).toEqual(SHUT)
    for (const at of [old, both, young]) await at.stop()
  })

  it('do not exist without a secret', async () => {
    const token = await linked(MAIL_API, 7)
    const off = await TestApp.start(app.store, { clock: app.clock })
    for (const api of [MAIL_API, SMS_API]) {
      expect(refusal(await make(api, 7, { nonsense: 1 }, off))).toEqual([404, 'route_not_found'])
      expect(refusal(await off.post(`${api.quotas}/owners/7/links/revoke`))).toEqual([404, 'route_not_found'])
    }
    expect(refusal(await off.post(linkPath(MAIL_API, 7), {}, { as: undefined }))).toEqual([401, 'unauthenticated'])
    expect(await shut(token, off)).toEqual(SHUT)
    await off.stop()
  })

  it('lead to PUBLIC_URL where it is set, or to what a trusted proxy says', async () => {
    const url = async (env: Record<string, string>, headers: Record<string, string>) => {
      const at = await TestApp.start(app.store, { env: { LINK_SECRET: SECRET, ...env }, clock: app.clock })
      const answer = await at.send('post', linkPath(MAIL_API, 7), { headers, body: {} })
      await at.stop()
      return answer.body.url?.replace(/#.*/, '') ?? answer.body.errors
    }
    const forwarded = { Host: 'inner:3000', 'X-Forwarded-Proto': 'https', 'X-Forwarded-Host': 'quota.example' }
    expect(await url({ PUBLIC_URL: 'https://q.example/quota/' }, forwarded)).toBe('https://q.example/quota/view/')
    expect(await url({ TRUST_PROXY: 'loopback' }, forwarded)).toBe('https://quota.example/view/')
    expect(await url({}, forwarded)).toBe('http://inner:3000/view/')
    const odd = { ...forwarded, 'X-Forwarded-Host': 'a@evil.example' }
    expect(await url({ TRUST_PROXY: 'loopback' }, odd)).toEqual([expect.objectContaining({ field: 'Host' })])
  })

  it('take turns by owner: whoever opens many at once waits, and the others do not', async () => {
    const [many, other] = [await linked(MAIL_API, fresh()), await linked(MAIL_API, fresh())]
    const { port, hostname } = new URL(app.url)
    const unfinished = [1, 2].map(() => {
      const socket = connect(Number(port), hostname)
      opened(async () => {
        socket.destroy()
      })
      socket.write(`GET ${VIEW} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${many}\r\n`)
      socket.write('Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{')
      return socket
    })
    const inHand = () =>
      app.app
        .get(Admission)
        .inHand()
        .find(({ principal }) => principal === 'link')
    while (inHand()?.requests !== 2) await turn()
    const third = open(many)
    // Supertest sends a request when it is awaited.
    const answered = Promise.resolve(third)
    while (inHand()?.waiting !== 1) await turn()
    expect((await open(other)).status).toBe(200)
    expect(inHand()).toMatchObject({ requests: 2, waiting: 1 })
    for (const socket of unfinished) socket.end('}')
    expect((await answered).status).toBe(200)
  })
})
