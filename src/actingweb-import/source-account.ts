/** The owner of an actor, as the Python library stored the sign-ins of the owner in internal attributes. */
import { normalizeCreator } from '../actor/actor.ts'
import type { AccountFields } from '../sign-in/account-store.ts'
import type { ProviderTokenFields } from '../sign-in/accounts.ts'
import type { SourceAttribute } from './source.ts'

/** The bucket with the fields of sign-ins, and with what the application stores in `actor.store`. */
const ownBucket = '_internal'

const accountFields = [
  'oauth_provider',
  'auth_method',
  'created_at',
  'email',
  'email_verified',
  'email_verified_at',
  'oauth_sub',
  'oauth_github_id',
] as const
const tokenFields = ['oauth_token', 'oauth_token_expiry', 'oauth_token_timestamp', 'oauth_refresh_token'] as const
const otherFields = ['trustee_root', 'email_verification_token', 'email_verification_created_at'] as const
const signInFields: ReadonlySet<string> = new Set([...accountFields, ...tokenFields, ...otherFields])

/** Names of the tokens that the library kept for relationships with clients. They are of no use to the service. */
const clientTokens = 'oauth_tokens:'

/** Whether an attribute is about sign-ins. Other attributes of the same bucket belong to the application. */
export function isAboutSignIn({ bucket, name }: Pick<SourceAttribute, 'bucket' | 'name'>): boolean {
  return bucket === ownBucket && (signInFields.has(name) || name.startsWith(clientTokens))
}

export interface SourceAccount {
  readonly identifier: string
  readonly verified: boolean
  readonly subject: string | null
  readonly fields: AccountFields
  readonly tokens: ProviderTokenFields
}

/** The account of an actor. Null: its owner never signed in through a provider or by email. */
export function accountOf(creator: string, attributes: readonly SourceAttribute[]): SourceAccount | null {
  const stored = new Map(
    attributes.filter(isAboutSignIn).flatMap(({ name, data }) => {
      const text = textOf(data)
      return text === null ? [] : [[name, text] as const]
    }),
  )
  if (!['auth_method', 'oauth_provider', 'oauth_token'].some((name) => stored.has(name))) return null
  const fields = Object.fromEntries(entriesOf(stored, accountFields))
  const verified = fields['email_verified'] !== 'false'
  const subject = fields['oauth_sub'] ?? fields['oauth_github_id']
  const provider = fields['oauth_provider']
  return {
    identifier: normalizeCreator(creator),
    verified,
    subject: verified || subject === undefined || provider === undefined ? null : `${provider}:${subject}`,
    fields,
    tokens: Object.fromEntries(entriesOf(stored, tokenFields)),
  }
}

/** The trustee that created the actor. Null: none. */
export function trusteeRootOf(attributes: readonly SourceAttribute[]): string | null {
  const found = attributes.find(({ bucket, name }) => bucket === ownBucket && name === 'trustee_root')
  return found === undefined ? null : textOf(found.data)
}

function entriesOf(stored: ReadonlyMap<string, string>, names: readonly string[]): [string, string][] {
  return names.flatMap((name) => {
    const text = stored.get(name)
    return text === undefined ? [] : [[name, text] as [string, string]]
  })
}

/** The library stores most fields as strings, and some as numbers. */
function textOf(data: string): string | null {
  const value: unknown = JSON.parse(data)
  if (typeof value === 'string') return value === '' ? null : value
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : null
}
