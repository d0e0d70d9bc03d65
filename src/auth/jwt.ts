import { hash } from 'node:crypto'
import { Inject, Injectable } from '@nestjs/common'
import { base64url, decodeProtectedHeader, errors, type JWTPayload, jwtVerify, UnsecuredJWT } from 'jose'
import { Clock } from '../common/clock.js'
import { CONFIG, type Config } from '../config/config.js'
import type { OidcConfig, OidcRole } from '../config/oidc.js'
import { ServiceError } from '../common/service-error.js'
import { OIDC_PREFIX, oidcName } from '../common/principal-name.js'
import { type Instant, MAX_INSTANT } from '../common/instant.js'
import type { Principal } from './principal.js'
import { ProviderKeys } from './provider-keys.js'

/** Asymmetric signatures only: no shared secrets, no unsigned tokens. */
const ALGORITHMS = ['RS256', 'PS256', 'ES256', 'EdDSA'] as const
/** The header of an unsigned token, for checking claims before the signature. */
const UNSECURED = base64url.encode('{"alg":"none"}')
/** The limits of the cache of verified tokens: age in milliseconds, and number. */
const REMEMBERED_MS = 300_000
const MAX_REMEMBERED = 10_000
/** The claims that may contain the name, in this order, unless OIDC_NAME_CLAIM is set. */
const NAME_CLAIMS = ['preferred_username', 'email', 'client_id', 'azp', 'sub'] as const

interface Remembered {
  readonly principal: Principal
  /** From this time on, the token is verified again. */
  readonly until: Instant
  readonly generation: number
}

/** Verifies access tokens of the identity provider (contract, §12): signature, issuer, audience, times, and role. */
@Injectable()
export class JwtVerifier {
  /** Principals by token, in order of verification. */
  private readonly remembered = new Map<string, Remembered>()

  constructor(
    @Inject(CONFIG) private readonly config: Config,
    private readonly clock: Clock,
    private readonly keys: ProviderKeys,
  ) {}

  /** Returns whether this can be a JWT. Static tokens contain no dots. */
  concerns(token: string): boolean {
    return this.config.oidc !== undefined && token.split('.', 4).length === 3
  }

  /**
   * @returns the principal; false if the token is invalid
   * @throws ServiceError forbidden if the token is valid but gives no role; unavailable if the keys cannot be read
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
    // If the keys change during the verification, the next request verifies the token again.
    const { generation } = this.keys
    const claims = await this.verify(token, oidc, now)
    if (claims === undefined) return false
    const { exp = 0, sub } = claims
    const name = nameOf(claims, oidc)
    // The principal's id derives from `sub`.
    if (typeof sub !== 'string' || sub === '' || name === undefined) return false
    const granted = roleOf(claims, oidc)
    if (granted === undefined)
      throw new ServiceError('forbidden', 'the token is valid, but gives no role in this service')
    const { role, scopes } = granted
    const principal: Principal = Object.freeze({
      name: oidcName(name),
      id: `${OIDC_PREFIX}${hash('sha256', JSON.stringify([oidc.issuer, sub])).slice(0, 32)}`,
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
    const [oldest = token] = this.remembered.keys()
    if (this.remembered.size > MAX_REMEMBERED) this.remembered.delete(oldest)
  }

  /** Returns the claims of a valid token; undefined for any other. */
  private async verify(
    token: string,
    { issuer, audience, clockSkewSeconds }: OidcConfig,
    now: Instant,
  ): Promise<JWTPayload | undefined> {
    try {
      const options = {
        issuer,
        audience,
        clockTolerance: clockSkewSeconds,
        currentDate: new Date(now),
        requiredClaims: ['exp', 'sub'],
      }
      // Tokens that are invalid regardless of the key cause no request to the provider, and are refused even while it
      // is unavailable.
      const { alg } = decodeProtectedHeader(token)
      if (!ALGORITHMS.some((one) => one === alg)) return undefined
      UnsecuredJWT.decode(`${UNSECURED}.${token.split('.')[1] ?? ''}.`, options)
      const findKey = async (...query: Parameters<ProviderKeys['find']>) => {
        const key = await this.keys.find(...query)
        if (key === undefined) throw new errors.JWKSNoMatchingKey()
        return key
      }
      return (await jwtVerify(token, findKey, { ...options, algorithms: [...ALGORITHMS] })).payload
    } catch (error) {
      // The token is invalid. jose throws a TypeError for a key that does not fit, WebCrypto a DOMException.
      if ([errors.JOSEError, TypeError, DOMException].some((kind) => error instanceof kind)) return undefined
      throw error
    }
  }
}

/** Returns the display name; undefined if no claim contains one. */
function nameOf(claims: JWTPayload, { nameClaim }: OidcConfig): string | undefined {
  const names = nameClaim === undefined ? NAME_CLAIMS : [nameClaim]
  return names.map((name) => valueAt(claims, name)).find(isName)
}

/**
 * Lone surrogates are not valid text. Control characters, and those that turn the direction of what follows, would make
 * a name look like another person's.
 */
function isName(value: unknown): value is string {
  return typeof value === 'string' && value !== '' && !/[\p{Cs}\p{Cc}\p{Bidi_Control}]/u.test(value)
}

/** Returns the first entry of OIDC_ROLES whose value the claim contains. */
function roleOf(claims: JWTPayload, { roles, rolesClaim }: OidcConfig): OidcRole | undefined {
  const claim = valueAt(claims, rolesClaim)
  const held = new Set(typeof claim === 'string' ? claim.split(' ') : Array.isArray(claim) ? claim : [])
  return roles.find(({ value }) => held.has(value))
}

/** Returns a claim by a path of names, or by its whole name if that contains dots. */
function valueAt(claims: JWTPayload, path: string): unknown {
  let value: unknown = claims
  for (const name of path.split('.')) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return claims[path]
    value = (value as Record<string, unknown>)[name]
  }
  return value
}
