import { SCALE } from './support/figures.js'
import { listsAfterWrites } from './support/lists-after-writes.js'

// Of two channels: RELIABILITY_SCALE=20 makes ten thousand of each on each store.
listsAfterWrites(Math.round(500 * SCALE))
