/** The folder of PostgreSQL's programs, and slapd; undefined if one of them is missing. */
export function findAccountSources(): { readonly postgres: string; readonly slapd: string } | undefined
