/** Types of release.mjs for the suites; what each does stands there. */
export const RELEASE: { readonly version: string; readonly commit: string }
export function missingRelease(): string | undefined
export function buildRelease(folder: string): Promise<string>
