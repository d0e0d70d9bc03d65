import { hash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, extname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { HttpException } from '@nestjs/common'
import type { Request, Response } from 'express'
import send from 'send'
import type { ProviderKeys } from '../auth/provider-keys.js'
import type { Config } from '../config/config.js'
import { ServiceError } from '../error/service-error.js'
import type { ProblemFilter } from '../http/problem.filter.js'
import { type Gate, pathOf } from '../http/request-pipeline.js'
import { closeAfterAnswer } from '../http/unread-body.js'
import { addHeader, reply } from '../http/reply.js'
import { bringsBody } from '../http/request-body.js'
import { routeNotFound } from '../http/route-table.js'

/**
 * The console's path; its own links are built for this path (console/vite.config.ts).
 */
export const CONSOLE_PATH = '/admin'

/** The route of all its paths in the log and in metrics. */
const CONSOLE_ROUTE = '/admin/*'

const PAGE = 'index.html'
/** The folder of the files whose names contain a hash of their content. */
const ASSETS = 'assets'
/** The ending of the compressed copy that the build writes beside each of them. */
const ZIPPED = '.gz'

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
 * @param problems answers if a file cannot be sent
 */
export function consoleGate(folder: string, signIn: SignIn, problems: Pick<ProblemFilter, 'tell'>): Gate {
  const root = join(folder, ASSETS)
  const names = new Set(readdirSync(root))
  const page = pageWith(readFileSync(join(folder, PAGE), 'utf8'), signIn)
  const zippedPage = gzipSync(page)

  return (request: Request, response: Response): boolean => {
    const path = pathOf(request)
    const isRoot = path === '/' && METHODS.includes(request.method) && prefersHtml(request)
    if (!isRoot && path !== CONSOLE_PATH && !path.startsWith(`${CONSOLE_PATH}/`)) return false
    request.route = { path: CONSOLE_ROUTE }
    if (!METHODS.includes(request.method)) {
      throw new ServiceError('method_not_allowed', `this path takes ${METHODS.join(', ')}`, { allow: METHODS })
    }
    if (bringsBody(request)) closeAfterAnswer(request, response)
    if (isRoot || path === CONSOLE_PATH) {
      addHeader(response, 'Location', `${CONSOLE_PATH}/`)
      reply(response, 302, undefined)
      return true
    }
    const below = path.slice(CONSOLE_PATH.length + 1)
    const isAsset = below === ASSETS || below.startsWith(`${ASSETS}/`)
    const name = below.slice(ASSETS.length + 1)
    if (isAsset && (!names.has(name) || name.endsWith(ZIPPED))) throw routeNotFound(request.method, path)
    const zips = request.acceptsEncodings('gzip', 'identity') === 'gzip' && (!isAsset || names.has(`${name}${ZIPPED}`))
    response.set('Content-Security-Policy', policy(signIn.origins())).vary('Accept-Encoding')
    if (zips) response.set('Content-Encoding', 'gzip')
    if (isAsset) {
      response.type(extname(name))
      send(request, zips ? `${name}${ZIPPED}` : name, { root, acceptRanges: false, maxAge: '365d', immutable: true })
        .on('error', (error: HttpError) => {
          // The headers of the file do not describe the problem. A response that has begun is broken off.
          if (!response.headersSent) response.getHeaderNames().forEach((header) => response.removeHeader(header))
          problems.tell(problemOf(error, request.method, path), request, response)
        })
        .pipe(response)
    } else {
      const body = zips ? zippedPage : page
      response.set({ 'Cache-Control': 'no-cache', ETag: `"${hash('sha256', body)}"` }).type('html')
      if (request.fresh) response.removeHeader('Content-Encoding')
      response.send(body)
    }
    return true
  }
}

/** Whether this is a person's browser, which prefers a page to JSON. */
function prefersHtml(request: Request): boolean {
  return request.accepts('application/json', 'text/html') === 'text/html'
}

/** An error of `send`. */
type HttpError = Error & { readonly status: number }

/** Returns the problem of a file that cannot be sent: it is gone, or a precondition of the request fails. */
function problemOf(error: HttpError, method: string, path: string): Error {
  if (error.status === 404) return routeNotFound(method, path)
  return error.status === 412 ? new HttpException(error.message, error.status) : error
}

/** The place in the page where the ways to sign in are inserted. */
const SIGN_IN = '<meta name="quota-sign-in" content="" />'

/** Returns the page with the ways to sign in inserted. */
function pageWith(built: string, { provider, idleMinutes }: SignIn): Buffer {
  const content = JSON.stringify({ provider, idleMinutes }).replace(/[&"<>]/g, (one) => `&#${one.charCodeAt(0)};`)
  const isDefault = provider === undefined && idleMinutes === 0
  return Buffer.from(isDefault ? built : built.replace(SIGN_IN, () => SIGN_IN.replace('""', `"${content}"`)))
}
