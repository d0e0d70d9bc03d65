import { describe, expect, it } from '@jest/globals'
import type { Request, Response } from 'express'
import { SystemClock } from '../clock/clock.js'
import { loadConfig } from '../config/config.js'
import type { Route } from '../http/route-table.js'
import type { ChannelScope, Scope } from '../role/scope.js'
import { type AccessRule, admits, rolesOf } from './access-rule.js'
import { Access } from './access.js'
import { AdminGuard } from './admin.guard.js'
import { Authenticator } from './authenticator.js'
import { BearerStrategy } from './bearer.strategy.js'
import { type Role, ROLES } from '../role/role.js'
import { JwtVerifier } from './jwt.js'
import { ProviderKeys } from './provider-keys.js'
import { ServiceAuthGuard } from './service-auth.guard.js'
import { Tokens } from './tokens.js'

const config = loadConfig({})
const clock = new SystemClock()
const jwts = new JwtVerifier(config, clock, new ProviderKeys(config, clock))
const authenticator = new Authenticator(new BearerStrategy(new Tokens(config, clock), clock, jwts))
const access = new Access(authenticator, new ServiceAuthGuard(), new AdminGuard(), config)

interface Asked {
  scopes?: readonly Scope[]
  channel?: ChannelScope
  closedTo?: readonly Scope[]
}

const ask = (rule: AccessRule, role: Role, { scopes, channel, closedTo = [] }: Asked = {}): string => {
  const request = { principal: { name: 'somebody', role, scopes } } as Request
  const guarded = { access: rule, openedBy: undefined, controller: Access, handler: 'admit', channel, closedTo }
  const route = guarded as unknown as Route
  try {
    access.admit(request, {} as Response, route)
    return 'admitted'
  } catch (error) {
    return (error as Error).message
  }
}

const RULES: AccessRule[] = ['public', 'any', 'docs', 'usage', 'service', 'admin']

describe('access', () => {
  it.each(RULES)('of the rule %s is what the rule says of each role', (rule) => {
    for (const role of ROLES) expect(ask(rule, role) === 'admitted').toBe(admits(rule, role))
  })

  it.each(RULES.filter((rule) => rule !== 'public'))('of the rule %s is not had by a role it does not know', (rule) => {
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
    // What a role may not do, no scope gives it.
    ['service', 'usage', ['mail'], 'mail', 'forbidden: this needs a token with the role service or admin'],
    ['service', 'admin', ['own'], 'mail', 'forbidden: a token of the scope own may not do this'],
  ])('of the rule %s, role %s, scopes %j, to %s: %s', (rule, role, scopes, channel, expected) => {
    const asked = channel === undefined ? { scopes } : { scopes, channel }
    expect(ask(rule, role, asked)).toBe(expected)
  })

  it('is what a route says of a scope, whatever its rule', () => {
    expect(ask('any', 'usage', { scopes: ['own'], closedTo: ['own'] })).toMatch(/^forbidden: .* own /)
    expect(ask('any', 'usage', { scopes: ['mail'], closedTo: ['own'] })).toBe('admitted')
    expect(ask('any', 'usage', { closedTo: ['own'] })).toBe('admitted')
  })

  it('to quotas of SMS is for administrators alone', () => {
    expect(ask('admin', 'service')).toBe('forbidden: this needs a token with the role admin')
  })
})
