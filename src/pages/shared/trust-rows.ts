/** Rows of relationships on pages. */
import type { TrustTypes } from '../../permission/trust-types.ts'
import type { Relationships } from '../../trust/relationships.ts'
import { trustRecord } from '../../trust/record.ts'
import { stateOf, type Trust } from '../../trust/trust.ts'
import type { Messages } from '../languages/language.ts'
import { momentOf } from './time.ts'
import type { PeerName, TrustStanding, TrustRow } from '../relationships/values.ts'
import { visible } from './visible.ts'

export interface TrustRowDeps {
  readonly relationships: Relationships
  readonly basePath: string
  /** Unix milliseconds. */
  readonly now: () => number
}

export function trustRow(
  deps: TrustRowDeps,
  trust: Trust,
  { peer, isCustom }: { readonly peer: PeerName; readonly isCustom: boolean },
  messages: Messages,
): TrustRow {
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
    nickname: visible(trust.nickname),
    standing,
    standing_word: wordOf(trust, standing, peer, messages),
    standing_text: sentenceOf(trust, standing, peer, messages),
    relationship_name: trustTypeName(types, trust.relationship),
    relationship_description: type?.description ?? messages.rights.noDefault,
    since: momentOf(trust.createdAt, now, messages),
    last_contact: momentOf(trust.lastAccessed, now, messages),
    approveuri: `${deps.basePath}/${trust.actorId}/trust/${encodeURIComponent(trust.relationship)}/${encodeURIComponent(trust.peerId)}`,
    has_custom_permissions: isCustom,
    approval_ends: trust.approvedUntil === null ? null : momentOf(trust.approvedUntil, now, messages),
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

function wordOf(
  trust: Trust,
  standing: TrustStanding,
  { is_app: isApp }: PeerName,
  { standing: words }: Messages,
): string {
  if (isApp) return trust.approved ? words.appActive : words.appPaused
  return standing === 'approved-here' ? words.approvedHere : words[standing]
}

function sentenceOf(
  trust: Trust,
  standing: TrustStanding,
  { is_app: isApp }: PeerName,
  { standing: words }: Messages,
): string {
  if (isApp) return trust.approved ? words.appText : words.appPausedText
  switch (standing) {
    case 'waiting':
      return words.waitingText
    case 'asked':
      return trust.approved ? words.askedText : words.pausedText
    case 'approved-here':
      return words.approvedHereText
    case 'mutual':
      return words.mutualText
  }
}
