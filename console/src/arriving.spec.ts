import { describe, expect, it } from '@jest/globals'
import { wholeOf } from './arriving.ts'

const bytes = (text: string): Uint8Array<ArrayBuffer> => new TextEncoder().encode(text)

describe('a file', () => {
  it('is read to its end', async () => {
    const file = new ReadableStream<Uint8Array<ArrayBuffer>>({
      start(controller) {
        for (const part of ['id,total\n', '1,', '20\n']) controller.enqueue(bytes(part))
        controller.close()
      },
    })
    expect(await (await wholeOf(file)).text()).toBe('id,total\n1,20\n')
  })

  it('of which nothing more arrives is given up', async () => {
    let cancelled = false
    const file = new ReadableStream<Uint8Array<ArrayBuffer>>({
      start: (controller) => controller.enqueue(bytes('id,total\n')),
      cancel: () => {
        cancelled = true
      },
    })
    await expect(wholeOf(file, 10)).rejects.toThrow('Nothing more of it came')
    expect(cancelled).toBe(true)
  })

  it('that breaks off is none', async () => {
    const file = new ReadableStream<Uint8Array<ArrayBuffer>>({
      pull: (controller) => controller.error(new Error('reset')),
    })
    await expect(wholeOf(file)).rejects.toThrow('reset')
  })
})
