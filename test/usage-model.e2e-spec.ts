import { usageEqualsItsModel } from './support/usage-model.contract.js'

// Within the minutes of `npm test`; eight times as many are lived through by usage-model.slow-spec.ts.
usageEqualsItsModel(60)
