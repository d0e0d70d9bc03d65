import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { Link, useNavigate, useRouter } from '@tanstack/react-router'
import { type ReactNode, type RefObject, useCallback, useEffect, useRef, useState } from 'react'
import { useChangeSet } from './change-set.tsx'
import { Why, countsText } from './set-parts.tsx'
import { type ChangeSet, type ImportDraft, importDraft, isAtWork, setsOf } from '../change-sets.ts'
import { type ChannelClient, newKey } from '../channel-client.ts'
import { exportRows } from '../download.ts'
import { amount, counted } from '../amount.ts'
import { HERE } from '../format.tsx'
import { readTable } from '../import-table.ts'
import { Notice } from '../notice.ts'
import { announce, Download, Failure, Field, Loaded, Panel, Screen, useStillHere } from '../parts.tsx'
import { columnsOf, lineOf, placeOf, rowsOf, SEPARATOR_NAMES, separatorOf } from '../pasted.ts'
import { UNITS } from '../resets.ts'
import { draftOf, keepDraft, useDraft } from '../use-draft.ts'

/** The maximum length of a draft, in characters: the browser's storage is limited. A longer text becomes a file. */
const MAX_TYPED = 500_000
/** The service's limit, in bytes. */
const MAX_FILE = 50_000_000
/** The maximum number of mistakes shown; the others can be downloaded. */
const SHOWN = 100

