/** Finds the interpreters of the senders in examples/senders: Debian's packages python3 and php-cli. */
import { existsSync } from 'node:fs'

const PYTHON = '/usr/bin/python3'
/** Of the package with the whole standard library, not of python3-minimal. */
const WHOLE = '/usr/bin/pydoc3'
const PHP = '/usr/bin/php'

/** @returns {{ python: string, php: string } | undefined} */
export function findInterpreters() {
  return existsSync(PYTHON) && existsSync(WHOLE) && existsSync(PHP) ? { python: PYTHON, php: PHP } : undefined
}
