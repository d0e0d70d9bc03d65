/** For `npm test`: suites of groups and of what is told, in one file, so that the application is loaded once. */
import '../events.e2e-spec.js'
import '../groups.e2e-spec.js'
import '../notifications.e2e-spec.js'
import '../owner-links.e2e-spec.js'
import '../spells.e2e-spec.js'
import '../webhooks.e2e-spec.js'
