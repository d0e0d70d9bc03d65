import { Baseline1796000000000 } from './1796000000000-baseline.js'

/** The migration that every database of this product begins with. */
export const FIRST: { readonly name: string } = Baseline1796000000000

/** All migrations, oldest first. Append only: never edit a released one. */
export const MIGRATIONS = [Baseline1796000000000]

/**
 * Migrations whose effect instances of the previous version cannot handle. They run on an empty database; on others,
 * only when the operator confirms that no such instance is left: `npm run migrate -- --finish`.
 */
export const FINISHING: readonly { readonly name: string }[] = []
