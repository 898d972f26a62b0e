/** Accounts: the data that sign-in stores about the owner of an actor. */
import { present } from '../json/present.ts'
import type { KeyRing } from '../secret/key-ring.ts'
import { accountTokens, bindingOf } from '../secret/sealed-columns.ts'
import { isKeyMissing, open, seal, type Sealed } from '../secret/sealed.ts'
import type { AfterCommit, Store, Transaction } from '../store/store.ts'
import {
  type Account,
  type AccountFields,
  findAccount,
  insertAccount,
  setAside,
  updateAccount,
} from './account-store.ts'
import { emailLinkName } from './email-link/names.ts'
import { hostProviderName } from './own/own-plans.ts'
import { passkeyProviderName } from './passkey/names.ts'
import type { Person } from './provider.ts'

/** The provider's tokens. They are sealed together and never leave the service. */
export interface ProviderTokenFields {
  readonly oauth_token?: string
  /** Unix seconds, as a string. */
  readonly oauth_token_expiry?: string
  readonly oauth_token_timestamp?: string
  readonly oauth_refresh_token?: string
}

/** The part of one sign-in that the account stores. */
export interface Recorded {
  /** The kind of the provider, such as `google`. */
  readonly provider: string
  readonly person: Person
  /** The email address, confirmed by the provider or typed by the person. */
  readonly address: string | null
  /** The person proved the identifier. Later sign-ins that prove it enter this actor. */
  readonly isProven: boolean
}

/** Name of the account field that holds the person's subject at a provider. Default: `oauth_sub`. */
const subjectFields: Readonly<Record<string, string>> = { github: 'oauth_github_id' }

/** Providers without OAuth: the embedding program, and this service. */
const ownMethods: ReadonlySet<string> = new Set([hostProviderName, passkeyProviderName, emailLinkName])

/** Notice that a person proved a creator under which other actors were created. */
export interface Superseded {
  /** The actor of the person who proved it. */
  readonly actorId: string
  readonly creator: string
  /** Ids of the other actors, at most 100. */
  readonly superseded: readonly string[]
}

export interface AccountsDeps {
  readonly store: Store
  readonly keyRing: KeyRing
  readonly now: () => number
  readonly afterCommit: AfterCommit
  readonly onSuperseded: (superseded: Superseded) => Promise<void>
}

export class Accounts {
  readonly #deps: AccountsDeps
  readonly #store: Store
  readonly #keyRing: KeyRing
  readonly #now: () => number

  constructor(deps: AccountsDeps) {
    this.#deps = deps
    this.#store = deps.store
    this.#keyRing = deps.keyRing
    this.#now = deps.now
  }

  find(actorId: string): Promise<Account | null> {
    return this.#store.read((q) => findAccount(q, actorId))
  }

  /** Returns whether the creator of the actor is verified. */
  async isProven(actorId: string): Promise<boolean> {
    const account = await this.find(actorId)
    return account !== null && account.verified && account.identifier === account.creator
  }

