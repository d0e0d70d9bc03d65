import { getSchemaPath } from '@nestjs/swagger'
import type { ErrorCode } from '../error/service-error.js'
import { MAX_LIVE_CAPS } from '../quota/cap.js'
import { MAX_AMOUNT, MAX_LIVE_QUOTAS } from '../quota/quota.js'
import { CapDto, FieldErrorDto, RefusingQuotaDto } from './problem.dto.js'
import { statusOf, titleOf, typeOf } from './problem.js'

/** A schema of the API document. */
type Schema = Record<string, unknown>

const MAX_QUOTAS_SHOWN = 20

const integer = (description: string, minimum: number, maximum: number = Number.MAX_SAFE_INTEGER): Schema => ({
  type: 'integer',
  minimum,
  maximum,
  description,
})

/** Members that the problems of a code have and no others (contract, §8). */
function membersOf(code: ErrorCode): Record<string, Schema> {
  switch (code) {
    case 'validation_failed':
      return {
        errors: {
          type: 'array',
          items: { $ref: getSchemaPath(FieldErrorDto) },
          description: 'Every broken field.',
        },
      }
    case 'quota_exceeded':
      return {
        requested: integer('Units asked for.', 1, MAX_AMOUNT),
        remaining: integer('What one consume could take: `payable`, bounded by what remains of each enforce cap.', 0),
        payable: integer('What the quotas that pay could pay together.', 0),
        refills_at: {
          type: ['string', 'null'],
          format: 'date-time',
          description:
            'The earliest instant from which payers and caps would let the request pass if nobody else took anything; null if none.',
        },
        caps: {
          type: 'array',
          items: { $ref: getSchemaPath(CapDto) },
          maxItems: MAX_LIVE_CAPS,
          description: 'The enforce caps that cannot take it, by id; none where only the payers are short.',
        },
        quotas: {
          type: 'array',
          items: { $ref: getSchemaPath(RefusingQuotaDto) },
          maxItems: Math.min(MAX_QUOTAS_SHOWN, MAX_LIVE_QUOTAS),
          description: 'The first quotas in the order in which they would pay.',
        },
      }
    case 'version_mismatch':
      return { version: integer('The current version.', 1) }
    case 'operation_already_settled':
      return {
        state: {
          type: 'string',
          enum: ['consumed', 'committed', 'released', 'expired'],
          description: 'What the operation has become.',
        },
      }
    case 'commit_exceeds_hold':
      return { held: integer('What the hold holds.', 1, MAX_AMOUNT) }
    case 'refund_exceeds_charge':
      return { refundable: integer('What is left to refund.', 0, MAX_AMOUNT) }
    case 'method_not_allowed':
      return { allow: { type: 'array', items: { type: 'string' }, description: 'The methods that the path takes.' } }
    default:
      return {}
  }
}

/** The name of the schema of a code's problems. */
export function problemSchemaName(code: ErrorCode): string {
  const words = code.split('_').map((word) => word.charAt(0).toUpperCase() + word.slice(1))
  return `${words.join('')}Problem`
}

/**
 * The schema of problems of these codes: told apart by `code`, so that a generated client knows each one's own members.
 */
export function problemSchema(codes: readonly ErrorCode[]): Schema {
  const refs = codes.map((code) => ({ $ref: `#/components/schemas/${problemSchemaName(code)}` }))
  const [only, ...others] = refs
  return only !== undefined && others.length === 0 ? only : { oneOf: refs }
}

/** What all problems of a code are like (RFC 9457). */
export function describeProblem(code: ErrorCode): Schema {
  const properties: Record<string, Schema> = {
    type: {
      type: 'string',
      format: 'uri',
      const: typeOf(code),
      description: 'What kind of problem this is; `about:blank` where `code` says it all.',
    },
    title: { type: 'string', description: 'The kind in words; the same for every problem of that code.' },
    status: { type: 'integer', const: statusOf(code), description: 'The HTTP status.' },
    detail: { type: 'string', description: 'What went wrong this time.' },
    code: { type: 'string', const: code, description: 'The kind, for machines; stable.' },
    request_id: { type: 'string', description: "The request's id, as in X-Request-Id; in a batch that of the whole." },
    ...membersOf(code),
  }
  return { type: 'object', description: `${titleOf(code)}.`, properties, required: Object.keys(properties) }
}
