/** For `npm test`: suites of what quotas are, in one file, so that the application is loaded once. */
import '../back-office.e2e-spec.js'
import '../change-set.e2e-spec.js'
import '../quota.e2e-spec.js'
import '../views.e2e-spec.js'
