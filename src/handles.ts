/** `troupe/handles`: the types that an `ActorHandle` returns, for functions of an application that take one of them. */
export type {
  Activity,
  ActivityPage,
  ActivitySearch,
  ActorClient,
  Allowance,
  AskedOperation,
  ClientsHandle,
  ClientStats,
  Delivery,
  ListHandle,
  ListItem,
  ListItemWithHandle,
  ListMetadata,
  ProviderAccess,
  RemoteHandle,
  RemoteListHandle,
  ServiceConnection,
  ServiceHandle,
  ServicesHandle,
  SignIn,
  SignInHandle,
  Subscription,
  SubscriptionsHandle,
  SyncSummary,
  TransactionListHandle,
  TrustHandle,
} from './app/actor-handle.ts'
export type { Alarm, AlarmsHandle, TransactionAlarms } from './app/background/alarms.ts'
export type {
  Webhook,
  WebhookDelivery,
  WebhookEvent,
  WebhookOptions,
  WebhooksHandle,
} from './app/background/webhooks.ts'
export type { FileContent, FileInfo, FileOptions, FilePage, FilesHandle, OpenFile } from './app/files/file-handle.ts'
export type { ChangeSelection, HistoryHandle, PastChange } from './app/history/history-handle.ts'
export type { ActorInvitation, InvitationsHandle, NewInvitation } from './app/access/invitations.ts'
export type { ActorKey, KeyGrant, KeysHandle, NewKey } from './app/keys.ts'
export type { ListQuery, ListQueryPage, ListWhere, QueriedItem } from './app/list-query.ts'
export type { PeerHandle, PeerListHandle, PeerListPage } from './app/peer-handle.ts'
export type { NewGrant, Withdrawal } from './permission/grants.ts'
export type { TrustRecord } from './app/trust-record.ts'
