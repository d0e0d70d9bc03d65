import { Column, Entity, PrimaryColumn } from 'typeorm'
import type { Instant } from '../time/instant.js'
import { ascii, INSTANT } from './column.js'

/** Its table. */
export const INSTANCES = 'service_instance'

/** A process of the service that is there, or was a moment ago; it says so every fifteen seconds. */
@Entity(INSTANCES)
export class InstanceRow {
  /** Made at its start. */
  @PrimaryColumn(ascii(36))
  id!: string

  /** For people: its host and process id. */
  @Column(ascii(128))
  name!: string

  /** Of the release that it is. */
  @Column(ascii(32))
  version!: string

  /** When it last said so, on the store's clock. */
  @Column({ ...INSTANT, name: 'seen_at' })
  seenAt!: Instant
}
