import { generatedRequestsMeetNoFault } from './support/generated-requests.contract.js'

generatedRequestsMeetNoFault(2_500)
