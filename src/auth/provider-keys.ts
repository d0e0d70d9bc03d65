import { Injectable, Logger, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common'
import { createLocalJWKSet, errors, type JSONWebKeySet, type LocalJWKSet } from 'jose'
import { Clock } from '../clock/clock.js'
import { Config } from '../config/config.js'
import { isSecureUrl } from '../config/oidc.js'
import { type ServiceError, Unavailable } from '../error/service-error.js'
import type { Instant } from '../time/instant.js'

/** Keys are read again once they are this old, in milliseconds: a key that is gone ends then. */
const KEYS_MAX_AGE_MS = 600_000
/** Between two looks because of a key that is not known, in milliseconds (contract, §12). */
const LOOK_AGAIN_MS = 30_000
/** Between two looks while no key is known at all, in milliseconds. */
const FIRST_KEYS_AGAIN_MS = 5_000
/** A provider answers within this time, or counts as away, in milliseconds. */
const PROVIDER_TIMEOUT_MS = 5_000
/** An answer of a provider is at most this long, in bytes. */
const MAX_ANSWER_BYTES = 262_144

type Key = Awaited<ReturnType<LocalJWKSet>>
/** No key that is known fits a token. */
const UNKNOWN = Symbol('unknown key')

/**
 * The keys that the identity provider signs with.
 *
 * They are read when the first token comes, kept, and read again every ten minutes in the background. A token that
 * names a key that is not known makes one look, at most every 30 seconds, however many come. A look that fails
 * changes nothing: whoever signs with a known key is admitted while the provider is away.
 */
@Injectable()
export class ProviderKeys implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly logger = new Logger('IdentityProvider')
  private keys: LocalJWKSet | undefined
  private text = ''
  private jwksUri: string | undefined
  private tokenOrigin: string | undefined
  private looking: Promise<void> | undefined
  /** How the last look ended; undefined before the first one. */
  private looked: 'found' | 'failed' | undefined
  /** When a look was made because of a key that was not known. */
  private lookedAt: Instant | undefined
  private timer: NodeJS.Timeout | undefined
  private stopped = false
  /** Changes each time the keys do: what was verified by those before counts no longer. */
  private version = 0

  constructor(
    private readonly config: Config,
    private readonly clock: Clock,
  ) {}

  /** Which keys these are: another number after each change of them. */
  get generation(): number {
    return this.version
  }

  /** Did the last look at the provider fail? */
  get away(): boolean {
    return this.looked === 'failed'
  }

  /** The origins that the console speaks with, as far as they are known. */
  get origins(): readonly string[] {
    const { oidc } = this.config
    if (oidc === undefined) return []
    const { origin } = new URL(oidc.issuer)
    return this.tokenOrigin === undefined || this.tokenOrigin === origin ? [origin] : [origin, this.tokenOrigin]
  }

  /** The console's page names the provider's origins, so they are looked up before somebody signs in. */
  onApplicationBootstrap(): void {
    if (this.config.oidc?.consoleClientId !== undefined) void this.refresh()
  }

  onApplicationShutdown(): void {
    this.stopped = true
    clearTimeout(this.timer)
  }

  /**
   * The key that a token names, looked for at the provider where it is not known. A token that names none is signed by
   * the one key that fits its algorithm; where several do, nobody is asked: another look would not tell which.
   * @returns undefined where there is none, or several fit
   * @throws ServiceError unavailable where nobody can say, since the provider is away
   */
  async find(...token: Parameters<LocalJWKSet>): Promise<Key | undefined> {
    const known = await this.among(token)
    if (known !== UNKNOWN) return known
    const first = this.keys === undefined
    await this.look()
    const found = await this.among(token)
    if (found !== UNKNOWN) {
      // The keys were due, whoever came first: no look was made for an unknown one.
      if (first) this.lookedAt = undefined
      return found
    }
    if (this.away) throw unavailable()
    return undefined
  }

  /** Reads the keys again. Those from before stay where that fails. */
  async refresh(): Promise<void> {
    this.looking ??= this.read().finally(() => {
      this.looking = undefined
      this.plan()
    })
    await this.looking
  }

  /** @returns undefined where several fit, or the one that does is no key that can be used */
  private async among(token: Parameters<LocalJWKSet>): Promise<Key | undefined | typeof UNKNOWN> {
    if (this.keys === undefined) return UNKNOWN
    try {
      return await this.keys(...token)
    } catch (error) {
      if (error instanceof errors.JWKSNoMatchingKey) return UNKNOWN
      // Of jose, or of the WebCrypto that it hands the key to.
      if (error instanceof errors.JOSEError || error instanceof TypeError || error instanceof DOMException)
        return undefined
      throw error
    }
  }

  /** Looks because of a key that is not known, unless that was done a moment ago. */
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
      // Where the keys lie may have changed.
      this.jwksUri = undefined
    }
    const { away } = this
    this.looked = failure === undefined ? 'found' : 'failed'
    if (failure !== undefined) {
      const kept = this.keys === undefined ? 'no key is known yet' : 'known keys stay good'
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

  /** Plans the next look in the background, also while no key is known: the console's page names what is looked up. */
  private plan(): void {
    clearTimeout(this.timer)
    if (this.stopped) return
    this.timer = setTimeout(
      () => {
        // The document too: where the keys lie may change.
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
 * Where the issuer's keys lie, and where its tokens come from.
 * @throws Error where its discovery document is another's, or none
 */
async function discover(issuer: string): Promise<{ jwksUri: string; tokenOrigin: string | undefined }> {
  const found = (await fetchJson(`${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`)) as {
    issuer?: unknown
    jwks_uri?: unknown
    token_endpoint?: unknown
  } | null
  if (found?.issuer !== issuer) throw new Error('the discovery document names another issuer')
  const { jwks_uri: jwksUri, token_endpoint: tokenEndpoint } = found
  if (typeof jwksUri !== 'string' || !isSecureUrl(jwksUri)) {
    throw new Error('the discovery document names no jwks_uri with https')
  }
  const named = typeof tokenEndpoint === 'string' && isSecureUrl(tokenEndpoint)
  return { jwksUri, tokenOrigin: named ? new URL(tokenEndpoint).origin : undefined }
}

/** An answer of the provider's, within its bounds of time and size. Redirects are refused. */
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
    // Leaving the loop cancels what is still to come.
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
