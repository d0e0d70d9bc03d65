import { createRequire } from 'node:module'

const { TestEnvironment } = createRequire(import.meta.url)('jest-environment-node')

/*
 * A worker ends when it has nothing left to do. Before it exits, Node tears down its heap: for a worker
 * that has run dozens of suites, this takes longer than the 500 ms after which Jest kills it and blames the suites. With
 * this code, the system frees the memory at once, and Jest's complaint means that a suite has left something open.
 */
process.once('beforeExit', () => process.exit())

/** Jest's environment for Node. */
export default TestEnvironment
