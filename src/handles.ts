/** `troupe/handles`: the types that an `ActorHandle` returns, for functions of an application that take one of them. */
export type {
  Activity,
  ActivityPage,
  ActorClient,
  Allowance,
  ClientsHandle,
  Delivery,
  ListHandle,
  ListItem,
  ListItemWithHandle,
  ListMetadata,
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
export type { MailMessage, MailResult } from './features/mail/handle-types.ts'
export type { Webhook, WebhookDelivery, WebhooksHandle } from './features/webhooks/handle-types.ts'
export type { FileInfo, FilePage, FilesHandle, OpenFile } from './features/files/handle-types.ts'
export type { HistoryHandle, PastChange } from './app/history/history-handle.ts'
export type { ActorInvitation, InvitationsHandle, NewInvitation } from './features/invitations/handle-types.ts'
export type { GroupMember, GroupOfActor, MemberInvitation, MembersHandle } from './app/kinds/groups.ts'
export type { ActorKey, KeysHandle, NewKey } from './app/keys.ts'
export type { ListQuery, ListQueryPage, QueriedItem } from './app/list-query.ts'
export type { PeerHandle, PeerListHandle, PeerListPage } from './app/peer-handle.ts'
export type { NewGrant } from './permission/grants.ts'
export type { TrustRecord } from './app/trust-record.ts'
