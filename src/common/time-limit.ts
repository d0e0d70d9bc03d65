/**
 * Does work that must end within a time. `AbortSignal.any` and `AbortSignal.timeout` are not used: on Node 20, a signal
 * made of both loses its timer when garbage is collected.
 * @param limitMs in milliseconds; after it the signal is aborted with a `TimeoutError`
 * @param work stops when its signal is aborted
 * @param stop aborts it earlier
 */
export async function withTimeLimit<T>(
  limitMs: number,
  work: (signal: AbortSignal) => Promise<T>,
  stop?: AbortSignal,
): Promise<T> {
  const ending = new AbortController()
  const abort = (): void => ending.abort(stop?.reason)
  const timer = setTimeout(
    () => ending.abort(new DOMException(`no answer within ${limitMs / 1000} s`, 'TimeoutError')),
    limitMs,
  )
  stop?.addEventListener('abort', abort)
  if (stop?.aborted === true) abort()
  try {
    return await work(ending.signal)
  } finally {
    clearTimeout(timer)
    stop?.removeEventListener('abort', abort)
  }
}

/**
 * Waits for work that nothing can stop.
 * @returns its result; undefined if it has none after this time, in milliseconds
 */
export async function inTime<T>(limitMs: number, work: Promise<T>): Promise<T | undefined> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), limitMs)
  })
  try {
    return await Promise.race([work, late])
  } finally {
    clearTimeout(timer)
  }
}
