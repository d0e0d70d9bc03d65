import { Notice } from './notice.ts'

/** A file of which nothing arrives for this time has lost its connection, in milliseconds. */
const SILENT_MS = 60_000

/**
 * Reads a file to its end. A browser waits for ever where a connection ends without a word.
 * @throws Notice if nothing of it arrives for a minute
 */
export async function wholeOf(file: ReadableStream<Uint8Array>, silentMs = SILENT_MS): Promise<Blob> {
  const reader = file.getReader()
  const parts: Blob[] = []
  for (;;) {
    let timer: ReturnType<typeof setTimeout> | undefined
    const silence = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(lost()), silentMs)
    })
    try {
      const { done, value } = await Promise.race([reader.read(), silence])
      if (done) return new Blob(parts)
      // What arrives is in no shared memory.
      parts.push(new Blob([value as Uint8Array<ArrayBuffer>]))
    } catch (error) {
      void reader.cancel().catch(() => undefined)
      throw error
    } finally {
      clearTimeout(timer)
    }
  }
}

function lost(): Notice {
  return new Notice('The file did not arrive', 'Nothing more of it came for a minute.', 'Get it again.')
}
