/** `troupe/client`: the client of an actor, for browsers and Node.js. */
export { type TroupeClient, type TroupeClientOptions, type ClientPeer, createClient } from './client/client.ts'
export { RequestFailed } from './client/request-failed.ts'
export type { CallApproval, CallApprovals } from './client/approvals.ts'
export type { RequestOptions } from './client/connection.ts'
export type { ClientList, IfVersion, ListPart, ListSelection, ReadableList } from './client/list-handle.ts'
export type { ClientProperty, ClientValue } from './client/property-handle.ts'
export type { OfferedProvider, ClientSession, TokenStorage } from './client/session.ts'
export type { WatchedState, Watched } from './client/watched.ts'
