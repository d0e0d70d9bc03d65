import { ChannelClient } from './channel.js'
import type { Paths } from './paths.js'
import { type CallOptions, type ClientOptions, Transport } from './transport.js'
import type { Mail, Me, OwnerView, Sms } from './types.js'

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
 * The client of the quota service. It retries calls without an answer if that is safe: because of their key, or because
 * they have no effect.
 *
 * Fields have the names of openapi.json in camelCase, in both directions: `account_id` is `accountId`.
 */
export class QuotaClient {
  /** Mail accounts and their quotas; an owner is an `accountId`. */
  readonly mail: ChannelClient<Mail>
  /** Users and their SMS quotas; an owner is a `userId`. */
  readonly sms: ChannelClient<Sms>
  private readonly transport: Transport

  /** @throws TypeError if `baseUrl` is not a URL */
  constructor(options: ClientOptions) {
    this.transport = new Transport(options)
    this.mail = new ChannelClient<Mail>(this.transport, MAIL)
    this.sms = new ChannelClient<Sms>(this.transport, SMS)
  }

  /** Returns the principal of the token. */
  async me(options: CallOptions = {}): Promise<Me> {
    return (await this.transport.send({ ...options, method: 'GET', path: '/api/v1/me' })).body as Me
  }

  /** Returns what the owner of a link sees. The client's token is that of the link: what follows `#` in its `url`. */
  async view(options: CallOptions = {}): Promise<OwnerView> {
    return (await this.transport.send({ ...options, method: 'GET', path: '/api/v1/view' })).body as OwnerView
  }
}
