import { type Role, ROLES } from '../common/role.js'
import { readScopes, type Scope } from '../common/scope.js'

/** The role that a value of the roles claim grants. */
export interface OidcRole {
  /** The claim's value. */
  readonly value: string
  readonly role: Role
  /** The scopes of the role; undefined if there are none. */
  readonly scopes: readonly Scope[] | undefined
}

/** The identity provider whose tokens are accepted (contract, §12). */
export interface OidcConfig {
  /** The exact `iss` of its tokens; its discovery document is below that URL. */
  readonly issuer: string
  /** The `aud` that an access token for this service contains. */
  readonly audience: string
  /** In order: the first one that the claim contains decides. */
  readonly roles: readonly OidcRole[]
  /** The claim that contains the roles: its name, or a path of names joined by dots. */
  readonly rolesClaim: string
  /** The claim that contains the display name; undefined: the usual ones in their order. */
  readonly nameClaim: string | undefined
  /** The public client with which the console signs in; undefined: the console accepts only tokens. */
  readonly consoleClientId: string | undefined
  /** The scopes that the console requests from the provider. */
  readonly consoleScope: string
  /** The permitted difference of the provider's clock, in seconds; 0 … 300. */
  readonly clockSkewSeconds: number
}

/** Reads configuration variables, and collects mistakes in them. */
export interface VariableReader {
  readonly mistakes: string[]
  text(name: string): string | undefined
  list(name: string): string[]
  integer(name: string, fallback: number, min: number, max: number): number
}

const MAX_CLOCK_SKEW_SECONDS = 300

/** Reads the identity provider; undefined if no issuer is named: then only static tokens are accepted. */
export function readOidc(read: VariableReader): OidcConfig | undefined {
  const before = read.mistakes.length
  const found = readVariables(read)
  if (found.issuer !== '') return found
  // Without an issuer, the other variables are not checked.
  read.mistakes.splice(before)
  return undefined
}

function readVariables(read: VariableReader): OidcConfig {
  const issuer = read.text('OIDC_ISSUER') ?? ''
  if (!isIssuer(issuer)) {
    read.mistakes.push(
      'OIDC_ISSUER must be an https URL without query and fragment, like https://login.example.com/realms/office; http is for loopback alone',
    )
  }
  const audience = read.text('OIDC_AUDIENCE')
  if (audience === undefined) {
    read.mistakes.push(
      'OIDC_AUDIENCE is required with OIDC_ISSUER: the audience that access tokens for this service name',
    )
  }
  const consoleClientId = read.text('OIDC_CONSOLE_CLIENT_ID')
  if (audience !== undefined && audience === consoleClientId) {
    read.mistakes.push(
      'OIDC_AUDIENCE must differ from OIDC_CONSOLE_CLIENT_ID: an ID token names the client, and is no access token',
    )
  }
  const rolesClaim = read.text('OIDC_ROLES_CLAIM') ?? 'roles'
  if (rolesClaim.split('.').includes('')) {
    read.mistakes.push('OIDC_ROLES_CLAIM must be the name of a claim, or names joined by dots, like realm_access.roles')
  }
  return Object.freeze({
    issuer,
    audience: audience ?? '',
    roles: Object.freeze(readRoles(read)),
    rolesClaim,
    nameClaim: read.text('OIDC_NAME_CLAIM'),
    consoleClientId,
    consoleScope: read.text('OIDC_CONSOLE_SCOPE') ?? 'openid',
    clockSkewSeconds: read.integer('OIDC_CLOCK_SKEW_SECONDS', 30, 0, MAX_CLOCK_SKEW_SECONDS),
  })
}

function readRoles(read: VariableReader): OidcRole[] {
  const entries = read.list('OIDC_ROLES')
  if (entries.length === 0) {
    read.mistakes.push(
      'OIDC_ROLES is required with OIDC_ISSUER: comma-separated value:role, like quota-admins:admin,mailers:usage+mail',
    )
  }
  return entries.flatMap((entry, index) => {
    // A value may be a URI, which contains colons.
    const colon = entry.lastIndexOf(':')
    const value = entry.slice(0, Math.max(0, colon)).trim()
    const [roleName, ...words] = entry.slice(colon + 1).split('+')
    const role = ROLES.find((one) => one === roleName?.trim())
    const { scopes, mistakes } = readScopes(
      words.map((word) => word.trim()),
      role,
    )
    const wrong = [
      ...(value === '' ? ['must be value:role or value:role+scope'] : []),
      ...(role === undefined ? [`the role must be one of ${ROLES.join(', ')}`] : []),
      ...mistakes,
    ]
    read.mistakes.push(...wrong.map((mistake) => `OIDC_ROLES, entry ${index + 1}: ${mistake}`))
    return role === undefined ? [] : [Object.freeze({ value, role, scopes })]
  })
}

function isIssuer(text: string): boolean {
  if (!URL.canParse(text)) return false
  const { search, hash, username, password } = new URL(text)
  return isSecureUrl(text) && search === '' && hash === '' && username === '' && password === ''
}

/** Are requests to this URL encrypted, or do they stay on this machine? */
export function isSecureUrl(text: string): boolean {
  if (!URL.canParse(text)) return false
  const { protocol, hostname } = new URL(text)
  return protocol === 'https:' || (protocol === 'http:' && isLoopback(hostname))
}

/** Is this host of a URL always this machine? */
export function isLoopback(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127\.\d+\.\d+\.\d+$/.test(hostname)
}
