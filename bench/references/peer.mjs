/** A common package from the registry: rate-limiter-flexible with its MySQL store behind Express. No ledger, no keys, no access check. */
import express from 'express'
import { createPool } from 'mysql2'
import { RateLimiterMySQL } from 'rate-limiter-flexible'

const uri = process.env.NAIVE_DATABASE_URL.replace(/^mariadb:/, 'mysql:')
const pool = createPool({ uri, connectionLimit: 10 })
const limiter = await new Promise((resolve, reject) => {
  const made = new RateLimiterMySQL(
    {
      storeClient: pool,
      dbName: new URL(uri).pathname.slice(1),
      tableName: 'peer',
      points: 1_000_000_000,
      duration: 86_400,
    },
    (error) => (error ? reject(error) : resolve(made)),
  )
})
const app = express()
app.disable('x-powered-by')
app.set('etag', false)
app.use(express.json())
app.post('/consume', async (request, response) => {
  const { account_id: accountId, amount } = request.body
  try {
    const { remainingPoints } = await limiter.consume(String(accountId), amount)
    response.json({ remaining: remainingPoints })
  } catch {
    response.status(409).json({ code: 'quota_exceeded' })
  }
})
const server = app.listen(0, '127.0.0.1', () => process.send({ port: server.address().port }))
