import type { CapCount } from '../../domain/cap.js'

/** An operation that no cap counted. */
export const NO_CAPS: readonly CapCount[] = []
/** An operation that no cap would have refused. */
export const NONE_REFUSING: readonly number[] = []

/** The maximum number of caps in a text: one takes at most 29 of the column's 600 characters. */
export const MAX_CAPS_IN_TEXT = 20

/** Marks an `observe` cap that would have refused. */
const WOULD_REFUSE = '!'

/**
 * Formats the caps that counted a plain consume, for its act: ` 9:0 10:14!`. Each has a blank, its id, a colon and the
 * number of its count, and a `!` if it would have refused.
 * @param caps ids ascending, at most MAX_CAPS_IN_TEXT
 * @param wouldRefuse ids of those that would have refused
 * @returns null for none
 */
export function capsText(caps: readonly CapCount[], wouldRefuse: readonly number[]): string | null {
  if (caps.length === 0) return null
  let text = ''
  for (const { quotaId, cycleSeq } of caps)
    text += ` ${quotaId}:${cycleSeq}${wouldRefuse.includes(quotaId) ? WOULD_REFUSE : ''}`
  return text
}

/** The caps that counted a plain consume, with their counts. */
export function capsOf(text: string | null): readonly CapCount[] {
  return text === null ? NO_CAPS : text.slice(1).split(' ').map(capOf)
}

/** The caps that would have refused a plain consume. */
export function refusingIn(text: string | null): readonly number[] {
  if (text?.includes(WOULD_REFUSE) !== true) return NONE_REFUSING
  return text
    .slice(1)
    .split(' ')
    .filter((one) => one.endsWith(WOULD_REFUSE))
    .map((one) => capOf(one).quotaId)
}

/** A pattern for LIKE that matches the texts with a cap. */
export function namingCap(quotaId: number): string {
  return `% ${quotaId}:%`
}

function capOf(text: string): CapCount {
  const [id, count = ''] = text.split(':')
  return { quotaId: Number(id), cycleSeq: Number.parseInt(count, 10) }
}
