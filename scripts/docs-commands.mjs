/**
 * `npm run docs:commands`: every command in the blocks `sh`, `bash` and `console` of every page is run here, or ELSEWHERE
 * says who runs it, or why nobody can. `node scripts/docs-commands.mjs --list` shows where each is run. With `--check`, a
 * part of `npm run lint`, it runs nothing, but it fails on a block that no shell reads, on an entry of ELSEWHERE that no command matches any more, and on
 * text that names a script or program which does not exist.
 *
 * Pages run one after the other in a copy of the working tree, each command in its own shell that keeps the variables.
 * A command fails by its exit code, by an answer with a problem, and by an answer that differs from the `json` block
 * below it, but for times and ids. It needs curl and MariaDB.
 */
import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { isDeepStrictEqual } from 'node:util'
import { freePort } from './mariadb.mjs'

process.chdir(fileURLToPath(new URL('..', import.meta.url)))

const CI = '.ci/run'
const CONTAINERS = 'scripts/try-containers.sh'
const CLUSTER = 'not here: it needs a cluster and a registry; `npm run check:deploy` validates the manifests'
const NO_ENGINE = 'not here: it needs a Docker engine'
const BACKUP = 'docs/run/backup-and-upgrade.md'
/** Page, first words of commands, and who runs them: a file of the project, or `not here` with the reason. */
const ELSEWHERE = [
  ['README.md', ['npm ci && npm test'], CI],
  [
    'README.md',
    ['cp .env.example .env && chmod 600 .env && docker build', 'docker run', 'docker compose up'],
    CONTAINERS,
  ],
  ['CONTRIBUTING.md', ['npm ci'], CI],
  ['connectors/mail/README.md', ['docker build', 'docker run'], NO_ENGINE],
  [BACKUP, ['docker compose', 'docker stop', 'docker run', 'docker start'], CONTAINERS],
  [BACKUP, ['sh deploy/restore.sh quota.sql quota docker compose exec'], CONTAINERS],
  [BACKUP, ['sh deploy/restore.sh quota.sql quota mariadb'], 'test/backup.full-spec.ts'],
  ['docs/run/database.md', ['echo "ALTER USER'], NO_ENGINE],
  ['docs/run/operations.md', ['npm ci', 'npm run build'], CI],
  ['docs/run/operations.md', ['docker build', 'docker run'], CONTAINERS],
  ['docs/run/operations.md', ['docker tag', 'kubectl'], CLUSTER],
  ['docs/start/production.md', ['docker', 'cd /opt/quota-service', 'exec docker compose'], CONTAINERS],
  ['examples/postfix/README.md', [''], `${NO_ENGINE}; test/postfix.slow-spec.ts has the same set-up`],
  ['examples/sign-in/README.md', [''], `${NO_ENGINE}, and the image of a provider`],
].flatMap(([page, starts, who]) => starts.map((words) => [page, words, who]))
/** The pages that are read in one terminal, what runs before them, and what their placeholders stand for. */
const SESSIONS = [
  { pages: ['README.md', 'docs/start/try.md', 'docs/use/groups.md'] },
  {
    pages: ['docs/use/integrating.md'],
    before: [
      'npm start',
      `curl -s http://127.0.0.1:3000/api/v1/quotas -H "Authorization: Bearer $SERVICE_TOKEN" -H 'Content-Type: application/json' -d '{"account_id":7,"quota_type":1,"total":1000,"expire_at":"2999-01-01T00:00:00Z"}'`,
    ],
    filled: { 'QUOTA_TOKEN=…': 'QUOTA_TOKEN=$SERVICE_TOKEN', 'ID=…': 'ID=$ANSWER_ID' },
  },
  {
    pages: ['docs/sign-in.md'],
    before: ['npm start', 'ACCESS_TOKEN=$SERVICE_TOKEN'],
    filled: { 'https://QUOTA': 'http://127.0.0.1:3000' },
  },
  { pages: ['docs/start/production.md'], before: ['npm start'] },
  { pages: ['docs/run/database.md'], before: ['cp .env.example .env'] },
  { pages: ['docs/run/operations.md'], before: ['export AUTH_TOKENS=ENTRY DATABASE_URL=sqlite:./data/quota.db'] },
  {
    pages: [BACKUP],
    before: ['npm run --silent migrate', 'npm run backup -- quota-backup.db'],
    filled: { 'mariadb://quota:PASSWORD@127.0.0.1:3306/quota': 'sqlite:./data/moved.db' },
  },
  {
    pages: ['connectors/mail/README.md'],
    before: [
      'npm start',
      'echo "$SERVICE_TOKEN" > token; echo "ann@example.org 7" > accounts',
      'export QUOTA_URL=http://127.0.0.1:3000 QUOTA_TOKEN_FILE=token ACCOUNTS_FILE=accounts STATE_DIRECTORY=.',
    ],
    filled: { 'https://quota.example': 'http://127.0.0.1:3000', '/etc/quota/': './', 'mail:9c1f…': 'mail:9c1f' },
  },
  { pages: ['docs/postfix.md'] },
  // The last, since `start:dev` builds the service anew.
  { pages: ['CONTRIBUTING.md'] },
]
/** Programs that go on until they are stopped: what each takes the place of, and what it prints when it is ready. */
const SERVERS = [
  [/npm start$|npm run start:dev$|dist\/src\/main\.js$/, 'service', /"listening on |export ADMIN_TOKEN=.*\n/],
  [/node scripts\/mariadb\.mjs$/, 'database', /TEST_DATABASE_URL=/],
  [/quota-postfix\.mjs$/, 'connector', /"message":"listening/],
]
/** Commands that fail as their page says: no operation has that key. */
const EXIT_CODES = { 'quota-postfix.mjs settle mail:': 1 }
/** How long a command may take, or a server until it is ready. */
const MAX_MS = 120_000
/** Their names are the ones that text may mention. */
const { scripts } = JSON.parse(readFileSync('package.json', 'utf8'))

const pages = execFileSync('git', ['ls-files', '-co', '--exclude-standard', '*.md'], { encoding: 'utf8' })
  .split('\n')
  .filter((file) => file !== '' && file !== 'CHANGELOG.md' && existsSync(file))
const mistakes = []
const commands = pages.flatMap(commandsOf)
const used = new Set()
for (const command of commands) {
  const entry = ELSEWHERE.find(([page, words]) => page === command.page && command.text.startsWith(words))
  used.add(entry)
  command.where = entry?.[2] ?? SESSIONS.find((one) => one.pages.includes(command.page))
  if (command.where === undefined) mistakes.push(`${command.at}: neither a session nor ELSEWHERE has ${command.text}`)
}
for (const entry of ELSEWHERE) {
  if (!used.has(entry)) mistakes.push(`ELSEWHERE: ${entry[0]} has no command ${entry[1]}`)
  if (!entry[2].startsWith('not here: ') && !existsSync(entry[2])) mistakes.push(`ELSEWHERE: there is no ${entry[2]}`)
}
for (const page of pages) checkNames(page)
if (process.argv.includes('--list'))
  for (const { at, text, where } of commands)
    console.log(`${at}\t${typeof where === 'string' ? where : 'run'}\t${text.split('\n')[0].slice(0, 70)}`)
for (const mistake of mistakes) console.error(`docs-commands: ${mistake}`)
if (mistakes.length > 0) process.exitCode = 1
else if (!process.argv.includes('--list') && !process.argv.includes('--check')) await runAll()

/** The commands of a page's blocks, each with its documented answer in the `json` block below, if there is one. */
function commandsOf(page) {
  const lines = readFileSync(page, 'utf8').split('\n')
  const found = []
  for (let first = 0; first < lines.length; first += 1) {
    if (!/^\s*```(?:sh|bash|console)\s*$/.test(lines[first])) continue
    const end = lines.findIndex((line, index) => index > first && line.trim() === '```')
    const block = []
    for (let index = first + 1, text = '', start = index; index < end; index += 1) {
      if (text === '') start = index
      text += `${lines[index]}\n`
      if (unfinished(text) && index + 1 < end) continue
      const command = text.trim().replace(/\s+# .*$|^#.*$/gm, '')
      if (command !== '') block.push({ page, at: `${page}:${start + 1}`, text: command })
      text = ''
    }
    const next = lines.findIndex((line, index) => index > end && line !== '')
    const answers = lines[next]?.startsWith('```json') === true ? answersOf(lines.slice(next + 1)) : []
    if (answers.length > 0 && answers.length !== block.length)
      mistakes.push(`${page}:${next + 1}: ${answers.length} answers to ${block.length} commands`)
    for (const { at, text } of block) if (!isRead(text)) mistakes.push(`${at}: no shell reads ${text}`)
    found.push(...block.map((command, index) => ({ ...command, answer: answers[index] })))
    first = end
  }
  return found
}

/** Whether the shell would ask for more: a quote, a continued line, or a text until a word is open. */
function unfinished(text) {
  const until = /<<'(\w+)'/.exec(text)?.[1]
  if (until !== undefined) return !text.includes(`\n${until}\n`)
  return text.endsWith('\\\n') || !isRead(text)
}

function isRead(text) {
  return spawnSync('bash', ['-n', '-c', text]).status === 0
}

/** JSON texts one after the other, until the block ends. `,…` leaves members out. */
function answersOf(lines) {
  const answers = []
  let text = ''
  for (const line of lines.slice(0, lines.indexOf('```'))) {
    text += line
    try {
      answers.push({ value: JSON.parse(text.replaceAll(',…', '')), whole: !text.includes(',…') })
      text = ''
    } catch {
      // It continues on the next line.
    }
  }
  return answers
}

/** Text, too, names only scripts of package.json and programs that exist. */
function checkNames(page) {
  const text = readFileSync(page, 'utf8')
  for (const [, name] of text.matchAll(/\bnpm run (?:--silent )?([a-z][\w:]*)/g))
    if (scripts[name] === undefined) mistakes.push(`${page}: package.json has no script ${name}`)
  for (const [, file] of text.matchAll(/(?<![\w/])(?:node|bash|sh) ((?:[\w-]+\/)*[\w.-]+\.(?:m?js|sh)|\.ci\/run)\b/g)) {
    const source = file.startsWith('dist/') ? file.slice('dist/'.length).replace(/js$/, 'ts') : file
    if (!existsSync(source)) mistakes.push(`${page}: there is no ${source}`)
  }
}

async function runAll() {
  const folder = mkdtempSync(join(tmpdir(), 'quota-docs-'))
  const servers = new Map()
  process.once('exit', () => {
    for (const { pid } of servers.values()) kill(pid)
    rmSync(folder, { recursive: true, force: true })
  })
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(1))
  const tree = join(folder, 'quota-service')
  const files = execFileSync('git', ['ls-files', '-co', '--exclude-standard'], { encoding: 'utf8' }).split('\n')
  const built = ['dist', 'client/dist', 'console/dist', 'connectors/mail/dist']
  for (const file of [...files, ...built])
    if (file && existsSync(file)) cpSync(file, join(tree, file), { recursive: true })
  for (const name of ['node_modules', 'console/node_modules'])
    if (!existsSync(join(tree, name)) && existsSync(name)) symlinkSync(join(process.cwd(), name), join(tree, name))
  const port = await freePort()
  const entry = /docs:admin:\w+/.exec(
    execFileSync('node', ['dist/src/token.js', '--name', 'docs', '--role', 'admin']),
  )[0]
  const env = { PATH: process.env.PATH, HOME: folder, PORT: port, LISTEN: '127.0.0.1:0', METRICS_LISTEN: '127.0.0.1:0' }
  let count = 0
  for (const { pages: names, before = [], filled = {} } of SESSIONS) {
    for (const name of ['data', '.env']) rmSync(join(tree, name), { recursive: true, force: true })
    mkdirSync(join(tree, 'data'))
    writeFileSync(join(folder, 'variables'), '')
    const first = before.map((text) => ({ at: `before ${names[0]}`, text }))
    const rest = names.flatMap((name) =>
      commands.filter(({ page, where }) => page === name && typeof where !== 'string'),
    )
    for (const command of [...first, ...rest]) {
      let text = command.text.replace(/^npm ci && /, '').replaceAll('AUTH_TOKENS=ENTRY', `AUTH_TOKENS=${entry}`)
      for (const [placeholder, value] of Object.entries(filled)) text = text.replaceAll(placeholder, value)
      text = text.replaceAll('127.0.0.1:3000', `127.0.0.1:${port}`)
      console.log(`${command.at}\t${text.split('\n')[0].slice(0, 100)}`)
      const said = await run(text)
      const wrong = mistakeIn(command, said)
      if (wrong !== undefined) {
        console.error(`docs-commands: ${command.at}: ${wrong}\n${text}\n${said.output}`)
        process.exit(1)
      }
      count += 1
    }
    for (const one of servers.keys()) await stop(one)
  }
  console.log(`${count} commands did what their pages say`)

  /** Runs a command with the session's variables; a server goes on until another takes its place. */
  async function run(text) {
    const [, kind, ready] = SERVERS.find(([pattern]) => pattern.test(text)) ?? []
    if (kind !== undefined) await stop(kind)
    const shell = `set -a; . ../variables; eval "$1"; code=$?; export -p > ../variables; exit $code`
    const child = spawn('bash', ['-c', shell, 'bash', text], { cwd: tree, env, detached: true })
    child.stdin.end()
    const said = { output: '', stdout: '', code: undefined }
    child.stdout.on('data', (data) => (said.stdout += data))
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (data) => (said.output += data))
    const ended = once(child, 'close').then(([code]) => (said.code = code))
    const late = setTimeout(() => kill(child.pid), MAX_MS)
    if (kind === undefined) await ended
    else {
      servers.set(kind, { pid: child.pid, ended })
      while (!ready.test(said.output) && said.code === undefined)
        await Promise.race([once(child.stdout, 'data'), ended])
      if (said.code === undefined) said.code = 0
      const exports = said.output.match(/^export \w+_TOKEN=\S+$/gm) ?? []
      if (exports.length > 0) writeFileSync(join(folder, 'variables'), `${exports.join('\n')}\n`, { flag: 'a' })
    }
    clearTimeout(late)
    const id = parsed(said.stdout)?.id
    if (id !== undefined) writeFileSync(join(folder, 'variables'), `ANSWER_ID=${id}\n`, { flag: 'a' })
    return said
  }

  async function stop(kind) {
    const server = servers.get(kind)
    if (server === undefined) return
    kill(server.pid)
    await server.ended
    servers.delete(kind)
  }
}

function kill(pid) {
  try {
    process.kill(-pid, 'SIGTERM')
  } catch {
    // It has ended.
  }
}

/** What is not as the page says, if anything. */
function mistakeIn({ text, answer }, { code, stdout }) {
  const expected = Object.entries(EXIT_CODES).find(([words]) => text.includes(words))?.[1] ?? 0
  if (code !== expected) return `exit code ${code} instead of ${expected}`
  const got = parsed(stdout)
  if (answer === undefined) return got?.code === undefined ? undefined : 'a problem, which the page does not mention'
  const documented = comparable(answer.value)
  const same = answer.whole
    ? isDeepStrictEqual(comparable(got), documented)
    : Object.entries(documented).every(([name, value]) => isDeepStrictEqual(comparable(got)?.[name], value))
  return same ? undefined : `the page says ${JSON.stringify(answer.value)}`
}

/** Without times and ids, which differ in each run. */
function comparable(value) {
  const text = JSON.stringify(value ?? null)
  return JSON.parse(text.replace(/"20\d\d-[^"]*Z"/g, '"time"').replace(/"[0-9a-f]{8}-[0-9a-f-]{27}"/g, '"id"'))
}

function parsed(text) {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
