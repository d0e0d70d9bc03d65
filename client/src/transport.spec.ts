import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { json, operation, problem, rejection, TestNetwork } from '../test/network.js'
import { OutcomeUnknown, Problem } from './problem.js'
import { QuotaClient } from './client.js'

const KEY = { key: 'msg-1' }
const ONE = { accountId: 7, amount: 1 }
const TYPE_1 = { accountId: 7, quotaType: 1, total: 5, expireAt: '2099-01-01T00:00:00Z' } as const

describe('a call', () => {
  it('says what the contract wants to hear, and is told in names of programs', async () => {
    const network = new TestNetwork(() => json(200, operation()))
    const done = await network.client.mail.consume(ONE, KEY)
    expect(done).toMatchObject({ accountId: 7, ownerRemaining: 9, allocations: [{ quotaId: 1, amount: 1 }] })
    expect(network.sent).toHaveLength(1)
    expect(network.sent[0]).toMatchObject({
      method: 'POST',
      path: '/api/v1/quotas/usage/consume',
      body: { account_id: 7, amount: 1 },
      headers: { authorization: 'Bearer secret', 'idempotency-key': 'msg-1', 'content-type': 'application/json' },
    })
  })

  it('tells of the calls that a service repeats whether it did', async () => {
    const id = '01a201d9-e827-7000-8000-002f05d730a8'
    for (const replayed of [false, true]) {
      const network = new TestNetwork(() => json(200, operation(), replayed ? { 'idempotency-replayed': 'true' } : {}))
      const { mail } = network.client
      const answers = await Promise.all([
        mail.consume({ accountId: 7, amount: 1 }, { key: 'k' }),
        mail.reserve({ accountId: 7, amount: 1 }, { key: 'k' }),
        mail.commit(id),
        mail.release(id),
        mail.refund(id, {}, { key: 'k' }),
      ])
      expect(answers.map((answer) => answer.replayed)).toEqual(Array(5).fill(replayed))
    }
  })

  it('keeps the path of its base address', async () => {
    const network = new TestNetwork(() => json(200, { name: 'boss', role: 'admin' }), {
      baseUrl: 'https://quota.example/behind/a/proxy/',
    })
    await network.client.me()
    expect(network.sent[0]?.path).toBe('/behind/a/proxy/api/v1/me')
  })

  it('refuses an address, a key or a request id that is none, and sends nothing', async () => {
    expect(() => new QuotaClient({ baseUrl: 'quota', token: '' })).toThrow('Invalid URL')
    const network = new TestNetwork(() => json(200, operation()))
    for (const key of ['', ' a', 'a ', 'a\nb', 'ä', 'x'.repeat(256)]) {
      expect(await rejection(network.client.mail.consume(ONE, { key }))).toBeInstanceOf(TypeError)
    }
    expect(await rejection(network.client.me({ requestId: 'a b' }))).toBeInstanceOf(TypeError)
    expect(network.sent).toEqual([])
  })

  it('asks for the token before each attempt, and rejects as that does', async () => {
    let tokens = 0
    const network = new TestNetwork((_, number) => (number < 3 ? 'broken' : json(200, operation())), {
      token: async () => `token-${(tokens += 1)}`,
    })
    await network.client.mail.consume(ONE, KEY)
    expect(network.sent.map(({ headers }) => headers['authorization'])).toEqual([
      'Bearer token-1',
      'Bearer token-2',
      'Bearer token-3',
    ])
    const locked = new TestNetwork(() => json(200), { token: () => Promise.reject(new Error('the vault is locked')) })
    await expect(locked.client.me()).rejects.toThrow('the vault is locked')
  })

  it('leaves the outcome unknown where the token cannot be had after a lost answer', async () => {
    let asked = 0
    const failure = new Error('the vault is locked')
    const token = async (): Promise<string> => ((asked += 1) > 1 ? Promise.reject(failure) : 'token')
    const network = new TestNetwork(() => 'broken', { token })
    const error = await rejection(network.client.mail.consume(ONE, KEY))
    expect(error).toBeInstanceOf(OutcomeUnknown)
    expect(error).toMatchObject({ ...KEY, cause: failure })
  })

  it('tells the token to nobody', async () => {
    for (const fate of [() => problem(401, 'unauthenticated'), () => 'broken' as const]) {
      const network = new TestNetwork(fate)
      const error = (await rejection(network.client.me())) as Error
      expect(JSON.stringify([error, String(error), error.stack, network.attempts])).not.toContain('secret')
    }
  })

  it.each(['localhost:3000', 'ftp://quota.example', 'https://user:secret@quota.example', 'quota.example'])(
    'begins only with a URL of HTTP without a user: %s',
    (baseUrl) => {
      expect(() => new TestNetwork(() => json(200), { baseUrl })).toThrow(
        expect.objectContaining({ name: 'TypeError' }),
      )
    },
  )

  it('does not repeat a token that no header can hold', async () => {
    const network = new TestNetwork(() => json(200), { token: async () => 'secret-1\nsecret-2' })
    const error = (await rejection(network.client.me())) as Error
    expect(error).toBeInstanceOf(TypeError)
    expect(error.message).toContain('the token')
    expect([String(error), error.stack, String(error.cause)].join()).not.toContain('secret')
    expect(network.sent).toEqual([])
  })

  it('has one request id for all its attempts, and another one for the next call', async () => {
    const network = new TestNetwork((_, number) => (number < 3 ? 'broken' : json(200, operation())))
    await network.client.mail.consume(ONE, KEY)
    await network.client.mail.consume(ONE, { ...KEY, requestId: 'mine' })
    const ids = network.sent.map(({ headers }) => headers['x-request-id'])
    expect(ids[0]).toMatch(/^[A-Za-z0-9._-]{1,128}$/)
    expect(new Set(ids.slice(0, 3)).size).toBe(1)
    expect(ids[3]).toBe('mine')
  })
})

