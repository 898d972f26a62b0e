/** Names a passkey in configuration: by its public key, which only its authenticator and this service know. */
import { hash } from 'node:crypto'
import type { Passkey } from './passkey-store.ts'

export const passkeyPrefix = 'passkey:'

/** A person can choose the id of an actor or of a passkey, but no passkey with a given fingerprint. */
export function passkeyFingerprint({ publicKey }: Pick<Passkey, 'publicKey'>): string {
  return `${passkeyPrefix}${hash('sha256', publicKey, 'base64url')}`
}
