/** Finds or creates the actor of an authenticated person and begins a session. Every kind of sign-in ends here. */
import { personKind, requirePerson } from '../app/kinds/person.ts'
import type { Actor } from '../actor/actor.ts'
import type { Actors } from '../actor/actors.ts'
import type { ActorHandle } from '../app/actor-handle.ts'
import { fireForConsent } from '../app/events.ts'
import type { Registry } from '../app/registry.ts'
import { ServiceError } from '../errors.ts'
import { present } from '../json/present.ts'
import type { Live } from '../live/live.ts'
import { noteAct } from '../observe/own-acts.ts'
import type { Log } from '../observe/log.ts'
import type { KeyRing } from '../secret/key-ring.ts'
import type { Store, Transaction } from '../store/store.ts'
import type { Timers } from '../timers.ts'
import type { Beginning, IssuedTokens } from '../token/chain.ts'
import type { Tokens } from '../token/tokens.ts'
import { type Account, findAccounts, type FoundAccounts } from './account-store.ts'
import type { Accounts } from './accounts.ts'
import type { ArrivedActors, ClaimedActor } from './arrived-actors.ts'
import { type PersonIdentity, type IdentityMode, identityOf, userInfoOf } from './identity.ts'
import { ensureInteractiveTrust } from './interactive-trust.ts'
import { LostRace } from './lost-race.ts'
import type { NewOwnAccount, OwnAccount, Person } from './provider.ts'
import { SignInRefusal } from './refusal.ts'
import { writeOwner } from '../actor/write-owner.ts'

export interface EntryDeps {
  readonly store: Store
  readonly registry: Registry
  readonly keyRing: KeyRing
  readonly log: Log
  readonly now: () => number
  readonly timers: Timers
  readonly actors: Actors
  readonly accounts: Accounts
  readonly tokens: Tokens
  readonly live: Pick<Live, 'record'>
  readonly handleOf: (actor: Pick<Actor, 'id' | 'creator' | 'kind'>) => ActorHandle
  readonly mode: IdentityMode
  readonly arrivedActors: ArrivedActors
}

/** A sign-in attempt: the person, the device, and the purpose. */
export interface SignInAttempt {
  readonly person: Person
  /** Kind of the provider. */
  readonly provider: string
  readonly beganWith: Beginning
  /** Description of the device, see `deviceOf`. */
  readonly device: string
  /** The id_token that a native application presented. */
  readonly assertion?: string
  /** The only actor, and the only identifier, that this sign-in may enter. */
  readonly expectedActorId?: string | null
  readonly expectedIdentifier?: string | null
  /** The actor from another service that the person takes. The identity must not have an account yet. */
  readonly claimed?: ClaimedActor | null
  /** The trust type that an AI client requests. It requires a confirmed address. */
  readonly trustType?: string | null
  /** Refuses a person without a confirmed address, instead of asking for an address. */
  readonly needsAddress?: boolean
  /** Asks the person about an actor that has the identifier without proof. Otherwise that actor loses the identifier. */
  readonly asksFirst?: boolean
}

export interface Entered {
  readonly kind: 'entered'
  /** True for an actor that is on the way to another service, or there. Its owner sees only the page of the move. */
  readonly isAway?: true
  readonly actor: Pick<Actor, 'id' | 'creator' | 'kind'>
  readonly tokens: IssuedTokens
}

export type Entering =
  | Entered
  /** The provider confirms no address, so the person must type one. */
  | { readonly kind: 'address-needed' }
  /** An actor has the identifier without proof. */
  | { readonly kind: 'claim-needed'; readonly identifier: string }

/** Stores further data in the transaction that finishes a sign-in. */
export type AlsoStore<T> = (tx: Transaction, actorId: string) => Promise<T>

/** The actor that a sign-in enters, and whether the identity is proven. */
export interface ResolvedAccount {
  readonly actor: Pick<Actor, 'id' | 'creator' | 'kind'>
  readonly isNew: boolean
  readonly identifier: string
  readonly address: string | null
  readonly isProven: boolean
  /** Runs first in the transaction that stores the sign-in. */
  readonly prepare?: (tx: Transaction) => Promise<void>
}

