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