/** Creates and changes quotas from a table: pasted from a spreadsheet, typed, or a file. */
export function ImportScreen({ client }: { client: ChannelClient }): ReactNode {
  const navigate = useNavigate()
  const here = useStillHere()
  const name = importDraft(client)
  const [draft, found, set, clear] = useDraft<ImportDraft>(name, () => ({ text: '', key: newKey() }))
  const [file, setFile] = useState<File>()
  const field = useRef<HTMLTextAreaElement>(null)
  const router = useRouter()
  const queries = useQueryClient()
  /** Drops the change set of an earlier check; the service refuses this for one that was applied. */
  const drop = useCallback(
    (id: number | undefined): void => {
      if (id === undefined) return
      void setsOf(client)
        .delete(id)
        .then(async () => queries.invalidateQueries({ queryKey: [client.name, 'change-sets'] }))
        .catch(() => undefined)
    },
    [client, queries],
  )
  const check = useMutation({
    mutationFn: async ({ sent, of }: { sent: ImportDraft; of: File | undefined }) => {
      keepDraft(name, { ...(draftOf<ImportDraft>(name) ?? sent), checking: sent.key })
      const csv = await csvOf(client, of ?? sent.text)
      const sets = setsOf(client)
      const made = await sets.import(csv, { key: sent.key })
      const since = draftOf<ImportDraft>(name)
      // Another check has begun, such as of another file; or the draft is gone: started over, or signed out.
      if (since?.checking !== sent.key) {
        drop(made.id)
        return made
      }
      if (sent.checked !== made.id) drop(sent.checked)
      keepDraft(name, { ...since, key: newKey(), checked: made.id, edited: since.text !== sent.text })
      return sets.wait(made)
    },
    onSuccess: ({ id, state, counts }, { sent }) => {
      const since = draftOf<ImportDraft>(name)
      if (since?.checking !== sent.key || since.checked !== id) return
      const good = state === 'ready' && counts.invalid + counts.conflict === 0
      if (!here()) announce(`The import is checked: change set ${id}.`)
      else if (good && since.edited !== true)
        void navigate({ to: '/$channel/change-sets/$id', params: { channel: client.name, id: String(id) }, search: {} })
    },
  })
  const checking = useRef(false)
  /** The change set that the person has opened, maybe in another tab. */
  const opened = useRef<number>(undefined)
  useEffect(() => {
    checking.current = check.isPending
  })
  // A finished check is dropped when the person leaves, unless for its change set. A running one is announced.
  useEffect(
    () => () => {
      const left = draftOf<ImportDraft>(name)
      const id = left?.checked
      if (checking.current || id === undefined) return
      if (opened.current === id || router.state.location.pathname.endsWith(`/change-sets/${id}`)) return
      drop(id)
      keepDraft(name, { ...left, checked: undefined, edited: undefined })
    },
    [drop, name, router],
  )
  /** Imports this file, or without one the text, from now on. The old key belongs to what was sent before. */
  const take = (taken: File | undefined): ImportDraft => {
    const next = { ...draft, key: newKey() }
    setFile(taken)
    set(next)
    return next
  }
  const type = (text: string): void => {
    check.reset()
    if (text.length <= MAX_TYPED) set({ ...draft, text, key: newKey(), edited: true })
    else {
      take(new File([text], 'pasted table'))
      announce('The table is long: it is taken as a file.')
    }
  }
  const ready = file !== undefined || draft.text.trim() !== ''
  const { checked } = draft
  return (
    <Screen title={`Import ${client.title} quotas`}>
      {found && draft.text !== '' && checked === undefined && (
        <p className="notice" role="status">
          What you typed before is still here, and not checked yet.
        </p>
      )}
      <Panel
        title="Table"
        hint="The first line names the columns. A line with an id changes that quota; one without makes a new one. Nothing is changed before you have seen what would become of it."
      >
        <form
          noValidate
          onSubmit={(event) => {
            event.preventDefault()
            if (!ready) field.current?.focus()
            else if (!check.isPending) check.mutate({ sent: draft, of: file })
          }}
        >
          {file === undefined ? (
            <Field
              label="Paste from a spreadsheet, or type"
              hint={<Understood text={draft.text} example={exampleOf(client)} />}
            >
              {(ids) => (
                <textarea
                  {...ids}
                  ref={field}
                  className="pasted"
                  rows={10}
                  spellCheck={false}
                  autoComplete="off"
                  value={draft.text}
                  onChange={(event) => type(event.target.value)}
                />
              )}
            </Field>
          ) : (
            <p>
              <b>
                <bdi>{file.name}</bdi>
              </b>{' '}
              <span className="muted">{sizeText(file.size)}</span>{' '}
              <button type="button" className="quiet" onClick={() => take(undefined)}>
                Take it away
              </button>
            </p>
          )}
          <Field label="Or choose a file" hint="CSV, at most 50 MB and 100,000 rows" className="file">
            {(ids) => (
              <input
                {...ids}
                type="file"
                accept=".csv,.tsv,.txt,text/csv"
                onChange={(event) => {
                  check.reset()
                  const [chosen] = event.target.files ?? []
                  const sent = take(chosen)
                  if (chosen !== undefined) check.mutate({ sent, of: chosen })
                  // Lets the person choose the same file again after correcting it.
                  event.target.value = ''
                }}
              />
            )}
          </Field>
          {check.error !== null && <Failure error={check.error} />}
          <div className="actions">
            <button type="submit" className="primary" aria-disabled={check.isPending || !ready}>
              {check.isPending ? 'Checking…' : 'Check'}
            </button>
            {(draft.text !== '' || checked !== undefined) && (
              <button
                type="button"
                onClick={() => {
                  drop(checked)
                  clear()
                  check.reset()
                  field.current?.focus()
                }}
              >
                Start over
              </button>
            )}
          </div>
        </form>
        <Columns client={client} />
      </Panel>
      {checked !== undefined && !check.isPending && (
        <Checked
          key={checked}
          client={client}
          id={checked}
          edited={draft.edited === true}
          text={file === undefined ? draft.text : undefined}
          field={field}
          onOpen={() => {
            opened.current = checked
          }}
        />
      )}
    </Screen>
  )
}

/** The parsed table, before it is sent. */
function Understood({ text, example }: { text: string; example: string }): ReactNode {
  if (text.trim() === '') {
    return (
      <>
        such as <code className="sample">{example}</code>
      </>
    )
  }
  const columns = columnsOf(text)
  return (
    <output className="understood">
      = {counted(rowsOf(text), 'line')} with {counted(columns.length, 'column')}, between{' '}
      {SEPARATOR_NAMES[separatorOf(text)]}
    </output>
  )
}

function exampleOf({ Owner }: ChannelClient): string {
  return `${Owner},Type,Total,Ends,Label\n7,total,5000,2027-01-31,Spring`
}

