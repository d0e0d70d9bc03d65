/**
 * Recipients in the format of mail programs: `ann@example.org`, `Ann <ann@example.org>`, several separated by commas;
 * or objects with an `address`.
 */
export type Recipients = string | { readonly address: string } | readonly Recipients[] | null | undefined

/** The recipients of a mail. */
export interface Envelope {
  readonly to?: Recipients
  readonly cc?: Recipients
  readonly bcc?: Recipients
}

/**
 * The addresses of a mail, each once: as first written, without names and comments, those of `to` first, then of `cc`
 * and `bcc`. Consume their number if a unit is a recipient.
 *
 * Two addresses are the same if their domains are, regardless of case and of Unicode or Punycode, and if their local
 * parts are, which are case-sensitive (RFC 5321), regardless of unnecessary quotes.
 * @throws TypeError if a part is not an address
 */
export function mailRecipients({ to, cc, bcc }: Envelope): string[] {
  const found = new Map<string, string>()
  for (const address of [to, cc, bcc].flatMap(addressesOf)) {
    const key = identityOf(address)
    if (!found.has(key)) found.set(key, address)
  }
  return [...found.values()]
}

function addressesOf(recipients: Recipients): string[] {
  if (recipients === null || recipients === undefined) return []
  if (typeof recipients === 'string') return addressesIn(recipients)
  return 'address' in recipients ? addressesIn(recipients.address) : recipients.flatMap(addressesOf)
}

/** Parses an address list of RFC 5322: names, quotes, comments, groups and routes. */
function addressesIn(list: string): string[] {
  const addresses: string[] = []
  let text = ''
  let angle: 'before' | 'in' | 'after' = 'before'
  const fail = (): never => {
    throw new TypeError(`no address: ${JSON.stringify(text.trim() === '' ? list : text.trim())}`)
  }
  const flush = (): void => {
    if (angle === 'in') fail()
    // Blanks are allowed around a dot and the @, and nowhere else. A match begins where they do, and a quote without an
    // end, as within brackets, takes the rest: otherwise it would take quadratic time.
    const address = text
      .trim()
      .replace(/"(?:[^"\\]|\\[\s\S])*"?|(?<!\s)\s*([.@])\s*/g, (all, sign?: string) => sign ?? all)
    if (address === '' && angle === 'after') fail()
    if (address !== '') addresses.push(checked(address) ?? fail())
    text = ''
    angle = 'before'
  }
  for (let at = 0; at < list.length; at += 1) {
    const character = list[at] as string
    const closing = character === '"' ? '"' : character === '(' ? ')' : character === '[' ? ']' : undefined
    if (closing !== undefined) {
      const end = endOf(list, at, closing) ?? fail()
      if (character === '(') text += ' '
      else if (angle !== 'after') text += list.slice(at, end + 1)
      at = end
    } else if (character === '<') {
      if (angle !== 'before') fail()
      text = ''
      angle = 'in'
    } else if (character === '>') {
      if (angle !== 'in') fail()
      angle = 'after'
    } else if (character === ':') text = ''
    else if (character === ';' || (character === ',' && angle !== 'in')) flush()
    else if (angle !== 'after') text += character
    else if (character.trim() !== '') fail()
  }
  flush()
  return addresses
}

/** The end of what begins here: a quoted string, a comment (which may contain others) or a domain in brackets. */
function endOf(list: string, begin: number, closing: string): number | undefined {
  let depth = 0
  for (let at = begin + 1; at < list.length; at += 1) {
    if (list[at] === '\\') at += 1
    else if (list[at] === closing) {
      if (depth === 0) return at
      depth -= 1
    } else if (list[at] === '(' && closing === ')') depth += 1
  }
  return undefined
}

/** The address, if this is one. */
function checked(address: string): string | undefined {
  const at = address.lastIndexOf('@')
  const local = address.slice(0, at)
  const domain = address.slice(at + 1)
  const good = /^(?:"(?:[^"\\]|\\[\s\S])*"|[^\s"@<>]+)$/.test(local) && /^(?:\[[^\]\s]*\]|[^\s"@<>[\]]+)$/.test(domain)
  return at > 0 && good ? address : undefined
}

/** The same text for two spellings of one address. */
function identityOf(address: string): string {
  const at = address.lastIndexOf('@')
  const local = address.slice(0, at)
  const content = local.startsWith('"') ? local.slice(1, -1).replace(/\\([\s\S])/g, '$1') : local
  return `${content}@${asciiOf(address.slice(at + 1))}`
}

/** A domain in the form of DNS. */
function asciiOf(domain: string): string {
  // Only if necessary: a URL also accepts numbers as addresses.
  // eslint-disable-next-line no-control-regex
  if (/^[\x00-\x7F]*$/.test(domain)) return domain.toLowerCase()
  try {
    return new URL(`http://${domain}`).hostname
  } catch {
    return domain.toLowerCase()
  }
}
