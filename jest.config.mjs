/** ESM under Jest: ts-jest emits modules, and Node runs them (--experimental-vm-modules). */
export default {
  testEnvironment: 'node',
  rootDir: '.',
  roots: ['<rootDir>/src', '<rootDir>/test'],
  testMatch: ['**/*.spec.ts', '**/*.e2e-spec.ts'],
  // Three cluster nodes take minutes: only where they are asked for.
  testPathIgnorePatterns: ['/node_modules/', ...(process.env.QUOTA_GALERA === '1' ? [] : ['/galera\\.'])],
  extensionsToTreatAsEsm: ['.ts'],
  moduleNameMapper: { '^(\\.{1,2}/.*)\\.js$': '$1' },
  transform: { '^.+\\.ts$': ['ts-jest', { useESM: true, diagnostics: false }] },
  // Suites that start processes and databases would starve each other on more.
  maxWorkers: 2,
  restoreMocks: true,
  errorOnDeprecated: true,
  collectCoverageFrom: ['src/**/*.ts', '!src/main.ts', '!src/**/*.spec.ts'],
  coverageDirectory: 'coverage',
  coverageProvider: 'v8',
  testTimeout: 30_000,
}
