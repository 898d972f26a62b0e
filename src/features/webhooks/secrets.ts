/** The stored secrets of a webhook. */
import type { KeyRing } from '../../secret/key-ring.ts'
import { isKeyMissing, open, seal, type Sealed } from '../../secret/sealed.ts'
import { bindingOf, type SealedColumn } from '../../secret/sealed-columns.ts'

export const webhookSecrets: SealedColumn = {
  table: 'webhook',
  key: ['actor_id', 'webhook_id'],
  column: 'secrets',
  meaning: 'secrets of webhooks: their owners rotate them',
}

export interface Secrets {
  readonly secret: string
  /** The secret before a rotation, which also signs until `oldUntil`. */
  readonly old?: string
  /** Unix milliseconds. */
  readonly oldUntil?: number
}

export function sealSecrets(ring: KeyRing, actorId: string, id: string, secrets: Secrets): Sealed {
  return seal(ring, JSON.stringify(secrets), bindingOf(webhookSecrets, actorId, id))
}

export function openSecrets(ring: KeyRing, actorId: string, id: string, sealed: Sealed): Secrets {
  return JSON.parse(open(ring, sealed, bindingOf(webhookSecrets, actorId, id))) as Secrets
}

/** The secret before a rotation. Null: its key is lost, and only the new secret can sign. */
export function secretBefore(ring: KeyRing, actorId: string, id: string, sealed: Sealed): string | null {
  try {
    return openSecrets(ring, actorId, id, sealed).secret
  } catch (error) {
    if (isKeyMissing(error)) return null
    throw error
  }
}

/** The secrets that sign at a time: the current one first. */
export function signingSecrets({ secret, old, oldUntil = 0 }: Secrets, now: number): string[] {
  return old !== undefined && now < oldUntil ? [secret, old] : [secret]
}
