import { generatedRequestsMeetNoFault } from './support/generated-requests.contract.js'

generatedRequestsMeetNoFault(5_000)
