import { applyDecorators, type CustomDecorator, SetMetadata } from '@nestjs/common'
import { ApiBearerAuth } from '@nestjs/swagger'
import type { AccessRule } from './access-rule.js'

/** Configuration that opens a route to everybody. */
export type OpeningFlag = 'docsPublic' | 'metricsPublic'

/** Metadata key under which a handler, or else its class, declares its rule. */
export const ACCESS_RULE = 'quota:access'

/** Metadata key of the configuration that lifts the rule. */
export const OPENED_BY = 'quota:opened-by'

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
  return applyDecorators(
    rule('any'),
    ...(openedBy === undefined ? [] : [SetMetadata(OPENED_BY, openedBy)]),
    ApiBearerAuth(BEARER_SCHEME),
  )
}

/** For spending, settling, and what was spent: open to the roles that the rule `usage` admits. */
export function UsageAuth(): ClassDecorator & MethodDecorator {
  return applyDecorators(rule('usage'), ApiBearerAuth(BEARER_SCHEME))
}

/** Open to the roles `service` and `admin`. */
export function ServiceAuth(): ClassDecorator & MethodDecorator {
  return applyDecorators(rule('service'), ApiBearerAuth(BEARER_SCHEME))
}

/** Open to the role `admin` alone. */
export function AdminAuth(): ClassDecorator & MethodDecorator {
  return applyDecorators(rule('admin'), ApiBearerAuth(BEARER_SCHEME))
}
