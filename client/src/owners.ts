import type { Paths } from './paths.js'
import type { CallOptions, Transport } from './transport.js'
import type { AnyChannel, CreateLink, Link } from './types.js'

/** What the owners of a channel may see of themselves. */
export class Owners<Channel extends AnyChannel> {
  constructor(
    private readonly transport: Transport,
    private readonly paths: Paths,
  ) {}

  /**
   * Makes a link to a page that shows an owner what it has left, without a sign-in, to whoever has the `url`.
   * @throws Problem `route_not_found`: the operator has set no LINK_SECRET
   */
  async link(owner: Channel['owner'], link: CreateLink = {}, options: CallOptions = {}): Promise<Link> {
    return (await this.post(owner, 'link', link, options)) as Link
  }

  /** Ends all links of an owner that were made before. */
  async revokeLinks(owner: Channel['owner'], options: CallOptions = {}): Promise<void> {
    await this.post(owner, 'links/revoke', {}, options)
  }

  private async post(owner: Channel['owner'], what: string, body: object, options: CallOptions): Promise<unknown> {
    const [ownerId = 0] = Object.values(owner as Record<string, number>)
    const path = `${this.paths.quotas}/owners/${encodeURIComponent(ownerId)}/${what}`
    return (await this.transport.send({ ...options, method: 'POST', path, body, repeatable: true })).body
  }
}
