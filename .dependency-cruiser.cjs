/**
 * The architecture as rules: features -> channel-api -> (ledger, http, auth); ledger -> (domain, database); domain -> nothing. Each folder of src that does not
 * stand on top says what it may import, in this order, so there is no circle of folders, and a new one is out of reach until a rule names it. Imports of types count like any other.
 * The client, the console and the connectors stand apart from all of them.
 */
const SPEC = '\\.spec\\.ts$'
/** A folder whose name ends so is a feature. */
const FEATURE = '^src/[^/]+-quota/'
/** All that is not a package. */
const OURS = '^(src|client|console|connectors|test|bench|scripts|ormconfig)'

/** A folder of src, and the others that it may import; its own files, packages and Node's modules are not counted. */
function below(folder, others, comment) {
  return {
    name: `${folder}-imports-what-is-below`,
    comment,
    severity: 'error',
    from: { path: `^src/${folder}/`, pathNot: SPEC },
    to: { path: OURS, pathNot: `^src/(${[folder, ...others].join('|')})/` },
  }
}

/** A folder of the ledger, and its other folders that it may import. */
function room(folder, others, comment) {
  return {
    name: `ledger-${folder}-imports-what-is-below`,
    comment,
    severity: 'error',
    from: { path: `^src/ledger/${folder}/`, pathNot: SPEC },
    to: { path: '^src/ledger/', pathNot: `^src/ledger/(${[folder, ...others].join('|')})/` },
  }
}

