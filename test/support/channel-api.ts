/** One channel as its callers see it: everything that tells the two apart. */
export interface ChannelApi {
  /** Its name in code, in metrics and in front of its tables. */
  readonly channel: 'mail' | 'sms'
  /** Its name in the titles of tests. */
  readonly name: 'mail' | 'SMS'
  /** Where quotas are made and, followed by an id, reached. */
  readonly quotas: string
  readonly list: string
  /** Where usage lives. */
  readonly usage: string
  readonly consume: string
  readonly reserve: string
  /** The field that names whom a quota limits. */
  readonly owner: 'account_id' | 'user_id'
  /** The largest set of people that a new quota names, beside its owner. */
  readonly named: Record<string, number>
  /** What a record says of people where its create named the owner alone. */
  readonly unnamed: Record<string, null>
  summary(owner: number | string): string
}

export const MAIL_API: ChannelApi = {
  channel: 'mail',
  name: 'mail',
  quotas: '/api/v1/quotas',
  list: '/api/v1/quotas',
  usage: '/api/v1/quotas/usage',
  consume: '/api/v1/quotas/usage/consume',
  reserve: '/api/v1/quotas/usage/reserve',
  owner: 'account_id',
  named: { user_id: 3 },
  unnamed: { user_id: null },
  summary: (owner) => `/api/v1/quotas/summary/${owner}`,
}

export const SMS_API: ChannelApi = {
  channel: 'sms',
  name: 'SMS',
  quotas: '/api/sms/admin/quota',
  list: '/api/sms/admin/quota/list',
  usage: '/api/sms/quota/usage',
  consume: '/api/sms/quota/usage/consume',
  reserve: '/api/sms/quota/usage/reserve',
  owner: 'user_id',
  named: {},
  unnamed: {},
  summary: (owner) => `/api/sms/admin/quota/summary?user_id=${owner}`,
}
