/** Finds the programs with which suites try the service, where they are installed; undefined where they are not. */
import { execFileSync } from 'node:child_process'
import { accessSync, constants, existsSync, readdirSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'

/** Where programs are that PATH may leave out. */
const FOLDERS = ['/usr/bin', '/usr/local/bin', '/usr/sbin', '/usr/local/sbin', '/snap/bin']
const asRoot = process.getuid?.() === 0

/** The first program of one of these names. */
export function programNamed(...names) {
  const folders = [...(process.env.PATH ?? '').split(delimiter), ...FOLDERS].filter((folder) => folder !== '')
  return folders.flatMap((folder) => names.map((name) => join(folder, name))).find(isExecutable)
}

function isExecutable(path) {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

/** What a program prints; undefined if it fails. */
function said(program, ...args) {
  try {
    return execFileSync(program, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] })
  } catch {
    return undefined
  }
}

/** The Chromium for browser tests and screenshots: the one that CHROMIUM names, or the system's. */
export function findChromium() {
  const { CHROMIUM } = process.env
  return CHROMIUM || programNamed('chromium', 'chromium-browser', 'google-chrome-stable', 'google-chrome')
}

/** The launch options for playwright-core. */
export function launchOptions(executablePath = findChromium()) {
  if (executablePath === undefined) throw new Error('there is no Chromium: apt-get install chromium, or set CHROMIUM')
  // Chromium's sandbox does not work for root.
  return { executablePath, args: [...(asRoot ? ['--no-sandbox'] : []), '--disable-dev-shm-usage'] }
}

/** Debian's Postfix, whose master process requires root. */
export function findPostfix() {
  return asRoot && existsSync('/usr/sbin/postfix') ? '/usr/sbin/postfix' : undefined
}

/** Exim, for root, with the user of Debian's package. EXIM names its program, unpacked beside Postfix. */
export function findExim() {
  const program = process.env.EXIM || '/usr/sbin/exim4'
  return asRoot && said(program, '-C', '/dev/null', '-bV') !== undefined ? program : undefined
}

/** The sources of the connector's accounts: the folder of PostgreSQL's programs, and slapd. */
export function findAccountSources() {
  const [all, slapd] = ['/usr/lib/postgresql', '/usr/sbin/slapd']
  const [newest = ''] = existsSync(all) ? readdirSync(all).sort((one, other) => Number(other) - Number(one)) : []
  const postgres = join(all, newest, 'bin')
  return existsSync(join(postgres, 'initdb')) && existsSync(slapd) ? { postgres, slapd } : undefined
}

/** The interpreters of the senders in examples/senders: Debian's packages python3 and php-cli. */
export function findInterpreters() {
  const [python, php] = ['/usr/bin/python3', '/usr/bin/php']
  // Of the package with the whole standard library, not of python3-minimal.
  return [python, '/usr/bin/pydoc3', php].every((path) => existsSync(path)) ? { python, php } : undefined
}

/** LibreOffice, if it has Calc: Debian's package libreoffice-calc. */
export function findCalc() {
  const program = '/usr/bin/soffice'
  return [program, '/usr/lib/libreoffice/program/scalc'].every((path) => existsSync(path)) ? program : undefined
}

/** The library that MariaDB loads for a Galera cluster: of the package galera-4 of Debian, or of Fedora. */
export function findGalera() {
  return ['/usr/lib/galera', '/usr/lib64/galera-4', '/usr/lib64/galera']
    .map((folder) => join(folder, 'libgalera_smm.so'))
    .find((path) => existsSync(path))
}

let groupReplication

/**
 * A MySQL server, and the folder of the plug-in that it loads for Group Replication. MYSQLD and MYSQL_PLUGIN_DIR name
 * them, if they are not found automatically. MariaDB calls its server `mysqld`, too, and has no such plug-in.
 */
export function findGroupReplication() {
  groupReplication ??= { value: mysqlWithPlugin() }
  return groupReplication.value
}

function mysqlWithPlugin() {
  const server = process.env.MYSQLD || programNamed('mysqld')
  if (server === undefined) return undefined
  const plugins = [
    process.env.MYSQL_PLUGIN_DIR,
    join(dirname(server), '../lib/mysql/plugin'),
    join(dirname(server), '../lib/plugin'),
    '/usr/lib/mysql/plugin',
    '/usr/lib64/mysql/plugin',
  ].find((folder) => folder && existsSync(join(folder, 'group_replication.so')))
  const isMysql = plugins !== undefined && !/mariadb/i.test(said(server, '--no-defaults', '--version') ?? 'mariadb')
  return isMysql ? { server, plugins } : undefined
}
