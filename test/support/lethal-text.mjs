/**
 * Ends the process as soon as it reads JSON that contains LETHAL_TEXT: `node --import` this file, with that text in the
 * environment. So a stored row ends each process that works on it, as one that exhausts its memory does.
 */
const { LETHAL_TEXT: lethal = '' } = process.env
const { parse } = JSON

JSON.parse = (text, ...more) => {
  if (lethal !== '' && String(text).includes(lethal)) process.kill(process.pid, 'SIGKILL')
  return parse(text, ...more)
}
