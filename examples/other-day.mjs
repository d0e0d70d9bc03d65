/** Before everything else of a process (`node --import`): its clock shows what the parent says, `{ offset }` in milliseconds from the real time. */
const real = Date.now.bind(Date)
let offset = 0
Date.now = () => real() + offset
process.on('message', (told) => {
  offset = told.offset
  process.send({ offset })
})
// It must not keep the process from its end.
process.channel?.unref()
