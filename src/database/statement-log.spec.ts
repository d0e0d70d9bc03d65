import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ConsoleLogger, Logger, type LoggerService } from '@nestjs/common'
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals'
import { DataSource } from 'typeorm'
import { dataSourceOptions } from './data-source-options.js'

describe('a slow statement', () => {
  let reported: { level: string; message: string; context: string }[]
  let dataSource: DataSource
  let folder: string

  beforeEach(async () => {
    const at =
      (level: string) =>
      (message: string, context: string): void => {
        reported.push({ level, message, context })
      }
    const log: LoggerService = { log: at('log'), error: at('error'), warn: at('warn'), debug: at('debug') }
    reported = []
    Logger.overrideLogger(log)
    folder = mkdtempSync(join(tmpdir(), 'quota-log-'))
    const options = dataSourceOptions({ kind: 'sqlite', path: join(folder, 'quota.db') }, [], 'service')
    // Slower than this is every statement, also one that takes less than a whole millisecond.
    dataSource = await new DataSource({ ...options, maxQueryExecutionTime: -1 }).initialize()
    reported = []
  })

  afterEach(async () => {
    await dataSource.destroy()
    rmSync(folder, { recursive: true })
    Logger.overrideLogger(new ConsoleLogger())
  })

  it('is logged by the service, without its parameters and other values', async () => {
    const terminal = [jest.spyOn(process.stdout, 'write'), jest.spyOn(process.stderr, 'write')]
    const consoles = (['log', 'info', 'warn', 'error', 'debug'] as const).map((name) => jest.spyOn(console, name))
    const rows: unknown = await dataSource.query(`SELECT ? AS answer, ${'1 AS one, '.repeat(100)} 2 AS two`, [
      'a secret key',
    ])
    expect(rows).toMatchObject([{ answer: 'a secret key' }])
    await expect(dataSource.query('SELECT ? FROM nothing', ['a secret key'])).rejects.toThrow('nothing')

    expect(reported).toMatchObject([{ level: 'warn', context: 'Database' }])
    expect(reported[0]?.message).toMatch(/^a statement took \d+ ms: SELECT \? AS answer, \? AS one, /)
    expect(reported[0]?.message.length).toBeLessThan(250)
    expect(JSON.stringify(reported)).not.toContain('secret')
    for (const written of [...terminal, ...consoles]) expect(written).not.toHaveBeenCalled()
  })
})
