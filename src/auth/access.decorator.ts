import { applyDecorators, type CustomDecorator, SetMetadata } from '@nestjs/common'
import { ApiBearerAuth } from '@nestjs/swagger'
import type { ChannelScope, Scope } from '../role/scope.js'
import type { AccessRule } from './access-rule.js'

/** Configuration that opens a route to everybody. */
export type OpeningFlag = 'docsPublic' | 'metricsPublic'

/** Metadata key under which a handler, or else its class, declares its rule. */
export const ACCESS_RULE = 'quota:access'

/** Metadata key of the configuration that lifts the rule. */
export const OPENED_BY = 'quota:opened-by'

/** Metadata key of the channel whose route it is. */
export const ROUTE_CHANNEL = 'quota:channel'

/** Metadata key of the scopes that a route keeps out. */
export const CLOSED_TO = 'quota:closed-to'

/** Metadata key of the rule that a query must meet which names another caller. */
export const OTHERS_KEYS = 'quota:others-keys'

/** Name of the security scheme in the API document. */
export const BEARER_SCHEME = 'bearer'

function rule(access: AccessRule): CustomDecorator {
  return SetMetadata(ACCESS_RULE, access)
}

/** Open to everybody, token or not. */
export function Public(): ClassDecorator & MethodDecorator {
  return rule('public')
}

/**
 * For reading what is secret to strangers alone: open to every role that the rule `any` admits.
 * @param openedBy the configuration that opens the route to everybody
 */
export function AnyPrincipal(openedBy?: OpeningFlag): ClassDecorator & MethodDecorator {
  return openable('any', openedBy)
}

/** For those who use the API. @param openedBy the configuration that opens the route to everybody */
export function DocsAuth(openedBy: OpeningFlag): ClassDecorator & MethodDecorator {
  return openable('docs', openedBy)
}

/**
 * For spending, settling, and what was spent: open to the roles that the rule `usage` admits.
 * @param channel whose usage it is
 */
export function UsageAuth(channel: ChannelScope): ClassDecorator & MethodDecorator {
  return ruleOf('usage', channel)
}

/** Open to the roles `service` and `admin`. @param channel whose route it is */
export function ServiceAuth(channel: ChannelScope): ClassDecorator & MethodDecorator {
  return ruleOf('service', channel)
}

/** Open to the role `admin` alone. @param channel whose route it is */
export function AdminAuth(channel: ChannelScope): ClassDecorator & MethodDecorator {
  return ruleOf('admin', channel)
}

/** The same for a route that belongs to no channel: a token that is narrowed to one does not get there. */
export function AnyAdminAuth(): ClassDecorator & MethodDecorator {
  return applyDecorators(rule('admin'), ApiBearerAuth(BEARER_SCHEME))
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
  return SetMetadata(OTHERS_KEYS, access)
}

function openable(access: AccessRule, openedBy: OpeningFlag | undefined): ClassDecorator & MethodDecorator {
  return applyDecorators(
    rule(access),
    ...(openedBy === undefined ? [] : [SetMetadata(OPENED_BY, openedBy)]),
    ApiBearerAuth(BEARER_SCHEME),
  )
}

/** What a channel's route asks; a token that is narrowed to another channel does not get there. */
function ruleOf(access: AccessRule, channel: ChannelScope): ClassDecorator & MethodDecorator {
  return applyDecorators(rule(access), SetMetadata(ROUTE_CHANNEL, channel), ApiBearerAuth(BEARER_SCHEME))
}
