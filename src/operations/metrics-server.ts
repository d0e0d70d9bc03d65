import { once } from 'node:events'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type BeforeApplicationShutdown, Injectable } from '@nestjs/common'
import type { Config } from '../config/config.js'
import { type ConnectionObserver, Connections } from '../http/connections.js'
import { MetricsController } from './metrics.controller.js'
import { closeServer } from './shutdown.js'
import type { Route } from '../http/route-table.js'

/** Is this the route that goes to a socket of its own with METRICS_PORT? */
export function isMetrics({ controller }: Pick<Route, 'controller'>): boolean {
  return controller === MetricsController
}

/**
 * The socket of `/metrics`, where METRICS_PORT gives it one. It has connections of its own, by the limits of the
 * other's: who fills the public socket does not keep out those who watch. It is closed last, after the answers on the
 * other one.
 */
@Injectable()
export class MetricsServer implements BeforeApplicationShutdown {
  private readonly connections = new Connections()
  private server: Server | undefined
  private address: Pick<Config, 'metricsPort' | 'metricsHost'> | undefined

  /**
   * Makes ready what is to listen.
   * @param server gives its requests to the pipeline
   * @param observer of its connections
   */
  prepare(server: Server, config: Config, observer: ConnectionObserver | undefined): void {
    this.connections.observer = observer
    this.connections.guard(server, config)
    this.address = config
    this.server = server
  }

  /** @returns where it listens; undefined without METRICS_PORT. @throws Error as of the system, where it cannot */
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
