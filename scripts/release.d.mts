/** Types of release.mjs for the suites; what each does stands there. */
export interface Release {
  readonly version: string
  readonly commit: string
}
export const RELEASE: Release
export const BEFORE_CAPS: Release
export function missingRelease(release?: Release): string | undefined
export function buildRelease(folder: string, release?: Release): Promise<string>
