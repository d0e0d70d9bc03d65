import { readdir, readFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'

/**
 * Stops a process until SIGCONT, and waits until it stands still: each of its threads stops when it next runs, and may
 * answer before on a busy machine.
 */
export async function stop(pid: number): Promise<void> {
  process.kill(pid, 'SIGSTOP')
  const isStopped = async (thread: string): Promise<boolean> => {
    const state = await readFile(`/proc/${pid}/task/${thread}/stat`, 'utf8').catch(() => undefined)
    // One that has ended meanwhile has no state.
    return state === undefined || / T \d+/.test(state.slice(state.lastIndexOf(')')))
  }
  const areStopped = async (): Promise<boolean[]> =>
    Promise.all((await readdir(`/proc/${pid}/task`)).map(async (thread) => isStopped(thread)))
  while ((await areStopped()).includes(false)) await sleep(5)
}
