import { describe, it } from 'node:test'
import type { PeerClient } from '../../src/peer/peer-client.ts'
import { runPropertyModel } from '../support/property-runs.ts'
import { runRelationshipModel } from '../support/relationship-runs.ts'
import { forEachService } from '../support/service.ts'

/** A peer that only sends requests: calls to it never arrive. */
const silent: PeerClient = {
  call: async () => ({ kind: 'unreached', reason: 'the peer is silent' }),
  close: async () => {},
}

describe('properties and lists under random requests (CON-01)', () => {
  forEachService((start) => {
    it('give the answers of a plain object and plain arrays, and hold the same values after each request', async () => {
      await runPropertyModel(await start({ logLevel: 'silent' }), { runs: 200 })
    })
  })
})

describe('relationships and subscriptions under random requests (CON-01)', () => {
  forEachService((start) => {
    it('give the answers of a model in memory, and have its state after each request', async () => {
      await runRelationshipModel(await start({ logLevel: 'silent', peerClient: silent }), { runs: 15 })
    })
  })
})
