/**
 * Ends the process as soon as it prints a text: `node --import` this file, with DIES_AT in the environment. The text is
 * still printed.
 */
const { DIES_AT: text } = process.env
const write = process.stdout.write.bind(process.stdout)

process.stdout.write = (chunk, ...more) => {
  const written = write(chunk, ...more)
  if (String(chunk).includes(text)) process.kill(process.pid, 'SIGKILL')
  return written
}
