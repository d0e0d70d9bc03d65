/** Types of mariadb.mjs for the suites; what each does stands there. */
export interface MariaDbServer {
  readonly port: number
  readonly version: string
  url(database?: string): string
  pid(): number | undefined
  kill(): Promise<void>
  start(): Promise<void>
  stop(): Promise<void>
}

export function findMariaDb(): { server: string; installer: string } | undefined
export interface MariaDbOptions {
  host?: string
  args?: string[]
  folder?: string
}
export function startMariaDb(options?: MariaDbOptions): Promise<MariaDbServer>
export function ask(url: string, sql: string): Promise<string>
export function freePort(): Promise<number>
