import { Controller, Get, Logger } from '@nestjs/common'
import { ApiOkResponse, ApiTags } from '@nestjs/swagger'
import { Public } from '../auth/access.decorator.js'
import { Readiness } from '../database/readiness.js'
import { SharedReads } from '../database/shared-reads.js'
import { Unavailable } from '../common/service-error.js'
import { inTime } from '../common/time-limit.js'
import { Problems } from '../http/problem.decorator.js'
import { LiveDto, ReadyDto } from './health.dto.js'
import { Shutdown } from './shutdown.js'

/** The time within which the store must answer; probes usually give up at about that time. */
const PATIENCE_MS = 2_000

/** The probes of orchestrators and load balancers. */
@ApiTags('Operations')
@Controller('health')
@Public()
export class HealthController {
  private readonly logger = new Logger('Health')
  private readonly store = new SharedReads<void, void>(async () => Promise.all([this.ask()]), { perSecond: 1 })

  constructor(
    private readonly readiness: Readiness,
    private readonly shutdown: Shutdown,
  ) {}

  /** Check whether the process is running */
  @Get('live')
  @ApiOkResponse({ type: LiveDto })
  live(): LiveDto {
    return { status: 'ok' }
  }

  /** Check whether this instance can accept requests */
  @Get('ready')
  @ApiOkResponse({ type: ReadyDto })
  @Problems('unavailable')
  async ready(): Promise<ReadyDto> {
    if (this.shutdown.draining) throw new Unavailable('draining')
    // An outage that requests have met counts at once; a good answer may be a second old.
    this.readiness.require()
    await this.store.get()
    return { status: 'ready' }
  }

  private async ask(): Promise<void> {
    try {
      const answered = this.readiness.check().then(() => true)
      if ((await inTime(PATIENCE_MS, answered)) !== true) throw new Error(`no answer within ${PATIENCE_MS} ms`)
    } catch (error) {
      this.logger.warn(`not ready: ${error instanceof Error ? error.message : String(error)}`)
      throw error instanceof Unavailable ? error : new Unavailable('database_away', { cause: error })
    }
  }
}
