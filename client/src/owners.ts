import { Calls } from './calls.js'
import type { CallOptions } from './transport.js'
import type { AnyChannel, CreateLink, Link } from './types.js'

/** What the owners of a channel may see of themselves. */
export class Owners<Channel extends AnyChannel> extends Calls {
  /**
   * Makes a link to a page that shows an owner what it has left, without a sign-in, to whoever has the `url`.
   * @throws Problem `route_not_found`: the operator has set no LINK_SECRET
   */
  link(owner: Channel['owner'], link: CreateLink = {}, options: CallOptions = {}): Promise<Link> {
    return this.post(owner, ['link'], link, options)
  }

  /** Ends all links of an owner that were made before. */
  async revokeLinks(owner: Channel['owner'], options: CallOptions = {}): Promise<void> {
    await this.post(owner, ['links', 'revoke'], {}, options)
  }

  private post<Body>(owner: Channel['owner'], what: string[], body: object, options: CallOptions): Promise<Body> {
    const [ownerId = 0] = Object.values(owner as Record<string, number>)
    return this.call({ ...options, method: 'POST', path: this.at(ownerId, ...what), body, repeatable: true })
  }
}
