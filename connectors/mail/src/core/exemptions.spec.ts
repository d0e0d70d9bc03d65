import { describe, expect, it } from '@jest/globals'
import { Exemptions } from './exemptions.js'
import type { Question } from './question.js'

const question = (more: Partial<Question>): Question => ({
  state: 'END-OF-MESSAGE',
  instance: 'a1',
  repeats: true,
  queueId: '',
  sender: 'ann@example.org',
  saslUsername: 'ann',
  clientAddress: '',
  recipient: '',
  recipientCount: 1,
  localCount: undefined,
  size: 1,
  ...more,
})
const rules = (domains: string[], nullSender: 'pay' | 'pass' = 'pay'): Exemptions =>
  new Exemptions({ localDomains: new Set(domains), nullSender })
const asked = (exemptions: Exemptions, ...recipients: string[]): void => {
  for (const recipient of recipients) exemptions.note(question({ state: 'RCPT', recipient, recipientCount: 0 }))
}

describe('a local address', () => {
  const local = rules(['example.org', '.example.net', 'xn--bcher-kva.example'])

  it.each(['ann@example.org', 'ann+tag@EXAMPLE.org', 'a@mail.example.net', 'a@b.c.example.net', 'a@bücher.example'])(
    'is %s',
    (address) => expect(local.isLocal(address)).toBe(true),
  )

  it.each([
    'ann@example.com',
    'ann@example.net',
    'ann@mail.example.org',
    'ann@notexample.org',
    'ann@',
    'example.org',
    '',
    // Relayed to another server.
    'bob%elsewhere.test@example.org',
    'elsewhere.test!bob@example.org',
    '"bob@elsewhere.test"@example.org',
    '@example.org:bob@elsewhere.test',
    'bob@elsewhere.test\n@example.org',
  ])('is not %j', (address) => expect(local.isLocal(address)).toBe(false))
})

describe('the recipients that count', () => {
  it('are all, without local domains', () => {
    const all = rules([])
    asked(all, 'a@example.org')
    expect(all.countOf(question({ recipientCount: 3 }))).toBe(3)
    expect(all.countOf(question({ recipient: 'a@example.org' }))).toBe(1)
    expect(all.countOf(question({ sender: '' }))).toBe(1)
  })

  it('are those that are not local, where a front counts them', () => {
    const local = rules(['example.org'])
    expect(local.countOf(question({ recipientCount: 3, localCount: 2 }))).toBe(1)
    expect(local.countOf(question({ recipientCount: 3, localCount: 3 }))).toBe(0)
  })

  it('are those that were not seen to be local at RCPT', () => {
    const local = rules(['example.org'])
    asked(local, 'a@example.org', 'b@elsewhere.test', 'c@example.org')
    for (const state of ['DATA', 'END-OF-MESSAGE'])
      expect(local.countOf(question({ state, recipientCount: 3 }))).toBe(1)
    expect(local.countOf(question({ recipientCount: 3, instance: 'other' }))).toBe(3)
    expect([local.remembers(question({})), local.remembers(question({ instance: 'other' }))]).toEqual([true, false])
    expect(local.remembers(question({ localCount: 2 }))).toBe(false)
    // One more that was not seen.
    expect(local.countOf(question({ recipientCount: 4 }))).toBe(2)
    expect(local.countOf(question({ recipient: 'a@example.org', instance: 'other' }))).toBe(0)
    expect(local.countOf(question({ state: 'RCPT', recipient: 'a@example.org', recipientCount: 0 }))).toBe(0)
    expect(local.countOf(question({ state: 'RCPT', recipient: 'b@elsewhere.test', recipientCount: 0 }))).toBe(1)
  })

  it('are not fewer because Postfix refuses local recipients after the question', () => {
    const local = rules(['example.org'])
    asked(local, 'no-1@example.org', 'no-2@example.org', 'b@elsewhere.test', 'c@elsewhere.test')
    expect(local.countOf(question({ recipientCount: 2 }))).toBe(2)
    expect(local.countOf(question({ recipientCount: 3 }))).toBe(2)
  })

  it('are remembered for 10,000 messages, the latest', () => {
    const local = rules(['example.org'])
    for (let n = 0; n <= 10_000; n += 1)
      local.note(question({ state: 'RCPT', instance: `m${n}`, recipient: 'a@example.org' }))
    local.note(question({ state: 'RCPT', instance: 'x'.repeat(201), recipient: 'a@example.org' }))
    const counts = ['m0', 'm1', 'm10000', 'x'.repeat(201)].map((instance) =>
      local.countOf(question({ instance, recipientCount: 2 })),
    )
    expect(counts).toEqual([2, 1, 1, 2])
  })
})

describe('mail without a sender', () => {
  it('is free if so configured, but not with a login', () => {
    const free = rules([], 'pass')
    expect(free.countOf(question({ sender: '', saslUsername: '', recipientCount: 2 }))).toBe(0)
    expect(free.countOf(question({ sender: '', recipientCount: 2 }))).toBe(2)
    expect(free.countOf(question({ saslUsername: '', recipientCount: 2 }))).toBe(2)
  })
})
