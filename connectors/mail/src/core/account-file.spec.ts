import { execFile } from 'node:child_process'
import { mkdtemp, open, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import pino from 'pino'
import { AccountFile, AccountTable, MAX_PATTERNS } from './account-file.js'
import { type Payer, payerOf } from './accounts.js'
import type { Question } from './question.js'

const sasl = (name: string): Payer => ({ kind: 'sasl', name })
const network = (name: string): Payer => ({ kind: 'network', name })

describe('a file of accounts', () => {
  const table = AccountTable.parse(`# who pays
ann@example.org 7
ann	8
@example.org 9
/(sales|support)-[a-z]+@example\\.net/ 10
/.*@example\\.net/ 11

192.0.2.0/24 12
192.0.2.128/25 13
192.0.2.200 14
2001:db8::/32 15
`)

  it.each([
    ['ann@example.org', 7],
    ['Ann@Example.ORG', 7],
    ['ann', 8],
    ['bob@example.org', 9],
    ['bob@sub.example.org', undefined],
    ['bob@example.org@elsewhere.test', undefined],
    ['sales-north@example.net', 10],
    ['SALES-NORTH@EXAMPLE.NET', 10],
    ['sales-1@example.net', 11],
    ['sales-north@example.net.test', undefined],
    ['192.0.2.1', undefined],
    ['', undefined],
    [`${'a'.repeat(400)}@example.org`, undefined],
  ])('maps %s to %s', async (name, account) => {
    expect(await table.find(sasl(name))).toBe(account)
    expect(await table.find({ kind: 'sender', name })).toBe(account)
  })

  it.each([
    ['192.0.2.1', 12],
    ['192.0.2.129', 13],
    ['192.0.2.200', 14],
    ['192.0.3.1', undefined],
    ['2001:db8::1', 15],
    ['2001:db9::1', undefined],
    ['unknown', undefined],
    ['ann@example.org', undefined],
  ])('maps the address %s to %s, the narrowest network first', async (name, account) => {
    expect(await table.find(network(name))).toBe(account)
  })

  it('finds a login in either form of Unicode, with its letters whole or composed', async () => {
    const names = ['J\u00f6rg@example.org', 'Jo\u0308rg@example.org']
    for (const written of names)
      for (const saslUsername of names) {
        const question = { saslUsername, sender: '', clientAddress: '' } as Question
        expect(await AccountTable.parse(`${written} 7`).find(payerOf(question, 'none'))).toBe(7)
      }
  })

  it('names every mistake with its line', () => {
    const text = 'ann 7\nann 8\nbob\nbob x\nbob 0\nbob 9007199254740992\n/(/ 1\n192.0.2.0/33 1\na b 1\n'
    expect(() => AccountTable.parse(text)).toThrow(
      /^line 2: its sender is there already; (line [3-6]: no account id at its end, after a blank; ){4}line 7: missing closing \); line 8: it is no network; line 9: it is not "SENDER ACCOUNT"$/,
    )
    expect(() => AccountTable.parse('# nobody\n')).toThrow('it names nobody')
    expect(() => AccountTable.parse('/a/ 1\n'.repeat(MAX_PATTERNS + 1))).toThrow(`more than ${MAX_PATTERNS} patterns`)
  })

  it('matches in linear time where a backtracking matcher takes for ever', async () => {
    const slow = AccountTable.parse('/(a+)+(a|aa)*$b/ 1\n'.repeat(MAX_PATTERNS))
    const begun = performance.now()
    expect(await slow.find(sasl('a'.repeat(319)))).toBeUndefined()
    expect(performance.now() - begun).toBeLessThan(2_000)
  })
})

