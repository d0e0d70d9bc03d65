import { Injectable, Logger, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common'
import { createLocalJWKSet, errors, type JSONWebKeySet, type LocalJWKSet } from 'jose'
import { Clock } from '../clock/clock.js'
import { Config } from '../config/config.js'
import { isSecureUrl } from '../config/oidc.js'
import { type ServiceError, Unavailable } from '../error/service-error.js'
import type { Instant } from '../time/instant.js'

/** The age at which keys are read again, in milliseconds: a removed key becomes invalid then. */
const KEYS_MAX_AGE_MS = 600_000
/** The minimum interval between reads for unknown keys, in milliseconds (contract, §12). */
const LOOK_AGAIN_MS = 30_000
/** The same while no key is known. */
const FIRST_KEYS_AGAIN_MS = 5_000
/** The timeout of requests to the provider, in milliseconds. */
const PROVIDER_TIMEOUT_MS = 5_000
/** The maximum size of a response of the provider, in bytes. */
const MAX_ANSWER_BYTES = 262_144

type Key = Awaited<ReturnType<LocalJWKSet>>
/** No known key fits the token. */
const UNKNOWN = Symbol('unknown key')

/**
 * The signing keys of the identity provider.
 *
 * They are read when the first token arrives, cached, and read again every ten minutes in the background. A token with
 * an unknown key causes a read, at most every 30 seconds in total. After a failed read, the known keys stay valid.
 */
@Injectable()
export class ProviderKeys implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly logger = new Logger('IdentityProvider')
  private keys: LocalJWKSet | undefined
  private text = ''
  private jwksUri: string | undefined
  private tokenOrigin: string | undefined
  private looking: Promise<void> | undefined
  /** The outcome of the last read; undefined before the first one. */
  private looked: 'found' | 'failed' | undefined
  /** The time of the last read for an unknown key. */
  private lookedAt: Instant | undefined
  private timer: NodeJS.Timeout | undefined
  private stopped = false
  /** Incremented when the keys change, which invalidates verified tokens. */
  private version = 0

  constructor(
    private readonly config: Config,
    private readonly clock: Clock,
  ) {}

  /** The version of the keys. */
  get generation(): number {
    return this.version
  }

  /** Whether the last read failed. */
  get away(): boolean {
    return this.looked === 'failed'
  }

  /** The provider's origins that the console calls, as far as they are known. */
  get origins(): readonly string[] {
    const { oidc } = this.config
    if (oidc === undefined) return []
    const { origin } = new URL(oidc.issuer)
    return this.tokenOrigin === undefined || this.tokenOrigin === origin ? [origin] : [origin, this.tokenOrigin]
  }

  /** Reads the keys at startup if the console uses the provider: its page names the provider's origins. */
  onApplicationBootstrap(): void {
    if (this.config.oidc?.consoleClientId !== undefined) void this.refresh()
  }

  onApplicationShutdown(): void {
    this.stopped = true
    clearTimeout(this.timer)
  }

  /**
   * Finds the key of a token, and reads the keys again if it is unknown. A token without `kid` is verified by the only
   * key that fits its algorithm; if several fit, another read would not help.
   * @returns undefined if there is none, or several fit
   * @throws ServiceError unavailable if the key is unknown and the last read failed
   */
  async find(...token: Parameters<LocalJWKSet>): Promise<Key | undefined> {
    const known = await this.among(token)
    if (known !== UNKNOWN) return known
    const first = this.keys === undefined
    await this.look()
    const found = await this.among(token)
    if (found !== UNKNOWN) {
      // This was the first read of the keys, not one for an unknown key: the interval does not apply.
      if (first) this.lookedAt = undefined
      return found
    }
    if (this.away) throw unavailable()
    return undefined
  }

  /** Reads the keys. If that fails, the known ones stay. */
  async refresh(): Promise<void> {
    this.looking ??= this.read().finally(() => {
      this.looking = undefined
      this.plan()
    })
    await this.looking
  }

  /** @returns undefined if several fit, or the one that fits is unusable */
  private async among(token: Parameters<LocalJWKSet>): Promise<Key | undefined | typeof UNKNOWN> {
    if (this.keys === undefined) return UNKNOWN
    try {
      return await this.keys(...token)
    } catch (error) {
      if (error instanceof errors.JWKSNoMatchingKey) return UNKNOWN
      // Errors of jose, and of WebCrypto, which it calls.
      if (error instanceof errors.JOSEError || error instanceof TypeError || error instanceof DOMException)
        return undefined
      throw error
    }
  }

  /** Reads the keys because of an unknown key, unless that happened a moment ago. */
  private async look(): Promise<void> {
    if (this.looking === undefined) {
      const now = this.clock.now()
      const since = this.lookedAt === undefined ? Infinity : now - this.lookedAt
      if (since >= 0 && since < (this.keys === undefined ? FIRST_KEYS_AGAIN_MS : LOOK_AGAIN_MS)) return
      this.lookedAt = now
    }
    await this.refresh()
  }

  private async read(): Promise<void> {
    const { oidc } = this.config
    if (oidc === undefined) return
    let failure: string | undefined
    try {
      if (this.jwksUri === undefined) {
        const found = await discover(oidc.issuer)
        this.jwksUri = found.jwksUri
        this.tokenOrigin = found.tokenOrigin
      }
      this.take(await fetchJson(this.jwksUri))
    } catch (error) {
      failure = reasonOf(error)
      // The keys may have moved.
      this.jwksUri = undefined
    }
    const { away } = this
    this.looked = failure === undefined ? 'found' : 'failed'
    if (failure !== undefined) {
      const kept = this.keys === undefined ? 'no key is known yet' : 'known keys stay valid'
      this.logger.warn(`the keys of the identity provider cannot be read, ${kept}: ${failure}`)
    } else if (away) this.logger.log('the keys of the identity provider can be read again')
  }

  private take(found: unknown): void {
    const keys = createLocalJWKSet(found as JSONWebKeySet)
    const text = JSON.stringify(found)
    if (text !== this.text) this.version += 1
    this.text = text
    this.keys = keys
  }

  /**
   * Schedules the next read in the background. Also while no key is known, since the console's page names the
   * provider's origins.
   */
  private plan(): void {
    clearTimeout(this.timer)
    if (this.stopped) return
    this.timer = setTimeout(
      () => {
        // Reads the discovery document too: the keys may have moved.
        this.jwksUri = undefined
        void this.refresh()
      },
      this.away ? LOOK_AGAIN_MS : KEYS_MAX_AGE_MS,
    ).unref()
  }
}