type Proven = Extract<PersonIdentity, { readonly kind: 'proven' }>

/** Attempts when concurrent sign-ins of the same person create or withdraw the actor. One sign-in wins each round. */
const maxRounds = 20

/** Waits at most two seconds for a commit. */
const maxLooks = 100
const lookAgainMs = 20

export class SessionEntry {
  readonly #deps: EntryDeps

  constructor(deps: EntryDeps) {
    this.#deps = deps
  }

  /** Signs a person in. @throws SignInRefusal after it deleted an actor that it created; nothing is stored. */
  async enter(attempt: SignInAttempt): Promise<Entering> {
    const { own } = attempt.person
    if (own !== undefined) return this.#enterOwn(attempt, own)
    const identity = identityOf(attempt.person, this.#deps.mode, needsAddress(attempt))
    if (identity.kind === 'unknown') throw new SignInRefusal('lookup_failed')
    for (let round = 0; round < maxRounds; round += 1) {
      const found = await this.#find(attempt, identity)
      if (found === null) continue
      if (found.kind !== 'resolved') return found
      const away = await this.#enterAway(attempt, found.account)
      if (away !== null) return away
      const tokens = await this.finish(attempt, found.account)
      if (tokens !== null) return { kind: 'entered', actor: found.account.actor, tokens: tokens.issued }
    }
    throw busy()
  }

  /** Enters the account that the proof of this service names. */
  async #enterOwn(attempt: SignInAttempt, { actorId, newAccount }: OwnAccount): Promise<Entered> {
    const { claimed = null } = attempt
    if (claimed !== null && newAccount === null) throw new SignInRefusal('has_account')
    const account =
      newAccount === null
        ? await this.#ownAccount(attempt, actorId)
        : claimed === null
          ? await this.#makeOwn(attempt, actorId, newAccount)
          : this.#claimOwn(claimed, newAccount)
    const away = await this.#enterAway(attempt, account)
    if (away !== null) return away
    const tokens = await this.finish(attempt, account)
    if (tokens === null) throw new SignInRefusal('exchange_failed', 'The actor was deleted meanwhile')
    return { kind: 'entered', actor: account.actor, tokens: tokens.issued }
  }

