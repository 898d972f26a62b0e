/** Links by which the reader of a message turns its kind off, without a sign-in (RFC 8058). A link allows nothing else. */
import { createHmac, hkdfSync, type KeyObject } from 'node:crypto'
import { sameSecret } from '../../secret/hash.ts'
import type { KeyRing } from '../../secret/key-ring.ts'
import { type OptionalKind, optionalKinds } from './choice-store.ts'

export function unsubscribeUrl(
  { keyRing, baseUrl }: { readonly keyRing: KeyRing; readonly baseUrl: string },
  actorId: string,
  kind: OptionalKind,
): string {
  const key = keyRing.keys.get(keyRing.currentId)
  if (key === undefined) throw new Error('Cannot sign the link: the key ring has no current key')
  return `${baseUrl}/${actorId}/mail/unsubscribe?kind=${kind}&proof=${proofOf(key, actorId, kind)}`
}

/** The kind of a link. Null: the service has not made it for this actor. */
export function kindOfLink(
  keyRing: KeyRing,
  actorId: string,
  { kind, proof }: { readonly kind: string | undefined; readonly proof: string | undefined },
): OptionalKind | null {
  const known = optionalKinds.find((each) => each === kind)
  if (known === undefined || proof === undefined) return null
  return [...keyRing.keys.values()].some((key) => sameSecret(proof, proofOf(key, actorId, known))) ? known : null
}

/** Derives a separate key (RFC 5869), so that no other part of the service accepts the proof. */
function proofOf(key: KeyObject, actorId: string, kind: OptionalKind): string {
  const own = Buffer.from(hkdfSync('sha256', key, '', 'troupe unsubscribe v1', 32))
  return createHmac('sha256', own).update(`${actorId}\n${kind}`).digest('base64url')
}
