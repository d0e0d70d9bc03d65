/** How a text goes out as SMS. */
export interface SmsSegments {
  /** GSM-7 where every character is in its table or the table's extension, else UCS-2. */
  readonly encoding: 'GSM-7' | 'UCS-2'
  /** How many messages it takes, 1 or more: an empty text is one message, too. This is what to consume. */
  readonly segments: number
  /** What each of them carries. */
  readonly parts: readonly string[]
  /**
   * The length in units of the encoding: septets, where a character of the extension takes two, or UTF-16 code units.
   */
  readonly units: number
  /**
   * Why the text is not GSM-7: its first character that is not, and where it begins (in UTF-16 code units); null where
   * all are.
   */
  readonly firstNonGsm: { readonly character: string; readonly index: number } | null
}

// 3GPP TS 23.038, the default alphabet, row by row; 0x1B, the escape, is no character.
const DEFAULT = new Set(
  '@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ !"#¤%&\'()*+,-./0123456789:;<=>?¡ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÑÜ§¿abcdefghijklmnopqrstuvwxyzäöñüà',
)
/** Each is an escape and a character, two septets. */
const EXTENSION = new Set('\f^{}\\[~]|€')

/** How much one message takes, and each of several: a concatenated one has six octets less. */
const ROOM = { 'GSM-7': { alone: 160, joined: 153 }, 'UCS-2': { alone: 70, joined: 67 } }

/**
 * Cuts a text into the messages that it takes as SMS. Neither an escape and its character nor a surrogate pair is ever
 * split.
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

/** Fills one part after the other, each as far as whole characters go. */
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
