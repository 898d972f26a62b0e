/** Name and kind of the provider. */
export const passkeyProviderName = 'passkey'

export const passkeyDisplayName = 'Passkey'

/** The identifier of an account that only passkeys open. */
export function passkeyIdentifier(actorId: string): string {
  return `${passkeyProviderName}:${actorId}`
}