  /** Begins a session in which the owner of an actor that moves, or has moved, finds the link to it. Null: the actor is here. */
  async #enterAway(attempt: SignInAttempt, { actor, identifier, isNew }: ResolvedAccount): Promise<Entered | null> {
    const { beganWith, claimed = null, device, person } = attempt
    if (isNew || claimed !== null || beganWith !== 'web') return null
    const { store, actors, tokens } = this.#deps
    const found = await actors.find(actor.id)
    if (found?.residence !== 'moving' && found?.residence !== 'moved') return null
    requirePerson(found.kind)
    const session = {
      actorId: actor.id,
      identifier,
      beganWith,
      device,
      ...present({ authenticatedAt: person.authenticatedAt }),
    }
    const issued = await writeOwner(store, actor.id, (tx) => tokens.startSession(tx, session))
    return { kind: 'entered', isAway: true, actor, tokens: issued }
  }

  async #ownAccount(attempt: SignInAttempt, actorId: string): Promise<ResolvedAccount> {
    const account = await this.#deps.accounts.find(actorId)
    if (account === null) throw new SignInRefusal('exchange_failed', 'The actor was deleted meanwhile')
    refuseOthers(attempt, account, null)
    const { creator, identifier, verified } = account
    if (!verified && needsAddress(attempt)) throw new SignInRefusal('no_address')
    return {
      actor: { id: actorId, creator, kind: personKind },
      isNew: false,
      identifier,
      address: null,
      isProven: verified,
    }
  }

  async #makeOwn(
    attempt: SignInAttempt,
    actorId: string,
    { name, identifier, store }: NewOwnAccount,
  ): Promise<ResolvedAccount> {
    const { actors, accounts } = this.#deps
    refuseNew(attempt)
    const draft = actors.draft(name, actorId)
    const isMade = await this.write(`sign-in ${name}`, async (tx) => {
      if (!(await actors.insertDraft(tx, draft))) throw new LostRace()
      if (!(await accounts.insert(tx, { actorId, identifier, verified: true, subject: null }))) throw new LostRace()
      await store(tx)
      return true
    })
    if (isMade === null) throw new SignInRefusal('name_taken')
    return { actor: draft, isNew: true, identifier, address: null, isProven: true }
  }

  /** The person opens an arrived actor by a method of this service. */
  #claimOwn(claimed: ClaimedActor, { name, identifier, store }: NewOwnAccount): ResolvedAccount {
    const { accounts, arrivedActors } = this.#deps
    const { actorId } = claimed
    const prepare = async (tx: Transaction): Promise<void> => {
      await arrivedActors.take(tx, claimed, name)
      if (!(await accounts.insert(tx, { actorId, identifier, verified: true, subject: null }))) throw new LostRace()
      await store(tx)
    }
    return {
      actor: { id: actorId, creator: name, kind: personKind },
      isNew: false,
      identifier,
      address: null,
      isProven: true,
      prepare,
    }
  }

  /** The person opens an arrived actor by a provider. */
  #claim(claimed: ClaimedActor, { identifier, address }: Proven, subject: string): ResolvedAccount {
    const { accounts, arrivedActors, mode } = this.#deps
    const { actorId } = claimed
    const prepare = async (tx: Transaction): Promise<void> => {
      await accounts.supersede(tx, { id: actorId, creator: identifier })
      await arrivedActors.take(tx, claimed, identifier)
      const own = address === null || mode === 'provider' ? subject : null
      if (!(await accounts.insert(tx, { actorId, identifier, verified: true, subject: own }))) throw new LostRace()
    }
    return {
      actor: { id: actorId, creator: identifier, kind: personKind },
      isNew: false,
      identifier,
      address,
      isProven: true,
      prepare,
    }
  }

  async #find(
    attempt: SignInAttempt,
    identity: Exclude<PersonIdentity, { kind: 'unknown' }>,
  ): Promise<Exclude<Entering, Entered> | { readonly kind: 'resolved'; readonly account: ResolvedAccount } | null> {
    const identifier = identity.kind === 'proven' ? identity.identifier : null
    const subject = attempt.person.stableId
    const { accounts, isTaken } = await this.#accountsOf(identifier, subject)
    const account = accountOf(accounts, identifier, subject, this.#deps.mode)
    refuseOthers(attempt, account, identifier)
    const { claimed = null } = attempt
    if (claimed !== null) {
      if (account !== null) throw new SignInRefusal('has_account')
      if (identity.kind === 'missing') throw new SignInRefusal('no_address')
      return { kind: 'resolved', account: this.#claim(claimed, identity, subject) }
    }
    if (identity.kind === 'missing' && needsAddress(attempt) && !hasAddress(account))
      throw new SignInRefusal('no_address')
    if (account !== null) return { kind: 'resolved', account: resolvedAccount(account, identity) }
    if (identity.kind === 'missing') return { kind: 'address-needed' }
    await this.#refuseForeignActor(attempt, identity)
    if (isTaken && attempt.asksFirst === true) return { kind: 'claim-needed', identifier: identity.identifier }
    const actor = await this.#make(identity, subject)
    return actor === null ? null : { kind: 'resolved', account: { actor, isNew: true, isProven: true, ...identity } }
  }

  /** Waits while a commit reaches the servers of a sharded database. */
  async #accountsOf(identifier: string | null, subject: string): Promise<FoundAccounts> {
    const { store, timers } = this.#deps
    for (let look = 0; look < maxLooks; look += 1) {
      const found = await store.snapshot((q) => findAccounts(q, identifier, subject))
      if (found !== null) return found
      await new Promise<void>((resolve) => timers.setTimer(lookAgainMs, resolve))
    }
    throw busy()
  }

  /** Refuses an expected actor without an account, unless its creator is the proven identifier. */
  async #refuseForeignActor({ expectedActorId = null }: SignInAttempt, { identifier }: Proven): Promise<void> {
    if (expectedActorId === null) return
    const actor = await this.#deps.actors.find(expectedActorId)
    if (actor?.creator !== identifier) throw new SignInRefusal('other_identity')
  }

  /** Creates the first actor of a proven identity. Null when a concurrent sign-in created it first. */
  async #make({ identifier, address }: Proven, subject: string): Promise<Actor | null> {
    const { actors, accounts } = this.#deps
    const draft = actors.draft(identifier)
    return this.write(`sign-in ${identifier}`, async (tx) => {
      await accounts.supersede(tx, { id: draft.id, creator: identifier })
      const isFirst =
        (await actors.insertDraft(tx, draft)) &&
        (await accounts.insert(tx, {
          actorId: draft.id,
          identifier,
          verified: true,
          subject: address === null || this.#deps.mode === 'provider' ? subject : null,
        }))
      if (!isFirst) throw new LostRace()
      return draft
    })
  }

  /** Runs a transaction. When it throws `LostRace`, rolls back and returns null. */
  async write<T>(turn: string, work: (tx: Transaction) => Promise<T>): Promise<T | null> {
    try {
      return await this.#deps.store.write(work, { turn })
    } catch (error) {
      if (error instanceof LostRace) return null
      throw error
    }
  }

  /**
   * Asks the application for consent, records the sign-in, and begins the session. A failure deletes an actor that was
   * created for this sign-in.
   *
   * @returns null when the actor was deleted meanwhile.
   * @throws SignInRefusal `rejected`
   */
  async finish(
    attempt: SignInAttempt,
    account: ResolvedAccount,
  ): Promise<{ readonly issued: IssuedTokens; readonly also: null } | null>
  async finish<T>(
    attempt: SignInAttempt,
    account: ResolvedAccount,
    also: AlsoStore<T>,
  ): Promise<{ readonly issued: IssuedTokens; readonly also: T } | null>
  async finish<T>(
    attempt: SignInAttempt,
    account: ResolvedAccount,
    also?: AlsoStore<T>,
  ): Promise<{ readonly issued: IssuedTokens; readonly also: T | null } | null> {
    const { actor, isNew } = account
    const { actors, log } = this.#deps
    try {
      if (isNew) await actors.announce(actor)
      if (!(await this.#isAccepted(attempt, account))) throw new SignInRefusal('rejected')
      return await this.#store(attempt, account, also)
    } catch (error) {
      if (!isNew) {
        if (error instanceof LostRace) throw new SignInRefusal('has_account')
        if (error instanceof ServiceError && error.code === 'actor_not_found') return null
        throw error
      }
      await actors.withdraw(actor.id).catch((cause: unknown) => {
        // The next sign-in of this person finds the actor and uses it.
        log.error({ error: cause, actorId: actor.id }, 'Cannot delete the new actor of a failed sign-in')
      })
      throw error
    }
  }

  #isAccepted(
    { person, assertion }: SignInAttempt,
    { actor, identifier, address, isProven }: ResolvedAccount,
  ): Promise<boolean> {
    const { registry, log, handleOf } = this.#deps
    return fireForConsent(registry, log, 'oauth_success', {
      actor: handleOf(actor),
      email: identifier,
      access_token: person.tokens?.access_token ?? '',
      token_data: { ...(person.tokens ?? { id_token: assertion }) },
      user_info: userInfoOf(person, isProven ? address : null),
    })
  }

  async #store<T>(
    { person, provider, beganWith, device, trustType = null }: SignInAttempt,
    { actor, identifier, address, isProven, prepare }: ResolvedAccount,
    also?: AlsoStore<T>,
  ): Promise<{ readonly issued: IssuedTokens; readonly also: T | null }> {
    const { store, accounts, tokens, live, keyRing, now } = this.#deps
    const stored = await store.writeActor(actor.id, async (tx, locked) => {
      requirePerson(locked.kind)
      await prepare?.(tx)
      await accounts.record(tx, actor.id, { provider, person, address, isProven })
      // An account of this service may have no address.
      const name = person.own === undefined ? address : identifier
      if (trustType !== null && name !== null) {
        const wanted = { actorId: actor.id, address: name, relationship: trustType, now: now() }
        await ensureInteractiveTrust(tx, keyRing, wanted)
      }
      const done = also === undefined ? null : await also(tx, actor.id)
      const issued = await tokens.startSession(tx, {
        actorId: actor.id,
        identifier,
        beganWith,
        device,
        ...present({ authenticatedAt: person.authenticatedAt }),
      })
      await live.record(tx, locked, 'sessions', [issued.chainId])
      return { issued, also: done }
    })
    noteAct(actor.id, 'session.begin')
    return stored
  }
}

