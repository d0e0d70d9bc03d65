import { PRINCIPAL_SOURCES, type PrincipalSource } from '../auth/principal.js'
import { ResponseChoice, ResponseInstant, ResponseSchema, ResponseText } from '../http/field.decorator.js'
import { type Role, ROLES } from '../role/role.js'
import { type Scope, SCOPES } from '../role/scope.js'

/** Whose token it is. */
export class MeDto {
  /** What a change calls its actor: the token's name, or `oidc:` and the name that the identity provider tells. */
  @ResponseText({ example: 'boss' })
  name!: string

  /** What it may do. */
  @ResponseChoice(ROLES, { example: 'admin' })
  role!: Role

  /**
   * What narrows the role: to a channel, to operations that this name made, or to both. Where nothing does it is empty if an identity provider is
   * configured, else absent.
   */
  @ResponseSchema(
    { type: 'array', items: { type: 'string', enum: [...SCOPES] } },
    { optional: true, example: ['mail', 'own'] },
  )
  scopes?: readonly Scope[]

  /** When the token ends; null where it has no end. There where an identity provider is configured, as is `source`. */
  @ResponseInstant({ nullable: true, optional: true, example: null })
  expires_at?: string | null

  /** Where the token comes from: the service's own list, or the identity provider. */
  @ResponseChoice(PRINCIPAL_SOURCES, { optional: true, example: 'token' })
  source?: PrincipalSource
}
