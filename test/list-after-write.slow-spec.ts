import { listsAfterWrites } from './support/lists-after-writes.js'

listsAfterWrites(10_000)
