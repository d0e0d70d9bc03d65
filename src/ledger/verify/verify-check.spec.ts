import { readFile } from 'node:fs/promises'
import { expect, it } from '@jest/globals'
import { type Rule, RULES } from './verify-check.js'

it('docs/run/verify-and-metrics.md explains every rule', async () => {
  const page = await readFile('docs/run/verify-and-metrics.md', 'utf8')
  const table = page.slice(page.indexOf('| rule | what is wrong |'), page.indexOf('Two copies:'))
  const rows = [...table.matchAll(/^\| `(\w+)` \|.*\| (.*) \|$/gm)].map(([, rule, advice]) => [rule, advice] as const)
  expect(rows.map(([rule]) => rule)).toEqual(Object.keys(RULES))
  // The command prints the beginning of the page's advice.
  for (const [rule, advice] of rows) {
    const words = (text: string): string => text.replaceAll('`', '').toLowerCase()
    const [told, printed] = [words(advice!), words(RULES[rule as Rule])]
    expect([rule, told.startsWith(printed) || printed.startsWith(told)]).toEqual([rule, true])
  }
})
