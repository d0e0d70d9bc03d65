import { beforeAll, describe, expect } from '@jest/globals'
import { DataSource } from 'typeorm'
import { dataSourceOptions } from '../src/database/data-source-options.js'
import { TestApp } from './support/app.js'
import { MAIL_API, SMS_API } from './support/channel-api.js'
import { type Body, bodyOf } from './support/quota-api.js'
import { it } from './support/scoped.js'
import { onEveryStore, type Store, type StoreKind } from './support/store.js'

/** Defaults of a database: they hold few characters, or equate many. */
const DEFAULTS = ['latin1', 'latin2', 'ascii', 'binary', 'utf16', 'utf8mb4 COLLATE utf8mb4_general_ci']

/** Names and ids of requests that nobody has: beyond ASCII, in another case, with blanks, too long, with a wildcard. */
const NOBODY = [
  '😀',
  '屜',
  'ädmin',
  'admın',
  'Admin',
  'ADMIN',
  'admin ',
  ' admin',
  'admi%',
  'admin\u0000',
  'a'.repeat(300),
]

async function opened(kind: StoreKind, characterSet: string | undefined): Promise<Store> {
  if (characterSet === undefined) return kind.open()
  const store = await kind.openEmpty()
  const dataSource = await new DataSource(dataSourceOptions(store.config, [], 'migration')).initialize()
  await dataSource.query(`ALTER DATABASE CHARACTER SET ${characterSet}`)
  await dataSource.destroy()
  return store
}

onEveryStore('text in a database', (kind) => {
  const databases = kind.name === 'SQLite' ? [undefined] : DEFAULTS

  describe.each(databases.map((characterSet, place) => ({ characterSet, place })))('of $characterSet', (one) => {
    const { characterSet, place } = one
    // The tables of both are made by the same code: of several databases, each is tried with one of them.
    const channels = databases.length === 1 ? [MAIL_API, SMS_API] : [place % 2 === 0 ? MAIL_API : SMS_API]
    let store: Store
    let app: TestApp

    beforeAll(async () => {
      store = await opened(kind, characterSet)
      app = await TestApp.start(store)
    })

    describe.each(channels)('in the channel $name', (api) => {
      const LABEL = 'Bjöŕn Ж 🐟'
      const body = { [api.owner]: 7, quota_type: 1, total: 10, expire_at: '2099-01-01T00:00:00Z', label: LABEL }
      let made: Body
      let answer: string

      beforeAll(async () => {
        const headers = { 'X-Request-Id': 'admin' }
        const created = await app.post(api.quotas, body, { key: 'create', headers })
        made = bodyOf(201, created)
        answer = created.text
      })

      it('labels are of any script', async () => {
        expect(made.label).toBe(LABEL)
        expect((await app.post(api.quotas, body, { key: 'create' })).text).toBe(answer)
        const { items } = bodyOf(200, await app.get(`${api.quotas}/${made.id}/changes`))
        expect(items).toMatchObject([{ after: { label: LABEL } }])
        const listed = async (label: string): Promise<Body> =>
          bodyOf(200, await app.get(`${api.list}?label=${encodeURIComponent(label)}`)).total
        expect(await Promise.all(['bjöŕn ж 🐟', 'BJ', '屜', '😀'].map(listed))).toEqual([1, 1, 0, 0])
      })

      it('keys compare by bytes', async () => {
        const consume = async (key: string) => app.post(api.consume, { [api.owner]: 7, amount: 1 }, { key })
        const [first, second] = [await consume('Key-a'), await consume('KEY-A')]
        expect([first.status, second.status]).toEqual([200, 200])
        expect((await consume('Key-a')).text).toBe(first.text)
        expect((await consume('KEY-A')).text).toBe(second.text)
        expect(bodyOf(200, await app.get(api.summary(7)))).toMatchObject({ used: 2 })
      })

      it.each(['actor', 'request_id'])('what compares with %s compares by bytes', async (parameter) => {
        const changes = async (value: string, more = ''): Promise<Body> =>
          bodyOf(200, await app.get(`${api.quotas}/changes?${parameter}=${encodeURIComponent(value)}${more}`))
        const day = '&from=2026-01-01T00:00:00Z&to=2099-01-01T00:00:00Z'
        for (const more of ['', `&quota_id=${made.id}`, `&action=create${day}`]) {
          expect((await changes('admin', more)).items.map(({ id }: Body) => id)).toHaveLength(1)
          for (const value of NOBODY)
            expect([value, await changes(value, more)]).toEqual([value, { items: [], next_before: null }])
        }
      })

      it('operations belong to their sender alone', async () => {
        const key = 'own'
        const own = bodyOf(200, await app.post(api.consume, { [api.owner]: 7, amount: 1 }, { key, as: 'own-usage' }))
        bodyOf(200, await app.post(`${api.usage}/${own.id}/refund`, {}, { key: 'back', as: 'own-usage' }))
        for (const of of [`${api.owner}=7`, `quota_id=${made.id}`]) {
          const { items } = bodyOf(200, await app.get(`${api.usage}?${of}`, { as: 'own-usage' }))
          expect(items.map(({ id }: Body) => id)).toEqual([own.id])
        }
        for (const caller of NOBODY) {
          const asked = `idempotency_key=Key-a&caller=${encodeURIComponent(caller)}`
          const found = bodyOf(200, await app.get(`${api.usage}?${asked}`))
          expect([caller, found]).toEqual([caller, { items: [], next_before: null }])
        }
      })
    })
  })
})
