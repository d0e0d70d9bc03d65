/** Where a Postfix can be run: Debian's package, and root, whom its master wants. */
import { existsSync } from 'node:fs'

const PROGRAM = '/usr/sbin/postfix'

/** @returns {string | undefined} */
export function findPostfix() {
  return process.getuid?.() === 0 && existsSync(PROGRAM) ? PROGRAM : undefined
}
