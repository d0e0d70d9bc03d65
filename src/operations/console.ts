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
import { leaveBody } from '../http/linger.js'
import { addHeader, reply, replyFile } from '../http/reply.js'
import { bringsBody } from '../http/request-body.js'

/**
 * Where the console lies, to callers; its own links are made for this place when it is built (console/vite.config.ts).
 */
export const CONSOLE_PATH = '/admin'

/** What stands in the log and in metrics for all of it, however many paths its screens have. */
export const CONSOLE_ROUTE = '/admin/*'

const PAGE = 'index.html'
/** The folder of the files whose names hold a hash of what they hold. */
const ASSETS = 'assets'

const METHODS = ['GET', 'HEAD']

/**
 * The page works with what it loads from here, and calls this service and, where people sign in there, the identity
 * provider; nothing in it runs or is styled that is not a file of its own.
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

/** A page names its files, so it is asked for each time; a file never changes under its name. */
const PAGE_CACHING = 'no-cache'
const ASSET_CACHING = 'public, max-age=31536000, immutable'

const MEDIA_TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
}

/** How people sign in to the console. */
export interface SignIn {
  /** The identity provider, as console/src/provider.ts knows it; undefined where tokens alone are taken. */
  readonly provider:
    | { readonly issuer: string; readonly clientId: string; readonly scope: string; readonly audience: string }
    | undefined
  /** Minutes without a touch after which somebody is signed out; 0: never. */
  readonly idleMinutes: number
  /** Origins of the provider's that the page calls. */
  origins(): readonly string[]
}

/** What the configuration says of that. */
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

/** A file as it is sent. */
interface Content {
  readonly plain: Buffer
  readonly zipped: Buffer
  /** Of the plain bytes, in hex. */
  readonly hash: string
}

/**
 * Where the build put the console (scripts/build.mjs), seen from src/operations or from dist/src/operations.
 * @returns undefined where it is switched off, or was not built
 */
export function servedConsole({ console }: Pick<Config, 'console'>): string | undefined {
  const here = dirname(fileURLToPath(import.meta.url))
  return ['../..', '../../..']
    .map((up) => join(here, up, 'console/dist'))
    .find((folder) => console && existsSync(join(folder, PAGE)))
}

/**
 * The console in the browser, as static files: a page, which answers every path below `/admin/` so that the address of
 * each screen can be opened, and the files that the page names. Public: it holds no data, and what it shows it asks the
 * API for with the token of whoever signs in. No route of a controller, since a path may be of any length, and since
 * nothing of it belongs into the API's document.
 * @param folder what the build made
 * @param signIn what the page is told of it
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
    if (bringsBody(request)) leaveBody(request, response)
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

/** Where the page is told how people sign in. */
const SIGN_IN = '<meta name="quota-sign-in" content="" />'

/** A file as it is built, but that the page says how people sign in. */
function told(file: string, built: Buffer, { provider, idleMinutes }: SignIn): Buffer {
  if (file !== PAGE || (provider === undefined && idleMinutes === 0)) return built
  const content = JSON.stringify({ provider, idleMinutes }).replace(/[&"<>]/g, (one) => `&#${one.charCodeAt(0)};`)
  return Buffer.from(built.toString('utf8').replace(SIGN_IN, () => SIGN_IN.replace('""', `"${content}"`)))
}

/** At the first request for it, which takes some milliseconds once. */
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

/** Has the caller the file of that tag (RFC 9110, section 13.1.2)? */
function knows({ headers }: Request, tag: string): boolean {
  const tags = headers['if-none-match']?.split(',') ?? []
  return tags.some((one) => one.trim() === '*' || one.trim().replace(/^W\//, '') === tag)
}
