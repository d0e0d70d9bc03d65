import { useNavigate } from '@tanstack/react-router'
import { type ReactNode, useEffect, useState } from 'react'
import { flushSync } from 'react-dom'
import type { ChannelName } from './channel-client.ts'
import { Dialog } from './parts.tsx'

/** The keys that work everywhere outside a field, and their help texts. */
const KEYS: readonly (readonly [string, string])[] = [
  ['/', 'go to the search'],
  ['n', 'create a quota'],
  ['j', 'next row'],
  ['k', 'row before'],
  ['Enter', 'open the row'],
  ['Esc', 'close a dialog'],
  ['?', 'this list'],
]

/** The links of rows, between which `j` and `k` move. */
const ROWS = 'main [data-row-link]'

function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && target.matches('input, select, textarea, [contenteditable]')
}

/** Single keys, and their list. They can be switched off, for people who use speech input. */
export function Keys({ channel }: { channel: ChannelName }): ReactNode {
  const navigate = useNavigate()
  const [helping, setHelping] = useState(false)
  const [on, setOn] = useState(true)
  useEffect(() => {
    const press = (event: KeyboardEvent): void => {
      if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return
      if (!on || isTyping(event.target) || document.querySelector('dialog[open]') !== null) return
      switch (event.key) {
        case '/':
          toSearch()
          break
        case 'n':
          void navigate({ to: '/$channel/new', params: { channel }, search: {} })
          break
        case 'j':
        case 'k':
          moveFocus(event.key === 'j' ? 1 : -1)
          break
        case '?':
          setHelping(true)
          break
        default:
          return
      }
      event.preventDefault()
    }
    document.addEventListener('keydown', press)
    return () => document.removeEventListener('keydown', press)
  }, [navigate, channel, on])
  return (
    <>
      <button type="button" className="quiet" onClick={() => setHelping(true)}>
        Keys
      </button>
      {helping && (
        <Dialog title="Keys" onClose={() => setHelping(false)}>
          <dl className="keys">
            {KEYS.map(([key, does]) => (
              <div key={key}>
                <dt>
                  <kbd>{key}</kbd>
                </dt>
                <dd>{does}</dd>
              </div>
            ))}
          </dl>
          <label className="check">
            <input type="checkbox" checked={on} onChange={(event) => setOn(event.target.checked)} />
            Single keys are on
          </label>
        </Dialog>
      )}
    </>
  )
}

function toSearch(): void {
  const search = document.querySelector<HTMLInputElement>('#search')
  // On a phone, and enlarged, it is in the menu.
  if (search?.offsetParent === null) flushSync(() => document.querySelector<HTMLElement>('#menu')?.click())
  search?.focus()
}

function moveFocus(step: number): void {
  const links = [...document.querySelectorAll<HTMLElement>(ROWS)]
  const at = links.findIndex((link) => link.closest('[data-row]')?.contains(document.activeElement) === true)
  const next = at === -1 ? (step > 0 ? 0 : links.length - 1) : at + step
  links[Math.min(Math.max(next, 0), links.length - 1)]?.focus()
}
