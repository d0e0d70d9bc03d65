import pino from 'pino'

export const LOG_LEVELS = ['error', 'warn', 'info', 'debug'] as const
export type LogLevel = (typeof LOG_LEVELS)[number]

/** The log: one line of JSON for each event. */
export type Log = pino.Logger

/** Bytes of lines that wait for whoever reads the log; further lines are dropped. */
const MAX_WAITING_BYTES = 4_000_000
const FLUSH_WITHIN_MS = 500

/**
 * The log on standard output. A reader that has stopped does not stop the answers: lines wait up to a limit.
 * @param onDrop told of each line that is dropped
 */
export function openLog(level: LogLevel, onDrop: () => void): { log: Log; close: () => Promise<void> } {
  const stdout = pino.destination({ dest: 1, sync: false, maxLength: MAX_WAITING_BYTES })
  stdout.on('drop', onDrop)
  // Nobody reads it any more: mail goes on.
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
