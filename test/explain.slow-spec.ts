import { expect, it } from '@jest/globals'
import { runNode } from './support/command.js'
import { onEveryStore } from './support/store.js'

/** Enough that the planner of a server prefers an index to the table. */
const QUOTAS = 20_000

onEveryStore('npm run explain', (kind) => {
  it('finds that every read is by an index', async () => {
    const store = await kind.openEmpty()
    const { code, stdout } = await runNode(['bench/explain.mjs', String(QUOTAS)], {
      env: { DATABASE_URL: store.url },
    })
    expect([code, stdout.match(/^(Sorted|Full scans).*/m)]).toEqual([0, null])
    expect(stdout.split('\n').filter((line) => line.startsWith('| ')).length).toBeGreaterThan(50)
  }, 300_000)
})
