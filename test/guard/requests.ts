/** For `npm test`: suites of requests and callers, in one file, so that the application is loaded once. */
import '../access.e2e-spec.js'
import '../fuzz.e2e-spec.js'
import '../migration.e2e-spec.js'
import '../nest.e2e-spec.js'
import '../oidc.e2e-spec.js'
import '../token-command.e2e-spec.js'
import '../wire.e2e-spec.js'
