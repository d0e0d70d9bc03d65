import { applyDecorators, type CanActivate, SetMetadata, type Type, UseGuards } from '@nestjs/common'
import { ApiBearerAuth } from '@nestjs/swagger'
import type { ChannelScope, Scope } from '../role/scope.js'
import type { AccessRule, OpeningFlag } from './access-rule.js'
import { AdminGuard, OthersKeysGuard, RoleGuard, ServiceAuthGuard } from './role.guard.js'

/** Metadata key under which a handler, or else its class, declares its rule. */
export const ACCESS_RULE = 'quota:access'

/** Metadata key of the configuration that lifts the rule. */
export const OPENED_BY = 'quota:opened-by'

/** Metadata key of the channel whose route it is. */
export const ROUTE_CHANNEL = 'quota:channel'

/** Metadata key of the scopes that a route keeps out. */
export const CLOSED_TO = 'quota:closed-to'

/** Name of the security scheme in the API document. */
export const BEARER_SCHEME = 'bearer'

/** Open to everybody, token or not. */
export function Public(): ClassDecorator & MethodDecorator {
  return SetMetadata(ACCESS_RULE, 'public' satisfies AccessRule)
}

/**
 * For reading what is secret to strangers alone: open to every role that the rule `any` admits.
 * @param openedBy the configuration that opens the route to everybody
 */
export function AnyPrincipal(openedBy?: OpeningFlag): ClassDecorator & MethodDecorator {
  return guarded('any', new RoleGuard('any'), openedBy === undefined ? [] : [SetMetadata(OPENED_BY, openedBy)])
}

/** For those who use the API. @param openedBy the configuration that opens the route to everybody */
export function DocsAuth(openedBy: OpeningFlag): ClassDecorator & MethodDecorator {
  return guarded('docs', new RoleGuard('docs'), [SetMetadata(OPENED_BY, openedBy)])
}

/**
 * For spending, settling, and what was spent: open to the roles that the rule `usage` admits.
 * @param channel whose usage it is
 */
export function UsageAuth(channel: ChannelScope): ClassDecorator & MethodDecorator {
  return guarded('usage', new RoleGuard('usage'), [SetMetadata(ROUTE_CHANNEL, channel)])
}

/** Open to the roles `service` and `admin`. @param channel whose route it is */
export function ServiceAuth(channel: ChannelScope): ClassDecorator & MethodDecorator {
  return guarded('service', ServiceAuthGuard, [SetMetadata(ROUTE_CHANNEL, channel)])
}

/** Open to the role `admin` alone. @param channel whose route it is */
export function AdminAuth(channel: ChannelScope): ClassDecorator & MethodDecorator {
  return guarded('admin', AdminGuard, [SetMetadata(ROUTE_CHANNEL, channel)])
}

/** The same for a route that belongs to no channel: a token that is narrowed to one does not get there. */
export function AnyAdminAuth(): ClassDecorator & MethodDecorator {
  return guarded('admin', AdminGuard)
}

/** Keeps tokens of these scopes out of a route that its rule would leave to them. */
export function ClosedTo(...scopes: Scope[]): ClassDecorator & MethodDecorator {
  return SetMetadata(CLOSED_TO, scopes)
}

/**
 * Lets a query name a `caller` other than the one who asks only where the role also meets another rule.
 * @param access the rule of the channel's quotas
 */
export function OthersKeys(access: AccessRule): MethodDecorator {
  return UseGuards(new OthersKeysGuard(access))
}

/** A rule, and the guard that holds callers to it once the global guard knows who calls. */
function guarded(
  access: AccessRule,
  guard: CanActivate | Type<CanActivate>,
  more: readonly (ClassDecorator & MethodDecorator)[] = [],
): ClassDecorator & MethodDecorator {
  return applyDecorators(SetMetadata(ACCESS_RULE, access), UseGuards(guard), ...more, ApiBearerAuth(BEARER_SCHEME))
}
