import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, extname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import type { Request, Response } from 'express'
import type { ProviderKeys } from '../auth/provider-keys.js'
import type { Config } from '../config/config.js'
import { ServiceError } from '../error/service-error.js'
import { type Gate, pathOf } from '../http/request-pipeline.js'
import { closeAfterAnswer } from '../http/unread-body.js'
import { addHeader, reply, replyFile } from '../http/reply.js'
import { bringsBody } from '../http/request-body.js'

/**
 * The console's path; its own links are built for this path (console/vite.config.ts).
 */
export const CONSOLE_PATH = '/admin'

/** The route of all its paths in the log and in metrics. */
export const CONSOLE_ROUTE = '/admin/*'

const PAGE = 'index.html'
/** The folder of the files whose names contain a hash of their content. */
const ASSETS = 'assets'

const METHODS = ['GET', 'HEAD']

/**
 * The page may load only its own files, and may call only this service and, if people sign in there, the identity
 * provider.
 * @param origins of the provider
 */
function policy(origins: readonly string[]): string {
  return [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    ["connect-src 'self'", ...origins].join(' '),
    "img-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ')
}

/** A page names its files, so it is revalidated each time; a file never changes under its name. */
const PAGE_CACHING = 'no-cache'
const ASSET_CACHING = 'public, max-age=31536000, immutable'

const MEDIA_TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
}

/** The ways to sign in to the console. */
export interface SignIn {
  /** The identity provider, as console/src/provider.ts expects it; undefined if only tokens are accepted. */
  readonly provider:
    | { readonly issuer: string; readonly clientId: string; readonly scope: string; readonly audience: string }
    | undefined
  /** Minutes of inactivity after which the user is signed out; 0: never. */
  readonly idleMinutes: number
  /** Origins of the provider that the page calls. */
  origins(): readonly string[]
}

/** The configuration of the sign-in. */
export function signInOf({ oidc, consoleIdleMinutes }: Config, keys: ProviderKeys): SignIn {
  const clientId = oidc?.consoleClientId
  if (oidc === undefined || clientId === undefined)
    return { provider: undefined, idleMinutes: consoleIdleMinutes, origins: () => [] }
  const { issuer, audience, consoleScope: scope } = oidc
  return {
    provider: { issuer, clientId, scope, audience },
    idleMinutes: consoleIdleMinutes,
    origins: () => keys.origins,
  }
}

/** A file as sent. */
interface Content {
  readonly plain: Buffer
  readonly zipped: Buffer
  /** The digest of the uncompressed bytes, in hex. */
  readonly hash: string
}

/**
 * The folder of the built console (scripts/build.mjs), relative to src/operations or dist/src/operations.
 * @returns undefined if it is switched off, or was not built
 */
export function servedConsole({ console }: Pick<Config, 'console'>): string | undefined {
  const here = dirname(fileURLToPath(import.meta.url))
  return ['../..', '../../..']
    .map((up) => join(here, up, 'console/dist'))
    .find((folder) => console && existsSync(join(folder, PAGE)))
}

/**
 * Serves the console as static files: a page, which answers every path below `/admin/` so that the address of each
 * screen can be opened, and the files that the page names. It is public: it contains no data, and reads its data from
 * the API with the user's token. It is not a controller, since a path may have any length, and since it does not belong
 * in the API's document.
 * @param folder the built console
 * @param signIn passed to the page
 */
export function consoleGate(folder: string, signIn: SignIn): Gate {
  const files = new Set([PAGE, ...readdirSync(join(folder, ASSETS)).map((name) => `${ASSETS}/${name}`)])
  const contents = new Map<string, Content>()
  const contentOf = (file: string): Content => {
    const content = contents.get(file) ?? contentFrom(told(file, readFileSync(join(folder, file)), signIn))
    contents.set(file, content)
    return content
  }

  return (request: Request, response: Response): boolean => {
    const path = pathOf(request)
    if (path !== CONSOLE_PATH && !path.startsWith(`${CONSOLE_PATH}/`)) return false
    request.route = { path: CONSOLE_ROUTE }
    if (!METHODS.includes(request.method)) {
      throw new ServiceError('method_not_allowed', `this path takes ${METHODS.join(', ')}`, { allow: METHODS })
    }
    if (bringsBody(request)) closeAfterAnswer(request, response)
    if (path === CONSOLE_PATH) {
      addHeader(response, 'Location', `${CONSOLE_PATH}/`)
      reply(response, 302, undefined)
      return true
    }
    const below = path.slice(CONSOLE_PATH.length + 1)
    const file = below === ASSETS || below.startsWith(`${ASSETS}/`) ? below : PAGE
    if (!files.has(file)) throw new ServiceError('route_not_found', 'there is no such route')
    send(request, response, file, contentOf(file), policy(signIn.origins()))
    return true
  }
}

/** The place in the page where the ways to sign in are inserted. */
const SIGN_IN = '<meta name="quota-sign-in" content="" />'

/** A built file, with the ways to sign in inserted into the page. */
function told(file: string, built: Buffer, { provider, idleMinutes }: SignIn): Buffer {
  if (file !== PAGE || (provider === undefined && idleMinutes === 0)) return built
  const content = JSON.stringify({ provider, idleMinutes }).replace(/[&"<>]/g, (one) => `&#${one.charCodeAt(0)};`)
  return Buffer.from(built.toString('utf8').replace(SIGN_IN, () => SIGN_IN.replace('""', `"${content}"`)))
}

/** On the first request for it, which then takes some milliseconds longer. */
function contentFrom(plain: Buffer): Content {
  return { plain, zipped: gzipSync(plain), hash: createHash('sha256').update(plain).digest('hex') }
}

function send(request: Request, response: Response, file: string, { plain, zipped, hash }: Content, csp: string): void {
  const zips = request.acceptsEncodings('gzip', 'identity') === 'gzip'
  const tag = zips ? `"${hash}-gzip"` : `"${hash}"`
  addHeader(response, 'Content-Security-Policy', csp)
  addHeader(response, 'Cache-Control', file === PAGE ? PAGE_CACHING : ASSET_CACHING)
  addHeader(response, 'Vary', 'Accept-Encoding')
  addHeader(response, 'ETag', tag)
  if (knows(request, tag)) {
    replyFile(response, 304, undefined)
    return
  }
  addHeader(response, 'Content-Type', MEDIA_TYPES[extname(file)] ?? 'application/octet-stream')
  if (zips) addHeader(response, 'Content-Encoding', 'gzip')
  replyFile(response, 200, zips ? zipped : plain)
}

/** Does the caller have the file with that tag (RFC 9110, section 13.1.2)? */
function knows({ headers }: Request, tag: string): boolean {
  const tags = headers['if-none-match']?.split(',') ?? []
  return tags.some((one) => one.trim() === '*' || one.trim().replace(/^W\//, '') === tag)
}
