/** The program of an installed Postfix, where this process may run one. */
export function findPostfix(): string | undefined
