import { chainsEqualTheirModel } from './support/chain-model.contract.js'

// Within the minutes of `npm test`; chain-model.slow-spec.ts lives through ten times as many.
chainsEqualTheirModel(3)