function busy(): ServiceError {
  return new ServiceError('store_unavailable', 'Cannot sign you in now: too many concurrent sign-ins; try again', {
    retryAfterSeconds: 1,
  })
}

function needsAddress({ trustType = null, needsAddress: isAsked = false }: SignInAttempt): boolean {
  return isAsked || trustType !== null
}

/** Returns whether the account has an address that a provider or a verification link proved before. */
function hasAddress(account: Account | null): boolean {
  return account?.verified === true && account.identifier.includes('@')
}

/** Whether the account was proven by another person of a provider. */
function isOfOther(account: Account, subject: string): boolean {
  return account.verified && account.subject !== null && account.subject !== subject
}

/**
 * Returns the account that this person may enter. An account that has the identifier without proof admits only the
 * subject of the same provider that created it.
 *
 * @throws SignInRefusal `other_identity` where the id at the provider counts, for the address of another id: the provider
 *   may have given the address to another person.
 */
function accountOf(
  found: readonly Account[],
  identifier: string | null,
  subject: string,
  mode: IdentityMode,
): Account | null {
  const bySubject = found.find((account) => account.subject === subject) ?? null
  const byIdentifier =
    found.find((account) => account.identifier === identifier && (account.verified || account.subject === subject)) ??
    null
  if (mode === 'email') return byIdentifier ?? bySubject
  if (bySubject !== null) return bySubject
  if (byIdentifier !== null && isOfOther(byIdentifier, subject))
    throw new SignInRefusal('other_identity', 'the address belongs to the account of another id at a provider')
  return byIdentifier
}

