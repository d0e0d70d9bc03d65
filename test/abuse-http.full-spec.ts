import { setTimeout as sleep } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import { figure } from './support/figures.js'
import { ADMIN, Instance } from './support/instance.js'
import { RawClient, type RawAnswer } from './support/raw-client.js'
import { type Store, STORES } from './support/store.js'
import { cycleQuota, MAIL, tally, times, totalQuota } from './support/wire.js'

/** Within which a refusal comes that waits for nothing; the slowest machine needs a tenth. */
const AT_ONCE_MS = 3_000
const AUTHORIZED = `Authorization: Bearer ${ADMIN}\r\n`
const JSON_TYPE = 'Content-Type: application/json\r\n'
/** A body that never comes. */
const LATER = `${JSON_TYPE}Content-Length: 90000\r\n`

const MAX_CONNECTIONS = 20

describe('abuse of HTTP', () => {
  let store: Store
  let instance: Instance
  let port: number
  const open: RawClient[] = []

  beforeAll(async () => {
    store = await STORES[0]!.open()
    instance = await Instance.start(store.url, {
      LOG_LEVEL: 'info',
      MAX_CONNECTIONS: String(MAX_CONNECTIONS),
      REQUEST_TIMEOUT_SECONDS: '2',
    })
    port = Number(new URL(instance.url).port)
  })

  afterEach(() => {
    for (const one of open.splice(0)) one.destroy()
  })

  const raw = async (bytes?: string | Buffer): Promise<RawClient> => {
    const one = await RawClient.open(port)
    open.push(one)
    return bytes === undefined ? one : one.write(bytes)
  }

  const request = (method: string, path: string, headers = '', body = '') =>
    `${method} ${path} HTTP/1.1\r\nHost: a\r\n${headers}\r\n${body}`

  const problem = ({ status, headers, body }: RawAnswer) => {
    expect(headers['content-type']).toBe('application/problem+json')
    const { code, request_id } = JSON.parse(body) as { code: string; request_id: string }
    expect(request_id).toBe(headers['x-request-id'])
    expect(headers['cache-control']).toBe('no-store')
    return [status, code]
  }

  const metric = async (line: string): Promise<number> => {
    // On a connection of its own: the client's may have had to make room.
    const [answer] = await (await raw(request('GET', '/metrics', `${AUTHORIZED}Connection: close\r\n`))).heard()
    return Number(
      answer!.body
        .split('\n')
        .find((one) => one.startsWith(line))
        ?.split(' ')
        .at(-1) ?? 0,
    )
  }

  describe('the form of a request', () => {
    // Each is as long as a head may be; the first one kept the event loop for minutes.
    const LONG = 15_000
    it.each([
      ['blanks in a parameter of the media type', `Content-Type: application/json;a=${' '.repeat(LONG)}"x"y`],
      ['semicolons in the media type', `Content-Type: application/json${';'.repeat(LONG)}`],
      ['backslashes in a quoted parameter', `Content-Type: application/json;a="${'\\"'.repeat(LONG / 2)}`],
      ['parameters of the media type', `Content-Type: application/json${';a=b'.repeat(LONG / 4)}`],
      ['blanks in the coding', `Content-Encoding: x${' '.repeat(LONG)}x`],
      ['blanks in Authorization', `Authorization: Bearer${' '.repeat(LONG)}x`],
      ['words in Authorization', `Authorization: ${'Bearer '.repeat(LONG / 7)}`],
      ['a long request id', `X-Request-Id: ${'a'.repeat(LONG)} `],
      ['a long key', `Idempotency-Key: ${'a'.repeat(LONG)}\u0001`],
      ['a long host', `X: y\r\nHost: ${'a.'.repeat(LONG / 2)}:1:1`],
      ['addresses in X-Forwarded-For', `X-Forwarded-For: ${'127.0.0.1,'.repeat(LONG / 10)}`],
      ['blanks in X-Forwarded-For', `X-Forwarded-For: ${' '.repeat(LONG)}x`],
      ['expectations', `Expect: ${'100-continu,'.repeat(LONG / 12)}`],
      ['origins', `Origin: ${'https://a.'.repeat(LONG / 10)}`],
      ['2,000 headers', 'A: b\r\n'.repeat(2_000).trimEnd()],
    ])('is read in time that grows with its length alone: %s', async (what, headers) => {
      const took = []
      for (const [method, path, access] of [
        ['GET', '/health/live', ''],
        ['POST', `${MAIL.usage}/consume`, AUTHORIZED],
      ] as const) {
        const type = headers.startsWith('Content-Type') ? '' : JSON_TYPE
        const one = await raw(request(method, path, `${access}${type}${headers}\r\nContent-Length: 2\r\n`, '{}'))
        expect((await one.heard())[0]!.status).toBeGreaterThanOrEqual(400)
        took.push(Math.round(one.age))
      }
      figure(`16 kB of ${what}`, { ms: took.join(' ') })
      expect(Math.max(...took)).toBeLessThan(AT_ONCE_MS)
    })

    it.each([
      ['slashes', '/'.repeat(LONG)],
      ['segments', '/a'.repeat(LONG / 2)],
      ['dots', `/api/v1/quotas/${'../'.repeat(LONG / 3)}`],
      ['an encoded identifier', `${MAIL.quotas}/${'%31'.repeat(LONG / 3)}`],
      ['bytes that are not UTF-8', `${MAIL.quotas}/${'%ff'.repeat(LONG / 3)}`],
      ['parameters', `${MAIL.quotas}?${'a&'.repeat(LONG / 2)}`],
      ['parameters with a name each', `${MAIL.quotas}?${times(2_800).join('&')}`],
      ['parameters that are no UTF-8', `${MAIL.quotas}?${'%ff&'.repeat(LONG / 4)}`],
      ['a repeated parameter', `${MAIL.quotas}?${'status=&'.repeat(LONG / 8)}`],
      ['a long number', `${MAIL.quotas}?account_id=${'1'.repeat(LONG)}`],
      ['a long time', `${MAIL.usage}?account_id=1&before=${'1'.repeat(LONG)}`],
    ])('is read in time that grows with its length alone: a path of %s', async (what, path) => {
      const one = await raw(request('GET', path, AUTHORIZED))
      expect((await one.heard())[0]!.status).toBeGreaterThanOrEqual(400)
      figure(`16 kB of ${what} in a path`, { ms: Math.round(one.age) })
      expect(one.age).toBeLessThan(AT_ONCE_MS)
    })

    it.each([
      ['no Host', 'GET /health/live HTTP/1.1\r\n\r\n'],
      ['two Hosts', 'GET /health/live HTTP/1.1\r\nHost: a\r\nhost: a\r\n\r\n'],
      ['an empty Host', 'GET /health/live HTTP/1.1\r\nHost:\r\n\r\n'],
      ['a Host with a path', 'GET /health/live HTTP/1.1\r\nHost: a/b\r\n\r\n'],
      ['a Host with a user', 'GET /health/live HTTP/1.1\r\nHost: u@a\r\n\r\n'],
      ['two hosts in one', 'GET /health/live HTTP/1.1\r\nHost: a, b\r\n\r\n'],
      ['a Host with a broken port', 'GET /health/live HTTP/1.1\r\nHost: a:port\r\n\r\n'],
      ['a Host with a broken address', 'GET /health/live HTTP/1.1\r\nHost: [::1\r\n\r\n'],
      ['a coding that is not known', request('POST', MAIL.quotas, 'Transfer-Encoding: gzip, chunked\r\n', '0\r\n\r\n')],
      ['a coding that is none', request('POST', MAIL.quotas, 'Transfer-Encoding: nothing\r\n', '0\r\n\r\n')],
      ['chunks after chunks', request('POST', MAIL.quotas, 'Transfer-Encoding: chunked, chunked\r\n', '0\r\n\r\n')],
      ['two lengths', request('POST', MAIL.quotas, 'Content-Length: 2\r\nContent-Length: 3\r\n', '{}')],
      [
        'a length and chunks',
        request('POST', MAIL.quotas, 'Content-Length: 2\r\nTransfer-Encoding: chunked\r\n', '0\r\n\r\n'),
      ],
      ['chunks in HTTP/1.0', 'POST /api/v1/quotas HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n'],
      ['noise', 'NOISE\r\n\r\n'],
      ['a head that is too large', request('GET', '/health/live', `X: ${'x'.repeat(20_000)}\r\n`)],
      ['CONNECT', 'CONNECT a:443 HTTP/1.1\r\nHost: a\r\n\r\n'],
      ['a URL whose address is broken', request('GET', 'http://[a/')],
      ['a URL whose host is none', request('GET', 'http://xn--a/health/live')],
      ['a URL without a path', request('GET', 'quota://a')],
      ['a URL without a host', request('GET', 'http://?a=b')],
    ])('is refused with 400: %s', async (_what, bytes) => {
      const [answer] = await (await raw(bytes)).heard()
      expect(problem(answer!)).toEqual([400, 'validation_failed'])
      // And the process goes on.
      expect((await (await raw(request('GET', 'http://a/health/live'))).heard())[0]!.status).toBe(200)
    })

    it.each(['a', 'A.example:3000', '127.0.0.1', '[::1]:3000', 'quota_service', 'xn--bcher-kva.example.', 'a:'])(
      'takes the Host %s',
      async (host) => {
        const one = await raw(`GET /health/live HTTP/1.1\r\nHost: ${host}\r\n\r\n`)
        expect((await one.heard())[0]!.status).toBe(200)
      },
    )
  })

  describe('a body that is not wanted', () => {
    it.each([
      ['without a token', 401, request('POST', MAIL.quotas, LATER)],
      ['without a token, in chunks', 401, request('POST', MAIL.quotas, `${JSON_TYPE}Transfer-Encoding: chunked\r\n`)],
      ['on a path that is no route', 404, request('POST', '/nowhere', AUTHORIZED + LATER)],
      ['with a method that is not taken', 405, request('PATCH', MAIL.quotas, AUTHORIZED + LATER)],
      [
        'in another form',
        415,
        request('POST', MAIL.quotas, `${AUTHORIZED}Content-Type: text/plain\r\nContent-Length: 9\r\n`),
      ],
      [
        'that says it is too large',
        413,
        request('POST', MAIL.quotas, `${AUTHORIZED}${JSON_TYPE}Content-Length: 100001\r\n`),
      ],
      ['on a public route', 400, request('GET', '/health/live', LATER)],
      [
        'on a public route, in chunks',
        400,
        request('GET', '/health/ready', `${JSON_TYPE}Transfer-Encoding: chunked\r\n`),
      ],
      ['on a route that may be opened', 400, request('GET', '/metrics', AUTHORIZED + LATER)],
      [
        'that is large, on a route that takes none',
        400,
        request('POST', `${MAIL.quotas}/1/restore`, AUTHORIZED + LATER),
      ],
      ['without a Host', 400, `POST ${MAIL.quotas} HTTP/1.1\r\n${LATER}\r\n`],
    ])('is not waited for: %s', async (_what, status, bytes) => {
      const one = await raw(bytes)
      const [answer] = await one.heard()
      expect(one.age).toBeLessThan(AT_ONCE_MS)
      expect([answer!.status, answer!.headers['connection']]).toEqual([status, 'close'])
      problem(answer!)
      await one.end()
    })

    it('is not read once it is too large, or if the head says that no such body is accepted', async () => {
      const head = `${AUTHORIZED}${JSON_TYPE}Transfer-Encoding: chunked\r\n`
      const chunk = `186a0\r\n${' '.repeat(100_000)}\r\n`
      const large = await raw(request('POST', MAIL.quotas, head, `${chunk}1\r\n \r\n`))
      const without = await raw(request('DELETE', `${MAIL.quotas}/1`, head, chunk))
      expect(problem((await large.heard())[0]!)).toEqual([413, 'payload_too_large'])
      expect(problem((await without.heard())[0]!)).toEqual([400, 'validation_failed'])
      for (const one of [large, without]) {
        expect(one.age).toBeLessThan(AT_ONCE_MS)
        await one.end()
      }
    })

    it('is not requested with 100 Continue, and an accepted one is', async () => {
      const expecting = `${JSON_TYPE}Content-Length: 2\r\nExpect: 100-continue\r\n`
      const unwanted = await raw(request('POST', MAIL.quotas, expecting))
      expect((await unwanted.heard()).map(({ status }) => status)).toEqual([401])
      const wanted = await raw(request('POST', MAIL.quotas, AUTHORIZED + expecting))
      await wanted.heard()
      wanted.write('{}')
      expect((await wanted.heard(2)).map(({ status }) => status)).toEqual([100, 400])
    })

    it('does not prevent its sender from reading the answer', async () => {
      // More than the buffers of the system hold, so that it is still being sent when the answer is there.
      const body = Buffer.alloc(8_000_000, ' ')
      for (const _round of times(5)) {
        const head = request('POST', MAIL.quotas, `${JSON_TYPE}Content-Length: ${body.length}\r\n`)
        const one = await raw(Buffer.concat([Buffer.from(head), body]))
        expect(problem((await one.heard())[0]!)).toEqual([401, 'unauthenticated'])
      }
    })

    it('is accepted if it is an empty object', async () => {
      const made = await instance.post(MAIL.quotas, cycleQuota(MAIL, 1, 10))
      const { id } = JSON.parse(made.text) as { id: number }
      expect((await instance.post(`${MAIL.quotas}/${id}/restore`, {})).status).toBe(200)
      expect((await instance.send('DELETE', `${MAIL.quotas}/${id}`, { body: {} })).status).toBe(204)
    })
  })

  describe('a slow sender', () => {
    it.each([
      ['of a head', `GET /health/live HTTP/1.1\r\nHost: a\r\nX: `],
      ['of a body', request('POST', MAIL.quotas, AUTHORIZED + LATER, '{"account_id":')],
      [
        'of chunks',
        request('POST', MAIL.quotas, `${AUTHORIZED}${JSON_TYPE}Transfer-Encoding: chunked\r\n`, '1\r\n{\r\n'),
      ],
      [
        'of what is compressed',
        request('POST', MAIL.quotas, `${AUTHORIZED}${LATER}Content-Encoding: gzip\r\n`) +
          gzipSync(JSON.stringify(totalQuota(MAIL, 1, 1)))
            .subarray(0, 30)
            .toString('latin1'),
      ],
    ])('is told that it took too long: %s', async (_what, bytes) => {
      const one = await raw(bytes)
      // Something comes all the time, so that the connection is never idle.
      const drip = setInterval(() => !one.closed && one.write('a'), 300)
      const [answer] = await one.heard()
      clearInterval(drip)
      expect(problem(answer!)).toEqual([400, 'validation_failed'])
      expect(JSON.parse(answer!.body).detail).toBe('the request did not arrive in time')
      expect(answer!.headers['connection']).toBe('close')
      await one.end()
    })
  })

  describe('pipelined requests on one connection', () => {
    it('are answered one after the other, in order', async () => {
      const count = 300
      const one = await raw(
        times(count)
          .map((n) => request('GET', '/health/live', `X-Request-Id: r-${n}\r\n`))
          .join(''),
      )
      const answers = await one.heard(count)
      expect(answers.map(({ headers }) => headers['x-request-id'])).toEqual(times(count).map((n) => `r-${n}`))
    })

    it('with bodies are answered in order too', async () => {
      const one = await raw(
        times(40)
          .map((n) => {
            const body = JSON.stringify(totalQuota(MAIL, 50 + n, n)).padEnd(n % 2 === 0 ? 9_000 : 0)
            return request('POST', MAIL.quotas, `${AUTHORIZED}${JSON_TYPE}Content-Length: ${body.length}\r\n`, body)
          })
          .join(''),
      )
      const answers = await one.heard(40)
      expect(answers.map(({ status, body }) => [status, JSON.parse(body).total])).toEqual(
        times(40).map((n) => [201, n]),
      )
    })

    it('are answered before the invalid request behind them', async () => {
      const body = JSON.stringify(totalQuota(MAIL, 2, 7))
      const good = request('POST', MAIL.quotas, `${AUTHORIZED}${JSON_TYPE}Content-Length: ${body.length}\r\n`, body)
      const answers = await (await raw(`${good}${good}NOISE\r\n\r\n`)).heard(3)
      expect(answers.map(({ status }) => status)).toEqual([201, 201, 400])
    })

    it('are not processed behind one that ends the connection', async () => {
      const body = JSON.stringify(totalQuota(MAIL, 3, 7))
      const good = request('POST', MAIL.quotas, `${AUTHORIZED}${JSON_TYPE}Content-Length: ${body.length}\r\n`, body)
      const bad = request('POST', MAIL.quotas, `${JSON_TYPE}Content-Length: ${body.length}\r\n`, body)
      const one = await (await raw(`${good}${bad}${good}${good}`)).end()
      expect(one.answers.map(({ status }) => status)).toEqual([201, 401])
      const { text } = await instance.get(`${MAIL.quotas}?account_id=3`)
      expect(JSON.parse(text).total).toBe(1)
    })

    it('are all answered, however long the first takes: what the service does not read is not late', async () => {
      // More than the service reads at once: the head of a request arrives in part, and the rest after the pause.
      const ahead = 40
      const one = (await raw()).pause()
      one.write(request('GET', '/openapi.json', `${AUTHORIZED}X-Padding: ${'p'.repeat(4_000)}\r\n`).repeat(ahead))
      // Longer than a request may take to arrive, with two checks for late ones.
      await sleep(4_500)
      one.resume()
      expect(tally((await one.heardOrEnded(ahead)).map(({ status }) => status))).toEqual({ 200: ahead })
    })

    it('end the connection if too many wait on all connections together', async () => {
      const ahead = 1_500
      const flood = request('GET', MAIL.quotas).repeat(ahead)
      const counted = async (): Promise<number> => metric('http_connections_broken_off_total{why="ahead"}')
      const before = await counted()
      const many = await Promise.all(times(12).map(async () => raw()))
      for (const one of many) one.write(flood)
      await Promise.all(many.map(async (one) => one.heardOrEnded(ahead)))
      const kept = many.filter(({ answers }) => answers.length === ahead)
      const cut = many.filter(({ closed }) => closed)
      expect(kept.length).toBeGreaterThan(0)
      expect(cut.length).toBeGreaterThan(0)
      expect(kept.length + cut.length).toBe(many.length)
      for (const { answers } of many) expect(answers.filter(({ status }) => status !== 401)).toEqual([])
      expect((await counted()) - before).toBe(cut.length)
      // Whoever was not read from for a while is again.
      expect((await (await raw(request('GET', '/health/ready'))).heard())[0]!.status).toBe(200)
    })
  })

  describe('connections', () => {
    it('that are idle make room for others', async () => {
      const idle = await Promise.all(times(3 * MAX_CONNECTIONS).map(async () => raw()))
      expect((await (await raw(request('GET', '/health/ready'))).heard())[0]!.status).toBe(200)
      expect(idle.filter(({ closed }) => closed).length).toBeGreaterThanOrEqual(2 * MAX_CONNECTIONS)
      expect(await metric('http_connections_shed_total{how="evicted"}')).toBeGreaterThanOrEqual(2 * MAX_CONNECTIONS)
    })

    it('that are idle make room, first those of the flow with most of them', async () => {
      const call = request('GET', `${MAIL.quotas}?account_id=1`, AUTHORIZED)
      const known = await raw(call)
      await known.heard()
      // It is older than all of these, and none of them is known.
      for (const _round of times(3)) {
        await Promise.all(times(MAX_CONNECTIONS).map(async () => raw()))
        known.write(call)
        expect((await known.heard(known.answers.length + 1)).at(-1)!.status).toBe(200)
      }
      // Nor does who is known lock others out.
      const own = await Promise.all(times(2 * MAX_CONNECTIONS).map(async () => raw(call)))
      await Promise.all(own.map(async (one) => one.heardOrEnded(1)))
      expect((await (await raw(request('GET', '/health/ready'))).heard())[0]!.status).toBe(200)
    })

    it('that wait for a body make room for others', async () => {
      const little = `${JSON_TYPE}Content-Length: 9\r\nExpect: 100-continue\r\n`
      const waiting = request('POST', MAIL.quotas, AUTHORIZED + little)
      for (const _one of times(MAX_CONNECTIONS)) {
        // It is being worked when its body is asked for.
        expect((await (await raw(waiting)).heard())[0]!.status).toBe(100)
      }
      for (const _one of times(3)) {
        expect((await (await raw(request('GET', '/health/live'))).heard())[0]!.status).toBe(200)
      }
    })

    it('whose answers are not read make room for others', async () => {
      // Together more than the system takes for one connection.
      const flood = request('GET', '/openapi.json', AUTHORIZED).repeat(20)
      for (const _one of times(MAX_CONNECTIONS)) (await raw()).pause().write(flood)
      await sleep(1_000)
      for (const _one of times(3)) {
        expect((await (await raw(request('GET', '/health/live'))).heard())[0]!.status).toBe(200)
      }
    })
  })

  describe("a share of a principal's requests in progress", () => {
    it('is given back by a request whose chunks are invalid from the first packet on', async () => {
      const head = `${AUTHORIZED}${JSON_TYPE}Transfer-Encoding: chunked\r\n`
      for (const _round of times(10)) {
        // In all more than PRINCIPAL_BODY_BYTES.
        await Promise.all(
          times(10).map(async () => {
            const one = await raw(request('POST', `${MAIL.usage}/consume`, head, 'ZZ\r\n'))
            expect(problem((await one.heard())[0]!)).toEqual([400, 'validation_failed'])
            one.destroy()
          }),
        )
      }
      // The scrape itself.
      expect(await metric('http_principal_requests{principal="admin",state="working"}')).toBe(1)
      expect((await instance.post(MAIL.quotas, totalQuota(MAIL, 4, 1))).status).toBe(201)
    })
  })

  describe('the log', () => {
    let other: Instance
    const lines = () =>
      other.log
        .split('\n')
        // The last one may still be being written.
        .slice(0, -1)
        .filter((line) => line.startsWith('{'))
        .map((line) => JSON.parse(line) as Record<string, unknown>)
    const told = async (match: Record<string, unknown>) => {
      const fits = (line: Record<string, unknown>) =>
        Object.entries(match).every(([name, value]) => line[name] === value)
      while (!lines().some(fits)) await sleep(10)
      return lines().find(fits)!
    }

    beforeAll(async () => {
      other = await Instance.start(store.url, { LOG_LEVEL: 'info', TRUST_PROXY: 'loopback' })
      port = Number(new URL(other.url).port)
    })

    afterAll(async () => {
      port = Number(new URL(instance.url).port)
    })

    it('stops nobody while it is not read', async () => {
      other.readLog(false)
      try {
        // Some megabytes of lines: more than the system takes of them.
        const flood = request('GET', MAIL.quotas, `X-Request-Id: ${'r'.repeat(128)}\r\n`)
        for (const _round of times(4)) expect(await (await raw(flood.repeat(3_000))).heard(3_000)).toHaveLength(3_000)
      } finally {
        other.readLog(true)
      }
      expect((await (await raw(request('GET', '/health/ready'))).heard())[0]!.status).toBe(200)
    })

    it('names the sender of invalid requests, at a limited rate', async () => {
      for (const _one of times(5)) await (await raw('qs_admin_secret\r\n\r\n')).heard()
      await told({
        context: 'Connections',
        level: 'warn',
        message: 'a connection was closed: not_http; from 127.0.0.1',
      })
      expect(lines().filter(({ context }) => context === 'Connections')).toHaveLength(1)
      expect(await metric('http_connections_broken_off_total{why="not_http"}')).toBe(5)
    })

    it('contains a caller’s address, and nothing that a caller can write', async () => {
      const headers = 'X-Forwarded-For: 203.0.113.9\r\nAuthorization: Bearer qs_admin_secret\r\nX-Request-Id: r-401\r\n'
      await (await raw(request('GET', `${MAIL.quotas}?token=qs_admin_secret`, headers))).heard()
      expect(await told({ request_id: 'r-401' })).toMatchObject({ status: 401, client: '203.0.113.9' })
      const known = `${AUTHORIZED}X-Forwarded-For: qs_admin_secret\r\nX-Request-Id: r-200\r\n`
      await (await raw(request('GET', MAIL.quotas, known))).heard()
      expect(await told({ request_id: 'r-200' })).toMatchObject({
        status: 200,
        client: '127.0.0.1',
        principal: 'admin',
      })
      expect(other.log).not.toContain('secret')
      expect(other.log).not.toContain(ADMIN)
    })
  })

  describe('the end', () => {
    const LOG = { LOG_LEVEL: 'info' }
    let ending: Instance

    afterAll(() => {
      port = Number(new URL(instance.url).port)
    })

    const start = async (env: Record<string, string>) => {
      ending = await Instance.start(store.url, { ...LOG, ...env })
      port = Number(new URL(ending.url).port)
    }

    it('counts no request whose connection broke', async () => {
      await start({})
      const flood = request('GET', MAIL.quotas).repeat(3_000)
      for (const _round of times(5)) {
        const one = await raw(flood)
        await one.heard(10)
        one.destroy()
      }
      await sleep(500)
      expect(await ending.terminate()).toBe(0)
      expect(ending.log).toContain('SIGTERM: shutting down, 0 requests in progress')
      // The last line of the log was not lost with the process that gathered it.
      while (!ending.log.includes('"message":"shut down"')) await sleep(10)
    })

    it('refuses new requests with their route, distinguished from other faults', async () => {
      await start({ SHUTDOWN_DELAY_SECONDS: '5' })
      const ended = ending.terminate()
      while (!ending.log.includes('SIGTERM')) await sleep(10)
      const refused = await Promise.all(
        [
          request('GET', '/health/ready'),
          request('GET', `${MAIL.quotas}/7`, AUTHORIZED),
          request('GET', `${MAIL.quotas}/7`),
          request('POST', `${MAIL.usage}/consume`, AUTHORIZED + LATER),
        ].map(async (bytes) => (await (await raw(bytes)).heard())[0]!),
      )
      for (const answer of refused) {
        expect(problem(answer)).toEqual([503, 'unavailable'])
        expect([answer.headers['connection'], answer.headers['retry-after']]).toEqual(['close', '1'])
      }
      expect((await (await raw(request('GET', '/health/live'))).heard())[0]!.status).toBe(200)
      const count = 'http_request_duration_seconds_count'
      expect(await metric(`${count}{method="GET",route="/health/ready",status="503",draining="true"}`)).toBe(1)
      expect(await metric(`${count}{method="GET",route="/api/v1/quotas/:id",status="503",draining="true"}`)).toBe(2)
      expect(
        await metric(`${count}{method="POST",route="/api/v1/quotas/usage/consume",status="503",draining="true"}`),
      ).toBe(1)
      const [scrape] = await (await raw(request('GET', '/metrics', AUTHORIZED))).heard()
      expect(scrape!.body).not.toMatch(/status="5\d\d"\}/)
      expect(await ended).toBe(0)
    })
  })
})