const COLUMNS: readonly (readonly [names: string, meaning: string])[] = [
  ['id', 'the quota to change; empty: a new one'],
  ['quota_type', 'total until its end, cycle, or rolling cap; of a new one'],
  ['total', 'units'],
  ['used', 'what was used elsewhere already, of a new one; otherwise without effect'],
  ['label', 'a name for people'],
  ['status', 'active or disabled'],
  ['expire_at', 'its end, such as 2027-01-31 or 2027-01-31 18:00; never: no end'],
  [
    'cycle_unit, cycle_reset_at, cycle_time_zone',
    `of cycle quotas: one of ${UNITS.join(', ')}; the next reset; such as Europe/Berlin`,
  ],
  ['cap, window_seconds', 'of caps: limits or only watches; of rolling ones how far they look back, such as 24 hours'],
  ['thresholds', 'per cents, such as 50 80; none: no threshold'],
  ['version', 'where it is there, it must still be the quota’s'],
]

/** The names and meanings of the columns. */
function Columns({ client }: { client: ChannelClient }): ReactNode {
  const owners = client.namesPerson ? 'account_id, user_id' : 'user_id'
  const rows = [...COLUMNS.slice(0, 1), [owners, 'whose it is; of a new one'] as const, ...COLUMNS.slice(1)]
  return (
    <details>
      <summary>Columns</summary>
      <p className="hint">
        In any order, under these names or those of the fields of forms (Type, Ends …); cells hold what those fields
        take, times are in your zone ({HERE}). Columns that are not there, and cells that are empty, say nothing. A file
        that was exported has all of them: export, edit, import.
      </p>
      <dl className="columns">
        {rows.map(([names, meaning]) => (
          <div key={names}>
            <dt>
              <code>{names}</code>
            </dt>
            <dd>{meaning}</dd>
          </div>
        ))}
      </dl>
    </details>
  )
}

/** The mistakes in a checked table, line by line. */
function Checked({
  client,
  id,
  edited,
  text,
  field,
  onOpen,
}: {
  client: ChannelClient
  id: number
  edited: boolean
  /** Undefined for a file. */
  text: string | undefined
  field: RefObject<HTMLTextAreaElement | null>
  /** The link to the change set is pressed. */
  onOpen: () => void
}): ReactNode {
  const asked = useChangeSet(client, id)
  // The checked text, if it has not been edited since: otherwise line numbers may differ.
  const [checkedText] = useState(edited ? undefined : text)
  return (
    <Panel title="What was found">
      <Loaded of={asked}>
        {(set) =>
          isAtWork(set) ? (
            <p role="status">It is still being checked…</p>
          ) : (
            <>
              {edited && <p className="notice">This is of what you checked last; you have typed since.</p>}
              <Summary client={client} set={set} onOpen={onOpen} />
              {(set.state === 'failed' || set.counts.invalid + set.counts.conflict > 0) && (
                <Mistakes client={client} set={set} text={checkedText} field={field} edited={edited} />
              )}
            </>
          )
        }
      </Loaded>
    </Panel>
  )
}

function Summary({
  client,
  set: { id, state, counts },
  onOpen,
}: {
  client: ChannelClient
  set: ChangeSet
  onOpen: () => void
}): ReactNode {
  if (state === 'failed') return null
  const wrong = counts.invalid + counts.conflict
  return (
    <>
      <p>
        {countsText(counts)}.
        {wrong > 0 &&
          state === 'ready' &&
          ` Correct the lines below and check again${counts.planned > 0 ? ', or go on without them' : ''}.`}
      </p>
      {(counts.planned > 0 || wrong === 0) && (
        <p>
          <Link
            className="button"
            to="/$channel/change-sets/$id"
            params={{ channel: client.name, id: String(id) }}
            search={{}}
            onClick={onOpen}
            // In another tab: by the middle button, or its menu.
            onAuxClick={onOpen}
            onContextMenu={onOpen}
          >
            {state === 'ready' && wrong > 0 ? `Go on with the other ${amount(counts.planned)}` : `Change set ${id}`}
          </Link>
        </p>
      )}
    </>
  )
}

interface Mistake {
  readonly line: number | null
  readonly problem: { readonly code: string; readonly detail: string }
}

