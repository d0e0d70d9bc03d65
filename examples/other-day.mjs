/**
 * Before everything else of an instance (`node --import`): its clock shows what the parent says, `{ offset }` in milliseconds from the real time, and is believed at
 * once. The database's own time, which instances follow otherwise, cannot be moved.
 */
import { FollowedClock } from '../dist/src/clock/followed-clock.js'

const real = Date.now.bind(Date)
let offset = 0
Date.now = () => real() + offset
FollowedClock.prototype.now = () => Date.now()
Object.defineProperty(FollowedClock.prototype, 'steadyForMs', { get: () => Infinity })
process.on('message', (told) => {
  offset = told.offset
  process.send({ offset })
})
// It must not keep the process from its end.
process.channel?.unref()
