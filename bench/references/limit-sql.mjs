/**
 * The statements that the service sends for one consume, one at a time: bare Express and mysql2, with the same two
 * packets, rows and answer. No framework, no access check, no validation, no grouping: the cost of the SQL alone.
 */
import { hash } from 'node:crypto'
import express from 'express'
import { createPool } from 'mysql2/promise'
import { v7 } from 'uuid'

const uri = process.env.DATABASE_URL.replace(/^mariadb:/, 'mysql:')
const pool = createPool({ uri, connectionLimit: 10, multipleStatements: true, dateStrings: true, timezone: 'Z' })
const bytes = (id) => Buffer.from(id.replaceAll('-', ''), 'hex')
const app = express()
app.disable('x-powered-by')
app.set('etag', false)
app.use(express.json())

app.post('/consume', async (request, response) => {
  const { account_id: accountId, amount } = request.body
  const key = request.headers['idempotency-key']
  const once = hash('sha256', JSON.stringify(['key', 'bench', key]), 'buffer').subarray(0, 16)
  const connection = await pool.getConnection()
  try {
    const [[, , quotas, acts]] = await connection.query(
      'START TRANSACTION; SELECT owner_id FROM mail_owner WHERE owner_id = ? FOR UPDATE;' +
        "SELECT * FROM mail_quota WHERE account_id = ? AND deleted_at IS NULL AND state IN ('active', 'disabled') AND (expire_at IS NULL OR expire_at > NOW(3));" +
        'SELECT * FROM mail_act WHERE deduplication_key = ?',
      [accountId, accountId, once],
    )
    const paying = quotas.find(({ total, used, reserved }) => total - used - reserved >= amount)
    if (acts.length > 0 || paying === undefined) {
      await connection.query('ROLLBACK')
      response.status(409).json({ code: 'quota_exceeded' })
      return
    }
    const [id, at] = [v7(), new Date().toISOString()]
    const remaining = quotas.reduce((sum, { total, used, reserved }) => sum + total - used - reserved, -amount)
    await connection.query(
      'INSERT INTO mail_act (id, kind, owner_id, caller, idempotency_key, deduplication_key, amount, answer, request_id, at, plain_owner_id, plain_quota_id, cycle_seq, owner_remaining) ' +
        'VALUES (?); UPDATE mail_quota SET used = ? WHERE id = ?; COMMIT',
      [
        [
          bytes(id),
          'consume',
          accountId,
          'bench',
          key,
          once,
          amount,
          '',
          bytes(v7()),
          at.slice(0, 23).replace('T', ' '),
          accountId,
          paying.id,
          paying.cycle_seq,
          remaining,
        ],
        paying.used + amount,
        paying.id,
      ],
    )
    response.json({
      id,
      kind: 'consume',
      state: 'consumed',
      account_id: accountId,
      amount,
      charged: amount,
      refunded: 0,
      allocations: [{ quota_id: paying.id, amount }],
      owner_remaining: remaining,
      expires_at: null,
      created_at: at,
    })
  } finally {
    connection.release()
  }
})

const server = app.listen(0, '127.0.0.1', () => process.send({ port: server.address().port }))
