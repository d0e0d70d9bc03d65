import { isProblem, OutcomeUnknown } from '@quota-service/client'
import { useIsFetching, useMutation, useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import {
  createContext,
  Fragment,
  type KeyboardEvent,
  type MouseEvent,
  useCallback,
  type SubmitEvent,
  type ReactNode,
  useContext,
  useEffect,
  useId,
  useLayoutEffect,
  useRef,
  useState,
  useSyncExternalStore,
} from 'react'
import type { ChannelName, Operation, Quota, Status } from './channel-client.ts'
import { amount, withAmounts } from './amount.ts'
import { fieldName } from './field-name.ts'
import { ClockTime } from './format.tsx'
import { Notice } from './notice.ts'
import { type CapMode, roleText } from './limits.ts'
import { noteFailure, useWaiting } from './session.ts'
import { levelOf, shareText } from './share.ts'
import type { Reading } from './whole-number.ts'

/* Announcements are shown, and read out by screen readers. */

/** The time for which an announcement is shown, in milliseconds. */
const SHOWN_MS = 10_000
const NOTHING = { text: '' }
/** The last one; each is an object of its own, since the same text twice is two events. */
let announced = NOTHING
/** The last one that is shown no more. */
let over = NOTHING
const listeners = new Set<() => void>()

/** Announces an event. */
export function announce(text: string): void {
  // Screen readers read out only what changes.
  announced = { text: announced.text === text ? `${text}\u00a0` : text }
  tellListeners()
}

function tellListeners(): void {
  for (const listener of listeners) listener()
}

/** Shows an announcement no more, wherever it is; a later one stays. */
function dismiss(one: typeof announced): void {
  if (one !== announced) return
  over = one
  tellListeners()
}

/** How many dialogs are open. What is outside of them is inert: nobody hears it. */
let dialogs = 0

function onAnnouncement(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

/**
 * The place of announcements: once on the page, and once in each dialog. That of the page is silent while a dialog is
 * open. When it closes, the latest is told there again: the focus moves, which may have cut it short.
 */
export function Announcements({ inDialog = false }: { inDialog?: boolean }): ReactNode {
  const latest = useSyncExternalStore(onAnnouncement, () =>
    announced === over || (!inDialog && dialogs > 0) ? NOTHING : announced,
  )
  // What was announced before a sign-in was for somebody else; before a dialog, it has been told.
  useLayoutEffect(() => dismiss(announced), [])
  useEffect(() => {
    const timer = setTimeout(() => dismiss(latest), SHOWN_MS)
    return () => clearTimeout(timer)
  }, [latest])
  const shown = latest !== NOTHING
  return (
    <div className={shown ? 'toast' : 'toast over'}>
      <p className="announcement" role="status" aria-live="polite">
        {latest.text}
      </p>
      {shown && (
        <button type="button" className="quiet" aria-label="Dismiss the message" onClick={() => dismiss(latest)}>
          <span aria-hidden="true">✕</span>
        </button>
      )}
    </div>
  )
}

function countDialogs(change: 1 | -1): void {
  dialogs += change
  tellListeners()
}

/** Shows that a request waits for its next attempt, and for how long. */
export function WaitingNotice(): ReactNode {
  const [first] = useWaiting()
  const [seconds, setSeconds] = useState(0)
  useEffect(() => {
    if (first === undefined) return undefined
    const look = (): void => setSeconds(Math.max(0, Math.ceil((first.until - performance.now()) / 1000)))
    const timer = setInterval(look, 250)
    return () => clearInterval(timer)
  }, [first])
  if (first === undefined) return null
  return (
    <div className="notice" data-waiting>
      <p role="status">
        <span aria-hidden="true">◔ </span>
        {first.status === undefined ? 'No answer from the service.' : `The service is busy (${first.status}).`} Nothing
        is lost; this is tried again by itself.
      </p>
      <p aria-hidden="true" className="muted">
        in {seconds} s
      </p>
    </div>
  )
}

/** Returns whether this component is still mounted, for answers that may be late. */
export function useStillHere(): () => boolean {
  const here = useRef(false)
  useEffect(() => {
    here.current = true
    return () => {
      here.current = false
    }
  }, [])
  return useCallback(() => here.current, [])
}

/** The age of the data on the screen, and a button that renews it; nothing without queries. */
function AsOf(): ReactNode {
  const queries = useQueryClient()
  const fetching = useIsFetching()
  const cache = queries.getQueryCache()
  const since = useSyncExternalStore(
    (listener) => cache.subscribe(listener),
    () =>
      cache
        .findAll({ type: 'active' })
        .map(({ state }) => state.dataUpdatedAt)
        .filter((at) => at > 0)
        .sort((a, b) => a - b)[0],
  )
  if (since === undefined) return null
  return (
    <p className="as-of">
      <span className="muted">
        As of <ClockTime at={since} />
      </span>
      <button type="button" className="quiet" onClick={() => void queries.refetchQueries({ type: 'active' })}>
        {fetching > 0 ? 'Refreshing…' : 'Refresh'}
      </button>
    </p>
  )
}

/** A screen: sets the tab's title, and takes the focus after navigation, so that it is read from its beginning. */
export function Screen({
  title,
  actions,
  takesFocus = true,
  children,
}: {
  title: ReactNode
  actions?: ReactNode
  takesFocus?: boolean
  children: ReactNode
}): ReactNode {
  const heading = useRef<HTMLHeadingElement>(null)
  const [failures] = useState(() => new Failures())
  useEffect(() => {
    document.title = `${heading.current?.textContent ?? ''} · Quota console`
  })
  useEffect(() => {
    // Screen readers read the first screen from the top of the page anyway.
    if (begun && takesFocus) heading.current?.focus()
    begun = true
  }, [takesFocus])
  return (
    <>
      <div className="head">
        <h1 ref={heading} tabIndex={-1}>
          {title}
        </h1>
        <div className="actions">
          <AsOf />
          {actions}
        </div>
      </div>
      <OnThisScreen value={failures}>{children}</OnThisScreen>
    </>
  )
}
/** Has a screen been shown? */
let begun = false

/** Panels in it are folded on a phone: parts that few people look for there. */
export const FoldedOnPhone = createContext(false)

/** A part of a screen with a heading. */
export function Panel({
  title,
  anchor,
  hint,
  actions,
  children,
}: {
  title: string
  /** What links to it name after `#`. */
  anchor?: string
  hint?: ReactNode
  actions?: ReactNode
  children: ReactNode
}): ReactNode {
  const id = useId()
  const folds = useContext(FoldedOnPhone)
  const [open, setOpen] = useState(false)
  return (
    <section className={`panel ${folds ? 'fold' : ''} ${open ? 'open' : ''}`} id={anchor} aria-labelledby={id}>
      <div className="head">
        <h2 id={id}>{title}</h2>
        {folds && (
          <button type="button" className="quiet on-phone" aria-expanded={open} onClick={() => setOpen(!open)}>
            {open ? 'Hide' : 'Show'}
            <span className="visually-hidden"> {title}</span>
          </button>
        )}
        {actions !== undefined && <div className="actions">{actions}</div>}
      </div>
      {hint !== undefined && <p className="hint">{hint}</p>}
      {children}
    </section>
  )
}

/**
 * What is typed into filters; it begins anew, in the same fields, when the address has other filters.
 * @param given the texts of the filters in the address
 * @param filters all of them, if there are others beside the texts
 */
export function useTyped<T>(given: T, filters: unknown = given): [typed: T, setTyped: (typed: T) => void] {
  const of = JSON.stringify(filters)
  const [state, setState] = useState({ of, typed: given })
  if (state.of !== of) setState({ of, typed: given })
  return [state.typed, (typed) => setState({ of, typed })]
}

/** Filters; on a phone, folded behind a button with the number of those that are set. */
export function Filtering({ of, children }: { of: object; children: ReactNode }): ReactNode {
  const [open, setOpen] = useState(false)
  const set = Object.keys(of).length
  return (
    <div className={open ? 'fold open' : 'fold'}>
      <button type="button" className="on-phone" aria-expanded={open} onClick={() => setOpen(!open)}>
        Filters{set > 0 && ` (${set} set)`}
      </button>
      {children}
    </div>
  )
}

/** A menu of secondary actions: buttons and links. A dialog that one opens stands outside of it. */
export function More({ children }: { children: ReactNode }): ReactNode {
  const [open, setOpen] = useState(false)
  const place = useRef<HTMLDivElement>(null)
  const id = useId()
  useEffect(() => {
    if (open) pressable(place.current)[1]?.focus()
  }, [open])
  /** The focus returns before an item acts, so that a dialog gives it back to the button. */
  const close = (): void => {
    setOpen(false)
    pressable(place.current)[0]?.focus()
  }
  const press = (event: KeyboardEvent): void => {
    const all = pressable(place.current)
    const last = all.length - 1
    const at = all.findIndex((one) => one === document.activeElement)
    const next = { ArrowDown: at === last ? 1 : at + 1, ArrowUp: at <= 1 ? last : at - 1, Home: 1, End: last }[
      event.key
    ]
    if (event.key === 'Escape' && open) close()
    else if (next !== undefined && open) all[next]?.focus()
    else if (event.key === 'ArrowDown') setOpen(true)
    else return
    event.preventDefault()
  }
  return (
    <div
      className="more"
      ref={place}
      onKeyDown={press}
      onBlur={({ relatedTarget }) => place.current?.contains(relatedTarget) !== true && setOpen(false)}
    >
      <button type="button" aria-expanded={open} aria-controls={id} onClick={() => setOpen(!open)}>
        More <span aria-hidden="true">▾</span>
      </button>
      <div id={id} className="menu" tabIndex={-1} hidden={!open} onClickCapture={close}>
        {children}
      </div>
    </div>
  )
}

function pressable(place: HTMLElement | null): HTMLElement[] {
  return [...(place?.querySelectorAll<HTMLElement>('button, a') ?? [])]
}

/**
 * The cause of a failure that affects every part of a screen: the service, or the permission; undefined for a failure
 * of one part.
 */
function commonCause(error: unknown): string | undefined {
  if (error instanceof OutcomeUnknown) return 'no answer'
  if (isProblem(error) && (error.status >= 500 || error.status === 401 || error.status === 403)) return error.code
  return undefined
}

interface FailedPart {
  readonly id: string
  readonly place: HTMLElement
  readonly cause: string
  readonly retry: () => unknown
}

/**
 * The parts of a screen that failed for a common cause: the uppermost describes it, and the others refer to it.
 */
class Failures {
  private failed: readonly FailedPart[] = []
  private readonly listeners = new Set<() => void>()

  readonly subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener)
    return () => this.listeners.delete(listener)
  }

  /** @returns a function that removes it */
  add(part: FailedPart): () => void {
    this.set([...this.failed, part])
    return () => this.set(this.failed.filter((one) => one !== part))
  }

  /** The id of the part that describes a cause. */
  describer(cause: string | undefined): string | undefined {
    const parts = this.failed.filter((one) => one.cause === cause)
    return parts.find(({ place }) => parts.every((one) => one.place === place || isBefore(place, one.place)))?.id
  }

  /** Retries all parts that failed for this cause. */
  retry(cause: string): void {
    for (const one of this.failed) if (one.cause === cause) void one.retry()
  }

  private set(failed: typeof this.failed): void {
    this.failed = failed
    for (const listener of this.listeners) listener()
  }
}

