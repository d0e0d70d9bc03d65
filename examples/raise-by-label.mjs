/**
 * `node examples/raise-by-label.mjs LABEL PERCENT`: raises the totals of all mail quotas with a label. It shows first what
 * would change, applies it, and reverts it. QUOTA_URL is the URL of the service, QUOTA_TOKEN a token of the role service.
 * Defaults: `Trial` and 20 per cent.
 */
import { QuotaClient } from '@quota-service/client'
import { changeSets } from '@quota-service/client/change-sets'

const { QUOTA_URL = 'http://127.0.0.1:3000', QUOTA_TOKEN = '' } = process.env
const [label = 'Trial', percent = '20'] = process.argv.slice(2)

const quota = new QuotaClient({ baseUrl: QUOTA_URL, token: QUOTA_TOKEN })
const sets = changeSets(quota.mail)

// The change set applies exactly this list of quotas, even if other quotas get the label meanwhile.
const ready = await sets.wait(
  await sets.create({ filter: { label }, change: { update: { total: { percent: Number(percent) } } } }),
)
if (ready.state === 'failed') throw new Error(ready.problem?.detail)
const { rows, planned, unchanged, invalid } = ready.counts
console.log(`${rows} quotas: ${planned} to change, ${unchanged} as they are, ${invalid} that cannot`)
for await (const { quotaId, before, after } of sets.rows(ready.id, { outcome: 'planned' }))
  console.log(`  quota ${quotaId}: ${before.total} becomes ${after.total}`)
for await (const { quotaId, problem } of sets.rows(ready.id, { outcome: 'invalid' }))
  console.log(`  quota ${quotaId}: ${problem?.detail}`)

// The call names the version and the number of rows that were read, so it cannot apply another list by mistake.
const applied = await sets.wait(await sets.apply(ready))
console.log(`${applied.counts.applied} applied, ${applied.counts.conflict} changed by somebody else meanwhile`)

const reverted = await sets.wait(await sets.revert(applied))
console.log(`${reverted.counts.reverted} put back, ${reverted.counts.kept} kept, since they were edited after that`)
