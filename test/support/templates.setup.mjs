import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Runs before all suites: creates a folder for `template.ts`, which is removed after all suites. */
export default function setup() {
  const folder = mkdtempSync(join(tmpdir(), 'quota-templates-'))
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
  process.env.QUOTA_TEMPLATES = folder
}