describe('an answer that is none', () => {
  it.each([
    ['a broken connection', () => 'broken' as const],
    ['silence', () => 'silence' as const],
    ['502 of a proxy', () => new Response('<h1>Bad gateway</h1>', { status: 502 })],
    ['503', () => problem(503, 'unavailable')],
    ['504 of a proxy', () => new Response(null, { status: 504 })],
    ['524 of a proxy', () => new Response('A timeout occurred', { status: 524 })],
    ['429 of a proxy', () => new Response('slower', { status: 429 })],
    [
      'an answer that breaks off',
      () =>
        new Response(
          new ReadableStream({
            start: (body) => {
              body.enqueue(new TextEncoder().encode('{"id":'))
              body.error(new TypeError('terminated'))
            },
          }),
        ),
    ],
  ])('is tried again with the same key and body: %s', async (_, fate) => {
    const network = new TestNetwork((__, number) => (number < 4 ? fate() : json(200, operation())))
    await network.client.mail.consume(ONE, KEY)
    expect(network.sent).toHaveLength(4)
    expect(new Set(network.sent.map(({ headers, body }) => JSON.stringify([headers, body]))).size).toBe(1)
    expect(network.attempts.map(({ number }) => number)).toEqual([1, 2, 3, 4])
  })

  it('is waited for as long as an attempt may take', async () => {
    const network = new TestNetwork((_, number) => (number === 1 ? 'silence' : json(200, operation())), {
      timeoutMs: 7_000,
    })
    network.timing.chance = 0
    await network.client.mail.consume(ONE, KEY)
    expect(network.sent[1]?.at).toBe(7_000)
    expect(network.attempts[0]?.error).toMatchObject({ name: 'TimeoutError' })
  })

  it('is not waited for by a fetch that heeds no signal', async () => {
    const network = new TestNetwork(() => json(200), { fetch: () => new Promise(() => undefined), deadlineMs: 1_000 })
    expect(await rejection(network.client.me())).toBeInstanceOf(OutcomeUnknown)
  })

  it('is followed by full jitter: anything from nothing to twice as long as before, up to ten seconds', async () => {
    const pauses = async (chance: number): Promise<(number | undefined)[]> => {
      const network = new TestNetwork((_, number) => (number < 9 ? 'broken' : json(200, operation())))
      network.timing.chance = chance
      await network.client.mail.consume(ONE, KEY)
      return network.attempts.map(({ waitMs }) => waitMs)
    }
    expect(await pauses(0)).toEqual([0, 0, 0, 0, 0, 0, 0, 0, undefined])
    expect(await pauses(0.5)).toEqual([100, 200, 400, 800, 1600, 3200, 5000, 5000, undefined])
  })

  it.each([503, 429])('%d is not tried again before Retry-After', async (status) => {
    const said = [
      { 'retry-after': '7' },
      { 'retry-after': 'Sun, 22 Nov 2026 10:00:09 GMT', date: 'Sun, 22 Nov 2026 10:00:00 GMT' },
    ]
    const network = new TestNetwork((_, number) =>
      number < 3 ? problem(status, 'unavailable', {}, said[number - 1]) : json(200, operation()),
    )
    network.timing.chance = 0.5
    await network.client.mail.consume(ONE, KEY)
    const [first, second, third] = network.sent.map(({ at }) => at)
    expect(second! - first!).toBe(7_000 + 100)
    expect(third! - second!).toBe(9_000 + 200)
  })

  it('ends at the deadline, and nothing is sent after it', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 60_000 }),
        fc.array(fc.constantFrom('broken', 'silence', 503, 429), { minLength: 1 }),
        fc.double({ min: 0, max: 0.999, noNaN: true }),
        async (deadlineMs, fates, chance) => {
          const network = new TestNetwork(
            (_, number) => {
              const fate = fates[number % fates.length] as 'broken' | 503
              return typeof fate === 'number' ? problem(fate, 'unavailable') : fate
            },
            { deadlineMs },
          )
          // Without any pause, the number of attempts would be unlimited.
          network.timing.chance = Math.max(0.1, chance)
          const error = await rejection(network.client.mail.consume(ONE, KEY))
          expect(error instanceof OutcomeUnknown || (error instanceof Problem && error.status === 429)).toBe(true)
          expect(network.timing.now()).toBeLessThanOrEqual(deadlineMs)
          expect(network.attempts.at(-1)?.waitMs).toBeUndefined()
        },
      ),
      { numRuns: 60 },
    )
  }, 60_000)

  it('leaves the outcome unknown: with the key, the request id and what happened last', async () => {
    const network = new TestNetwork(() => problem(503, 'unavailable'))
    const error = await rejection(network.client.mail.consume(ONE, KEY))
    expect(error).toBeInstanceOf(OutcomeUnknown)
    expect(error).toMatchObject({
      key: 'msg-1',
      requestId: network.sent[0]?.headers['x-request-id'],
      cause: { code: 'unavailable', status: 503 },
    })
    expect(network.sent.length).toBeGreaterThan(5)
  })

  it.each([
    ['https://quota.example/', 'quota.example:443'],
    ['http://quota.example', 'quota.example:80'],
    ['http://[::1]:3000/office', '[::1]:3000'],
  ])('names host, port and cause where the connection is refused: %s', async (baseUrl, place) => {
    // As Node reports it: a name that resolves to two addresses, both refused.
    const refused = new AggregateError([
      new Error('connect ECONNREFUSED ::1:3000'),
      new Error('connect ECONNREFUSED 127.0.0.1:3000'),
    ])
    const failure = new TypeError('fetch failed', { cause: refused })
    const network = new TestNetwork(() => 'broken', { baseUrl, fetch: () => Promise.reject(failure) })
    const error = await rejection(network.client.mail.consume({ accountId: 7, amount: 1 }, { key: 'k' }))
    expect(error).toBeInstanceOf(OutcomeUnknown)
    expect(error).toMatchObject({
      message:
        `nobody knows the outcome of "k"; the last try: no answer from ${place}: fetch failed: ` +
        'connect ECONNREFUSED ::1:3000; connect ECONNREFUSED 127.0.0.1:3000',
      cause: { cause: failure },
    })
  })

  it('names host and port where the service is silent', async () => {
    const network = new TestNetwork(() => 'silence')
    const error = await rejection(
      network.client.mail.consume({ accountId: 7, amount: 1 }, { key: 'k', deadlineMs: 900 }),
    )
    expect(error).toMatchObject({ message: expect.stringMatching(/no answer from quota\.example:443 within \d+ ms$/) })
  })

  it('ends at once where the service asks to wait beyond the deadline', async () => {
    const network = new TestNetwork(() => problem(503, 'unavailable', {}, { 'retry-after': '61' }))
    expect(await rejection(network.client.mail.consume(ONE, KEY))).toBeInstanceOf(OutcomeUnknown)
    expect(network.sent).toHaveLength(1)
    expect(network.timing.now()).toBe(0)
  })

  it('to a read is the refusal, since nothing can have taken effect; or no answer', async () => {
    const away = new TestNetwork(() => problem(503, 'unavailable', {}, { 'retry-after': '20' }))
    const error = await rejection(away.client.mail.quotas.get(1))
    expect(error).toMatchObject({ name: 'Problem', code: 'unavailable', retryAfterSeconds: 20 })
    expect(away.sent).toHaveLength(3)
    const gone = new TestNetwork(() => 'broken')
    expect(await rejection(gone.client.mail.quotas.get(1))).toBeInstanceOf(OutcomeUnknown)
  })

  it.each(['<h1>Welcome</h1>', '', 'null', '"welcome"', '1'])(
    'of something that is not the service is not asked for again: %j',
    async (text) => {
      const network = new TestNetwork(() => new Response(text))
      expect(await rejection(network.client.mail.consume(ONE, KEY))).toBeInstanceOf(OutcomeUnknown)
      expect(network.sent).toHaveLength(1)
    },
  )

  it.each([
    ['401', problem(401, 'unauthenticated')],
    ['403', problem(403, 'forbidden')],
    ['404 of a proxy', new Response('<h1>Nothing here</h1>', { status: 404 })],
  ])('is not refuted by who does not look up the key: %s', async (_, answer) => {
    const network = new TestNetwork((__, number) => (number === 1 ? 'broken' : answer))
    const error = await rejection(network.client.mail.consume(ONE, KEY))
    expect(error).toBeInstanceOf(OutcomeUnknown)
    expect(error).toMatchObject({ key: 'msg-1', cause: { status: answer.status } })
    expect(network.sent).toHaveLength(2)
  })

  it('to a read before a 401 leaves nothing unknown', async () => {
    const network = new TestNetwork((_, number) => (number === 1 ? 'broken' : problem(401, 'unauthenticated')))
    expect(await rejection(network.client.me())).toMatchObject({ code: 'unauthenticated' })
  })

  it('may be waited for without a limit', async () => {
    // The real time: a timer of too many milliseconds would end at once.
    const client = new QuotaClient({
      baseUrl: 'https://quota.example',
      token: 'secret',
      timeoutMs: Infinity,
      deadlineMs: Infinity,
      fetch: async (_, init) =>
        new Promise((resolve, reject) => {
          init.signal?.addEventListener('abort', () => reject(init.signal?.reason as Error))
          setTimeout(() => resolve(json(200, { name: 'boss', role: 'admin' })), 50)
        }),
      onAttempt: ({ number }) => attempts.push(number),
    })
    const attempts: number[] = []
    await client.me()
    expect(attempts).toEqual([1])
  })
})

