export function findCalc(): string | undefined
