/** Stock Express: reads a JSON body and answers with one. Commonly considered fast enough. */
import express from 'express'

const app = express()
app.use(express.json())
app.post('/json', (request, response) => {
  response.json({ account_id: request.body.account_id, amount: request.body.amount, remaining: 1000 })
})
const server = app.listen(0, '127.0.0.1', () => process.send({ port: server.address().port }))