describe('a file of accounts that changes', () => {
  let folder: string
  let path: string
  const copy = (): string => join(folder, 'state', 'accounts')
  const said: string[] = []
  const log = pino({ base: null }, { write: (line: string) => said.push(line) })

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'quota-accounts-'))
    path = join(folder, 'accounts')
    said.length = 0
    await writeFile(path, 'ann 7\n')
  })

  afterEach(async () => {
    await rm(folder, { recursive: true, force: true })
  })

  it('counts once it was seen twice', async () => {
    const file = await AccountFile.open(path, copy(), log)
    file.close()
    await writeFile(path, 'ann 70\n')
    await file.look()
    expect(await file.find(sasl('ann'))).toBe(7)
    await file.look()
    expect(await file.find(sasl('ann'))).toBe(70)
    expect(file.stale).toBe(false)
  })

  it('is followed through a link, as mounted files change', async () => {
    const link = join(folder, 'link')
    await symlink(path, link)
    const file = await AccountFile.open(link, copy(), log)
    file.close()
    await writeFile(join(folder, 'next'), 'ann 8\n')
    await symlink(join(folder, 'next'), join(folder, 'new-link'))
    await rename(join(folder, 'new-link'), link)
    await file.look()
    await file.look()
    expect(await file.find(sasl('ann'))).toBe(8)
  })

  it('is the latest, however slowly an earlier one is read', async () => {
    const [link, slow] = [join(folder, 'link'), join(folder, 'slow')]
    const linkTo = async (target: string): Promise<void> => {
      await symlink(target, `${link}.new`)
      await rename(`${link}.new`, link)
    }
    await linkTo(path)
    const file = await AccountFile.open(link, copy(), log)
    file.close()
    await promisify(execFile)('mkfifo', [slow])
    await linkTo(slow)
    const looks = [file.look(true)]
    // Opens when it is being read.
    const writer = await open(slow, 'w')
    await writeFile(path, 'ann 8\n')
    await linkTo(path)
    looks.push(file.look(true))
    // As long as a look takes that does not wait for the first one.
    ;(await AccountFile.open(link, join(folder, 'other-copy'), log)).close()
    await writer.writeFile('ann 70\n')
    await writer.close()
    await Promise.all(looks)
    expect(await file.find(sasl('ann'))).toBe(8)
  })

  it('changes nothing where it cannot be used, says so once, and is taken when it is mended', async () => {
    const file = await AccountFile.open(path, copy(), log)
    file.close()
    await writeFile(path, 'ann seven\n')
    for (let look = 0; look < 4; look += 1) await file.look()
    expect(await file.find(sasl('ann'))).toBe(7)
    expect(file.stale).toBe(true)
    expect(said.filter((line) => line.includes('no account id at'))).toHaveLength(1)
    await rm(path)
    await file.look(true)
    // What cannot be read is tried again each time.
    for (let look = 0; look < 4; look += 1) await file.look()
    expect(file.stale).toBe(true)
    expect(said.filter((line) => line.includes('ENOENT'))).toHaveLength(1)
    await writeFile(path, 'ann 9\n')
    await file.look(true)
    expect(await file.find(sasl('ann'))).toBe(9)
    expect(file.stale).toBe(false)
  })

  it.each(['ann seven\n', undefined])(
    'is refused at the start, for %j, unless there is a copy of the last good one: that is in force, loudly',
    async (text) => {
      const change = (): Promise<void> => (text === undefined ? rm(path) : writeFile(path, text))
      await writeFile(path, 'ann 7\n')
      ;(await AccountFile.open(path, copy(), log)).close()
      await writeFile(path, 'ann 8\n')
      const first = await AccountFile.open(path, copy(), log)
      first.close()
      await change()
      await first.look(true)
      const next = await AccountFile.open(path, copy(), log)
      next.close()
      expect([await next.find(sasl('ann')), next.stale]).toEqual([8, true])
      expect(said.filter((line) => line.includes('"level":50'))).toHaveLength(2)
      expect(said.at(-1)).toMatch(text === undefined ? /ENOENT/ : /line 1: /)
      await writeFile(path, 'ann 9\n')
      await next.look(true)
      expect([await next.find(sasl('ann')), next.stale]).toEqual([9, false])
      // A copy with mistakes is none.
      await change()
      await writeFile(copy(), 'bob\n')
      await expect(AccountFile.open(path, copy(), log)).rejects.toThrow(
        text === undefined ? 'ENOENT' : 'line 1: no account id',
      )
    },
  )

  it('is used as well where no copy can be made of it', async () => {
    await writeFile(join(folder, 'state'), 'no folder')
    const file = await AccountFile.open(path, copy(), log)
    file.close()
    expect([await file.find(sasl('ann')), file.stale]).toEqual([7, false])
    expect(said.at(-1)).toContain('no copy')
  })

  it('is refused at the start', async () => {
    await expect(AccountFile.open(join(folder, 'none'), copy(), log)).rejects.toThrow('ENOENT')
  })
})
