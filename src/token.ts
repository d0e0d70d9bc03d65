import { parseArgs } from 'node:util'
import { ROLES } from './role/role.js'
import { readScopes, SCOPES } from './role/scope.js'
import { hashOf, newToken } from './auth/token.js'
import { ArgumentError, command, EXIT, tell } from './command.js'
import { tokenNameMistake } from './config/config.js'

const USAGE = `usage: node dist/src/token.js --name NAME --role ${ROLES.join('|')} [--scope ${SCOPES.join('|')}]…
  Makes a token, which is shown once and stored nowhere, and its entry for AUTH_TOKENS. Scopes narrow the role: to
  one channel, to operations that the name itself made, or to both.`

await command(USAGE, (args) => {
  const { name, role: roleText, scope: words = [] } = parseArgs({
    args,
    options: { name: { type: 'string' }, role: { type: 'string' }, scope: { type: 'string', multiple: true } },
  }).values
  if (name === undefined) throw new ArgumentError('--name is required: who will use the token')
  const mistake = tokenNameMistake(name)
  if (mistake !== undefined) throw new ArgumentError(`--name: ${mistake}`)
  const role = ROLES.find((one) => one === roleText)
  if (role === undefined) throw new ArgumentError(`--role must be one of ${ROLES.join(', ')}`)
  const { scopes = [], mistakes } = readScopes(words, role)
  if (mistakes.length > 0) throw new ArgumentError(`--scope: ${mistakes.join('; ')}`)
  const token = newToken(role)
  tell(
    'Token, shown this once, for whoever will call:',
    `  ${token}`,
    'Entry for AUTH_TOKENS, for this service:',
    `  ${name}:${[role, ...scopes].join('+')}:${hashOf(token).toString('hex')}`,
  )
  return EXIT.done
})
