import { clientLosesNothing } from './support/client.contract.js'
import { onEveryStore } from './support/store.js'

onEveryStore('the client, on a network that loses answers,', (kind) => {
  clientLosesNothing(kind, 10_000)
})
