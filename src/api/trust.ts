/** The handle by which applications use the relationships of an actor. */
import type { Allowance, TrustHandle } from '../app/actor-handle.ts'
import { futureTime } from '../permission/grants.ts'
import type { Explanation } from '../permission/explain.ts'
import type { Companions } from '../trust/companions.ts'
import type { Permissions } from '../trust/permissions.ts'
import { trustRecord } from '../trust/record.ts'
import type { Self } from '../trust/trust-deps.ts'
import type { Trusts } from '../trust/trusts.ts'

export interface TrustHandleDeps {
  readonly trusts: Trusts
  readonly permissions: Permissions
  readonly companions: Companions
  readonly now: () => number
}

export function trustHandle({ trusts, permissions, companions, now }: TrustHandleDeps, actor: Self): TrustHandle {
  return {
    list: async (filter = {}) => (await trusts.list(actor.id, filter)).map(trustRecord),
    async *all(filter = {}) {
      for await (const page of trusts.pages(actor.id, filter)) yield* page.map(trustRecord)
    },
    async get(peerId) {
      const trust = await trusts.find(actor.id, peerId)
      return trust === null ? undefined : trustRecord(trust)
    },
    request: async (url, relationship, description) =>
      trustRecord(await trusts.request(actor, { url, relationship, description })),
    async approve(peerId, { until } = {}) {
      const end = until === undefined ? {} : { approvedUntil: futureTime('approve the relationship', until, now()) }
      return trustRecord(await trusts.change(actor, peerId, null, { approved: true, ...end }))
    },
    grant: (peerId, granted) => permissions.grant(actor.id, peerId, granted),
    withdraw: (peerId, granted) => permissions.withdraw(actor.id, peerId, granted),
    may: async (peerId, operation, target) =>
      allowanceOf(await permissions.explain(actor.id, peerId, `${operation}:${target}`)),
    delete: (peerId) => trusts.delete(actor, peerId, null, { byPeer: false, notify: true }),
    async companion(kind) {
      const { peerId } = await companions.obtain(actor, kind)
      return trustRecord(await trusts.require(actor.id, peerId, null))
    },
    deleteCompanion: (kind) => companions.remove(actor, kind),
  }
}

function allowanceOf(explanation: Explanation): Allowance {
  const { allowed, because, until, to_change: toChange, needs_approval: needsApproval } = explanation
  return {
    allowed,
    reason: because,
    toChange,
    until: until === undefined ? null : new Date(until),
    needsApproval: needsApproval === true,
  }
}
