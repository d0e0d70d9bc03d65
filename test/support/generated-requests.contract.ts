import { beforeAll, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { TestApp, TOKENS } from './app.js'
import { document, type Operation, type Schema, unlike } from './document.js'
import { onEveryStore } from './store.js'

/** One request as sent. */
interface Attempt {
  path: string
  method: string
  operation: Operation
  headers: Record<string, string>
  body: string | undefined
}

const junk = fc.oneof(
  fc.constantFrom<unknown>(
    null,
    true,
    '',
    0,
    -1,
    1.5,
    1e12,
    1e12 + 1,
    2 ** 53,
    1e308,
    -0,
    [],
    {},
    [[]],
    'null',
    '007',
    '1e2',
    'NaN',
    '\u0000',
    '💣',
  ),
  fc.string({ unit: 'binary' }),
  fc.integer(),
  fc.double(),
  fc.date({ noInvalidDate: true }).map((date) => date.toISOString()),
  fc.jsonValue({ maxDepth: 3 }),
)

/** The value once in `often` times, otherwise nothing. */
function seldom<T>(often: number, arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> {
  return fc.oneof({ weight: often - 1, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary })
}

const ids = fc.oneof(
  { weight: 4, arbitrary: fc.integer({ min: 1, max: 40 }) },
  { weight: 1, arbitrary: fc.maxSafeNat() },
)
const times = fc.constantFrom(
  '2026-12-31T00:00:00Z',
  '2027-03-28T02:30:00+01:00',
  '9999-12-31T23:59:59.999Z',
  '0000-01-01T00:00:00Z',
  '2026-01-01T00:00:00Z',
  '2026-02-30T00:00:00Z',
)

function resolve(schema: Schema): Schema {
  return schema.$ref === undefined ? schema : (document.components.schemas[schema.$ref.split('/').at(-1) ?? ''] ?? {})
}

/** Values that mostly conform to a schema, so that most requests pass validation. */
function fitting(given: Schema): fc.Arbitrary<unknown> {
  const schema = resolve(given)
  const types = schema.type === undefined ? [] : [schema.type].flat()
  if (schema.enum !== undefined) return fc.constantFrom(...schema.enum)
  if (types.includes('integer')) return ids
  if (schema['format'] === 'date-time') return types.includes('null') ? fc.option(times) : times
  if (schema['format'] === 'uuid') return fc.uuid({ version: 7 })
  if (types.includes('array'))
    return fc.array(schema.items === undefined ? junk : object(schema.items), { maxLength: 4 })
  if (schema['pattern'] !== undefined) return fc.constantFrom<unknown>('Spring', 'a', 'k 1', 'İ', null)
  if (types.includes('string')) return fc.constantFrom<unknown>('UTC', 'Europe/Berlin', 'key', null)
  return junk
}

/** Objects of a schema: with members missing, invalid and added now and then. */
function object(given: Schema): fc.Arbitrary<Record<string, unknown>> {
  const schema = resolve(given)
  const members = Object.entries(schema.properties ?? {})
  const required = (schema['required'] ?? []) as string[]
  const member = (name: string, value: Schema): fc.Arbitrary<[string, unknown] | undefined> => {
    const good = fc.tuple(fc.constant(name), fitting(value))
    const bad = fc.tuple(fc.constant(name), junk)
    const present = fc.oneof({ weight: 15, arbitrary: good }, { weight: 1, arbitrary: bad })
    return required.includes(name) ? fc.option(present, { nil: undefined, freq: 20 }) : seldom(4, present)
  }
  const extra = seldom(
    12,
    fc.tuple(fc.oneof(fc.constantFrom('__proto__', 'constructor', 'AccountId', 'toString'), fc.string()), junk),
  )
  return fc.tuple(extra, ...members.map(([name, value]) => member(name, value))).map((found) => {
    const pairs = found.filter((pair) => pair !== undefined)
    // Only JSON.parse can create a member named __proto__.
    return JSON.parse(
      `{${pairs.map(([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`).join()}}`,
    ) as Record<string, unknown>
  })
}

const oddBodies = fc.constantFrom(
  '',
  '{',
  'null',
  '"text"',
  '[]',
  `${'['.repeat(10_000)}${']'.repeat(10_000)}`,
  `{"amount":${'{"a":'.repeat(5_000)}1${'}'.repeat(5_000)}}`,
  `{"amount":1e999}`,
  `{"total":${'9'.repeat(400)}}`,
  `[${'1,'.repeat(40_000)}1]`,
  `{"a":"${'x'.repeat(100_001)}"}`,
)

const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
)

const attempts: fc.Arbitrary<Attempt> = fc.constantFrom(...operations).chain(({ path, method, operation }) => {
  const parameters = operation.parameters ?? []
  const inPath = parameters.filter((parameter) => parameter.in === 'path')
  const inQuery = parameters.filter((parameter) => parameter.in === 'query')
  const schema = operation.requestBody?.content['application/json']?.schema
  const text = (value: Schema, odd: number): fc.Arbitrary<string> =>
    fc.oneof(
      { weight: 10, arbitrary: fitting(value).map(String) },
      { weight: odd, arbitrary: junk.map((found) => (typeof found === 'string' ? found : JSON.stringify(found))) },
    )
  const body: fc.Arbitrary<string | undefined> =
    schema === undefined
      ? seldom(5, fc.constantFrom('{}', '{"x":1}'))
      : fc.oneof(
          { weight: 12, arbitrary: object(schema).map((value) => JSON.stringify(value)) },
          { weight: 1, arbitrary: oddBodies },
          { weight: 1, arbitrary: fc.string() },
        )
  return fc
    .record({
      places: fc.tuple(...inPath.map(({ schema: value }) => text(value, 2))),
      query: fc.tuple(
        ...inQuery.map(({ name, required, schema: value }) => {
          const pair = text(value, 1).map((found) => [name, found] as const)
          return required === true ? fc.option(pair, { nil: undefined, freq: 20 }) : seldom(4, pair)
        }),
      ),
      extra: seldom(15, fc.tuple(fc.string(), fc.string())),
      body,
      key: fc.option(
        fc.oneof(
          fc.constantFrom('a', 'b', 'c', ''),
          fc.string({ minLength: 1, maxLength: 300, unit: 'grapheme-ascii' }),
        ),
        { nil: undefined, freq: 5 },
      ),
      token: fc.oneof(
        { weight: 12, arbitrary: fc.constant(TOKENS.admin) },
        { weight: 1, arbitrary: fc.constantFrom(TOKENS.usage, 'wrong', undefined) },
      ),
      type: fc.oneof(
        { weight: 15, arbitrary: fc.constant('application/json') },
        { weight: 1, arbitrary: fc.constantFrom('text/plain', 'application/json; charset=latin1', '') },
      ),
    })
    .map(({ places, query, extra, body: sent, key, token, type }) => {
      // An empty segment would lead to another route, whose answers differ.
      const filled = inPath.reduce(
        (found, { name }, place) =>
          found.replace(
            `{${name}}`,
            encodeURIComponent(places[place] === '' ? ' ' : (places[place] ?? ' ')).replaceAll('.', '%2E'),
          ),
        path,
      )
      const pairs = [...query, extra].filter((pair) => pair !== undefined)
      const search = pairs.map(([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(value)}`).join('&')
      const headers: Record<string, string> = {}
      if (token !== undefined) headers['authorization'] = `Bearer ${token}`
      if (key !== undefined) headers['idempotency-key'] = key
      if (sent !== undefined && type !== '') headers['content-type'] = type
      return {
        path: filled + (search === '' ? '' : `?${search}`),
        method,
        operation,
        headers,
        body: method === 'get' ? undefined : sent,
      }
    })
})

