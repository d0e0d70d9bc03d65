import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { describe, expect, it, jest } from '@jest/globals'
import { hashOf } from '../src/auth/token.js'
import { loadConfig } from '../src/config/config.js'
import { type Ended, runNode } from './support/command.js'

// Processes one after the other, on a machine that may be busy.
jest.setTimeout(60_000)

const token = async (...args: string[]): Promise<Ended> => runNode(['dist/src/token.js', ...args])

/** The token that was printed, and its entry. */
function printed({ stdout }: Ended): [string, string] {
  const [made = '', entry = ''] = stdout.split('\n').flatMap((line) => (line.startsWith('  ') ? [line.trim()] : []))
  return [made, entry]
}

describe('the command that makes tokens', () => {
  it('prints a token and an entry that the service accepts', async () => {
    const ended = await token('--name', 'mailer', '--role', 'usage')
    const [made, entry] = printed(ended)
    expect([ended.code, ended.stderr]).toEqual([0, ''])
    expect(made).toMatch(/^qs_usage_[A-Za-z0-9_-]{43}$/)
    expect(entry).toBe(`mailer:usage:${hashOf(made).toString('hex')}`)
  })

  it('supports the role for scrapers', async () => {
    const [made, entry] = printed(await token('--name', 'prometheus', '--role', 'metrics'))
    expect([made.slice(0, 11), entry.slice(0, 19)]).toEqual(['qs_metrics_', 'prometheus:metrics:'])
  })

  it('supports scopes', async () => {
    const [made, entry] = printed(
      await token('--name', 'mailer', '--role', 'usage', '--scope', 'own', '--scope', 'mail'),
    )
    expect(entry).toBe(`mailer:usage+mail+own:${hashOf(made).toString('hex')}`)
    expect(loadConfig({ AUTH_TOKENS: entry }).tokens).toEqual([
      { name: 'mailer', role: 'usage', scopes: ['mail', 'own'], hash: hashOf(made) },
    ])
  })

  it('supports an expiry', async () => {
    const [made, entry] = printed(
      await token('--name', 'mailer', '--role', 'service', '--not-after', '2027-01-01T01:00:00+01:00'),
    )
    expect(entry).toBe(`mailer:service:${hashOf(made).toString('hex')}:2027-01-01T00:00:00.000Z`)
    expect(loadConfig({ AUTH_TOKENS: entry }).tokens).toMatchObject([{ notAfter: Date.UTC(2027, 0, 1) }])
  })

  it('ends as otherwise if nobody reads what it says', async () => {
    const child = spawn(process.execPath, ['dist/src/token.js', '--help'])
    child.stdout.destroy()
    const [said, [code]] = await Promise.all([text(child.stderr), once(child, 'close')])
    expect([code, said]).toEqual([0, ''])
  })

  it.each([
    [['--role', 'usage'], '--name is required'],
    [['--name', 'a b', '--role', 'usage'], '--name: a name must be'],
    [['--name', 'a', '--role', 'root'], '--role must be one of usage, service, admin'],
    [['--name', 'a', '--role', 'usage+own'], '--role must be one of usage, service, admin'],
    [['--name', 'a', '--role', 'usage', '--scope', 'all'], '--scope: a scope must be one of mail, sms, own'],
    [['--name', 'a', '--role', 'admin', '--scope', 'own'], '--scope: the scope own does not go with the role admin'],
    [['--name', 'a', '--role', 'usage', '--scope'], 'argument missing'],
    [['--name', 'a', '--role', 'usage', '--not-after', '2027-01-01'], '--not-after must be a time with its offset'],
    [['--name', 'a', '--role', 'usage', '--not-after', '2020-01-01T00:00:00Z'], '--not-after has passed'],
  ])('refuses %j and says how it is called', async (args, why) => {
    const { code, stdout, stderr } = await token(...args)
    expect([code, stdout]).toEqual([2, ''])
    expect(stderr).toContain(why)
    expect(stderr).toContain('usage: node dist/src/token.js --name NAME --role')
  })

  it.each(['--help', '-h'])('says with %s how it is called, and makes none', async (asked) => {
    const { code, stdout, stderr } = await token('--name', 'mailer', '--role', 'usage', asked)
    expect([code, stderr]).toEqual([0, ''])
    expect(stdout).toMatch(/^usage: node dist\/src\/token\.js --name NAME --role/)
    expect(stdout).not.toContain('qs_')
  })
})
