import { isProblem, type OwnerView, QuotaClient } from '@quota-service/client'
import { chosenFrom, TEXTS, type Texts } from './texts.ts'
import './view.css'

/**
 * The page of an owner's link. It has no dependency but the client, keeps nothing, and writes the token nowhere: it
 * stays in the fragment, so that the page can be loaded again.
 */

const DEADLINE_MS = 15_000
/** The form of a link's token; anything else is not sent. */
const TOKEN = /^[\w.-]{1,300}$/

const { language, locale } = chosenFrom(navigator.languages)
const texts: Texts = TEXTS[language]
const numbers = new Intl.NumberFormat(locale)
const times = new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeStyle: 'short' })
const days = new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeZone: 'UTC' })

type Child = Node | string
type Limit = OwnerView['limits'][number]

function element(name: string, attributes: Record<string, string> = {}, ...children: Child[]): HTMLElement {
  return filled(document.createElement(name), attributes, children)
}

function drawn(name: string, attributes: Record<string, string | number>, ...children: Child[]): SVGElement {
  return filled(document.createElementNS('http://www.w3.org/2000/svg', name), attributes, children)
}

function filled<T extends Element>(made: T, attributes: Record<string, string | number>, children: Child[]): T {
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, String(value))
  made.append(...children)
  return made
}

/** Fills the placeholders of a text; they may stand for elements. */
function say(text: string, values: Record<string, Child>): Child[] {
  return text.split(/(\{\w+\})/).map((part) => values[part.slice(1, -1)] ?? part)
}

/** A time in the browser's zone, and in UTC for those who point at it. */
function time(instant: string, format = times): HTMLElement {
  return element('time', { datetime: instant, title: instant }, format.format(new Date(instant)))
}

function section(title: string, ...children: Child[]): HTMLElement {
  return element('section', {}, element('h2', {}, title), ...children)
}

function table(titles: readonly string[], rows: readonly Child[][]): HTMLElement {
  const head = element('tr', {}, ...titles.map((title) => element('th', { scope: 'col' }, title)))
  const body = rows.map((cells) => element('tr', {}, ...cells.map((cell) => element('td', {}, cell))))
  return element('table', {}, element('thead', {}, head), element('tbody', {}, ...body))
}

function limitCard({ label, cap, total, remaining, refillsAt, expireAt }: Limit): HTMLElement {
  const kind = cap === null ? texts.quota : cap === 'observe' ? texts.watched : texts.cap
  const isShared = total === null
  const name = label ?? kind
  const about = [...(label === null ? [] : [kind]), ...(isShared ? [texts.shared] : [])].join(', ')
  const n = numbers.format(remaining)
  const left = isShared ? say(texts.leftShared, { n }) : say(texts.left, { n, total: numbers.format(total) })
  const card = element('li', {}, element('h3', {}, name))
  if (about !== '') card.append(element('p', { class: 'about' }, about))
  card.append(element('p', {}, ...left))
  if (total !== null && total > 0)
    // The text says the same.
    card.append(element('progress', { max: String(total), value: String(remaining), 'aria-hidden': 'true' }))
  if (refillsAt !== null) card.append(element('p', {}, ...say(texts.more, { time: time(refillsAt) })))
  if (expireAt !== null) card.append(element('p', {}, ...say(texts.ends, { time: time(expireAt) })))
  return card
}

/** A chart of 31 bars; its description and the table say the same in words. */
function usage(used: OwnerView['days']): HTMLElement {
  const most = used.reduce((one, other) => (other.charged > one.charged ? other : one))
  const total = used.reduce((sum, { charged }) => sum + charged, 0)
  const bars = used.map(({ charged }, place) => {
    const height = most.charged === 0 ? 0 : Math.max(charged === 0 ? 0 : 1, (charged / most.charged) * 100)
    return drawn('rect', { x: place * 10 + 1, y: 100 - height, width: 8, height })
  })
  const summary = element('p', {}, ...say(texts.inAll, { n: numbers.format(total) }))
  if (most.charged > 0)
    summary.append(' ', ...say(texts.most, { time: time(most.day, days), n: numbers.format(most.charged) }))
  const size = { viewBox: `0 0 ${used.length * 10} 100`, preserveAspectRatio: 'none', 'aria-hidden': 'true' }
  const rows = [...used].reverse().map(({ day, charged }) => [time(day, days), numbers.format(charged)])
  return section(
    texts.usage,
    summary,
    drawn('svg', size, ...bars),
    element('details', {}, element('summary', {}, texts.table), table([texts.day, texts.used], rows)),
  )
}

function page(view: OwnerView): Child[] {
  const owner =
    view.accountId === undefined
      ? say(texts.user, { n: String(view.userId) })
      : say(texts.account, { n: String(view.accountId) })
  const refused = view.refusals.map(({ hour, code, count }) => [time(hour), texts.codes[code], numbers.format(count)])
  return [
    element('h1', {}, texts.title),
    element('p', { class: 'about' }, ...owner),
    element('p', { class: 'available' }, element('strong', {}, numbers.format(view.available)), ` ${texts.available}`),
    section(
      texts.limits,
      view.limits.length === 0
        ? element('p', {}, texts.noLimits)
        : element('ul', {}, ...view.limits.map((limit) => limitCard(limit))),
    ),
    section(
      texts.refusals,
      refused.length === 0
        ? element('p', {}, texts.noRefusals)
        : table([texts.hour, texts.reason, texts.attempts], refused),
    ),
    usage(view.days),
    element(
      'footer',
      {},
      // eslint-disable-next-line no-restricted-syntax -- the console's clock, in format.tsx, would load React
      element('p', {}, ...say(texts.asOf, { time: time(new Date().toISOString()) })),
      element('p', {}, ...say(texts.works, { time: time(view.expiresAt) })),
      again(),
    ),
  ]
}

function again(): HTMLElement {
  const button = element('button', { type: 'button' }, texts.refresh)
  button.addEventListener('click', () => void show())
  return button
}

function failure(title: string, why: string, ...more: Child[]): Child[] {
  return [element('h1', {}, title), element('p', { role: 'alert' }, why), ...more]
}

/** What the link shows now. */
async function found(token: string): Promise<Child[]> {
  const shut = failure(texts.shut, texts.shutWhy)
  if (!TOKEN.test(token)) return shut
  try {
    const client = new QuotaClient({ baseUrl: new URL('..', location.href).href, token, deadlineMs: DEADLINE_MS })
    return page(await client.view())
  } catch (error) {
    return isProblem(error, 'unauthenticated') ? shut : failure(texts.away, texts.awayWhy, again())
  }
}

let shown = 0

async function show(): Promise<void> {
  const turn = (shown += 1)
  const main = document.getElementById('view')
  if (main === null) throw new Error('the page has no place')
  if (main.childElementCount === 0) main.append(element('p', { role: 'status' }, texts.loading))
  main.setAttribute('aria-busy', 'true')
  const hadFocus = document.activeElement instanceof HTMLButtonElement
  const content = await found(location.hash.slice(1))
  // Another link was opened meanwhile.
  if (turn !== shown) return
  main.replaceChildren(...content)
  main.removeAttribute('aria-busy')
  document.title = main.querySelector('h1')?.textContent ?? texts.title
  if (hadFocus) main.querySelector('button')?.focus()
}

document.documentElement.lang = locale
document.title = texts.title
addEventListener('hashchange', () => void show())
void show()
