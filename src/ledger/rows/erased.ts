import { TEXT_SETTINGS } from '../../domain/settings.js'
import { storedJson } from './stored-json.js'

/** Replaces an erased request id or name. It contains brackets, so that no caller can send it. */
export const ERASED = '(erased)'

/**
 * Stored JSON without an owner's texts: those of settings become null, request ids and the owner's own names `ERASED`.
 * The record of an erasure contains none, and is returned as it is.
 * @param names of actors
 */
export function withoutTexts(json: string, names: ReadonlySet<string>): string {
  if (json === '') return json
  const parsed = JSON.parse(json, (name, value: unknown) => {
    if (typeof value !== 'string') return value
    if (TEXT_SETTINGS.has(name)) return null
    return name === 'request_id' || (name === 'actor' && names.has(value)) ? ERASED : value
  }) as { action?: unknown }
  return parsed.action === 'erase' ? json : storedJson(parsed)
}
