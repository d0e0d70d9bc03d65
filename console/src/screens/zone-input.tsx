import type { ReactNode } from 'react'

const ZONES = ['UTC', ...Intl.supportedValuesOf('timeZone').filter((zone) => zone !== 'UTC')]

/** A time zone by its IANA name, with a list of those that the browser knows. */
export function ZoneInput({
  value,
  onChange,
  id,
  ...more
}: {
  value: string
  onChange: (value: string) => void
  id: string
  'aria-describedby': string | undefined
  'aria-invalid': boolean
}): ReactNode {
  return (
    <>
      <input
        id={id}
        {...more}
        list={`${id}-zones`}
        autoComplete="off"
        spellCheck={false}
        value={value}
        onChange={(event) => onChange(event.target.value)}
      />
      <datalist id={`${id}-zones`}>
        {ZONES.map((zone) => (
          <option key={zone} value={zone} />
        ))}
      </datalist>
    </>
  )
}
