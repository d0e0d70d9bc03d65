import type * as OAuth from 'oauth4webapi'
import type { AuthorizationServer, Client, HttpRequestOptions, TokenEndpointResponse } from 'oauth4webapi'
import { now } from './format.tsx'
import { Notice } from './notice.ts'

/*
 * Sign-in at the company's identity provider: authorization code with PKCE, state and nonce, which oauth4webapi checks.
 * Tokens are only in the memory of this page.
 */

/** The provider's settings, which the service adds to the page (src/operations/console.ts). */
export interface Provider {
  readonly issuer: string
  readonly clientId: string
  readonly scope: string
  /** The audience of access tokens; sent as `resource` (RFC 8707) if it is a URI. */
  readonly audience: string
}

/** The tokens of a sign-in. */
export interface Grant {
  readonly token: string
  /** The expiry of the token, in milliseconds since 1970; undefined if the provider does not name it. */
  readonly endsAt: number | undefined
  readonly refreshToken: string | undefined
  readonly idToken: string | undefined
}

/** The state of a sign-in while the page is at the provider; it contains no token. */
interface Pending {
  readonly verifier: string
  readonly state: string
  readonly nonce: string
  /** The path and query of the screen to return to. */
  readonly from: string
  /** Must the provider not ask the person anything? */
  readonly silent: boolean
}

const PENDING = 'quota-console-sign-in'
/** The time limit of a request to the provider, in milliseconds: one that hangs must stop nobody who has a token. */
const PATIENCE_MS = 5_000
/** The page to which the provider redirects; registered there. */
const redirectUri = `${location.origin}/admin/`

/** Has the provider redirected to this page? */
export function isReturn(): boolean {
  const query = new URLSearchParams(location.search)
  return query.has('state') && (query.has('code') || query.has('error')) && sessionStorage.getItem(PENDING) !== null
}

/**
 * Navigates to the provider.
 * @param prompt `none`: the provider redirects back at once, with an error if it would have to ask something; `login`:
 * it asks for an account, even if the person is signed in there
 */
export async function leave(provider: Provider, prompt?: 'none' | 'login'): Promise<void> {
  const { oauth, server } = await discover(provider)
  if (server.authorization_endpoint === undefined) throw failureOf(new Error('it has no place to sign in at'))
  const pending: Pending = {
    verifier: oauth.generateRandomCodeVerifier(),
    state: oauth.generateRandomState(),
    nonce: oauth.generateRandomNonce(),
    from: location.pathname + location.search,
    silent: prompt === 'none',
  }
  sessionStorage.setItem(PENDING, JSON.stringify(pending))
  const address = new URL(server.authorization_endpoint)
  const parameters = {
    client_id: provider.clientId,
    redirect_uri: redirectUri,
    response_type: 'code',
    scope: provider.scope,
    code_challenge: await oauth.calculatePKCECodeChallenge(pending.verifier),
    code_challenge_method: 'S256',
    state: pending.state,
    nonce: pending.nonce,
    ...resourceOf(provider),
    ...(prompt === undefined ? {} : { prompt }),
  }
  for (const [name, value] of Object.entries(parameters)) address.searchParams.set(name, value)
  location.assign(address)
}

/**
 * Completes a sign-in after the redirect, and restores the address of the screen.
 * @returns undefined if a silent sign-in failed, since nobody is signed in at the provider
 */
export async function comeBack(provider: Provider): Promise<Grant | undefined> {
  const pending = JSON.parse(sessionStorage.getItem(PENDING) ?? '{}') as Pending
  const answer = new URL(location.href)
  sessionStorage.removeItem(PENDING)
  history.replaceState(null, '', pending.from)
  const { oauth, server, client, options } = await discover(provider)
  let parameters: URLSearchParams
  try {
    parameters = oauth.validateAuthResponse(server, client, answer, pending.state)
  } catch (error) {
    if (pending.silent && error instanceof oauth.AuthorizationResponseError) return undefined
    throw failureOf(error)
  }
  try {
    const response = await oauth.authorizationCodeGrantRequest(
      server,
      client,
      oauth.None(),
      parameters,
      redirectUri,
      pending.verifier,
      { ...options, additionalParameters: resourceOf(provider) },
    )
    return grantOf(
      await oauth.processAuthorizationCodeResponse(server, client, response, {
        expectedNonce: pending.nonce,
        requireIdToken: true,
      }),
    )
  } catch (error) {
    throw failureOf(error)
  }
}