/** Describes how an answer differs from the document; undefined if it conforms. */
function misfit({ operation }: Attempt, status: number, type: string, text: string): string | undefined {
  if (status >= 500) return 'a fault'
  const [media = ''] = type.split(';')
  let response = operation.responses[String(status)]
  // An invalid identifier may have led to another route, or to none.
  const code = media === 'application/problem+json' ? (JSON.parse(text) as { code: string }).code : ''
  if (code === 'route_not_found' || code === 'method_not_allowed') {
    const schema = {
      $ref: `#/components/schemas/${code === 'route_not_found' ? 'RouteNotFound' : 'MethodNotAllowed'}Problem`,
    }
    response = { content: { 'application/problem+json': { schema } } }
  }
  if (response === undefined) return 'a status that is not in the document'
  if (response.content === undefined) return text === '' ? undefined : 'a body where the document has none'
  const schema = (response.content[media] ?? response.content['*/*'])?.schema
  if (schema === undefined) return `media type ${media} is not in the document`
  if (!media.endsWith('json')) return undefined
  return unlike(schema, JSON.parse(text))
}

/** @param count the number of requests to each store, unless FUZZ_REQUESTS overrides it */
export function generatedRequestsMeetNoFault(count: number): void {
  const requests = Number(process.env['FUZZ_REQUESTS'] ?? count)

  onEveryStore('generated requests', (kind) => {
    let app: TestApp
    const statuses = new Map<number, number>()

    beforeAll(async () => {
      app = await TestApp.on(kind)
      // Quotas to find, spend and change.
      for (let id = 1; id <= 40; id += 1) {
        const quota = { quota_type: 1, total: 1_000, expire_at: '2030-01-01T00:00:00Z' }
        await app.post('/api/v1/quotas', { account_id: id, user_id: id, ...quota }).expect(201)
        await app.post('/api/sms/admin/quota', { user_id: id, ...quota }).expect(201)
      }
    })

    it(`${requests} of them from the API document meet no fault, and every answer is as the document says`, async () => {
      await fc.assert(
        fc.asyncProperty(attempts, async (attempt) => {
          const { method, path, headers, body } = attempt
          const answer = await fetch(app.url + path, {
            method: method.toUpperCase(),
            headers,
            ...(body === undefined ? {} : { body }),
          })
          const text = await answer.text()
          statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1)
          const wrong = misfit(attempt, answer.status, answer.headers.get('content-type') ?? '', text)
          if (wrong !== undefined)
            throw new Error(
              `${method} ${path.slice(0, 300)} ${JSON.stringify(headers)} ${body?.slice(0, 300) ?? ''}\n→ ${answer.status} ${text.slice(0, 600)}\n${wrong}`,
            )
          expect(answer.headers.get('x-request-id')).toMatch(/^[\w.-]{1,128}$/)
          expect(answer.headers.get('cache-control')).toBe('no-store')
        }),
        { numRuns: requests, endOnFailure: true },
      )
      // If everything were refused, nothing would be tested.
      expect((statuses.get(200) ?? 0) + (statuses.get(201) ?? 0)).toBeGreaterThan(requests / 10)
    }, 120_000)
  })
}
