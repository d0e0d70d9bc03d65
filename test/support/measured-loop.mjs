/**
 * Reports how long a process holds its event loop: `node --import` this file, with HELD_LOOP_FILE in the environment.
 * Each line of that file is the process, when a hold ended, in milliseconds since 1970, and how long the thread computed
 * during it, in milliseconds: time on a processor alone, so that a busy machine does not count.
 *
 * With SHIFT_FILE, the service's clock is ahead of its store by the milliseconds that this file contains.
 */
import { appendFileSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

const EVERY_MS = 5
const REPORTED_MS = 20

const { HELD_LOOP_FILE: heldFile, SHIFT_FILE: shiftFile } = process.env
const schedule = `/proc/self/task/${process.pid}/schedstat`
const computedMs = () => Number(readFileSync(schedule, 'latin1').split(' ', 1)[0]) / 1e6

if (heldFile !== undefined) {
  let before = computedMs()
  setInterval(() => {
    const now = computedMs()
    if (now - before > REPORTED_MS)
      appendFileSync(heldFile, `${process.pid} ${Date.now()} ${(now - before).toFixed(1)}\n`)
    before = computedMs()
  }, EVERY_MS).unref()
}

if (shiftFile !== undefined) {
  const { StoreClock } = await import(pathToFileURL(join(process.cwd(), 'dist/src/database/store-clock.js')).href)
  const { FollowedClock } = await import(pathToFileURL(join(process.cwd(), 'dist/src/common/followed-clock.js')).href)
  const { now } = FollowedClock.prototype
  let readAt = -Infinity
  let shift = 0
  StoreClock.prototype.now = function shiftedNow() {
    if (performance.now() - readAt > 5) {
      shift = Number(readFileSync(shiftFile, 'latin1'))
      readAt = performance.now()
    }
    return now.call(this) + shift
  }
}
