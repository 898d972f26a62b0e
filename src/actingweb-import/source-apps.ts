/** OAuth clients and tokens of the Python library. */
import { type Client, cleanName, grantTypes, type AuthMethod } from '../authorization-server/client.ts'
import { hashSecret, type SecretHash } from '../secret/hash.ts'
import { isReservedName } from '../trust/names/reserved-names.ts'
import type { TokenKind } from '../token/token-text.ts'
import { recognizeToken } from '../token/token-text.ts'
import type { SourceAttribute } from './source.ts'
import { objectOf, secondsInRow, textInRow } from './stored-value.ts'

/** The actor of the library whose attributes hold what belongs to no single actor. */
export const sharedOwner = '_actingweb_oauth2'
export const sessionBucket = 'spa_refresh_tokens'
export const clientBucket = 'mcp_clients'
const accessBucket = 'mcp_tokens'
const refreshBucket = 'mcp_refresh_tokens'

/** Methods that the Python library knows. */
const methods: readonly AuthMethod[] = ['none', 'client_secret_post', 'client_secret_basic']

/** The client of an attribute. Null: it cannot be read, or the service does not accept its id. */
export function clientOf(ownerId: string, { data }: SourceAttribute): Client | null {
  const given = objectOf(data)
  const clientId = given === null ? null : textInRow(given, 'client_id')
  if (given === null || clientId === null || !/^[\w-]{1,128}$/.test(clientId)) return null
  const secret = textInRow(given, 'client_secret')
  const said = textInRow(given, 'token_endpoint_auth_method')
  const authMethod: AuthMethod =
    secret === null ? 'none' : (methods.find((one) => one === said) ?? 'client_secret_post')
  const name = cleanName(textInRow(given, 'client_name') ?? '')
  return {
    clientId,
    ownerId,
    name: name === '' || isReservedName(name) ? clientId : name,
    secretHash: secret === null || authMethod === 'none' ? null : hashSecret(secret),
    authMethod,
    redirectUris: textsIn(given['redirect_uris']),
    grantTypes: grantTypes.filter((type) => textsIn(given['grant_types']).includes(type)),
    trustType: textInRow(given, 'trust_type') ?? 'mcp_client',
    metadata: {},
    createdAt: secondsInRow(given, 'created_at') ?? 0,
    lastUsedAt: null,
    expiresAt: null,
    until: null,
  }
}

function textsIn(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((one): one is string => typeof one === 'string') : []
}

/** A token of a client. */
export interface SourceToken {
  readonly hash: SecretHash
  readonly kind: TokenKind
  readonly clientId: string
  readonly scope: string
  /** An access token and a refresh token with the same link were issued together. */
  readonly link: string
  /** Unix milliseconds. */
  readonly expiresAt: number
}

/** The tokens of clients that are still valid. */
export function clientTokensOf(attributes: readonly SourceAttribute[], now: number): SourceToken[] {
  return attributes
    .map(tokenOf)
    .filter((token) => token !== null)
    .filter(({ expiresAt }) => expiresAt > now)
}

function tokenOf({ bucket, name, data }: SourceAttribute): SourceToken | null {
  const kind = bucket === accessBucket ? 'access' : bucket === refreshBucket ? 'refresh' : null
  const form = recognizeToken(name)
  const given = objectOf(data)
  if (kind === null || given === null || form?.kind !== kind || form.chain !== 'client') return null
  const clientId = textInRow(given, 'client_id')
  const expiresAt = secondsInRow(given, 'expires_at')
  if (clientId === null || expiresAt === null) return null
  return {
    hash: hashSecret(name),
    kind,
    clientId,
    scope: textInRow(given, 'scope') ?? 'mcp',
    link: textInRow(given, kind === 'access' ? 'token_id' : 'access_token_id') ?? name,
    expiresAt,
  }
}

/** The refresh token of a sign-in, with which the owner's browser or app continues its session. */
export interface SourceSession {
  readonly actorId: string
  readonly refreshToken: string
  /** Unix milliseconds. */
  readonly expiresAt: number
}

/** The session of an attribute. Null: its token was used, or has expired. */
export function sessionOf({ name, data }: SourceAttribute, now: number): SourceSession | null {
  const given = objectOf(data)
  const actorId = given === null ? null : textInRow(given, 'actor_id')
  const expiresAt = given === null ? null : secondsInRow(given, 'expires_at')
  if (given === null || actorId === null || expiresAt === null) return null
  return given['used'] === true || expiresAt <= now ? null : { actorId, refreshToken: name, expiresAt }
}
