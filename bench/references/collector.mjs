/** A collector of traces that accepts everything and discards it. */
import { createServer } from 'node:http'

const server = createServer((request, response) => {
  request.resume()
  request.on('end', () => response.writeHead(200, { 'Content-Type': 'application/json' }).end('{}'))
})
server.listen(0, '127.0.0.1', () => process.send({ port: server.address().port }))
