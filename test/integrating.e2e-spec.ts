import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from '@jest/globals'
import { runNode } from './support/command.js'
import { opened } from './support/opened.js'

const PAGES = ['docs/integrating.md', 'client/README.md']

/** Every block of TypeScript in a page. */
async function blocksOf(page: string): Promise<string[]> {
  const text = await readFile(page, 'utf8')
  return [...text.matchAll(/^```(?:ts|typescript)\b[^\n]*\n([\s\S]*?)^```$/gm)].map(([, code = '']) => code)
}

describe.each(PAGES)('the code in %s', (page) => {
  let folder: string

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'quota-docs-'))
    opened(async () => rm(folder, { recursive: true, force: true }))
    await mkdir(join(folder, 'node_modules/@quota-service'), { recursive: true })
    await symlink(join(process.cwd(), 'client'), join(folder, 'node_modules/@quota-service/client'))
    await symlink(join(process.cwd(), 'node_modules/@types'), join(folder, 'node_modules/@types'))
    await writeFile(join(folder, 'package.json'), JSON.stringify({ type: 'module' }))
  })

  async function compiled(blocks: readonly string[]): Promise<string> {
    const files = blocks.map((_, index) => `block-${index + 1}.ts`)
    await Promise.all(files.map(async (file, index) => writeFile(join(folder, file), blocks[index] ?? '')))
    const compilerOptions = { strict: true, noEmit: true, module: 'nodenext', target: 'es2022', types: ['node'] }
    await writeFile(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files }))
    const { stdout } = await runNode([join(process.cwd(), 'node_modules/typescript/bin/tsc'), '-p', folder], {
      cwd: folder,
    })
    return stdout
  }

  it('compiles, in strict TypeScript, with the client as it is built', async () => {
    const blocks = await blocksOf(page)
    expect(blocks.length).toBeGreaterThan(0)
    expect(await compiled(blocks)).toBe('')
  })

  it('would not if it called what there is not', async () => {
    const blocks = await blocksOf(page)
    const broken = blocks.map((block) => block.replace(/\.consume\(/, '.consumed('))
    expect(broken).not.toEqual(blocks)
    expect(await compiled(broken)).toContain("Property 'consumed' does not exist")
  })
})
