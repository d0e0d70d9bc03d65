/**
 * `npm run openapi`: generates openapi.json from the compiled code, without a database. `npm run openapi -- --check`
 * writes nothing and fails if the file differs from the code.
 */
import { readFileSync } from 'node:fs'
import { NestFactory } from '@nestjs/core'
import { generated } from './generated.mjs'

const { AppModule } = await import('../dist/src/app.module.js')
const { APP_OPTIONS } = await import('../dist/src/app.js')
const { loadConfig } = await import('../dist/src/config/config.js')
const { buildDocument } = await import('../dist/src/openapi.js')

await generated(
  'npm run openapi',
  'openapi.json',
  described,
  'openapi.json differs from the code; run `npm run openapi` and look at the difference',
)

async function described() {
  const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'))
  // A preview creates no providers: it opens no database, and the configuration has no effect.
  const app = await NestFactory.create(AppModule.with(loadConfig({})), {
    ...APP_OPTIONS,
    preview: true,
    logger: false,
    abortOnError: false,
  })
  const document = buildDocument(app, version)
  const lost = unresolved(document)
  if (lost.length > 0) throw new Error(`The document has references without a target: ${lost.join(', ')}`)
  return `${JSON.stringify(document, null, 2)}\n`
}

/** Every `$ref` without a target. */
function unresolved(document) {
  const refs = new Set([...JSON.stringify(document).matchAll(/"\$ref":"([^"]*)"/g)].map(([, ref]) => ref))
  return [...refs].filter((ref) => {
    let node = document
    for (const part of ref.replace(/^#\//, '').split('/')) node = node?.[part]
    return node === undefined
  })
}
