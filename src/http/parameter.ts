import { unescape } from 'node:querystring'

/** Stands for bytes that are no UTF-8: half a surrogate pair, which no text can hold that was sent right. */
export const NO_TEXT = '\ud800'
const REPLACEMENT = /\ufffd/g

/**
 * Decodes a name or a value of a query. What is no UTF-8 comes out as a lone surrogate, which every rule for text
 * refuses, and not as the replacement character, which a caller may mean.
 */
export function decodeParameter(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    // A percent sign that encodes nothing stands for itself.
    return unescape(text).replace(REPLACEMENT, NO_TEXT)
  }
}
