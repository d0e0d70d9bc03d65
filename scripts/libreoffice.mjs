/** Finds a LibreOffice with Calc: Debian's package libreoffice-calc. */
import { existsSync } from 'node:fs'

const PROGRAM = '/usr/bin/soffice'
const CALC = '/usr/lib/libreoffice/program/scalc'

/** @returns {string | undefined} */
export function findCalc() {
  return existsSync(PROGRAM) && existsSync(CALC) ? PROGRAM : undefined
}