describe('a refusal', () => {
  it.each([400, 401, 403, 404, 405, 408, 409, 410, 413, 415, 422, 425, 301, 302, 307, 501, 505])(
    '%d is an answer: never tried again',
    async (status) => {
      const network = new TestNetwork(() => problem(status, 'quota_exceeded'))
      expect(await rejection(network.client.mail.consume(ONE, KEY))).toMatchObject({ name: 'Problem', status })
      expect(network.sent).toHaveLength(1)
    },
  )

  it('500 is tried again twice', async () => {
    const network = new TestNetwork(() => problem(500, 'internal_error'))
    expect(await rejection(network.client.mail.consume(ONE, KEY))).toMatchObject({ code: 'internal_error' })
    expect(network.sent).toHaveLength(3)
  })

  it('500 is tried again twice, whatever else happens between', async () => {
    const network = new TestNetwork((_, number) => (number % 2 === 0 ? problem(500, 'internal_error') : 'broken'))
    const error = await rejection(network.client.mail.consume(ONE, KEY))
    // One of those without an answer may have taken effect.
    expect(error).toMatchObject({ name: 'OutcomeUnknown', ...KEY, cause: { code: 'internal_error' } })
    expect(network.sent).toHaveLength(6)
  })

  it('has the members of its code, by the names of programs', async () => {
    const quotas = [{ id: 1, total: 10, used: 3, reserved: 0, remaining: 7, refills_at: null }]
    const network = new TestNetwork(() =>
      problem(409, 'quota_exceeded', { requested: 9, remaining: 7, refills_at: '2026-12-01T00:00:00.000Z', quotas }),
    )
    const error = await rejection(network.client.mail.consume(ONE, KEY))
    expect(error).toBeInstanceOf(Problem)
    expect(error).toBeInstanceOf(Error)
    if (!(error instanceof Problem) || error.code !== 'quota_exceeded') throw error
    expect([error.requested, error.remaining, error.refillsAt]).toEqual([9, 7, '2026-12-01T00:00:00.000Z'])
    expect(error.quotas[0]).toMatchObject({ id: 1, refillsAt: null })
    expect(error).toMatchObject({ requestId: 'r-1', message: 'quota_exceeded: told by the test' })
  })

  it('names fields as programs write them', async () => {
    const errors = [{ field: 'cycle_unit', message: 'must be one of …' }]
    const network = new TestNetwork(() => problem(400, 'validation_failed', { errors }))
    expect(await rejection(network.client.mail.quotas.create(TYPE_1))).toMatchObject({
      errors: [{ field: 'cycleUnit', message: 'must be one of …' }],
    })
  })

  it('that is not of the service says so', async () => {
    const network = new TestNetwork(() => new Response('<h1>Blocked</h1>', { status: 403 }))
    expect(await rejection(network.client.me())).toMatchObject({ name: 'Problem', code: 'foreign_answer', status: 403 })
  })
})

