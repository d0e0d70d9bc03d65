/** A package in package-lock.json. */
export interface LockedPackage {
  readonly link?: boolean
  readonly dependencies?: Readonly<Record<string, string>>
}

/** The paths of packages that a folder imports by these names, and of their dependencies. */
export function neededBy(
  packages: Readonly<Record<string, LockedPackage>>,
  folder: string,
  names: readonly string[],
): string[]