function isBefore(one: Node, other: Node): boolean {
  return (one.compareDocumentPosition(other) & Node.DOCUMENT_POSITION_FOLLOWING) !== 0
}

const OnThisScreen = createContext(new Failures())

/** A failed read; a common cause is described once for all parts of a screen. */
function FailedRead({ error, refetch }: { error: unknown; refetch: () => unknown }): ReactNode {
  const id = useId()
  const place = useRef<HTMLDivElement>(null)
  const failures = useContext(OnThisScreen)
  const cause = commonCause(error)
  const latest = useRef(refetch)
  // Layout effects run before the screen is painted or read out.
  useLayoutEffect(() => {
    latest.current = refetch
  })
  useLayoutEffect(
    () =>
      cause === undefined || place.current === null
        ? undefined
        : failures.add({ id, place: place.current, cause, retry: () => latest.current() }),
    [failures, id, cause],
  )
  const describer = useSyncExternalStore(failures.subscribe, () => failures.describer(cause))
  return (
    <div ref={place}>
      {cause === undefined || describer === undefined || describer === id ? (
        <Failure error={error} retry={cause === undefined ? refetch : () => failures.retry(cause)} />
      ) : (
        <p className="unread muted">Not loaded, for the same reason as above.</p>
      )}
    </div>
  )
}

