/**
 * Loaded first in an instance (`node --import`): sets its clock to the `{ offset }` that the parent sends, in milliseconds
 * from the real time, and trusts it at once. The database's time, which instances follow otherwise, cannot be moved.
 */
import { FollowedClock } from '../dist/src/common/followed-clock.js'

const real = Date.now.bind(Date)
let offset = 0
Date.now = () => real() + offset
FollowedClock.prototype.now = () => Date.now()
Object.defineProperty(FollowedClock.prototype, 'steadyForMs', { get: () => Infinity })
process.on('message', (told) => {
  offset = told.offset
  process.send({ offset })
})
// It must not keep the process alive.
process.channel?.unref()
