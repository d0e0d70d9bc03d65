import { connect, isIP, type Socket } from 'node:net'
import type { ConnectionOptions } from 'mysql2'
import type { DataSource } from 'typeorm'
import type { ServerConfig } from '../config/config.js'

const KEEP_ALIVE_AFTER_MS = 10_000
const PORT = 3306

/** The address of a server, the account and the encryption of the connection, in mysql2's format. */
export type ServerOptions = Required<Pick<ConnectionOptions, 'host' | 'port' | 'user' | 'password' | 'database'>> &
  Pick<ConnectionOptions, 'ssl' | 'stream'>

/**
 * The only parser of DATABASE_URL: TypeORM and mysql2 parse it differently, and one of them supports neither IPv6
 * addresses nor percent-encoded database names.
 * @returns a new object; connections that share its `ssl` resume TLS sessions
 */
export function serverOptions({ url, tls }: Pick<ServerConfig, 'url' | 'tls'>): ServerOptions {
  const { username, password, hostname, port, pathname } = new URL(url)
  const host = hostname.startsWith('[') ? hostname.slice(1, -1) : decodeURIComponent(hostname)
  const server = {
    host,
    port: port === '' ? PORT : Number(port),
    user: decodeURIComponent(username),
    password: decodeURIComponent(password),
    database: decodeURIComponent(pathname.slice(1)),
  }
  if (tls === undefined) return server
  if (!tls.verify) return { ...server, ssl: { rejectUnauthorized: false } }
  const ssl = { rejectUnauthorized: true, verifyIdentity: true, ...(tls.ca === undefined ? {} : { ca: tls.ca }) }
  return isIP(host) === 0 ? { ...server, ssl } : { ...server, ssl, ...named(host, server.port) }
}

/** The server of a data source, for connections that bypass TypeORM. */
export function serverOf({ options }: DataSource): ServerOptions {
  const { host, port, user, password, database, ...more } = (options as { extra: ServerOptions }).extra
  const server = { host, port, user, password, database }
  return {
    ...server,
    ...(more.ssl === undefined ? {} : { ssl: more.ssl }),
    ...(more.stream === undefined ? {} : { stream: more.stream as () => Socket }),
  }
}

/**
 * mysql2 passes names of servers to TLS, but not addresses: the certificate would always be compared with "localhost".
 * For certificates, a name with a trailing dot equals the name without it; so the address is passed as such a name, and
 * the connection is made here. If this ever changes in mysql2, every certificate is rejected.
 */
function named(address: string, port: number): Pick<ConnectionOptions, 'host' | 'stream'> {
  return { host: `${address}.`, stream: () => connectTo(address, port) }
}

/** A socket in the form that mysql2 creates. */
function connectTo(host: string, port: number): Socket {
  return connect({ host, port, keepAlive: true, keepAliveInitialDelay: KEEP_ALIVE_AFTER_MS, noDelay: true })
}
