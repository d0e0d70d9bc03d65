import type { QueryClient } from '@tanstack/react-query'

/** How long a dialog stays for what it has changed to be read again, in milliseconds. */
const BRIEFLY_MS = 2_000

/**
 * Reads again what an act has changed, so that the screen shows it when the act's dialog closes. Waits only briefly: a
 * dialog that stays open while reads fail looks as if the act were not done, and asks to be repeated.
 * @param key the beginning of the queries' keys
 */
export async function refreshed(queries: QueryClient, key: readonly unknown[]): Promise<void> {
  const read = queries.invalidateQueries({ queryKey: key })
  await Promise.race([read, new Promise((resolve) => setTimeout(resolve, BRIEFLY_MS))])
}

/** Shows the answer of an act at once. A read that began before it must not replace it. */
export async function answered(queries: QueryClient, key: readonly unknown[], answer: unknown): Promise<void> {
  await queries.cancelQueries({ queryKey: key, exact: true })
  queries.setQueryData(key, answer)
}
