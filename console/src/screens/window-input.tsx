import { type ReactNode, useId } from 'react'
import { readWindow, WINDOW_UNITS, windowParts, windowText, windowTyped } from '../limits.ts'

/** The most common windows, in seconds. */
const USUAL = [3_600, 86_400, 604_800, 2_592_000] as const

/** The window of a rolling cap: a number and a unit, and buttons for common ones. */
export function WindowInput({
  typed,
  onChange,
  error,
}: {
  /** Such as `24 hour`. */
  typed: string
  onChange: (typed: string) => void
  error: string | undefined
}): ReactNode {
  const id = useId()
  const { count, unit } = windowParts(typed)
  const { mistake } = readWindow(typed)
  const wrong = count.trim() === '' ? error : (mistake ?? error)
  const units: readonly string[] = unit === 'second' ? ['second', ...WINDOW_UNITS] : WINDOW_UNITS
  return (
    <div className="field">
      <label htmlFor={id}>Window</label>
      <div className="window">
        <input
          id={id}
          inputMode="numeric"
          autoComplete="off"
          aria-describedby={`${id}-more`}
          aria-invalid={wrong !== undefined}
          value={count}
          onChange={(event) => onChange(`${event.target.value} ${unit}`)}
        />
        <select
          aria-label="Unit of the window"
          value={unit}
          onChange={(event) => onChange(`${count} ${event.target.value}`)}
        >
          {units.map((one) => (
            <option key={one} value={one}>
              {one}s
            </option>
          ))}
        </select>
      </div>
      <div id={`${id}-more`} className="hint">
        {wrong !== undefined && (
          <span className="field-error">
            <span aria-hidden="true">⚠ </span>
            {wrong}{' '}
          </span>
        )}
        how far it looks back, at every moment
      </div>
      <div className="actions presets">
        {USUAL.map((seconds) => (
          <button
            key={seconds}
            type="button"
            className="quiet"
            aria-pressed={readWindow(typed).value === seconds}
            onClick={() => onChange(windowTyped(seconds))}
          >
            {windowText(seconds)}
          </button>
        ))}
      </div>
    </div>
  )
}