  /** Returns false when another account has the identifier or the subject. */
  insert(tx: Transaction, account: Pick<Account, 'actorId' | 'identifier' | 'verified' | 'subject'>): Promise<boolean> {
    return insertAccount(tx, { ...account, providerTokens: this.#seal(account.actorId, {}) })
  }

  /** Gives a proven creator to this actor. Renames the other actors of that creator and notifies the application. */
  async supersede(tx: Transaction, { id, creator }: { readonly id: string; readonly creator: string }): Promise<void> {
    const { afterCommit, onSuperseded } = this.#deps
    const superseded = await setAside(tx, { identifier: creator, keep: id, now: this.#now() })
    if (superseded.length > 0) afterCommit(tx, () => onSuperseded({ actorId: id, creator, superseded }))
  }

  /** Records that the application vouches for the creator. Accounts that hold the identifier without proof lose it. */
  async prove(tx: Transaction, { id, creator }: { readonly id: string; readonly creator: string }): Promise<boolean> {
    await this.supersede(tx, { id, creator })
    return this.insert(tx, { actorId: id, identifier: creator, verified: true, subject: null })
  }

  /** Stores a sign-in, in the actor's turn. Keeps the fields of the first sign-in; replaces the provider and its tokens. */
  async record(tx: Transaction, actorId: string, { provider, person, address, isProven }: Recorded): Promise<void> {
    const account = await findAccount(tx, actorId)
    if (account === null) throw new Error('Cannot record the sign-in: the actor has no account')
    const isFirst = account.fields['auth_method'] === undefined
    await updateAccount(tx, account, {
      verified: account.verified || isProven,
      fields: {
        ...(isFirst ? this.#firstFields(account, { provider, address, isProven }) : {}),
        // A proven person no longer needs the verification link.
        ...(isProven ? withoutDoubt(account.fields) : account.fields),
        oauth_provider: provider,
      },
      providerTokens:
        person.tokens === null
          ? account.providerTokens
          : this.#seal(actorId, {
              ...this.#refreshToken(account),
              ...tokenFields(person.tokens, this.#now()),
            }),
    })
  }

  #firstFields(
    { subject }: Pick<Account, 'subject'>,
    { provider, address, isProven }: Omit<Recorded, 'person'>,
  ): AccountFields {
    return {
      auth_method: ownMethods.has(provider) ? provider : `${provider}_oauth2`,
      created_at: String(Math.floor(this.#now() / 1000)),
      ...present({ email: address ?? undefined }),
      ...(subject === null
        ? {}
        : { [subjectFields[provider] ?? 'oauth_sub']: subject.slice(subject.indexOf(':') + 1) }),
      ...(isProven ? {} : { email_verified: 'false' }),
    }
  }

  providerTokensOf(account: Pick<Account, 'actorId' | 'providerTokens'>): ProviderTokenFields {
    return this.#opened(account)
  }

  /**
   * Deletes the provider's access token when a session ends. The refresh token and the person's grant at the provider
   * remain: the service does not notify the provider.
   */
  async clearProviderTokens(tx: Transaction, actorId: string): Promise<void> {
    const account = await findAccount(tx, actorId)
    if (account === null) return
    const kept = this.#refreshToken(account)
    await updateAccount(tx, account, { ...account, providerTokens: this.#seal(actorId, kept) })
  }

  #seal(actorId: string, tokens: ProviderTokenFields): Sealed {
    return seal(this.#keyRing, JSON.stringify(tokens), bindingOf(accountTokens, actorId))
  }

  /** None when its key is lost: the next tokens of the provider replace it. */
  #refreshToken(account: Pick<Account, 'actorId' | 'providerTokens'>): ProviderTokenFields {
    try {
      return refreshTokenOf(this.#opened(account))
    } catch (error) {
      if (isKeyMissing(error)) return {}
      throw error
    }
  }

  #opened({ actorId, providerTokens }: Pick<Account, 'actorId' | 'providerTokens'>): ProviderTokenFields {
    return JSON.parse(open(this.#keyRing, providerTokens, bindingOf(accountTokens, actorId))) as ProviderTokenFields
  }
}

/** Keeps the refresh token, because many providers send it only at the first consent. */
function refreshTokenOf({ oauth_refresh_token }: ProviderTokenFields): ProviderTokenFields {
  return oauth_refresh_token === undefined ? {} : { oauth_refresh_token }
}

function withoutDoubt({ email_verified, ...fields }: AccountFields): AccountFields {
  return email_verified === 'true' ? { ...fields, email_verified } : fields
}

function tokenFields(tokens: NonNullable<Person['tokens']>, now: number): ProviderTokenFields {
  const seconds = Math.floor(now / 1000)
  // A refresh token that the provider does not repeat stays valid, so an undefined member must not overwrite it.
  return present({
    oauth_token: tokens.access_token,
    oauth_token_timestamp: String(seconds),
    oauth_token_expiry: Number.isFinite(tokens.expires_in) ? String(seconds + (tokens.expires_in ?? 0)) : undefined,
    oauth_refresh_token: tokens.refresh_token,
  })
}
