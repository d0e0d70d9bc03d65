const BEYOND_ASCII = /[\u0080-\uffff]/g

/**
 * Returns JSON that contains only ASCII characters; others are written as `\uXXXX`.
 */
export function storedJson(value: object): string {
  return JSON.stringify(value).replace(BEYOND_ASCII, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
}
