import { StartError } from './startup.js'

/** How a command ended, as its exit code. */
export const EXIT = { done: 0, failed: 1, wrongArguments: 2, couldNotRun: 2, notUpToDate: 3 } as const

/** What is wrong with a command's arguments. */
export class ArgumentError extends Error {}

/** Writes lines to stdout: what the command was asked for. */
export function tell(...lines: string[]): void {
  process.stdout.write(lines.map((line) => `${line}\n`).join(''))
}

/**
 * Runs a command on the arguments of the process and sets the exit code.
 * @param usage told on stderr where the arguments are wrong
 * @param main answers the exit code; what it throws is told on stderr, with a stack only where something in the code is
 *   wrong
 * @param thrown the exit code where it throws
 */
export async function command(
  usage: string,
  main: (args: string[]) => number | Promise<number>,
  thrown: number = EXIT.failed,
): Promise<void> {
  try {
    process.exitCode = await main(process.argv.slice(2))
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
