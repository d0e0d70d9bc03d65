/** For `npm test`: suites of what is used, in one file, so that the application is loaded once. */
import '../batch.e2e-spec.js'
import '../caps.e2e-spec.js'
import '../chain-model.e2e-spec.js'
import '../own.e2e-spec.js'
import '../usage.e2e-spec.js'
