/** A program that acts for owners who let it. */
import type { SecretHash } from '../secret/hash.ts'

export const authMethods = ['none', 'client_secret_post', 'client_secret_basic'] as const
export type AuthMethod = (typeof authMethods)[number]

export const grantTypes = ['authorization_code', 'refresh_token', 'client_credentials'] as const
export type GrantType = (typeof grantTypes)[number]

/** What a client says of itself besides; shown, never fetched. */
export interface ClientMetadata {
  readonly client_uri?: string
  readonly logo_uri?: string
  readonly policy_uri?: string
  readonly tos_uri?: string
  readonly software_id?: string
  readonly software_version?: string
  readonly application_type?: string
}

export interface Client {
  /** `mcp_` and 32 hexadecimal characters, or the address of a metadata document. */
  readonly clientId: string
  /** The actor that it belongs to: by client credentials it acts for that one alone. */
  readonly ownerId: string
  readonly name: string
  readonly secretHash: SecretHash | null
  readonly authMethod: AuthMethod
  readonly redirectUris: readonly string[]
  readonly grantTypes: readonly GrantType[]
  readonly trustType: string
  readonly metadata: ClientMetadata
  /** Unix milliseconds. */
  readonly createdAt: number
  readonly lastUsedAt: number | null
  readonly expiresAt: number | null
}

/** The actor that clients belong to which registered themselves (CHOICE-34). */
export const systemActorId = '_actingweb_oauth2'
export const systemCreator = 'oauth2-system'

const longestName = 120

/**
 * A name that is harmless wherever it is shown: without control, formatting and bidirectional characters, markup and
 * runs of blanks.
 */
export function cleanName(text: string): string {
  return text
    .toWellFormed()
    .normalize('NFKC')
    .replace(/[\p{C}\p{Zl}\p{Zp}<>&"'`\\]/gu, ' ')
    .replace(/\s+/g, ' ')
    .trim()
    .slice(0, longestName)
    .toWellFormed()
    .trim()
}

/** Known by the address of a document, and kept nowhere. */
export function isDocumented({ clientId }: Pick<Client, 'clientId'>): boolean {
  return clientId.startsWith('https://')
}

export function isPublic({ authMethod }: Pick<Client, 'authMethod'>): boolean {
  return authMethod === 'none'
}

/** By client credentials; a public client has nothing to prove with that it is the one. */
export function actsForItself(client: Pick<Client, 'authMethod' | 'grantTypes'>): boolean {
  return !isPublic(client) && client.grantTypes.includes('client_credentials')
}
