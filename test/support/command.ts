import { spawn } from 'node:child_process'
import { once } from 'node:events'

/** The output and exit of a command. */
export interface Ended {
  /** Null after a signal. */
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

interface Options {
  readonly cwd?: string
  /** The complete environment except PATH: the caller's own configuration must not leak in. */
  readonly env?: Record<string, string>
  /** The standard input; none by default. */
  readonly input?: string
}

/** Runs a program in a separate process until it exits. */
export async function runProgram(
  program: string,
  args: readonly string[],
  { cwd = process.cwd(), env = {}, input = '' }: Options = {},
): Promise<Ended> {
  const child = spawn(program, args, { cwd, env: { PATH: process.env['PATH'] ?? '', ...env } })
  const said = { stdout: '', stderr: '' }
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].on('data', (chunk: Buffer) => {
      said[name] += chunk.toString('utf8')
    })
  }
  // It may end without having read everything.
  child.stdin.on('error', () => undefined)
  child.stdin.end(input)
  const [code] = (await once(child, 'close')) as [number | null]
  return { code, ...said }
}

/** Runs a Node program. @param args the script and its arguments */
export async function runNode(args: readonly string[], options: Options = {}): Promise<Ended> {
  return runProgram(process.execPath, args, options)
}
