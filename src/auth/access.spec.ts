import { describe, expect, it } from '@jest/globals'
import type { Request, Response } from 'express'
import { loadConfig } from '../config/config.js'
import type { Route } from '../http/route-table.js'
import { type AccessRule, admits, rolesOf } from './access-rule.js'
import { Access } from './access.js'
import { AdminGuard } from './admin.guard.js'
import { Authenticator } from './authenticator.js'
import { BearerStrategy } from './bearer.strategy.js'
import { type Role, ROLES } from '../role/role.js'
import { ServiceAuthGuard } from './service-auth.guard.js'
import { Tokens } from './tokens.js'

const config = loadConfig({})
const authenticator = new Authenticator(new BearerStrategy(new Tokens(config)))
const access = new Access(authenticator, new ServiceAuthGuard(), new AdminGuard(), config)

const ask = (rule: AccessRule, role: Role): string => {
  const request = { principal: { name: 'somebody', role } } as Request
  const route = { access: rule, openedBy: undefined, controller: Access, handler: 'admit' } as unknown as Route
  try {
    access.admit(request, {} as Response, route)
    return 'admitted'
  } catch (error) {
    return (error as Error).message
  }
}

const RULES: AccessRule[] = ['public', 'any', 'usage', 'service', 'admin']

describe('access', () => {
  it.each(RULES)('of the rule %s is what the rule says of each role', (rule) => {
    for (const role of ROLES) expect(ask(rule, role) === 'admitted').toBe(admits(rule, role))
  })

  it.each(RULES.filter((rule) => rule !== 'public'))('of the rule %s is not had by a role it does not know', (rule) => {
    expect(ask(rule, 'auditor' as Role)).toBe(
      `forbidden: this needs a token with the role ${rolesOf(rule).join(' or ')}`,
    )
  })

  it('to quotas of SMS is for administrators alone', () => {
    expect(ask('admin', 'service')).toBe('forbidden: this needs a token with the role admin')
  })
})