function unavailable(): ServiceError {
  return new Unavailable('provider_away', { retryAfterSeconds: FIRST_KEYS_AGAIN_MS / 1000 })
}

/**
 * Reads the URL of the issuer's keys and the origin of its token endpoint.
 * @throws Error if the discovery document belongs to another issuer or is invalid
 */
async function discover(issuer: string): Promise<{ jwksUri: string; tokenOrigin: string | undefined }> {
  const found = (await fetchJson(`${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`)) as {
    issuer?: unknown
    jwks_uri?: unknown
    token_endpoint?: unknown
  } | null
  if (found?.issuer !== issuer) throw new Error('the discovery document belongs to another issuer')
  const { jwks_uri: jwksUri, token_endpoint: tokenEndpoint } = found
  if (typeof jwksUri !== 'string' || !isSecureUrl(jwksUri)) {
    throw new Error('the discovery document has no jwks_uri with https')
  }
  const named = typeof tokenEndpoint === 'string' && isSecureUrl(tokenEndpoint)
  return { jwksUri, tokenOrigin: named ? new URL(tokenEndpoint).origin : undefined }
}

/** Gets JSON from the provider, within the limits of time and size. Refuses redirects. */
async function fetchJson(url: string): Promise<unknown> {
  const response = await fetch(url, {
    headers: { accept: 'application/json' },
    redirect: 'error',
    signal: AbortSignal.timeout(PROVIDER_TIMEOUT_MS),
  })
  if (response.status !== 200) {
    await response.body?.cancel()
    throw new Error(`${new URL(url).pathname} answered ${response.status}`)
  }
  const chunks: Uint8Array[] = []
  let length = 0
  for await (const chunk of (response.body ?? []) as AsyncIterable<Uint8Array>) {
    length += chunk.length
    // Leaving the loop cancels the rest of the response.
    if (length > MAX_ANSWER_BYTES)
      throw new Error(`${new URL(url).pathname} answered more than ${MAX_ANSWER_BYTES} bytes`)
    chunks.push(chunk)
  }
  return JSON.parse(Buffer.concat(chunks).toString('utf8'))
}

function reasonOf(error: unknown): string {
  const { message, cause } = error as Error
  return cause instanceof Error ? `${message}: ${cause.message}` : message
}
