import { generatedRequestsMeetNoFault } from './support/generated-requests.contract.js'

// Within the minutes of `npm test`; more are sent by fuzz.slow-spec.ts.
generatedRequestsMeetNoFault(200)
