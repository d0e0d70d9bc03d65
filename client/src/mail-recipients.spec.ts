import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { mailRecipients } from './mail-recipients.js'

/** An address, and one way to write it. Its identity comes from the generator: nothing is parsed here. */
interface Written {
  /** The same for two spellings of one address. */
  readonly identity: string
  /** The address alone. */
  readonly bare: string
  readonly text: string
}

const atom = fc.stringMatching(/^[a-zA-Z0-9!#$%&'*+/=?^_`{|}~-]{1,8}$/)
const dotted = fc.array(atom, { minLength: 1, maxLength: 3 }).map((atoms) => atoms.join('.'))
const label = fc.stringMatching(/^[a-z][a-z0-9]{0,5}$/)
const domain = fc.array(label, { minLength: 2, maxLength: 3 }).map((labels) => labels.join('.'))
const anyCase = (text: string): fc.Arbitrary<string> =>
  fc
    .array(fc.boolean(), { minLength: text.length, maxLength: text.length })
    .map((upper) =>
      Array.from(text, (letter, index) => (upper[index] === true ? letter.toUpperCase() : letter)).join(''),
    )

const content = fc.string({
  unit: fc.constantFrom('a', 'B', ' ', '@', ',', ';', ':', '<', '>', '(', ')', '"', '\\', '.'),
})
const quoted = (text: string): string => `"${text.replace(/["\\]/g, '\\$&')}"`
const local = fc.oneof(
  { weight: 3, arbitrary: dotted.map((text) => ({ identity: text, text })) },
  { weight: 1, arbitrary: dotted.map((text) => ({ identity: text, text: quoted(text) })) },
  { weight: 1, arbitrary: content.map((text) => ({ identity: text, text: quoted(text) })) },
)
const comment = fc.oneof(
  { weight: 4, arbitrary: fc.constant('') },
  { weight: 1, arbitrary: fc.constantFrom(' (home)', ' (a, <b@c.d>)', ' (x (y) \\) z)', ' (")', '\r\n ') },
)
const address: fc.Arbitrary<Written> = fc.tuple(local, domain).chain(([before, after]) =>
  anyCase(after).map((cased) => {
    const bare = `${before.text}@${cased}`
    return { identity: `${before.identity}@${after}`, bare, text: bare }
  }),
)
const name = fc.oneof(atom, content.map(quoted), fc.constant(''))
const mailbox: fc.Arbitrary<Written> = fc.oneof(
  fc.tuple(address, comment).map(([one, after]) => ({ ...one, text: `${one.text}${after}` })),
  fc
    .tuple(address, name, comment, comment)
    .map(([one, words, before, after]) => ({ ...one, text: `${words}${before} <${one.text}>${after}` })),
)
/** A small set, so that some recur. */
const mailboxes = fc
  .array(mailbox, { minLength: 1, maxLength: 6 })
  .chain((some) => fc.array(fc.constantFrom(...some), { maxLength: 12 }))

/** Ways to pass the same recipients. */
const written = mailboxes.chain((some) =>
  fc
    .constantFrom(
      some.map(({ text }) => text),
      some.map(({ text }) => text).join(', '),
      some.map(({ text }) => ({ address: text })),
      `Team: ${some.map(({ text }) => text).join(',')};`,
      [some.map(({ text }) => text).join(' , '), []],
    )
    .map((field) => ({ field, some })),
)

describe('mailRecipients', () => {
  it('finds every address of to, cc and bcc once, as first written', () => {
    fc.assert(
      fc.property(written, written, written, (to, cc, bcc) => {
        const expected = new Map<string, string>()
        for (const { identity, bare } of [to, cc, bcc].flatMap(({ some }) => some)) {
          if (!expected.has(identity)) expected.set(identity, bare)
        }
        expect(mailRecipients({ to: to.field, cc: cc.field, bcc: bcc.field })).toEqual([...expected.values()])
      }),
      { numRuns: 1_000 },
    )
  })

  it('finds the same again in what it found', () => {
    fc.assert(
      fc.property(written, ({ field }) => {
        const found = mailRecipients({ to: field })
        expect(mailRecipients({ bcc: found })).toEqual(found)
        expect(mailRecipients({ cc: found.join(', ') })).toEqual(found)
      }),
    )
  })

  it.each([
    [{ to: 'ann@example.org' }, ['ann@example.org']],
    [
      { to: 'Ann <ann@example.org>', cc: ['bob@example.org', 'ann@EXAMPLE.org'] },
      ['ann@example.org', 'bob@example.org'],
    ],
    [{ to: '"Doe, Ann" <ann@example.org>, bob@example.org' }, ['ann@example.org', 'bob@example.org']],
    // Case is significant before the @: only the receiver knows whether it matters.
    [{ to: 'Ann@example.org, ann@example.org' }, ['Ann@example.org', 'ann@example.org']],
    [{ to: '"ann"@example.org, ann@example.org' }, ['"ann"@example.org']],
    [{ to: '"a\\nn"@example.org, ann@example.org' }, ['"a\\nn"@example.org']],
    [{ to: 'ann @ example . org (home)' }, ['ann@example.org']],
    [{ to: 'Undisclosed recipients:;' }, []],
    [
      { to: 'A: ann@example.org, bob@example.org; , eve@example.org' },
      ['ann@example.org', 'bob@example.org', 'eve@example.org'],
    ],
    [{ to: '<@relay.example,@other.example:ann@example.org>' }, ['ann@example.org']],
    [{ to: 'ann@[192.0.2.1]' }, ['ann@[192.0.2.1]']],
    [{ to: 'ann@bücher.example, ann@xn--bcher-kva.example, ann@BÜCHER.example' }, ['ann@bücher.example']],
    [{ to: '用户@例子.example' }, ['用户@例子.example']],
    [{ to: [{ address: 'ann@example.org' }, null, undefined, ''] }, ['ann@example.org']],
    [{}, []],
  ])('%#: %j', (envelope, expected) => {
    expect(mailRecipients(envelope)).toEqual(expected)
  })

  it.each([
    'ann',
    'ann@',
    '@example.org',
    'Ann ann@example.org',
    'ann@example.org bob@example.org',
    '<ann@example.org',
    'Ann <>',
    'a@b@c',
    '"ann@example.org',
    'ann@example.org (home',
    '<a@b.c> d',
    '<a@b.c><d@e.f>',
    'ann@example.org>',
  ])('refuses %j instead of counting it wrong', (to) => {
    expect(() => mailRecipients({ to })).toThrow(TypeError)
  })

  it('reads many blanks in one pass', () => {
    // In quadratic time, this would take half an hour.
    const blanks = ' '.repeat(2_000_000)
    expect(mailRecipients({ to: `ann${blanks}@${blanks}example.org` })).toEqual(['ann@example.org'])
    expect(() => mailRecipients({ to: `ann${blanks}bob@example.org` })).toThrow(TypeError)
  })

  it('reads many quotes within brackets in one pass', () => {
    // The last one has no end. In quadratic time, this would take an hour.
    const quotes = '\\"'.repeat(1_000_000)
    expect(() => mailRecipients({ to: `["${quotes}]` })).toThrow(TypeError)
  })
})
