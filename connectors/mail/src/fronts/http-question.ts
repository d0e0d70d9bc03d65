import { randomUUID } from 'node:crypto'
import type { Question } from '../core/question.js'

/** The body is no question; the message names every mistake. */
export class MalformedBody extends Error {
  override readonly name = 'MalformedBody'
}

/** The states of the form of our own. */
const STAGES: Readonly<Record<string, string>> = { rcpt: 'RCPT', data: 'DATA', end: 'END-OF-MESSAGE' }
const FIELDS = ['id', 'stage', 'login', 'sender', 'client_address', 'recipients', 'size', 'queue_id']

type Parts = Readonly<Record<string, unknown>>

/**
 * The form for plugins: a flat object. `id` names the message, so that asking again charges once; without it, a charge
 * that is not heard of is refunded.
 * @throws MalformedBody
 */
export function questionOfMessage(body: unknown): Question {
  const reader = new Reader()
  const parts = reader.object('the body', body)
  for (const name of Object.keys(parts)) if (!FIELDS.includes(name)) reader.mistakes.push(`${name} is not known`)
  const stage = reader.text('stage', parts['stage'] ?? 'end')
  const state = Object.hasOwn(STAGES, stage) ? STAGES[stage] : undefined
  if (state === undefined) reader.mistakes.push(`stage must be one of ${Object.keys(STAGES).join(', ')}`)
  const id = reader.text('id', parts['id'])
  const question = {
    state: state ?? '',
    instance: id === '' ? randomUUID() : id,
    repeats: id !== '',
    queueId: reader.text('queue_id', parts['queue_id']),
    sender: reader.text('sender', parts['sender']),
    saslUsername: reader.text('login', parts['login']),
    clientAddress: reader.text('client_address', parts['client_address']),
    recipientCount: reader.count('recipients', parts['recipients']),
    size: reader.count('size', parts['size']),
  }
  reader.finish()
  return question
}

/**
 * The form of MTA Hooks, version 1, as Stalwart sends it: decided at the stage `data`, when the message is there.
 * @throws MalformedBody
 */
export function questionOfHook(body: unknown): Question {
  const reader = new Reader()
  const { context, envelope, message } = reader.object('the body', body)
  const { stage, sasl, client, queue } = reader.object('context', context)
  const named = reader.text('context.stage', stage).toUpperCase()
  const { from, to = [] } = reader.object('envelope', envelope ?? {})
  if (named === '') reader.mistakes.push('context.stage is required')
  if (!Array.isArray(to)) reader.mistakes.push('envelope.to must be an array')
  const question = {
    state: named === 'DATA' ? 'END-OF-MESSAGE' : named,
    instance: randomUUID(),
    repeats: false,
    queueId: reader.text('context.queue.id', reader.object('context.queue', queue ?? {})['id']),
    sender: reader.text('envelope.from.address', reader.object('envelope.from', from ?? {})['address']),
    saslUsername: reader.text('context.sasl.login', reader.object('context.sasl', sasl ?? {})['login']),
    clientAddress: reader.text('context.client.ip', reader.object('context.client', client ?? {})['ip']),
    recipientCount: Array.isArray(to) ? to.length : 0,
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

  count(name: string, value: unknown): number {
    if (Number.isSafeInteger(value) && Number(value) >= 0) return Number(value)
    if (value !== undefined && value !== null) this.mistakes.push(`${name} must be an integer from 0`)
    return 0
  }

  finish(): void {
    if (this.mistakes.length > 0) throw new MalformedBody(this.mistakes.join('; '))
  }
}
