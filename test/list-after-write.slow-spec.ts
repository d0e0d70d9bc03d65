import { SCALE } from './support/figures.js'
import { listsAfterWrites } from './support/lists-after-writes.js'

// Of two channels: ten thousand on each store.
listsAfterWrites(Math.round(5_000 * SCALE))
