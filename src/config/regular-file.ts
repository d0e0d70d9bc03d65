import { readFileSync, type Stats, statSync } from 'node:fs'
import { readFile, stat } from 'node:fs/promises'

/**
 * Reads a text file, without the mark of the byte order that some editors write at its beginning.
 * @throws Error if it is not a regular file, links followed: the read of a pipe lasts until somebody writes to it
 */
export async function readRegular(path: string): Promise<string> {
  requireRegular(path, await stat(path))
  return withoutMark(await readFile(path, 'utf8'))
}

/** The same, for the start. */
export function readRegularSync(path: string): string {
  requireRegular(path, statSync(path))
  return withoutMark(readFileSync(path, 'utf8'))
}

function requireRegular(path: string, stats: Stats): void {
  if (!stats.isFile()) throw new Error(`${path} is not a regular file`)
}

function withoutMark(text: string): string {
  return text.replace(/^\uFEFF/, '')
}
