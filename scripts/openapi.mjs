/**
 * `npm run openapi`: generates openapi.json from the compiled code, without a database. `npm run openapi -- --check`
 * writes nothing and fails if the file differs from the code.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { NestFactory } from '@nestjs/core'

const at = (path) => fileURLToPath(new URL(`../${path}`, import.meta.url))
const { AppModule } = await import('../dist/src/app.module.js')
const { APP_OPTIONS } = await import('../dist/src/app.js')
const { loadConfig } = await import('../dist/src/config/config.js')
const { buildDocument } = await import('../dist/src/openapi.js')

process.exitCode = await main(process.argv.slice(2))

async function main(args) {
  if (args.some((arg) => arg !== '--check')) {
    console.error('usage: npm run openapi [-- --check]')
    return 2
  }
  const { version } = JSON.parse(readFileSync(at('package.json'), 'utf8'))
  // A preview creates no providers: it opens no database, and the configuration has no effect.
  const app = await NestFactory.create(AppModule.with(loadConfig({})), {
    ...APP_OPTIONS,
    preview: true,
    logger: false,
    abortOnError: false,
  })
  const document = buildDocument(app, version)
  const lost = unresolved(document)
  if (lost.length > 0) {
    console.error(`The document has references without a target: ${lost.join(', ')}`)
    return 1
  }
  const text = `${JSON.stringify(document, null, 2)}\n`
  if (!args.includes('--check')) {
    writeFileSync(at('openapi.json'), text)
    return 0
  }
  if (text === read('openapi.json')) return 0
  console.error('openapi.json differs from the code; run `npm run openapi` and look at the difference')
  return 1
}

function read(path) {
  try {
    return readFileSync(at(path), 'utf8')
  } catch {
    return undefined
  }
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
