import { usageEqualsItsModel } from './support/usage-model.contract.js'

// Within the minutes of `npm test`; usage-model.slow-spec.ts lives through four times as many.
usageEqualsItsModel(15)
