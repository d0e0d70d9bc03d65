import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Before all suites: a folder for what `template.ts` keeps, which goes when they have ended. */
export default function setup() {
  const folder = mkdtempSync(join(tmpdir(), 'quota-templates-'))
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
  process.env.QUOTA_TEMPLATES = folder
}
