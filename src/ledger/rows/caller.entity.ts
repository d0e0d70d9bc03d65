import { Column, PrimaryColumn } from 'typeorm'
import { INSTANT, unicode } from '../../database/column.js'
import type { Instant } from '../../common/instant.js'

/** A caller that has spent in a channel, for look-ups of keys under all callers. */
export abstract class CallerRow {
  /** The owner of the keys; compared by bytes. */
  @PrimaryColumn(unicode(64))
  id!: string

  /** For search (`storedName`); several callers may have the same name. */
  @Column(unicode(64))
  name!: string

  /** A time on the last UTC day on which it used the channel. */
  @Column({ ...INSTANT, name: 'spent_at' })
  spentAt!: Instant
}
