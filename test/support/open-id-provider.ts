import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { exportJWK, generateKeyPair } from 'jose'
import Provider from 'oidc-provider'
import { opened } from './opened.js'

/** The audience of access tokens; a URI, so that a client can ask for it by `resource` (RFC 8707). */
export const AUDIENCE = 'urn:example:quota'

/** A real OpenID provider on this machine, with a sign-in page that accepts any password. */
export class OpenIdProvider {
  /** All requests, by method and path. */
  readonly asked: string[] = []
  /** The lifetime of access tokens, in seconds. */
  lifetime = 600
  /** Roles by name, for people who are not administrators. */
  readonly roles = new Map<string, readonly string[]>()
  private clients: object[] = []
  private keys: object[] = []
  private serve: ReturnType<Provider['callback']> | undefined

  private constructor(readonly issuer: string) {}

  static async start(): Promise<OpenIdProvider> {
    const server = createServer()
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const found = new OpenIdProvider(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
    server.on('request', (request, response) => {
      found.asked.push(`${request.method} ${(request.url ?? '').replace(/\?.*/, '')}`)
      if (found.serve === undefined) response.writeHead(503).end()
      else found.serve(request, response)
    })
    opened(() => server.close())
    opened(() => server.closeAllConnections())
    await found.rotate()
    return found
  }

  /** Registers clients, instead of the previous ones; ends all sessions. */
  register(clients: object[]): void {
    this.clients = clients
    this.forget()
  }

  /** Signs with another key from now on, and drops the previous ones; ends all sessions. */
  async rotate(): Promise<void> {
    const { privateKey } = await generateKeyPair('RS256', { extractable: true })
    const kid = Math.random().toString(36).slice(2)
    this.keys = [{ ...(await exportJWK(privateKey)), alg: 'RS256', use: 'sig', kid }]
    this.forget()
  }

  /** Ends all sessions. */
  forget(): void {
    const provider = new Provider(this.issuer, {
      clients: this.clients,
      jwks: { keys: this.keys },
      cookies: { keys: ['any'] },
      clientBasedCORS: () => true,
      issueRefreshToken: () => true,
      features: {
        clientCredentials: { enabled: true },
        devInteractions: { enabled: true },
        rpInitiatedLogout: { enabled: true },
        resourceIndicators: {
          enabled: true,
          getResourceServerInfo: () => ({
            scope: 'quota',
            audience: AUDIENCE,
            accessTokenFormat: 'jwt',
            accessTokenTTL: this.lifetime,
          }),
          useGrantedResource: () => true,
        },
      },
      extraTokenClaims: (_context: unknown, token: { clientId?: string; accountId?: string }) => ({
        roles: token.accountId === undefined ? ['mailers'] : (this.roles.get(token.accountId) ?? ['quota-admins']),
        preferred_username: token.accountId ?? token.clientId,
      }),
    })
    this.serve = provider.callback()
  }

  /** Gets an access token by client credentials. */
  async tokenFor(clientId: string, secret: string): Promise<string> {
    const answer = await fetch(`${this.issuer}/token`, {
      method: 'POST',
      headers: { authorization: `Basic ${Buffer.from(`${clientId}:${secret}`).toString('base64')}` },
      body: new URLSearchParams({ grant_type: 'client_credentials', resource: AUDIENCE }),
    })
    const { access_token: token } = (await answer.json()) as { access_token?: string }
    if (token === undefined) throw new Error(`no token: ${answer.status}`)
    return token
  }
}
