import { unescape } from 'node:querystring'

/** Replaces bytes that are not UTF-8: a lone surrogate, which valid text cannot contain. */
export const NO_TEXT = '\ud800'
const REPLACEMENT = /\ufffd/g

/**
 * Decodes a name or a value of a query. Bytes that are not UTF-8 become a lone surrogate, which every rule for text
 * refuses, and not the replacement character, which a caller may send.
 */
export function decodeParameter(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    // A percent sign that encodes nothing is kept.
    return unescape(text).replace(REPLACEMENT, NO_TEXT)
  }
}
