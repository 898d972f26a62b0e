/** `troupe/react`: hooks for React that show what a client reads, and follow its changes. */
import { useEffect, useSyncExternalStore } from 'react'
import type { CallApproval } from './client/approvals.ts'
import type { TroupeClient } from './client/client.ts'
import type { ListPart, ListSelection, ReadableList } from './client/list-handle.ts'
import type { PeerRelationship } from './client/peers.ts'
import type { ClientValue } from './client/property-handle.ts'
import type { ClientSession } from './client/session-state.ts'
import type { WatchedState, Watched } from './client/watched.ts'

/** A part of a list with the state of its reading. Without a first reading, the part is empty. @public */
export type ListState<Item> = ListPart<Item> & Pick<WatchedState<unknown>, 'state' | 'error'>

/** The session of a client. The first use restores it. @public */
export function useSession<Application>(client: TroupeClient<Application>): ClientSession {
  useEffect(() => {
    // The session itself shows a failure.
    client.restore().catch(() => {})
  }, [client])
  return useSyncExternalStore(client.onSession, () => client.session)
}

/** The value of a property, or of a peer's property: `useProperty(client.property('budget'))`. @public */
export function useProperty<Value>(property: Pick<ClientValue<Value>, 'watched'>): WatchedState<Value> {
  return useWatched(property.watched)
}

/** A part of a list, or of a peer's list: `useList(client.list('tasks'), { sort: 'due', limit: 50 })`. @public */
export function useList<Item>(
  list: Pick<ReadableList<Item>, 'watched'>,
  selection?: ListSelection<Item>,
): ListState<Item> {
  const { state, value, error } = useWatched(list.watched(selection))
  return { items: [], start: null, length: null, next: null, version: null, ...value, state, error }
}

/** The relationships of the actor. @public */
export function usePeers<Application>(client: TroupeClient<Application>): WatchedState<readonly PeerRelationship[]> {
  return useWatched(client.peers.watched)
}

/** The calls that wait for the owner's approval. @public */
export function useApprovals<Application>(client: TroupeClient<Application>): WatchedState<readonly CallApproval[]> {
  return useWatched(client.approvals.watched)
}

/**
 * A value that follows its changes: `useWatched(home)`, where `home = client.watched(() => client.action('show_home'))`.
 *
 * @public
 */
export function useWatched<Value>({ subscribe, snapshot }: Watched<Value>): WatchedState<Value> {
  return useSyncExternalStore(subscribe, snapshot, snapshot)
}
