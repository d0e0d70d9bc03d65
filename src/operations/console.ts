import { hash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { extname, join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { HttpException } from '@nestjs/common'
import type { Request, Response } from 'express'
import type { ProviderKeys } from '../auth/provider-keys.js'
import { VIEW_PATH } from '../channel-api/link.controller.js'
import type { Config } from '../config/config.js'
import { ServiceError } from '../common/service-error.js'
import { ROOT } from '../common/version.js'
import { type Gate, pathOf } from '../http/request-pipeline.js'
import { closeAfterAnswer } from '../http/unread-body.js'
import { addHeader, reply } from '../http/reply.js'
import { bringsBody } from '../http/request-body.js'
import { routeNotFound } from '../http/route-table.js'

/**
 * The console's path; its own links are built for this path (console/vite.config.ts).
 */
export const CONSOLE_PATH = '/admin'

const CONSOLE_PAGE = 'index.html'
/** The folder of the page of owners' links within that of the console, and the page. */
const VIEW_FOLDER = 'view'
const VIEW_PAGE = 'view.html'
/** The folder of the files whose names contain a hash of their content. */
const ASSETS = 'assets'
/** The ending of the compressed copy that the build writes beside each of them. */
const ZIPPED = '.gz'
/** The Cache-Control of these files. */
const FOR_EVER = 'public, max-age=31536000, immutable'

const METHODS = ['GET', 'HEAD']

/** A page, and the files that it names. */
export interface Site {
  /** Its path, without a slash at the end. */
  readonly path: string
  /** The folder of its files, as built. */
  readonly folder: string
  readonly page: Buffer
  /** Whether the page answers every path below, and the service's own root for people. */
  readonly isApp: boolean
  /** The Cache-Control of the page. */
  readonly caching: 'no-cache' | 'no-store'
  policy(): string
}

/**
 * The page may load only its own files, and may call only this service and further origins.
 * @param origins of the identity provider, if people sign in there
 * @param ancestors may show the page in a frame
 */
function policy(origins: readonly string[], ancestors: readonly string[] = []): string {
  return [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    ["connect-src 'self'", ...origins].join(' '),
    "img-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    ['frame-ancestors', ...(ancestors.length === 0 ? ["'none'"] : ancestors)].join(' '),
  ].join('; ')
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
  const idleMinutes = consoleIdleMinutes
  const clientId = oidc?.consoleClientId
  if (oidc === undefined || clientId === undefined) return { provider: undefined, idleMinutes, origins: () => [] }
  const { issuer, audience, consoleScope: scope } = oidc
  return { provider: { issuer, clientId, scope, audience }, idleMinutes, origins: () => keys.origins }
}

/**
 * The folder of the built console (scripts/build.mjs).
 * @returns undefined if it is switched off, or was not built
 */
export function servedConsole({ console }: Pick<Config, 'console'>): string | undefined {
  return console ? builtWith(CONSOLE_PAGE) : undefined
}

/** Returns the console in a folder. @param signIn passed to the page */
export function consoleSite(folder: string, signIn: SignIn): Site {
  return {
    path: CONSOLE_PATH,
    folder,
    page: pageWith(readFileSync(join(folder, CONSOLE_PAGE), 'utf8'), signIn),
    isApp: true,
    caching: 'no-cache',
    policy: () => policy(signIn.origins()),
  }
}

/**
 * The page of owners' links, whether or not the console is served.
 * @returns undefined if no links can be made, or it was not built
 */
export function servedView({ linkSecret, viewFrameAncestors }: Config): Site | undefined {
  const folder = builtWith(join(VIEW_FOLDER, VIEW_PAGE))
  if (linkSecret.length === 0 || folder === undefined) return undefined
  return {
    path: VIEW_PATH,
    folder: join(folder, VIEW_FOLDER),
    page: readFileSync(join(folder, VIEW_FOLDER, VIEW_PAGE)),
    isApp: false,
    caching: 'no-store',
    policy: () => policy([], viewFrameAncestors),
  }
}

function builtWith(page: string): string | undefined {
  const folder = join(ROOT, 'console/dist')
  return existsSync(join(folder, page)) ? folder : undefined
}

/** The content of a page or a file, and its ETag. */
interface Body {
  readonly content: Buffer
  readonly etag: string
}

function bodyOf(content: Buffer): Body {
  return { content, etag: `"${hash('sha256', content)}"` }
}

/**
 * Serves a site as static files: a page, which for the console answers every path below, so that the address of each
 * screen can be opened, and the files that the page names. All are kept in memory: a build may replace them meanwhile,
 * and the page names its own. It is public: it contains no data, and reads its data from the API with the user's token.
 * It is not a controller, since a path may have any length, and since it does not belong in the API's document.
 */
export function siteGate(site: Site): Gate {
  const { path: place, page, isApp, caching } = site
  const root = join(site.folder, ASSETS)
  const files = new Map(readdirSync(root).map((name) => [name, bodyOf(readFileSync(join(root, name)))]))
  const [plainPage, zippedPage] = [bodyOf(page), bodyOf(gzipSync(page))]

  return (request: Request, response: Response): boolean => {
    const path = pathOf(request)
    const isRoot = isApp && path === '/' && METHODS.includes(request.method) && prefersHtml(request)
    if (!isRoot && path !== place && !path.startsWith(`${place}/`)) return false
    // The same for all its paths in the log and in metrics.
    request.route = { path: `${place}/*` }
    if (!METHODS.includes(request.method)) {
      throw new ServiceError('method_not_allowed', `this path takes ${METHODS.join(', ')}`, { allow: METHODS })
    }
    if (bringsBody(request)) closeAfterAnswer(request, response)
    if (isRoot || path === place) {
      addHeader(response, 'Location', `${place}/`)
      reply(response, 302, undefined)
      return true
    }
    const below = path.slice(place.length + 1)
    const isAsset = below === ASSETS || below.startsWith(`${ASSETS}/`)
    const name = below.slice(ASSETS.length + 1)
    const isPage = !isAsset && (isApp || below === '')
    const plain = isPage ? plainPage : isAsset && !name.endsWith(ZIPPED) ? files.get(name) : undefined
    if (plain === undefined) throw routeNotFound(request.method, path)
    const zipped = isPage ? zippedPage : files.get(`${name}${ZIPPED}`)
    const body = unzips(request) ? (zipped ?? plain) : plain
    if (!isExpected(request, body)) throw new HttpException('Precondition Failed', 412)
    response
      .set({ 'Content-Security-Policy': site.policy(), ETag: body.etag, 'Cache-Control': isPage ? caching : FOR_EVER })
      .vary('Accept-Encoding')
      .type(isPage ? 'html' : extname(name))
    if (body === zipped && !request.fresh) response.set('Content-Encoding', 'gzip')
    response.send(body.content)
    return true
  }
}

/** Does a condition of the request (RFC 9110, section 13.1.1) permit this body? */
function isExpected({ headers }: Request, { etag }: Body): boolean {
  const condition = headers['if-match']
  return condition === undefined || condition.split(',').some((one) => ['*', etag].includes(one.trim()))
}

/** The maximum length of an Accept header that is read: the time for it grows with the square of its length. */
const MAX_ACCEPT = 1_000

/** Whether this is a person's browser, which prefers a page to JSON. */
function prefersHtml(request: Request): boolean {
  const { accept = '' } = request.headers
  return accept.length <= MAX_ACCEPT && request.accepts('application/json', 'text/html') === 'text/html'
}

function unzips(request: Request): boolean {
  const codings = request.get('Accept-Encoding') ?? ''
  return codings.length <= MAX_ACCEPT && request.acceptsEncodings('gzip', 'identity') === 'gzip'
}

/** The place in the page where the ways to sign in are inserted. */
const SIGN_IN = '<meta name="quota-sign-in" content="" />'

/** Returns the page with the ways to sign in inserted. */
function pageWith(built: string, { provider, idleMinutes }: SignIn): Buffer {
  const content = JSON.stringify({ provider, idleMinutes }).replace(/[&"<>]/g, (one) => `&#${one.charCodeAt(0)};`)
  const isDefault = provider === undefined && idleMinutes === 0
  return Buffer.from(isDefault ? built : built.replace(SIGN_IN, () => SIGN_IN.replace('""', `"${content}"`)))
}