function resolvedAccount(account: Account, identity: Exclude<PersonIdentity, { kind: 'unknown' }>): ResolvedAccount {
  const isSame = identity.kind === 'proven' && identity.identifier === account.identifier
  return {
    actor: { id: account.actorId, creator: account.creator, kind: personKind },
    isNew: false,
    identifier: account.identifier,
    address: identity.kind === 'proven' ? identity.address : null,
    isProven: isSame || account.verified,
  }
}

/** Refuses a new account in a sign-in that must end at an existing one. */
function refuseNew({ expectedActorId = null, expectedIdentifier = null }: SignInAttempt): void {
  if (expectedActorId !== null || expectedIdentifier !== null) throw new SignInRefusal('other_identity')
}

/** Refuses a sign-in that began for another identity, before it creates an actor. */
function refuseOthers(
  { expectedActorId = null, expectedIdentifier = null }: SignInAttempt,
  account: Account | null,
  identifier: string | null,
): void {
  const identifiers = [identifier, account?.identifier ?? null].filter((known) => known !== null)
  const isOtherIdentifier =
    expectedIdentifier !== null && identifiers.length > 0 && !identifiers.includes(expectedIdentifier)
  // `#refuseForeignActor` checks an actor without an account by its creator.
  const isOtherActor =
    expectedActorId !== null && (account === null ? identifier === null : account.actorId !== expectedActorId)
  if (isOtherActor || isOtherIdentifier) throw new SignInRefusal('other_identity')
}
