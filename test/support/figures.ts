import { appendFileSync } from 'node:fs'

/** Multiplies the length of long runs; `npm test` makes them shorter. */
export const SCALE = Number(process.env['RELIABILITY_SCALE'] ?? (process.env['QUOTA_SUITES'] === 'guard' ? 0.2 : 1))

/** Writes a measured figure to the file that RELIABILITY_REPORT names. */
export function figure(name: string, values: Record<string, number | string>): void {
  const file = process.env['RELIABILITY_REPORT']
  if (file === undefined) return
  const text = Object.entries(values).map(([what, value]) => `${what} ${value}`)
  appendFileSync(file, `${name}: ${text.join(', ')}\n`)
}
