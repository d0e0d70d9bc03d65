import { createHash } from 'node:crypto'
import { Injectable } from '@nestjs/common'
import { base64url, decodeProtectedHeader, errors, type JWTPayload, jwtVerify, UnsecuredJWT } from 'jose'
import { Clock } from '../clock/clock.js'
import { Config } from '../config/config.js'
import type { OidcConfig, OidcRole } from '../config/oidc.js'
import { ServiceError } from '../error/service-error.js'
import { OIDC_PREFIX, oidcName } from '../role/principal-name.js'
import { type Instant, MAX_INSTANT } from '../time/instant.js'
import type { Principal } from './principal.js'
import { ProviderKeys } from './provider-keys.js'

/** Signatures by a key of the provider's own; none by a shared secret, and never none at all. */
const ALGORITHMS = ['RS256', 'PS256', 'ES256', 'EdDSA'] as const
/** The head of a token without a signature, whose claims alone are looked at. */
const UNSECURED = base64url.encode('{"alg":"none"}')
/** How long a verified token is remembered at most, in milliseconds, and how many are. */
const REMEMBERED_MS = 300_000
const MAX_REMEMBERED = 10_000
/** Where a name is looked for, unless OIDC_NAME_CLAIM says it. */
const NAME_CLAIMS = ['preferred_username', 'email', 'client_id', 'azp', 'sub'] as const

type FoundKey = Awaited<ReturnType<ProviderKeys['find']>>

interface Remembered {
  readonly principal: Principal
  /** The last instant at which it is taken without being verified again. */
  readonly until: Instant
  readonly generation: number
}

/**
 * Admits access tokens of the identity provider (contract, §12): signed by one of its keys, for this service, within
 * their time, with a role.
 */
@Injectable()
export class JwtVerifier {
  /** Principals by their tokens, in the order in which these were verified. */
  private readonly remembered = new Map<string, Remembered>()

  constructor(
    private readonly config: Config,
    private readonly clock: Clock,
    private readonly keys: ProviderKeys,
  ) {}

  /** Could this be a JWT? Static tokens have no dots. */
  concerns(token: string): boolean {
    return this.config.oidc !== undefined && token.split('.', 4).length === 3
  }

  /**
   * @returns whose token it is; false where it is not good
   * @throws ServiceError forbidden where it is good and gives no role, unavailable where nobody can say yet
   */
  async principalOf(token: string): Promise<Principal | false> {
    const { oidc } = this.config
    if (oidc === undefined) return false
    const now = this.clock.now()
    const known = this.remembered.get(token)
    if (known !== undefined) {
      if (now < known.until && known.generation === this.keys.generation) return known.principal
      this.remembered.delete(token)
    }
    // Keys that change from here on make it be verified again.
    const { generation } = this.keys
    const claims = await this.verify(token, oidc, now)
    if (claims === undefined) return false
    const { exp = 0, sub } = claims
    const name = nameOf(claims, oidc)
    // What a caller is known by for ever is a text.
    if (typeof sub !== 'string' || sub === '' || name === undefined) return false
    const granted = roleOf(claims, oidc)
    if (granted === undefined) throw new ServiceError('forbidden', 'the token is good, but gives no role here')
    const { role, scopes } = granted
    const principal: Principal = Object.freeze({
      name: oidcName(name),
      id: `${OIDC_PREFIX}${digestOf(JSON.stringify([oidc.issuer, sub])).slice(0, 32)}`,
      role,
      scopes,
      source: 'oidc',
      expiresAt: Math.min(Math.floor(exp * 1000), MAX_INSTANT),
    })
    this.remember(token, { principal, until: Math.min(exp * 1000, now + REMEMBERED_MS), generation })
    return principal
  }

  private remember(token: string, verified: Remembered): void {
    this.remembered.set(token, verified)
    if (this.remembered.size <= MAX_REMEMBERED) return
    for (const oldest of this.remembered.keys()) {
      this.remembered.delete(oldest)
      break
    }
  }

  /** What a good token claims; undefined for any other. */
  private async verify(
    token: string,
    { issuer, audience, clockSkewSeconds }: OidcConfig,
    now: Instant,
  ): Promise<JWTPayload | undefined> {
    try {
      const asked = {
        issuer,
        audience,
        clockTolerance: clockSkewSeconds,
        currentDate: new Date(now),
        requiredClaims: ['exp', 'sub'],
      }
      // What is not good whatever its key makes nobody ask the provider, and is refused while that is away.
      const { alg } = decodeProtectedHeader(token)
      if (!ALGORITHMS.some((one) => one === alg)) return undefined
      UnsecuredJWT.decode(`${UNSECURED}.${token.split('.')[1] ?? ''}.`, asked)
      const { payload } = await jwtVerify(token, async (header, jws) => this.keyOf(header, jws), {
        ...asked,
        algorithms: [...ALGORITHMS],
      })
      return payload
    } catch (error) {
      // Whatever is wrong with a token, it is not good; TypeErrors are keys that do not fit.
      if (error instanceof errors.JOSEError || error instanceof TypeError) return undefined
      throw error
    }
  }

  private async keyOf(...token: Parameters<ProviderKeys['find']>): Promise<NonNullable<FoundKey>> {
    const key = await this.keys.find(...token)
    if (key === undefined) throw new errors.JWKSNoMatchingKey()
    return key
  }
}

/** The name to show; undefined where no claim has one. */
function nameOf(claims: JWTPayload, { nameClaim }: OidcConfig): string | undefined {
  const names = nameClaim === undefined ? NAME_CLAIMS : [nameClaim]
  return names.map((name) => valueAt(claims, name)).find(isName)
}

/** Halves of surrogate pairs are no text. */
function isName(value: unknown): value is string {
  return typeof value === 'string' && value !== '' && !/\p{Cs}/u.test(value)
}

/** The first entry of OIDC_ROLES whose value the claim holds. */
function roleOf(claims: JWTPayload, { roles, rolesClaim }: OidcConfig): OidcRole | undefined {
  const claim = valueAt(claims, rolesClaim)
  const held = new Set(typeof claim === 'string' ? claim.split(' ') : Array.isArray(claim) ? claim : [])
  return roles.find(({ value }) => held.has(value))
}

/** A claim by a path of names, or else by a name that holds dots itself. */
function valueAt(claims: JWTPayload, path: string): unknown {
  let value: unknown = claims
  for (const name of path.split('.')) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return claims[path]
    value = (value as Record<string, unknown>)[name]
  }
  return value
}

function digestOf(text: string): string {
  return createHash('sha256').update(text, 'utf8').digest('hex')
}
