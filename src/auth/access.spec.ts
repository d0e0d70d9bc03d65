import { describe, expect, it } from '@jest/globals'
import type { ExecutionContext } from '@nestjs/common'
import type { Request } from 'express'
import { type Role, ROLES } from '../common/role.js'
import type { ChannelScope, Scope } from '../common/scope.js'
import { type AccessRule, admits, rolesOf } from './access-rule.js'
import { AdminGuard, OthersKeysGuard, RoleGuard, ServiceAuthGuard } from './role.guard.js'

const contextOf = (request: object) =>
  ({ switchToHttp: () => ({ getRequest: () => request as Request }) }) as ExecutionContext

interface Asked {
  scopes?: readonly Scope[]
  channel?: ChannelScope
  closedTo?: readonly Scope[]
}

const guardOf = (rule: AccessRule): RoleGuard => {
  if (rule === 'service') return new ServiceAuthGuard()
  return rule === 'admin' ? new AdminGuard() : new RoleGuard(rule)
}

const answerOf = (decide: () => boolean): string => {
  try {
    return decide() ? 'admitted' : 'no'
  } catch (error) {
    return (error as Error).message
  }
}

const ask = (rule: AccessRule, role: Role, { scopes, channel, closedTo = [] }: Asked = {}): string => {
  const route = { access: rule, openedBy: undefined, channel, closedTo }
  return answerOf(() => guardOf(rule).canActivate(contextOf({ principal: { name: 'somebody', role, scopes }, route })))
}

const RULES: AccessRule[] = ['any', 'docs', 'usage', 'service', 'admin']

describe('access', () => {
  it.each(RULES)('admits the roles of the rule %s', (rule) => {
    for (const role of ROLES) expect(ask(rule, role) === 'admitted').toBe(admits(rule, role))
  })

  it.each(RULES)('denies an unknown role under the rule %s', (rule) => {
    expect(ask(rule, 'auditor' as Role)).toBe(
      `forbidden: this needs a token with the role ${rolesOf(rule).join(' or ')}`,
    )
  })

  it.each<[AccessRule, Role, Scope[], ChannelScope | undefined, string]>([
    ['usage', 'usage', ['mail'], 'mail', 'admitted'],
    ['usage', 'usage', ['mail'], 'sms', 'forbidden: a token of the scope mail may not do this'],
    ['usage', 'usage', ['mail'], undefined, 'forbidden: a token of the scope mail may not do this'],
    ['usage', 'usage', ['sms', 'own'], 'sms', 'admitted'],
    ['service', 'service', ['mail'], 'mail', 'admitted'],
    ['service', 'admin', ['sms'], 'mail', 'forbidden: a token of the scope sms may not do this'],
    ['admin', 'admin', ['sms'], 'sms', 'admitted'],
    ['admin', 'admin', ['mail'], 'sms', 'forbidden: a token of the scope mail may not do this'],
    ['any', 'usage', ['mail', 'own'], undefined, 'admitted'],
    // No scope adds permissions to a role.
    ['service', 'usage', ['mail'], 'mail', 'forbidden: this needs a token with the role service or admin'],
    ['service', 'admin', ['own'], 'mail', 'forbidden: a token of the scope own may not do this'],
  ])('of the rule %s, role %s, scopes %j, to %s: %s', (rule, role, scopes, channel, expected) => {
    const asked = channel === undefined ? { scopes } : { scopes, channel }
    expect(ask(rule, role, asked)).toBe(expected)
  })

  it('is denied to the scopes that a route names, under any rule', () => {
    expect(ask('any', 'usage', { scopes: ['own'], closedTo: ['own'] })).toMatch(/^forbidden: .* own /)
    expect(ask('any', 'usage', { scopes: ['mail'], closedTo: ['own'] })).toBe('admitted')
    expect(ask('any', 'usage', { closedTo: ['own'] })).toBe('admitted')
  })

  it('to quotas of SMS is only for administrators', () => {
    expect(ask('admin', 'service')).toBe('forbidden: this needs a token with the role admin')
  })

  it('is granted to everybody if configuration opens the route, but only by the guard of its own rule', () => {
    const context = contextOf({ opened: true, route: { access: 'any', closedTo: [] } })
    expect(new RoleGuard('any').canActivate(context)).toBe(true)
    expect(answerOf(() => new AdminGuard().canActivate(context))).toMatch(/^forbidden/)
  })

  it.each<[object, Role, string]>([
    [{}, 'usage', 'admitted'],
    [{ caller: '' }, 'usage', 'admitted'],
    [{ caller: 'somebody' }, 'usage', 'admitted'],
    [{ caller: ['somebody', 'other'] }, 'service', 'admitted'],
    [{ caller: ['somebody', 'other'] }, 'usage', 'forbidden'],
  ])('to the keys that %j names, as %s: %s', (query, role, expected) => {
    const context = contextOf({ query, principal: { name: 'somebody', role } })
    expect(answerOf(() => new OthersKeysGuard('service').canActivate(context)).split(':')[0]).toBe(expected)
  })
})
