import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { Controller, Get, Param, Res } from '@nestjs/common'
import { ApiOkResponse, ApiParam, ApiTags } from '@nestjs/swagger'
import type { Response } from 'express'
import { DocsAuth } from '../auth/access.decorator.js'
import { ROOT } from '../common/version.js'
import { Problems } from '../http/problem.decorator.js'
import { reply } from '../http/reply.js'
import { routeNotFound } from '../http/route-table.js'

const PAGE = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>Quota service</title>
    <link rel="icon" type="image/png" href="/docs/favicon-32x32.png" sizes="32x32">
    <link rel="stylesheet" href="/docs/swagger-ui.css">
    <link rel="stylesheet" href="/docs/index.css">
  </head>
  <body>
    <div id="swagger-ui"></div>
    <script src="/docs/swagger-ui-bundle.js"></script>
    <script src="/docs/initializer.js"></script>
  </body>
</html>
`

// A separate file, since the content security policy allows no inline script.
const INITIALIZER = `window.ui = SwaggerUIBundle({
  url: '/openapi.json',
  dom_id: '#swagger-ui',
  deepLinking: true,
  presets: [SwaggerUIBundle.presets.apis],
  layout: 'BaseLayout',
  validatorUrl: null,
})
`

/** The files of Swagger UI that the page loads, by name; no others are served. */
const MEDIA_TYPES: Readonly<Record<string, string>> = {
  'initializer.js': 'text/javascript; charset=utf-8',
  'swagger-ui-bundle.js': 'text/javascript; charset=utf-8',
  'swagger-ui.css': 'text/css; charset=utf-8',
  'index.css': 'text/css; charset=utf-8',
  'favicon-32x32.png': 'image/png',
}

/** Returns the folder of Swagger UI: a dependency of @nestjs/swagger, which may not be resolvable from here. */
function swaggerUiFolder(): string {
  const nestSwagger = createRequire(import.meta.url).resolve('@nestjs/swagger/package.json')
  return dirname(createRequire(nestSwagger).resolve('swagger-ui-dist/package.json'))
}

/** Reads each file once, on the first request for it. */
class Files {
  private readonly read = new Map<string, Promise<Buffer>>()

  get(path: string): Promise<Buffer> {
    let content = this.read.get(path)
    if (content === undefined) {
      content = readFile(path)
      this.read.set(path, content)
      content.catch(() => this.read.delete(path))
    }
    return content
  }
}

/** The API document, and a page that shows it. */
@ApiTags('Documentation')
@Controller()
@DocsAuth('docsPublic')
export class DocsController {
  private readonly files = new Files()

  /** This document */
  @Get('openapi.json')
  @ApiOkResponse({ description: 'The document.', content: { 'application/json': { schema: { type: 'object' } } } })
  async document(@Res() response: Response): Promise<void> {
    reply(response, 200, await this.files.get(join(ROOT, 'openapi.json')))
  }

  /** This document as a page */
  @Get('docs')
  @ApiOkResponse({ description: 'The page.', content: { 'text/html': { schema: { type: 'string' } } } })
  page(@Res() response: Response): void {
    reply(response, 200, PAGE, 'text/html; charset=utf-8')
  }

  /** A file that the page loads */
  @Get('docs/:file')
  @ApiParam({
    name: 'file',
    required: true,
    schema: { type: 'string', enum: Object.keys(MEDIA_TYPES) },
    example: 'index.css',
  })
  @ApiOkResponse({ description: 'The file.', content: { '*/*': { schema: { type: 'string' } } } })
  @Problems('route_not_found')
  async asset(@Param('file') file: string, @Res() response: Response): Promise<void> {
    const mediaType = Object.hasOwn(MEDIA_TYPES, file) ? MEDIA_TYPES[file] : undefined
    if (mediaType === undefined) throw routeNotFound('GET', `/docs/${file}`)
    const content = file === 'initializer.js' ? INITIALIZER : await this.files.get(join(swaggerUiFolder(), file))
    reply(response, 200, content, mediaType)
  }
}
