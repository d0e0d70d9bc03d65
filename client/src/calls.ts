import { Listing } from './listing.js'
import type { Call, CallOptions, Transport } from './transport.js'

/** The calls whose paths are below one folder. */
export abstract class Calls {
  constructor(
    protected readonly transport: Transport,
    private readonly folder: string,
  ) {}

  protected listing<Page extends { readonly items: readonly unknown[] }>(
    path: string,
    filter: object,
    options: CallOptions,
    next: (page: Page) => object | undefined,
    newestFirst = false,
  ): Listing<Page> {
    return new Listing<Page>(
      (more) => this.call({ ...options, method: 'GET', path, query: { ...filter, ...more } }),
      next,
      newestFirst,
    )
  }

  protected async call<Body>(call: Call): Promise<Body> {
    return (await this.transport.send(call)).body as Body
  }

  /** The path of the folder, or of something in it. */
  protected at(...parts: (string | number)[]): string {
    return [this.folder, ...parts.map(encodeURIComponent)].join('/')
  }
}
