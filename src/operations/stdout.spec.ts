import { Writable } from 'node:stream'
import { describe, expect, it } from '@jest/globals'
import { Stdout } from './stdout.js'

const LINE = `${'x'.repeat(999)}\n`
const SECOND = 1_000

/** A pipe whose reader may stop. */
class Pipe extends Writable {
  text = ''
  private waiting: (() => void) | undefined

  constructor(public reads = true) {
    super({ highWaterMark: 16_384 })
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: (error?: Error) => void): void {
    this.waiting = () => {
      this.text += chunk.toString()
      done()
    }
    if (this.reads) this.read()
  }

  read(): void {
    this.waiting?.()
  }
}

const settled = () => new Promise(setImmediate)

describe('standard output', () => {
  it('collects lines, and writes them when there are many, on request, or soon', async () => {
    const pipe = new Pipe()
    const stdout = new Stdout(pipe)
    stdout.write('one\n')
    stdout.write('two\n')
    expect(pipe.text).toBe('')
    stdout.flush()
    expect(pipe.text).toBe('one\ntwo\n')
    for (let n = 0; n < 9; n += 1) stdout.write(LINE)
    expect(pipe.text).toHaveLength(8 + 9 * LINE.length)
    stdout.write('soon\n')
    await new Promise((resolve) => setTimeout(resolve, 100))
    expect(pipe.text.endsWith('soon\n')).toBe(true)
  })

  it('keeps some lines while nobody reads, drops and counts the others, and reports them afterwards', async () => {
    const pipe = new Pipe(false)
    const stdout = new Stdout(pipe)
    const recovered: number[] = []
    stdout.onRecovered = (dropped) => recovered.push(dropped)
    for (let n = 0; n < 20_000; n += 1) stdout.write(LINE)
    expect(stdout.dropped).toBe(12_000)
    expect(recovered).toEqual([])
    pipe.reads = true
    pipe.read()
    await settled()
    stdout.flush()
    await settled()
    expect(recovered).toEqual([12_000])
    expect(pipe.text).toBe(LINE.repeat(8_000))
    stdout.write('later\n')
    await stdout.end()
    expect(pipe.text.endsWith('later\n')).toBe(true)
    expect([stdout.dropped, recovered]).toEqual([12_000, [12_000]])
  })

  it('ends although nobody reads', async () => {
    const stdout = new Stdout(new Pipe(false))
    stdout.write(LINE)
    const began = performance.now()
    await stdout.end()
    expect(performance.now() - began).toBeLessThan(3 * SECOND)
  })

  it('continues after its reader has disconnected, and counts the lost lines', async () => {
    const gone = new Writable({ write: (_chunk, _encoding, done) => done(new Error('EPIPE')), autoDestroy: false })
    const stdout = new Stdout(gone)
    for (const lines of [3, 0]) {
      for (let n = 0; n < lines; n += 1) stdout.write(LINE)
      stdout.flush()
      await settled()
    }
    stdout.write(LINE)
    stdout.flush()
    expect(stdout.dropped).toBeGreaterThanOrEqual(3)
  })
})
