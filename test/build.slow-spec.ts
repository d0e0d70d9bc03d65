import { execFile } from 'node:child_process'
import { existsSync, readdirSync } from 'node:fs'
import { cp, mkdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { beforeAll, describe, expect, it, jest } from '@jest/globals'
import { type Ended, runNode } from './support/command.js'
import { temporaryFolder } from './support/opened.js'

// Processes one after the other, on a machine that may be busy.
jest.setTimeout(120_000)

const run = promisify(execFile)

/** A project of one module, and a client of one, built the way this one is. */
let project: string
const at = (path: string): string => join(project, path)

async function build(...args: string[]): Promise<Ended> {
  return runNode([at('scripts/build.mjs'), ...args], { cwd: project })
}

async function inodeOf(path: string): Promise<number> {
  return (await stat(at(path))).ino
}

beforeAll(async () => {
  project = temporaryFolder('quota-build-')
  await mkdir(at('src'))
  await mkdir(at('client/src'), { recursive: true })
  const client = ['package.json', 'tsconfig.json', 'tsconfig.build.json'].map((file) => `client/${file}`)
  const kept = ['scripts/build.mjs', 'package.json', 'nest-cli.json', 'tsconfig.json', 'tsconfig.build.json', ...client]
  for (const file of [...kept, 'package-lock.json']) await cp(join(process.cwd(), file), at(file))
  await symlink(join(process.cwd(), 'node_modules'), at('node_modules'))
  await writeFile(at('ormconfig.ts'), 'export {}\n')
  await writeFile(at('src/main.ts'), 'export const answer = 1\n')
  await writeFile(at('client/src/index.ts'), "/** Says so. */\nexport { said } from './said.js'\n")
  await writeFile(at('client/src/said.ts'), '/** In words. */\nexport const said = 1\n')
})

describe('a build', () => {
  it('runs if there is none, and not if nothing has changed', async () => {
    expect(await build('--if-changed', 'service')).toMatchObject({ code: 0, stderr: 'building: service …\n' })
    const made = await inodeOf('dist/src/main.js')
    expect(await build('--if-changed', 'service')).toMatchObject({ code: 0, stdout: '', stderr: '' })
    expect(await inodeOf('dist/src/main.js')).toBe(made)
  })

  it('never removes a running build, and replaces it when it is complete', async () => {
    expect(await build('--if-changed', 'service')).toMatchObject({ code: 0 })
    await writeFile(at('src/main.ts'), 'export const answer = 2\n')
    let ended = false as boolean
    const building = build('--if-changed', 'service').finally(() => {
      ended = true
    })
    let looks = 0
    let missing = 0
    let gaps = 0
    let wasThere = true
    while (!ended) {
      looks += 1
      const isThere = existsSync(at('dist/src/main.js'))
      if (!isThere) missing += 1
      if (wasThere && !isThere) gaps += 1
      wasThere = isThere
      await sleep(1)
    }
    expect((await building).code).toBe(0)
    expect(looks).toBeGreaterThan(100)
    // Between two renames there is an instant without, longer on a busy machine; a compiler that empties the folder
    // first leaves most of the time.
    expect(gaps).toBeLessThanOrEqual(1)
    expect(missing).toBeLessThan(looks / 10)
    expect(await readFile(at('dist/src/main.js'), 'utf8')).toContain('answer = 2')
  })

  it('that fails leaves the previous one, and no temporary files', async () => {
    expect(await build('--if-changed', 'service')).toMatchObject({ code: 0 })
    const last = await inodeOf('dist/src/main.js')
    const good = await readFile(at('src/main.ts'), 'utf8')
    await writeFile(at('src/main.ts'), 'export const answer: string = 3\n')
    expect((await build('--if-changed', 'service')).code).toBe(1)
    expect(await inodeOf('dist/src/main.js')).toBe(last)
    await writeFile(at('src/main.ts'), good)
    expect(readdirSync(project).filter((name) => name.startsWith('.build-'))).toEqual([])
  })

  it('of the client has comments only in its types, and does not change the service', async () => {
    expect(await build('--if-changed', 'service')).toMatchObject({ code: 0 })
    const service = await inodeOf('dist/src/main.js')
    expect(await build('--if-changed', 'service', 'client')).toMatchObject({
      code: 0,
      stdout: '',
      stderr: 'building: client …\n',
    })
    expect(await inodeOf('dist/src/main.js')).toBe(service)
    expect(readdirSync(at('client/dist')).sort()).toEqual([
      '.built-from',
      'index.d.ts',
      'index.js',
      'said.d.ts',
      'said.js',
    ])
    expect(await readFile(at('client/dist/said.d.ts'), 'utf8')).toContain('/** In words. */')
    expect(await readFile(at('client/dist/said.js'), 'utf8')).toBe('export const said = 1;\n')
    const built = await inodeOf('client/dist/index.js')
    expect(await build('--if-changed', 'client')).toMatchObject({ code: 0 })
    expect(await inodeOf('client/dist/index.js')).toBe(built)
  })

  it('runs before the client is packed, and fails the packing if it fails', async () => {
    const pack = async () => run('npm', ['pack', '--workspace', 'client'], { cwd: project })
    await rm(at('client/dist'), { recursive: true, force: true })
    await pack()
    const [tarball = ''] = readdirSync(project).filter((name) => name.endsWith('.tgz'))
    const { stdout } = await run('tar', ['-tzf', tarball], { cwd: project })
    expect(
      stdout
        .trim()
        .split('\n')
        .map((path) => path.replace('package/', ''))
        .sort(),
    ).toEqual(['dist/index.d.ts', 'dist/index.js', 'dist/said.d.ts', 'dist/said.js', 'package.json'])

    const good = await readFile(at('client/src/said.ts'), 'utf8')
    await writeFile(at('client/src/said.ts'), "export const said: number = 'one'\n")
    await rm(at('client/dist'), { recursive: true, force: true })
    await expect(pack()).rejects.toMatchObject({ code: 1 })
    await writeFile(at('client/src/said.ts'), good)
  })

  it('of the client with a type error leaves the previous one', async () => {
    expect(await build('--if-changed', 'client')).toMatchObject({ code: 0 })
    await writeFile(at('client/src/said.ts'), 'export const said: string = 1\n')
    expect((await build('--if-changed', 'client')).code).toBe(1)
    expect(await readFile(at('client/dist/said.js'), 'utf8')).toContain('said = 1')
    expect(readdirSync(at('client')).filter((name) => name.startsWith('.build-'))).toEqual([])
  })

  it('of an unknown part lists the known ones', async () => {
    expect(await build('everything')).toMatchObject({ code: 2, stderr: expect.stringContaining('[service] [client]') })
  })
})
