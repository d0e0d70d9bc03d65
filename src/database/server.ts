import { connect, isIP, type Socket } from 'node:net'
import type { ConnectionOptions } from 'mysql2'
import type { DataSource } from 'typeorm'
import type { ServerConfig } from '../config/config.js'

const KEEP_ALIVE_AFTER_MS = 10_000
const PORT = 3306

/** Where a server is, who we are there and how the connection is encrypted, as mysql2 takes it. */
export type ServerOptions = Required<Pick<ConnectionOptions, 'host' | 'port' | 'user' | 'password' | 'database'>> &
  Pick<ConnectionOptions, 'ssl' | 'stream'>

/**
 * The one place that reads DATABASE_URL: TypeORM and mysql2 would each read it in their own way, one of them not an
 * IPv6 address, nor a database's name that is percent-encoded.
 * @returns an object of the caller's own; sessions of TLS are resumed among those who share its `ssl`
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

/** The server that a data source is connected to, for whoever connects past TypeORM. */
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
 * mysql2 hands names of servers to TLS, but not addresses: the certificate would be compared with "localhost", whatever
 * it is of. A name that ends in a dot is the name without it to whoever compares certificates; so the address is handed
 * on as such a name, and connected to by us. If this ever changes, no certificate fits.
 */
function named(address: string, port: number): Pick<ConnectionOptions, 'host' | 'stream'> {
  return { host: `${address}.`, stream: () => connectTo(address, port) }
}

/** A socket as mysql2 makes it. */
function connectTo(host: string, port: number): Socket {
  return connect({ host, port, keepAlive: true, keepAliveInitialDelay: KEEP_ALIVE_AFTER_MS, noDelay: true })
}
