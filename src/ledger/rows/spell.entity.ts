import { Column, Index, PrimaryColumn } from 'typeorm'
import { ascii, ASCII_TEXT, INSTANT, INTEGER } from '../../database/column.js'
import type { Spell, SpellStage } from '../../domain/spell.js'
import type { Instant } from '../../common/instant.js'
import type { RefusalCode } from './refusal.entity.js'

/**
 * The last spell of an owner's refusals under one code, and what was told of it (`Spell`). It changes under its lock,
 * in the transaction that writes its events: the key decides that one instance tells.
 */
@Index(['stage', 'dueAt'])
export abstract class SpellRow implements Omit<Spell, 'next'> {
  @PrimaryColumn({ ...INTEGER, name: 'owner_id' })
  ownerId!: number

  @PrimaryColumn(ascii(16))
  code!: RefusalCode

  @Column(ascii(7))
  stage!: SpellStage

  /** The time at which something is due (`dueAt`). */
  @Column({ ...INSTANT, name: 'due_at' })
  dueAt!: Instant

  @Column(INSTANT)
  since!: Instant

  @Column({ ...INSTANT, name: 'last_at' })
  lastAt!: Instant

  @Column(INTEGER)
  count!: number

  @Column(INTEGER)
  requested!: number

  @Column({ ...INSTANT, name: 'told_day', nullable: true })
  toldDay!: Instant | null

  /** JSON (`Refusals`): refusals that begin the next spell, unless others are found between; null: none. */
  @Column({ ...ASCII_TEXT, nullable: true })
  next!: string | null
}
