import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/**
 * Writes a generated file or, with the argument `--check`, compares it; sets the exit code.
 * @param {string} command such as `npm run openapi`, for the usage
 * @param {string} file relative to the root of the project
 * @param {() => string | Promise<string>} generate its text; throws if there can be none
 * @param {string} differs what is said of another file
 */
export async function generated(command, file, generate, differs) {
  const args = process.argv.slice(2)
  const path = fileURLToPath(new URL(`../${file}`, import.meta.url))
  if (args.some((arg) => arg !== '--check')) {
    console.error(`usage: ${command} [-- --check]`)
    process.exitCode = 2
    return
  }
  const text = await generate()
  if (args.length === 0) writeFileSync(path, text)
  else if (!existsSync(path) || readFileSync(path, 'utf8') !== text) {
    console.error(differs)
    process.exitCode = 1
  }
}
