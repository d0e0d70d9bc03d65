import { mkdir, mkdtemp, readFile, rm, stat, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import pino from 'pino'
import { DoubtFile, type Entry, readDoubts } from './doubt-file.js'
import { Metrics } from './metrics.js'

const entry = (n: number, outcome?: Entry['outcome']): Entry => {
  return { key: `key-${n}`, account: n, amount: 3, queueId: 'ABC', at: 1_000 + n, outcome }
}

describe('a file of doubts', () => {
  let folder: string
  let metrics: Metrics
  let said: string[]

  const opened: DoubtFile[] = []
  const open = (at = folder): DoubtFile => {
    const file = new DoubtFile(at, pino({ base: null }, { write: (line: string) => said.push(line) }), metrics)
    opened.push(file)
    return file
  }
  const failures = async (): Promise<number> => (await metrics.stateFailures.get()).values[0]?.value ?? 0
  const path = (): string => join(folder, 'doubts.jsonl')

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'quota-doubts-'))
    metrics = new Metrics()
    said = []
  })

  afterEach(async () => {
    await Promise.all(opened.splice(0).map((file) => file.close()))
    await rm(folder, { recursive: true, force: true })
  })

  it('has the last entry of each key, whoever reads it', async () => {
    const file = open(join(folder, 'made', 'at', 'start'))
    expect(file.read()).toEqual([])
    const all: Entry[] = []
    for (const one of [entry(1), entry(2), entry(1, 'refunded')]) {
      all.push(one)
      await file.write(one, () => all)
    }
    expect(open(join(folder, 'made', 'at', 'start')).read()).toEqual([entry(1, 'refunded'), entry(2)])
  })

  it('skips a line whose writer was killed, and what is no entry, and goes on behind it', async () => {
    const file = open()
    await file.write(entry(1), () => [entry(1)])
    await file.write(entry(2), () => [])
    const whole = await readFile(path(), 'utf8')
    await writeFile(path(), `null\n{"key":"x","account":0}\n${whole.slice(0, -9)}`)
    const next = open()
    expect(next.read()).toEqual([entry(1)])
    expect(said.join()).toContain('"damaged":3')
    await next.write(undefined, () => [entry(1)])
    await next.write(entry(3), () => [])
    expect(readDoubts(folder)).toEqual({ entries: [entry(1), entry(3)], damaged: 0 })
  })

  it('has the end of an entry at once, also while it is replaced', async () => {
    const file = open()
    expect(await file.write(entry(1), () => [entry(1)])).toBe(true)
    file.writeNow(entry(1, 'answered'), () => [])
    expect(readDoubts(folder)).toEqual({ entries: [entry(1, 'answered')], damaged: 0 })
    for (let n = 2; n <= 30_000; n += 1) {
      if (n % 1_000 === 0) await file.write(entry(n), () => [entry(n)])
      file.writeNow(entry(n, 'answered'), () => [entry(n, 'answered')])
    }
    await file.write(entry(40_000), () => [])
    const { entries, damaged } = readDoubts(folder)
    expect(damaged).toBe(0)
    expect(entries.filter(({ outcome }) => outcome === undefined)).toEqual([entry(40_000)])
    expect((await readFile(path(), 'utf8')).split('\n').length).toBeLessThan(25_000)
  })

  it('stays small, however many doubts come and go', async () => {
    const file = open()
    const written: Promise<boolean>[] = []
    for (let n = 1; n <= 20_000; n += 1) {
      written.push(file.write(entry(n), () => [entry(n)]))
      if (n % 1_000 === 0) await Promise.all(written.splice(0))
    }
    expect((await readFile(path(), 'utf8')).split('\n').length).toBeLessThan(12_000)
    expect(open().read().at(-1)).toEqual(entry(20_000))
  })

  it('says once that it cannot be written, and counts it', async () => {
    const blocked = join(folder, 'blocked')
    await writeFile(blocked, 'no folder')
    const file = open(blocked)
    file.read()
    await file.write(entry(1), () => [entry(1)])
    await file.write(entry(2), () => [entry(1), entry(2)])
    expect(await failures()).toBeGreaterThanOrEqual(2)
    expect(said.filter((line) => line.includes('in memory only'))).toHaveLength(1)
  })

  it('is written again after a failure, with what was missing', async () => {
    await mkdir(`${path()}.new`)
    const file = open()
    await file.write(entry(1), () => [entry(1)])
    expect(await failures()).toBe(1)
    await rm(`${path()}.new`, { recursive: true })
    await file.write(entry(2), () => [entry(1), entry(2)])
    expect(readDoubts(folder).entries).toEqual([entry(1), entry(2)])
    expect(said.at(-1)).toContain('on disk again')
  })

  it('is not replaced where it cannot be read', async () => {
    await writeFile(path(), '')
    await truncate(path(), 33_000_000)
    const file = open()
    expect(file.read()).toEqual([])
    await file.write(entry(1), () => [entry(1)])
    expect([await failures(), (await stat(path())).size]).toEqual([2, 33_000_000])
  })
})
