/** An address that no provider vouches for: typed by the person, verified by a link later. */
import { parseAddress } from '../actor/address.ts'
import type { Actors } from '../actor/actors.ts'
import { ServiceError } from '../errors.ts'
import type { Store } from '../store/store.ts'
import type { IssuedTokens } from '../token/chain.ts'
import type { OneTime, PresentedRecord } from '../token/one-time.ts'
import { isTaken } from './account-store.ts'
import type { Accounts } from './accounts.ts'
import { type SessionEntry, LostRace } from './establish-session.ts'
import type { Flow } from './flow.ts'
import type { Person } from './provider.ts'
import { signInOver } from './refusal.ts'
import type { Verification } from './verification.ts'

/** A sign-in that waits for an address. */
export interface Asking {
  readonly person: Person
  /** Kind of the provider. */
  readonly provider: string
  readonly displayName: string
  readonly flow: Flow
  /** False where an application goes on, which nothing ties to the browser that began: no page is shown then, no cookie set. */
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
  /** As it was typed. */
  readonly email: string
  readonly browser: string | null
  readonly device: string
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

  /** @param browser The mark of the browser that goes on alone; null where an application does. */
  begin(asking: Omit<Asking, 'isBound'>, browser: string | null): Promise<string> {
    const { store, oneTime } = this.#deps
    const data: Asking = { ...asking, isBound: browser !== null }
    return store.write((tx) => oneTime.create(tx, { purpose: 'email_session', data, browser }))
  }

  /** @throws ServiceError `bad_request` for a session that is not this browser's (any more). */
  async look(session: string, browser: string | null): Promise<Asking> {
    const { store, oneTime } = this.#deps
    const found = await store.read((q) => oneTime.peek<Asking>(q, presented(session, browser)))
    if (found === null) throw signInOver()
    return found.data
  }

  /**
   * Makes the actor of a typed address. The address is brought into one form before anything is looked up.
   *
   * @throws ServiceError `invalid_value` for what is no address and `actor_exists` for one that has an actor, which leave
   *   the session good; SignInRefusal `rejected`. Nothing is stored then.
   */
  async enter({ session, email, browser, device }: Typed): Promise<TypedEntry> {
    const { store, entry, verification } = this.#deps
    const asking = await this.look(session, browser)
    const { person, provider } = asking
    const address = parseAddress(email)
    if (address === null)
      throw new ServiceError('invalid_value', 'Please enter an e-mail address, such as you@example.com.')
    if (await store.read((q) => isTaken(q, address))) throw taken()
    const actor = await this.#make(address, person, session, browser)
    if (actor === null) throw taken()
    const door = { actor, isNew: true, identifier: address, address, isProven: false }
    const settled = await entry.settle({ person, provider, beganWith: 'email', device }, door, (tx, actorId) =>
      verification.issue(tx, actorId, address, browser),
    )
    if (settled === null) throw new Error('An actor went while its owner signed in for the first time')
    await verification.announce(actor, address, settled.besides)
    return { tokens: settled.issued, address, asking }
  }

  async #make(
    address: string,
    { stableId }: Person,
    session: string,
    browser: string | null,
  ): Promise<{ readonly id: string; readonly creator: string } | null> {
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
    'Cannot use this address: it has an actor already. Sign in the way you did before, or enter another address.',
  )
}
