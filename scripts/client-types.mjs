/**
 * `npm run client:types`: generates client/src/schema.ts, the types of the contract, from openapi.json. With `--check` it
 * writes nothing and fails if the file differs from what openapi.json generates.
 *
 * It leaves out what no type of the client refers to: answers other than success (a `code` identifies a problem,
 * regardless of the route), headers (the transport handles them), and routes that are not for callers.
 */
import { readFileSync } from 'node:fs'
import openapiTypescript, { astToString } from 'openapi-typescript'
import { generated } from './generated.mjs'

const TARGET = 'client/src/schema.ts'
const METHODS = ['get', 'put', 'post', 'delete', 'patch']
const HEAD = '// Written by `npm run client:types` from openapi.json. Change nothing here.\n\n'

await generated(
  'npm run client:types',
  TARGET,
  types,
  `${TARGET} differs from openapi.json; run \`npm run client:types\` and look at the difference`,
)

async function types() {
  const document = JSON.parse(readFileSync(new URL('../openapi.json', import.meta.url), 'utf8'))
  // A field with a default need not be sent.
  return HEAD + astToString(await openapiTypescript(forCallers(document), { defaultNonNullable: false }))
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
