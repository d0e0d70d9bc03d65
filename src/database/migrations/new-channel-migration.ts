import type { MigrationInterface, QueryRunner } from 'typeorm'
import { Ledger1790000000000 } from './1790000000000-ledger.js'
import { BackOffice1795300000000 } from './1795300000000-back-office.js'
import { PlainConsumes1795400000000 } from './1795400000000-plain-consumes.js'
import { UsageTotals1795500000000 } from './1795500000000-usage-totals.js'
import { Callers1795700000000 } from './1795700000000-callers.js'
import { LedgerGate1795800000000 } from './1795800000000-ledger-gate.js'
import { RefusedAmounts1795810000000 } from './1795810000000-refused-amounts.js'
import { Caps1795830000000 } from './1795830000000-caps.js'
import { Events1795840000000 } from './1795840000000-events.js'
import { ChangeSets1795850000000 } from './1795850000000-change-sets.js'
import { Names1795860000000 } from './1795860000000-names.js'
import type { ChannelMigration, MigratedChannel } from './channel-migration.js'

type Step = new (channels: readonly MigratedChannel[]) => ChannelMigration

/**
 * The migrations up to `Names1795860000000` that give a channel its tables, oldest first. Never edit this list, since
 * released migrations of channels depend on it. After a later migration of every channel, add a list:
 * `[...UP_TO_NAMES, Later]`.
 */
export const UP_TO_NAMES: readonly Step[] = [
  Ledger1790000000000,
  BackOffice1795300000000,
  PlainConsumes1795400000000,
  UsageTotals1795500000000,
  Callers1795700000000,
  LedgerGate1795800000000,
  RefusedAmounts1795810000000,
  Caps1795830000000,
  Events1795840000000,
  ChangeSets1795850000000,
  Names1795860000000,
]

/**
 * Adds a channel: repeats for it the released migrations, which no longer change, so its tables equal those of the other
 * channels and this migration does not change either.
 */
export abstract class NewChannelMigration implements MigrationInterface {
  private readonly steps: readonly ChannelMigration[]

  /** @param steps the list of the migrations that exist when the channel is added */
  constructor(channel: MigratedChannel, steps: readonly Step[]) {
    this.steps = steps.map((Step) => new Step([channel]))
  }

  /** Each step checks what an interrupted attempt has already done. */
  async up(runner: QueryRunner): Promise<void> {
    for (const step of this.steps) await step.up(runner)
  }

  async down(runner: QueryRunner): Promise<void> {
    for (const step of [...this.steps].reverse()) await step.down(runner)
  }
}
