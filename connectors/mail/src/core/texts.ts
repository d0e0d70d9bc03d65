/** The longest text; filled in, it fits into the 512 bytes of a line of SMTP. */
const MAX_LENGTH = 250
const MONTHS = 12

/** Each text of a language file, with what may be filled in. */
const PLACES = {
  contact: [],
  recipients: ['n'],
  messages: ['n'],
  kb: ['n'],
  minutes: ['n'],
  hours: ['n'],
  days: ['n'],
  months: [],
  moment: ['day', 'month', 'year', 'time', 'zone'],
  later: ['requested', 'left', 'pause', 'moment'],
  never: ['requested', 'left', 'contact'],
  fewer: ['requested', 'left', 'contact'],
  smaller: ['requested', 'left', 'contact'],
  no_quota: ['contact'],
  unknown_sender: ['contact'],
  unreachable: [],
} as const satisfies Record<string, readonly string[]>

type Name = keyof typeof PLACES
const NAMES = Object.keys(PLACES) as Name[]

/** The texts of a language. */
export type Texts = Readonly<Record<Name, string>>

/**
 * Reads a language file: lines `NAME = TEXT`, each name once.
 * @throws Error that names every mistake with its line
 */
export function readTexts(file: string): Texts {
  const texts = new Map<string, string>()
  const mistakes: string[] = []
  for (const [n, line] of file.split(/\r?\n/).entries()) {
    if (/^\s*(#|$)/.test(line)) continue
    const wrong = (text: string): void => void mistakes.push(`line ${n + 1}: ${text}`)
    const at = line.indexOf('=')
    const [key, text] = [line.slice(0, Math.max(at, 0)).trim(), line.slice(at + 1).trim()]
    const name = NAMES.find((one) => one === key)
    if (key === '') wrong('must be NAME = TEXT')
    else if (name === undefined) wrong(`${key} is not known`)
    else if (texts.has(name)) wrong(`${name} is there twice`)
    else for (const mistake of mistakesIn(name, text)) wrong(`${name} ${mistake}`)
    if (name !== undefined) texts.set(name, text)
  }
  for (const name of NAMES) if (!texts.has(name)) mistakes.push(`${name} is missing`)
  if (mistakes.length > 0) throw new Error(mistakes.join('; '))
  return Object.fromEntries(texts) as Texts
}

function mistakesIn(name: Name, text: string): string[] {
  const places: readonly string[] = PLACES[name]
  const mistakes: string[] = []
  if (!/^[ -~]+$/.test(text)) mistakes.push('must be ASCII, and not empty')
  if (text.length > MAX_LENGTH) mistakes.push(`has more than ${MAX_LENGTH} characters`)
  for (const [, place = ''] of text.matchAll(/\{([^}]*)\}?/g))
    if (!places.includes(place)) mistakes.push(`has no {${place}}: ${places.map((one) => `{${one}}`).join(' ')}`)
  if (places[0] === 'n' && text.split('|').length !== 2) mistakes.push('must be ONE | SEVERAL')
  if (name === 'months' && text.split(/\s+/).length !== MONTHS) mistakes.push(`must be ${MONTHS} words`)
  return mistakes
}

/** Puts values in the places of a text. */
export function filled(text: string, values: Readonly<Record<string, string | number>>): string {
  return text.replace(/\{(\w+)\}/g, (_, place: string) => String(values[place] ?? ''))
}

/** A number with its noun, from `ONE | SEVERAL`. */
export function counted(text: string, n: number): string {
  const [one = '', several = ''] = text.split('|')
  return filled((n === 1 ? one : several).trim(), { n })
}
