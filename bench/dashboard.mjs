/**
 * `npm run dashboard`: the panels of deploy/grafana/quota-service.json over a service with a real load, asked of a real Prometheus, drawn into
 * docs/images/dashboard.png. It fails where a panel has nothing to show. Wants `prometheus` and Chromium.
 *
 *   --seconds N   how long the load lasts, 180 by default
 *   --connector   instead, those of quota-postfix.json over two connectors for mail servers, into dashboard-postfix.png
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { chromium } from 'playwright-core'
import { parse, View } from 'vega'
import { launchOptions } from '../scripts/programs.mjs'
import { freePort, startMariaDb } from '../scripts/mariadb.mjs'
import { connectorsUnderLoad } from './mail-load.mjs'
import { endAll, load, service, TOKEN } from './processes.mjs'
import { connect, DRY, fill, OWNERS } from './store.mjs'

const { values: options } = parseArgs({
  options: { seconds: { type: 'string', default: '180' }, connector: { type: 'boolean', default: false } },
})
const SECONDS = Number(options.seconds)
const USAGE = '/api/v1/quotas/usage'
const COLOURS = ['#1f6feb', '#d97706', '#16a34a', '#9333ea', '#dc2626', '#0891b2', '#64748b', '#be185d']
const [JOB, PICTURE] = options.connector
  ? ['quota-postfix', 'docs/images/dashboard-postfix.png']
  : ['quota-service', 'docs/images/dashboard.png']
const WIDTH = 1440
const ROW = 34

/** Panels that stay empty as long as nothing goes wrong, or without an identity provider. */
const EMPTY_WHEN_WELL = [
  'Answers with 5xx',
  'Failed attempts',
  'Refused: too many requests, no valid token',
  'Closed connections',
  'Identity provider availability',
  'Refusals not counted individually',
  'Waiting writes',
]

const dashboard = JSON.parse(readFileSync(`deploy/grafana/${JOB}.json`, 'utf8'))
const folder = mkdtempSync(join(tmpdir(), 'quota-dashboard-'))
const mariadb = await startMariaDb({ args: ['--innodb-flush-log-at-trx-commit=1'] })
let prometheus
try {
  const admin = await connect(mariadb.url(''))
  await admin.query('CREATE DATABASE dashboard; USE dashboard')
  const instances = [
    await service(mariadb.url('dashboard'), { RETENTION_DAYS: '30' }),
    await service(mariadb.url('dashboard'), { RETENTION_DAYS: '30' }),
  ]
  await fill(admin)
  const connectors = options.connector ? await connectorsUnderLoad(instances, folder, SECONDS) : undefined
  const url = await startPrometheus(connectors?.ports ?? instances.map(({ port }) => port))
  process.stderr.write(`load for ${SECONDS} s\n`)
  const from = Date.now() / 1000
  await (connectors?.send() ?? Promise.all(instances.flatMap(({ port }, place) => loads(port, place))))
  const drawn = []
  const empty = []
  for (const panel of dashboard.panels) {
    const series = panel.type === 'row' ? [] : await asked(url, panel, from)
    if (panel.type !== 'row' && series.length === 0 && !EMPTY_WHEN_WELL.includes(panel.title)) empty.push(panel.title)
    drawn.push(await drawnPanel(panel, series))
  }
  await picture(drawn)
  if (empty.length > 0) throw new Error(`panels without anything to show: ${empty.join(', ')}`)
} finally {
  prometheus?.kill('SIGTERM')
  await endAll()
  await mariadb.stop()
  rmSync(folder, { recursive: true, force: true })
}

/** What callers do, in two steps: half of the time with few connections, then with more. */
function loads(port, place) {
  const send = async (kind, connections, more) => {
    const options = { token: TOKEN, owners: OWNERS, ...more }
    for (const times of [1, 2]) {
      await load({ kind, port, connections: connections * times, options, seconds: SECONDS / 2 })
    }
  }
  return [
    send('consume', 6, { path: `${USAGE}/consume` }),
    send('pair', 2, { path: USAGE }),
    send('get', 2, { path: '/api/v1/quotas/summary/{owner}' }),
    ...(place === 0
      ? [send('dry', 2, { path: `${USAGE}/consume`, ...DRY }), send('get', 1, { path: '/api/v1/quotas?page=1' })]
      : []),
  ]
}

async function startPrometheus(ports) {
  const port = await freePort()
  const config = join(folder, 'prometheus.yml')
  writeFileSync(
    config,
    JSON.stringify({
      global: { scrape_interval: '2s', scrape_timeout: '2s' },
      scrape_configs: [
        {
          job_name: JOB,
          authorization: { credentials: TOKEN },
          static_configs: [{ targets: ports.map((one) => `127.0.0.1:${one}`) }],
        },
      ],
    }),
  )
  const url = `http://127.0.0.1:${port}`
  prometheus = spawn(
    'prometheus',
    [
      `--config.file=${config}`,
      `--storage.tsdb.path=${join(folder, 'data')}`,
      `--web.listen-address=127.0.0.1:${port}`,
    ],
    { stdio: 'ignore' },
  )
  const gone = once(prometheus, 'exit').then(() => {
    throw new Error('prometheus ended')
  })
  gone.catch(() => undefined)
  for (let attempt = 0; attempt < 200; attempt += 1) {
    const ready = await fetch(`${url}/-/ready`).catch(() => undefined)
    if (ready?.ok) return url
    await Promise.race([sleep(100), gone])
  }
  throw new Error('prometheus does not get ready')
}

