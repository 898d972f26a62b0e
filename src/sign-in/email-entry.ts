/** Sign-in with an email address that the provider does not confirm: the person types it, and a link verifies it later. */
import { type Actor } from '../actor/actor.ts'
import { parseAddress } from '../actor/address.ts'
import type { Actors } from '../actor/actors.ts'
import { ServiceError } from '../errors.ts'
import type { Store } from '../store/store.ts'
import type { IssuedTokens } from '../token/chain.ts'
import type { OneTime, PresentedRecord } from '../token/one-time.ts'
import { isTaken } from './account-store.ts'
import type { Accounts } from './accounts.ts'
import type { SessionEntry } from './establish-session.ts'
import { LostRace } from './lost-race.ts'
import type { Flow } from './flow.ts'
import type { Person } from './provider.ts'
import { signInOver } from './refusal.ts'
import type { Verification } from './verification.ts'

/** A sign-in that waits until the person types an address. */
export interface Asking {
  readonly person: Person
  /** Kind of the provider. */
  readonly provider: string
  readonly displayName: string
  readonly flow: Flow
  /** False when an application continues the sign-in without the browser that began it. Then no page or cookie is sent. */
  readonly isBound: boolean
}

export interface FreeTextDeps {
  readonly store: Store
  readonly oneTime: OneTime
  readonly actors: Actors
  readonly accounts: Accounts
  readonly entry: SessionEntry
  readonly verification: Verification
}

export interface Typed {
  readonly session: string
  /** The typed string, before validation. */
  readonly email: string
  readonly browser: string | null
  readonly device: string
  /** Tag of the language of the page. */
  readonly language: string
}

export interface TypedEntry {
  readonly tokens: IssuedTokens
  readonly address: string
  readonly asking: Asking
}

export class FreeText {
  readonly #deps: FreeTextDeps

  constructor(deps: FreeTextDeps) {
    this.#deps = deps
  }

  /** @param browser The cookie of the only browser that may continue. Null when an application continues. */
  begin(asking: Omit<Asking, 'isBound'>, browser: string | null): Promise<string> {
    const { store, oneTime } = this.#deps
    const data: Asking = { ...asking, isBound: browser !== null }
    return store.write((tx) => oneTime.create(tx, { purpose: 'email_session', data, browser }))
  }

  /** @throws ServiceError `bad_request` for a session that has ended or belongs to another browser. */
  async look(session: string, browser: string | null): Promise<Asking> {
    const { store, oneTime } = this.#deps
    const found = await store.read((q) => oneTime.peek<Asking>(q, presented(session, browser)))
    if (found === null) throw signInOver()
    return found.data
  }

  /**
   * Creates the actor of a typed address and signs in. The address is normalized before the lookup.
   *
   * @throws ServiceError `invalid_value` for an invalid address, `actor_exists` for an address that has an actor. Both
   *   leave the session valid. @throws SignInRefusal `rejected`. A refusal stores nothing.
   */
  async enter({ session, email, browser, device, language }: Typed): Promise<TypedEntry> {
    const { store, entry, verification } = this.#deps
    const asking = await this.look(session, browser)
    const { person, provider } = asking
    const address = parseAddress(email)
    if (address === null)
      throw new ServiceError('invalid_value', 'Please enter an e-mail address, such as you@example.com.')
    if (await store.read((q) => isTaken(q, address))) throw taken()
    const actor = await this.#make(address, person, session, browser)
    if (actor === null) throw taken()
    const account = { actor, isNew: true, identifier: address, address, isProven: false }
    const finished = await entry.finish({ person, provider, beganWith: 'email', device }, account, (tx, actorId) =>
      verification.issue(tx, actorId, address, browser),
    )
    if (finished === null) throw new Error('Cannot finish the first sign-in: the new actor was deleted')
    await verification.announce(actor, { address, token: finished.also }, language)
    return { tokens: finished.issued, address, asking }
  }

  async #make(
    address: string,
    { stableId }: Person,
    session: string,
    browser: string | null,
  ): Promise<Pick<Actor, 'id' | 'creator' | 'kind'> | null> {
    const { oneTime, actors, accounts, entry } = this.#deps
    const draft = actors.draft(address)
    return entry.write(`sign-in ${address}`, async (tx) => {
      if ((await oneTime.consume(tx, presented(session, browser))) === null) throw signInOver()
      const account = { actorId: draft.id, identifier: address, verified: false, subject: stableId }
      const isAlone =
        !(await isTaken(tx, address)) && (await actors.insertDraft(tx, draft)) && (await accounts.insert(tx, account))
      if (!isAlone) throw new LostRace()
      return draft
    })
  }
}

function presented(session: string, browser: string | null): PresentedRecord {
  return { purpose: 'email_session', value: session, browser }
}

function taken(): ServiceError {
  return new ServiceError(
    'actor_exists',
    'Cannot use this address: it already has an actor. Sign in the way you did before, or enter another address.',
  )
}
