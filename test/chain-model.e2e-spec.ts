import { chainsEqualTheirModel } from './support/chain-model.contract.js'

// Within the minutes of `npm test`; MODEL_RUNS=30 lives through more of them.
chainsEqualTheirModel(2)
