/** Reads what an address states about the moves of its actor, at `<address>/meta/moving`, and follows the notices from there. */
import { elements, known, stringValue } from '../json/json.ts'
import { isIngressPage } from '../peer/ingress.ts'
import type { Followed, KnownHome } from '../peer/moved-peer.ts'
import type { PeerClient } from '../peer/peer-client.ts'
import { claimedAddress, isSameKey, membersIn, publicKeyIn, verifyNotice } from './proof.ts'

/** The path below the address of an actor. */
const movingPath = '/meta/moving'

/** The statement of an address about its actor. */
export interface PublishedHome {
  /** The public key of this home. */
  readonly publicKey: string
  /** The addresses from which the actor came here. */
  readonly cameFrom: readonly string[]
  /** Null while the actor is here and does not move. */
  readonly leaving: PublishedMove | null
  /** Notices of former addresses of this home, which its service has left for another name. */
  readonly notices: readonly string[]
  /** The actor was deleted at this home. */
  readonly isDeleted: boolean
}

export interface PublishedMove {
  /** The new address. */
  readonly to: string
  /** Null before the move. */
  readonly notice: string | null
  /** Hash of the token that the old service uses at the new one. Null after the move. */
  readonly tokenHash: string | null
}

export type MoveReading =
  | { readonly kind: 'read'; readonly home: PublishedHome }
  /** The actor was created at this address, or is unknown there. */
  | { readonly kind: 'none' }
  | { readonly kind: 'failed'; readonly reason: string }

export async function readMove(client: PeerClient, address: string): Promise<MoveReading> {
  const outcome = await client.call({ method: 'GET', url: `${address}${movingPath}` })
  if (outcome.kind !== 'answered') return { kind: 'failed', reason: outcome.reason }
  if (isIngressPage(outcome)) return { kind: 'failed', reason: `The address answered ${outcome.status} with a page` }
  if (outcome.status === 404 || outcome.status === 410) return { kind: 'none' }
  const fields = outcome.status === 200 ? membersIn(outcome.body) : null
  if (fields === null) return { kind: 'failed', reason: `The address answered ${outcome.status} without a move` }
  const text = (name: string): string | null => stringValue(fields.get(name) ?? known('null'))
  const [leaving, publicKey] = [leavingIn(text), publicKeyIn(fields.get('key') ?? 'null')]
  const isDeleted = text('state') === 'deleted'
  if (publicKey === null || (leaving === null && text('state') !== 'arrived' && !isDeleted))
    return { kind: 'failed', reason: 'The statement of the address about moves is not complete' }
  const list = (name: string): string[] =>
    (elements(fields.get(name) ?? known('[]')) ?? []).map((one) => stringValue(one) ?? '')
  const [cameFrom, notices] = [list('from'), list('notices').slice(0, maxNotices)]
  return { kind: 'read', home: { publicKey, cameFrom, leaving, notices, isDeleted } }
}

/** A running move, or a finished one, which has a notice. Null: neither, or it is not complete. */
function leavingIn(text: (name: string) => string | null): PublishedMove | null {
  const [state, to, notice] = [text('state'), text('to'), text('notice')]
  const isComplete = state === 'moving' || (state === 'moved' && notice !== null)
  return isComplete && to !== null ? { to, notice, tokenHash: text('token_hash') } : null
}

/** Former addresses of one home. */
const maxNotices = 10
/** Services that an actor left one after the other, before a peer noticed the first move. */
const maxMoves = 5

/**
 * Follows the signed notices from a home on. Each address that a notice names must state that the actor came from there, and
 * that it has the key of the notice. An address that knows nothing of it is never taken.
 *
 * @param to The address at which they must end. Null: the last one.
 */
export async function followMoves(
  { client, now }: { readonly client: PeerClient; readonly now: () => number },
  { address: start, actorId, publicKey: startKey }: KnownHome,
  to: string | null,
): Promise<Followed> {
  let at: Step = { address: start, publicKey: startKey, left: null }
  for (let moves = 0; moves <= maxMoves; moves += 1) {
    const reading = await readMove(client, at.address)
    if (reading.kind === 'failed') return reading
    const home = reading.kind === 'read' ? reading.home : null
    const doubt = doubtAbout(home, at)
    if (doubt !== null) return { kind: 'unproven', reason: doubt }
    if (home === null) break
    if (home.isDeleted) return { kind: 'deleted' }
    const isLast = to === null ? (await noticeAt(home, at.address)) === null : at.address === to
    if (at.left !== null && isLast) return { kind: 'followed', to: at.address, publicKey: home.publicKey }
    const next = await nextOf(home, { ...at, actorId, now: now() })
    if (next === null) break
    if ('reason' in next) return { kind: 'unproven', reason: next.reason }
    at = next
  }
  return { kind: 'unproven', reason: 'No signed notice leads from the known address to the new one' }
}

/** An address on the way. */
interface Step {
  readonly address: string
  /** The key that it must have. Null: any. */
  readonly publicKey: string | null
  /** The address whose notice names it. Null: the first one, which is known. */
  readonly left: string | null
}

/** Why an address cannot be taken for the one that a notice names. Null: it can. */
function doubtAbout(home: PublishedHome | null, { left, publicKey }: Step): string | null {
  if (left !== null && home?.cameFrom.includes(left) !== true) return 'The new address does not confirm it'
  const isOther = home !== null && publicKey !== null && !isSameKey(publicKey, home.publicKey)
  return isOther ? 'The address has another key than the one that is known' : null
}

/** The address that the notice of a home names. Null: the home has no notice. */
async function nextOf(
  home: PublishedHome,
  { address, actorId, now }: { readonly address: string; readonly actorId: string; readonly now: number },
): Promise<Step | { readonly reason: string } | null> {
  const notice = await noticeAt(home, address)
  if (notice === null) return null
  try {
    const proven = await verifyNotice(notice, home.publicKey, { from: address, now })
    const isOther = proven.actorId !== actorId || !proven.to.endsWith(`/${actorId}`)
    if (isOther) return { reason: 'The notice is about another actor' }
    return { address: proven.to, publicKey: proven.newKey, left: address }
  } catch (error) {
    return { reason: error instanceof Error ? error.message : String(error) }
  }
}

/** The notice that a home publishes about one of its addresses. It is not verified. Null: none. */
async function noticeAt({ leaving, notices }: PublishedHome, address: string): Promise<string | null> {
  for (const notice of notices) if ((await claimedAddress(notice)) === address) return notice
  return leaving?.notice ?? null
}
