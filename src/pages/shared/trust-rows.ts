/** Rows of relationships on pages. */
import type { TrustTypes } from '../../permission/trust-types.ts'
import type { Relationships } from '../../trust/relationships.ts'
import { trustRecord } from '../../trust/record.ts'
import { stateOf, type Trust } from '../../trust/trust.ts'
import { momentOf } from './time.ts'
import type { PeerName, TrustStanding, TrustRow } from '../relationships/values.ts'
import { visible } from './visible.ts'

export interface TrustRowDeps {
  readonly relationships: Relationships
  readonly basePath: string
  /** Unix milliseconds. */
  readonly now: () => number
}

export function trustRow(deps: TrustRowDeps, trust: Trust, peer: PeerName, isCustom: boolean): TrustRow {
  const { types } = deps.relationships
  const now = deps.now()
  const standing = trustStandingOf(trust)
  const record = trustRecord(trust)
  const type = types.find(trust.relationship)
  return {
    ...record,
    desc: visible(record.desc),
    type: visible(record.type),
    baseuri: visible(record.baseuri),
    peer,
    standing,
    standing_word: words[standing],
    standing_text: sentenceOf(trust, standing, peer),
    relationship_name: trustTypeName(types, trust.relationship),
    relationship_description: type?.description ?? 'Grants nothing by itself',
    since: momentOf(trust.createdAt, now),
    last_contact: momentOf(trust.lastAccessed, now),
    approveuri: `${deps.basePath}/${trust.actorId}/trust/${encodeURIComponent(trust.relationship)}/${encodeURIComponent(trust.peerId)}`,
    has_custom_permissions: isCustom,
    approval_ends: trust.approvedUntil === null ? null : momentOf(trust.approvedUntil, now),
  }
}

export function trustTypeName(types: TrustTypes, relationship: string): string {
  return types.find(relationship)?.display_name ?? relationship
}

/** Returns the state of a relationship. A request implies the approval of its sender; the other owner decides. */
function trustStandingOf(trust: Trust): TrustStanding {
  switch (stateOf(trust).kind) {
    case 'pending':
      return 'waiting'
    case 'mutual':
      return 'mutual'
    case 'requested':
      return 'asked'
    case 'approved-here':
      return trust.ownRequest === null ? 'approved-here' : 'asked'
  }
}

const words: Readonly<Record<TrustStanding, string>> = {
  waiting: 'Waits for you',
  asked: 'Asked',
  'approved-here': 'Approved here',
  mutual: 'Mutual',
}

function sentenceOf(trust: Trust, standing: TrustStanding, { is_app: isApp }: PeerName): string {
  if (isApp) return trust.approved ? 'You let this app in.' : 'This app may do nothing now: you took its approval back.'
  switch (standing) {
    case 'waiting':
      return 'It asks for this relationship. Nothing is open to it before you approve.'
    case 'asked':
      return trust.approved
        ? 'You asked for this relationship; the other side has not approved it yet.'
        : 'Neither side approves it now.'
    case 'approved-here':
      return 'You approved it; the other side has not, as far as is known here.'
    case 'mutual':
      return 'Both sides approved it.'
  }
}
