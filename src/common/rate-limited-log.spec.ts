import { expect, it } from '@jest/globals'
import { RateLimitedLog } from './rate-limited-log.js'

it('logs the first event at once, then one in ten seconds, for each kind separately', () => {
  const lines: string[] = []
  let now = 0
  const log = new RateLimitedLog(
    (line) => lines.push(line),
    () => now,
  )
  for (now = 0; now <= 25_000; now += 1_000) log.happened('a', `a at ${now}`)
  now = 25_500
  log.happened('b', 'b')
  log.happened('b', 'b')
  expect(lines).toEqual([
    'a at 0',
    'a at 10000 (and 9 more since the last such line)',
    'a at 20000 (and 9 more since the last such line)',
    'b',
  ])
})
