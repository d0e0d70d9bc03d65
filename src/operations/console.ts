import { createHash } from 'node:crypto'
import { existsSync, readdirSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { dirname, extname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { Injectable } from '@nestjs/common'
import type { NextFunction, Request, RequestHandler, Response } from 'express'
import { Config } from '../config/config.js'
import { ServiceError } from '../error/service-error.js'
import { leaveBody } from '../http/linger.js'
import { bringsBody } from '../http/request-body.js'

/** Where the console lies, to callers; its own links are made for this place when it is built (console/vite.config.ts). */
export const CONSOLE_PATH = '/admin'

/** What stands in the log and in metrics for all of it, however many paths its screens have. */
export const CONSOLE_ROUTE = '/admin/*'

const PAGE = 'index.html'
/** The folder of the files whose names hold a digest of what they hold. */
const ASSETS = 'assets'

const METHODS = ['GET', 'HEAD']

/** The page works with what it loads from here, and calls this service alone; nothing in it runs or is styled that is not a file of its own. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

/** A page names its files, so it is asked for each time; a file never changes under its name. */
const PAGE_CACHING = 'no-cache'
const ASSET_CACHING = 'public, max-age=31536000, immutable'

const MEDIA_TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
}

/** A file as it is sent. */
interface Content {
  readonly plain: Buffer
  readonly zipped: Buffer
  /** Of the plain bytes, in hex. */
  readonly digest: string
}

const zip = promisify(gzip)

/** Where the build puts the console (scripts/build.mjs), seen from src/operations or from dist/src/operations. */
function builtConsole(): string | undefined {
  const here = dirname(fileURLToPath(import.meta.url))
  return ['../..', '../../..']
    .map((up) => join(here, up, 'console/dist'))
    .find((folder) => existsSync(join(folder, PAGE)))
}

/**
 * The console in the browser, as static files: a page, which answers every path below `/admin/` so that the address of each screen can be
 * opened, and the files that the page names. Public: it holds no data, and what it shows it asks the API for with the token of whoever signs
 * in. No route of a controller, since a path may be of any length, and since nothing of it belongs into the API's document.
 */
@Injectable()
export class Console {
  /** To stand at `/admin`; undefined where the console is switched off or was not built. */
  readonly middleware: RequestHandler | undefined

  constructor({ console }: Config) {
    const folder = console ? builtConsole() : undefined
    this.middleware = folder === undefined ? undefined : serve(folder)
  }
}

function serve(folder: string): RequestHandler {
  const assets = new Set(readdirSync(join(folder, ASSETS)))
  const contents = new Map<string, Promise<Content>>()
  const contentOf = (file: string): Promise<Content> => {
    let content = contents.get(file)
    if (content === undefined) {
      content = read(join(folder, file))
      contents.set(file, content)
      content.catch(() => contents.delete(file))
    }
    return content
  }

  return (request: Request, response: Response, next: NextFunction): void => {
    request.route = { path: CONSOLE_ROUTE }
    if (!METHODS.includes(request.method)) {
      next(new ServiceError('method_not_allowed', `this path takes ${METHODS.join(', ')}`, { allow: METHODS }))
      return
    }
    if (bringsBody(request)) leaveBody(request, response)
    // Express takes both for the root of what lies at this place; the page's own links are relative to the second alone.
    if (pathOf(request.originalUrl).toLowerCase() === CONSOLE_PATH) {
      response.redirect(302, `${CONSOLE_PATH}/`)
      return
    }
    const [first, name, ...more] = request.path.slice(1).split('/')
    const isAsset = first === ASSETS
    if (isAsset && (name === undefined || more.length > 0 || !assets.has(name))) {
      next(new ServiceError('route_not_found', 'there is no such route'))
      return
    }
    const file = isAsset ? `${ASSETS}/${name}` : PAGE
    contentOf(file).then((content) => send(request, response, file, content), next)
  }
}

function pathOf(url: string): string {
  const end = url.indexOf('?')
  return end === -1 ? url : url.slice(0, end)
}

async function read(path: string): Promise<Content> {
  const plain = await readFile(path)
  return { plain, zipped: await zip(plain, { level: 9 }), digest: createHash('sha256').update(plain).digest('hex') }
}

function send(request: Request, response: Response, file: string, { plain, zipped, digest }: Content): void {
  const zips = request.acceptsEncodings('gzip', 'identity') === 'gzip'
  response.setHeader('Content-Security-Policy', POLICY)
  response.setHeader('Cache-Control', file === PAGE ? PAGE_CACHING : ASSET_CACHING)
  response.vary('Accept-Encoding')
  response.setHeader('ETag', zips ? `"${digest}-gzip"` : `"${digest}"`)
  if (request.fresh) {
    response.statusCode = 304
    response.end()
    return
  }
  const body = zips ? zipped : plain
  response.setHeader('Content-Type', MEDIA_TYPES[extname(file)] ?? 'application/octet-stream')
  if (zips) response.setHeader('Content-Encoding', 'gzip')
  response.setHeader('Content-Length', body.length)
  response.end(request.method === 'HEAD' ? undefined : body)
}
