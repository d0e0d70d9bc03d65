import type * as OAuth from 'oauth4webapi'
import type { AuthorizationServer, Client, HttpRequestOptions, TokenEndpointResponse } from 'oauth4webapi'
import { now } from './format.tsx'
import { Notice } from './notice.ts'

/*
 * Signing in at the company's identity provider: authorization code with PKCE, state and nonce, all of it checked by
 * oauth4webapi. Tokens live in the memory of this page alone.
 */

/** What the service tells the page of the provider (src/operations/console.ts). */
export interface Provider {
  readonly issuer: string
  readonly clientId: string
  readonly scope: string
  /** Whom access tokens are for; sent as RFC 8707's `resource` where it is a URI. */
  readonly audience: string
}

/** What a sign-in has brought. */
export interface Grant {
  readonly token: string
  /** When the token ends, in milliseconds since 1970; undefined where the provider does not say. */
  readonly endsAt: number | undefined
  readonly refreshToken: string | undefined
  readonly idToken: string | undefined
}

/** What must be remembered between leaving for the provider and coming back; nothing of it is a token. */
interface Pending {
  readonly verifier: string
  readonly state: string
  readonly nonce: string
  /** The address of the screen that was left, below the origin. */
  readonly from: string
  /** Was it to happen without asking the person anything? */
  readonly silent: boolean
}

const PENDING = 'quota-console-sign-in'
/** Set while this tab is signed in at the provider, so that loading the page anew asks it again. */
const BY_PROVIDER = 'quota-console-by-provider'
/** The page that the provider sends people back to; registered there. */
const redirectUri = `${location.origin}/admin/`

/** Was this tab signed in at the provider? */
export function signedInByProvider(): boolean {
  return sessionStorage.getItem(BY_PROVIDER) !== null
}

/** This tab is signed in at the provider no more. */
export function forgetProvider(): void {
  sessionStorage.removeItem(BY_PROVIDER)
}

/** Is this page where the provider has sent somebody back to? */
export function isReturn(): boolean {
  const query = new URLSearchParams(location.search)
  return query.has('state') && (query.has('code') || query.has('error')) && sessionStorage.getItem(PENDING) !== null
}

/**
 * Leaves for the provider.
 * @param prompt `none`: come back at once with an error where the provider would have to ask something; `login`: ask
 * who it is, also where somebody is signed in there
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
 * Takes what the provider has sent back, and puts the address of the screen back that was left.
 * @returns undefined where nobody is signed in at the provider and it was not to ask
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
    forgetProvider()
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
    const grant = grantOf(
      await oauth.processAuthorizationCodeResponse(server, client, response, {
        expectedNonce: pending.nonce,
        requireIdToken: true,
      }),
    )
    sessionStorage.setItem(BY_PROVIDER, 'true')
    return grant
  } catch (error) {
    throw failureOf(error)
  }
}

/** A new access token for one that ends soon. */
export async function renew(provider: Provider, { refreshToken = '', idToken }: Grant): Promise<Grant> {
  const { oauth, server, client, options } = await discover(provider)
  const response = await oauth.refreshTokenGrantRequest(server, client, oauth.None(), refreshToken, {
    ...options,
    additionalParameters: resourceOf(provider),
  })
  const renewed = grantOf(await oauth.processRefreshTokenResponse(server, client, response))
  return { ...renewed, refreshToken: renewed.refreshToken ?? refreshToken, idToken: renewed.idToken ?? idToken }
}

/**
 * Ends the session at the provider where it says how.
 * @param leaving called before the page is left for it
 */
export async function endSession(provider: Provider, idToken: string | undefined, leaving: () => void): Promise<void> {
  forgetProvider()
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

/** The provider's addresses; loaded, with the library, when somebody signs in there. */
async function discover({ issuer, clientId }: Provider): Promise<Discovered> {
  discovered ??= (async () => {
    const oauth = await import('oauth4webapi')
    const address = new URL(issuer)
    // Marked as deprecated to stand out. The service takes http for loopback alone, as an issuer for trying it out.
    // eslint-disable-next-line @typescript-eslint/no-deprecated
    const options = { [oauth.allowInsecureRequests]: address.protocol === 'http:' }
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

/** What went wrong at the provider, in its own words. */
function failureOf(error: unknown): Error {
  if (error instanceof Notice) return error
  return new Notice(
    'You are not signed in',
    `The identity provider did not sign you in: ${wordsOf(error)}`,
    'Sign in again, or with a token. If it stays so, tell whoever runs the identity provider.',
    { cause: error },
  )
}

function wordsOf(error: unknown): string {
  const { error_description: described, error: code, message } = error as Record<string, unknown>
  const words = [described, code, message].find((one): one is string => typeof one === 'string' && one !== '')
  return words ?? 'no reason given'
}
