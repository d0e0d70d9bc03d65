/** The messages that a text takes as SMS. */
export interface SmsSegments {
  /** GSM-7 if every character is in its table or the table's extension, otherwise UCS-2. */
  readonly encoding: 'GSM-7' | 'UCS-2'
  /** The number of messages, 1 or more: an empty text is one message, too. Consume this amount. */
  readonly segments: number
  /** The text of each message. */
  readonly parts: readonly string[]
  /**
   * The length in units of the encoding: septets, where a character of the extension takes two, or UTF-16 code units.
   */
  readonly units: number
  /**
   * The reason why the text is not GSM-7: its first other character, and the position of that (in UTF-16 code units);
   * null if there is none.
   */
  readonly firstNonGsm: { readonly character: string; readonly index: number } | null
}

// 3GPP TS 23.038, the default alphabet, row by row; 0x1B, the escape, is no character.
const DEFAULT = new Set(
  '@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ !"#¤%&\'()*+,-./0123456789:;<=>?¡ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÑÜ§¿abcdefghijklmnopqrstuvwxyzäöñüà',
)
/** Each of these is an escape and a character, two septets. */
const EXTENSION = new Set('\f^{}\\[~]|€')

/** The capacity of a single message, and of each of several: a concatenated one has six octets less. */
const ROOM = { 'GSM-7': { alone: 160, joined: 153 }, 'UCS-2': { alone: 70, joined: 67 } }

/**
 * Splits a text into the messages that it takes as SMS. It never splits an escape from its character, nor a surrogate
 * pair.
 */
export function smsSegments(text: string): SmsSegments {
  const characters = Array.from(text)
  const odd = characters.findIndex((character) => !DEFAULT.has(character) && !EXTENSION.has(character))
  const encoding = odd < 0 ? 'GSM-7' : 'UCS-2'
  const sizeOf = (character: string): number =>
    encoding === 'UCS-2' ? character.length : EXTENSION.has(character) ? 2 : 1
  const units = characters.reduce((sum, character) => sum + sizeOf(character), 0)
  const { alone, joined } = ROOM[encoding]
  const parts = units <= alone ? [text] : partsOf(characters, sizeOf, joined)
  const firstNonGsm =
    odd < 0 ? null : { character: characters[odd] as string, index: characters.slice(0, odd).join('').length }
  return { encoding, segments: parts.length, parts, units, firstNonGsm }
}

/** Fills one part after the other with whole characters. */
function partsOf(characters: readonly string[], sizeOf: (character: string) => number, room: number): string[] {
  const parts: string[] = []
  let left = 0
  for (const character of characters) {
    const size = sizeOf(character)
    if (size > left) {
      parts.push(character)
      left = room
    } else parts.push(`${parts.pop() as string}${character}`)
    left -= size
  }
  return parts
}
