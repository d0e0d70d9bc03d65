import { expect, it } from '@jest/globals'
import { shared } from './readiness.js'

it('asks once in five seconds, for as many probes as there are', async () => {
  const clock = { now: 0 }
  const answers = ['the service cannot be asked', undefined]
  const ready = shared(
    async () => answers.shift(),
    () => clock.now,
  )
  expect(await Promise.all([ready(), ready()])).toEqual(Array(2).fill('the service cannot be asked'))
  clock.now = 4_999
  expect(await ready()).toBe('the service cannot be asked')
  clock.now = 5_000
  expect(await Promise.all([ready(), ready()])).toEqual([undefined, undefined])
  expect(answers).toEqual([])
})
