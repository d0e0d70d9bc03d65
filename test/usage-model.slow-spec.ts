import { usageEqualsItsModel } from './support/usage-model.contract.js'

usageEqualsItsModel(60)
