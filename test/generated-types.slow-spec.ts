import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { beforeAll, describe, expect, it } from '@jest/globals'
import ts from 'typescript'
import { temporaryFolder } from './support/opened.js'

const GENERATOR = join(process.cwd(), 'node_modules/openapi-typescript/bin/cli.js')

/** What a client may write with the types that a generator makes of openapi.json, and what it may not. */
const CLIENT = `
import type { components, paths } from './schema.js'

type Consume = paths['/api/v1/quotas/usage/consume']['post']['responses']
type Refusal = Consume[409]['content']['application/problem+json']

export function remainingOf(problem: Refusal): number {
  // @ts-expect-error not every refusal says what remains
  problem.remaining
  if (problem.code === 'quota_exceeded') {
    const refill: string | null = problem.refills_at
    const [first] = problem.quotas
    return refill === null ? problem.remaining : problem.requested - (first?.remaining ?? 0)
  }
  const code: 'no_active_quota' | 'too_many_new_owners' = problem.code
  // @ts-expect-error an owner without quotas has nothing remaining
  return code.length + problem.remaining
}

type Settle = paths['/api/sms/quota/usage/{operationId}/commit']['post']['responses']

export function whyNot(problem: Settle[409]['content']['application/problem+json']): string | number {
  switch (problem.code) {
    case 'commit_exceeds_hold':
      return problem.held
    case 'operation_already_settled': {
      const state: 'consumed' | 'committed' | 'released' | 'expired' = problem.state
      return state
    }
    default: {
      const nothing: never = problem
      return nothing
    }
  }
}

type Update = paths['/api/v1/quotas/{id}']['put']['responses']

export function current(problem: Update[409]['content']['application/problem+json']): number | undefined {
  return problem.code === 'version_mismatch' ? problem.version : undefined
}

export function fields(problem: Update[400]['content']['application/problem+json']): string[] {
  return problem.code === 'validation_failed' ? problem.errors.map(({ field, message }) => field + message) : []
}

export const methods = (problem: components['schemas']['MethodNotAllowedProblem']): string[] => problem.allow
export const refundable = (problem: components['schemas']['RefundExceedsChargeProblem']): number => problem.refundable

type Result = paths['/api/v1/quotas/usage/consume/batch']['post']['responses'][200]['content']['application/json']['results'][number]

export function outcome(result: Result): string {
  // @ts-expect-error a refused item has no operation
  result.operation
  if (result.status === 200) {
    const replayed: boolean = result.replayed
    return replayed ? 'again' : result.operation.id
  }
  // @ts-expect-error nor is there a problem with what took effect
  result.operation
  if (result.problem.code === 'quota_exceeded') return String(result.problem.remaining)
  return result.problem.code
}

export const me: paths['/api/v1/me']['get']['responses'][200]['content']['application/json'] = { name: 'boss', role: 'admin', scopes: [], expires_at: null, source: 'token' }
export const statuses: (keyof paths['/api/v1/quotas/usage']['get']['responses'])[] = [200, 400, 401, 403, 500, 503]
`

describe('a client generated from openapi.json', () => {
  let folder: string

  beforeAll(async () => {
    folder = temporaryFolder('quota-types-')
    await promisify(execFile)(process.execPath, [GENERATOR, 'openapi.json', '--output', join(folder, 'schema.ts')])
    await writeFile(join(folder, 'client.ts'), CLIENT)
  })

  it("knows each problem's own members by its code, and the two forms of a batch result by their status", () => {
    const program = ts.createProgram([join(folder, 'client.ts')], {
      strict: true,
      noEmit: true,
      exactOptionalPropertyTypes: true,
      target: ts.ScriptTarget.ES2022,
      module: ts.ModuleKind.NodeNext,
      moduleResolution: ts.ModuleResolutionKind.NodeNext,
      types: [],
    })
    const said = ts
      .getPreEmitDiagnostics(program)
      .map(({ messageText, file, start = 0 }) => [
        file?.getLineAndCharacterOfPosition(start).line,
        ts.flattenDiagnosticMessageText(messageText, '\n'),
      ])
    expect(said).toEqual([])
  })
})
