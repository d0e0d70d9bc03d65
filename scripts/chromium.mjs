/** Finds the Chromium that browser tests and screenshots run in: Debian's, or what CHROMIUM names. */
import { existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'

const NAMES = ['chromium', 'chromium-browser', 'google-chrome-stable', 'google-chrome']

/** @returns the path of its program; undefined where there is none */
export function findChromium() {
  const named = process.env.CHROMIUM
  if (named) return named
  const folders = [...(process.env.PATH ?? '').split(delimiter), '/usr/bin', '/usr/local/bin', '/snap/bin']
  return folders.flatMap((folder) => NAMES.map((name) => join(folder, name))).find((path) => existsSync(path))
}

/** How playwright-core is to start it. */
export function launchOptions(executablePath = findChromium()) {
  if (executablePath === undefined) throw new Error('there is no Chromium: apt-get install chromium, or set CHROMIUM')
  // Its sandbox does not work for root.
  const args = process.getuid?.() === 0 ? ['--no-sandbox'] : []
  return { executablePath, args: [...args, '--disable-dev-shm-usage'] }
}
