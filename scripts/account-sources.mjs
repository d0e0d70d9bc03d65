/** Finds the servers on which the connector's accounts are tried, from Debian's packages `postgresql` and `slapd`. */
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'

const POSTGRES = '/usr/lib/postgresql'
const SLAPD = '/usr/sbin/slapd'

/** @returns {{ postgres: string, slapd: string } | undefined} the folder of PostgreSQL's programs, and slapd */
export function findAccountSources() {
  const [newest] = existsSync(POSTGRES) ? readdirSync(POSTGRES).sort((one, other) => Number(other) - Number(one)) : []
  const postgres = join(POSTGRES, newest ?? '', 'bin')
  return existsSync(join(postgres, 'initdb')) && existsSync(SLAPD) ? { postgres, slapd: SLAPD } : undefined
}