describe('what must not be sent twice', () => {
  const calls = {
    'a create without a key': ({ client }: TestNetwork) => client.mail.quotas.create(TYPE_1),
    'a reset without a key': ({ client }: TestNetwork) => client.sms.quotas.reset(1),
  }

  it.each(Object.entries(calls))('%s is sent once where it may have taken effect', async (_, call) => {
    for (const fate of [() => 'broken' as const, () => 'silence' as const, () => problem(503, 'unavailable')]) {
      const network = new TestNetwork(fate)
      const error = await rejection(call(network))
      expect(error).toBeInstanceOf(OutcomeUnknown)
      expect(error).toMatchObject({ key: undefined })
      expect(network.sent).toHaveLength(1)
    }
    const failing = new TestNetwork(() => problem(500, 'internal_error'))
    expect(await rejection(call(failing))).toMatchObject({ code: 'internal_error' })
    expect(failing.sent).toHaveLength(1)
  })

  it.each(Object.entries(calls))('%s waits where a proxy asks it to come later', async (_, call) => {
    const network = new TestNetwork((__, number) =>
      number === 1 ? new Response(null, { status: 429 }) : json(200, { id: 1 }),
    )
    await call(network)
    expect(network.sent).toHaveLength(2)
  })

  it('with a key it may', async () => {
    const network = new TestNetwork((_, number) => (number < 3 ? 'broken' : json(201, { id: 1 })))
    await network.client.mail.quotas.create(TYPE_1, KEY)
    expect(network.sent).toHaveLength(3)
  })
})

