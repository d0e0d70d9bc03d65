/** Finds the library that MariaDB loads for a Galera cluster. */
import { existsSync } from 'node:fs'

/** The paths in the package galera-4 of Debian and of Fedora. */
const LIBRARIES = [
  '/usr/lib/galera/libgalera_smm.so',
  '/usr/lib64/galera-4/libgalera_smm.so',
  '/usr/lib64/galera/libgalera_smm.so',
]

/** @returns {string | undefined} */
export function findGalera() {
  return LIBRARIES.find((path) => existsSync(path))
}
