/** Reads what the old service publishes about a move, at `<old address>/meta/moving`. */
import { known, stringValue } from '../json/json.ts'
import type { PeerClient } from '../peer/peer-client.ts'
import { membersIn, verifyNotice } from './proof.ts'

/** The path below the address of an actor. */
const movingPath = '/meta/moving'

export interface PublishedMove {
  /** The new address. */
  readonly to: string
  readonly publicKey: string
  /** Null before the move. */
  readonly notice: string | null
  /** Hash of the token that the old service uses at the new one. Null after the move. */
  readonly tokenHash: string | null
}

export type MoveReading =
  | { readonly kind: 'read'; readonly move: PublishedMove }
  /** The actor came to this address by a move with this key. */
  | { readonly kind: 'arrived'; readonly publicKey: string }
  /** The actor was created at this address, or is unknown there. */
  | { readonly kind: 'none' }
  | { readonly kind: 'failed'; readonly reason: string }

export async function readMove(client: PeerClient, address: string): Promise<MoveReading> {
  const outcome = await client.call({ method: 'GET', url: `${address}${movingPath}` })
  if (outcome.kind !== 'answered') return { kind: 'failed', reason: outcome.reason }
  if (outcome.status === 404 || outcome.status === 410) return { kind: 'none' }
  const fields = outcome.status === 200 ? membersIn(outcome.body) : null
  if (fields === null) return { kind: 'failed', reason: `The address answered ${outcome.status} without a move` }
  const text = (name: string): string | null => stringValue(fields.get(name) ?? known('null'))
  const [to, key] = [text('to'), fields.get('key')]
  if (text('state') === 'arrived' && key !== undefined) return { kind: 'arrived', publicKey: key }
  if (to === null || key === undefined) return { kind: 'failed', reason: 'The move at the address is not complete' }
  return { kind: 'read', move: { to, publicKey: key, notice: text('notice'), tokenHash: text('token_hash') } }
}

/** Services that an actor left one after the other, before a peer noticed the first move. */
const mostMoves = 5

export type Followed =
  | { readonly kind: 'followed'; readonly to: string; readonly publicKey: string }
  /** The address has no signed notice, or its notice is not valid. */
  | { readonly kind: 'unproven'; readonly reason: string }
  | { readonly kind: 'failed'; readonly reason: string }

/**
 * Follows the signed notices from an address on.
 *
 * @param to The address at which they must end. Null: the last one.
 */
export async function followMoves(
  client: PeerClient,
  from: { readonly address: string; readonly actorId: string },
  to: string | null,
): Promise<Followed> {
  let found: Extract<Followed, { kind: 'followed' }> | null = null
  let { address } = from
  for (let moves = 0; moves < mostMoves; moves += 1) {
    const reading = await readMove(client, address)
    if (reading.kind === 'failed') return reading
    if (reading.kind !== 'read' || reading.move.notice === null) break
    const { publicKey, notice } = reading.move
    try {
      const proven = await verifyNotice(notice, publicKey, address)
      if (proven.actorId !== from.actorId) return { kind: 'unproven', reason: 'The notice is about another actor' }
      found = { kind: 'followed', to: proven.to, publicKey }
    } catch (error) {
      return { kind: 'unproven', reason: error instanceof Error ? error.message : String(error) }
    }
    if (found.to === to) return found
    address = found.to
  }
  if (found === null || to !== null)
    return { kind: 'unproven', reason: 'No signed notice leads from the known address to the new one' }
  return found
}
