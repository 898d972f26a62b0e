/** Accounts: what sign-in keeps about the owner of an actor. */
import { present } from '../json/present.ts'
import type { KeyRing } from '../secret/key-ring.ts'
import { accountTokens, bindingOf } from '../secret/sealed-columns.ts'
import { open, seal, type Sealed } from '../secret/sealed.ts'
import type { AfterCommit, Store, Transaction } from '../store/store.ts'
import {
  type Account,
  type AccountFields,
  findAccount,
  insertAccount,
  setAside,
  updateAccount,
} from './account-store.ts'
import type { Person } from './provider.ts'

/** Of the provider, sealed as one: nothing outside of the service sees them. */
export interface ProviderTokenFields {
  readonly oauth_token?: string
  /** Unix seconds, as text. */
  readonly oauth_token_expiry?: string
  readonly oauth_token_timestamp?: string
  readonly oauth_refresh_token?: string
}

/** One sign-in, as far as the account keeps it. */
export interface Recorded {
  /** `google`: the kind of the provider. */
  readonly provider: string
  readonly person: Person
  /** The address that is known, vouched for or typed. */
  readonly address: string | null
  /** From now on: whoever proves to have the identifier is signed in here. */
  readonly isProven: boolean
}

/** What the stable name of a person is called among the fields. */
const subjectFields: Readonly<Record<string, string>> = { github: 'oauth_github_id' }

/** A creator was proven that other actors were created under. */
export interface Superseded {
  /** The actor of the person who proved it. */
  readonly actorId: string
  readonly creator: string
  /** Ids of the others, the first 100. */
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

  /** False when another account has the identifier or the subject. */
  insert(tx: Transaction, account: Pick<Account, 'actorId' | 'identifier' | 'verified' | 'subject'>): Promise<boolean> {
    return insertAccount(tx, { ...account, providerTokens: this.#seal(account.actorId, {}) })
  }

  /** The creator was proven for this actor; the others that were created under it are set aside, and the application hears of it. */
  async supersede(tx: Transaction, { id, creator }: { readonly id: string; readonly creator: string }): Promise<void> {
    const { afterCommit, onSuperseded } = this.#deps
    const superseded = await setAside(tx, { identifier: creator, keep: id, now: this.#now() })
    if (superseded.length > 0) afterCommit(tx, () => onSuperseded({ actorId: id, creator, superseded }))
  }

  /** The application knows who the creator is: whoever has the identifier without proof makes room. */
  async prove(tx: Transaction, { id, creator }: { readonly id: string; readonly creator: string }): Promise<boolean> {
    await this.supersede(tx, { id, creator })
    return this.insert(tx, { actorId: id, identifier: creator, verified: true, subject: null })
  }

  /** In the actor's turn. The fields of the first sign-in stay; the provider and its tokens are those of the last one. */
  async record(tx: Transaction, actorId: string, { provider, person, address, isProven }: Recorded): Promise<void> {
    const account = await findAccount(tx, actorId)
    if (account === null) throw new Error('Somebody signed in to an actor without an account')
    const isFirst = account.fields['auth_method'] === undefined
    await updateAccount(tx, {
      actorId,
      verified: account.verified || isProven,
      fields: {
        ...(isFirst ? this.#firstFields(account, { provider, address, isProven }) : {}),
        // Whoever is proven now does not wait for a link to be followed any more.
        ...(isProven ? withoutDoubt(account.fields) : account.fields),
        oauth_provider: provider,
      },
      providerTokens:
        person.tokens === null
          ? account.providerTokens
          : this.#seal(actorId, {
              ...refreshTokenOf(this.#opened(account)),
              ...tokenFields(person.tokens, this.#now()),
            }),
    })
  }

  #firstFields(
    { subject }: Pick<Account, 'subject'>,
    { provider, address, isProven }: Omit<Recorded, 'person'>,
  ): AccountFields {
    return {
      auth_method: `${provider}_oauth2`,
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
   * Forgets the provider's access token, as the end of a session does. What the person granted to this service stays
   * granted: the provider is not told.
   */
  async clearProviderTokens(tx: Transaction, actorId: string): Promise<void> {
    const account = await findAccount(tx, actorId)
    if (account === null) return
    const kept = refreshTokenOf(this.#opened(account))
    await updateAccount(tx, { ...account, providerTokens: this.#seal(actorId, kept) })
  }

  #seal(actorId: string, tokens: ProviderTokenFields): Sealed {
    return seal(this.#keyRing, JSON.stringify(tokens), bindingOf(accountTokens, actorId))
  }

  #opened({ actorId, providerTokens }: Pick<Account, 'actorId' | 'providerTokens'>): ProviderTokenFields {
    return JSON.parse(open(this.#keyRing, providerTokens, bindingOf(accountTokens, actorId))) as ProviderTokenFields
  }
}

/** A provider gives one at the first consent and not always again. */
function refreshTokenOf({ oauth_refresh_token }: ProviderTokenFields): ProviderTokenFields {
  return oauth_refresh_token === undefined ? {} : { oauth_refresh_token }
}

function withoutDoubt({ email_verified, ...fields }: AccountFields): AccountFields {
  return email_verified === 'true' ? { ...fields, email_verified } : fields
}

function tokenFields(tokens: NonNullable<Person['tokens']>, now: number): ProviderTokenFields {
  const seconds = Math.floor(now / 1000)
  // A refresh token that the provider does not repeat stays valid, so no member may take its place.
  return present({
    oauth_token: tokens.access_token,
    oauth_token_timestamp: String(seconds),
    oauth_token_expiry: tokens.expires_in === undefined ? undefined : String(seconds + tokens.expires_in),
    oauth_refresh_token: tokens.refresh_token,
  })
}
