import { AsyncLocalStorage } from 'node:async_hooks'
import { it as plain } from '@jest/globals'

interface Scope {
  over: boolean
}

const scopes = new AsyncLocalStorage<Scope>()
let current: Scope | undefined

/**
 * A test that exceeds its time limit continues to run, although Jest has begun the next one. This stops it before it
 * uses what tests share.
 */
export function stopIfOver(): void {
  if (scopes.getStore()?.over === true) throw new Error('this test took too long, and the next one has begun')
}

type TestFunction = (...values: never[]) => Promise<void>

function scoped(test: TestFunction): TestFunction {
  return async (...values) => {
    if (current !== undefined) current.over = true
    const scope = { over: false }
    current = scope
    await scopes.run(scope, async () => test(...values))
  }
}

/**
 * Jest's `it`, for tests that share an application, a clock or an owner: it registers them for `stopIfOver`, which the
 * application and the clock call.
 */
export const it = Object.assign(
  (name: string, test: TestFunction, timeout?: number): void => {
    plain(name, scoped(test), timeout)
  },
  {
    each: ((table: readonly never[]) => (name: string, test: TestFunction, timeout?: number) => {
      plain.each(table)(name, scoped(test) as never, timeout)
    }) as unknown as (typeof plain)['each'],
  },
)
