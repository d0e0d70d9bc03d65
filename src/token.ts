import { parseArgs } from 'node:util'
import { hashOf, newToken } from './auth/token.js'
import { ArgumentError, command, EXIT, tell } from './command.js'
import { tokenNameMistake } from './config/token-entries.js'
import { ROLES } from './common/role.js'
import { readScopes, SCOPES } from './common/scope.js'
import { SystemClock } from './common/clock.js'
import { formatInstant, parseInstant } from './common/instant.js'

const USAGE = `usage: node dist/src/token.js --name NAME --role ${ROLES.join('|')} [--scope ${SCOPES.join('|')}]… [--not-after TIME]
  Makes a token, which is shown once and stored nowhere, and its entry for AUTH_TOKENS or the file that AUTH_TOKENS_FILE names.
  Scopes narrow the role: to one channel, to operations that the name itself made, or to both.
  After TIME (like 2027-01-01T00:00:00Z) the token is refused.`

await command(USAGE, (args) => {
  const {
    name,
    role: roleText,
    scope: words = [],
    'not-after': time,
  } = parseArgs({
    args,
    options: {
      name: { type: 'string' },
      role: { type: 'string' },
      scope: { type: 'string', multiple: true },
      'not-after': { type: 'string' },
    },
  }).values
  if (name === undefined) throw new ArgumentError('--name is required: the caller that uses the token')
  const mistake = tokenNameMistake(name)
  if (mistake !== undefined) throw new ArgumentError(`--name: ${mistake}`)
  const role = ROLES.find((one) => one === roleText)
  if (role === undefined) throw new ArgumentError(`--role must be one of ${ROLES.join(', ')}`)
  const { scopes = [], mistakes } = readScopes(words, role)
  if (mistakes.length > 0) throw new ArgumentError(`--scope: ${mistakes.join('; ')}`)
  const notAfter = time === undefined ? undefined : parseInstant(time)
  if (time !== undefined && notAfter === undefined) {
    throw new ArgumentError('--not-after must be a time with its offset, like 2027-01-01T00:00:00Z')
  }
  if (notAfter !== undefined && notAfter <= new SystemClock().now()) throw new ArgumentError('--not-after has passed')
  const end = notAfter === undefined ? '' : `:${formatInstant(notAfter)}`
  const token = newToken(role)
  tell(
    'Token, shown this once, for whoever will call:',
    `  ${token}`,
    'Entry for AUTH_TOKENS, or for the file of AUTH_TOKENS_FILE, for this service:',
    `  ${name}:${[role, ...scopes].join('+')}:${hashOf(token).toString('hex')}${end}`,
  )
  return EXIT.done
})
