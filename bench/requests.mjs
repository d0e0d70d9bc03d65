/** The kinds of load: each creates a generator of requests for one connection, as the bytes to send. */
import { randomUUID } from 'node:crypto'

/** `owners` ids from `from` on: equally likely, or a few much likelier than most (Zipf, exponent 1). */
function owner({ owners, from = 1, skew = false }) {
  if (!skew) return () => from + Math.floor(Math.random() * owners)
  const top = Math.log(owners + 1)
  return () => Math.min(owners, Math.floor(Math.exp(Math.random() * top)))
}

function write(method, path, { token, key, body } = {}) {
  const text = body === undefined ? '' : JSON.stringify(body)
  return (
    `${method} ${path} HTTP/1.1\r\nHost: bench\r\n` +
    (token === undefined ? '' : `Authorization: Bearer ${token}\r\n`) +
    (key === undefined ? '' : `Idempotency-Key: ${key}\r\n`) +
    (text === '' ? '\r\n' : `Content-Type: application/json\r\nContent-Length: ${text.length}\r\n\r\n${text}`)
  )
}

function keys() {
  const run = randomUUID()
  let made = 0
  return () => `${run}-${(made += 1)}`
}

export const REQUESTS = {
  /** A JSON body to read, and one to answer with. */
  json({ path, token }) {
    const bytes = write('POST', path, { token, body: { account_id: 7, amount: 1 } })
    return () => bytes
  },

  consume(options) {
    const [key, id] = [keys(), owner(options)]
    const { path, token } = options
    return () => write('POST', path, { token, key: key(), body: { account_id: id(), amount: 1 } })
  },

  /** One key for each owner, again and again. */
  replay(options) {
    const id = owner(options)
    const { path, token, run } = options
    return () => {
      const accountId = id()
      return write('POST', path, { token, key: `${run}-${accountId}`, body: { account_id: accountId, amount: 1 } })
    }
  },

  /** Owners with nothing left. */
  dry(options) {
    const key = keys()
    const { path, token, first, count } = options
    return () => {
      const accountId = first + Math.floor(Math.random() * count)
      return write('POST', path, { token, key: key(), body: { account_id: accountId, amount: 1 } })
    }
  },

  /** A reserve, and then the commit of its hold. */
  pair(options) {
    const [key, id] = [keys(), owner(options)]
    const { path, token } = options
    let reserved = false
    return (answer) => {
      reserved = !reserved
      if (reserved)
        return write('POST', `${path}/reserve`, { token, key: key(), body: { account_id: id(), amount: 1 } })
      return write('POST', `${path}/${JSON.parse(answer).id}/commit`, { token, body: {} })
    }
  },

  get(options) {
    const id = owner(options)
    const { path, token } = options
    return () => write('GET', path.replace('{owner}', id()), { token })
  },

  create(options) {
    const { path, token, first = 1_000_000 } = options
    let made = first + Math.floor(Math.random() * 1e9)
    return () => {
      made += 1
      const body = { account_id: made, quota_type: 1, total: 1000, expire_at: '2099-01-01T00:00:00Z' }
      return write('POST', path, { token, body })
    }
  },

  batch(options) {
    const [key, id] = [keys(), owner(options)]
    const { path, token, items = 500 } = options
    return () => {
      const body = {
        items: Array.from({ length: items }, () => ({ account_id: id(), amount: 1, idempotency_key: key() })),
      }
      return write('POST', path, { token, body })
    }
  },
}
