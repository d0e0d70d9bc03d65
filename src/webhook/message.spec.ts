import { describe, expect, it } from '@jest/globals'
import { Webhook } from 'standardwebhooks'
import type { WebhookEndpoint } from '../config/webhook-endpoints.js'
import type { EventView } from '../ledger/store/new-event.js'
import { messageOf, signatureHeaders } from './message.js'
import { pauseAfter, readRetryAfter } from './retry.js'

const EVENT = { id: '01939f3e-5c00-7a6b-8c1d-2e3f4a5b6c7d', type: 'quota.reset', at: '2026-11-21T12:00:00.000Z' }

describe('a message', () => {
  it('is signed by each secret, as the specification says', () => {
    const secrets = [Buffer.alloc(32, 1), Buffer.alloc(24, 2)]
    const event = { ...EVENT, label: 'Früh 💣' } as unknown as EventView
    const message = messageOf({ kind: 'webhook' } as WebhookEndpoint, {
      event,
      channel: 'mail',
      label: null,
      until: null,
    })
    const headers = signatureHeaders(secrets, message, Math.floor(Date.now() / 1000))
    for (const secret of secrets) {
      const receiver = new Webhook(secret.toString('base64'))
      expect(receiver.verify(message.body, headers)).toEqual({
        type: EVENT.type,
        timestamp: EVENT.at,
        data: { ...EVENT, label: 'Früh 💣' },
      })
    }
    expect(() => new Webhook(Buffer.alloc(32, 3).toString('base64')).verify(message.body, headers)).toThrow()
    expect(() => new Webhook(Buffer.alloc(32, 1).toString('base64')).verify(`${message.body} `, headers)).toThrow()
  })
})

describe('the next attempt', () => {
  it('comes after increasing pauses, each up to a tenth longer, nine times', () => {
    const hours = 3_600_000
    const pauses = [5_000, 300_000, 1_800_000, 2 * hours, 5 * hours, 10 * hours, 14 * hours, 20 * hours, 24 * hours]
    for (const [failed, pause] of pauses.entries()) {
      expect(pauseAfter(failed + 1, undefined, 0)).toBe(pause)
      expect(pauseAfter(failed + 1, undefined, 1)).toBe(Math.round(pause * 1.1))
    }
    expect(pauseAfter(10, undefined, 0)).toBeUndefined()
  })

  it('honours a Retry-After that is longer', () => {
    expect(pauseAfter(1, 60_000, 0)).toBe(60_000)
    expect(pauseAfter(2, 60_000, 0)).toBe(300_000)
    expect(pauseAfter(1, 1e15, 0)).toBe(31 * 86_400_000)
    const now = Date.parse('2026-11-21T12:00:00Z')
    expect(readRetryAfter('120', now)).toBe(120_000)
    for (const digits of [10, 400])
      expect(pauseAfter(1, readRetryAfter('9'.repeat(digits), now), 0)).toBe(31 * 86_400_000)
    expect(readRetryAfter('Sat, 21 Nov 2026 12:01:00 GMT', now)).toBe(60_000)
    expect(readRetryAfter('Sat, 21 Nov 2026 11:00:00 GMT', now)).toBe(0)
    for (const text of [undefined, 'soon', '-1']) expect(readRetryAfter(text, now)).toBeUndefined()
  })
})
