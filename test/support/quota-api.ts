import type { InjectionToken, Type } from '@nestjs/common'
import { DataSource } from 'typeorm'
import type { Response } from 'supertest'
import { Ledger } from '../../src/ledger/ledger.js'
import { partOf } from '../../src/channel-api/ledger.module.js'
import { Sweeper } from '../../src/ledger/sweeper.js'
import type { QuotaRow } from '../../src/ledger/quota.entity.js'
import { MAIL } from '../../src/mail-quota/mail.channel.js'
import { MailQuota } from '../../src/mail-quota/mail-quota.entity.js'
import { SMS } from '../../src/sms-quota/sms.channel.js'
import { SmsQuota } from '../../src/sms-quota/sms-quota.entity.js'
import type { TestApp } from './app.js'

/** One channel as its callers see it. */
export interface QuotaApi {
  readonly name: 'mail' | 'SMS'
  /** Where quotas are made and, followed by an id, reached. */
  readonly quotas: string
  readonly list: string
  readonly consume: string
  readonly reserve: string
  /** The field that names whom a quota limits. */
  readonly owner: 'account_id' | 'user_id'
  /** The largest set of people that a new quota names, beside its owner. */
  readonly named: Record<string, number>
  /** What a record says of people where its create named the owner alone. */
  readonly unnamed: Record<string, null>
  readonly entity: Type<QuotaRow>
  readonly sweeper: InjectionToken
  readonly ledger: InjectionToken
  summary(owner: number | string): string
}

export const MAIL_API: QuotaApi = {
  name: 'mail',
  quotas: '/api/v1/quotas',
  list: '/api/v1/quotas',
  consume: '/api/v1/quotas/usage/consume',
  reserve: '/api/v1/quotas/usage/reserve',
  owner: 'account_id',
  named: { user_id: 3 },
  unnamed: { user_id: null },
  entity: MailQuota,
  sweeper: partOf(MAIL, Sweeper),
  ledger: partOf(MAIL, Ledger),
  summary: (owner) => `/api/v1/quotas/summary/${owner}`,
}

export const SMS_API: QuotaApi = {
  name: 'SMS',
  quotas: '/api/sms/admin/quota',
  list: '/api/sms/admin/quota/list',
  consume: '/api/sms/quota/usage/consume',
  reserve: '/api/sms/quota/usage/reserve',
  owner: 'user_id',
  named: {},
  unnamed: {},
  entity: SmsQuota,
  sweeper: partOf(SMS, Sweeper),
  ledger: partOf(SMS, Ledger),
  summary: (owner) => `/api/sms/admin/quota/summary?user_id=${owner}`,
}

/** When the clock of a suite stands at its start. */
export const START = '2026-11-21T12:00:00.000Z'

let lastNumber = 1000

/** An owner, or a number for a key, that nothing else uses. */
export const fresh = (): number => (lastNumber += 1)

/** The background work of a channel, run by hand. */
export function sweeperOf(app: TestApp, api: QuotaApi): Sweeper<QuotaRow> {
  return app.app.get<Sweeper<QuotaRow>>(api.sweeper)
}

/** Stops the timers, so that only a test itself says when something is swept. */
export async function stopSweepers(app: TestApp): Promise<void> {
  for (const api of [MAIL_API, SMS_API]) await sweeperOf(app, api).onModuleDestroy()
}

/** Copies one quota's row `count` times, in one statement. No request could make an owner hold so many. */
export async function copyQuota(app: TestApp, api: QuotaApi, id: number, count: number): Promise<void> {
  const dataSource = app.app.get(DataSource)
  const { tableName, columns } = dataSource.getMetadata(api.entity)
  const names = columns
    .filter(({ generatedType }) => generatedType === undefined)
    .map(({ databaseName }) => databaseName)
    .filter((name) => name !== 'id')
  const listed = names.map((name) => `\`${name}\``).join(', ')
  const digits = `(${Array.from({ length: 10 }, (_, digit) => `SELECT ${digit} AS d`).join(' UNION ALL ')})`
  const places = ['a', 'b', 'c', 'e', 'f'].map((place) => `${digits} ${place}`).join(' CROSS JOIN ')
  await dataSource.query(
    `INSERT INTO ${tableName} (${listed}) SELECT ${names.map((name) => `q.\`${name}\``).join(', ')} FROM ${tableName} q ` +
      `CROSS JOIN ${places} WHERE q.id = ? AND a.d + 10 * b.d + 100 * c.d + 1000 * e.d + 10000 * f.d < ?`,
    [id, count],
  )
}

/** What an answer holds: JSON, looked into without ceremony. */
export type Body = Response['body']

/** What a refusal says: its status and its code. */
export const refusal = ({ status, body }: Response): [number, string] => [status, body.code]

/** Broken fields by name, of a `validation_failed`; fails on any other answer. */
export function brokenFields({ status, body, text }: Response): Record<string, string> {
  if (status !== 400 || body.code !== 'validation_failed') throw new Error(`no validation_failed: ${status} ${text}`)
  return Object.fromEntries(body.errors.map(({ field, message }: Record<string, string>) => [field, message]))
}

/** The body of an answer with that status; fails on any other. */
export function bodyOf(status: number, answer: Response): Body {
  if (answer.status !== status) throw new Error(`${answer.status} instead of ${status}: ${answer.text}`)
  return answer.body
}
