import { Column, Entity, PrimaryColumn } from 'typeorm'
import type { Instant } from '../common/instant.js'
import { ascii, INSTANT, unicode } from './column.js'

/** The name of the table. */
export const INSTANCES = 'service_instance'

/** A process of the service that runs, or ran a moment ago; it writes a heartbeat every fifteen seconds. */
@Entity(INSTANCES)
export class InstanceRow {
  /** Created at its start. */
  @PrimaryColumn(ascii(36))
  id!: string

  /** For people: its host and process id. */
  @Column(unicode(128))
  name!: string

  /** The version of its release. */
  @Column(ascii(32))
  version!: string

  /** The time of its last heartbeat, by the store's clock. */
  @Column({ ...INSTANT, name: 'seen_at' })
  seenAt!: Instant
}
