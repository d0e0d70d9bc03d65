import { Controller, Get, Global, Injectable, Module } from '@nestjs/common'
import { ApiOkResponse, ApiTags } from '@nestjs/swagger'
import { LinkAuth } from '../auth/access.decorator.js'
import { Holder } from '../auth/caller.decorator.js'
import type { LinkHolder } from '../auth/principal.js'
import { ServiceError } from '../common/service-error.js'
import { OwnerViewDto } from './link.dto.js'
import type { LinkService, OwnerView } from './link.service.js'

/** The views of all channels. Each channel registers its own, so that the one route need not import the features. */
@Injectable()
export class OwnerViews {
  private readonly byChannel = new Map<string, Pick<LinkService<never>, 'view'>>()

  add(channel: string, views: Pick<LinkService<never>, 'view'>): void {
    this.byChannel.set(channel, views)
  }

  /** What the holder of a link sees. */
  async of(holder: LinkHolder): Promise<OwnerView> {
    const views = this.byChannel.get(holder.channel)
    if (views === undefined) throw new ServiceError('internal_error', 'a link of a channel that has no views')
    return views.view(holder)
  }
}

/** The route that links of owners open, in place of tokens. */
@ApiTags('Owner links')
@Controller('api/v1/view')
export class ViewController {
  constructor(private readonly views: OwnerViews) {}

  /** Show the owner of a link what it has left */
  @Get()
  @LinkAuth()
  @ApiOkResponse({ type: OwnerViewDto })
  async show(@Holder() holder: LinkHolder): Promise<OwnerView> {
    return this.views.of(holder)
  }
}

/** Collects every channel's views, and serves them. */
@Global()
@Module({ controllers: [ViewController], providers: [OwnerViews], exports: [OwnerViews] })
export class OwnerViewsModule {}
