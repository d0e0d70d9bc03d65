/** The last released version before this commit, if the history of this checkout has it. */
export function findReleased(): { readonly version: string; readonly commit: string } | undefined
