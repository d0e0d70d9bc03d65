/**
 * The textbook consume: bare Express and mysql2; BEGIN, SELECT … FOR UPDATE, INSERT into a ledger, UPDATE, COMMIT for each
 * request. No access check, no validation, no replay: the reference for the service.
 */
import express from 'express'
import { createPool } from 'mysql2/promise'

const pool = createPool({ uri: process.env.NAIVE_DATABASE_URL.replace(/^mariadb:/, 'mysql:'), connectionLimit: 10 })
const app = express()
app.disable('x-powered-by')
app.set('etag', false)
app.use(express.json())

app.post('/consume', async (request, response) => {
  const { account_id: accountId, amount } = request.body
  const connection = await pool.getConnection()
  try {
    await connection.query('BEGIN')
    const [[quota]] = await connection.query(
      'SELECT id, total, used FROM naive_quota WHERE account_id = ? FOR UPDATE',
      [accountId],
    )
    if (quota === undefined || quota.used + amount > quota.total) {
      await connection.query('ROLLBACK')
      response.status(409).json({ code: 'quota_exceeded' })
      return
    }
    await connection.query('INSERT INTO naive_ledger (quota_id, amount, idempotency_key) VALUES (?, ?, ?)', [
      quota.id,
      amount,
      request.headers['idempotency-key'],
    ])
    await connection.query('UPDATE naive_quota SET used = used + ? WHERE id = ?', [amount, quota.id])
    await connection.query('COMMIT')
    response.json({ quota_id: quota.id, remaining: quota.total - quota.used - amount })
  } finally {
    connection.release()
  }
})

const server = app.listen(0, '127.0.0.1', () => process.send({ port: server.address().port }))
