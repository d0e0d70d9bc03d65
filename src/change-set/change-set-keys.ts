import { SharedReads } from '../database/shared-reads.js'
import type { TransactionRunner } from '../database/transaction-runner.js'
import { deduplicationKeyFor } from '../ledger/store/command.js'
import type { KeysElsewhere } from '../ledger/write/ledger.js'
import type { ChangeSetStore } from './change-set-store.js'

/**
 * The keys that one channel's change sets have taken from their callers. Most callers have created none, so that their
 * keys cost no read. A caller's first change set is known at once to the instance that creates it, and to the others
 * within about a second.
 */
export class ChangeSetKeys implements KeysElsewhere {
  /** Those that have created some, with the last look-up of each. */
  private readonly creators = new Map<string, Promise<unknown>>()
  private readonly taken: SharedReads<string, boolean>

  constructor(
    private readonly store: ChangeSetStore,
    private readonly transactions: TransactionRunner,
  ) {
    this.taken = new SharedReads(async (keys) => {
      const taken = await transactions.read(async (transaction) => store.takenKeys(transaction, keys))
      return keys.map((key) => taken.has(key))
    })
  }

  /** Notes a caller that is about to create a change set. */
  note(callerId: string): void {
    if (!this.creators.has(callerId)) this.creators.set(callerId, Promise.resolve())
  }

  /** Notes those that have created change sets at other instances. */
  async look(): Promise<void> {
    for (const id of await this.transactions.read(async (transaction) => this.store.creators(transaction)))
      this.note(id)
  }

  /** Answers in the order of the calls, as the requests of a batch take effect, although it reads them in parts. */
  has(callerId: string, key: string): Promise<boolean> | undefined {
    const before = this.creators.get(callerId)
    if (before === undefined) return undefined
    const answer = Promise.all([this.taken.get(deduplicationKeyFor(callerId, key)), before]).then(
      ([isTaken]) => isTaken,
    )
    this.creators.set(
      callerId,
      answer.catch(() => undefined),
    )
    return answer
  }
}
