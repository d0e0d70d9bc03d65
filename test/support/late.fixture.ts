import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect } from '@jest/globals'
import { TestClock } from './clock.js'
import { it } from './scoped.js'

/** Two tests on one clock; the first exceeds its time limit. Only harness.slow-spec.ts runs it. */
describe('late', () => {
  const clock = new TestClock()

  it('takes too long and goes on running', async () => {
    await sleep(300)
    clock.pass(60)
  }, 100)

  it('has the clock to itself', async () => {
    const began = clock.now()
    await sleep(1_000)
    expect(clock.now()).toBe(began)
  })
})
