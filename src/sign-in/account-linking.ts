/** Account linking: a person proved an identity that an unproven actor has, and joins that actor or starts a new one. */
import { personKind } from '../app/kinds/person.ts'
import { ServiceError } from '../errors.ts'
import type { Actors } from '../actor/actors.ts'
import type { FailedAttempts, Source } from '../rate-limit/failed-attempts.ts'
import type { KeyRing } from '../secret/key-ring.ts'
import { sameSecret } from '../secret/hash.ts'
import { actorPassphrase, bindingOf } from '../secret/sealed-columns.ts'
import { open } from '../secret/sealed.ts'
import type { Store } from '../store/store.ts'
import type { IssuedTokens } from '../token/chain.ts'
import type { OneTime, PresentedRecord } from '../token/one-time.ts'
import { type Unclaimed, unclaimedOf } from './account-store.ts'
import type { Accounts } from './accounts.ts'
import type { ResolvedAccount, SessionEntry } from './establish-session.ts'
import { insertJoinedAccess } from './password-access-store.ts'
import type { Person } from './provider.ts'
import { signInOver } from './refusal.ts'

interface Waiting {
  readonly person: Person
  /** Kind of the provider. */
  readonly provider: string
  readonly identifier: string
  readonly redirect: string | null
}

export interface ClaimsDeps {
  readonly store: Store
  readonly oneTime: OneTime
  readonly keyRing: KeyRing
  readonly actors: Actors
  readonly accounts: Accounts
  readonly entry: SessionEntry
  readonly failedAttempts: FailedAttempts
  readonly now: () => number
}

/** The visitor who submits the page. */
export interface ClaimHolder {
  readonly claim: string
  readonly browser: string | null
  readonly device: string
  readonly source: Source
}

export interface Claimed {
  readonly tokens: IssuedTokens
  readonly redirect: string | null
}

export class Claims {
  readonly #deps: ClaimsDeps

  constructor(deps: ClaimsDeps) {
    this.#deps = deps
  }

  begin(waiting: Waiting, browser: string | null): Promise<string> {
    const { store, oneTime } = this.#deps
    return store.write((tx) => oneTime.create(tx, { purpose: 'claim', data: waiting, browser }))
  }

  /** Reads the claim for the page. @throws ServiceError `bad_request` when it has ended or is another browser's. */
  async look(
    holder: Pick<ClaimHolder, 'claim' | 'browser'>,
  ): Promise<{ identifier: string; canJoin: boolean; redirect: string | null }> {
    const { identifier, redirect } = await this.#peek(holder)
    let canJoin = false
    for await (const batch of unclaimedOf(this.#deps.store, identifier)) {
      canJoin = batch.length > 0
      if (canJoin) break
    }
    return { identifier, canJoin, redirect }
  }

  /**
   * Joins the existing actor, which keeps all its data, by its passphrase.
   *
   * @throws ServiceError `forbidden` for a wrong passphrase (the claim stays valid), `too_many_requests`.
   * @throws SignInRefusal `rejected`
   */
  async join(holder: ClaimHolder, passphrase: string): Promise<Claimed> {
    const { entry, accounts, failedAttempts, now } = this.#deps
    const waiting = await this.#peek(holder)
    const { identifier, person, provider, redirect } = waiting
    // All actors of the identity share one limit, so that many actors do not allow more guesses.
    const target = { id: `claim ${identifier}`, guardedUntil: 0 }
    await failedAttempts.check('passphrase', target, holder.source)
    const chosen = await this.#oldestWith(identifier, passphrase)
    const isRight = await failedAttempts.judge('passphrase', target, holder.source, () => chosen !== null)
    if (!isRight || chosen === null)
      throw new ServiceError('forbidden', 'Cannot join the actor: the passphrase is wrong')
    const account: ResolvedAccount = {
      actor: { id: chosen.id, creator: identifier, kind: personKind },
      isNew: false,
      identifier,
      address: identifier.includes('@') ? identifier : null,
      isProven: true,
      prepare: async (tx) => {
        await this.#consume(tx, holder)
        await accounts.supersede(tx, { id: chosen.id, creator: identifier })
        await insertJoinedAccess(tx, { actorId: chosen.id, creator: identifier, now: now() })
        const account = { actorId: chosen.id, identifier, verified: true, subject: null }
        if (!(await accounts.insert(tx, account))) throw signInOver()
      },
    }
    const finished = await entry.finish({ person, provider, beganWith: 'web', device: holder.device }, account)
    if (finished === null) throw signInOver()
    return { tokens: finished.issued, redirect }
  }

  /** Starts a new actor. Actors that have the identifier without proof lose it. */
  async startNewActor(holder: ClaimHolder): Promise<Claimed> {
    const { entry, store } = this.#deps
    const { person, provider, redirect } = await store.write((tx) => this.#consume(tx, holder))
    const entering = await entry.enter({ person, provider, beganWith: 'web', device: holder.device })
    if (entering.kind !== 'entered') throw new Error('Cannot start a new actor: the sign-in did not finish')
    return { tokens: entering.tokens, redirect }
  }

  async #oldestWith(identifier: string, passphrase: string): Promise<Unclaimed | null> {
    let oldest: Unclaimed | null = null
    for await (const batch of unclaimedOf(this.#deps.store, identifier))
      for (const actor of batch)
        if (sameSecret(passphrase, this.#passphraseOf(actor)) && actor.createdAt < (oldest?.createdAt ?? Infinity))
          oldest = actor
    return oldest
  }

  #passphraseOf({ id, passphrase }: { readonly id: string; readonly passphrase: Parameters<typeof open>[1] }): string {
    return open(this.#deps.keyRing, passphrase, bindingOf(actorPassphrase, id))
  }

  async #peek(holder: Pick<ClaimHolder, 'claim' | 'browser'>): Promise<Waiting> {
    const { store, oneTime } = this.#deps
    const found = await store.read((q) => oneTime.peek<Waiting>(q, presented(holder)))
    if (found === null) throw signInOver()
    return found.data
  }

  async #consume(tx: Parameters<OneTime['consume']>[0], holder: ClaimHolder): Promise<Waiting> {
    const found = await this.#deps.oneTime.consume<Waiting>(tx, presented(holder))
    if (found === null) throw signInOver()
    return found.data
  }
}

function presented({ claim, browser }: Pick<ClaimHolder, 'claim' | 'browser'>): PresentedRecord {
  return { purpose: 'claim', value: claim, browser }
}
