import { ResponseChoice, ResponseText } from '../http/field.decorator.js'
import { type Role, ROLES } from '../role/role.js'

/** Whose token it is. */
export class MeDto {
  /** The token's name: what a change calls its actor, and whom idempotency keys belong to. */
  @ResponseText({ example: 'boss' })
  name!: string

  /** What it may do. */
  @ResponseChoice(ROLES, { example: 'admin' })
  role!: Role
}
