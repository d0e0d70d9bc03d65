import { type FileHandle, mkdir, open, rename } from 'node:fs/promises'
import { dirname } from 'node:path'

/**
 * Replaces a file at once, so that nobody ever reads a part, and makes its folder. Only the connector may read it.
 * @returns the open file, for further lines; the caller closes it
 * @throws Error of the file system; the file is as before then
 */
export async function replaceFile(path: string, text: string): Promise<FileHandle> {
  await mkdir(dirname(path), { recursive: true })
  const handle = await open(`${path}.new`, 'w', 0o600)
  try {
    await handle.writeFile(text)
    await handle.datasync()
    await rename(`${path}.new`, path)
    return handle
  } catch (error) {
    await handle.close()
    throw error
  }
}
