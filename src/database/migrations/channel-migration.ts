import type { MigrationInterface, QueryRunner } from 'typeorm'

/** A channel, as migrations know it. */
export interface MigratedChannel {
  /** The prefix of its tables' names. */
  readonly prefix: string
  /** The column of its quotas that names the owner. */
  readonly ownerColumn: string
  /** A second, optional owner that quotas can be listed by. */
  readonly userColumn?: string
}

/**
 * The channels that exist since the first release. Never extend this list, since released migrations depend on it: a
 * migration after a third channel has a constructor with a default of its own.
 */
export const FIRST_CHANNELS: readonly MigratedChannel[] = [
  { prefix: 'mail', ownerColumn: 'account_id', userColumn: 'user_id' },
  { prefix: 'sms', ownerColumn: 'user_id' },
]

/**
 * A migration that changes the tables of every channel alike, and can be repeated for a channel that is added later.
 */
export abstract class ChannelMigration implements MigrationInterface {
  /** @param channels only `NewChannelMigration` passes them; TypeORM passes none */
  constructor(protected readonly channels: readonly MigratedChannel[] = FIRST_CHANNELS) {}

  abstract up(runner: QueryRunner): Promise<void>
  abstract down(runner: QueryRunner): Promise<void>
}
