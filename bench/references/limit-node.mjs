/** Bare node:http: reads a JSON body and answers with one. No framework can be faster on this machine. */
import { createServer } from 'node:http'

const server = createServer((request, response) => {
  const chunks = []
  request.on('data', (chunk) => chunks.push(chunk))
  request.on('end', () => {
    const { account_id, amount } = JSON.parse(Buffer.concat(chunks).toString())
    const body = JSON.stringify({ account_id, amount, remaining: 1000 })
    response.writeHead(200, ['Content-Type', 'application/json', 'Content-Length', String(Buffer.byteLength(body))])
    response.end(body)
  })
}).listen(0, '127.0.0.1', () => process.send({ port: server.address().port }))
