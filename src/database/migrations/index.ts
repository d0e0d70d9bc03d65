import { Ledger1790000000000 } from './1790000000000-ledger.js'
import { BackOffice1795300000000 } from './1795300000000-back-office.js'

/** Every migration, oldest first. Append only: one that has been released is never edited. */
export const MIGRATIONS = [Ledger1790000000000, BackOffice1795300000000]