function Mistakes({
  client,
  set,
  text,
  field,
  edited,
}: {
  client: ChannelClient
  set: ChangeSet
  text: string | undefined
  field: RefObject<HTMLTextAreaElement | null>
  edited: boolean
}): ReactNode {
  const wrong = set.counts.invalid + set.counts.conflict
  const asked = useQuery({
    queryKey: [client.name, 'change-set', set.id, 'mistakes', set.version],
    queryFn: async ({ signal }): Promise<readonly Mistake[]> => mistakesOf(client, set, signal),
  })
  const goTo = (line: number): void => {
    const at = field.current
    if (at === null) return
    at.focus()
    at.setSelectionRange(...placeOf(at.value, line))
  }
  return (
    <Loaded of={asked}>
      {(mistakes) => (
        <>
          <ul className="mistakes" aria-label="Mistakes by line">
            {mistakes.map(({ line, problem }) => (
              <li key={line}>
                <span className="line">
                  {text !== undefined && !edited && line !== null ? (
                    <button type="button" className="quiet" onClick={() => goTo(line)}>
                      Line {line}
                    </button>
                  ) : (
                    <b>Line {line}</b>
                  )}
                </span>
                <span className="what">
                  {text !== undefined && line !== null && (
                    <code>
                      <bdi>{lineOf(text, line)}</bdi>
                    </code>
                  )}
                  <span className="field-error">
                    <span aria-hidden="true">⚠ </span>
                    <span>
                      <Why problem={problem} columns />
                    </span>
                  </span>
                </span>
              </li>
            ))}
          </ul>
          {wrong > mistakes.length && set.state !== 'failed' && (
            <p className="muted">And {amount(wrong - mistakes.length)} more; the file has all of them.</p>
          )}
          {wrong > 0 && (
            <Download
              name={`Download what is not possible (${amount(wrong)})`}
              file={async () => exportRows(client, set.id, ['invalid', 'conflict'], 'failed')}
            />
          )}
        </>
      )}
    </Loaded>
  )
}

/** The first mistakes, by line. */
async function mistakesOf(client: ChannelClient, set: ChangeSet, signal: AbortSignal): Promise<readonly Mistake[]> {
  if (set.state === 'failed' && set.problem !== undefined) {
    const { code, detail } = set.problem
    const [, line, what = detail] = /^line (\d+): (.*)$/s.exec(detail) ?? []
    return [{ line: line === undefined ? null : Number(line), problem: { code, detail: what } }]
  }
  const pages = await Promise.all(
    (['invalid', 'conflict'] as const)
      .filter((outcome) => set.counts[outcome] > 0)
      .map(async (outcome) => setsOf(client).rows(set.id, { outcome, pageSize: SHOWN }, { signal }).page()),
  )
  return pages
    .flatMap(({ items }) => items)
    .flatMap(({ line, problem }) => (problem === null ? [] : [{ line, problem }]))
    .sort((a, b) => (a.line ?? 0) - (b.line ?? 0))
    .slice(0, SHOWN)
}

/** The text of a file; browsers do not read one that has changed since it was chosen. */
async function textOf(file: File): Promise<string> {
  try {
    return await file.text()
  } catch (cause) {
    throw new Notice(
      'The file cannot be read',
      'It has changed since it was chosen, or is gone.',
      'Remove it here, and choose it again.',
      { cause },
    )
  }
}

/** What was typed, or a file, as the service reads it; a file that is so already is sent in pieces. */
async function csvOf(client: ChannelClient, given: File | string): Promise<Blob | string> {
  const isFile = typeof given !== 'string'
  if (isFile && given.size > MAX_FILE)
    throw new Notice(
      'The file is too large',
      `It has ${sizeText(given.size)}; 50 MB are taken.`,
      'Divide it, and import the parts one after the other.',
    )
  const text = isFile ? await textOf(given) : given
  // Bytes that are no text would be lost here: the service names their line.
  if (isFile && text.includes('\uFFFD')) return given
  const { csv, missing } = readTable(text, `${client.owner}_id`)
  if (missing.length > 0)
    throw new Notice(
      missing.length === 1 ? 'A column is missing' : 'Columns are missing',
      `For new quotas, the table has no ${new Intl.ListFormat('en', { type: 'disjunction' }).format(missing)}.`,
      'Add what is missing; or, to change quotas, their numbers as a column id.',
    )
  return isFile && csv === text ? given : csv
}

function sizeText(bytes: number): string {
  return bytes < 1_000_000 ? `${amount(Math.ceil(bytes / 1_000))} kB` : `${amount(Math.ceil(bytes / 1_000_000))} MB`
}
