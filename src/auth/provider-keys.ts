import { Inject, Injectable, Logger, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common'
import { createLocalJWKSet, errors, type JSONWebKeySet, type LocalJWKSet } from 'jose'
import { Clock } from '../common/clock.js'
import { CONFIG, type Config } from '../config/config.js'
import { isSecureUrl } from '../config/oidc.js'
import { RepeatedFailure } from '../common/repeated-failure.js'
import { Unavailable } from '../common/service-error.js'
import type { Instant } from '../common/instant.js'
import { withTimeLimit } from '../common/time-limit.js'

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

/**
 * The signing keys of the identity provider.
 *
 * They are read when the first token arrives, cached, and read again every ten minutes in the background. A token with
 * an unknown key causes a read, at most every 30 seconds in total. After a failed read, the known keys stay valid.
 *
 * `createRemoteJWKSet` of jose behaves differently: it makes requests wait for the provider when its keys are
 * old, tries again without a pause after a failed read, and measures by the clock of the process, not by `Clock`.
 */
@Injectable()
export class ProviderKeys implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly failure = new RepeatedFailure(new Logger('IdentityProvider'))
  private keys: LocalJWKSet | undefined
  private tokenOrigin: string | undefined
  /** The URL of the keys; undefined if the discovery document has to be read again, since the keys may have moved. */
  private jwksUri: string | undefined
  private looking: Promise<void> | undefined
  /** The time of the last read for an unknown key. */
  private lookedAt: Instant = -Infinity
  private timer: NodeJS.Timeout | undefined
  private stopped = false
  /** The version of the keys: incremented when they change, which invalidates verified tokens. */
  generation = 0

  constructor(
    @Inject(CONFIG) private readonly config: Config,
    private readonly clock: Clock,
  ) {}

  /** Did the last read fail? */
  get away(): boolean {
    return this.failure.inRow > 0
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
   * @returns undefined if the key is unknown
   * @throws ServiceError unavailable if the key is unknown and the last read failed; an error of jose or of WebCrypto,
   *   which it calls, if several fit or the key is unusable
   */
  async find(...token: Parameters<LocalJWKSet>): Promise<Key | undefined> {
    const known = await this.among(token)
    if (known !== undefined) return known
    const isFirst = this.keys === undefined
    await this.look()
    const found = await this.among(token)
    // This was the first read of the keys, not one for an unknown key: the interval does not apply.
    if (isFirst && found !== undefined) this.lookedAt = -Infinity
    if (found === undefined && this.away)
      throw new Unavailable('provider_away', { retryAfterSeconds: FIRST_KEYS_AGAIN_MS / 1000 })
    return found
  }

  /** Reads the keys. If that fails, the known ones stay. */
  async refresh(): Promise<void> {
    this.looking ??= this.read().finally(() => {
      this.looking = undefined
      this.plan()
    })
    await this.looking
  }

  private async among(token: Parameters<LocalJWKSet>): Promise<Key | undefined> {
    try {
      return await this.keys?.(...token)
    } catch (error) {
      if (error instanceof errors.JWKSNoMatchingKey) return undefined
      throw error
    }
  }

  /** Reads the keys because of an unknown key, unless that happened a moment ago. */
  private async look(): Promise<void> {
    if (this.looking === undefined) {
      const since = this.clock.now() - this.lookedAt
      if (since >= 0 && since < (this.keys === undefined ? FIRST_KEYS_AGAIN_MS : LOOK_AGAIN_MS)) return
      this.lookedAt = this.clock.now()
    }
    await this.refresh()
  }

  private async read(): Promise<void> {
    const { oidc } = this.config
    if (oidc === undefined) return
    try {
      if (this.jwksUri === undefined)
        ({ jwksUri: this.jwksUri, tokenOrigin: this.tokenOrigin } = await discover(oidc.issuer))
      const keys = createLocalJWKSet((await fetchJson(this.jwksUri)) as unknown as JSONWebKeySet)
      if (JSON.stringify(keys.jwks()) !== JSON.stringify(this.keys?.jwks())) this.generation += 1
      this.keys = keys
      this.failure.succeeded()
    } catch (error) {
      this.jwksUri = undefined
      const kept = this.keys === undefined ? 'no key is known yet' : 'known keys stay valid'
      this.failure.failed(`the keys of the identity provider cannot be read, ${kept}: ${reasonOf(error)}`)
    }
  }

  /**
   * Schedules the next read in the background. Also while no key is known, since the console's page names the
   * provider's origins.
   */
  private plan(): void {
    clearTimeout(this.timer)
    if (this.stopped) return
    const again = (): void => {
      this.jwksUri = undefined
      void this.refresh()
    }
    this.timer = setTimeout(again, this.away ? LOOK_AGAIN_MS : KEYS_MAX_AGE_MS).unref()
  }
}

/**
 * Reads the URL of the issuer's keys and the origin of its token endpoint.
 * @throws Error if the discovery document belongs to another issuer or is invalid
 */
async function discover(issuer: string): Promise<{ jwksUri: string; tokenOrigin: string | undefined }> {
  const found = await fetchJson(`${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`)
  if (found?.['issuer'] !== issuer) throw new Error('the discovery document belongs to another issuer')
  const { jwks_uri: jwksUri, token_endpoint: tokenEndpoint } = found
  if (!isSecure(jwksUri)) throw new Error('the discovery document has no jwks_uri with https')
  return { jwksUri, tokenOrigin: isSecure(tokenEndpoint) ? new URL(tokenEndpoint).origin : undefined }
}

function isSecure(url: unknown): url is string {
  return typeof url === 'string' && isSecureUrl(url)
}

/** Gets JSON from the provider, within the limits of time and size. Refuses redirects. */
async function fetchJson(url: string): Promise<Record<string, unknown> | null> {
  const read = async (signal: AbortSignal): Promise<Record<string, unknown> | null> => {
    const response = await fetch(url, { headers: { accept: 'application/json' }, redirect: 'error', signal })
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
    return JSON.parse(Buffer.concat(chunks).toString()) as Record<string, unknown> | null
  }
  return withTimeLimit(PROVIDER_TIMEOUT_MS, read)
}

function reasonOf(error: unknown): string {
  const { message, cause } = error as Error
  return cause instanceof Error ? `${message}: ${cause.message}` : message
}
