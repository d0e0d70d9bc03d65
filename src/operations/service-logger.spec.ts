import { describe, expect, it } from '@jest/globals'
import { Logger } from '@nestjs/common'
import type { Config, LogLevel } from '../config/config.js'
import type { RequestLine } from './request-log.js'
import { ServiceLogger } from './service-logger.js'

const NOW = { now: () => Date.UTC(2026, 10, 21, 12) }
const LINE: RequestLine = {
  method: 'GET',
  route: '/api/v1/quotas/:id',
  status: 200,
  code: undefined,
  reason: undefined,
  ms: 1.2,
  principal: 'mta',
  requestId: 'r-1',
  aborted: false,
  traceId: undefined,
  client: undefined,
}

function logger(config: Partial<Pick<Config, 'logLevel' | 'logFormat'>>) {
  const lines: string[] = []
  const flushed: number[] = []
  const out = { write: (line: string) => lines.push(line), flush: () => flushed.push(lines.length) }
  return { lines, flushed, log: new ServiceLogger({ logLevel: 'info', logFormat: 'json', ...config }, out, NOW) }
}

const parsed = (lines: string[]) => lines.map((line) => JSON.parse(line) as Record<string, unknown>)

describe('ServiceLogger', () => {
  it('writes one JSON object per line', () => {
    const { lines, log } = logger({})
    log.log('one\ntwo', 'Context')
    log.warn({ queue: 3 })
    expect(lines.every((line) => line.indexOf('\n') === line.length - 1)).toBe(true)
    expect(parsed(lines)).toEqual([
      { time: '2026-11-21T12:00:00.000Z', level: 'info', context: 'Context', message: 'one\ntwo' },
      { time: '2026-11-21T12:00:00.000Z', level: 'warn', details: { queue: 3 } },
    ])
  })

  it('never logs fields of objects that have the name of a secret', () => {
    for (const logFormat of ['json', 'text'] as const) {
      const { lines, log } = logger({ logFormat })
      log.warn('refused', { token: 'hush', queue: 3, headers: { authorization: 'Bearer hush' } }, 'Access')
      log.warn({ sql: 'INSERT hush' }, { parameters: ['hush'] })
      expect(lines.join('')).toMatch(/refused[^]*queue|queue[^]*refused/)
      expect(lines.join('')).not.toContain('hush')
    }
  })

  it('logs a message unchanged', () => {
    const { lines, log } = logger({})
    log.log('100 %d of %s', 'Context')
    const circular: Record<string, unknown> = { big: 1n }
    circular.self = circular
    log.log('circular', circular)
    expect(parsed(lines)).toMatchObject([{ message: '100 %d of %s' }, { message: 'circular' }])
  })

  it('writes everything about the error that ends the process', () => {
    const { flushed, log } = logger({})
    log.error('goes on')
    expect(flushed).toEqual([])
    log.fatal('cannot go on')
    expect(flushed).toEqual([2])
  })

  it('writes readable text', () => {
    const { lines, log } = logger({ logFormat: 'text' })
    log.log('hello', 'Context')
    log.warn('full', { queue: 3 })
    expect(lines).toEqual([
      '2026-11-21T12:00:00.000Z info  [Context] hello\n',
      '2026-11-21T12:00:00.000Z warn  full { queue: 3 }\n',
    ])
  })

  it.each<[LogLevel, LogLevel[]]>([
    ['error', ['error', 'error']],
    ['warn', ['warn', 'error', 'error']],
    ['info', ['info', 'warn', 'error', 'error']],
    ['debug', ['debug', 'debug', 'info', 'warn', 'error', 'error']],
  ])('tells at LOG_LEVEL=%s what is as severe', (logLevel, levels) => {
    const { lines, log } = logger({ logLevel })
    for (const level of ['verbose', 'debug', 'log', 'warn', 'error', 'fatal'] as const) log[level]('x')
    expect(parsed(lines).map(({ level }) => level)).toEqual(levels)
  })

  it('logs an error by its stacks, without properties that a driver added', () => {
    const { lines, log } = logger({})
    const driver = Object.assign(new Error('connection lost'), { sql: 'INSERT hush', parameters: ['hush'] })
    log.error(new Error('cannot write', { cause: driver }), 'Ledger')
    const [line] = parsed(lines)
    expect(line).toMatchObject({ level: 'error', context: 'Ledger', message: 'cannot write' })
    expect(line?.stack).toMatch(/Error: cannot write\n\s+at [^]*caused by: Error: connection lost\n\s+at /)
    expect(lines.join()).not.toContain('hush')
  })

  it('handles an error that is its own cause', () => {
    const { lines, log } = logger({})
    const error = new Error('circular')
    error.cause = error
    log.error(error)
    expect(lines).toHaveLength(1)
  })

  it('accepts the arguments of Nest: message, stack, context', () => {
    const { lines, log } = logger({})
    log.error('failed', 'Error: x\n    at y (z.js:1:1)', 'Context')
    log.error('failed', undefined, 'Context')
    const nest = new Logger('Own')
    Logger.overrideLogger(log)
    try {
      nest.log('through Nest')
    } finally {
      Logger.overrideLogger(false)
    }
    expect(parsed(lines)).toMatchObject([
      { message: 'failed', stack: 'Error: x\n    at y (z.js:1:1)', context: 'Context' },
      { message: 'failed', context: 'Context' },
      { message: 'through Nest', context: 'Own' },
    ])
  })

  it('logs more while the debug level is on, and logs the change', () => {
    const { lines, log } = logger({ logLevel: 'error' })
    log.debug('before')
    log.toggleDebug()
    log.debug('meanwhile')
    log.request(LINE)
    log.toggleDebug()
    log.warn('after')
    expect(parsed(lines)).toMatchObject([
      { level: 'info', context: 'Log', message: 'log level changed to debug' },
      { level: 'debug', message: 'meanwhile' },
      { context: 'Request', status: 200 },
      { level: 'info', context: 'Log', message: 'log level changed to error' },
    ])
  })

  it('logs the reason of a refusal', () => {
    const refused = { ...LINE, status: 503, code: 'unavailable', reason: 'owner_locked' } as const
    const json = logger({})
    json.log.request(refused)
    expect(parsed(json.lines)).toMatchObject([{ status: 503, code: 'unavailable', reason: 'owner_locked' }])
    const text = logger({ logFormat: 'text' })
    text.log.request(refused)
    expect(text.lines[0]).toContain('GET /api/v1/quotas/:id 503 unavailable owner_locked 1.2 ms mta r-1')
  })

  it('logs a request in either format', () => {
    const { lines, log } = logger({})
    log.request(LINE)
    log.request({ ...LINE, status: 499, principal: undefined, aborted: true, client: '203.0.113.9' })
    expect(parsed(lines)).toEqual([
      {
        time: '2026-11-21T12:00:00.000Z',
        level: 'info',
        context: 'Request',
        method: 'GET',
        route: '/api/v1/quotas/:id',
        status: 200,
        ms: 1.2,
        principal: 'mta',
        request_id: 'r-1',
      },
      expect.objectContaining({ status: 499, aborted: true, client: '203.0.113.9' }),
    ])
    const text = logger({ logFormat: 'text' })
    text.log.request(LINE)
    text.log.request({ ...LINE, principal: undefined, aborted: true, client: '203.0.113.9' })
    expect(text.lines).toEqual([
      '2026-11-21T12:00:00.000Z info  [Request] GET /api/v1/quotas/:id 200 1.2 ms mta r-1\n',
      '2026-11-21T12:00:00.000Z info  [Request] GET /api/v1/quotas/:id 200 1.2 ms - r-1 from 203.0.113.9 aborted\n',
    ])
  })

  it('logs failed requests even if the level hides the others', () => {
    const { lines, log } = logger({ logLevel: 'warn' })
    for (const status of [200, 409, 500, 503]) log.request({ ...LINE, status })
    expect(parsed(lines).map(({ status, level }) => [status, level])).toEqual([
      [500, 'error'],
      [503, 'warn'],
    ])
  })
})
