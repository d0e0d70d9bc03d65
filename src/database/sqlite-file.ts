import {
  accessSync,
  closeSync,
  constants,
  fstatSync,
  fsyncSync,
  mkdirSync,
  openSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs'
import { dirname, resolve } from 'node:path'
import Database from 'libsql'

const { R_OK, W_OK, X_OK } = constants
const OWNER_ALONE = 0o600
const BUSY_TIMEOUT_MS = 5_000

/**
 * Creates a missing folder of a SQLite file, and checks whether this process may write the files of SQLite: the file,
 * and its `-wal` and `-shm`. SQLite itself opens a read-only file, and would fail at the first write instead of at
 * start.
 * @throws Error with the obstacle, the user and the remedy
 */
export function ensureWritable(path: string): void {
  const file = resolve(path)
  const folder = dirname(file)
  try {
    mkdirSync(folder, { recursive: true })
  } catch (error) {
    const parent = nearestThatExists(folder)
    throw refusal(error, folder, `make ${folder} in ${parent}${ownerOf(parent)}`, `mkdir -p ${folder} && `)
  }
  mustBeOpen(folder, W_OK | X_OK, folder)
  if (statSync(file, { throwIfNoEntry: false })?.isDirectory() === true) throw new Error(`${file} is a folder`)
  for (const one of [file, `${file}-wal`, `${file}-shm`]) mustBeOpen(one, R_OK | W_OK, folder)
}

/**
 * Copies a SQLite file as of one moment, while others may write it. The copy is created as a whole or not at all, and
 * needs no `-wal`.
 * @param path the file
 * @param copy the new file; its folder must exist
 * @throws Error if the file does not exist, or the copy exists already or cannot be created
 */
export function copyTo(path: string, copy: string): void {
  // SQLite would create a missing file, and copy that.
  if (statSync(path, { throwIfNoEntry: false }) === undefined) throw new Error(`${path} does not exist`)
  mustBeNew(copy)
  const part = `${copy}.part`
  rmSync(part, { force: true })
  const descriptor = openSync(part, 'wx', OWNER_ALONE)
  try {
    const database = new Database(path, { timeout: BUSY_TIMEOUT_MS })
    try {
      database.prepare('VACUUM INTO ?').run(part)
    } finally {
      database.close()
    }
    fsyncSync(descriptor)
    // Somebody may have begun another copy to the same file, or completed one.
    if (!isOpenAs(descriptor, part)) throw new Error(`another process has removed ${part}`)
    mustBeNew(copy)
    renameSync(part, copy)
  } finally {
    if (isOpenAs(descriptor, part)) rmSync(part)
    closeSync(descriptor)
  }
}

function mustBeNew(copy: string): void {
  if (statSync(copy, { throwIfNoEntry: false }) !== undefined) throw new Error(`${copy} already exists`)
}

function isOpenAs(descriptor: number, path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.ino === fstatSync(descriptor).ino
}

/** SQLite creates missing files. */
function mustBeOpen(path: string, mode: number, folder: string): void {
  try {
    accessSync(path, mode)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return
    throw refusal(error, folder, `write ${path}${ownerOf(path)}`, '', path)
  }
}

function refusal(error: unknown, folder: string, act: string, first: string, path = folder): Error {
  const { code, message } = error as NodeJS.ErrnoException
  if (code === 'EROFS') {
    return new Error(`${path} is on a read-only file system: mount a volume at ${folder}`, { cause: error })
  }
  if (code !== 'EACCES' && code !== 'EPERM') return new Error(message, { cause: error })
  const me = `${process.getuid?.() ?? '?'}:${process.getgid?.() ?? '?'}`
  return new Error(
    `the service runs as ${me} (uid:gid), which may not ${act}. ` +
      `Give it to the service (${first}chown ${me} ${path}), or run the service as its owner`,
    { cause: error },
  )
}

/** The owner of a file, if it can be determined. */
function ownerOf(path: string): string {
  try {
    const { uid, gid, mode } = statSync(path)
    return ` (${uid}:${gid}, mode ${(mode & 0o777).toString(8)})`
  } catch {
    return ''
  }
}

function nearestThatExists(folder: string): string {
  return statSync(folder, { throwIfNoEntry: false }) === undefined ? nearestThatExists(dirname(folder)) : folder
}
