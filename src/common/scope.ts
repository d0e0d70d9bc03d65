import type { Role } from './role.js'

/** The scopes that narrow a token to one channel. */
export const CHANNEL_SCOPES = ['mail', 'sms'] as const
export type ChannelScope = (typeof CHANNEL_SCOPES)[number]

/** All scopes, in the order of display. src/auth/access-rule.ts defines what each admits. */
export const SCOPES = [...CHANNEL_SCOPES, 'own'] as const

/** Narrows a role: to a channel, or to the principal's own operations. */
export type Scope = (typeof SCOPES)[number]

/** The roles that a scope narrows. With another role, it would have no effect, or restrict less than it promises. */
const NARROWS: Readonly<Record<Scope, Readonly<Record<Role, boolean>>>> = {
  mail: { usage: true, service: true, admin: true, metrics: false },
  sms: { usage: true, service: true, admin: true, metrics: false },
  // A principal that may reset or delete quotas can undo what others spent, regardless of its scope for operations.
  own: { usage: true, service: false, admin: false, metrics: false },
}

/** The roles that a scope narrows, the least powerful first. */
function narrowedBy(scope: Scope): string {
  return Object.entries(NARROWS[scope])
    .filter(([, narrows]) => narrows)
    .map(([role]) => role)
    .join(', ')
}

/**
 * Reads the scopes of a role.
 * @param words as configured; usually none
 * @param role undefined if it is invalid, which is reported elsewhere
 * @returns the scopes in the order of SCOPES, undefined if there are none; or the mistake, without the words
 * themselves, which may be anything
 */
export function readScopes(
  words: readonly string[],
  role: Role | undefined,
): { readonly scopes: readonly Scope[] | undefined; readonly mistakes: readonly string[] } {
  const scopes = SCOPES.filter((scope) => words.includes(scope))
  const mistakes: string[] = []
  if (words.some((word) => !SCOPES.some((scope) => scope === word))) {
    mistakes.push(`a scope must be one of ${SCOPES.join(', ')}`)
  } else if (scopes.length < words.length) {
    mistakes.push('a scope is named twice')
  }
  if (CHANNEL_SCOPES.filter((channel) => scopes.includes(channel)).length > 1) {
    mistakes.push(`a token has one of the scopes ${CHANNEL_SCOPES.join(', ')}, or neither and with it every channel`)
  }
  if (role !== undefined) {
    for (const scope of scopes) {
      if (!NARROWS[scope][role]) {
        mistakes.push(`the scope ${scope} does not go with the role ${role}; it goes with ${narrowedBy(scope)}`)
      }
    }
  }
  return { scopes: scopes.length === 0 ? undefined : Object.freeze(scopes), mistakes }
}