describe('an edit whose answer was lost', () => {
  /** A service with one quota that records its calls, and loses its first answer to an edit. */
  function editing(by: 'us' | 'somebody'): TestNetwork {
    const changes: object[] = []
    return new TestNetwork(({ method, path, headers }, number) => {
      if (path.endsWith('/changes'))
        return json(200, { items: changes, page: 1, page_size: 100, total: 1, total_relation: 'exact' })
      if (method === 'GET') return json(200, { id: 1, version: 4, total: 5 })
      if (number > 1)
        return method === 'PUT' ? problem(409, 'version_mismatch', { version: 4 }) : problem(404, 'quota_not_found')
      const request_id = by === 'us' ? headers['x-request-id'] : 'another'
      changes.push({ id: 9, quota_id: 1, action: method === 'PUT' ? 'update' : 'delete', request_id })
      return 'broken'
    })
  }

  it('is not told that it came too late for itself', async () => {
    const network = editing('us')
    expect(await network.client.mail.quotas.update(1, { total: 5, version: 3 })).toMatchObject({ id: 1, version: 4 })
    await expect(editing('us').client.sms.quotas.delete(1)).resolves.toBeUndefined()
  })

  it.each([
    ['is away', () => problem(503, 'unavailable'), 'unavailable'],
    ['no longer takes the token', () => problem(401, 'unauthenticated'), 'unauthenticated'],
    ['fails', () => problem(500, 'internal_error'), 'internal_error'],
  ])('stays unknown, by its own id, where the history %s', async (_, history, code) => {
    const edits = [
      ({ client }: TestNetwork) => client.mail.quotas.update(1, { total: 5, version: 3 }, { deadlineMs: 30_000 }),
      ({ client }: TestNetwork) => client.sms.quotas.delete(1, {}, { deadlineMs: 30_000 }),
    ]
    for (const edit of edits) {
      const network = new TestNetwork(({ method }, number) => {
        if (method === 'GET') return history()
        if (number === 1) return 'broken'
        return method === 'PUT' ? problem(409, 'version_mismatch', { version: 4 }) : problem(404, 'quota_not_found')
      })
      const requestId = (): string | undefined => network.sent[0]?.headers['x-request-id']
      const error = await rejection(edit(network))
      expect(error).toMatchObject({ name: 'OutcomeUnknown', requestId: requestId(), cause: { code } })
    }
  })

  it("is told of somebody else's edit", async () => {
    const error = await rejection(editing('somebody').client.mail.quotas.update(1, { total: 5, version: 3 }))
    expect(error).toMatchObject({ code: 'version_mismatch', version: 4 })
    expect(await rejection(editing('somebody').client.sms.quotas.delete(1))).toMatchObject({ code: 'quota_not_found' })
  })

  it('is told apart from an earlier edit to which its caller gave the same request id', async () => {
    const changes: object[] = []
    const network = new TestNetwork(({ method, path, headers }, number) => {
      if (path.endsWith('/changes')) return json(200, { items: changes, page: 1, page_size: 100 })
      if (method === 'GET') return json(200, { id: 1, version: 5, total: 1 })
      // The second edit never arrives, and meanwhile somebody makes version 5.
      if (number > 1) return number === 2 ? 'broken' : problem(409, 'version_mismatch', { version: 5 })
      changes.push({ id: 9, quota_id: 1, action: 'update', request_id: headers['x-request-id'] })
      return json(200, { id: 1, version: 4, total: 5 })
    })
    const { quotas } = network.client.mail
    const options = { requestId: 'inbound-1' }
    await quotas.update(1, { total: 5, version: 3 }, options)
    expect(await rejection(quotas.update(1, { total: 9, version: 4 }, options))).toMatchObject({ version: 5 })
    const ids = network.sent.map(({ headers }) => headers['x-request-id'])
    expect(ids.slice(0, 3)).toEqual(Array(3).fill(expect.stringMatching(/^inbound-1-[0-9a-f]{32}$/)))
    expect(new Set(ids.slice(0, 3)).size).toBe(2)
  })

  it('that was refused at once is refused', async () => {
    const network = new TestNetwork(() => problem(409, 'version_mismatch', { version: 4 }))
    expect(await rejection(network.client.mail.quotas.update(1, { version: 3 }))).toMatchObject({ version: 4 })
    expect(network.sent).toHaveLength(1)
  })
})

