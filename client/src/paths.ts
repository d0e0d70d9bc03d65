/** The paths of a channel's calls. */
export interface Paths {
  readonly quotas: string
  readonly list: string
  readonly usage: string
  /** The path of an owner's summary, and its query. */
  summary(owner: object): { path: string; query?: object }
}
