import { StartError } from './startup.js'

/** The exit codes of commands. */
export const EXIT = { done: 0, failed: 1, wrongArguments: 2, couldNotRun: 2, notUpToDate: 3 } as const

/** A mistake in a command's arguments. */
export class ArgumentError extends Error {}

/** Writes lines to stdout: the result of the command. */
export function tell(...lines: string[]): void {
  process.stdout.write(lines.map((line) => `${line}\n`).join(''))
}

/** Waits until the reader of stdout has taken what was told; not for one that has gone. */
export async function taken(): Promise<void> {
  const { stdout } = process
  if (!stdout.writableNeedDrain) return
  await new Promise<void>((resolve) => {
    const done = (): void => {
      stdout.off('drain', done).off('close', done)
      resolve()
    }
    stdout.on('drain', done).on('close', done)
  })
}

/**
 * Runs a command with the arguments of the process and sets the exit code.
 * @param usage printed on stderr if the arguments are wrong, on stdout if they ask for it
 * @param main returns the exit code; its errors are printed on stderr, with a stack only if the code is at fault
 * @param thrown the exit code after an error
 */
export async function command(
  usage: string,
  main: (args: string[]) => number | Promise<number>,
  thrown: number = EXIT.failed,
): Promise<void> {
  // A pipe whose reader has gone, as in `… | head`, ends no work.
  for (const stream of [process.stdout, process.stderr])
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EPIPE') throw error
    })
  const args = process.argv.slice(2)
  if (args.includes('--help') || args.includes('-h')) {
    tell(usage)
    return
  }
  try {
    process.exitCode = await main(args)
  } catch (error) {
    const { message, stack, code } = error as NodeJS.ErrnoException
    if (error instanceof ArgumentError || code?.startsWith('ERR_PARSE_ARGS') === true) {
      process.exitCode = EXIT.wrongArguments
      process.stderr.write(`${message}\n${usage}\n`)
    } else {
      process.exitCode = thrown
      process.stderr.write(`${error instanceof StartError ? message : (stack ?? message)}\n`)
    }
  }
}
