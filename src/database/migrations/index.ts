import { Ledger1790000000000 } from './1790000000000-ledger.js'
import { BackOffice1795300000000 } from './1795300000000-back-office.js'
import { PlainConsumes1795400000000 } from './1795400000000-plain-consumes.js'
import { WritePlainConsumes1795400000001 } from './1795400000001-write-plain-consumes.js'
import { Callers1795700000000 } from './1795700000000-callers.js'
import { UsageTotals1795500000000 } from './1795500000000-usage-totals.js'
import { LedgerGate1795800000000 } from './1795800000000-ledger-gate.js'
import { RefusedAmounts1795810000000 } from './1795810000000-refused-amounts.js'
import { Instances1795820000000 } from './1795820000000-instances.js'
import { Caps1795830000000 } from './1795830000000-caps.js'
import { WriteCaps1795830000001 } from './1795830000001-write-caps.js'
import { Events1795840000000 } from './1795840000000-events.js'
import { Webhooks1795841000000 } from './1795841000000-webhooks.js'
import { ChangeSets1795850000000 } from './1795850000000-change-sets.js'
import { Names1795860000000 } from './1795860000000-names.js'

/** All migrations, oldest first. Append only: never edit a released one. */
export const MIGRATIONS = [
  Ledger1790000000000,
  BackOffice1795300000000,
  PlainConsumes1795400000000,
  WritePlainConsumes1795400000001,
  UsageTotals1795500000000,
  Callers1795700000000,
  LedgerGate1795800000000,
  RefusedAmounts1795810000000,
  Instances1795820000000,
  Caps1795830000000,
  WriteCaps1795830000001,
  Events1795840000000,
  Webhooks1795841000000,
  ChangeSets1795850000000,
  Names1795860000000,
]

/**
 * Migrations whose effect instances of the previous version cannot handle. They run on an empty database; on others,
 * only when the operator confirms that no such instance is left: `npm run migrate -- --finish`.
 */
export const FINISHING: readonly { readonly name: string }[] = [WritePlainConsumes1795400000001, WriteCaps1795830000001]
