/** The records of an archive that are rows of one table, in their order in the archive (docs/archives.md). */
import { present } from '../json/present.ts'
import {
  companionPassphrase,
  type SealedColumn,
  serviceTokens,
  trustSecret,
  trustToken,
  webhookSecrets,
} from '../secret/sealed-columns.ts'
import type { Param } from '../store/store.ts'
import {
  callback,
  choice,
  contentOfChange,
  type MemberCheck,
  type Misfit,
  nameAndKey,
  origin,
  originKind,
  originObject,
  overrideRules,
  ownRequest,
  peerId,
  webhookSecretsShape,
  texts,
  textsByName,
  tokensOfService,
  webUrl,
} from './member-checks.ts'

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
  /** The shape that its readers rely on. Default: any value of the type. */
  readonly check?: MemberCheck
  /** True when null is a value of the member. */
  readonly isNullable?: true
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
  /** Checks what the members of a row are together. Returns the member that does not fit, and why. */
  readonly checkRow?: (actorId: string, row: Readonly<Record<string, Param>>) => Misfit | null
}

type More = Pick<RecordMember, 'check' | 'isNullable'>

/** Makes members of a type, whose column has their name unless it is given. */
function typed(type: MemberType) {
  return (name: string, more: (More & { readonly column?: string }) | string = {}): RecordMember =>
    typeof more === 'string' ? { name, column: more, type } : { name, column: name, type, ...more }
}

const nullable = { isNullable: true } as const
const text = typed('text')
const integer = typed('integer')
const flag = typed('flag')
const time = typed('time')
const never = typed('never')
const json = typed('json')
const value = typed('value')

function secret(name: string, sealed: SealedColumn, check?: MemberCheck): RecordMember {
  return { name, column: sealed.column, type: 'secret', sealed, ...present({ check }) }
}

const facts = json('facts', { check: textsByName })

export const account: RecordKind = {
  kind: 'account',
  table: 'account',
  key: [],
  members: [
    text('identifier'),
    flag('verified'),
    text('subject', nullable),
    json('fields', { ...nullable, check: textsByName }),
  ],
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
      json('transports', { check: texts }),
      flag('synced'),
      text('name'),
      time('created_at'),
      time('last_used_at', nullable),
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
    members: [
      json('alarm', { column: 'id', check: nameAndKey }),
      time('at'),
      text('setting', 'entry_id'),
      json('data', nullable),
      integer('hops'),
    ],
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
      text('property_kind', { column: 'kind', check: choice('value', 'list') }),
      text('operation', { check: choice('set', 'create', 'delete', 'add', 'remove', 'update', 'texts', 'change') }),
      flag('existed'),
      text('content', nullable),
      integer('characters'),
      integer('version'),
      integer('checksum', nullable),
      text('caller_kind', { check: originKind }),
      text('caller'),
      text('request_id', 'request'),
      text('origin', { check: origin }),
    ],
    longColumn: 'content',
    checkRow: contentOfChange,
  },
  {
    kind: 'activity',
    table: 'activity',
    key: ['at', 'id'],
    members: [
      time('at'),
      text('id'),
      text('caller_kind', { check: choice('owner', 'peer', 'client', 'trustee', 'operator', 'anonymous') }),
      text('caller'),
      text('through', { check: choice('http', 'callback', 'mcp', 'push') }),
      text('method'),
      text('path'),
      text('decision', { check: choice('allowed', 'asked', 'approved', 'denied', 'refused') }),
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
      text('peer_id', { check: peerId }),
      text('baseuri', { check: webUrl }),
      text('type'),
      text('relationship'),
      secret('secret', trustSecret),
      secret('verification_token', trustToken),
      text('description'),
      text('nickname'),
      flag('approved'),
      time('approved_until', nullable),
      flag('peer_approved'),
      flag('verified'),
      text('established_via'),
      facts,
      time('created_at'),
      never('last_accessed', nullable),
      text('last_connected_via'),
      text('request', { ...nullable, check: ownRequest }),
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
      time('approved_until', nullable),
      text('established_via'),
      facts,
      time('created_at'),
      never('last_accessed', nullable),
    ],
  },
  {
    kind: 'rights',
    table: 'permission_override',
    key: ['peer_id'],
    members: [
      text('peer_id'),
      json('rules', { check: overrideRules }),
      text('created_by'),
      text('notes'),
      time('updated_at'),
    ],
  },
  { kind: 'expiry', table: 'expiry', key: ['peer_id'], members: [text('peer_id'), time('due_at')] },
  {
    kind: 'companion',
    table: 'companion',
    key: ['kind'],
    members: [
      text('name', 'kind'),
      text('peer_id'),
      text('baseuri', { check: webUrl }),
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
      text('state', { check: choice('live', 'stopped') }),
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
      text('diff_kind', { column: 'kind', check: choice('diff', 'resync', 'full', 'erasure') }),
      value('data'),
      flag('replaces'),
      time('created_at'),
      time('cleared_at', nullable),
      integer('hops'),
      json('deletions', nullable),
    ],
    isOfMove: true,
    longColumn: 'data',
  },
  {
    kind: 'missed_deletion',
    table: 'missed_deletion',
    key: ['peer_id', 'subscription_id', 'about'],
    members: [text('peer_id'), text('subscription_id'), text('about'), value('data'), flag('is_shown')],
    isOfMove: true,
  },
  {
    kind: 'delivered',
    table: 'publisher_subscription',
    key: ['peer_id', 'subscription_id'],
    members: [text('peer_id'), text('subscription_id'), integer('committed')],
    isOfMove: true,
  },
  {
    kind: 'doubtful_copy',
    table: 'publisher_subscription',
    key: ['peer_id', 'subscription_id'],
    where: 'repair_at IS NOT NULL',
    members: [
      text('peer_id'),
      text('subscription_id'),
      time('repair_at'),
      integer('repairs'),
      time('failing_since', nullable),
    ],
    isOfMove: true,
  },
  {
    kind: 'pending_callback',
    table: 'pending_callback',
    key: ['peer_id', 'subscription_id', 'sequence'],
    members: [
      text('peer_id'),
      text('subscription_id'),
      integer('sequence'),
      text('body', { check: callback }),
      time('received_at'),
    ],
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
      text('url', { check: webUrl }),
      json('events', { check: texts }),
      json('names', { check: texts }),
      text('description'),
      secret('secrets', webhookSecrets, webhookSecretsShape),
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
      json('origin', { ...nullable, check: originObject }),
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
    // The notices of an actor that has left wait too, until the new service has them (`notice-store.ts`).
    where: `(due_at IS NOT NULL OR reason = 'The sender moves') AND kind IN (${noticesOfMoves.map((kind) => `'${kind}'`).join(', ')})`,
    members: [
      text('peer_id', 'recipient'),
      integer('position'),
      text('id'),
      text('notice', 'kind'),
      text('method'),
      text('url'),
      text('baseuri'),
      json('body', nullable),
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
    members: [text('service'), secret('tokens', serviceTokens, tokensOfService), time('connected_at')],
  },
]

/** Whether records of this kind come back only with their secrets. */
export function needsSecrets({ members }: RecordKind): boolean {
  return members.some(({ type }) => type === 'secret')
}
