import { execFile } from 'node:child_process'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { beforeAll, describe, expect, it } from '@jest/globals'
import { findCalc } from '../scripts/programs.mjs'
import { TestApp } from './support/app.js'
import { changeSetSuite } from './support/change-set/suite.js'
import { MAIL_API, SMS_API } from './support/channel-api.js'
import { temporaryFolder } from './support/opened.js'
import { fresh, stopSweepers } from './support/quota-api.js'
import { onEveryStore } from './support/store.js'

const LABELS = [
  'plain',
  'with "quotes", and a comma',
  '"',
  "'quoted",
  "'",
  "''",
  '=1+1',
  '=SUM(A1:A9)',
  "=cmd|' /C calc'!A0",
  '+1',
  '-1',
  '@name',
  'null',
  "'null",
  '  blanks at both ends  ',
  'two\u2028lines',
  'مرحبا بالعالم',
  'שלום, "עולם"',
  '\u202Ertl\u202C',
  '😀 astral',
  'x'.repeat(120),
]
/** What Calc takes for a number or a time, and writes its own way, unless the column is opened as text. */
const NUMERALS = ['0012', '1e5', '1.50', '12:30', '2026-01-01', 'TRUE']

/** Separator, quotes, UTF-8, from the first line on; then formats by column. */
const CSV = '44,34,76,1'

onEveryStore('a list that is exported, opened in LibreOffice Calc and saved again', (kind) => {
  let app: TestApp
  let folder: string

  beforeAll(async () => {
    app = await TestApp.on(kind)
    await stopSweepers(app)
    folder = temporaryFolder('quota-calc-')
  })

  const calc = async (...args: string[]) => {
    const profile = `-env:UserInstallation=${pathToFileURL(join(folder, 'profile')).href}`
    return promisify(execFile)(findCalc() ?? '', ['--headless', profile, ...args], { cwd: folder })
  }
  /** Opens a file in Calc, saves it as a spreadsheet, opens that and saves it as CSV. */
  const savedAgain = async (text: string, formats = ''): Promise<string> => {
    const at = (ending: string) => join(folder, `list.${ending}`)
    writeFileSync(at('csv'), text)
    await calc(`--infilter=CSV:${CSV}${formats}`, '--convert-to', 'ods', at('csv'))
    rmSync(at('csv'))
    await calc('--convert-to', `csv:Text - txt - csv (StarCalc):${CSV}`, at('ods'))
    return readFileSync(at('csv'), 'utf8')
  }

  describe.each([MAIL_API, SMS_API])('of $name', (api) => {
    const { made, total, cycle, exported, rows, upload, ready, ofOwner } = changeSetSuite(api, () => app)

    it('changes nothing', async () => {
      const owner = fresh()
      await made(cycle(owner, { total: 10 ** 12, cycle_time_zone: 'Europe/Berlin', thresholds: [1, 50, 100] }))
      await made(cycle(owner, { total: 0, cycle_reset_at: '9999-12-31T23:59:59.999Z', thresholds: [50] }))
      await made({ [api.owner]: owner, quota_type: 3, cap: 'observe', total: 10 ** 12 - 1, window_seconds: 2_678_400 })
      for (const label of LABELS) await made(total(owner, { label, expire_at: '2030-06-30T12:00:00.123+02:00' }))
      const count = LABELS.length + 3
      const text = await savedAgain(await exported(ofOwner(owner)))
      const again = await ready(await upload(text))
      expect((await rows(again.id, 'page_size=100&outcome=planned')).map(({ after }) => after)).toEqual([])
      expect(again.counts).toMatchObject({ rows: count, unchanged: count })
    })

    it('changes no labels that look like numbers, if their column is opened as text', async () => {
      const owner = fresh()
      for (const label of NUMERALS) await made(total(owner, { label }))
      const text = await exported(ofOwner(owner))
      const column = (text.split('\r\n')[0] ?? '').split(',').indexOf('label') + 1
      const again = await ready(await upload(await savedAgain(text, `,${column}/2`)))
      expect(again.counts).toMatchObject({ rows: NUMERALS.length, unchanged: NUMERALS.length })
    })
  })
})
