/**
 * `npm run client:types`: generates client/src/schema.ts, the types of the contract, from openapi.json. With `--check` it
 * writes nothing and fails if the file differs from what openapi.json generates.
 *
 * It leaves out what no type of the client refers to: answers other than success (a `code` identifies a problem,
 * regardless of the route), headers (the transport handles them), and routes that are not for callers.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import openapiTypescript, { astToString } from 'openapi-typescript'

const at = (path) => fileURLToPath(new URL(`../${path}`, import.meta.url))
const TARGET = 'client/src/schema.ts'
const METHODS = ['get', 'put', 'post', 'delete', 'patch']
const HEAD = '// Written by `npm run client:types` from openapi.json. Change nothing here.\n\n'

process.exitCode = await main(process.argv.slice(2))

async function main(args) {
  if (args.some((arg) => arg !== '--check')) {
    console.error('usage: npm run client:types [-- --check]')
    return 2
  }
  const types = await openapiTypescript(forCallers(JSON.parse(readFileSync(at('openapi.json'), 'utf8'))), {
    // A field with a default need not be sent.
    defaultNonNullable: false,
  })
  const text = HEAD + astToString(types)
  if (!args.includes('--check')) {
    writeFileSync(at(TARGET), text)
    return 0
  }
  if (text === read(TARGET)) return 0
  console.error(`${TARGET} differs from openapi.json; run \`npm run client:types\` and look at the difference`)
  return 1
}

/** The document without the parts that the client's types never refer to. */
function forCallers({ paths, components, ...document }) {
  return {
    ...document,
    paths: Object.fromEntries(
      Object.entries(paths)
        .filter(([path]) => path.startsWith('/api/'))
        .map(([path, item]) => [
          path,
          Object.fromEntries(
            Object.entries(item).map(([name, value]) => [name, METHODS.includes(name) ? operation(value) : value]),
          ),
        ]),
    ),
    components: { schemas: components.schemas },
  }
}

function operation({ operationId, summary, description, parameters = [], requestBody, responses }) {
  return {
    operationId,
    summary,
    description,
    parameters: parameters.filter(({ in: place }) => place === 'query' || place === 'path'),
    requestBody,
    responses: Object.fromEntries(
      Object.entries(responses)
        .filter(([status]) => status.startsWith('2'))
        .map(([status, { description: words, content }]) => [status, { description: words, content }]),
    ),
  }
}

function read(path) {
  try {
    return readFileSync(at(path), 'utf8')
  } catch {
    return undefined
  }
}
