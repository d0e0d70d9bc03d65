import { existsSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { gunzipSync, gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { TestApp } from './support/app.js'
import { refusal } from './support/quota-api.js'
import { RawClient } from './support/raw-client.js'
import { type Store, STORES } from './support/store.js'

const BUILT = join(process.cwd(), 'console/dist')
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
/** What a browser has to fetch before it can show anything, compressed. */
const FIRST_LOAD_BYTES = 180_000

let store: Store
let app: TestApp
let off: TestApp
let page: string
let assets: string[]

beforeAll(async () => {
  if (!existsSync(BUILT)) throw new Error(`${BUILT} is missing: npm run build`)
  store = await STORES[0]!.open()
  app = await TestApp.start(store)
  off = await TestApp.start(store, { env: { CONSOLE: 'false' } })
  page = await readFile(join(BUILT, 'index.html'), 'utf8')
  assets = await readdir(join(BUILT, 'assets'))
})

afterAll(async () => {
  await off.stop()
  await app.stop()
  await store.drop()
})

const ask = (path: string, headers: Record<string, string> = {}) =>
  app.get(path, { as: undefined, headers: { 'Accept-Encoding': 'identity', ...headers } })

describe('the console as files', () => {
  it('has a page for every path below, so that the address of each screen can be opened', async () => {
    for (const path of [
      '/admin/',
      '/admin/mail/quotas?status=active',
      '/admin/sms/owners/7',
      '/admin/a/%zz',
      '/admin/x.js',
    ]) {
      const answer = await ask(path)
      expect([path, answer.status, answer.text]).toEqual([path, 200, page])
      expect(answer.headers).toMatchObject({
        'content-type': 'text/html; charset=utf-8',
        'cache-control': 'no-cache',
        'content-security-policy': POLICY,
        'x-content-type-options': 'nosniff',
        'x-request-id': expect.stringMatching(/./),
      })
    }
  })

  it('is at /admin/, and says so at /admin', async () => {
    for (const path of ['/admin', '/admin?x=/admin/']) {
      const answer = await ask(path)
      expect([answer.status, answer.headers['location'], answer.headers['cache-control']]).toEqual([
        302,
        '/admin/',
        'no-store',
      ])
    }
  })

  it('sends each file that the page may load, to be kept for ever', async () => {
    expect(assets.length).toBeGreaterThan(1)
    for (const name of assets) {
      // Its name changes with what it holds.
      expect(name).toMatch(/-[\w-]{8}\.(js|css|svg)$/)
      const answer = await app
        .get(`/admin/assets/${name}`, { as: undefined, headers: { 'Accept-Encoding': 'identity' } })
        .buffer(true)
      expect(answer.status).toBe(200)
      expect(answer.headers['cache-control']).toBe('public, max-age=31536000, immutable')
      expect(answer.headers['content-type']).toMatch(/^(text\/(javascript|css); charset=utf-8|image\/svg\+xml)$/)
      expect(Number(answer.headers['content-length'])).toBe((await readFile(join(BUILT, 'assets', name))).length)
    }
  })

  it('knows no other files', async () => {
    const paths = [
      '/admin/assets',
      '/admin/assets/',
      '/admin/assets/none.js',
      '/admin/assets/..%2findex.html',
      `/admin/assets/${assets[0]!}/x`,
      '/admin/assets/%zz',
    ]
    for (const path of paths) {
      const answer = await ask(path)
      expect([path, ...refusal(answer)]).toEqual([path, 404, 'route_not_found'])
      expect(answer.headers).toMatchObject({ 'content-type': 'application/problem+json', 'cache-control': 'no-store' })
    }
    // As it is: a client of URLs would resolve the dots by itself.
    const raw = await RawClient.open(Number(new URL(app.url).port))
    raw.write('GET /admin/assets/../../../package.json HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n')
    await raw.end()
    expect(raw.answers.map(({ status }) => status)).toEqual([404])
  })

  it('answers a browser that has the very file with 304, and HEAD without the file', async () => {
    for (const path of ['/admin/', `/admin/assets/${assets[0]!}`]) {
      for (const coding of ['identity', 'gzip']) {
        const headers = { 'Accept-Encoding': coding }
        const first = await ask(path, headers)
        const again = await ask(path, { ...headers, 'If-None-Match': first.headers['etag']! })
        expect([again.status, again.text, again.headers['etag']]).toEqual([304, '', first.headers['etag']])
        expect((await ask(path, { ...headers, 'If-None-Match': '"other"' })).status).toBe(200)
        const head = await app.send('head', path, { as: undefined, headers })
        expect([head.status, head.text]).toEqual([200, undefined])
        expect(head.headers['content-length']).toBe(first.headers['content-length'])
      }
    }
  })

  it('sends it compressed to whoever takes that, under another ETag', async () => {
    const plain = await ask('/admin/')
    const answer = await fetch(`${app.url}/admin/`, { headers: { 'Accept-Encoding': 'gzip' } })
    expect(answer.headers.get('content-encoding')).toBe('gzip')
    expect(answer.headers.get('vary')).toContain('Accept-Encoding')
    expect(answer.headers.get('etag')).not.toBe(plain.headers['etag'])
    expect(await answer.text()).toBe(page)
    expect(gunzipSync(gzipSync(page)).toString()).toBe(page)
  })

  it('takes no method but GET and HEAD', async () => {
    for (const method of ['post', 'put', 'delete']) {
      const answer = await app.send(method, '/admin/', { as: undefined })
      expect(refusal(answer)).toEqual([405, 'method_not_allowed'])
      expect(answer.headers['allow']).toBe('GET, HEAD')
    }
  })

  it('fits into its first load', async () => {
    // The page, and all that it names itself; the screens' own parts come when they are opened.
    const named = [...page.matchAll(/\/admin\/(assets\/[^"]+)/g)].map(([, name]) => name!)
    expect(named.length).toBeGreaterThan(1)
    const sizes = await Promise.all(
      ['index.html', ...named].map(async (file) => gzipSync(await readFile(join(BUILT, file)), { level: 9 }).length),
    )
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(FIRST_LOAD_BYTES)
  })

  it('holds nothing that runs or is styled in the page itself', () => {
    expect(page).not.toMatch(/<style|style=|<script(?![^>]*\bsrc=)|\son\w+=/i)
  })

  it('is one route to the metrics, whatever was asked', async () => {
    await ask('/admin/metrics-one')
    await ask('/admin/assets/metrics-two.js')
    const { text } = await app.get('/metrics')
    expect(text).toContain('route="/admin/*"')
    expect(text).not.toContain('metrics-one')
    expect(text).not.toContain('metrics-two')
  })

  it('can be switched off: then its paths are as unknown as any', async () => {
    for (const path of ['/admin', '/admin/', '/admin/mail', `/admin/assets/${assets[0]!}`]) {
      expect(refusal(await off.get(path, { as: undefined }))).toEqual([401, 'unauthenticated'])
      expect(refusal(await off.get(path))).toEqual([404, 'route_not_found'])
    }
  })
})
