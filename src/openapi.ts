import type { INestApplication, Type } from '@nestjs/common'
import { ModulesContainer } from '@nestjs/core'
import { DocumentBuilder, type OpenAPIObject, SwaggerModule } from '@nestjs/swagger'
import { BEARER_SCHEME } from './auth/access.decorator.js'
import { type AccessRule, admits, leaves, neededFor, rolesOf } from './auth/access-rule.js'
import { type ErrorCode, ServiceError, Unavailable, validationFailed } from './common/service-error.js'
import { EXAMPLE_UUID } from './http/example.js'
import { CapDto, FieldErrorDto, RefusingQuotaDto } from './http/problem.dto.js'
import { ERROR_CODES, problemOf, PROBLEM_MEDIA_TYPE, statusOf, titleOf } from './http/problem.js'
import { describeProblem, problemSchema, problemSchemaName } from './http/problem.schema.js'
import { type Route, routeNotFound, RouteTable } from './http/route-table.js'
import { STAY_OPEN } from './operations/shutdown.js'
import { ROLES } from './common/role.js'
import { SCOPES } from './common/scope.js'

const DESCRIPTION = `Quotas of mail accounts and SMS users. Senders consume from them before each message.

Bodies are JSON in UTF-8 with snake_case names. Identifiers and amounts are integers. Times are RFC 3339 with an offset, answered in UTC
with milliseconds. An unknown field or parameter is refused. Every error is a problem document (RFC 9457) whose
\`code\` is stable.`

const TOKEN = `A token, as \`npm run token\` creates it. Scopes may narrow its role: \`mail\` or \`sms\` to that channel, \`own\` to operations
that its principal created; other operations are then not found.`

/** Returns the roles of a rule, as a sentence. */
function forRoles(rule: AccessRule): string {
  const roles = rolesOf(rule)
  if (roles.length === ROLES.length) return 'For every role.'
  const last = roles.pop() ?? ''
  return roles.length === 0 ? `For the role ${last}.` : `For the roles ${roles.join(', ')} and ${last}.`
}

const TAGS: readonly (readonly [name: string, description: string])[] = [
  ['Access', `The authenticated caller. ${forRoles('any')}`],
  ['Mail quotas', `The quotas of mail accounts. ${forRoles('service')}`],
  ['Mail usage', `The usage of mail accounts. ${forRoles('usage')}`],
  ['SMS quotas', `The SMS quotas of users. ${forRoles('admin')}`],
  ['SMS usage', `The SMS usage of users. ${forRoles('usage')}`],
  ['Webhooks', `The endpoints that receive events. ${forRoles('admin')}`],
  ['Owner links', 'What an owner sees by its link. For links of owners, which open nothing else, in place of tokens.'],
  ['Operations', 'Health and metrics.'],
  ['Documentation', `This document. ${forRoles('docs')} With DOCS_PUBLIC set, for everybody.`],
]

const METHODS = ['get', 'put', 'post', 'delete'] as const
const MAX_INT32 = 2 ** 31 - 1

/** Any part of the document. */
type Node = Record<string, unknown>

/**
 * The problems of every route. `problemsOf` adds those of the access rule and the body; handlers declare their own with
 * `@Problems`.
 */
const COMMON_PROBLEMS: readonly ErrorCode[] = ['validation_failed', 'internal_error', 'unavailable']

const BODY_PROBLEMS: readonly ErrorCode[] = ['malformed_json', 'payload_too_large', 'unsupported_media_type']

/**
 * Builds the OpenAPI 3.1 document from the controllers' declarations. Adds what all operations share: the problems,
 * X-Request-Id, and whether unknown fields are refused.
 * @param app created from compiled code, whose DTOs contain their docstrings; `preview` is sufficient, since no
 *   provider is called
 * @param version of the service
 */
