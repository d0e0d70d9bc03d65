import type { QuotaClient } from '@quota-service/client'
import { readDoubts } from './doubt-file.js'
import { refundOf } from './doubts.js'
import { SettingsError } from './settings.js'
import { wordsOf } from './spending.js'

/** The maximum time of each of the two requests for a key. */
const WITHIN_MS = 10_000

const say = (text: string): boolean => process.stdout.write(`${text}\n`)

/**
 * The command `settle` without keys: prints the open doubts.
 * @throws SettingsError if there is no file of doubts
 */
export function listDoubts(folder: string | undefined): void {
  if (folder === undefined) throw new SettingsError('STATE_DIRECTORY is not set: doubts are in memory\n')
  const open = readDoubts(folder).entries.filter(({ outcome }) => outcome === undefined)
  for (const { key, account, amount, queueId, at } of open)
    say(`${key} account ${account}, ${amount} units, queue id ${queueId}, ${new Date(at).toISOString()}`)
  if (open.length === 0) say('no doubt is open')
}

/**
 * The command `settle KEY…`: refunds the operation of each key. A running connector sees that at its next look.
 * @returns the exit code: 1 if an operation was not found, or could not be refunded
 */
export async function settle(keys: readonly string[], client: QuotaClient): Promise<number> {
  let code = 0
  for (const key of keys) {
    try {
      const operation = await refundOf(client, key, () => ({ deadlineMs: WITHIN_MS }))
      if (operation === undefined) code = 1
      say(
        operation === undefined
          ? `${key}: nothing is charged under this key`
          : operation.refunded === 0
            ? `${key}: was refunded before, operation ${operation.id} of account ${operation.accountId}`
            : `${key}: refunded ${operation.refunded} of account ${operation.accountId}, operation ${operation.id}`,
      )
    } catch (error) {
      code = 1
      say(`${key}: not settled: ${wordsOf(error)}`)
    }
  }
  return code
}
