import { spawn } from 'node:child_process'
import { once } from 'node:events'

/** The output and exit of a command. */
export interface Ended {
  /** Null after a signal. */
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/**
 * Runs a Node program in a separate process until it exits.
 * @param args the script and its arguments
 * @param env its complete environment except PATH: the caller's own configuration must not leak in
 */
export async function runNode(
  args: readonly string[],
  { cwd = process.cwd(), env = {} }: { cwd?: string; env?: Record<string, string> } = {},
): Promise<Ended> {
  const child = spawn(process.execPath, args, {
    cwd,
    env: { PATH: process.env['PATH'] ?? '', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const said = { stdout: '', stderr: '' }
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].on('data', (chunk: Buffer) => {
      said[name] += chunk.toString('utf8')
    })
  }
  const [code] = (await once(child, 'close')) as [number | null]
  return { code, ...said }
}