export function buildDocument(app: INestApplication, version: string): OpenAPIObject {
  const builder = new DocumentBuilder()
    .setOpenAPIVersion('3.1.0')
    .setTitle('Quota service')
    .setDescription(DESCRIPTION)
    .setVersion(version)
    .setLicense('MIT', 'https://spdx.org/licenses/MIT.html')
    .addServer('/')
    .addBearerAuth({ type: 'http', scheme: 'bearer', bearerFormat: 'opaque', description: TOKEN }, BEARER_SCHEME)
  for (const [name, description] of TAGS) builder.addTag(name, description)
  const document = SwaggerModule.createDocument(app, builder.build(), {
    operationIdFactory: (controller, method) => operationId(controller, method),
    extraModels: [CapDto, FieldErrorDto, RefusingQuotaDto],
  })
  const table = new RouteTable(controllersOf(app))
  for (const [path, item] of Object.entries(document.paths)) {
    for (const method of METHODS) {
      const operation = item[method] as Node | undefined
      if (operation === undefined) continue
      const route = table.routes.find((one) => one.method.toLowerCase() === method && documented(one.path) === path)
      if (route === undefined) throw new Error(`${method} ${path} is described, but no route`)
      complete(operation, route, problemsOf(route, table.isContested(route)))
      admitMissingBody(document, operation, route)
    }
  }
  addProblems(document)
  addCommonParts(document)
  sayWhatElseFits(document)
  walkSchemas(document, tidySchema)
  return ordered(withPlainNames(document))
}

/** `MailQuotaController`, `create` → `mailQuotaCreate`. The released ids of reports contain `Office`. */
function operationId(controller: string, method: string): string {
  const subject = controller.replace(/Controller$/, '').replace(/Report$/, 'Office')
  return `${subject.charAt(0).toLowerCase()}${subject.slice(1)}${method.charAt(0).toUpperCase()}${method.slice(1)}`
}

// Available in preview, too, in which Nest creates no providers.
function controllersOf(app: INestApplication): Type[] {
  const modules = app.get(ModulesContainer)
  return [...modules.values()].flatMap(({ controllers }) =>
    [...controllers.values()].map(({ metatype }) => metatype as Type),
  )
}

/** `/quotas/:id` → `/quotas/{id}`. */
function documented(path: string): string {
  return path.replace(/:(\w+)/g, '{$1}')
}

/** @param contested whether a fixed word can take the place of an identifier, and lead to another route or none */
function problemsOf(route: Route, contested: boolean): ErrorCode[] {
  const codes = new Set<ErrorCode>([...COMMON_PROBLEMS, ...route.problems])
  // The service reads the body of any request that has one.
  for (const code of BODY_PROBLEMS) codes.add(code)
  if (contested) for (const code of ['route_not_found', 'method_not_allowed'] as const) codes.add(code)
  if (route.access !== 'public') codes.add('unauthenticated')
  const forEveryRole = ROLES.every((role) => admits(route.access, role))
  const isNarrowed = !forEveryRole || !SCOPES.every((scope) => leaves(scope, route))
  // A token is unknown there, whatever its role.
  if (isNarrowed && route.access !== 'link') codes.add('forbidden')
  // These routes stay open while the process drains; only one of them answers 503 itself.
  if (STAY_OPEN.includes(route.path) && !route.problems.includes('unavailable')) codes.delete('unavailable')
  return [...codes].sort((one, other) => statusOf(one) - statusOf(other))
}

