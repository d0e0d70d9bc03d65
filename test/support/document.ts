import { readFile } from 'node:fs/promises'
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import formats from 'ajv-formats'

export interface Schema {
  [keyword: string]: unknown
  $ref?: string
  type?: string | string[]
  enum?: unknown[]
  properties?: Record<string, Schema>
  items?: Schema
}

export interface Operation {
  operationId: string
  parameters?: { name: string; in: string; required?: boolean; schema: Schema }[]
  requestBody?: { content: Record<string, { schema: Schema }> }
  responses: Record<string, { content?: Record<string, { schema: Schema }> }>
}

interface Document {
  paths: Record<string, Record<string, Operation>>
  components: { schemas: Record<string, Schema> }
}

/** The service's contract: openapi.json. */
export const document = JSON.parse(await readFile('openapi.json', 'utf8')) as Document

const ajv = new Ajv2020({
  strict: false,
  allErrors: true,
  schemas: [{ $id: 'openapi', components: document.components }],
})
formats.default(ajv)
const compiled = new Map<object, ValidateFunction>()

/** Compiles the schema with absolute references, so that the validator resolves them. */
function validatorOf(schema: Schema): ValidateFunction {
  let found = compiled.get(schema)
  if (found === undefined) {
    found = ajv.compile(
      JSON.parse(JSON.stringify(schema).replaceAll('"#/components', '"openapi#/components')) as Schema,
    )
    compiled.set(schema, found)
  }
  return found
}

/** Describes how a value differs from a schema of the document; undefined if it conforms. */
export function unlike(schema: Schema, value: unknown): string | undefined {
  const validate = validatorOf(schema)
  return validate(value) ? undefined : ajv.errorsText(validate.errors)
}

/** Describes how the body of a 200 differs from the document's route; undefined if it conforms. */
export function unlikeAnswer(route: string, value: unknown, method = 'get'): string | undefined {
  const schema = document.paths[route]?.[method]?.responses['200']?.content?.['application/json']?.schema
  if (schema === undefined) throw new Error(`${route} is not in the document`)
  return unlike(schema, value)
}

/** Describes how a refusal differs from those that the document's route has; undefined if it conforms. */
export function unlikeRefusal(
  method: string,
  route: string,
  { status, body }: { readonly status: number; readonly body: unknown },
): string | undefined {
  const content = document.paths[route]?.[method]?.responses[String(status)]?.content
  const schema = content?.['application/problem+json']?.schema
  return schema === undefined ? `${method} ${route} has no ${status}` : unlike(schema, body)
}