describe('an aborted call', () => {
  const reason = new Error('the user went away')

  it('is not begun', async () => {
    const network = new TestNetwork(() => json(200, operation()))
    const call = network.client.mail.consume(ONE, { ...KEY, signal: AbortSignal.abort(reason) })
    expect(await rejection(call)).toBe(reason)
    expect(network.sent).toEqual([])
  })

  it('ends while it waits for an answer', async () => {
    const abort = new AbortController()
    const network = new TestNetwork(() => {
      setImmediate(() => abort.abort(reason))
      return 'silence'
    })
    expect(await rejection(network.client.mail.consume(ONE, { ...KEY, signal: abort.signal }))).toBe(reason)
    expect(network.sent).toHaveLength(1)
  })

  it('ends while it waits for the next attempt', async () => {
    const abort = new AbortController()
    const network = new TestNetwork(() => problem(503, 'unavailable', {}, { 'retry-after': '30' }), {
      onAttempt: () => setImmediate(() => abort.abort(reason)),
    })
    expect(await rejection(network.client.mail.consume(ONE, { ...KEY, signal: abort.signal }))).toBe(reason)
    expect(network.sent).toHaveLength(1)
    expect(network.timing.now()).toBe(0)
  })
})

describe('who watches', () => {
  it('is told of every attempt', async () => {
    const fates = [
      () => 'broken' as const,
      () => problem(503, 'unavailable'),
      () => json(200, operation(), { 'idempotency-replayed': 'true' }),
    ]
    const network = new TestNetwork((_, number) => fates[number - 1]!())
    await network.client.mail.consume(ONE, KEY)
    expect(network.attempts).toMatchObject([
      {
        number: 1,
        key: 'msg-1',
        path: '/api/v1/quotas/usage/consume',
        status: undefined,
        replayed: false,
        waitMs: 100,
      },
      { number: 2, status: 503, error: { code: 'unavailable' }, waitMs: 200 },
      { number: 3, status: 200, replayed: true, error: undefined, waitMs: undefined },
    ])
  })

  it('cannot fail the call', async () => {
    const network = new TestNetwork(() => json(200, operation()), {
      onAttempt: () => {
        throw new Error('the log is full')
      },
    })
    await expect(network.client.mail.consume(ONE, KEY)).resolves.toMatchObject({ accountId: 7 })
  })
})
