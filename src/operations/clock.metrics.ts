import { Inject, Injectable } from '@nestjs/common'
import { Counter, Gauge, type Registry } from 'prom-client'
import { Clock } from '../common/clock.js'
import { StoreClock } from '../database/store-clock.js'
import { METRICS_REGISTRY } from '../common/metrics.js'

/** Exports the difference between this machine's clock and the database's, and whether the latter is steady. */
@Injectable()
export class ClockMetrics {
  constructor(@Inject(METRICS_REGISTRY) registry: Registry, clock: Clock) {
    const registers = [registry]
    new Gauge({
      name: 'clock_steady',
      help: "1 while the database's time is steady; 0 while nothing is swept, added up or removed.",
      registers,
      collect() {
        this.set(clock.steady ? 1 : 0)
      },
    })
    if (!(clock instanceof StoreClock)) return
    new Gauge({
      name: 'clock_host_offset_seconds',
      help: "How far this machine's clock is ahead of the database's; negative if it is behind.",
      registers,
      collect() {
        this.set(clock.hostOffsetMs / 1000)
      },
    })
    const steps = new Counter({
      name: 'clock_steps_total',
      help: "Steps of the database's time by more than two seconds.",
      registers,
    })
    clock.onStep = () => steps.inc()
  }
}
