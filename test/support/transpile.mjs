import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const config = fileURLToPath(new URL('../../tsconfig.json', import.meta.url))
/** What the result depends on, besides the source. */
const FRAME = [config, fileURLToPath(import.meta.url), fileURLToPath(import.meta.resolve('typescript/package.json'))]
  .map((path) => readFileSync(path, 'utf8'))
  .join()

let compiler

/** Loads the compiler: only if something is not in the cache. */
async function load() {
  const { default: ts } = await import('typescript')
  const { compilerOptions } = ts.readConfigFile(config, ts.sys.readFile).config
  const { options } = ts.convertCompilerOptionsFromJson({ ...compilerOptions, module: 'esnext' }, '.')
  return { ts, options }
}

/** Jest's transformer: compiles a file by itself, and checks no types. Its cache serves every configuration of Jest. */
export default {
  getCacheKey: (source, path) => createHash('sha256').update(`${path}\0${FRAME}\0${source}`).digest('hex').slice(0, 32),
  async processAsync(source, path) {
    const { ts, options } = await (compiler ??= load())
    const { outputText, sourceMapText } = ts.transpileModule(source, { fileName: path, compilerOptions: options })
    return { code: outputText, map: sourceMapText }
  },
}