/** The points of a panel's expressions since the load began. */
async function asked(url, panel, from) {
  const found = []
  for (const { expr, legendFormat = '' } of panel.targets) {
    const query = expr.replaceAll('$instance', '.*').replaceAll('$channel', '.*').replaceAll('$__rate_interval', '1m')
    const parameters = new URLSearchParams({ query, start: from, end: Date.now() / 1000, step: 3 })
    const { status, data, error } = await (await fetch(`${url}/api/v1/query_range?${parameters}`)).json()
    if (status !== 'success') throw new Error(`${panel.title}: ${error}`)
    for (const { metric, values } of data.result) {
      const name = legendFormat.replace(/\{\{\s*(\w+)\s*\}\}/g, (_, label) => metric[label] ?? '')
      const points = values
        .map(([at, value]) => ({ at: (at - from) / 60, value: Number(value), name }))
        .filter(({ value }) => Number.isFinite(value))
      if (points.length > 0) found.push({ name, points })
    }
  }
  return found
}

async function drawnPanel(panel, series) {
  const { x, y, w, h } = panel.gridPos
  const box = { left: (x / 24) * WIDTH, top: y * ROW, width: (w / 24) * WIDTH, height: h * ROW }
  const { unit } = panel.fieldConfig?.defaults ?? {}
  let inner = ''
  if (panel.type === 'stat') {
    const last = series[0]?.points.at(-1)?.value
    inner = `<div class="stat">${last === undefined ? '–' : shown(last, unit)}</div>`
  } else if (panel.type === 'timeseries') {
    inner = series.length === 0 ? '<div class="none">nothing</div>' : await chart(series, unit, box)
  }
  return { ...box, title: panel.title, row: panel.type === 'row', inner }
}

async function chart(series, unit, { width, height }) {
  const names = series.map(({ name }) => name)
  const values = series.flatMap(({ points }) => points)
  const most = Math.max(...values.map(({ value }) => value))
  const columns = names.some((name) => name.length > 14) ? 2 : 4
  const specification = {
    width: width - 110,
    height: height - 124,
    padding: 6,
    autosize: { type: 'pad' },
    data: [{ name: 'points', values }],
    scales: [
      { name: 'x', type: 'linear', domain: { data: 'points', field: 'at' }, range: 'width' },
      {
        name: 'y',
        type: 'linear',
        domain: { data: 'points', field: 'value' },
        range: 'height',
        zero: true,
        nice: true,
      },
      { name: 'colour', type: 'ordinal', domain: names, range: COLOURS },
    ],
    axes: [
      { orient: 'bottom', scale: 'x', tickCount: 4, format: '.1f', title: 'min', domain: false },
      {
        orient: 'left',
        scale: 'y',
        tickCount: 4,
        grid: true,
        domain: false,
        format: unit === 'percentunit' ? '.0%' : most < 10 ? '.2~r' : '.2~s',
      },
    ],
    legends: [{ fill: 'colour', orient: 'bottom', direction: 'horizontal', columns, labelLimit: 440 / columns }],
    marks: [
      {
        type: 'group',
        from: { facet: { name: 'one', data: 'points', groupby: 'name' } },
        marks: [
          {
            type: 'line',
            from: { data: 'one' },
            encode: {
              enter: {
                x: { scale: 'x', field: 'at' },
                y: { scale: 'y', field: 'value' },
                stroke: { scale: 'colour', field: 'name' },
                strokeWidth: { value: 1.5 },
              },
            },
          },
        ],
      },
    ],
  }
  return new View(parse(specification), { renderer: 'none' }).toSVG()
}

function shown(value, unit) {
  if (unit === 's') return value < 1 ? `${(value * 1000).toFixed(1)} ms` : `${value.toFixed(1)} s`
  if (unit === 'percentunit') return `${(value * 100).toFixed(1)} %`
  return value >= 100 ? Math.round(value).toLocaleString('en') : String(Math.round(value * 100) / 100)
}

async function picture(panels) {
  const height = Math.max(...panels.map(({ top, height: own }) => top + own)) + 16
  const boxes = panels.map(
    ({ left, top, width, height: own, title, row, inner }) =>
      `<section class="${row ? 'row' : 'panel'}" style="left:${left}px;top:${top}px;width:${width - 8}px;height:${own - 8}px"><h2>${title}</h2>${inner}</section>`,
  )
  const page = `<!doctype html><meta charset="utf-8"><style>
    body { margin: 8px; background: #f4f5f5; font: 13px system-ui, sans-serif; position: relative; height: ${height}px; }
    section { position: absolute; overflow: hidden; }
    .panel { background: white; border: 1px solid #d8d9da; border-radius: 4px; }
    h2 { font-size: 13px; margin: 6px 8px 2px; }
    .row h2 { font-size: 15px; }
    .stat { font-size: 30px; text-align: center; padding-top: 22px; color: #15803d; }
    .none { text-align: center; padding-top: 80px; color: #6b7280; }
  </style>${boxes.join('')}`
  const browser = await chromium.launch(launchOptions())
  try {
    const view = await browser.newPage({ viewport: { width: WIDTH + 16, height: Math.ceil(height) } })
    await view.setContent(page)
    await view.screenshot({ path: PICTURE, fullPage: true })
  } finally {
    await browser.close()
  }
}
