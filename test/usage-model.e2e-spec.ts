import { usageEqualsItsModel } from './support/usage-model.contract.js'

// Within the minutes of `npm test`; six times as many are lived through by usage-model.slow-spec.ts.
usageEqualsItsModel(40)
