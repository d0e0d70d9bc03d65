import { Column, PrimaryColumn } from 'typeorm'
import { INSTANT, unicode } from '../../database/column.js'
import type { Instant } from '../../time/instant.js'

/** A caller who has spent in a channel: under whose keys a message may have gone out. */
export abstract class CallerRow {
  /** Whom the keys belong to; compared by bytes. */
  @PrimaryColumn(unicode(64))
  id!: string

  /** For finding (`storedName`); another one's name may be the same. */
  @Column(unicode(64))
  name!: string

  /** A use of the channel on the last UTC day on which there was one. */
  @Column({ ...INSTANT, name: 'spent_at' })
  spentAt!: Instant
}
