/** The handle by which applications use the relationships of an actor. */
import type { TrustHandle } from '../app/actor-handle.ts'
import type { Companions } from '../trust/companions.ts'
import { trustRecord } from '../trust/record.ts'
import type { Self } from '../trust/trust-deps.ts'
import type { Trusts } from '../trust/trusts.ts'

export function trustHandle(trusts: Trusts, companions: Companions, actor: Self): TrustHandle {
  return {
    list: async (filter = {}) => (await trusts.list(actor.id, filter)).map(trustRecord),
    async get(peerId) {
      const trust = await trusts.find(actor.id, peerId)
      return trust === null ? undefined : trustRecord(trust)
    },
    request: async (url, relationship, description) =>
      trustRecord(await trusts.request(actor, { url, relationship, description })),
    approve: async (peerId) => trustRecord(await trusts.change(actor, peerId, null, { approved: true })),
    delete: (peerId) => trusts.delete(actor, peerId, null, { byPeer: false, notify: true }),
    async companion(kind) {
      const { peerId } = await companions.obtain(actor, kind)
      return trustRecord(await trusts.require(actor.id, peerId, null))
    },
    deleteCompanion: (kind) => companions.remove(actor, kind),
  }
}
