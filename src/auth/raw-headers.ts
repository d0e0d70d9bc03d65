/**
 * Returns how often a request sends a header. `headers` does not show this: Node joins some repeated headers with a
 * comma, and drops others.
 * @param rawHeaders of the request
 * @param name in lower case
 */
export function timesSent(rawHeaders: readonly string[], name: string): number {
  let times = 0
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const sent = rawHeaders[at]
    if (sent?.length === name.length && sent.toLowerCase() === name) times += 1
  }
  return times
}
