/** The handle by which applications use an actor. It takes plain values and applies the same rules as other access. */
import type { ActorHandle, AnyDeclared, ListHandle, PagedReadingHandle, StaleHandle } from '../app/actor-handle.ts'
import type { GroupKind } from '../app/kinds/groups.ts'
import { memberType } from '../app/kinds/roles.ts'
import type { PropertyPath } from '../app/property-path.ts'
import type { Clients } from '../authorization-server/clients.ts'
import { alarmSetting, alarmsHandle } from './alarms.ts'
import { clientsHandle } from './clients.ts'
import type { Alarms } from '../job/alarms.ts'
import type { Keys } from '../authorization-server/keys.ts'
import { keysHandle } from './keys.ts'
import { fromPlain, type Json, type JsonText, known, normalize, toPlain } from '../json/json.ts'
import type { Access } from '../property/access.ts'
import { kinds, valueOf } from '../property/kinds.ts'
import type { Properties, StaleProperties } from '../property/properties.ts'
import type { Connections } from '../connection/connections.ts'
import { servicesHandle } from './services.ts'
import type { Publications } from '../publication/publications.ts'
import { type SubscribingHandleDeps, subscribingHandle } from './subscriber.ts'
import type { Accounts } from '../sign-in/accounts.ts'
import { signInHandle } from './sign-in.ts'
import { type PeerHandleDeps, peerHandle } from './peer.ts'
import { subscriptionsHandle } from './subscriptions.ts'
import { type TrustHandleDeps, trustHandle } from './trust.ts'
import { activityHandle } from './activity.ts'
import { historyHandle, type HistoryHandleDeps } from './history.ts'
import type { AuditLog } from '../audit-log/audit-log.ts'
import type { Live } from '../live/live.ts'
import { type ListHandleDeps, listHandle } from './list.ts'
import { type ValueChange, declaredType, nameOf, segmentsOf, transactionHandle, updateIn } from './transaction.ts'
import type { Transactions } from '../transaction/transactions.ts'

export interface HandleDeps
  extends HistoryHandleDeps,
    SubscribingHandleDeps,
    ListHandleDeps,
    TrustHandleDeps,
    PeerHandleDeps {
  readonly properties: Properties
  readonly transactions: Transactions
  readonly publications: Publications
  readonly accounts: Accounts
  readonly auditLog: AuditLog
  readonly live: Live
  readonly connections: Connections
  readonly clients: Clients
  readonly alarms: Alarms
  readonly keys: Keys
  readonly baseUrl: string
}

/** Makes the members of the handle that the core has. Features add the others. */
export function actorHandle(deps: HandleDeps, access: Access): Partial<ActorHandle> {
  const { properties } = deps
  const url = `${deps.baseUrl}/${access.actor.id}`
  const stored = async (path: PropertyPath | AnyDeclared): Promise<readonly string[]> =>
    storedPath(properties, access, path)
  const transaction: ActorHandle['transaction'] = (work) =>
    deps.transactions.run(access, (attempt) => work(transactionHandle(attempt, { ...access.actor, url }, deps.alarms)))
  return {
    id: access.actor.id,
    creator: access.actor.creator,
    kind: access.actor.kind,
    url,

    ...readingHandle(properties, access),
    within: ({ seconds }) => staleHandle(properties.within(seconds * 1000), access),
    set: async (path: PropertyPath | AnyDeclared, value: unknown) =>
      properties.put(access, { path: await stored(path) }, fromPlain(value)),
    setText: async (path, json) => properties.put(access, { path: await stored(path) }, normalize(json)),
    delete: async (path) => properties.remove(access, { path: await stored(path) }),
    transaction,
    update: (path: PropertyPath | AnyDeclared, change: ValueChange): Promise<never> =>
      deps.transactions.run(access, (attempt) => updateIn(attempt, path, change)),
    ...subscribingHandle(deps, access.actor),
    peer: (of: string | GroupKind, groupId = ''): never => {
      const { id } = access.actor
      return declaredType(
        typeof of === 'string' ? peerHandle(deps, id, of) : peerHandle(deps, id, groupId, memberType(of.kind)),
      )
    },
    trust: trustHandle(deps, access.actor),
    subscriptions: subscriptionsHandle(deps.publications, deps.properties, access.actor),
    announce: (changed) =>
      typeof changed === 'string'
        ? deps.live.announce(access.actor.id, changed, '')
        : deps.live.announce(access.actor.id, 'resource', changed.resource),
    alarm: alarmSetting(deps.alarms, access.actor),
    alarms: alarmsHandle(deps.alarms, access.actor.id),
    history: historyHandle(deps, access),
    signIn: signInHandle(deps.accounts, access.actor.id),
    isProven: () => deps.accounts.isProven(access.actor.id),
    clients: clientsHandle(deps.clients, access.actor.id),
    keys: keysHandle(deps.keys, access.actor),
    services: servicesHandle(deps.connections, access.actor.id, url),
    activity: activityHandle(deps.auditLog, access.actor.id),
    list: (list: string | AnyDeclared): ListHandle<never, never> =>
      declaredType(listHandle(deps, access, nameOf(list))),
  }
}

/** The segments of a path, with the stored name of the property. */
async function storedPath(
  properties: Properties,
  { actor }: Access,
  path: PropertyPath | AnyDeclared,
): Promise<readonly string[]> {
  const [name = '', ...below] = segmentsOf(path)
  return [await properties.nameOf(actor.id, name), ...below]
}

function staleHandle({ properties, ageMs }: StaleProperties, access: Access): StaleHandle {
  return { ...readingHandle(properties, access), ageSeconds: () => (ageMs() ?? 0) / 1000 }
}

function readingHandle(properties: Properties, access: Access): PagedReadingHandle {
  async function* entries(): AsyncGenerator<readonly [name: string, value: Json], void> {
    for await (const page of properties.valuePages(access))
      for (const property of page) {
        const value = valueOf(property)
        if (value !== null) yield [property.name, toPlain(value)]
      }
  }
  const getText = async (path: PropertyPath | AnyDeclared): Promise<JsonText | undefined> => {
    const found = await properties.read(access, { path: await storedPath(properties, access, path) })
    return found === null || 'json' in found ? found?.json : known((await Array.fromAsync(found.pieces)).join(''))
  }
  return {
    async get(path: PropertyPath | AnyDeclared): Promise<never> {
      const text = await getText(path)
      return declaredType(text === undefined ? undefined : toPlain(text))
    },
    getText,
    all: async () => Object.fromEntries(await Array.fromAsync(entries())),
    entries,
    async lists() {
      const lists = await properties.lists(access)
      return lists.map((list) => ({ name: list.name, length: kinds[list.kind].itemCount(list) }))
    },
  }
}