function complete(operation: Node, route: Route, codes: readonly ErrorCode[]): void {
  operation.security = route.access === 'public' ? [] : [{ [BEARER_SCHEME]: [] }]
  const parameters = (operation.parameters ?? []) as Node[]
  operation.parameters = [...parameters, { $ref: '#/components/parameters/RequestId' }]
  const responses = operation.responses as Record<string, Node>
  for (const response of Object.values(responses)) {
    response.headers = {
      'X-Request-Id': { $ref: '#/components/headers/RequestId' },
      ...(repeats(route) ? { 'Idempotency-Replayed': { $ref: '#/components/headers/IdempotencyReplayed' } } : {}),
      ...(response.headers as Node | undefined),
    }
    if (response.description === '') response.description = 'Done.'
  }
  for (const status of new Set(codes.map(statusOf))) {
    const these = codes.filter((code) => statusOf(code) === status)
    responses[String(status)] = {
      description: these.map((code) => `\`${code}\`: ${titleOf(code)}.`).join(' '),
      headers: {
        'X-Request-Id': { $ref: '#/components/headers/RequestId' },
        ...(status === 405 ? { Allow: { $ref: '#/components/headers/Allow' } } : {}),
        ...(status === 401 ? { 'WWW-Authenticate': { $ref: '#/components/headers/WwwAuthenticate' } } : {}),
        ...(status === 503 ? { 'Retry-After': { $ref: '#/components/headers/RetryAfter' } } : {}),
      },
      content: {
        [PROBLEM_MEDIA_TYPE]: {
          schema: problemSchema(these),
          examples: Object.fromEntries(these.map((code) => [code, { $ref: `#/components/examples/${code}` }])),
        },
      },
    }
  }
}

/** A request whose fields are all optional may omit the body; an update requires at least one field. */
function admitMissingBody(document: OpenAPIObject, operation: Node, route: Route): void {
  const body = operation.requestBody as
    { required?: boolean; content: Record<string, { schema: { $ref?: string } }> } | undefined
  if (body === undefined || route.method === 'PUT') return
  const name = body.content['application/json']?.schema.$ref?.split('/').at(-1)
  const schema = name === undefined ? undefined : (document.components?.schemas?.[name] as Node | undefined)
  if (schema !== undefined && !Array.isArray(schema.required)) body.required = false
}

/** Adds a schema for each code that a route can answer. */
function addProblems(document: OpenAPIObject): void {
  const schemas = ((document.components ??= {}).schemas ??= {}) as Record<string, Node>
  for (const code of ERROR_CODES) {
    const name = problemSchemaName(code)
    if (JSON.stringify([document.paths, schemas]).includes(`/${name}"`)) schemas[name] = describeProblem(code)
  }
}

/** Returns whether the route can replay an earlier answer. */
function repeats(route: Route): boolean {
  return route.problems.some((code) => code === 'idempotency_key_reused' || code === 'operation_already_settled')
}

