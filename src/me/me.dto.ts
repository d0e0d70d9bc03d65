import { PRINCIPAL_SOURCES, type PrincipalSource } from '../auth/principal.js'
import { ResponseChoice, ResponseInstant, ResponseSchema, ResponseText } from '../http/field.decorator.js'
import { type Role, ROLES } from '../common/role.js'
import { type Scope, SCOPES } from '../common/scope.js'

/** The principal of the token. */
export class MeDto {
  /** The name of the principal, as changes show it: the token's name, or `oidc:` and a name from the identity provider. */
  @ResponseText({ example: 'boss' })
  name!: string

  /** The role of the principal. */
  @ResponseChoice(ROLES, { example: 'admin' })
  role!: Role

  /** The scopes that narrow the role: to a channel, to the principal's own operations, or to both. Empty: nothing narrows it. */
  @ResponseSchema({ type: 'array', items: { type: 'string', enum: [...SCOPES] } }, { example: ['mail', 'own'] })
  scopes!: readonly Scope[]

  /** Expiry of the token; null if it does not expire. */
  @ResponseInstant({ nullable: true, example: null })
  expires_at!: string | null

  /** The origin of the token: the service's own list, or the identity provider. */
  @ResponseChoice(PRINCIPAL_SOURCES, { example: 'token' })
  source!: PrincipalSource
}
