/**
 * Part of `npm run lint`: every link in the documentation leads somewhere.
 *
 * - A relative link of a page names a file or folder of the repository, and its `#anchor` a heading of that page.
 * - A page under docs/ that a source file mentions exists.
 */
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { fileURLToPath } from 'node:url'

process.chdir(fileURLToPath(new URL('..', import.meta.url)))
const files = execFileSync('git', ['ls-files', '-co', '--exclude-standard'], { encoding: 'utf8' })
  .split('\n')
  .filter((file) => file !== '' && existsSync(file))
const pages = files.filter((file) => file.endsWith('.md'))
const SOURCE = /\.(?:[mc]?[jt]sx?|ya?ml|json|sh|example)$|(?:^|\/)Dockerfile$/
/** The history keeps the names that pages had. */
const HISTORY = 'CHANGELOG.md'
const mistakes = []

for (const page of pages) {
  for (const { line, target } of linksOf(prose(page))) {
    const [path, anchor] = target.split('#')
    const file = path === '' ? page : normalize(join(dirname(page), decodeURIComponent(path)))
    if (!existsSync(file)) mistakes.push(`${page}:${line}: there is no ${file}`)
    else if (anchor !== undefined && file.endsWith('.md') && !anchorsOf(file).has(anchor))
      mistakes.push(`${page}:${line}: ${file} has no heading #${anchor}`)
  }
}
for (const file of files.filter((one) => SOURCE.test(one) || (one.endsWith('.md') && one !== HISTORY))) {
  for (const [page] of readFileSync(file, 'utf8').matchAll(/(?<![\w./-])docs\/[\w/-]+\.md\b/g))
    if (!existsSync(page)) mistakes.push(`${file} mentions ${page}, which does not exist`)
}
for (const mistake of mistakes) console.error(`links: ${mistake}`)
process.exitCode = mistakes.length === 0 ? 0 : 1

/** A page without its blocks of code; the lines keep their numbers. */
function prose(page) {
  return readFileSync(page, 'utf8').replace(/^(```|~~~)[\s\S]*?^\1/gm, (block) => block.replace(/[^\n]/g, ''))
}

/** The relative links, with the number of their line. */
function linksOf(text) {
  return text
    .split('\n')
    .flatMap((content, index) =>
      [...content.replace(/`[^`]*`/g, '').matchAll(/\]\(<?([^)\s>]+)>?(?: "[^"]*")?\)/g)].map(([, target]) => ({
        line: index + 1,
        target,
      })),
    )
    .filter(({ target }) => !/^[a-z]+:/.test(target))
}

/** The anchors of a page's headings, as GitHub makes them. */
function anchorsOf(page) {
  const anchors = new Set()
  for (const [, heading] of prose(page).matchAll(/^#{1,6} +(.+?) *$/gm)) {
    const text = heading.replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    const slug = text
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\p{M}_ -]/gu, '')
      .replaceAll(' ', '-')
    let anchor = slug
    for (let count = 1; anchors.has(anchor); count += 1) anchor = `${slug}-${count}`
    anchors.add(anchor)
  }
  return anchors
}
