/** Finds a MySQL server, and the plug-in that it loads for Group Replication. */
import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'

const PLUGIN = 'group_replication.so'

let found

/**
 * MYSQLD names the server, MYSQL_PLUGIN_DIR its plug-in folder, if they are not found automatically. MariaDB
 * calls its server `mysqld`, too, and has no such plug-in.
 * @returns {{ server: string, plugins: string } | undefined}
 */
export function findGroupReplication() {
  found ??= { value: find() }
  return found.value
}

function find() {
  const server = process.env.MYSQLD || inPath('mysqld')
  if (server === undefined) return undefined
  const plugins = [
    process.env.MYSQL_PLUGIN_DIR,
    join(dirname(server), '../lib/mysql/plugin'),
    join(dirname(server), '../lib/plugin'),
    '/usr/lib/mysql/plugin',
    '/usr/lib64/mysql/plugin',
  ].find((folder) => folder && existsSync(join(folder, PLUGIN)))
  return plugins !== undefined && isMysql(server) ? { server, plugins } : undefined
}

function inPath(name) {
  const folders = [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin', '/usr/local/sbin']
  return folders.map((folder) => join(folder, name)).find((path) => existsSync(path))
}

function isMysql(server) {
  try {
    return !/mariadb/i.test(execFileSync(server, ['--no-defaults', '--version'], { encoding: 'utf8' }))
  } catch {
    return false
  }
}
