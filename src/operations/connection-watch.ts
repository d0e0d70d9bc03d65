import { Inject, Injectable, Logger } from '@nestjs/common'
import { Counter, Gauge, Registry } from 'prom-client'
import { type ConnectionObserver, Connections, type Overload, type Rejection } from '../http/connections.js'
import { METRICS_REGISTRY } from '../common/metrics.js'
import { RateLimitedLog } from '../common/rate-limited-log.js'

const OVERLOADS: Readonly<Record<Overload, string>> = {
  refused: 'a new connection was refused: MAX_CONNECTIONS are open and busy',
  evicted: 'a connection that waited for its caller was closed to make room for a new one: MAX_CONNECTIONS are open',
}

const UNKNOWN = 'an unknown address'

/** Measures and logs events of connections, and bytes that are not requests; neither is in the request log. */
@Injectable()
export class ConnectionWatch implements ConnectionObserver {
  private readonly logger = new Logger('Connections')
  private readonly tell = new RateLimitedLog((message) => this.logger.warn(message))
  private readonly overloads: Counter<'how'>
  private readonly rejections: Counter<'why'>

  constructor(@Inject(METRICS_REGISTRY) registry: Registry, connections: Connections) {
    const registers = [registry]
    this.overloads = new Counter({
      name: 'http_connections_shed_total',
      help: 'Connections closed because MAX_CONNECTIONS were open: refused, or evicted while they waited for their caller.',
      labelNames: ['how'],
      registers,
    })
    this.rejections = new Counter({
      name: 'http_connections_broken_off_total',
      help: 'Connections closed because of their input, such as no HTTP, a head too large, a request too slow, or too many in a row.',
      labelNames: ['why'],
      registers,
    })
    new Gauge({
      name: 'http_connections',
      help: 'Open connections: busy with a request, or idle.',
      labelNames: ['state'],
      registers,
      collect() {
        this.set({ state: 'busy' }, connections.busy)
        this.set({ state: 'idle' }, connections.idle)
      },
    })
    connections.observer = this
  }

  rejected(why: Rejection, address: string | undefined): void {
    this.rejections.inc({ why })
    this.tell.happened(why, `a connection was closed: ${why}; from ${address ?? UNKNOWN}`)
  }

  overloaded(how: Overload, address: string | undefined): void {
    this.overloads.inc({ how })
    this.tell.happened(how, `${OVERLOADS[how]}; from ${address ?? UNKNOWN}`)
  }
}
