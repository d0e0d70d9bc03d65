import pino from 'pino'

export const LOG_LEVELS = ['error', 'warn', 'info', 'debug'] as const
export type LogLevel = (typeof LOG_LEVELS)[number]

/** The log: one line of JSON for each event. */
export type Log = pino.Logger

/** The maximum bytes of lines that wait for the log's reader; further lines are dropped. */
const MAX_WAITING_BYTES = 4_000_000
const FLUSH_WITHIN_MS = 500

/**
 * The log on standard output. A stopped reader does not stop the answers: lines wait up to a limit.
 * @param onDrop called for each dropped line
 */
export function openLog(level: LogLevel, onDrop: () => void): { log: Log; close: () => Promise<void> } {
  const stdout = pino.destination({ dest: 1, sync: false, maxLength: MAX_WAITING_BYTES })
  stdout.on('drop', onDrop)
  // The log has no reader any more: mail continues.
  stdout.on('error', () => undefined)
  const log = pino(
    {
      level,
      base: null,
      messageKey: 'message',
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
    },
    stdout,
  )
  const close = (): Promise<void> =>
    new Promise((resolve) => {
      setTimeout(resolve, FLUSH_WITHIN_MS)
      stdout.once('close', resolve)
      stdout.end()
    })
  return { log, close }
}
