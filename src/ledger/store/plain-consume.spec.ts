import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import type { CapCount } from '../../domain/cap.js'
import { type Act, requestColumns } from '../rows/act.entity.js'
import { capsText, MAX_CAPS_IN_TEXT } from '../rows/counted-caps.js'
import type { AnyChannel } from '../rows/channel.js'
import { storedJson } from '../rows/stored-json.js'
import { operationView } from './answers.js'
import { hashRequest } from './command.js'
import { isPlain, plainOperation, plainRow, wholeAct } from './plain-consume.js'
import type { OperationEntry } from './working-set.js'

const MAIL = { name: 'mail', subjects: [{ field: 'account_id' }] } as unknown as AnyChannel
const ID = '01939f3e-5c00-7a6b-8c1d-2e3f4a5b6c7d'
const AT = Date.parse('2026-11-21T12:00:00.123Z')

interface Paid {
  owner: number
  quotaId: number
  cycleSeq: number
  amount: number
  left: number
  at: number
  caps?: readonly CapCount[]
  wouldRefuse?: readonly number[]
}

const id = fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER })

/** As many caps as a text may hold, ids ascending, and which of them would have refused. */
const counted = fc
  .uniqueArray(fc.tuple(id, fc.oneof(fc.nat(), fc.constant(2 ** 31 - 1)), fc.boolean()), {
    selector: ([quotaId]) => quotaId,
    maxLength: MAX_CAPS_IN_TEXT,
  })
  .map((all) => all.sort(([a], [b]) => a - b))
  .map((all) => ({
    caps: all.map(([quotaId, cycleSeq]) => ({ quotaId, cycleSeq })),
    wouldRefuse: all.flatMap(([quotaId, , refuses]) => (refuses ? [quotaId] : [])),
  }))

const paid: fc.Arbitrary<Paid> = fc.record({
  owner: fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER }),
  quotaId: fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER }),
  cycleSeq: fc.nat(),
  amount: fc.integer({ min: 1, max: 10 ** 12 }),
  left: fc.integer({ min: 0, max: Number.MAX_SAFE_INTEGER }),
  at: fc.integer({ min: 0, max: Date.parse('9999-12-31T23:59:59.999Z') }),
})

/** A consume as the judge leaves it. */
function consume({ owner, quotaId, cycleSeq, amount, left, at, caps = [], wouldRefuse = [] }: Paid): {
  act: Act
  entry: OperationEntry
} {
  const entry: OperationEntry = {
    row: {
      id: ID,
      ownerId: owner,
      kind: 'consume',
      state: 'consumed',
      amount,
      charged: amount,
      refunded: 0,
      ownerRemaining: left,
      expiresAt: null,
      createdAt: at,
    },
    allocations: [{ quotaId, cycleSeq, amount }],
    caps,
    wouldRefuse,
  }
  const act: Act = {
    id: ID,
    kind: 'consume',
    ownerId: owner,
    quotaId: null,
    operationId: ID,
    caller: 'mailer',
    callerName: null,
    callerId: null,
    idempotencyKey: 'key',
    deduplicationKey: '0123456789abcdef0123456789abcdef',
    requestHash: hashRequest({ kind: 'consume', amount }, owner),
    amount,
    defaultAmount: null,
    answer: storedJson(operationView(MAIL, entry.row, entry.allocations, at, caps, wouldRefuse)),
    requestId: 'request',
    at,
  }
  return { act, entry }
}

const SOME: Paid = { owner: 7, quotaId: 12, cycleSeq: 3, amount: 5, left: 95, at: AT }

describe('a plain consume', () => {
  it('is rebuilt from its one row: the act with its answer, the operation, the allocation', () => {
    fc.assert(
      fc.property(paid, counted, (some, caps) => {
        const { act, entry } = consume({ ...some, ...caps })
        const stored = plainRow(act, entry)
        expect((stored.caps ?? '').length).toBeLessThanOrEqual(600)
        expect(stored).toMatchObject({ answer: '', requestHash: null, operationId: null })
        expect(wholeAct(MAIL, stored)).toMatchObject(act)
        const { wouldRefuse: _, ...operation } = entry
        expect(plainOperation(stored)).toEqual({ ...operation, plain: true })
      }),
    )
  })

  /** What was answered must be answered for ever, whatever a later release says of an operation. */
  it('has exactly this answer', () => {
    const { act, entry } = consume(SOME)
    expect(wholeAct(MAIL, plainRow(act, entry)).answer).toBe(
      `{"id":"${ID}","kind":"consume","state":"consumed","account_id":7,"amount":5,"charged":5,"refunded":0,` +
        '"allocations":[{"quota_id":12,"amount":5}],"owner_remaining":95,"expires_at":null,"created_at":"2026-11-21T12:00:00.123Z"}',
    )
  })

  it('lists in exactly this answer the caps that counted it, and those that would have refused it', () => {
    const caps = [9, 10, 11].map((quotaId) => ({ quotaId, cycleSeq: quotaId - 9 }))
    const { act, entry } = consume({ ...SOME, caps, wouldRefuse: [10] })
    expect(plainRow(act, entry).caps).toBe(' 9:0 10:1! 11:2')
    expect(act.answer).toContain(
      '"allocations":[{"quota_id":12,"amount":5}],"caps":[9,10,11],"would_refuse":[10],"owner_',
    )
  })

  it('is a consume that one quota paid, without a refund', () => {
    const { entry } = consume(SOME)
    const part = { quotaId: 13, cycleSeq: 0, amount: 1 }
    expect(isPlain(entry)).toBe(true)
    expect(isPlain({ ...entry, allocations: [...entry.allocations, part] })).toBe(false)
    expect(isPlain({ ...entry, row: { ...entry.row, refunded: 1 } })).toBe(false)
    expect(isPlain({ ...entry, row: { ...entry.row, kind: 'reserve', state: 'reserved' } })).toBe(false)
  })

  it('was counted by no more caps than their text holds, of the up to 64 of a chain', () => {
    const { entry } = consume(SOME)
    const caps = Array.from({ length: MAX_CAPS_IN_TEXT }, (_, n) => {
      return { quotaId: Number.MAX_SAFE_INTEGER - n, cycleSeq: 2 ** 31 - 1 }
    })
    const longest = capsText(
      caps,
      caps.map(({ quotaId }) => quotaId),
    )
    expect(longest?.length).toBe(580)
    expect(isPlain({ ...entry, caps })).toBe(true)
    expect(isPlain({ ...entry, caps: [...caps, { quotaId: 1, cycleSeq: 0 }] })).toBe(false)
  })

  it('is not any other act', () => {
    const { act } = consume(SOME)
    const none = { plainOwnerId: null, plainQuotaId: null, cycleSeq: null, ownerRemaining: null, caps: null }
    const stored = { ...act, ...requestColumns(act.requestId), ...none }
    expect(plainOperation(stored)).toBeUndefined()
    expect(wholeAct(MAIL, stored)).toMatchObject(act)
  })
})
