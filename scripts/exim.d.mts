/** The program of an Exim, where this process may run one. */
export function findExim(): string | undefined