interface Query<T> {
  readonly data: T | undefined
  readonly error: unknown
  readonly refetch: () => unknown
}

/** A query in one of its four states: loading, failed, empty, loaded. */
export function Loaded<T>({
  of,
  empty,
  isEmpty,
  children,
}: {
  of: Query<T>
  /** Shown if `isEmpty` returns true. */
  empty?: ReactNode
  isEmpty?: (data: T) => boolean
  children: (data: T) => ReactNode
}): ReactNode {
  if (of.data !== undefined) {
    return (
      <>
        {of.error !== null && of.error !== undefined && <FailedRead error={of.error} refetch={of.refetch} />}
        {isEmpty?.(of.data) === true ? <div className="empty">{empty}</div> : children(of.data)}
      </>
    )
  }
  if (of.error !== null && of.error !== undefined) return <FailedRead error={of.error} refetch={of.refetch} />
  return <Loading />
}

/** What a list shows at a place beyond its end, such as an address names that was kept. */
export function BeyondEnd({
  what,
  last,
  onGo,
}: {
  /** What there is none of. */
  what: string
  /** The number of the last page. */
  last: number
  onGo: (page: number) => void
}): ReactNode {
  return (
    <>
      <p>There is no {what}.</p>
      <div className="actions">
        <button type="button" onClick={() => onGo(1)}>
          First page
        </button>
        {last > 1 && (
          <button type="button" onClick={() => onGo(last)}>
            Last page: {amount(last)}
          </button>
        )}
      </div>
    </>
  )
}

