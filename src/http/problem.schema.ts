import { getSchemaPath } from '@nestjs/swagger'
import type { ErrorCode } from '../common/service-error.js'
import { MAX_CAPS_IN_FORCE } from '../domain/chain.js'
import { MAX_AMOUNT, MAX_QUOTAS_SHOWN } from '../domain/quota.js'
import { integerSchema } from './field.decorator.js'
import { CapDto, FieldErrorDto, RefusingQuotaDto } from './problem.dto.js'
import { statusOf, titleOf, typeOf } from './problem.js'

/** A schema of the API document. */
type Schema = Record<string, unknown>

const text = (description: string): Schema => ({ type: 'string', description })

const integer = (description: string, minimum: number, maximum: number = Number.MAX_SAFE_INTEGER): Schema => ({
  ...integerSchema(minimum, maximum),
  description,
})

/** The additional members of the problems of a code (contract, §8). */
const MEMBERS: Partial<Record<ErrorCode, Record<string, Schema>>> = {
  validation_failed: {
    errors: {
      type: 'array',
      items: { $ref: getSchemaPath(FieldErrorDto) },
      description: 'All fields with mistakes.',
    },
  },
  quota_exceeded: {
    requested: integer('Requested units.', 1, MAX_AMOUNT),
    remaining: integer(
      'The largest amount that one consume could take: `payable`, limited by the remaining units of each enforce cap.',
      0,
    ),
    payable: integer('The units that the quotas could pay together, without caps.', 0),
    refills_at: {
      type: ['string', 'null'],
      format: 'date-time',
      description:
        'The earliest time at which quotas and caps admit the request if nothing is taken or settled until then: a reset, the end of a hold or of a cap, or a boundary of a rolling cap; null if there is none.',
    },
    caps: {
      type: 'array',
      items: { $ref: getSchemaPath(CapDto) },
      maxItems: MAX_CAPS_IN_FORCE,
      description:
        'The enforce caps that refuse the request, by id; empty if only the units of the quotas are insufficient.',
    },
    quotas: {
      type: 'array',
      items: { $ref: getSchemaPath(RefusingQuotaDto) },
      maxItems: MAX_QUOTAS_SHOWN,
      description: 'The first quotas, in draw-down order.',
    },
  },
  version_mismatch: { version: integer('The current version.', 1) },
  operation_already_settled: {
    state: {
      type: 'string',
      enum: ['consumed', 'committed', 'released', 'expired'],
      description: 'The state of the operation.',
    },
  },
  commit_exceeds_hold: { held: integer('The reserved units.', 1, MAX_AMOUNT) },
  refund_exceeds_charge: { refundable: integer('The units that can still be refunded.', 0, MAX_AMOUNT) },
  method_not_allowed: {
    allow: { type: 'array', items: { type: 'string' }, description: 'The methods that the path takes.' },
  },
}

/** Returns the name of the schema of a code's problems. */
export function problemSchemaName(code: ErrorCode): string {
  const words = code.split('_').map((word) => word.charAt(0).toUpperCase() + word.slice(1))
  return `${words.join('')}Problem`
}

/**
 * Returns the schema of problems with one of these codes. `code` distinguishes them, so that generated clients know the
 * members of each.
 */
export function problemSchema(codes: readonly ErrorCode[]): Schema {
  const refs = codes.map((code) => ({ $ref: `#/components/schemas/${problemSchemaName(code)}` }))
  const [only, ...others] = refs
  return only !== undefined && others.length === 0 ? only : { oneOf: refs }
}

/** Returns the schema of the problems of a code (RFC 9457). */
export function describeProblem(code: ErrorCode): Schema {
  const properties: Record<string, Schema> = {
    type: {
      type: 'string',
      format: 'uri',
      const: typeOf(code),
      description: 'The problem type. `about:blank`: `code` identifies it.',
    },
    title: text('The title of the code; the same for every problem of the code.'),
    status: { type: 'integer', const: statusOf(code), description: 'The HTTP status.' },
    detail: text('Describes this occurrence of the problem.'),
    code: { type: 'string', const: code, description: 'Identifies the problem; stable.' },
    request_id: text("The request's id, as in X-Request-Id; in an item of a batch, that of the batch."),
    ...MEMBERS[code],
  }
  return { type: 'object', description: `${titleOf(code)}.`, properties, required: Object.keys(properties) }
}
