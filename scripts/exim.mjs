/** Finds an Exim that can run: as root, with the user of Debian's package. EXIM names its program, unpacked beside Postfix. */
import { execFileSync } from 'node:child_process'

/** @returns {string | undefined} */
export function findExim() {
  const program = process.env.EXIM || '/usr/sbin/exim4'
  try {
    execFileSync(program, ['-C', '/dev/null', '-bV'], { stdio: 'ignore' })
    return process.getuid?.() === 0 ? program : undefined
  } catch {
    return undefined
  }
}
