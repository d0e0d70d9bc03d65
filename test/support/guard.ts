import { spawn } from 'node:child_process'

/**
 * Sees to it that a process does not outlive this one, however this one ends: a shell of its own waits for the end of a
 * pipe.
 * @returns ends the watch; to be called before the process may be gone, since its id is then free for others
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
