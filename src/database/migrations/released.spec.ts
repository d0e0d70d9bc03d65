import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { describe, expect, it } from '@jest/globals'
import type { QueryRunner } from 'typeorm'
import { MIGRATIONS } from './index.js'

/** The digests of the effect of released migrations, by name: never changed, since databases have had that effect. */
const RELEASED: Readonly<Record<string, { mysql: string; sqlite: string }>> = {
  Baseline1796000000000: { mysql: '07b5f80fda033477', sqlite: '77ed0ea0d471167f' },
}

/** A digest of the tables that a migration creates and of the statements that it sends, on an empty database. */
async function effectOf(name: string, type: 'mysql' | 'better-sqlite3'): Promise<string> {
  const sent: unknown[] = []
  const record = async (...args: unknown[]): Promise<unknown[]> => {
    sent.push(args)
    return []
  }
  const runner = {
    dataSource: { options: { type } },
    createTable: record,
    query: record,
    hasTable: async () => false,
  } as unknown as QueryRunner
  const migration = MIGRATIONS.find((one) => one.name === name)
  if (migration === undefined) throw new Error(`${name} is not in MIGRATIONS`)
  await new migration().up(runner)
  return createHash('sha256').update(JSON.stringify(sent)).digest('hex').slice(0, 16)
}

describe('released migrations', () => {
  it.each(Object.keys(RELEASED))('have the effect that they were released with: %s', async (name) => {
    expect({ mysql: await effectOf(name, 'mysql'), sqlite: await effectOf(name, 'better-sqlite3') }).toEqual(
      RELEASED[name],
    )
  })

  it('are all of them, unless the next version is in preparation', () => {
    const inPreparation = /^## \[Unreleased/m.test(readFileSync('CHANGELOG.md', 'utf8'))
    const names = MIGRATIONS.map(({ name }) => name)
    expect(Object.keys(RELEASED)).toEqual(inPreparation ? names.slice(0, Object.keys(RELEASED).length) : names)
  })
})
