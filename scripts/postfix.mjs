/** Finds a Postfix that can run: Debian's package, and root, which its master process requires. */
import { existsSync } from 'node:fs'

const PROGRAM = '/usr/sbin/postfix'

/** @returns {string | undefined} */
export function findPostfix() {
  return process.getuid?.() === 0 && existsSync(PROGRAM) ? PROGRAM : undefined
}
