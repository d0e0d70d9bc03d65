import { describe, expect, it } from '@jest/globals'
import { Progress } from './progress.js'

describe('Progress', () => {
  function progress(about: Record<string, Record<string, number>>) {
    let now = 0
    const lines: string[] = []
    const told = new Progress(
      about,
      (line) => lines.push(line),
      () => now,
    )
    const read = (seconds: number, channel: string, what: string, count: number): void => {
      now += seconds * 1_000
      told.read(channel, what, count)
    }
    return { read, lines }
  }

  it('prints every ten seconds what was read, what remains and for how long', () => {
    const { read, lines } = progress({ mail: { acts: 1_000, owners: 10 }, sms: { acts: 0, owners: 0 } })
    read(5, 'mail', 'acts', 100)
    expect(lines).toEqual([])
    read(5, 'mail', 'acts', 300)
    // Owners weigh as much as their acts: 2,010 rows in all.
    expect(lines).toEqual(['19 % after 10 s, about 41 s left; 400 of about 1000 mail acts'])
    read(9, 'mail', 'acts', 600)
    expect(lines).toHaveLength(1)
    read(1, 'mail', 'owners', 5)
    expect(lines[1]).toBe('74 % after 20 s, about 7 s left; 5 of about 10 mail owners')
  })

  it('never reports more than everything, even if there are more rows than estimated', () => {
    const { read, lines } = progress({ mail: { acts: 10 } })
    read(10, 'mail', 'acts', 50)
    expect(lines).toEqual(['100 % after 10 s, about 0 s left'])
  })
})
