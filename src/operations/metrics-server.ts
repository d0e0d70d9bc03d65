import { once } from 'node:events'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type BeforeApplicationShutdown, Injectable } from '@nestjs/common'
import type { Config } from '../config/config.js'
import { type ConnectionObserver, Connections } from '../http/connections.js'
import { MetricsController } from './metrics.controller.js'
import { closeServer } from './shutdown.js'
import type { Route } from '../http/route-table.js'

/** Is this the route that METRICS_PORT moves to a separate socket? */
export function isMetrics({ controller }: Pick<Route, 'controller'>): boolean {
  return controller === MetricsController
}

/**
 * The separate socket of `/metrics`, if METRICS_PORT is set. It has its own connections, with the same limits: a flood
 * on the public socket does not block monitoring. It closes last, after the answers on the other socket.
 */
@Injectable()
export class MetricsServer implements BeforeApplicationShutdown {
  private readonly connections = new Connections()
  private server: Server | undefined
  private address: Pick<Config, 'metricsPort' | 'metricsHost'> | undefined

  /**
   * Prepares the server.
   * @param server passes its requests to the pipeline
   * @param observer of its connections
   */
  prepare(server: Server, config: Config, observer: ConnectionObserver | undefined): void {
    this.connections.observer = observer
    this.connections.guard(server, config)
    this.address = config
    this.server = server
  }

  /** @returns the address; undefined without METRICS_PORT. @throws Error of the system, if it cannot listen */
  async listen(): Promise<AddressInfo | undefined> {
    const { server, address } = this
    if (server === undefined) return undefined
    server.listen({ port: address?.metricsPort, host: address?.metricsHost })
    await once(server, 'listening')
    return server.address() as AddressInfo
  }

  async beforeApplicationShutdown(): Promise<void> {
    if (this.server?.listening === true) await closeServer(this.server, this.connections)
  }
}
