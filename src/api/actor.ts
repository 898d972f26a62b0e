/** The actor as applications hold it: plain values in and out, the same rules as any other access. */
import type { ActorHandle, ListHandle } from '../app/actor-handle.ts'
import type { Clients } from '../authorization-server/clients.ts'
import { clientsHandle } from './clients.ts'
import { fromPlain, type Json, toPlain } from '../json/json.ts'
import type { Access } from '../property/access.ts'
import type { Lists } from '../property/lists.ts'
import { listMetadata } from '../list/list.ts'
import type { Properties } from '../property/properties.ts'
import type { Connections } from '../connection/connections.ts'
import { servicesHandle } from './services.ts'
import type { Companions } from '../trust/companions.ts'
import type { Publications } from '../publication/publications.ts'
import { type SubscribingHandleParts, subscribingHandle } from './subscriber.ts'
import type { Accounts } from '../sign-in/accounts.ts'
import { signInHandle } from './sign-in.ts'
import { subscriptionsHandle } from './subscriptions.ts'
import { trustHandle } from './trust.ts'
import type { Trusts } from '../trust/trusts.ts'
import { activityHandle } from './activity.ts'
import type { AuditLog } from '../audit-log/audit-log.ts'
import type { Live } from '../live/live.ts'
import { listHandle } from './list.ts'

export interface HandleParts extends SubscribingHandleParts {
  readonly properties: Properties
  readonly lists: Lists
  readonly trusts: Trusts
  readonly publications: Publications
  readonly companions: Companions
  readonly accounts: Accounts
  readonly ledger: AuditLog
  readonly live: Live
  readonly connections: Connections
  readonly clients: Clients
  readonly baseUrl: string
}

export function actorHandle(parts: HandleParts, access: Access): ActorHandle {
  const { properties, lists } = parts
  return {
    id: access.actor.id,
    creator: access.actor.creator,
    url: `${parts.baseUrl}/${access.actor.id}`,

    async get(name): Promise<Json | undefined> {
      const found = await properties.get(access, [name])
      if (found === null) return undefined
      const value = found.kind === 'list' ? await lists.value(access, name) : found.value
      return value === null ? undefined : toPlain(value)
    },
    async all() {
      const shown = await properties.all(access)
      return Object.fromEntries(
        shown.flatMap((property) => (property.kind === 'value' ? [[property.name, toPlain(property.value)]] : [])),
      )
    },
    set: async (name, value) => void (await properties.put(access, [name], fromPlain(value))),
    async delete(name) {
      if ((await properties.kindOf(access, 'delete', [name])) === 'list') return lists.remove(access, name)
      return properties.delete(access, [name])
    },
    ...subscribingHandle(parts, access.actor),
    trust: trustHandle(parts.trusts, parts.companions, access.actor),
    subscriptions: subscriptionsHandle(parts.publications, access.actor),
    announce: (changed) =>
      typeof changed === 'string'
        ? parts.live.announce(access.actor.id, changed, '')
        : parts.live.announce(access.actor.id, 'resource', changed.resource),
    signIn: signInHandle(parts.accounts, access.actor.id),
    clients: clientsHandle(parts.clients, access.actor.id),
    services: servicesHandle(parts.connections, access.actor.id, `${parts.baseUrl}/${access.actor.id}`),
    activity: activityHandle(parts.ledger, access.actor.id),
    list: (name): ListHandle => listHandle(lists, access, name),
    async lists() {
      const shown = await lists.withoutHidden(access, await properties.all(access))
      return shown.flatMap((property) =>
        property.kind === 'list'
          ? [{ name: property.name, length: listMetadata(property.name, property.head).length }]
          : [],
      )
    },
  }
}
