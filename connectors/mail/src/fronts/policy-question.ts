import type { PartReader } from '../core/listen.js'
import { Malformed, type Question } from '../core/question.js'

/** The maximum bytes of one line. The longest that Postfix sends are subjects of certificates. */
export const MAX_LINE_BYTES = 8_192
/** The maximum number of lines of one question; Postfix 3.7 sends 30. */
export const MAX_LINES = 200

const REQUEST = 'smtpd_access_policy'
const NEWLINE = 0x0a
/** The attributes that are kept; all others are ignored. */
const KEPT = new Set([
  'request',
  'protocol_state',
  'instance',
  'repeats',
  'queue_id',
  'sender',
  'sasl_username',
  'client_address',
  'recipient',
  'recipient_count',
  'size',
])

/**
 * Reads questions from the bytes of one connection (SMTPD_POLICY_README): lines `name=value`, an empty one at the end.
 * It keeps only one unfinished line and the attributes above, regardless of the input.
 */
export class QuestionReader implements PartReader<Question> {
  private rest: Buffer = Buffer.alloc(0)
  private lines = 0
  private readonly values = new Map<string, string>()

  get unfinished(): boolean {
    return this.lines > 0 || this.rest.length > 0
  }

  read(chunk: Buffer): Question[] {
    const bytes = this.rest.length === 0 ? chunk : Buffer.concat([this.rest, chunk])
    const questions: Question[] = []
    let from = 0
    for (;;) {
      const end = bytes.indexOf(NEWLINE, from)
      if ((end === -1 ? bytes.length : end) - from > MAX_LINE_BYTES)
        throw new Malformed(`a line of more than ${MAX_LINE_BYTES} bytes`)
      if (end === -1) break
      const question = this.line(bytes.toString('utf8', from, end))
      if (question !== undefined) questions.push(question)
      from = end + 1
    }
    // A copy: a slice would keep the whole larger buffer of the chunk in memory.
    this.rest = Buffer.from(bytes.subarray(from))
    return questions
  }

  private line(text: string): Question | undefined {
    if (text === '') return this.finish()
    this.lines += 1
    if (this.lines > MAX_LINES) throw new Malformed(`more than ${MAX_LINES} lines`)
    const at = text.indexOf('=')
    if (at < 1 || text.includes('\0')) throw new Malformed('a line that is no name=value')
    const name = text.slice(0, at)
    if (KEPT.has(name)) this.values.set(name, text.slice(at + 1))
    return undefined
  }

  private finish(): Question {
    const value = (name: string): string => this.values.get(name) ?? ''
    const number = (name: string): number => {
      const text = value(name) || '0'
      if (!/^\d{1,12}$/.test(text)) throw new Malformed(`a ${name} that is none`)
      return Number(text)
    }
    if (value('request') !== REQUEST) throw new Malformed(`no request=${REQUEST}`)
    if (value('protocol_state') === '') throw new Malformed('no protocol_state')
    if (!['', 'no'].includes(value('repeats'))) throw new Malformed('a repeats that is not no')
    const question = {
      state: value('protocol_state'),
      instance: value('instance'),
      // Not of Postfix, which asks again. Exim says that it does not.
      repeats: value('repeats') === '',
      queueId: value('queue_id'),
      sender: value('sender'),
      saslUsername: value('sasl_username'),
      clientAddress: value('client_address'),
      recipient: value('recipient'),
      recipientCount: number('recipient_count'),
      localCount: undefined,
      size: value('size') === '' ? undefined : number('size'),
    }
    this.lines = 0
    this.values.clear()
    return question
  }
}
