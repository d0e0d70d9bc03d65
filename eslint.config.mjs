import js from '@eslint/js'
import hooks from 'eslint-plugin-react-hooks'
import regexp from 'eslint-plugin-regexp'
import { defineConfig, globalIgnores } from 'eslint/config'
import tseslint from 'typescript-eslint'

const NODE_GLOBALS = [
  'AbortController',
  'AbortSignal',
  'Buffer',
  'TextDecoder',
  'TextEncoder',
  'URL',
  'URLSearchParams',
  'clearInterval',
  'clearTimeout',
  'console',
  'fetch',
  'performance',
  'process',
  'queueMicrotask',
  'setImmediate',
  'setInterval',
  'setTimeout',
  'structuredClone',
]

/** The syntax that only one folder may use; each entry names that folder. */
const OWN_CLOCK = [
  {
    selector: "CallExpression[callee.object.name='Date'][callee.property.name='now']",
    message: 'Time comes from the injected Clock.',
  },
  {
    selector: "NewExpression[callee.name='Date'][arguments.length=0]",
    message: 'Time comes from the injected Clock.',
  },
  {
    selector: "MemberExpression[object.name='Temporal'][property.name='Now']",
    message: 'Time comes from the injected Clock.',
  },
]
const OWN_TIMERS = [
  {
    selector: "MemberExpression[object.name='AbortSignal'][property.name=/^(any|timeout)$/]",
    message: 'Together they lose their timer on Node 20: use withTimeLimit, or clear a timer in finally.',
  },
]
const OWN_TRANSACTIONS = [
  {
    selector:
      'CallExpression[callee.property.name=/^(transaction|startTransaction|commitTransaction|rollbackTransaction|createQueryRunner)$/]',
    message: 'Transactions belong to TransactionRunner in src/database.',
  },
  {
    selector: 'Literal[value=/^\\s*(BEGIN|START TRANSACTION|COMMIT|ROLLBACK|SAVEPOINT)\\b/]',
    message: 'Transactions belong to TransactionRunner in src/database.',
  },
  {
    selector: 'TemplateElement[value.raw=/^\\s*(BEGIN|START TRANSACTION|COMMIT|ROLLBACK|SAVEPOINT)\\b/]',
    message: 'Transactions belong to TransactionRunner in src/database.',
  },
  {
    selector: "MemberExpression[property.name='errno']",
    message: 'What an error of the store means is decided in src/database.',
  },
]
const OWN_ENVIRONMENT = [
  {
    selector: "MemberExpression[object.name='process'][property.name='env']",
    message: 'The environment is read once, by src/config; inject Config.',
  },
]

/** Statements and messages may be longer: what is broken cannot be searched for. */
const LINE = {
  code: 120,
  ignoreStrings: true,
  ignoreTemplateLiterals: true,
  ignoreRegExpLiterals: true,
  ignoreUrls: true,
}

const OWN_FILES = [
  { selector: "JSXAttribute[name.name='style']", message: 'How things look stands in style.css.' },
  { selector: "JSXAttribute[name.name='dangerouslySetInnerHTML']", message: 'What people wrote is text.' },
]

