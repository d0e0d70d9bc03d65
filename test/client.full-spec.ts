import { describe } from '@jest/globals'
import { clientKeepsItsWord, clientLosesNothing } from './support/client.contract.js'
import { onEveryStore } from './support/store.js'

onEveryStore('the client, on a network that loses answers,', (kind) => {
  describe('by 50 senders', () => {
    clientLosesNothing(kind, 400)
  })

  describe('in calls of many requests', () => {
    clientKeepsItsWord(kind)
  })
})