/** @type {import('dependency-cruiser').IConfiguration} */
module.exports = {
  forbidden: [
    {
      name: 'domain-is-pure',
      comment: 'What a quota is: pure rules. They know no framework, no store, no clock and nothing of the machine.',
      severity: 'error',
      from: { path: '^src/domain/', pathNot: SPEC },
      to: { pathNot: ['^src/domain/', '^src/common/instant\\.ts$', '(^|/)node_modules/temporal-polyfill/'] },
    },
    {
      name: 'domain-specs-are-pure',
      comment: 'The rules are tested without anything else of the product.',
      severity: 'error',
      from: { path: '^src/domain/.*\\.spec\\.ts$' },
      to: { path: '^src/', pathNot: ['^src/domain/', '^src/common/instant\\.ts$'] },
    },
    below(
      'common',
      [],
      'What any folder may need: instants and clocks, roles, errors of the domain, metrics, the version.',
    ),
    below('fairness', [], 'Turns and shares of parties, whatever it is that they want.'),
    below(
      'config',
      ['common', 'domain'],
      'The environment, for whoever it concerns. Of the rules it knows how a time is written.',
    ),
    below(
      'database',
      ['config', 'common', 'fairness', 'domain'],
      'Entities and migrations reach the store from above.',
    ),
    below('ledger', ['common', 'domain', 'database', 'fairness'], 'The engine knows no feature and no HTTP.'),
    room('rows', [], 'What is stored: entities, the channel that they belong to, and how members are encoded.'),
    room('store', ['rows'], 'The statements, a batch in memory, and what is asked and answered.'),
    room('write', ['store', 'rows'], 'Decides and commits.'),
    room('totals', ['store', 'rows'], 'Usage by hour and day.'),
    room('read', ['totals', 'store', 'rows'], 'Answers without locks.'),
    room('feed', ['store', 'rows'], 'The order of events.'),
    room('upkeep', ['write', 'read', 'totals', 'store', 'rows'], 'What is done in the background.'),
    room('verify', ['totals', 'store', 'rows'], 'Holds rows against each other.'),
    below(
      'auth',
      ['common', 'config', 'domain'],
      'Who may call, whatever the route: it is told what it must know of one.',
    ),
    below('http', ['auth', 'common', 'config', 'fairness', 'domain'], 'What every route shares.'),
    below(
      'tracing',
      ['ledger', 'database', 'http', 'config', 'common'],
      'Follows requests through what they pass, which knows nothing of it.',
    ),
    {
      name: 'open-telemetry-when-asked-for',
      comment:
        'Its packages are loaded where traces are sent, and nowhere else: one file knows them, which nobody loads with itself.',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/tracing/open-telemetry\\.ts$' },
      to: { path: '(^|/)node_modules/@opentelemetry/' },
    },
    {
      name: 'open-telemetry-not-at-start',
      severity: 'error',
      from: { path: '^src/' },
      to: { path: '^src/tracing/open-telemetry\\.ts$', dependencyTypesNot: ['dynamic-import'] },
    },
    below(
      'channel-api',
      ['ledger', 'database', 'http', 'auth', 'common', 'tracing', 'config', 'domain'],
      'What both features share. What runs the service stands beside the features, above it.',
    ),
    below(
      'webhook',
      ['channel-api', 'ledger', 'database', 'http', 'auth', 'common', 'config', 'domain'],
      'Passes on what the feeds of events hold. The ledger does not know it.',
    ),
    below(
      'change-set',
      ['channel-api', 'ledger', 'database', 'http', 'auth', 'common', 'domain'],
      'Many quotas changed as one: goes through the engine like any caller.',
    ),
    below('me', ['http', 'auth', 'common', 'config', 'domain']),
    {
      name: 'features-import-what-is-below',
      comment:
        'A feature stands on channel-api and on what that stands on. Of the store it knows how a column is declared.',
      severity: 'error',
      from: { path: FEATURE, pathNot: SPEC },
      to: {
        path: OURS,
        pathNot: [
          FEATURE,
          '^src/(change-set|channel-api|ledger|http|auth|common|domain)/',
          '^src/database/column\\.ts$',
        ],
      },
    },
    {
      name: 'features-apart',
      comment: 'Features never import each other, however many there are.',
      severity: 'error',
      from: { path: '^src/([^/]+-quota)/' },
      to: { path: FEATURE, pathNot: '^src/$1/' },
    },
    {
      name: 'features-on-top',
      comment: 'Only the composition root (files directly in src, ormconfig.ts) knows the features.',
      severity: 'error',
      from: { path: '^src/[^/]+/', pathNot: FEATURE },
      to: { path: FEATURE },
    },
    {
      name: 'operations-on-top',
      comment: 'What runs the service sees all of it but the features, and only the composition root sees it.',
      severity: 'error',
      from: { path: '^src/[^/]+/', pathNot: ['^src/operations/', SPEC] },
      to: { path: '^src/operations/' },
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
      to: { path: '^(client|console|connectors)/|@quota-service' },
    },
    {
      name: 'console-knows-the-client-alone',
      comment: 'It can do what any caller can, and gets the client by its name: the package as it is built.',
      severity: 'error',
      from: { path: '^console/' },
      to: { path: '^(src|test|bench|scripts|ormconfig)|^client/(?!dist/)' },
    },
    {
      name: 'connectors-know-the-client-alone',
      comment: 'They stand where a sender stands, and get the client by its name.',
      severity: 'error',
      from: { path: '^connectors/' },
      to: { path: '^(src|console|test|bench|scripts|ormconfig)|^client/(?!dist/)' },
    },
    {
      name: 'core-without-fronts',
      comment: 'What fronts share knows no protocol.',
      severity: 'error',
      from: { path: '^connectors/mail/src/core/' },
      to: { path: '^connectors/mail/src/(fronts/|main)' },
    },
    {
      name: 'fronts-apart',
      comment: 'Each speaks one protocol, in files that begin with its name.',
      severity: 'error',
      from: { path: '^connectors/mail/src/fronts/(\\w+)' },
      to: { path: '^connectors/mail/src/fronts/', pathNot: '^connectors/mail/src/fronts/$1' },
    },
    {
      name: 'client-without-its-users',
      severity: 'error',
      from: { path: '^client/' },
      to: { path: '^(console|connectors)/' },
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
