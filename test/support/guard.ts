import { spawn } from 'node:child_process'

/**
 * Ensures that a process does not outlive this one, however this one ends: a separate shell waits for the end of a
 * pipe.
 * @returns stops the guard; call it before the process may have ended, since its id can then be reused
 */
export function guard(pid: number): () => void {
  const watch = spawn('sh', ['-c', 'read -r _; kill -9 "$0" 2>/dev/null', String(pid)], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
  })
  watch.unref()
  return () => {
    watch.kill('SIGKILL')
  }
}
