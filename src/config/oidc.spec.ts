import { describe, expect, it } from '@jest/globals'
import { ConfigError, loadConfig } from './config.js'

const GOOD = {
  OIDC_ISSUER: 'https://login.example.com/realms/office',
  OIDC_AUDIENCE: 'quota',
  OIDC_ROLES: 'quota-admins:admin',
}

function mistakes(env: NodeJS.ProcessEnv): readonly string[] {
  try {
    loadConfig({ ...GOOD, ...env })
    return []
  } catch (error) {
    if (error instanceof ConfigError) return error.mistakes
    throw error
  }
}

describe('the configuration of the identity provider', () => {
  it('are ignored without an issuer', () => {
    expect(loadConfig({ ...GOOD, OIDC_ISSUER: '', OIDC_ROLES: 'nonsense' }).oidc).toBeUndefined()
  })

  it('have defaults', () => {
    expect(loadConfig(GOOD).oidc).toEqual({
      issuer: GOOD.OIDC_ISSUER,
      audience: 'quota',
      roles: [{ value: 'quota-admins', role: 'admin', scopes: undefined }],
      rolesClaim: 'roles',
      nameClaim: undefined,
      consoleClientId: undefined,
      consoleScope: 'openid',
      clockSkewSeconds: 30,
    })
  })

  it('take roles in order, with scopes, and values that are URIs', () => {
    const { oidc } = loadConfig({ ...GOOD, OIDC_ROLES: ' https://x.example/admins:admin , mailers:usage+own+mail' })
    expect(oidc?.roles).toEqual([
      { value: 'https://x.example/admins', role: 'admin', scopes: undefined },
      { value: 'mailers', role: 'usage', scopes: ['mail', 'own'] },
    ])
  })

  it.each([
    'https://login.example.com',
    'https://x/',
    'http://127.0.0.1:8080/a',
    'http://localhost:1',
    'http://[::1]:1',
  ])('take the issuer %s', (issuer) => {
    expect(mistakes({ OIDC_ISSUER: issuer })).toEqual([])
  })

  it.each([
    'login.example.com',
    'http://login.example.com',
    'https://x/?a=b',
    'https://x/#a',
    'https://u:p@x/',
    'ftp://x',
    'http://127.0.0.1.example.com',
  ])('refuse the issuer %s', (issuer) => {
    expect(mistakes({ OIDC_ISSUER: issuer })).toEqual([expect.stringContaining('OIDC_ISSUER must be an https URL')])
  })

  it('name every mistake', () => {
    expect(
      mistakes({
        OIDC_AUDIENCE: '',
        OIDC_ROLES: 'a,b:boss,:admin,c:admin+own,d:usage+mail+sms',
        OIDC_ROLES_CLAIM: 'a..b',
        OIDC_CLOCK_SKEW_SECONDS: '301',
      }),
    ).toEqual([
      'OIDC_AUDIENCE is required with OIDC_ISSUER: the audience that access tokens for this service name',
      'OIDC_ROLES_CLAIM must be the name of a claim, or names joined by dots, like realm_access.roles',
      'OIDC_ROLES, entry 1: must be value:role or value:role+scope',
      'OIDC_ROLES, entry 1: the role must be one of usage, service, admin, metrics',
      'OIDC_ROLES, entry 2: the role must be one of usage, service, admin, metrics',
      'OIDC_ROLES, entry 3: must be value:role or value:role+scope',
      'OIDC_ROLES, entry 4: the scope own does not go with the role admin; it goes with usage',
      'OIDC_ROLES, entry 5: a token has one of the scopes mail, sms, or neither and with it every channel',
      'OIDC_CLOCK_SKEW_SECONDS must be an integer from 0 to 300',
    ])
    expect(mistakes({ OIDC_ROLES: ' , ' })).toEqual([expect.stringContaining('OIDC_ROLES is required')])
  })

  it('exclude ID tokens', () => {
    expect(mistakes({ OIDC_CONSOLE_CLIENT_ID: 'quota' })).toEqual([
      expect.stringContaining('OIDC_AUDIENCE must differ from OIDC_CONSOLE_CLIENT_ID'),
    ])
    expect(mistakes({ OIDC_CONSOLE_CLIENT_ID: 'console' })).toEqual([])
  })
})
