export function findInterpreters(): { python: string; php: string } | undefined
