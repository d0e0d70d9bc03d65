/** One channel as its callers see it: all differences between the two. */
export interface ChannelApi {
  /** Its name in code, in metrics and as the prefix of its tables. */
  readonly channel: 'mail' | 'sms'
  /** Its name in the titles of tests. */
  readonly name: 'mail' | 'SMS'
  /** The path for creating quotas and, followed by an id, for each. */
  readonly quotas: string
  readonly list: string
  /** The path of usage. */
  readonly usage: string
  readonly consume: string
  readonly reserve: string
  /** The field that identifies the owner. */
  readonly owner: 'account_id' | 'user_id'
  /** The maximum set of people that a new quota names, besides its owner. */
  readonly named: Record<string, number>
  /** The people in a record whose create named only the owner. */
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

/** The other channel. */
export function otherThan(api: ChannelApi): ChannelApi {
  return api === MAIL_API ? SMS_API : MAIL_API
}
