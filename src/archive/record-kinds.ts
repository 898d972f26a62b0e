/** The records of an archive that are rows of one table, in their order in the archive (docs/archives.md). */
import { companionPassphrase, serviceTokens, trustSecret, trustToken } from '../secret/sealed-columns.ts'
import { mayBeNull, member, type RecordKind } from '../table/record-kind.ts'
import { choice, texts, textsByName, webUrl } from '../table/shapes.ts'
import type { Table } from '../table/table.ts'
import {
  callback,
  contentOfChange,
  nameAndKey,
  origin,
  originKind,
  originObject,
  overrideRules,
  ownRequest,
  peerId,
  tokensOfService,
} from './member-checks.ts'

const { text, integer, flag, time, never, json, value, secret } = member

const facts = json('facts', { check: textsByName })

export const account: RecordKind = {
  kind: 'account',
  table: 'account',
  key: [],
  members: [
    text('identifier'),
    flag('verified'),
    text('subject', mayBeNull),
    json('fields', { ...mayBeNull, check: textsByName }),
  ],
}

/** The messages to peers that an archive for a move contains. The old service still sends those about ends of relationships. */
export const noticesOfMoves = ['approval', 'permission', 'unsubscribe', 'revoke', 'acknowledge'] as const

/** The records of the core after the properties, lists and files. */
const coreKinds: readonly RecordKind[] = [
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
      time('last_used_at', mayBeNull),
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
      json('data', mayBeNull),
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
      text('content', mayBeNull),
      integer('characters'),
      integer('version'),
      integer('checksum', mayBeNull),
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
      time('approved_until', mayBeNull),
      flag('peer_approved'),
      flag('verified'),
      text('established_via'),
      facts,
      time('created_at'),
      never('last_accessed', mayBeNull),
      text('last_connected_via'),
      text('request', { ...mayBeNull, check: ownRequest }),
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
      time('approved_until', mayBeNull),
      text('established_via'),
      facts,
      time('created_at'),
      never('last_accessed', mayBeNull),
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
      time('cleared_at', mayBeNull),
      integer('hops'),
      json('deletions', mayBeNull),
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
      time('failing_since', mayBeNull),
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
]

/** Records that may belong to those of features. */
const laterKinds: readonly RecordKind[] = [
  {
    kind: 'waiting_event',
    table: 'job_entry',
    key: ['kind', 'job_id', 'number'],
    where: `outcome = 'waiting'`,
    members: [
      text('queue', 'kind'),
      text('queue_id', 'job_id'),
      integer('number'),
      text('id', 'entry_id'),
      text('type'),
      value('data'),
      json('origin', { ...mayBeNull, check: originObject }),
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
      json('body', mayBeNull),
      text('request_id'),
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

/** Records after the properties, lists and records with content, with those of tables of features. */
export function recordKindsWith(tables: readonly Table[]): readonly RecordKind[] {
  return [
    ...coreKinds,
    ...tables.flatMap(({ records }) => (records === undefined || records.content !== undefined ? [] : [records])),
    ...laterKinds,
  ]
}

/** Whether records of this kind come back only with their secrets. */
export function needsSecrets({ members }: RecordKind): boolean {
  return members.some(({ type }) => type === 'secret')
}
