import { type Role, ROLES } from '../role/role.js'
import { readScopes, type Scope } from '../role/scope.js'

/** What a value of the roles claim makes of whoever has it. */
export interface OidcRole {
  /** The claim's value. */
  readonly value: string
  readonly role: Role
  /** What narrows the role; undefined where nothing does. */
  readonly scopes: readonly Scope[] | undefined
}

/** The identity provider whose tokens are admitted (contract, §12). */
export interface OidcConfig {
  /** The `iss` of its tokens, exactly; its discovery document lies below. */
  readonly issuer: string
  /** The `aud` that an access token for this service names. */
  readonly audience: string
  /** In order: the first one that the claim holds decides. */
  readonly roles: readonly OidcRole[]
  /** The claim that holds the roles: its name, or a path of names joined by dots. */
  readonly rolesClaim: string
  /** The claim that holds the name to show; undefined: the usual ones in their order. */
  readonly nameClaim: string | undefined
  /** The public client that the console signs in with; undefined: the console takes tokens alone. */
  readonly consoleClientId: string | undefined
  /** What the console asks the provider for. */
  readonly consoleScope: string
  /** By how much the provider's clock may differ, in seconds; 0 … 300. */
  readonly clockSkewSeconds: number
}

/** How settings are read, and where mistakes in them are told. */
export interface Settings {
  readonly mistakes: string[]
  text(name: string): string | undefined
  list(name: string): string[]
  integer(name: string, fallback: number, min: number, max: number): number
}

const MAX_CLOCK_SKEW_SECONDS = 300

/** Reads whose tokens are admitted; undefined where no issuer is named: static tokens alone are admitted then. */
export function readOidc(read: Settings): OidcConfig | undefined {
  const before = read.mistakes.length
  const found = readSettings(read)
  if (found.issuer !== '') return found
  // Nobody asks for what is wrong there.
  read.mistakes.splice(before)
  return undefined
}

function readSettings(read: Settings): OidcConfig {
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

function readRoles(read: Settings): OidcRole[] {
  const entries = read.list('OIDC_ROLES')
  if (entries.length === 0) {
    read.mistakes.push(
      'OIDC_ROLES is required with OIDC_ISSUER: comma-separated value:role, like quota-admins:admin,mailers:usage+mail',
    )
  }
  return entries.flatMap((entry, index) => {
    // A value may be a URI and have colons of its own.
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

/** Is what is sent to this URL encrypted, or does it stay on this machine? */
export function isSecureUrl(text: string): boolean {
  if (!URL.canParse(text)) return false
  const { protocol, hostname } = new URL(text)
  if (protocol === 'https:') return true
  return (
    protocol === 'http:' && (hostname === 'localhost' || hostname === '[::1]' || /^127\.\d+\.\d+\.\d+$/.test(hostname))
  )
}
