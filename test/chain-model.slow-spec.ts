import { chainsEqualTheirModel } from './support/chain-model.contract.js'

chainsEqualTheirModel(30)
