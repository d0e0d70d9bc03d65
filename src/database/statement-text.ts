/**
 * A statement's text, without values, for logs and traces. Most values are placeholders already; integers may stand in
 * the text itself, since that costs less, among them ids and counters.
 */
export function withoutValues(sql: string): string {
  return sql.replace(/\b\d+\b/g, '?')
}
