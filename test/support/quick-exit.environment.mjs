import { createRequire } from 'node:module'

const { TestEnvironment } = createRequire(import.meta.url)('jest-environment-node')

/*
 * A worker ends when it has nothing left to do. Before it is gone, Node takes its heap apart: that of a worker which has
 * run dozens of suites takes longer than the 500 ms after which Jest ends it by force and blames the suites. With this,
 * the system takes the memory back at once, and that complaint means that a suite has left something open.
 */
process.once('beforeExit', () => process.exit())

/** Jest's environment for Node. */
export default TestEnvironment
