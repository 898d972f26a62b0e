/** The records of an archive that are rows of one table, in their order in the archive (docs/archives.md). */
import {
  companionPassphrase,
  type SealedColumn,
  serviceTokens,
  trustSecret,
  trustToken,
  webhookSecrets,
} from '../secret/sealed-columns.ts'

/**
 * How a member of a record is stored. `time`: Unix milliseconds as an ISO 8601 text; `never`: like `time`, with 0 for null. `json`:
 * JSON as text, with an empty text for null. `value`: JSON as text. `flag`: 0 or 1. `secret`: sealed.
 */
export type MemberType = 'text' | 'integer' | 'flag' | 'time' | 'never' | 'json' | 'value' | 'secret'

export interface RecordMember {
  readonly name: string
  readonly column: string
  readonly type: MemberType
  /** Place of a secret. */
  readonly sealed?: SealedColumn
}

export interface RecordKind {
  readonly kind: string
  readonly table: string
  /** The column with the id of the actor. Default: `actor_id`. */
  readonly owner?: string
  /** The columns of the key besides the actor, which order the records. Without one, the actor has at most one record. */
  readonly key: readonly string[]
  readonly members: readonly RecordMember[]
  /** Which rows of the table have this kind. */
  readonly where?: string
  /** True for records that only archives with secrets contain. */
  readonly isSecret?: true
  /** True for records that only an archive for a move contains: what waits, and continues at the new service. */
  readonly isOfMove?: true
  /** A column of long texts. A page ends before they become too long together. */
  readonly longColumn?: string
}

function member(type: MemberType, name: string, column = name): RecordMember {
  return { name, column, type }
}

const text = (name: string, column?: string): RecordMember => member('text', name, column)
const integer = (name: string, column?: string): RecordMember => member('integer', name, column)
const flag = (name: string, column?: string): RecordMember => member('flag', name, column)
const time = (name: string, column?: string): RecordMember => member('time', name, column)
const never = (name: string, column?: string): RecordMember => member('never', name, column)
const json = (name: string, column?: string): RecordMember => member('json', name, column)
const value = (name: string, column?: string): RecordMember => member('value', name, column)

function secret(name: string, sealed: SealedColumn): RecordMember {
  return { name, column: sealed.column, type: 'secret', sealed }
}

export const account: RecordKind = {
  kind: 'account',
  table: 'account',
  key: [],
  members: [text('identifier'), flag('verified'), text('subject'), json('fields')],
}

/** The messages to peers that an archive for a move contains. The old service still sends those about ends of relationships. */
export const noticesOfMoves = ['approval', 'permission', 'unsubscribe', 'revoke', 'acknowledge'] as const