/** Shown while a query is loading. */
export function Loading(): ReactNode {
  return (
    <div className="loading" role="status">
      <span className="visually-hidden">Loading…</span>
      <span className="bone" />
      <span className="bone" />
      <span className="bone" />
    </div>
  )
}

/** The event, the next step for the person, and the request id. */
function describeFailure(
  error: unknown,
  reading: boolean,
): {
  title: string
  what: string
  todo: string
  requestId: string | undefined
  fields: readonly { field: string; message: string }[]
} {
  if (error instanceof OutcomeUnknown) {
    const { key, cause } = error
    const answer = isProblem(cause) ? cause : undefined
    return {
      title: answer?.title ?? 'No answer came',
      what:
        (answer === undefined ? 'The service did not answer in time.' : sentence(answer.detail).replace(/\.?$/, '.')) +
        (reading ? '' : ' A change that was sent may have been made or not.'),
      // Without a key, the service does not recognize a repetition.
      todo: reading
        ? 'Look whether the connection is there, then try again.'
        : key === undefined
          ? 'Look whether it was done before you do it once more.'
          : 'Look whether the connection is there, then do it once more: done twice, it takes effect once.',
      requestId: error.requestId,
      fields: [],
    }
  }
  if (error instanceof Notice) {
    const { title, message: what, todo } = error
    return { title, what, todo, requestId: undefined, fields: [] }
  }
  if (!isProblem(error)) {
    return {
      title: 'Something is wrong with this page',
      what: String(error),
      todo: 'Load the page anew.',
      requestId: undefined,
      fields: [],
    }
  }
  const { detail, requestId, status } = error
  const title = error.code === 'unauthenticated' ? 'You are not signed in' : error.title
  const fields = isProblem(error, 'validation_failed') ? error.errors : []
  return { title, what: fields.length > 0 ? '' : sentence(detail), todo: toDo(status, error.code), requestId, fields }
}

function toDo(status: number, code: string): string {
  switch (code) {
    case 'unauthenticated':
      return 'Sign in again. What you typed is kept.'
    case 'forbidden':
      return 'Ask for a token with that role, or sign in with another one.'
    case 'quota_not_found':
      return 'It may have been deleted: look among the deleted ones.'
    case 'operation_not_found':
      return 'Look for the identifier in the other channel.'
    case 'route_not_found':
      return 'The operator has not switched this on; for links, LINK_SECRET must be set.'
    case 'validation_failed':
      return 'Change what is named here, then try again.'
    case 'version_mismatch':
      return 'Somebody changed it meanwhile. Look at it, then try again.'
    case 'webhook_disabled':
      return 'Enable it first, or have it named in the file again.'
    case 'too_many_quotas':
      return 'Delete or end quotas of this owner that are not needed.'
    case 'change_set_not_found':
      return 'It may have been dropped. Look among all change sets.'
    case 'group_not_empty':
      return 'Remove that first, then delete the group.'
    case 'group_name_taken':
      return 'Choose another name.'
    case 'default_group_taken':
      return 'Take that from the other group first.'
    case 'too_many_rows':
      return 'Drop change sets that are not needed, or apply them.'
    case 'change_set_state':
    case 'change_set_differs':
      return 'Somebody was faster. Look at it as it is now.'
    case 'operation_already_settled':
      return 'Load the operation anew to see what became of it.'
    default:
      if (status >= 500) return 'Try again; if it stays so, tell whoever runs the service the request id.'
      return status === 429
        ? 'Wait a moment, then try again.'
        : 'The same request would fail again: look at the present state first.'
  }
}

export function sentence(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}

/** A failure, with the next step for the person. */
export function Failure({ error, retry }: { error: unknown; retry?: (() => unknown) | undefined }): ReactNode {
  const { title, what, todo, requestId, fields } = describeFailure(error, retry !== undefined)
  const box = useRef<HTMLDivElement>(null)
  return (
    <div className="failure" role="alert" ref={box}>
      <p className="failure-title">
        <span aria-hidden="true">⚠ </span>
        {title}
      </p>
      {what !== '' && <p>{what}</p>}
      {fields.length > 0 && (
        <ul>
          {fields.map(({ field, message }) => (
            <li key={field}>
              {fieldName(field)} {withAmounts(message)}
            </li>
          ))}
        </ul>
      )}
      <p>{todo}</p>
      <div className="actions">
        {retry !== undefined && !(isProblem(error) && error.status === 404) && (
          <button type="button" onClick={() => void retry()}>
            Try again
          </button>
        )}
        {requestId !== undefined && <Copied what="request id" text={requestId} />}
      </div>
    </div>
  )
}

