/** Finds the Chromium for browser tests and screenshots: Debian's, or the one that CHROMIUM names. */
import { existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'

const NAMES = ['chromium', 'chromium-browser', 'google-chrome-stable', 'google-chrome']

/** @returns the path of the executable; undefined if there is none */
export function findChromium() {
  const named = process.env.CHROMIUM
  if (named) return named
  const folders = [...(process.env.PATH ?? '').split(delimiter), '/usr/bin', '/usr/local/bin', '/snap/bin']
  return folders.flatMap((folder) => NAMES.map((name) => join(folder, name))).find((path) => existsSync(path))
}

/** The launch options for playwright-core. */
export function launchOptions(executablePath = findChromium()) {
  if (executablePath === undefined) throw new Error('there is no Chromium: apt-get install chromium, or set CHROMIUM')
  // Chromium's sandbox does not work for root.
  const args = process.getuid?.() === 0 ? ['--no-sandbox'] : []
  return { executablePath, args: [...args, '--disable-dev-shm-usage'] }
}
