const BEYOND_ASCII = /[\u0080-\uffff]/g

/**
 * JSON whose every character is ASCII; what lies beyond is written as `\uXXXX`. For what is stored as text: those
 * columns have the character set of the database, which need not know what a label may hold (docs/decisions/0027).
 */
export function storedJson(value: object): string {
  return JSON.stringify(value).replace(BEYOND_ASCII, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
}