export default defineConfig(
  globalIgnores(['**/dist/', '**/.build-*/', 'coverage/', 'data/', 'screenshots/', 'client/src/schema.ts']),
  {
    linterOptions: { reportUnusedDisableDirectives: 'error' },
  },
  {
    files: ['**/*.{mjs,cjs}'],
    extends: [js.configs.recommended],
    languageOptions: { globals: Object.fromEntries(NODE_GLOBALS.map((name) => [name, 'readonly'])) },
  },
  {
    files: ['**/*.cjs'],
    languageOptions: { sourceType: 'commonjs', globals: { module: 'writable', require: 'readonly' } },
  },
  {
    files: ['**/*.{ts,tsx}'],
    extends: [js.configs.recommended, tseslint.configs.strictTypeChecked],
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    rules: {
      'max-len': ['error', LINE],
      eqeqeq: ['error', 'always', { null: 'ignore' }],
      'no-restricted-syntax': ['error', ...OWN_CLOCK, ...OWN_TIMERS],
      '@typescript-eslint/no-floating-promises': 'error',
      '@typescript-eslint/no-misused-promises': 'error',
      '@typescript-eslint/return-await': ['error', 'in-try-catch'],
      '@typescript-eslint/switch-exhaustiveness-check': [
        'error',
        { considerDefaultExhaustiveForUnions: true, requireDefaultForNonUnion: true },
      ],
      // Leaves files with decorators alone: emitDecoratorMetadata needs the classes in decorated signatures as values.
      '@typescript-eslint/consistent-type-imports': ['error', { fixStyle: 'inline-type-imports' }],
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_', varsIgnorePattern: '^_' }],
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true, allowBoolean: true }],
      '@typescript-eslint/no-confusing-void-expression': [
        'error',
        { ignoreArrowShorthand: true, ignoreVoidReturningFunctions: true },
      ],
      '@typescript-eslint/no-unnecessary-condition': [
        'error',
        { allowConstantLoopConditions: 'only-allowed-literals' },
      ],
      // Nest's modules are classes without members.
      '@typescript-eslint/no-extraneous-class': ['error', { allowWithDecorator: true }],
      // Entities are plain data: columns without methods, copied and written as literals.
      '@typescript-eslint/no-unsafe-class-instance-assignment': 'off',
      '@typescript-eslint/no-misused-spread': [
        'error',
        { allow: ['ActRow', 'AllocationRow', 'ChangeRow', 'HoldRow', 'OperationRow', 'OwnerRow', 'QuotaRow'] },
      ],
      // An implementation of an asynchronous interface may have nothing to wait for.
      '@typescript-eslint/require-await': 'off',
      // A type parameter used once still documents what the caller gets.
      '@typescript-eslint/no-unnecessary-type-parameters': 'off',
    },
  },
  {
    files: ['src/**/*.ts', 'connectors/*/src/**/*.ts'],
    // What a caller sends is matched in time that grows with its length alone.
    extends: [regexp.configs['flat/recommended']],
    rules: {
      'no-console': 'error',
      'regexp/no-super-linear-backtracking': ['error', { report: 'potential' }],
      'regexp/no-super-linear-move': ['error', { report: 'potential' }],
      // What ASCII can print, with and without the blank.
      'regexp/no-obscure-range': ['error', { allowed: ['alphanumeric', ' -~', '!-~'] }],
      // Matters of taste.
      'regexp/match-any': 'off',
      'regexp/no-unused-capturing-group': 'off',
      'regexp/prefer-d': 'off',
      'regexp/prefer-w': 'off',
      'regexp/use-ignore-case': 'off',
    },
  },
  {
    files: ['src/**/*.ts'],
    rules: { 'no-restricted-syntax': ['error', ...OWN_CLOCK, ...OWN_TIMERS, ...OWN_TRANSACTIONS, ...OWN_ENVIRONMENT] },
  },
  {
    // Their docstrings are the text of openapi.json, where a line's end would show.
    files: ['src/**/*.dto.ts'],
    rules: { 'max-len': ['error', { ...LINE, ignoreComments: true }] },
  },
  {
    // A class of a channel's DTOs is only the type of a parameter here; its decorator's metadata needs the value. The
    // compiler sees that (`noUnusedLocals`).
    files: ['src/**/*.controller.ts'],
    rules: { '@typescript-eslint/no-unused-vars': 'off' },
  },
  {
    files: ['src/database/migrations/*.ts'],
    rules: { 'max-len': 'off' },
  },
  {
    files: ['src/common/{clock,followed-clock,time-slice}.ts', 'src/common/followed-clock.spec.ts'],
    rules: { 'no-restricted-syntax': ['error', ...OWN_TIMERS, ...OWN_TRANSACTIONS, ...OWN_ENVIRONMENT] },
  },
  {
    files: ['src/database/**/*.ts'],
    rules: { 'no-restricted-syntax': ['error', ...OWN_CLOCK, ...OWN_TIMERS, ...OWN_ENVIRONMENT] },
  },
  {
    files: ['src/config/**/*.ts'],
    rules: { 'no-restricted-syntax': ['error', ...OWN_CLOCK, ...OWN_TIMERS, ...OWN_TRANSACTIONS] },
  },
  {
    // A name of its own, for what the contract calls so: an interface is shown by its name, where an alias would be spelt out.
    files: ['client/src/types.ts'],
    rules: { '@typescript-eslint/no-empty-object-type': ['error', { allowInterfaces: 'with-single-extends' }] },
  },
  {
    // The console runs in browsers, and reaches the service by the client alone.
    files: ['console/src/**/*.{ts,tsx}'],
    extends: [hooks.configs.flat['recommended-latest']],
    rules: {
      'no-restricted-imports': [
        'error',
        { patterns: [{ regex: '\\.\\./(src|client)/', message: 'The console has no business in other packages.' }] },
      ],
      'no-restricted-globals': ['error', { name: 'localStorage', message: 'Nothing outlives the tab.' }],
      'no-restricted-syntax': ['error', ...OWN_CLOCK, ...OWN_TIMERS, ...OWN_FILES],
    },
  },
  {
    // What is shown goes by the browser's clock.
    files: ['console/src/format.tsx'],
    rules: { 'no-restricted-syntax': ['error', ...OWN_TIMERS, ...OWN_FILES] },
  },
  {
    // Tests and measurements look at untyped answers, reach into rows and own their clock.
    files: ['test/**/*.ts', 'client/test/**/*.ts', 'bench/**/*.ts', '**/*.spec.ts'],
    rules: {
      'no-restricted-syntax': 'off',
      '@typescript-eslint/no-non-null-assertion': 'off',
      '@typescript-eslint/no-unsafe-argument': 'off',
      '@typescript-eslint/no-unsafe-assignment': 'off',
      '@typescript-eslint/no-unsafe-call': 'off',
      '@typescript-eslint/no-unsafe-member-access': 'off',
      '@typescript-eslint/no-unsafe-return': 'off',
      '@typescript-eslint/unbound-method': 'off',
    },
  },
)
