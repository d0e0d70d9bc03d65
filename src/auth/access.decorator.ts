import { applyDecorators, type CanActivate, SetMetadata, type Type, UseGuards } from '@nestjs/common'
import { ApiBearerAuth } from '@nestjs/swagger'
import type { ChannelScope, Scope } from '../common/scope.js'
import type { AccessRule, OpeningFlag } from './access-rule.js'
import { AdminGuard, OthersKeysGuard, RoleGuard, ServiceAuthGuard } from './role.guard.js'

/** Metadata key of the access rule of a handler or its class. */
export const ACCESS_RULE = 'quota:access'

/** Metadata key of the configuration variable that opens the route to everybody. */
export const OPENED_BY = 'quota:opened-by'

/** Metadata key of the channel that the route belongs to. */
export const ROUTE_CHANNEL = 'quota:channel'

/** Metadata key of the scopes that the route denies. */
export const CLOSED_TO = 'quota:closed-to'

/** Name of the security scheme in the API document. */
export const BEARER_SCHEME = 'bearer'

/** Applies to a route, or to all routes of a controller. */
type RouteDecorator = ClassDecorator & MethodDecorator

/** Opens a route to everybody, with or without a token. */
export function Public(): RouteDecorator {
  return SetMetadata(ACCESS_RULE, 'public' satisfies AccessRule)
}

/** Opens a route to every role that the rule `any` admits, and by `openedBy` to everybody; for reading only. */
export function AnyPrincipal(openedBy?: OpeningFlag): RouteDecorator {
  return guarded('any', new RoleGuard('any'), ...(openedBy === undefined ? [] : [SetMetadata(OPENED_BY, openedBy)]))
}

/** Opens a route to the roles that use the API, and by `openedBy` to everybody. */
export function DocsAuth(openedBy: OpeningFlag): RouteDecorator {
  return guarded('docs', new RoleGuard('docs'), SetMetadata(OPENED_BY, openedBy))
}

/** Opens a route of a channel to the roles that the rule `usage` admits: spending, settling, reading usage. */
export function UsageAuth(channel: ChannelScope): RouteDecorator {
  return guarded('usage', new RoleGuard('usage'), SetMetadata(ROUTE_CHANNEL, channel))
}

/** Opens a route of a channel to the roles `service` and `admin`. */
export function ServiceAuth(channel: ChannelScope): RouteDecorator {
  return guarded('service', ServiceAuthGuard, SetMetadata(ROUTE_CHANNEL, channel))
}

/** Opens a route of a channel to the role `admin`. */
export function AdminAuth(channel: ChannelScope): RouteDecorator {
  return guarded('admin', AdminGuard, SetMetadata(ROUTE_CHANNEL, channel))
}

/** Opens a route that belongs to no channel to the role `admin`. Tokens with the scope of a channel are denied. */
export function AnyAdminAuth(): RouteDecorator {
  return guarded('admin', AdminGuard)
}

/** Opens a route to links of owners, and to no token. `CallerGuard` itself admits them. */
export function LinkAuth(): RouteDecorator {
  return applyDecorators(SetMetadata(ACCESS_RULE, 'link' satisfies AccessRule), ApiBearerAuth(BEARER_SCHEME))
}

/** Denies a route to tokens with these scopes, even if its rule permits them. */
export function ClosedTo(...scopes: Scope[]): RouteDecorator {
  return SetMetadata(CLOSED_TO, scopes)
}

/** Lets a query name another `caller` only if the role also satisfies this rule. */
export function OthersKeys(access: AccessRule): MethodDecorator {
  return UseGuards(new OthersKeysGuard(access))
}

/** Sets a rule and the guard that enforces it after `CallerGuard` has authenticated the caller. */
function guarded(
  access: AccessRule,
  guard: CanActivate | Type<CanActivate>,
  ...more: RouteDecorator[]
): RouteDecorator {
  return applyDecorators(SetMetadata(ACCESS_RULE, access), UseGuards(guard), ...more, ApiBearerAuth(BEARER_SCHEME))
}
