import { setTimeout as sleep } from 'node:timers/promises'

/** Waits for work no longer than that. @throws Error if it has not ended by then */
export async function within<Value>(ms: number, work: Promise<Value>): Promise<Value> {
  const late = sleep(ms, undefined, { ref: false }).then((): never => {
    throw new Error(`no answer within ${ms} ms`)
  })
  return Promise.race([work, late])
}
