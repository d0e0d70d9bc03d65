import { ChannelClient } from './channel.js'
import type { Paths } from './quotas.js'
import { type CallOptions, type ClientOptions, Transport } from './transport.js'
import type { Mail, Me, Sms } from './types.js'

const MAIL: Paths = {
  quotas: '/api/v1/quotas',
  list: '/api/v1/quotas',
  usage: '/api/v1/quotas/usage',
  summary: (owner) => ({ path: `/api/v1/quotas/summary/${encodeURIComponent((owner as Mail['owner']).accountId)}` }),
}

const SMS: Paths = {
  quotas: '/api/sms/admin/quota',
  list: '/api/sms/admin/quota/list',
  usage: '/api/sms/quota/usage',
  summary: (owner) => ({ path: '/api/sms/admin/quota/summary', query: owner }),
}

/**
 * Calls the quota service. What no answer comes to is tried again where that is safe: by its key, or by its nature.
 *
 * Fields have the names of openapi.json in camelCase, both ways: `account_id` is `accountId`.
 */
export class QuotaClient {
  /** Mail accounts and their quotas; an owner is an `accountId`. */
  readonly mail: ChannelClient<Mail>
  /** Users and their SMS quotas; an owner is a `userId`. */
  readonly sms: ChannelClient<Sms>
  private readonly transport: Transport

  /** @throws TypeError where `baseUrl` is none */
  constructor(options: ClientOptions) {
    this.transport = new Transport(options)
    this.mail = new ChannelClient<Mail>(this.transport, MAIL)
    this.sms = new ChannelClient<Sms>(this.transport, SMS)
  }

  /** Returns the principal of the token. */
  async me(options: CallOptions = {}): Promise<Me> {
    return (await this.transport.send({ ...options, method: 'GET', path: '/api/v1/me' })).body as Me
  }
}
