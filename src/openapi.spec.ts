import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { NestFactory } from '@nestjs/core'
import type { OpenAPIObject } from '@nestjs/swagger'
import { APP_OPTIONS } from './app.js'
import { AppModule } from './app.module.js'
import { loadConfig } from './config/config.js'
import { buildDocument } from './openapi.js'
import { isLabel } from './domain/label.js'

interface Operation {
  operationId: string
  summary?: string
  tags?: string[]
  security?: object[]
  parameters: { $ref?: string }[]
  requestBody?: { required?: boolean }
  responses: Record<string, { headers?: object }>
}

// Docstrings are missing here, since the compiler's plugin does not run under Jest; that openapi.json is what the
// compiled code says, with them, is checked by `npm run openapi -- --check`.
describe('buildDocument', () => {
  let document: OpenAPIObject
  let operations: (readonly [string, Operation])[]
  let close: () => Promise<void>

  beforeAll(async () => {
    const app = await NestFactory.create(AppModule.with(loadConfig({})), {
      ...APP_OPTIONS,
      preview: true,
      logger: false,
      abortOnError: false,
    })
    close = () => app.close()
    document = buildDocument(app, '1.2.3')
    operations = Object.entries(document.paths).flatMap(([path, item]) =>
      Object.entries(item).map(([method, operation]) => [`${method} ${path}`, operation as Operation] as const),
    )
  })

  afterAll(async () => {
    await close()
  })

  const of = (name: string) => operations.find(([one]) => one === name)![1]

  it('is an OpenAPI 3.1 document of this version, with every route of the contract', () => {
    expect(document).toMatchObject({
      openapi: '3.1.0',
      info: { version: '1.2.3', license: { name: 'MIT' } },
      servers: [{ url: '/' }],
    })
    const routes = operations.map(([route]) => route)
    for (const [quotas, list, summary] of [
      ['/api/v1/quotas', '/api/v1/quotas', '/api/v1/quotas/summary/{accountID}'],
      ['/api/sms/admin/quota', '/api/sms/admin/quota/list', '/api/sms/admin/quota/summary'],
    ]) {
      expect(routes).toEqual(
        expect.arrayContaining([
          `post ${quotas}`,
          `get ${list}`,
          `get ${summary}`,
          `put ${quotas}/{id}`,
          `delete ${quotas}/{id}`,
          `get ${quotas}/{id}`,
          `post ${quotas}/{id}/restore`,
          `get ${quotas}/{id}/changes`,
        ]),
      )
    }
  })

  it('has patterns that every dialect of regular expressions reads alike', () => {
    const patterns = new Set<string>()
    JSON.stringify(document, (key, value: unknown) => {
      if (key === 'pattern') patterns.add(String(value))
      return value
    })
    expect(patterns.size).toBeGreaterThanOrEqual(3)
    for (const pattern of patterns) {
      for (const flags of ['', 'u']) expect(() => new RegExp(pattern, flags)).not.toThrow()
      // What is left means the same in ECMA, with flags and without, and in Python's re: no other escape (\p), no look
      // around and no named group.
      const rest = pattern.replaceAll(/\\u[0-9a-f]{4}/g, 'x')
      expect([pattern, rest.includes('\\'), rest.includes('(?')]).toEqual([pattern, false, false])
    }
  })

  it('describes valid labels as far as patterns allow', () => {
    const { label } = (
      document.components!.schemas!['CreateMailQuota'] as { properties: Record<string, { pattern: string }> }
    ).properties
    for (const flags of ['', 'u']) {
      const pattern = new RegExp(label!.pattern, flags)
      const texts = Array.from({ length: 0x3000 }, (_, code) => `a${String.fromCharCode(code)}b`)
      expect(texts.filter((text) => pattern.test(text) !== isLabel(text))).toEqual([])
      expect(pattern.test('Grüße 😀 屜')).toBe(true)
      expect(pattern.test('')).toBe(false)
    }
  })

  it('contains no dangling reference', () => {
    const refs = [...JSON.stringify(document).matchAll(/"\$ref":"#\/([^"]*)"/g)].map(([, ref]) => ref!.split('/'))
    const lost = refs.filter((ref) => {
      let node: unknown = document
      for (const part of ref) node = (node as Record<string, unknown> | undefined)?.[part]
      return node === undefined
    })
    expect(lost).toEqual([])
  })

  it('contains no names of this code or of OpenAPI 3.0', () => {
    expect(JSON.stringify(document)).not.toMatch(/"nullable"|"x-any"|Dto["/]|Controller/)
  })

  it('names each operation once, and describes it', () => {
    const names = operations.map(([, { operationId }]) => operationId)
    expect(new Set(names).size).toBe(names.length)
    expect(names).toEqual(expect.arrayContaining(['mailQuotaCreate', 'smsUsageConsumeBatch', 'healthReady']))
    const known = document.tags?.map(({ name }) => name) ?? []
    expect(operations.filter(([, { tags }]) => tags?.length !== 1 || !known.includes(tags[0]!))).toEqual([])
  })

  it('requires a token everywhere except for health', () => {
    const open = operations.filter(([, { security }]) => security?.length === 0).map(([route]) => route)
    expect(open).toEqual(['get /health/live', 'get /health/ready'])
    for (const [, { security, responses }] of operations) {
      expect(Object.keys(responses).includes('401')).toBe(security?.length === 1)
    }
    expect(of('get /api/v1/quotas').responses).toHaveProperty('403')
    // For whoever is narrowed to the other channel.
    expect(of('get /api/v1/quotas/usage/{operationId}').responses).toHaveProperty('403')
    expect(of('get /api/v1/me').responses).not.toHaveProperty('403')
  })

  it('has X-Request-Id in every request and every answer', () => {
    for (const [, { parameters, responses }] of operations) {
      expect(parameters).toContainEqual({ $ref: '#/components/parameters/RequestId' })
      for (const { headers } of Object.values(responses)) expect(headers).toHaveProperty('X-Request-Id')
    }
  })

  it('lists the problems of a route by status', () => {
    expect(Object.keys(of('post /api/v1/quotas/usage/consume').responses)).toEqual([
      '200',
      '400',
      '401',
      '403',
      '409',
      '413',
      '415',
      '422',
      '500',
      '503',
    ])
    expect(Object.keys(of('get /health/live').responses)).toEqual(['200', '400', '413', '415', '500'])
  })

  it('makes a body optional if none of its fields is required', () => {
    expect(of('post /api/v1/quotas/usage/{operationId}/commit').requestBody?.required).toBe(false)
    expect(of('post /api/v1/quotas').requestBody?.required).toBe(true)
    expect(of('put /api/v1/quotas/{id}').requestBody?.required).toBe(true)
  })

  it('closes the schemas of bodies and keeps those of answers open', () => {
    const closed = Object.entries(document.components?.schemas ?? {})
      .filter(([, schema]) => (schema as { additionalProperties?: boolean }).additionalProperties === false)
      .map(([name]) => name)
    expect(closed).toEqual(
      expect.arrayContaining([
        'CreateMailQuota',
        'UpdateSmsQuota',
        'MailBatch',
        'MailBatchItem',
        'Commit',
        'Refund',
        'Reset',
      ]),
    )
    expect(closed).not.toEqual(expect.arrayContaining([expect.stringMatching(/Page$|Operation$|Problem$/)]))
  })
})
