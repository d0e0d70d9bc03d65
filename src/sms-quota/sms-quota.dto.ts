import { IdField } from '../http/field.decorator.js'

/** Whose SMS quotas to add up. */
export class SmsSummaryQuery {
  /** The user. */
  @IdField()
  user_id!: number
}
