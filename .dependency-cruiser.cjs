/**
 * The architecture as rules: features -> (ledger, http, auth); ledger -> (quota, database); quota -> nothing.
 * Imports of types count like any other. The client stands apart from all of them.
 */
const SPEC = '\\.spec\\.ts$'
const FEATURE = '^src/(mail-quota|sms-quota)/'

/** @type {import('dependency-cruiser').IConfiguration} */
module.exports = {
  forbidden: [
    {
      name: 'quota-is-pure',
      comment: 'What a quota is: pure rules. They know no framework, no store, no clock and nothing of the machine.',
      severity: 'error',
      from: { path: '^src/quota/', pathNot: SPEC },
      to: { pathNot: ['^src/quota/', '(^|/)node_modules/temporal-polyfill/'] },
    },
    {
      name: 'quota-specs-are-pure',
      comment: 'The rules are tested without anything else of the product.',
      severity: 'error',
      from: { path: '^src/quota/.*\\.spec\\.ts$' },
      to: { path: '^src/', pathNot: '^src/quota/' },
    },
    {
      name: 'error-imports-nothing',
      comment: 'Errors of the domain know neither HTTP nor anything else.',
      severity: 'error',
      from: { path: '^src/error/', pathNot: SPEC },
      to: { pathNot: '^src/error/' },
    },
    {
      name: 'ledger-below-features',
      comment: 'The engine knows quotas, the store, errors and the clock; no feature, no HTTP.',
      severity: 'error',
      from: { path: '^src/ledger/' },
      to: { path: '^(src|test|bench|ormconfig)', pathNot: '^src/(ledger|quota|database|error|clock|random)/' },
    },
    {
      name: 'database-below-ledger',
      comment: 'The store knows no table of its own; entities and migrations reach it from above.',
      severity: 'error',
      from: { path: '^src/database/' },
      to: { path: '^(src|test|bench|ormconfig)', pathNot: '^src/(database|error|clock|quota|config)/' },
    },
    {
      name: 'clock-below-all',
      severity: 'error',
      from: { path: '^src/clock/' },
      to: { path: '^src/', pathNot: '^src/(clock|quota)/' },
    },
    {
      name: 'random-below-all',
      severity: 'error',
      from: { path: '^src/random/' },
      to: { path: '^src/', pathNot: '^src/random/' },
    },
    {
      name: 'features-apart-mail',
      comment: 'Features never import each other.',
      severity: 'error',
      from: { path: '^src/mail-quota/' },
      to: { path: '^src/sms-quota/' },
    },
    {
      name: 'features-apart-sms',
      comment: 'Features never import each other.',
      severity: 'error',
      from: { path: '^src/sms-quota/' },
      to: { path: '^src/mail-quota/' },
    },
    {
      name: 'features-on-top',
      comment: 'Only the composition root (files directly in src, ormconfig.ts) knows the features.',
      severity: 'error',
      from: { path: '^src/[^/]+/', pathNot: FEATURE },
      to: { path: FEATURE },
    },
    {
      name: 'http-and-auth-know-no-quota-feature',
      comment: 'What every route shares knows neither the engine nor a feature.',
      severity: 'error',
      from: { path: '^src/(http|auth)/' },
      to: { path: '^src/(ledger|mail-quota|sms-quota)/' },
    },
    {
      name: 'client-apart',
      comment: 'What the client knows of the service is openapi.json. It runs without any package, in browsers too.',
      severity: 'error',
      from: { path: '^client/src/', pathNot: SPEC },
      to: { pathNot: '^client/src/' },
    },
    {
      name: 'client-specs-apart',
      severity: 'error',
      from: { path: '^client/' },
      to: { path: '^(src|test|bench|ormconfig)' },
    },
    {
      name: 'service-without-client',
      comment: 'It answers whoever calls, and calls nobody.',
      severity: 'error',
      from: { path: '^(src/|ormconfig)' },
      to: { path: '^client/|@quota-service' },
    },
    {
      name: 'no-circular',
      severity: 'error',
      from: {},
      to: { circular: true },
    },
    {
      name: 'no-orphans',
      comment: 'A module that imports nothing and that nobody imports is dead.',
      severity: 'error',
      from: { orphan: true, pathNot: [SPEC, '\\.d\\.ts$'] },
      to: {},
    },
    {
      name: 'src-without-test',
      severity: 'error',
      from: { path: '^(src/|ormconfig)', pathNot: SPEC },
      to: { path: ['^(test|bench|scripts)/', SPEC] },
    },
    {
      name: 'src-without-dev-dependencies',
      comment: 'They are absent from the image.',
      severity: 'error',
      from: { path: '^(src/|ormconfig)', pathNot: SPEC },
      to: { dependencyTypes: ['npm-dev'] },
    },
    {
      name: 'declared-packages-only',
      comment: 'A package that package.json does not name is there by luck.',
      severity: 'error',
      from: {},
      to: { dependencyTypes: ['npm-no-pkg', 'npm-unknown', 'undetermined'] },
    },
    {
      name: 'resolvable',
      severity: 'error',
      from: {},
      to: { couldNotResolve: true },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    tsPreCompilationDeps: true,
    // A workspace may also use, in its tests, what the root has for development.
    combinedDependencies: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'require', 'node', 'default', 'types'],
      mainFields: ['module', 'main', 'types'],
    },
  },
}