/** Records after the properties, lists and files. */
export const recordKinds: readonly RecordKind[] = [
  {
    kind: 'passkey',
    table: 'passkey',
    key: ['passkey_id'],
    members: [
      text('passkey_id'),
      text('public_key'),
      integer('counter'),
      json('transports'),
      flag('synced'),
      text('name'),
      time('created_at'),
      time('last_used_at'),
    ],
    isSecret: true,
  },
  {
    kind: 'attribute',
    table: 'attribute',
    key: ['bucket', 'name'],
    members: [text('bucket'), text('name'), value('data'), time('timestamp')],
    isSecret: true,
    longColumn: 'data',
  },
  {
    kind: 'alarm',
    table: 'job',
    key: ['id'],
    where: `kind = 'alarm'`,
    members: [json('alarm', 'id'), time('at'), text('setting', 'entry_id'), json('data'), integer('hops')],
    isSecret: true,
  },
  {
    kind: 'change',
    table: 'history',
    key: ['seq'],
    members: [
      integer('id', 'seq'),
      time('at'),
      text('name'),
      text('property_kind', 'kind'),
      text('operation'),
      flag('existed'),
      text('content'),
      integer('characters'),
      integer('version'),
      integer('checksum'),
      text('caller_kind'),
      text('caller'),
      text('request_id', 'request'),
      text('origin'),
    ],
    longColumn: 'content',
  },
  {
    kind: 'activity',
    table: 'activity',
    key: ['at', 'id'],
    members: [
      time('at'),
      text('id'),
      text('caller_kind'),
      text('caller'),
      text('through'),
      text('method'),
      text('path'),
      text('decision'),
      text('reason'),
      integer('status'),
      text('request_id'),
      integer('times'),
      text('device'),
      text('caller_name'),
    ],
  },
  {
    kind: 'relationship',
    table: 'trust',
    key: ['peer_id'],
    where: `baseuri <> ''`,
    members: [
      text('peer_id'),
      text('baseuri'),
      text('type'),
      text('relationship'),
      secret('secret', trustSecret),
      secret('verification_token', trustToken),
      text('description'),
      text('nickname'),
      flag('approved'),
      time('approved_until'),
      flag('peer_approved'),
      flag('verified'),
      text('established_via'),
      json('facts'),
      time('created_at'),
      never('last_accessed'),
      text('last_connected_via'),
      text('request'),
    ],
  },
  {
    kind: 'app',
    table: 'trust',
    key: ['peer_id'],
    where: `baseuri = ''`,
    members: [
      text('peer_id'),
      text('relationship'),
      text('description'),
      text('nickname'),
      flag('approved'),
      time('approved_until'),
      text('established_via'),
      json('facts'),
      time('created_at'),
      never('last_accessed'),
    ],
  },
  {
    kind: 'rights',
    table: 'permission_override',
    key: ['peer_id'],
    members: [text('peer_id'), json('rules'), text('created_by'), text('notes'), time('updated_at')],
  },
  { kind: 'expiry', table: 'expiry', key: ['peer_id'], members: [text('peer_id'), time('due_at')] },
  {
    kind: 'companion',
    table: 'companion',
    key: ['kind'],
    members: [
      text('name', 'kind'),
      text('peer_id'),
      text('baseuri'),
      text('type'),
      secret('passphrase', companionPassphrase),
    ],
  },
  {
    kind: 'suspension',
    table: 'suspension',
    key: ['target', 'subtarget'],
    members: [text('target'), text('subtarget')],
  },
  {
    kind: 'subscription_of_peer',
    table: 'publisher_subscription',
    key: ['peer_id', 'subscription_id'],
    members: [
      text('peer_id'),
      text('subscription_id'),
      text('target'),
      text('subtarget'),
      text('resource'),
      text('granularity'),
      integer('sequence'),
      text('state'),
      time('created_at'),
    ],
  },
  {
    kind: 'subscription_to_peer',
    table: 'subscriber_subscription',
    key: ['peer_id', 'subscription_id'],
    members: [
      text('peer_id'),
      text('subscription_id'),
      text('target'),
      text('subtarget'),
      text('resource'),
      text('granularity'),
      integer('sequence'),
      time('created_at'),
    ],
  },
  {
    kind: 'diff',
    table: 'diff',
    key: ['peer_id', 'subscription_id', 'sequence'],
    members: [
      text('peer_id'),
      text('subscription_id'),
      integer('sequence'),
      text('diff_kind', 'kind'),
      value('data'),
      flag('replaces'),
      time('created_at'),
      time('cleared_at'),
      integer('hops'),
    ],
    isOfMove: true,
    longColumn: 'data',
  },
  {
    kind: 'delivered',
    table: 'publisher_subscription',
    key: ['peer_id', 'subscription_id'],
    members: [text('peer_id'), text('subscription_id'), integer('committed')],
    isOfMove: true,
  },
  {
    kind: 'pending_callback',
    table: 'pending_callback',
    key: ['peer_id', 'subscription_id', 'sequence'],
    members: [text('peer_id'), text('subscription_id'), integer('sequence'), text('body'), time('received_at')],
    isOfMove: true,
    longColumn: 'body',
  },
  {
    kind: 'missing_data',
    table: 'subscriber_subscription',
    key: ['peer_id', 'subscription_id'],
    where: '(resync_pending = 1 OR gap_due_at IS NOT NULL)',
    members: [text('peer_id'), text('subscription_id'), flag('resync_pending')],
    isOfMove: true,
  },
  {
    kind: 'webhook',
    table: 'webhook',
    key: ['webhook_id'],
    members: [
      text('webhook_id'),
      text('url'),
      json('events'),
      json('names'),
      text('description'),
      secret('secrets', webhookSecrets),
      time('created_at'),
    ],
  },
  {
    kind: 'waiting_event',
    table: 'job_entry',
    key: ['kind', 'job_id', 'number'],
    where: `outcome = 'waiting'`,
    members: [
      text('queue', 'kind'),
      text('webhook_id', 'job_id'),
      integer('number'),
      text('id', 'entry_id'),
      text('type'),
      value('data'),
      json('origin'),
      integer('hops'),
      time('created_at'),
    ],
    isOfMove: true,
    longColumn: 'data',
  },
  {
    kind: 'notice',
    table: 'notice',
    owner: 'sender',
    key: ['recipient', 'position', 'id'],
    where: `due_at IS NOT NULL AND kind IN (${noticesOfMoves.map((kind) => `'${kind}'`).join(', ')})`,
    members: [
      text('peer_id', 'recipient'),
      integer('position'),
      text('id'),
      text('notice', 'kind'),
      text('method'),
      text('url'),
      text('baseuri'),
      json('body'),
      text('request_id'),
    ],
    isOfMove: true,
  },
  {
    kind: 'invitation',
    table: 'invitation',
    key: ['invitation_id'],
    members: [
      text('invitation_id'),
      text('code_hash'),
      text('relationship'),
      text('nickname'),
      time('created_at'),
      time('ends_at'),
    ],
    isOfMove: true,
  },
  {
    kind: 'service_connection',
    table: 'service_connection',
    key: ['service'],
    members: [text('service'), secret('tokens', serviceTokens), time('connected_at')],
  },
]

/** Whether records of this kind come back only with their secrets. */
export function needsSecrets({ members }: RecordKind): boolean {
  return members.some(({ type }) => type === 'secret')
}
