import { randomUUID } from 'node:crypto'
import { Malformed, type Question } from '../core/question.js'

/** The states of the form of our own. */
const STAGES: Readonly<Record<string, string>> = { rcpt: 'RCPT', data: 'DATA', end: 'END-OF-MESSAGE' }
/** The maximum length of an `id`. A longer string may arrive cut (`MAX_STRING_BYTES`), as another message's may. */
const MAX_ID_LENGTH = 500
const FIELDS = ['id', 'stage', 'login', 'sender', 'client_address', 'recipients', 'size', 'queue_id']

type Parts = Readonly<Record<string, unknown>>

/** Is an address of `LOCAL_DOMAINS`? */
type IsLocal = (address: string) => boolean

/**
 * The form for plugins: a flat object. `recipients` are addresses, or their number. `id` names the message, so that
 * asking again charges once; without it, a charge that is not heard of is refunded.
 * @throws Malformed
 */
export function questionOfMessage(body: unknown, isLocal: IsLocal): Question {
  const reader = new Reader()
  const parts = reader.object('the body', body)
  // The log has mistakes: a name that may be an address is not repeated.
  for (const name of Object.keys(parts))
    if (!FIELDS.includes(name)) reader.mistakes.push(`${/^\w{1,30}$/.test(name) ? name : 'a member'} is not known`)
  const stage = reader.text('stage', parts['stage'] ?? 'end')
  const state = Object.hasOwn(STAGES, stage) ? STAGES[stage] : undefined
  if (state === undefined) reader.mistakes.push(`stage must be one of ${Object.keys(STAGES).join(', ')}`)
  const id = reader.text('id', parts['id'])
  if (id.length > MAX_ID_LENGTH) reader.mistakes.push(`id must have at most ${MAX_ID_LENGTH} characters`)
  const { recipients } = parts
  const addresses = Array.isArray(recipients) ? reader.texts('recipients', recipients) : []
  const question = {
    state: state ?? '',
    instance: id === '' ? randomUUID() : id,
    repeats: id !== '',
    queueId: reader.text('queue_id', parts['queue_id']),
    sender: reader.text('sender', parts['sender']),
    saslUsername: reader.text('login', parts['login']),
    clientAddress: reader.text('client_address', parts['client_address']),
    recipient: '',
    recipientCount: Array.isArray(recipients) ? recipients.length : (reader.count('recipients', recipients) ?? 0),
    localCount: addresses.filter(isLocal).length,
    size: reader.count('size', parts['size']),
  }
  reader.finish()
  return question
}

/**
 * The form of MTA Hooks, version 1, as Stalwart sends it: decided at the stage `data`, when the message is there.
 * @throws Malformed
 */
export function questionOfHook(body: unknown, isLocal: IsLocal): Question {
  const reader = new Reader()
  const { context, envelope, message } = reader.object('the body', body)
  const { stage, sasl, client, queue } = reader.object('context', context)
  const named = reader.text('context.stage', stage).toUpperCase()
  const { from, to } = reader.object('envelope', envelope ?? {})
  if (named === '') reader.mistakes.push('context.stage is required')
  const recipients = reader.array('envelope.to', to ?? []).map((one) => reader.object('envelope.to', one)['address'])
  const question = {
    state: named === 'DATA' ? 'END-OF-MESSAGE' : named,
    instance: randomUUID(),
    repeats: false,
    queueId: reader.text('context.queue.id', reader.object('context.queue', queue ?? {})['id']),
    sender: reader.text('envelope.from.address', reader.object('envelope.from', from ?? {})['address']),
    saslUsername: reader.text('context.sasl.login', reader.object('context.sasl', sasl ?? {})['login']),
    clientAddress: reader.text('context.client.ip', reader.object('context.client', client ?? {})['ip']),
    recipient: '',
    recipientCount: recipients.length,
    localCount: reader.texts('envelope.to.address', recipients).filter(isLocal).length,
    size: reader.count('message.size', reader.object('message', message ?? {})['size']),
  }
  reader.finish()
  return question
}

/** Reads parts of a body; what is absent is empty. */
class Reader {
  readonly mistakes: string[] = []

  object(name: string, value: unknown): Parts {
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Parts
    this.mistakes.push(`${name} must be an object`)
    return {}
  }

  text(name: string, value: unknown): string {
    if (typeof value === 'string') return value
    if (value !== undefined && value !== null) this.mistakes.push(`${name} must be a string`)
    return ''
  }

  array(name: string, value: unknown): unknown[] {
    if (Array.isArray(value)) return value as unknown[]
    this.mistakes.push(`${name} must be an array`)
    return []
  }

  texts(name: string, values: readonly unknown[]): string[] {
    return values.map((value) => this.text(name, value))
  }

  count(name: string, value: unknown): number | undefined {
    if (Number.isSafeInteger(value) && Number(value) >= 0) return Number(value)
    if (value !== undefined && value !== null) this.mistakes.push(`${name} must be an integer from 0`)
    return undefined
  }

  finish(): void {
    if (this.mistakes.length > 0) throw new Malformed(this.mistakes.join('; '))
  }
}
