/* Numbers in the format of the browser's locale. */

const number = new Intl.NumberFormat()

export function amount(value: number): string {
  return number.format(value)
}

/** `1 hold`, `2 holds`. */
export function counted(value: number, one: string, many = `${one}s`): string {
  return `${amount(value)} ${value === 1 ? one : many}`
}

/** A message of the service about a field, with its long numbers as `amount` writes them. */
export function withAmounts(message: string): string {
  return message.replace(/(?<![\w.,:"'/-])\d{5,16}(?![\w"'/-]|[.,:]\d)/g, (digits) => amount(Number(digits)))
}