/** A text with a button that copies it. @param shown is it shown here, not elsewhere? */
export function Copied({
  what,
  text,
  named = true,
  shown = true,
}: {
  what: string
  text: string
  named?: boolean
  shown?: boolean
}): ReactNode {
  return (
    <span className="copied">
      {shown && named && <span className="muted">{what}</span>} {shown && <code>{text}</code>}
      <button
        type="button"
        className="quiet"
        aria-label={`Copy the ${what}`}
        onClick={() => {
          void copy(text).then((done) =>
            announce(done ? `The ${what} is copied.` : `The ${what} could not be copied; mark it and copy it.`),
          )
        }}
      >
        Copy
      </button>
    </span>
  )
}

async function copy(text: string): Promise<boolean> {
  // Pages without TLS have no clipboard.
  const clipboard = (navigator as { clipboard?: Clipboard }).clipboard
  try {
    await clipboard?.writeText(text)
    return clipboard !== undefined
  } catch {
    return false
  }
}

/** A word with a sign, so that the colour is not the only cue. @param kind selects the colour */
export function Signed({ kind, sign, name }: { kind: string; sign: string; name: string }): ReactNode {
  return (
    <span className={`badge badge-${kind}`}>
      <span aria-hidden="true">{sign}</span> {name}
    </span>
  )
}

/** A status. */
export function Badge({ status }: { status: Status | Operation['state'] | 'deleted' | 'removed' }): ReactNode {
  return <Signed kind={status} sign={SIGNS[status] ?? '·'} name={status} />
}
const SIGNS: Readonly<Record<string, string>> = {
  active: '●',
  disabled: '‖',
  expired: '○',
  left: '⤴',
  deleted: '✕',
  removed: '✕',
  consumed: '●',
  reserved: '◔',
  committed: '●',
  released: '↩',
}

/** The mode of a cap. */
export function CapBadge({ cap }: { cap: CapMode }): ReactNode {
  return <Signed kind={cap} sign={cap === 'enforce' ? '⊤' : '◌'} name={roleText(cap)} />
}

const BAR = 100

/**
 * A bar of the used, reserved and remaining units, with the numbers; its colour and a text show the level. Where a
 * total was set below what was used, the excess is shown: the units of one quota that are over do not reduce what the
 * others have left.
 */
export function UsageBar({
  total,
  used,
  reserved,
  remaining,
  thresholds = null,
  wide = false,
}: Pick<Quota, 'total' | 'used' | 'reserved' | 'remaining'> &
  Partial<Pick<Quota, 'thresholds'>> & { wide?: boolean }): ReactNode {
  const pattern = useId()
  const of = (value: number): number => (total === 0 ? 0 : Math.min(BAR, (value / total) * BAR))
  // A total of 0 shows no used part.
  const usedWidth = total > 0 && used >= total ? BAR : of(used)
  const reservedWidth = Math.min(BAR - usedWidth, of(reserved))
  const over = used + reserved + remaining - total
  const level = levelOf({ total, used, reserved, remaining, thresholds })
  const share = shareText(used, total)
  return (
    <div className={`usage usage-${level}${wide ? ' usage-wide' : ''}`}>
      <svg viewBox={`0 0 ${BAR} 8`} preserveAspectRatio="none" aria-hidden="true" focusable="false">
        <defs>
          <pattern id={pattern} width="3" height="8" patternUnits="userSpaceOnUse">
            <rect width="3" height="8" className="bar-reserved-ground" />
            <rect width="1.5" height="8" className="bar-reserved" />
          </pattern>
        </defs>
        <rect width={BAR} height="8" className="bar-left" />
        <rect width={usedWidth} height="8" className="bar-used" />
        <rect x={usedWidth} width={reservedWidth} height="8" fill={`url(#${pattern})`} />
      </svg>
      <span className="usage-text">
        {over > 0 && remaining === 0 ? (
          <>
            <b className="over">{amount(over)} over</b> {amount(total)}
          </>
        ) : (
          <>
            <b>{amount(remaining)}</b> left of {amount(total)}
            {over > 0 && (
              <>
                {' '}
                · <span className="over">{amount(over)} over</span>
              </>
            )}
          </>
        )}
        <span className="muted">
          {' '}
          <span className="unbroken">
            · {amount(used)} used{share === '' ? '' : ` (${share})`}
          </span>
          {reserved > 0 ? ` · ${amount(reserved)} held` : ''}
        </span>
        {level !== 'fine' && (over === 0 || remaining > 0) && (
          <>
            {' '}
            <span className="usage-level">
              <span aria-hidden="true">{level === 'out' ? '✕' : '⚠'}</span>{' '}
              {level === 'out' ? 'none left' : 'near the limit'}
            </span>
          </>
        )}
      </span>
    </div>
  )
}

/** A column of a table. */
export interface Column<Row> {
  readonly head: string
  readonly cell: (row: Row) => ReactNode
  readonly className?: string
  /** On a narrow screen, shown only in an unfolded card. */
  readonly folds?: boolean
}

