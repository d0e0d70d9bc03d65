import { ResponseChoice, ResponseSchema, ResponseText } from '../http/field.decorator.js'
import { type Role, ROLES } from '../role/role.js'
import { type Scope, SCOPES } from '../role/scope.js'

/** Whose token it is. */
export class MeDto {
  /** The token's name: what a change calls its actor, and whom idempotency keys belong to. */
  @ResponseText({ example: 'boss' })
  name!: string

  /** What it may do. */
  @ResponseChoice(ROLES, { example: 'admin' })
  role!: Role

  /** What narrows the role: to a channel, to operations that this name made, or to both. Absent where nothing does. */
  @ResponseSchema(
    { type: 'array', items: { type: 'string', enum: [...SCOPES] } },
    { optional: true, example: ['mail', 'own'] },
  )
  scopes?: readonly Scope[]
}
