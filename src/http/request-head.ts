import type { Request } from 'express'
import { timesSent } from '../auth/raw-headers.js'
import { validationFailed } from '../common/service-error.js'
import { pathOf } from './request-pipeline.js'

/** uri-host [ ":" port ] of RFC 3986, section 3.2.2: a name, an IPv4 address, or an IPv6 address in brackets. */
const HOST = /^(?:[\w.~!$&'()*+,;=%-]+|\[[\da-f:.]+\])(?::\d{0,5})?$/i

/**
 * Refuses a request that two servers could interpret differently (RFC 9112, sections 3.2 and 6.1): one without exactly
 * one valid Host, or with an unknown transfer coding; and one without a path.
 */
export function checkRequestHead(request: Request): void {
  if (pathOf(request) === '')
    throw validationFailed([{ field: 'path', message: 'is missing, or the URL before it is invalid' }])
  const { headers, httpVersion } = request
  const host = hostMistake(request)
  if (host !== undefined) throw validationFailed([{ field: 'Host', message: host }])
  const coding = headers['transfer-encoding']
  if (coding !== undefined && (coding.trim().toLowerCase() !== 'chunked' || httpVersion !== '1.1')) {
    throw validationFailed([{ field: 'Transfer-Encoding', message: 'may be chunked, in HTTP/1.1' }])
  }
}

function hostMistake({ headers: { host }, httpVersion, rawHeaders }: Request): string | undefined {
  if (host === undefined) return httpVersion === '1.1' ? 'is required in HTTP/1.1' : undefined
  if (!HOST.test(host)) return 'must be a host with an optional port'
  return timesSent(rawHeaders, 'host') > 1 ? 'may be sent only once' : undefined
}