/**
 * Renews an access token that expires soon.
 * @returns undefined if the provider refuses
 * @throws Error if it cannot be reached, or does not answer: a later attempt may succeed
 */
export async function renew(provider: Provider, { refreshToken = '', idToken }: Grant): Promise<Grant | undefined> {
  const { oauth, server, client, options } = await discover(provider)
  let renewed: Grant
  try {
    const response = await oauth.refreshTokenGrantRequest(server, client, oauth.None(), refreshToken, {
      ...options,
      additionalParameters: resourceOf(provider),
    })
    renewed = grantOf(await oauth.processRefreshTokenResponse(server, client, response))
  } catch (error) {
    if (error instanceof oauth.ResponseBodyError && !isPassing(error)) return undefined
    throw error
  }
  return { ...renewed, refreshToken: renewed.refreshToken ?? refreshToken, idToken: renewed.idToken ?? idToken }
}

/** Does the provider refuse only for now? */
function isPassing({ status, error }: { readonly status: number; readonly error: string }): boolean {
  return status === 429 || status >= 500 || ['slow_down', 'temporarily_unavailable', 'server_error'].includes(error)
}

/**
 * Ends the session at the provider, if it has an endpoint for this.
 * @param leaving called before the page navigates there
 */
export async function endSession(provider: Provider, idToken: string | undefined, leaving: () => void): Promise<void> {
  const { server } = await discover(provider)
  if (server.end_session_endpoint === undefined) return
  const address = new URL(server.end_session_endpoint)
  address.searchParams.set('client_id', provider.clientId)
  address.searchParams.set('post_logout_redirect_uri', redirectUri)
  if (idToken !== undefined) address.searchParams.set('id_token_hint', idToken)
  leaving()
  location.assign(address)
}

interface Discovered {
  readonly oauth: typeof OAuth
  readonly server: AuthorizationServer
  readonly client: Client
  readonly options: HttpRequestOptions<'POST', URLSearchParams>
}

let discovered: Promise<Discovered> | undefined

/** The provider's endpoints; loaded, with the library, at the first sign-in. */
async function discover({ issuer, clientId }: Provider): Promise<Discovered> {
  discovered ??= (async () => {
    const oauth = await import('oauth4webapi')
    const address = new URL(issuer)
    // Marked as deprecated to stand out. The service accepts http only for loopback, for trials.
    // eslint-disable-next-line @typescript-eslint/no-deprecated
    const insecure = { [oauth.allowInsecureRequests]: address.protocol === 'http:' }
    // The pages run in browsers alone.
    // eslint-disable-next-line no-restricted-syntax
    const options = { ...insecure, signal: () => AbortSignal.timeout(PATIENCE_MS) }
    const response = await oauth.discoveryRequest(address, options)
    const server = await oauth.processDiscoveryResponse(address, response)
    return { oauth, server, client: { client_id: clientId }, options }
  })()
  try {
    return await discovered
  } catch (error) {
    discovered = undefined
    throw failureOf(error)
  }
}

function grantOf({ access_token, expires_in, refresh_token, id_token }: TokenEndpointResponse): Grant {
  return {
    token: access_token,
    endsAt: expires_in === undefined ? undefined : now() + expires_in * 1000,
    refreshToken: refresh_token,
    idToken: id_token,
  }
}

function resourceOf({ audience }: Provider): { resource: string } | Record<string, never> {
  return URL.canParse(audience) ? { resource: audience } : {}
}

/** A failure of the provider, with its own message. */
function failureOf(error: unknown): Error {
  if (error instanceof Notice) return error
  return new Notice(
    'You are not signed in',
    `The identity provider did not sign you in: ${messageOf(error)}`,
    'Sign in again, or with a token. If it stays so, tell whoever runs the identity provider.',
    { cause: error },
  )
}

function messageOf(error: unknown): string {
  if (error instanceof DOMException && error.name === 'TimeoutError') return 'it did not answer in time'
  const { error_description: described, error: code, message } = error as Record<string, unknown>
  const words = [described, code, message].find((one): one is string => typeof one === 'string' && one !== '')
  return words ?? 'no reason given'
}
