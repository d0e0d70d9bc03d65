import { expect, it } from '@jest/globals'
import type { Change, Quota } from './channel-client.ts'
import { isUndone, undoing } from './undo.ts'

const COUNT = { id: 7, follows: 3, status: 'active', total: 60, label: 'own', expireAt: null }

function quota(more: object): Quota {
  return { ...COUNT, overrides: null, follows: null, ...more } as unknown as Quota
}

function change(id: number, before: object, after: object, action = 'update'): Change {
  return { id, quotaId: 7, action, before, after } as unknown as Change
}

it('puts former values back, of an ordinary quota', () => {
  expect(undoing(change(1, { total: 40, label: 'own' }, { total: 60, label: 'x' }), quota({}))).toEqual({
    fields: ['total'],
    follow: [],
    patch: { total: 40 },
  })
})

it('lets a count follow again in what the change made its own, and in nothing else', () => {
  const made = change(1, { total: 40, overrides: ['label'] }, { total: 60, overrides: ['label', 'total'] })
  expect(undoing(made, quota({ follows: 3, overrides: ['label', 'status', 'total'] }))).toEqual({
    fields: [],
    follow: ['total'],
    patch: { overrides: ['label', 'status'] },
  })
  // It follows again already.
  expect(undoing(made, quota({ follows: 3, overrides: ['label'], total: 40 })).patch).toEqual({})
  const again = change(2, { total: 50 }, { total: 60 })
  expect(undoing(again, quota({ follows: 3, overrides: ['total'] })).patch).toEqual({ total: 50 })
})

it('makes its own again what the change gave back', () => {
  const gaveBack = change(1, { total: 90, overrides: ['total'] }, { total: 60, overrides: [] })
  expect(undoing(gaveBack, quota({ follows: 3, overrides: [] }))).toEqual({
    fields: ['total'],
    follow: [],
    patch: { total: 90 },
  })
})

it('is undone by later changes of the same quota', () => {
  const made = change(1, { total: 40, overrides: [] }, { total: 60, overrides: ['total'] })
  const sameValue = change(2, { total: 60 }, { total: 40 })
  const followed = change(3, { total: 60, overrides: ['total'] }, { total: 45, overrides: [] })
  expect(isUndone(made, [made])).toBe(false)
  expect(isUndone(made, [sameValue])).toBe(false)
  expect(isUndone(made, [followed])).toBe(true)
  expect(isUndone(change(1, { total: 40 }, { total: 60 }), [sameValue])).toBe(true)
  expect(isUndone(followed, [made])).toBe(false)
  expect(isUndone(change(1, {}, {}, 'delete'), [change(2, {}, {}, 'restore')])).toBe(true)
})
