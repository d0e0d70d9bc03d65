import { IdField } from '../http/field.decorator.js'

/** Selects the owner of a summary. */
export class SmsSummaryQuery {
  /** Id of the user. */
  @IdField()
  user_id!: number
}