/** The number of rows that a phone shows at first; style.css hides the others. */
const FEW = { part: 3, page: 14 } as const

/** The rows that are chosen, by their ids. */
export interface Choice {
  readonly ids: ReadonlySet<string | number>
  readonly choose: (id: number, on: boolean) => void
}

/**
 * A table that becomes a list of cards on a narrow screen; the roles keep it a table for screen readers.
 * @param as a table that is the page shows more rows on a phone than one that is a part of it
 * @param choice adds a check box to each row, which bears the row's id as its name
 */
export function Table<Row>({
  caption,
  columns,
  rows,
  idOf,
  as = 'part',
  choice,
}: {
  caption: string
  columns: readonly Column<Row>[]
  rows: readonly Row[]
  idOf: (row: Row) => string | number
  as?: keyof typeof FEW
  choice?: Choice | undefined
}): ReactNode {
  const [all, setAll] = useState(false)
  const [unfolded, setUnfolded] = useState<readonly (string | number)[]>([])
  const foldable = columns.some(({ folds }) => folds === true)
  const toggle = (id: string | number) => () =>
    setUnfolded(unfolded.includes(id) ? unfolded.filter((one) => one !== id) : [...unfolded, id])
  return (
    <>
      <table role="table" className={all ? undefined : `few-${as}`}>
        <caption className="visually-hidden">{caption}</caption>
        <thead role="rowgroup">
          <tr role="row">
            {choice !== undefined && (
              <th role="columnheader" scope="col">
                <span className="visually-hidden">Chosen</span>
              </th>
            )}
            {columns.map(({ head, className }) => (
              <th key={head} role="columnheader" scope="col" className={className}>
                {head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody role="rowgroup">
          {rows.map((row) => {
            const id = idOf(row)
            const whole = unfolded.includes(id)
            return (
              <tr key={id} role="row" data-row={id} className={whole ? 'unfolded' : undefined} onClick={openRow}>
                {choice !== undefined && (
                  <td role="cell" className="choose">
                    <input
                      type="checkbox"
                      aria-label={`Choose ${id}`}
                      checked={choice.ids.has(id)}
                      onChange={(event) => choice.choose(Number(id), event.target.checked)}
                    />
                  </td>
                )}
                {columns.map(({ head, cell, className = '', folds = false }) => (
                  <td key={head} role="cell" data-head={head} className={folds ? `${className} folds` : className}>
                    <div className="cell">{cell(row)}</div>
                  </td>
                ))}
                {foldable && (
                  <td role="cell" className="unfold">
                    <button type="button" className="quiet" aria-expanded={whole} onClick={toggle(id)}>
                      {whole ? 'Less' : 'More'}
                      <span className="visually-hidden"> of {id}</span>
                    </button>
                  </td>
                )}
              </tr>
            )
          })}
        </tbody>
      </table>
      {!all && <ShowRest of={caption} count={rows.length - FEW[as]} onShow={() => setAll(true)} />}
    </>
  )
}

/** A list; a phone shows its beginning. */
export function FewOnPhone({
  of,
  className,
  children,
}: {
  /** The accessible name. */
  of: string
  className: string
  /** Its items. */
  children: readonly ReactNode[]
}): ReactNode {
  const [all, setAll] = useState(false)
  return (
    <>
      <ul className={all ? className : `${className} few-part`} aria-label={of}>
        {children}
      </ul>
      {!all && <ShowRest of={of} count={children.length - FEW.part} onShow={() => setAll(true)} />}
    </>
  )
}

/** The button of a phone that shows what a list holds beyond its beginning. */
function ShowRest({ of, count, onShow }: { of: string; count: number; onShow: () => void }): ReactNode {
  return (
    count > 0 && (
      <button type="button" className="on-phone" onClick={onShow}>
        Show {amount(count)} more<span className="visually-hidden"> of: {of}</span>
      </button>
    )
  )
}

/** What a row has to be pressed itself. */
const PRESSED = 'a, button, input, select, summary, label'

/** A press anywhere in a row opens it as its main link does, unless text is being selected. */
function openRow({ target, currentTarget }: MouseEvent<HTMLElement>): void {
  const link = currentTarget.querySelector<HTMLElement>('[data-row-link]')
  if (link === null || !(target instanceof Element) || !currentTarget.contains(target)) return
  if (target.closest(PRESSED) === null && getSelection()?.isCollapsed !== false) link.click()
}

interface LinkProps {
  readonly channel: ChannelName
  /** Is it the main link of its row? The keys that move between rows stop there. */
  readonly row?: boolean
  /** Replaces the default text of the link. */
  readonly children?: ReactNode
}

function marked(row = false): { 'data-row-link'?: true } {
  return row ? { 'data-row-link': true } : {}
}

export function QuotaLink({ channel, id, row, children }: LinkProps & { id: number }): ReactNode {
  return (
    <Link to="/$channel/quotas/$id" params={{ channel, id: String(id) }} {...marked(row)}>
      {children ?? `#${id}`}
    </Link>
  )
}

export function OwnerLink({ channel, owner, row, children }: LinkProps & { owner: number }): ReactNode {
  return (
    <Link to="/$channel/owners/$owner" params={{ channel, owner: String(owner) }} {...marked(row)}>
      {children ?? owner}
    </Link>
  )
}

export function GroupLink({ channel, id, row, children }: LinkProps & { id: number }): ReactNode {
  return (
    <Link to="/$channel/groups/$id" params={{ channel, id: String(id) }} search={{}} {...marked(row)}>
      {children ?? <span className="unbroken">Group {id}</span>}
    </Link>
  )
}

export function ChangeSetLink({ channel, id, row, children }: LinkProps & { id: number }): ReactNode {
  return (
    <Link to="/$channel/change-sets/$id" params={{ channel, id: String(id) }} search={{}} {...marked(row)}>
      {children ?? `Change set ${id}`}
    </Link>
  )
}

export function OperationLink({ channel, id, row }: Omit<LinkProps, 'children'> & { id: string }): ReactNode {
  return (
    <Link to="/$channel/operations/$id" params={{ channel, id }} {...marked(row)}>
      <code>…{id.slice(-12)}</code>
    </Link>
  )
}

const START = 'form input:not([type="radio"]), form .primary, form .danger + button'

/**
 * A modal dialog: the browser keeps the focus in it, and Esc closes it. The focus then returns to its place; if that is
 * gone, to the row that it was in, or to the heading.
 */
export function Dialog({
  title,
  onClose,
  children,
}: {
  title: string
  onClose?: () => void
  children: ReactNode
}): ReactNode {
  const dialog = useRef<HTMLDialogElement>(null)
  const id = useId()
  useEffect(() => {
    const before = document.activeElement
    const row = before?.closest('[data-row]')
    const element = dialog.current
    element?.showModal()
    countDialogs(1)
    // The focus goes to the first control; for an action that cannot be undone, not to its button.
    const start = element?.querySelector<HTMLElement>(START)
    start?.focus()
    // What is typed replaces what is filled in.
    if (start instanceof HTMLInputElement) start.select()
    return () => {
      element?.close()
      countDialogs(-1)
      const places = [before, row?.querySelector('a'), document.querySelector('main h1')]
      const place = places.find((one) => one instanceof HTMLElement && one.isConnected)
      if (place instanceof HTMLElement) place.focus()
    }
  }, [])
  return (
    <dialog
      ref={dialog}
      aria-labelledby={id}
      onCancel={(event) => {
        event.preventDefault()
        onClose?.()
      }}
      // The browser closes it by itself where a page has prevented that several times.
      onClose={onClose ?? (() => dialog.current?.showModal())}
    >
      <div className="head">
        <h2 id={id}>{title}</h2>
        {onClose !== undefined && (
          <button type="button" className="quiet" aria-label="Close" onClick={onClose}>
            <span aria-hidden="true">✕</span>
          </button>
        )}
      </div>
      {children}
      <WaitingNotice />
      <Announcements inDialog />
    </dialog>
  )
}

/** A small button that downloads a list. @param of its name, in `Export … as CSV`; absent: that of the screen */
export function Csv({ of, file }: { of?: string; file: () => Promise<void> }): ReactNode {
  return <Download name={of === undefined ? 'Export as CSV' : `Export ${of} as CSV`} short="CSV" file={file} />
}

/** A button that downloads a file; shows the progress and a failure. */
export function Download({
  name,
  short,
  quiet = short !== undefined,
  file,
}: {
  /** The text of the button. */
  name: string
  /** A part of the name; shown alone, in a quiet button. */
  short?: string
  quiet?: boolean
  /** Fetches and saves the file. */
  file: () => Promise<void>
}): ReactNode {
  const fetched = useMutation({
    mutationFn: file,
    onSuccess: () => announce(`${name}: the file is there.`),
  })
  return (
    <>
      <button
        type="button"
        className={quiet ? 'quiet' : undefined}
        aria-label={short === undefined || fetched.isPending ? undefined : name}
        title={short === undefined ? undefined : name}
        aria-disabled={fetched.isPending}
        onClick={() => !fetched.isPending && fetched.mutate()}
      >
        {fetched.isPending ? 'Getting the file…' : (short ?? name)}
      </button>
      {fetched.error !== null && <Failure error={fetched.error} retry={() => fetched.mutate()} />}
    </>
  )
}

/**
 * Is a time in the form typed in part? Its text is empty then, as that of no time; the browser says at the field what
 * is missing.
 */
export function isHalfTyped(form: HTMLFormElement | null): boolean {
  const half = [...(form?.querySelectorAll('input') ?? [])].find(({ validity }) => validity.badInput)
  return half?.reportValidity() === false
}

/** Asks for confirmation of an action; if the action fails, stays open and shows the failure. */
export function Confirm({
  title,
  verb,
  danger = false,
  act,
  onClose,
  children,
  ready = true,
  onUnready,
}: {
  title: string
  /** The text of the button. */
  verb: string
  danger?: boolean
  act: () => Promise<unknown>
  onClose: () => void
  children: ReactNode
  /** Is the dialog's form complete? */
  ready?: boolean
  /** The form was sent before it was complete. */
  onUnready?: () => void
}): ReactNode {
  const [error, setError] = useState<unknown>()
  const [busy, setBusy] = useState(false)
  const here = useStillHere()
  const form = useRef<HTMLFormElement>(null)
  const submit = (event: SubmitEvent): void => {
    event.preventDefault()
    if (busy) return
    if (!ready) {
      onUnready?.()
      const wrong = form.current?.querySelector<HTMLElement>('[aria-invalid="true"]')
      ;(wrong ?? form.current?.querySelector<HTMLElement>('input, textarea'))?.focus()
      return
    }
    if (isHalfTyped(form.current)) return
    setBusy(true)
    setError(undefined)
    // The person may have closed this dialog and opened another one.
    act().then(
      () => {
        if (here()) onClose()
      },
      (reason: unknown) => {
        setBusy(false)
        setError(reason)
        noteFailure(reason)
        if (!here()) announce(`${title} It was not done: ${describeFailure(reason, false).title}.`)
      },
    )
  }
  return (
    <Dialog title={title} onClose={onClose}>
      <form onSubmit={submit} ref={form} noValidate>
        {children}
        {error !== undefined && <Failure error={error} />}
        <div className="actions">
          <button type="submit" className={danger ? 'danger' : 'primary'} aria-disabled={busy}>
            {busy ? 'Working…' : verb}
          </button>
          <button type="button" onClick={onClose}>
            Cancel
          </button>
        </div>
      </form>
    </Dialog>
  )
}

/** A field with its label, a hint, and its mistake. */
export function Field({
  label,
  hint,
  error,
  children,
  className,
}: {
  label: string
  hint?: ReactNode
  error?: string | undefined
  className?: string
  children: (ids: { id: string; 'aria-describedby': string | undefined; 'aria-invalid': boolean }) => ReactNode
}): ReactNode {
  const id = useId()
  const described = hint !== undefined || error !== undefined
  return (
    <div className={`field ${className ?? ''}`}>
      <label htmlFor={id}>{label}</label>
      {children({ id, 'aria-describedby': described ? `${id}-more` : undefined, 'aria-invalid': error !== undefined })}
      {described && (
        <div id={`${id}-more`} className="hint">
          {error !== undefined && (
            <span className="field-error">
              <span aria-hidden="true">⚠ </span>
              {error}{' '}
            </span>
          )}
          {hint}
        </div>
      )}
    </div>
  )
}

/** A field for a number: shows the mistake, and the parsed number if the text may be misread. */
export function NumberField({
  label,
  text,
  reading,
  onText,
  hint,
  error,
  className,
  autoFocus,
}: {
  label: string
  text: string
  reading: Reading
  onText: (text: string) => void
  hint?: ReactNode
  /** Another mistake, shown if the number is valid or the field is empty. */
  error?: string | undefined
  className?: string
  autoFocus?: boolean | undefined
}): ReactNode {
  const wrong = text.trim() === '' || reading.value !== undefined ? undefined : reading.mistake
  const understood = reading.value === undefined ? undefined : reading.shown
  return (
    <Field
      label={label}
      {...(className === undefined ? {} : { className })}
      error={wrong ?? error}
      hint={
        <Fragment>
          {understood !== undefined && <output className="understood">= {understood} </output>}
          {hint}
        </Fragment>
      }
    >
      {(ids) => (
        <input
          {...ids}
          inputMode="numeric"
          autoComplete="off"
          autoFocus={autoFocus}
          value={text}
          onChange={(event) => onText(event.target.value)}
        />
      )}
    </Field>
  )
}

/** A label. It may be written from right to left, and must not change the direction of the text around it. */
export function Label({ text }: { text: string | null }): ReactNode {
  return text === null ? <span className="muted">–</span> : <bdi className="label">{text}</bdi>
}

/** The messages of a refusal, by field. */
export function fieldErrors(error: unknown): Readonly<Record<string, string>> {
  return isProblem(error, 'validation_failed')
    ? Object.fromEntries(error.errors.map(({ field, message }) => [field, withAmounts(message)]))
    : {}
}
