/** OAuth clients: programs that act for owners who authorize them. */
import type { JSONWebKeySet } from 'jose'
import type { SecretHash } from '../secret/hash.ts'

export const authMethods = ['none', 'client_secret_post', 'client_secret_basic', 'private_key_jwt'] as const
export type AuthMethod = (typeof authMethods)[number]

export const deviceGrantType = 'urn:ietf:params:oauth:grant-type:device_code'

export const grantTypes = ['authorization_code', 'refresh_token', 'client_credentials', deviceGrantType] as const
export type GrantType = (typeof grantTypes)[number]

/** Further metadata that a client sends about itself. Its URLs are shown, never fetched. */
export interface ClientMetadata {
  readonly client_uri?: string
  readonly logo_uri?: string
  readonly policy_uri?: string
  readonly tos_uri?: string
  readonly software_id?: string
  readonly software_version?: string
  readonly application_type?: string
  /** The public keys of a client that signs assertions, or their address. */
  readonly jwks?: JSONWebKeySet
  readonly jwks_uri?: string
}

export interface Client {
  /** `mcp_` and 32 hexadecimal characters, or the URL of a metadata document. */
  readonly clientId: string
  /** The actor to which the client belongs. By client credentials, the client acts only for this actor. */
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
  /** End of a registration that no owner authorized, which is then deleted. */
  readonly expiresAt: number | null
  /** End of all access by the client, which its application declared. Null: no end. */
  readonly until: number | null
}

/** The actor to which self-registered clients belong (CHOICE-34). */
export const systemActorId = '_actingweb_oauth2'
export const systemCreator = 'oauth2-system'

const longestName = 120

/**
 * Returns a name that is safe to display: without control, formatting and bidirectional characters, markup and repeated
 * spaces.
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

/** True from the declared end on. The client and its relationships stay, but it gets no access. */
export function hasEnded({ until }: Pick<Client, 'until'>, now: number): boolean {
  return until !== null && until <= now
}

/** Returns whether the client id is the URL of a metadata document. Such clients are not stored. */
export function isDocumented({ clientId }: Pick<Client, 'clientId'>): boolean {
  return clientId.startsWith('https://')
}

export function isPublic({ authMethod }: Pick<Client, 'authMethod'>): boolean {
  return authMethod === 'none'
}

/** Returns whether the client proves itself by a secret, in the header or in the body. */
export function hasSecret({ authMethod }: Pick<Client, 'authMethod'>): boolean {
  return authMethod === 'client_secret_post' || authMethod === 'client_secret_basic'
}

/** Returns whether the client may use client credentials. A public client has no secret to authenticate with. */
export function actsForItself(client: Pick<Client, 'authMethod' | 'grantTypes'>): boolean {
  return !isPublic(client) && client.grantTypes.includes('client_credentials')
}
