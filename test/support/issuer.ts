import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { exportJWK, generateKeyPair, type CryptoKey, type JWK, SignJWT, UnsecuredJWT } from 'jose'
import { opened } from './opened.js'

/** The algorithms that the service accepts. */
export const ALGORITHMS = ['RS256', 'PS256', 'ES256', 'EdDSA'] as const

interface Key {
  readonly alg: string
  readonly sign: CryptoKey
  readonly jwk: JWK
}

/** The differences of a token from a valid one. */
export interface TokenOptions {
  readonly key?: string
  /** The `kid` header instead of the key's own; null: none. */
  readonly kid?: string | null
  readonly claims?: Record<string, unknown>
}

/** The parts of an OpenID provider that the service uses: a discovery document, and keys. */
export class Issuer {
  /** The paths of all requests. */
  readonly asked: string[] = []
  private readonly keys = new Map<string, Key>()
  /** Answers that replace the usual ones, by path. */
  readonly answers = new Map<string, { status?: number; body: string; headers?: Record<string, string> }>()
  /** Does it answer at all? */
  up = true
  /** What hangs, by path: no answer at all, or an answer without an end. */
  readonly hanging = new Map<string, 'silent' | 'endless'>()

  private constructor(
    readonly url: string,
    /** The present, in milliseconds. */
    private readonly now: () => number,
  ) {}

  static async start(now: () => number): Promise<Issuer> {
    const server = createServer()
    // On a busy machine, a connection could end in the moment in which it is used again.
    server.keepAliveTimeout = 0
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const issuer = new Issuer(`http://127.0.0.1:${(server.address() as AddressInfo).port}/realm`, now)
    server.on('request', (request, response) => {
      const path = (request.url ?? '').replace('/realm', '')
      issuer.asked.push(path)
      if (!issuer.up) {
        request.socket.destroy()
        return
      }
      const hanging = issuer.hanging.get(path)
      if (hanging !== undefined) {
        if (hanging === 'endless') response.writeHead(200, { 'content-type': 'application/json' }).write('{')
        return
      }
      const { status = 200, body, headers } = issuer.answers.get(path) ?? issuer.answerOf(path)
      response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(body)
    })
    opened(() => server.closeAllConnections())
    opened(() => server.close())
    return issuer
  }

  /** The number of requests for the keys so far. */
  get looks(): number {
    return this.asked.filter((path) => path === '/jwks').length
  }

  async addKey(name: string, alg: string): Promise<void> {
    const { publicKey, privateKey } = await generateKeyPair(alg, { extractable: true })
    const jwk = await exportJWK(publicKey)
    this.keys.set(name, { alg, sign: privateKey, jwk: { ...jwk, alg, use: 'sig', kid: name } })
  }

  removeKey(name: string): void {
    this.keys.delete(name)
  }

  /** A valid access token for the role `admin`, with the given differences. */
  async token({ key = 'RS256', kid = key, claims = {} }: TokenOptions = {}): Promise<string> {
    const { alg, sign } = this.keyOf(key)
    return new SignJWT(this.claims(claims)).setProtectedHeader({ alg, ...(kid === null ? {} : { kid }) }).sign(sign)
  }

  /** The same without a signature. */
  unsigned(): string {
    return new UnsecuredJWT(this.claims({})).encode()
  }

  /** The same, signed with the public key as a shared secret. */
  async confused(): Promise<string> {
    const secret = new TextEncoder().encode(JSON.stringify(this.keyOf('RS256').jwk))
    return new SignJWT(this.claims({})).setProtectedHeader({ alg: 'HS256', kid: 'RS256' }).sign(secret)
  }

  private keyOf(name: string): Key {
    const key = this.keys.get(name)
    if (key === undefined) throw new Error(`no key ${name}`)
    return key
  }

  private claims(changed: Record<string, unknown>): Record<string, unknown> {
    const now = Math.floor(this.now() / 1000)
    const good: Record<string, unknown> = {
      iss: this.url,
      aud: 'quota',
      sub: 'u-1',
      preferred_username: 'anna',
      roles: ['quota-admins'],
      iat: now,
      exp: now + 600,
    }
    return Object.fromEntries(Object.entries({ ...good, ...changed }).filter(([, value]) => value !== undefined))
  }

  /** The answer to a path. */
  answerOf(path: string): { status?: number; body: string; headers?: Record<string, string> } {
    switch (path) {
      case '/.well-known/openid-configuration':
        return { body: JSON.stringify({ issuer: this.url, jwks_uri: `${this.url}/jwks` }) }
      case '/jwks':
        return { body: JSON.stringify({ keys: [...this.keys.values()].map(({ jwk }) => jwk) }) }
      default:
        return { status: 404, body: '{}' }
    }
  }
}
