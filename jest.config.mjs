import { readdirSync, readFileSync } from 'node:fs'
import {
  findAccountSources,
  findCalc,
  findChromium,
  findExim,
  findGalera,
  findGroupReplication,
  findInterpreters,
  findPostfix,
} from './scripts/programs.mjs'

/** ESM under Jest: modules are compiled one by one, and Node runs them (--experimental-vm-modules). */
export default {
  testEnvironment: '<rootDir>/test/support/quick-exit.environment.mjs',
  rootDir: '.',
  // Whatever TMPDIR is: what is compiled once stays.
  cacheDirectory: '<rootDir>/node_modules/.cache/jest',
  roots: [
    '<rootDir>/src',
    '<rootDir>/client/src',
    '<rootDir>/console/src',
    '<rootDir>/connectors/mail/src',
    '<rootDir>/test',
  ],
  testMatch: testMatch(process.env.QUOTA_SUITES),
  testPathIgnorePatterns: [
    '/node_modules/',
    ...(process.env.QUOTA_SUITES === 'rest' ? wholeInGuard() : []),
    ...(process.env.QUOTA_AREAS === '1' ? inAreas() : []),
    // A cluster is tried where one can be started.
    ...(findGalera() === undefined ? ['/galera\\.'] : []),
    ...(findGroupReplication() === undefined ? ['/group-replication\\.'] : []),
    // The connector is tried with a real Postfix, where one can be run.
    ...(findPostfix() === undefined ? ['/postfix(-milter)?\\.slow'] : []),
    ...(findAccountSources() === undefined || findPostfix() === undefined ? ['/mail-accounts\\.'] : []),
    ...(findExim() === undefined ? ['/exim\\.'] : []),
    // Files are opened in a spreadsheet, where there is one.
    ...(findCalc() === undefined ? ['/spreadsheet\\.'] : []),
    // The senders in other languages run where their interpreters are.
    ...(findInterpreters() === undefined ? ['/senders\\.'] : []),
    // The console, and the page of a link, are tried in a browser, where there is one.
    ...(findChromium() === undefined
      ? ['/(owner-view|console(-caps|-change-sets|-goals|-groups|-list|-sign-in|-states|-webhooks|-work)?)\\.']
      : []),
  ],
  extensionsToTreatAsEsm: ['.ts'],
  moduleNameMapper: {
    '^(\\.{1,2}/.*)\\.js$': '$1',
    // Its sources, so that specs need no build.
    '^@quota-service/client$': '<rootDir>/client/src/index.ts',
    '^@quota-service/client/(.*)$': '<rootDir>/client/src/$1.ts',
    '^fast-check$': '<rootDir>/test/support/fast-check.ts',
  },
  transform: { '^.+\\.ts$': '<rootDir>/test/support/transpile.mjs' },
  globalSetup: '<rootDir>/test/support/templates.setup.mjs',
  testSequencer: '<rootDir>/scripts/longest-first.mjs',
  // On two cores: suites wait for processes, servers and browsers for a third of their time, suites under faults for
  // two thirds. More workers would starve each other.
  maxWorkers: 3,
  restoreMocks: true,
  errorOnDeprecated: true,
  collectCoverageFrom: [
    'src/**/*.ts',
    'client/src/**/*.ts',
    'connectors/mail/src/**/*.ts',
    '!**/main.ts',
    '!**/*.spec.ts',
  ],
  coverageDirectory: 'coverage',
  coverageProvider: 'v8',
  // To end what hangs, not to measure: with other work on the machine a test takes ten times as long.
  testTimeout: 300_000,
  // Whatever a suite could not close, Jest ends; what is left of processes goes with it (`guard`).
  forceExit: true,
}

/**
 * `npm test` takes two minutes: suites that it does not need are `*.full-spec.ts`, or `*.slow-spec.ts` if they measure how
 * long others wait, and run in `npm run test:all`. Jest by itself takes all.
 */
function testMatch(suites) {
  const guard = ['**/*.spec.ts', '**/*.e2e-spec.ts', ...(process.env.QUOTA_AREAS === '1' ? ['**/test/guard/*.ts'] : [])]
  return suites === 'guard' ? guard : [...guard, '**/*.full-spec.ts', '**/*.slow-spec.ts']
}

/** The suites that the files in test/guard import: `npm test` loads the application once for each such file. */
function inAreas() {
  const areas = readdirSync('test/guard').map((name) => readFileSync(`test/guard/${name}`, 'utf8'))
  return [...areas.join('').matchAll(/'\.\.\/(.*)\.js'/g)].map(([, name]) => `/test/${name}\\.ts$`)
}

/** Of which suites `npm test` leaves nothing: no store, no channel, no longer load and no further case of a property. */
function wholeInGuard() {
  const left = /\b(onEveryStore|forEveryChannel|forSharedRules|SCALE)\b|\.contract\.js|'fast-check'/
  const suites = ['src', 'client/src', 'console/src', 'connectors/mail/src', 'test'].flatMap((folder) =>
    readdirSync(folder, { recursive: true }).map((name) => `${folder}/${name}`),
  )
  return suites
    .filter((path) => /\.(e2e-)?spec\.ts$/.test(path) && !left.test(readFileSync(path, 'utf8')))
    .map((path) => `/${path}$`)
}
