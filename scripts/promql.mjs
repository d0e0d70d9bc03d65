/** Parses the names in a Prometheus expression, to compare them with a service's metrics. promtool checks the syntax. */

const KEYWORDS = new Set([
  'and',
  'or',
  'unless',
  'by',
  'without',
  'on',
  'ignoring',
  'group_left',
  'group_right',
  'offset',
  'bool',
])
/** The parentheses after these contain labels. */
const GROUPING = new Set(['by', 'without', 'on', 'ignoring', 'group_left', 'group_right'])
const NUMBERS = new Set(['inf', 'nan'])
const TOKEN =
  /\s+|#[^\n]*|"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|\[[^\]]*\]|[a-zA-Z_:][\w:]*|\d[\w.]*|[=!]~|[=!<>]=|[^\s\w]/gy

/**
 * @param {string} expression
 * @returns {{
 *   selectors: { name: string, matchers: { label: string, operator: string, value: string }[] }[],
 *   groupings: string[],
 * }} the metrics with the matchers of their labels, and the labels of groupings
 */
export function namesIn(expression) {
  const tokens = [...expression.matchAll(TOKEN)].map(([text]) => text).filter((text) => !/^(?:\s|#)/.test(text))
  if (
    tokens.join('').length !== expression.replace(/#[^\n]*/g, '').replace(/\s+(?=(?:[^"]*"[^"]*")*[^"]*$)/g, '').length
  ) {
    throw new Error(`cannot be read: ${expression}`)
  }
  const selectors = []
  const groupings = []
  for (let at = 0; at < tokens.length; at += 1) {
    const word = tokens[at]
    if (!/^[a-zA-Z_:]/.test(word) || NUMBERS.has(word.toLowerCase())) continue
    if (GROUPING.has(word)) {
      if (tokens[at + 1] !== '(') continue
      const end = tokens.indexOf(')', at)
      groupings.push(...tokens.slice(at + 2, end).filter((text) => text !== ','))
      at = end
    } else if (!KEYWORDS.has(word)) {
      const next = tokens[at + 1]
      // A function, or an aggregation whose labels come first.
      if (next === '(' || GROUPING.has(next)) continue
      const matchers = []
      if (next === '{') {
        const end = tokens.indexOf('}', at)
        const inside = tokens.slice(at + 2, end).filter((text) => text !== ',')
        for (let i = 0; i < inside.length; i += 3) {
          const [label, operator, value] = inside.slice(i, i + 3)
          matchers.push({ label, operator, value: JSON.parse(value) })
        }
        at = end
      }
      selectors.push({ name: word, matchers })
    }
  }
  return { selectors, groupings }
}