function addCommonParts(document: OpenAPIObject): void {
  const used = new Set(JSON.stringify(document.paths).match(/(?<=#\/components\/examples\/)\w+/g) ?? [])
  const components = (document.components ??= {})
  Object.assign(components, {
    parameters: {
      RequestId: {
        name: 'X-Request-Id',
        in: 'header',
        required: false,
        description: 'An id for the request, used in logs and records. The service replaces any other value.',
        schema: { type: 'string', minLength: 1, maxLength: 128, pattern: '^[A-Za-z0-9._-]+$' },
        example: EXAMPLE_UUID,
      },
    },
    headers: {
      RequestId: {
        description: 'The id of the request.',
        required: true,
        schema: { type: 'string' },
        example: EXAMPLE_UUID,
      },
      IdempotencyReplayed: {
        description: 'Present if this is the answer of an earlier request; the request has no further effect.',
        schema: { type: 'string', const: 'true' },
      },
      Allow: {
        description: 'The methods that the path takes.',
        required: true,
        schema: { type: 'string' },
        example: 'GET, HEAD',
      },
      RetryAfter: {
        description: 'Seconds to wait.',
        required: true,
        schema: { type: 'integer', minimum: 0 },
        example: 1,
      },
      WwwAuthenticate: {
        description: 'How to show who calls (RFC 6750).',
        required: true,
        schema: { type: 'string' },
        example: 'Bearer realm="quota"',
      },
    },
    examples: Object.fromEntries(
      [...used].sort().map((code) => {
        const problem = problemOf(example(code as ErrorCode), EXAMPLE_UUID)
        return [code, { summary: problem.title, value: problem }]
      }),
    ),
  })
}

/** The detail of an example of each error, or the whole example. */
const EXAMPLES: Readonly<Record<ErrorCode, string | ServiceError>> = {
  validation_failed: validationFailed([{ field: 'total', message: 'must be an integer from 0 to 1000000000000' }]),
  malformed_json: 'the body is not JSON: Unexpected end of JSON input',
  idempotency_key_missing:
    'send an Idempotency-Key header; a retry with the same key repeats the answer, not the effect',
  idempotency_key_invalid: 'Idempotency-Key must be 1 to 255 printable ASCII characters',
  unauthenticated: 'send Authorization: Bearer TOKEN',
  forbidden: neededFor('service'),
  quota_not_found: 'There is no quota 12.',
  operation_not_found: `There is no operation ${EXAMPLE_UUID}.`,
  change_set_not_found: 'There is no change set 5.',
  group_not_found: 'There is no group 5.',
  member_not_found: 'Owner 7 is not a member of group 5.',
  group_name_taken: 'Another group is named "example.org".',
  group_not_empty: 'Group 5 still has members, quotas.',
  default_group_taken: 'Group 4 is the default group.',
  nothing_to_reset: 'Quota 12 has no count of its own: each member has one.',
  too_many_new_owners:
    'A principal brings in at most 10000 owners in an hour through the default group. ' +
    'Check the number of this owner, or try again later.',
  route_not_found: routeNotFound('POST', '/api/v1/quota', '; did you mean POST /api/v1/quotas?'),
  method_not_allowed: new ServiceError('method_not_allowed', 'this path takes GET, HEAD', { allow: ['GET', 'HEAD'] }),
  quota_exceeded: new ServiceError('quota_exceeded', '5 requested, 3 remaining for account 7.', {
    extra: {
      requested: 5,
      remaining: 3,
      payable: 3,
      refills_at: '2026-12-01T00:00:00.000Z',
      caps: [],
      quotas: [
        {
          id: 12,
          group_id: null,
          total: 1000,
          used: 997,
          reserved: 0,
          remaining: 3,
          refills_at: '2026-12-01T00:00:00.000Z',
        },
      ],
    },
  }),
  no_active_quota: 'Account 7 has no active quota.',
  too_many_quotas: 'An owner may have at most 200 quotas that are neither deleted nor expired.',
  version_mismatch: new ServiceError(
    'version_mismatch',
    'The quota is at version 4, not 3: somebody else changed it. Read it again, then decide.',
    { extra: { version: 4 } },
  ),
  operation_already_settled: new ServiceError('operation_already_settled', 'The operation was released.', {
    extra: { state: 'released' },
  }),
  commit_exceeds_hold: new ServiceError('commit_exceeds_hold', 'The hold keeps 5; 6 cannot be committed.', {
    extra: { held: 5 },
  }),
  refund_exceeds_charge: new ServiceError('refund_exceeds_charge', 'Nothing is left to refund.', {
    extra: { refundable: 0 },
  }),
  webhook_not_found: 'There is no webhook ops.',
  webhook_disabled: 'The webhook ops is disabled.',
  cursor_expired: 'Events after this cursor have been removed; events are kept for 31 days.',
  change_set_state: 'A change set that is applied cannot be applied.',
  change_set_differs: 'The change set has 39 planned rows, not 40.',
  too_many_rows:
    'Your change sets that are not applied have 1000000 rows. Drop or apply some: 17 (100000 rows), 18 (99000 rows).',
  payload_too_large: 'the body may have at most 100000 bytes after decompression',
  unsupported_media_type: 'send Content-Type: application/json, in UTF-8',
  idempotency_key_reused:
    'This Idempotency-Key was used for another request; the first one stands. A new request needs a new key.',
  internal_error: 'unexpected error; the log of the service has details under the request_id',
  unavailable: new Unavailable('database_away'),
}

function example(code: ErrorCode): ServiceError {
  const given = EXAMPLES[code]
  return typeof given === 'string' ? new ServiceError(code as Exclude<ErrorCode, 'unavailable'>, given) : given
}

/** Marks the schemas of bodies as closed: unknown fields are refused. */
function sayWhatElseFits(document: OpenAPIObject): void {
  const schemas = (document.components?.schemas ?? {}) as Record<string, Node>
  const bodies = Object.values(document.paths).flatMap((item) =>
    METHODS.map((method) => (item[method] as Node | undefined)?.requestBody),
  )
  const open = [JSON.stringify(bodies)]
  const seen = new Set<string>()
  for (let text = open.pop(); text !== undefined; text = open.pop()) {
    for (const name of text.match(/(?<=#\/components\/schemas\/)\w+/g) ?? []) {
      const schema = schemas[name]
      if (schema === undefined || seen.has(name)) continue
      seen.add(name)
      schema.additionalProperties = false
      open.push(JSON.stringify(schema))
    }
  }
}

const DATA = new Set(['example', 'examples', 'default', 'const', 'enum'])

/** Calls `visit` for every possible schema in the document, but not for data. */
function walkSchemas(node: unknown, visit: (schema: Node) => void): void {
  if (Array.isArray(node)) {
    for (const one of node) walkSchemas(one, visit)
    return
  }
  if (typeof node !== 'object' || node === null) return
  for (const [key, value] of Object.entries(node)) if (!DATA.has(key)) walkSchemas(value, visit)
  visit(node as Node)
}

function tidySchema(schema: Node): void {
  if (schema['x-any'] === true) {
    // The swagger module gives schemas without a type the type object; an empty schema accepts anything.
    delete schema['x-any']
    delete schema.type
  }
  const isInteger = schema.type === 'integer' || (Array.isArray(schema.type) && schema.type.includes('integer'))
  if (isInteger && typeof schema.maximum === 'number' && schema.maximum > MAX_INT32) schema.format = 'int64'
}

/** Removes the suffix `Dto` from schema names. */
function withPlainNames(document: OpenAPIObject): OpenAPIObject {
  const text = JSON.stringify(document).replace(/(#\/components\/schemas\/\w+?)Dto"/g, '$1"')
  const renamed = JSON.parse(text) as OpenAPIObject
  const components = (renamed.components ??= {})
  components.schemas = Object.fromEntries(
    Object.entries(components.schemas ?? {}).map(([name, schema]) => [name.replace(/Dto$/, ''), schema]),
  )
  return renamed
}

/** Sorts the document, so that it does not depend on the order of modules. */
function ordered(document: OpenAPIObject): OpenAPIObject {
  const { openapi, info, servers, tags, paths, components, ...rest } = document
  return {
    openapi,
    info,
    ...(servers === undefined ? {} : { servers }),
    ...(tags === undefined ? {} : { tags }),
    ...rest,
    paths: Object.fromEntries(
      sorted(paths).map(([path, item]) => [path, Object.fromEntries(METHODS.flatMap((method) => pick(item, method)))]),
    ),
    components: Object.fromEntries(
      sorted({ ...components }).map(([kind, parts]) => [kind, Object.fromEntries(sorted(parts as Node))]),
    ),
  }
}

function sorted<T>(map: Record<string, T>): [string, T][] {
  return Object.entries(map).sort(([one], [other]) => (one < other ? -1 : 1))
}

function pick<T extends object, K extends keyof T & string>(item: T, key: K): [K, unknown][] {
  const operation = item[key] as Node | undefined
  if (operation === undefined) return []
  const { operationId, summary, tags, security, parameters, requestBody, responses, ...rest } = operation
  const inOrder = { operationId, summary, tags, security, parameters, requestBody, responses, ...rest }
  return [[key, Object.fromEntries(Object.entries(inOrder).filter(([, value]) => value !== undefined))]]
}
