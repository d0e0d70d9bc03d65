import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { Malformed, type Question } from '../core/question.js'
import { MAX_LINE_BYTES, MAX_LINES, QuestionReader } from './policy-question.js'

/** A question of Postfix 3.7 at the end of a message. */
const TEXT = `request=smtpd_access_policy
protocol_state=END-OF-MESSAGE
protocol_name=ESMTP
client_address=192.0.2.7
client_name=client.test
client_port=54321
reverse_client_name=client.test
server_address=192.0.2.1
server_port=587
helo_name=client.test
sender=ann@example.org
recipient=
recipient_count=3
queue_id=4F9D195432C
instance=1a2b.6a0b1c2d.e3f4.0
size=1234
etrn_domain=
stress=
sasl_method=PLAIN
sasl_username=ann
sasl_sender=
ccert_subject=
ccert_issuer=
ccert_fingerprint=
ccert_pubkey_fingerprint=
encryption_protocol=TLSv1.3
encryption_cipher=TLS_AES_256_GCM_SHA384
encryption_keysize=256
policy_context=

`
const QUESTION: Question = {
  state: 'END-OF-MESSAGE',
  instance: '1a2b.6a0b1c2d.e3f4.0',
  repeats: true,
  queueId: '4F9D195432C',
  sender: 'ann@example.org',
  saslUsername: 'ann',
  clientAddress: '192.0.2.7',
  recipient: '',
  recipientCount: 3,
  localCount: undefined,
  size: 1234,
}

const read = (text: string): Question[] => new QuestionReader().read(Buffer.from(text))

describe('a question', () => {
  it('is read as Postfix asks it', () => {
    expect(read(TEXT)).toEqual([QUESTION])
  })

  it('may lack what Postfix does not know, and may have what we do not', () => {
    expect(read('request=smtpd_access_policy\nprotocol_state=RCPT\nnew_attribute=a=b\n\n')).toEqual([
      {
        state: 'RCPT',
        instance: '',
        repeats: true,
        queueId: '',
        sender: '',
        saslUsername: '',
        clientAddress: '',
        recipient: '',
        recipientCount: 0,
        localCount: undefined,
        size: undefined,
      },
    ])
  })

  it('does not inherit anything from the one before', () => {
    const [, second] = read(`${TEXT}request=smtpd_access_policy\nprotocol_state=END-OF-MESSAGE\n\n`)
    expect(second).toMatchObject({ sender: '', saslUsername: '', instance: '', recipientCount: 0 })
  })

  it('comes again, unless it says that it does not', () => {
    const [question] = read(`repeats=no\n${TEXT}`)
    expect(question).toEqual({ ...QUESTION, repeats: false })
  })

  it.each([
    ['nothing', '\n'],
    ['no request', TEXT.replace('request=smtpd_access_policy\n', '')],
    ['another request', TEXT.replace('smtpd_access_policy', 'junk')],
    ['no state', TEXT.replace('protocol_state=END-OF-MESSAGE\n', '')],
    ['a line without a name', `=x\n${TEXT}`],
    ['a line without =', `GET / HTTP/1.1\r\n${TEXT}`],
    ['a zero byte', `a=\0\n${TEXT}`],
    ['a count below zero', TEXT.replace('recipient_count=3', 'recipient_count=-3')],
    ['a count that is none', TEXT.replace('recipient_count=3', 'recipient_count=3e9')],
    ['another repeats than no', `repeats=yes\n${TEXT}`],
    ['a long line', `a=${'b'.repeat(MAX_LINE_BYTES)}\n${TEXT}`],
    ['a line without an end', 'b'.repeat(MAX_LINE_BYTES + 1)],
    ['many lines', 'a=b\n'.repeat(MAX_LINES + 1)],
  ])('is not made of %s', (_, text) => {
    expect(() => read(text)).toThrow(Malformed)
  })

  it('is the same in whatever pieces it comes', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 700 }), { minLength: 1, maxLength: 60 }), (sizes) => {
        const bytes = Buffer.from(TEXT.repeat(3))
        const reader = new QuestionReader()
        const found: Question[] = []
        for (let [at, piece] = [0, 0]; at < bytes.length; piece += 1) {
          const size = sizes[piece % sizes.length]!
          found.push(...reader.read(bytes.subarray(at, at + size)))
          at += size
        }
        expect(found).toEqual([QUESTION, QUESTION, QUESTION])
        expect(reader.unfinished).toBe(false)
      }),
    )
  })

  it('says what it was given, whatever the values', () => {
    const value = fc.string({ unit: 'grapheme', maxLength: 300 }).filter((text) => !/[\n\0]/.test(text))
    fc.assert(
      fc.property(value, value, value, fc.nat(), (sender, saslUsername, instance, recipientCount) => {
        const text = `protocol_state=RCPT\nsender=${sender}\nsasl_username=${saslUsername}\ninstance=${instance}\n`
        const [question] = read(`${text}recipient_count=${recipientCount}\nrequest=smtpd_access_policy\n\n`)
        expect(question).toMatchObject({ sender, saslUsername, instance, recipientCount })
      }),
    )
  })

  it('is refused or whole, whatever the bytes', () => {
    const line = fc.oneof(
      fc.constantFrom('request=smtpd_access_policy', 'protocol_state=END-OF-MESSAGE', 'recipient_count=1', '', '='),
      fc.string({ unit: 'binary', maxLength: 50 }),
    )
    const noise = fc.oneof(
      fc.uint8Array({ maxLength: 2_000 }),
      fc.array(line, { maxLength: 60 }).map((lines) => Buffer.from(lines.join('\n'))),
    )
    fc.assert(
      fc.property(fc.array(noise, { maxLength: 8 }), (chunks) => {
        const reader = new QuestionReader()
        try {
          for (const chunk of chunks)
            for (const question of reader.read(Buffer.from(chunk))) {
              expect(question.state).not.toBe('')
              expect(Number.isSafeInteger(question.recipientCount)).toBe(true)
            }
        } catch (error) {
          expect(error).toBeInstanceOf(Malformed)
        }
      }),
      { numRuns: 2_000 },
    )
  })
})
