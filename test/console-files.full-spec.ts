import { existsSync } from 'node:fs'
import { cp, readdir, readFile, rm } from 'node:fs/promises'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { beforeAll, describe, expect, it } from '@jest/globals'
import express from 'express'
import { consoleSite, siteGate } from '../src/operations/console.js'
import { TestApp } from './support/app.js'
import { opened, temporaryFolder } from './support/opened.js'
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
  assets = (await readdir(join(BUILT, 'assets'))).filter((name) => !name.endsWith('.gz'))
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

  it.each([
    ['text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8', true],
    ['text/html', true],
    ['text/html;q=0.5,*/*;q=0.1', true],
    ['text/html;q=0.5,application/json', false],
    ['application/json', false],
    ['*/*', false],
    ['', false],
    // No browser sends so long a one, and reading it may take long.
    [`text/html${',text/html'.repeat(100)}`, false],
  ])('is where / leads people: Accept %j', async (accept, leads) => {
    const answer = await ask('/', { Accept: accept })
    if (leads) expect([answer.status, answer.headers['location']]).toEqual([302, '/admin/'])
    else expect(refusal(answer)).toEqual([401, 'unauthenticated'])
    expect(refusal(await app.get('/', { headers: { Accept: accept } }).redirects(0))).toEqual(
      leads ? [302, undefined] : [404, 'route_not_found'],
    )
    expect(refusal(await off.get('/', { as: undefined, headers: { Accept: accept } }))).toEqual([
      401,
      'unauthenticated',
    ])
    const posted = await app.post('/', {}, { headers: { Accept: accept } })
    expect(refusal(posted)).toEqual([404, 'route_not_found'])
  })

  it('sends each file that the page may load, cacheable without end', async () => {
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

  it('sends each of them compressed, as the build has written it', async () => {
    for (const name of assets) {
      const path = `/admin/assets/${name}`
      const answer = await fetch(app.url + path, { headers: { 'Accept-Encoding': 'gzip' } })
      const plain = await ask(path)
      expect(await answer.text()).toBe(await readFile(join(BUILT, 'assets', name), 'utf8'))
      const told = (one: string): string | null => answer.headers.get(one)
      expect([told('content-encoding'), told('vary'), told('content-security-policy')]).toEqual([
        'gzip',
        'Accept-Encoding',
        POLICY,
      ])
      expect([told('content-type'), told('cache-control')]).toEqual([
        plain.headers['content-type'],
        plain.headers['cache-control'],
      ])
      expect(told('etag')).not.toBe(plain.headers['etag'])
      const { length } = await readFile(join(BUILT, 'assets', `${name}.gz`))
      expect(Number(told('content-length'))).toBe(length)
      expect(length).toBeLessThan(Number(plain.headers['content-length']))
    }
  })

  it('serves no other files', async () => {
    const paths = [
      `/admin/assets/${assets[0]!}.gz`,
      '/admin/assets/.',
      '/admin/assets/.htaccess',
      `/admin/assets/x/%2e%2e/${assets[0]!}`,
      `/admin/assets/${encodeURIComponent(`../assets/${assets[0]!}`)}`,
      `/admin/assets/${'x/'.repeat(4_000)}`,
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

  it('answers 304 to a browser that has the file, and HEAD without the file', async () => {
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

  it('sends it compressed to clients that accept that, with another ETag', async () => {
    const plain = await ask('/admin/')
    const answer = await fetch(`${app.url}/admin/`, { headers: { 'Accept-Encoding': 'gzip' } })
    expect(answer.headers.get('content-encoding')).toBe('gzip')
    expect(answer.headers.get('vary')).toContain('Accept-Encoding')
    // Reading so long a one may take long.
    const endless = await ask('/admin/', { 'Accept-Encoding': `gzip${',gzip'.repeat(200)}` })
    expect(endless.headers['content-encoding']).toBeUndefined()
    expect(answer.headers.get('etag')).not.toBe(plain.headers['etag'])
    expect(await answer.text()).toBe(page)
  })

  it('accepts only GET and HEAD', async () => {
    for (const method of ['post', 'put', 'delete']) {
      const answer = await app.send(method, '/admin/', { as: undefined })
      expect(refusal(answer)).toEqual([405, 'method_not_allowed'])
      expect(answer.headers['allow']).toBe('GET, HEAD')
    }
  })

  it('keeps its first load small enough', async () => {
    // The page, and all that it names itself; the screens' own parts come when they are opened.
    const named = [...page.matchAll(/\/admin\/(assets\/[^"]+)/g)].map(([, name]) => name!)
    expect(named.length).toBeGreaterThan(1)
    const sizes = await Promise.all(
      ['index.html', ...named].map(async (file) => gzipSync(await readFile(join(BUILT, file)), { level: 9 }).length),
    )
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(FIRST_LOAD_BYTES)
  })

  it('contains no inline script or style', () => {
    expect(page).not.toMatch(/<style|style=|<script(?![^>]*\bsrc=)|\son\w+=/i)
  })

  it('is one route in the metrics, whatever the path', async () => {
    await ask('/admin/metrics-one')
    await ask('/admin/assets/metrics-two.js')
    const { text } = await app.get('/metrics')
    expect(text).toContain('route="/admin/*"')
    expect(text).not.toContain('metrics-one')
    expect(text).not.toContain('metrics-two')
  })

  it('is sent as it is where the build compressed nothing, and also once a build has replaced its files', async () => {
    const folder = temporaryFolder('console-')
    await cp(BUILT, folder, { recursive: true, filter: (name) => !name.endsWith('.gz') })
    const gate = siteGate(consoleSite(folder, { provider: undefined, idleMinutes: 0, origins: () => [] }))
    const server = express()
      .use((request, response) => void gate(request, response))
      .listen(0)
    opened(() => server.close())
    const [name] = assets
    const load = async (): Promise<[number, string | null, string]> => {
      const path = `/admin/assets/${name!}`
      const answer = await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`, {
        headers: { 'Accept-Encoding': 'gzip' },
      })
      return [answer.status, answer.headers.get('content-encoding'), await answer.text()]
    }
    const sent = [200, null, await readFile(join(BUILT, 'assets', name!), 'utf8')]
    expect(await load()).toEqual(sent)
    await rm(join(folder, 'assets'), { recursive: true })
    expect(await load()).toEqual(sent)
  })

  it('answers a precondition that fails with 412, as a problem', async () => {
    const answer = await ask(`/admin/assets/${assets[0]!}`, { 'If-Match': '"other"' })
    expect([answer.status, answer.headers['content-type']]).toEqual([412, 'application/problem+json'])
    expect(answer.headers).toMatchObject({ 'cache-control': 'no-store', 'x-request-id': expect.stringMatching(/./) })
    expect(answer.body).toMatchObject({ title: 'Precondition Failed', status: 412 })
  })

  it('can be switched off: then its paths are unknown', async () => {
    for (const path of ['/admin', '/admin/', '/admin/mail', `/admin/assets/${assets[0]!}`]) {
      expect(refusal(await off.get(path, { as: undefined }))).toEqual([401, 'unauthenticated'])
      expect(refusal(await off.get(path))).toEqual([404, 'route_not_found'])
    }
  })
})
