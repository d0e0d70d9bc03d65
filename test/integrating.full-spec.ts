import { mkdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from '@jest/globals'
import { ERROR_CODES, statusOf } from '../src/http/problem.js'
import { runNode } from './support/command.js'
import { temporaryFolder } from './support/opened.js'

const PAGES = ['docs/use/integrating.md', 'client/README.md']

/** Every block of TypeScript in a page. */
async function blocksOf(page: string): Promise<string[]> {
  const text = await readFile(page, 'utf8')
  return [...text.matchAll(/^```(?:ts|typescript)\b[^\n]*\n([\s\S]*?)^```$/gm)].map(([, code = '']) => code)
}

/** The messages of the compiler, by file: each block of a page as it is, and with a method that the client lacks. */
const messages = new Map<string, string[]>()

const nameOf = (page: string, index: number, kind: 'good' | 'broken') =>
  `${page.replaceAll(/\W/g, '-')}-${index + 1}.${kind}.ts`
const brokenOf = (block: string) => block.replace(/\.consume\(/, '.consumed(')

beforeAll(async () => {
  const folder = temporaryFolder('quota-docs-')
  await mkdir(join(folder, 'node_modules/@quota-service'), { recursive: true })
  await symlink(join(process.cwd(), 'client'), join(folder, 'node_modules/@quota-service/client'))
  await symlink(join(process.cwd(), 'node_modules/@types'), join(folder, 'node_modules/@types'))
  await writeFile(join(folder, 'package.json'), JSON.stringify({ type: 'module' }))
  for (const page of PAGES) {
    for (const [index, block] of (await blocksOf(page)).entries()) {
      for (const [file, text] of [
        [nameOf(page, index, 'good'), block],
        [nameOf(page, index, 'broken'), brokenOf(block)],
      ] as const) {
        messages.set(file, [])
        await writeFile(join(folder, file), text)
      }
    }
  }
  const compilerOptions = { strict: true, noEmit: true, module: 'nodenext', target: 'es2022', types: ['node'] }
  await writeFile(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: [...messages.keys()] }))
  const tsc = join(process.cwd(), 'node_modules/typescript/bin/tsc')
  const { stdout } = await runNode([tsc, '-p', folder, '--pretty', 'false'], { cwd: folder })
  for (const line of stdout.split('\n')) messages.get(line.split('(')[0] ?? '')?.push(line)
})

it('the table of answers in docs/use/integrating.md has every code, with its status', async () => {
  const text = await readFile('docs/use/integrating.md', 'utf8')
  const rows = [...text.matchAll(/^\| (\d{3}) \| (`\w+`(?:, `\w+`)*) \|/gm)]
  const found = rows.flatMap(([, status, codes = '']) =>
    [...codes.matchAll(/\w+/g)].map(([code]) => [code, Number(status)]),
  )
  expect(found.sort()).toEqual(ERROR_CODES.map((code) => [code, statusOf(code)]).sort())
})

describe.each(PAGES)('the code in %s', (page) => {
  it('compiles, in strict TypeScript, with the built client', async () => {
    const blocks = await blocksOf(page)
    expect(blocks.length).toBeGreaterThan(0)
    expect(blocks.flatMap((_, index) => messages.get(nameOf(page, index, 'good')))).toEqual([])
  })

  it('would not compile with an unknown method', async () => {
    const broken = (await blocksOf(page)).flatMap((block, index) => (brokenOf(block) === block ? [] : [index]))
    expect(broken).not.toEqual([])
    for (const index of broken) {
      expect(messages.get(nameOf(page, index, 'broken'))?.join()).toContain("Property 'consumed' does not exist")
    }
  })
})
