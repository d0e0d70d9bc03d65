import { parse, type ParsedUrlQuery } from 'node:querystring'
import { decodeParameter, NO_TEXT } from './parameter.js'

/**
 * The maximum number of undecodable names and values that are examined in one query. Each costs an exception, and the
 * first one already decides that the request is refused.
 */
const MAX_VIOLATIONS = 50

/** Parses the parameters of a query, without Node's limit, which would ignore those after the thousandth. */
export function parseQuery(text: string | null | undefined): ParsedUrlQuery {
  let violations = 0
  return parse(text ?? '', '&', '=', {
    maxKeys: 0,
    decodeURIComponent: (encoded) => {
      if (violations === MAX_VIOLATIONS) return encoded
      const decoded = decodeParameter(encoded)
      if (decoded.includes(NO_TEXT)) violations += 1
      return decoded
    },
  })
}
