/** Where a Galera cluster can be started: the library that MariaDB loads for it. */
import { existsSync } from 'node:fs'

/** Where Debian's and Fedora's package galera-4 puts it. */
const LIBRARIES = [
  '/usr/lib/galera/libgalera_smm.so',
  '/usr/lib64/galera-4/libgalera_smm.so',
  '/usr/lib64/galera/libgalera_smm.so',
]

/** @returns {string | undefined} */
export function findGalera() {
  return LIBRARIES.find((path) => existsSync(path))
}
