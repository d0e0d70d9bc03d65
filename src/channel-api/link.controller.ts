import { Body, HttpCode, Inject, Injectable, Post, Req } from '@nestjs/common'
import { ApiCreatedResponse, ApiNoContentResponse } from '@nestjs/swagger'
import type { Request } from 'express'
import { CONFIG, type Config } from '../config/config.js'
import { validationFailed } from '../common/service-error.js'
import { IdParam } from '../http/id-param.decorator.js'
import { Problems } from '../http/problem.decorator.js'
import type { Route } from '../http/route-table.js'
import type { QuotaRow } from '../ledger/rows/quota.entity.js'
import { formatInstant } from '../common/instant.js'
import type { ChannelApi } from './channel-api.js'
import { CreateLinkDto, DEFAULT_LINK_SECONDS, LinkDto } from './link.dto.js'
import { LinkService } from './link.service.js'

/** The path of the page that a link shows, below the service's own address. */
export const VIEW_PATH = '/view'

const LINK = 'link'
const REVOKE = 'links/revoke'

/** Returns whether a route makes or revokes links; such routes are served only if there is a LINK_SECRET. */
export function isOfLinks({ path }: Pick<Route, 'path'>): boolean {
  return path.endsWith(`/${LINK}`) || path.endsWith(`/${REVOKE}`)
}

/**
 * The routes of the links of a channel's owners. The channel's controller extends the class and declares its path, that
 * of the quotas and `owners`, and its access rule.
 */
export function linkController({ channel }: ChannelApi) {
  const owner = channel.subjects[0].field

  @Injectable()
  class LinkController {
    constructor(
      protected readonly links: LinkService<QuotaRow>,
      @Inject(CONFIG) protected readonly config: Config,
    ) {}

    /** Make a link to the page of an owner, which opens without a sign-in */
    @Post(`:${owner}/${LINK}`)
    @ApiCreatedResponse({ type: LinkDto })
    @Problems('route_not_found')
    async create(
      @IdParam(owner) ownerId: number,
      @Body() body: CreateLinkDto,
      @Req() request: Request,
    ): Promise<LinkDto> {
      const base = baseOf(this.config, request)
      const { token, expiresAt } = await this.links.make(ownerId, body.ttl_seconds ?? DEFAULT_LINK_SECONDS)
      return { url: `${base}${VIEW_PATH}/#${token}`, expires_at: formatInstant(expiresAt) }
    }

    /** End all links of an owner that were made before */
    @Post(`:${owner}/${REVOKE}`)
    @HttpCode(204)
    @ApiNoContentResponse({ description: 'Revoked.' })
    @Problems('route_not_found')
    async revoke(@IdParam(owner) ownerId: number): Promise<void> {
      await this.links.revoke(ownerId)
    }
  }

  return LinkController
}

/**
 * The address at which people reach the service: PUBLIC_URL, or that of the request, for which Express believes trusted
 * proxies.
 */
function baseOf({ publicUrl }: Config, { protocol, host }: Request): string {
  if (publicUrl !== undefined) return publicUrl
  // HTTP/1.0 needs no Host. A proxy's text with more than a host would lead elsewhere.
  const authority = (host as string | undefined) ?? ''
  const base = `${protocol}://${authority}`
  if (/^[\w.:[\]-]+$/.test(authority) && URL.canParse(base)) return base
  throw validationFailed([{ field: 'Host', message: 'must be the address of the service, unless PUBLIC_URL is set' }])
}
