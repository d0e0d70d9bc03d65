import { parseArgs } from 'node:util'
import { type Role, ROLES } from './auth/principal.js'
import { digestOf, newToken } from './auth/token.js'
import { tokenNameMistake } from './config/config.js'

const USAGE = `usage: npm run token -- --name NAME --role ${ROLES.join('|')}`

/** Makes a token for the arguments; what is wrong with them is thrown. */
function read(args: string[]): { name: string; role: Role } {
  const { values } = parseArgs({ args, options: { name: { type: 'string' }, role: { type: 'string' } }, strict: true })
  const { name, role: roleText } = values
  if (name === undefined) throw new Error('--name is required: who will use the token')
  const mistake = tokenNameMistake(name)
  if (mistake !== undefined) throw new Error(`--name: ${mistake}`)
  const role = ROLES.find((one) => one === roleText)
  if (role === undefined) throw new Error(`--role must be one of ${ROLES.join(', ')}`)
  return { name, role }
}

function main(args: string[]): number {
  let wanted
  try {
    wanted = read(args)
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n${USAGE}\n`)
    return 2
  }
  const { name, role } = wanted
  const token = newToken(role)
  process.stdout.write(
    [
      'Token, shown this once, for whoever will call:',
      `  ${token}`,
      'Entry for AUTH_TOKENS, for this service:',
      `  ${name}:${role}:${digestOf(token).toString('hex')}`,
      '',
    ].join('\n'),
  )
  return 0
}

process.exitCode = main(process.argv.slice(2))
