/**
 * Draws the measurements of `npm run bench -- --json FILE`: `node bench/plots.mjs FILE [FOLDER]` writes SVG files;
 * default folder: docs/images.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse, View } from 'vega'

const [file, folder = 'docs/images'] = process.argv.slice(2)
if (file === undefined) throw new Error('usage: node bench/plots.mjs FILE [FOLDER]')
const measured = JSON.parse(readFileSync(file, 'utf8'))

const OWN = '#1f6feb'
const OTHER = '#8b949e'
const FIGURE = 'consume: 10,000 owners'
const BAR_NAMES = { orient: 'left', scale: 'y', labelPadding: 8, labelLimit: 260 }
const NAMES = {
  naive: 'textbook transaction',
  peer: 'rate-limiter-flexible',
  sql: 'our SQL, one by one',
  express: 'bare Express, no database',
}

const PLOTS = {
  'bench-consume.svg': consumes,
  'bench-latency.svg': latency,
  'bench-growth.svg': growth,
}

for (const [name, make] of Object.entries(PLOTS)) {
  const specification = make()
  if (specification === undefined) continue
  const view = new View(parse({ ...look(), ...specification }), { renderer: 'none' })
  writeFileSync(join(folder, name), `${await view.toSVG()}\n`)
  console.log(join(folder, name))
}

/** A white background, for dark pages. */
function look() {
  const font = 'system-ui, sans-serif'
  return {
    background: 'white',
    padding: 16,
    autosize: { type: 'pad', resize: true },
    config: {
      title: { font, fontSize: 15, anchor: 'start', offset: 12 },
      axis: {
        labelFont: font,
        labelLimit: 300,
        titleFont: font,
        labelFontSize: 12,
        titleFontSize: 12,
        gridColor: '#e6e8eb',
        domain: false,
        ticks: false,
      },
      legend: { labelFont: font, titleFont: font, labelFontSize: 12 },
      text: { font, fontSize: 12 },
    },
  }
}

function consumes() {
  const result = measured.results.find(({ name }) => name === FIGURE)
  if (result === undefined) return undefined
  const values = [
    { who: 'the service', perSecond: result.perSecond, colour: OWN },
    ...result.against.map(({ who, perSecond }) => ({ who: NAMES[who], perSecond, colour: OTHER })),
  ].sort((a, b) => b.perSecond - a.perSecond)
  return {
    ...bars(values, { of: 'who', length: 'perSecond', row: 44, padding: 0.3, fill: { field: 'colour' } }),
    width: 560,
    title: 'Requests a second: consume, 10,000 owners, 64 callers, each committed to disk',
    axes: [BAR_NAMES, { orient: 'bottom', scale: 'x', grid: true, tickCount: 5, format: ',d' }],
  }
}

function latency() {
  if (measured.curve === undefined) return undefined
  const values = measured.curve.points.flatMap(({ perSecond, connections, p50, p99 }) => [
    { perSecond, connections, part: 'p50', ms: p50 },
    { perSecond, connections, part: 'p99', ms: p99 },
  ])
  return {
    ...lines(values, 'perSecond', 'ms', 'part'),
    title: 'How long a consume takes, against how many are done: 1, 4, 16, 64 and 256 callers',
    axes: [
      { orient: 'left', scale: 'y', grid: true, title: 'ms' },
      { orient: 'bottom', scale: 'x', grid: true, title: 'consumes a second', tickCount: 6, format: ',d' },
    ],
  }
}

/** Points joined in their order, one line for each of `by`. */
function lines(values, x, y, by) {
  const place = { x: { scale: 'x', field: x }, y: { scale: 'y', field: y } }
  const colour = { scale: 'colour', field: by }
  return {
    width: 560,
    height: 280,
    data: [{ name: 'points', values }],
    scales: [
      { name: 'x', type: 'linear', domain: { data: 'points', field: x }, range: 'width', nice: true, zero: true },
      { name: 'y', type: 'log', domain: { data: 'points', field: y }, range: 'height', nice: true },
      { name: 'colour', type: 'ordinal', domain: { data: 'points', field: by }, range: [OWN, OTHER] },
    ],
    legends: [{ stroke: 'colour', orient: 'top-left', symbolType: 'stroke' }],
    marks: [
      {
        type: 'group',
        from: { facet: { name: 'line', data: 'points', groupby: by } },
        marks: [
          {
            type: 'line',
            from: { data: 'line' },
            encode: { enter: { ...place, stroke: colour, strokeWidth: { value: 2 } } },
          },
          {
            type: 'symbol',
            from: { data: 'line' },
            encode: { enter: { ...place, fill: colour, size: { value: 40 } } },
          },
        ],
      },
    ],
  }
}

function growth() {
  if (measured.growth === undefined) return undefined
  const values = measured.growth.results.map(({ name, times, goal }) => ({ name, times, goal }))
  const { marks, ...drawn } = bars(values, {
    of: 'name',
    length: 'times',
    upTo: ['times', 'goal'],
    row: 34,
    padding: 0.35,
    fill: { value: OWN },
    label: { format: '.2f', offset: -6, align: { value: 'right' }, fill: { value: 'white' } },
  })
  const goal = {
    type: 'rule',
    from: { data: 'figures' },
    encode: {
      enter: {
        y: { scale: 'y', field: 'name', offset: -4 },
        y2: { scale: 'y', field: 'name', band: 1, offset: 4 },
        x: { scale: 'x', field: 'goal' },
        stroke: { value: '#24292f' },
        strokeWidth: { value: 2 },
      },
    },
  }
  const [rects, labels] = marks
  return {
    ...drawn,
    width: 420,
    title: `p50 with ${count(measured.growth.sizes[1])}, against ${count(measured.growth.sizes[0])}`,
    axes: [BAR_NAMES, { orient: 'bottom', scale: 'x', grid: true, tickCount: 5, title: 'times; the mark is the goal' }],
    marks: [rects, goal, labels],
  }
}

/** Horizontal bars with their figures, one below the other, each `row` pixels high. */
function bars(values, { of, length, upTo = [length], row, padding, fill, label = { format: ',d', offset: 6 } }) {
  const { format, offset, ...look } = label
  const from = { data: 'figures' }
  return {
    height: row * values.length,
    data: [{ name: 'figures', values }],
    scales: [
      { name: 'y', type: 'band', domain: { data: 'figures', field: of }, range: 'height', padding },
      { name: 'x', type: 'linear', domain: { data: 'figures', fields: upTo }, range: 'width', nice: true, zero: true },
    ],
    marks: [
      {
        type: 'rect',
        from,
        encode: {
          enter: {
            y: { scale: 'y', field: of },
            height: { scale: 'y', band: 1 },
            x: { value: 0 },
            x2: { scale: 'x', field: length },
            fill,
          },
        },
      },
      {
        type: 'text',
        from,
        encode: {
          enter: {
            y: { scale: 'y', field: of, band: 0.5 },
            x: { scale: 'x', field: length, offset },
            baseline: { value: 'middle' },
            text: { signal: `format(datum.${length}, '${format}')` },
            ...look,
          },
        },
      },
    ],
  }
}

function count({ quotas, acts }) {
  return `${quotas.toLocaleString('en')} quotas and ${acts.toLocaleString('en')} consumes`
}
