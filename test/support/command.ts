import { spawn } from 'node:child_process'
import { once } from 'node:events'

/** What a command said and how it ended. */
export interface Ended {
  /** Null after a signal. */
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/**
 * Runs a program of Node's as a process of its own, to its end.
 * @param args the script and its arguments
 * @param env all of its environment but PATH: nothing of the caller's own configuration may leak in
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
