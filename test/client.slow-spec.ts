import { clientLosesNothing } from './support/client.contract.js'
import { SCALE } from './support/figures.js'
import { onEveryStore } from './support/store.js'

onEveryStore('the client, on a network that loses answers,', (kind) => {
  clientLosesNothing(kind, Math.round(1_000 * SCALE))
})
