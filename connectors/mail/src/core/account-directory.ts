import { once } from 'node:events'
import { connect, isIP, type Socket } from 'node:net'
import { connect as connectTls, type TLSSocket } from 'node:tls'
import { Client, Filter, FilterParser, ResultCodeError } from 'ldapts'
import { type AccountSource, type Found, type Name, REFERENCE, TIMEOUT_MS } from './account-query.js'

/** A directory of mail accounts (LDAP). */
export interface Directory {
  /** `ldap://HOST` or `ldaps://HOST`. */
  readonly url: string
  readonly startTls: boolean
  /** The certificates of authorities that are trusted, in PEM; undefined: those that Node knows. */
  readonly ca: string | undefined
  /** Who searches; undefined: anybody. */
  readonly bind: { readonly dn: string; readonly password: string } | undefined
  /** The entry below which is searched. */
  readonly base: string
  /** With `:user`, `:local` or `:domain` in it. */
  readonly filter: string
  /** The attribute that holds the account. */
  readonly attribute: string
}

/** A second entry shows that there are several. */
const SIZE_LIMIT = 2
const MS_PER_SECOND = 1_000
const KEEP_ALIVE_MS = 60_000
const PORTS = { 'ldap:': 389, 'ldaps:': 636 } as Record<string, number>

/** A connection, from the attempt on. */
interface Line {
  readonly socket: Socket
  readonly client: Promise<Client>
}

/**
 * Searches a directory over one connection, on which an answer names its question. A connection that fails is replaced
 * by the next search.
 */
export class DirectorySource implements AccountSource {
  private line: Line | undefined

  constructor(private readonly directory: Directory) {}

  async ask(name: Name): Promise<Found[]> {
    const { base, filter, attribute } = this.directory
    if (this.line === undefined || this.line.socket.destroyed) this.line = open(this.directory)
    const { socket, client } = this.line
    try {
      const bound = await client
      const { searchEntries } = await bound.search(base, {
        filter: filterOf(filter, name),
        attributes: [attribute],
        sizeLimit: SIZE_LIMIT,
        timeLimit: Math.ceil(TIMEOUT_MS / MS_PER_SECOND),
      })
      return searchEntries.flatMap(({ dn: _, ...attributes }): Found[] => {
        const values = Object.values(attributes).flat()
        return values.length === 0 ? [undefined] : values
      })
    } catch (error) {
      // An error as an answer says nothing about other searches on the connection. Its words may be none but a number.
      if (error instanceof ResultCodeError) throw new Error(error.constructor.name, { cause: error })
      socket.destroy()
      throw error
    }
  }

  async close(): Promise<void> {
    this.line?.socket.destroy()
  }
}

/** The filter with a name's parts in it, in which no character has a meaning. @throws Error if it is none */
export function filterOf(template: string, name: Name): Filter {
  return FilterParser.parseString(template.replace(REFERENCE, (_, part: keyof Name) => Filter.escape(name[part])))
}

function open({ url, startTls, ca, bind }: Directory): Line {
  const { protocol, hostname, port } = new URL(url)
  const host = hostname.replace(/[[\]]/g, '')
  const to = { host, port: Number(port || PORTS[protocol]) }
  const trust = { host, ...(isIP(host) === 0 && { servername: host }), ...(ca !== undefined && { ca }) }
  const socket = protocol === 'ldaps:' ? connectTls({ ...to, ...trust }) : connect(to)
  socket.setKeepAlive(true, KEEP_ALIVE_MS)
  const client = new Client({
    url,
    timeout: TIMEOUT_MS,
    ...(protocol === 'ldaps:'
      ? { createSecureConnection: () => socket as TLSSocket }
      : { createConnection: () => socket }),
  })
  const bound = async (): Promise<Client> => {
    if (startTls) await client.startTLS(trust)
    // Also without a name: each search would connect by itself.
    await client.bind(bind?.dn ?? '', bind?.password ?? '')
    return client
  }
  // Not the client's own limit, which leaves out the handshake of StartTLS.
  const late = setTimeout(() => socket.destroy(), TIMEOUT_MS)
  const closed = once(socket, 'close').then((): never => {
    throw new Error('the directory does not answer')
  })
  const ready = Promise.race([bound(), closed])
    .catch((error: unknown): never => {
      socket.destroy()
      throw error
    })
    .finally(() => clearTimeout(late))
  return { socket, client: ready }
}
