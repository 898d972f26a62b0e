/** The passkeys and the recovery codes of an owner. */
import type { Actor } from '../../actor/actor.ts'
import { ServiceError } from '../../errors.ts'
import type { Live } from '../../live/live.ts'
import { hashSecret } from '../../secret/hash.ts'
import type { KeyRing } from '../../secret/key-ring.ts'
import { randomToken } from '../../secret/random.ts'
import { open, seal, type Sealed } from '../../secret/sealed.ts'
import type { Store, Transaction } from '../../store/store.ts'
import type { OneTime } from '../../token/one-time.ts'
import { findAccount } from '../account-store.ts'
import type { Accounts } from '../accounts.ts'
import { passkeyIdentifier } from './names.ts'
import {
  deleteCodeHashes,
  deletePasskey,
  findCodeHashes,
  findPasskeys,
  insertCodeHashes,
  insertPasskey,
  type Passkey,
  type PasskeyName,
  updateName,
} from './passkey-store.ts'
import { newRecoveryCodes, parseRecoveryCode } from './recovery-code.ts'
import type { CreatedPasskey, WebAuthn } from './webauthn.ts'

export interface PasskeysDeps {
  readonly store: Store
  readonly keyRing: KeyRing
  readonly oneTime: OneTime
  readonly accounts: Accounts
  readonly live: Pick<Live, 'record'>
  readonly webauthn: WebAuthn
  readonly now: () => number
}

export interface OwnerPasskeys {
  /** Oldest first. */
  readonly passkeys: readonly Passkey[]
  /** Number of unused recovery codes. */
  readonly codeCount: number
}

/** The creation of a passkey, which the page hands to the device. */
export interface PasskeyCreation {
  /** `PublicKeyCredentialCreationOptionsJSON` of WebAuthn. */
  readonly options: string
  /** Returns with the response of the device. It is valid for ten minutes. */
  readonly ticket: string
}

export interface AddedPasskey {
  readonly ticket: string
  /** JSON of the device's response. */
  readonly response: string
  readonly name: string
}

/** The content of a ticket. */
interface Ticket {
  readonly challenge: string
  /** Unix milliseconds. */
  readonly until: number
}

const ticketMs = 600_000

/** Maximum number of passkeys of one owner. */
const maxPasskeys = 50

export class Passkeys {
  readonly #deps: PasskeysDeps

  constructor(deps: PasskeysDeps) {
    this.#deps = deps
  }

  list(actorId: string): Promise<OwnerPasskeys> {
    return this.#deps.store.read(async (q) => {
      const [passkeys, codes] = await Promise.all([findPasskeys(q, actorId), findCodeHashes(q, actorId)])
      return { passkeys, codeCount: codes.length }
    })
  }

  /** @param passkeys The passkeys of the owner. */
  async beginCreation(
    { id, creator }: Pick<Actor, 'id' | 'creator'>,
    passkeys: readonly Passkey[],
  ): Promise<PasskeyCreation> {
    const { keyRing, now, webauthn } = this.#deps
    const challenge = randomToken(32)
    const ticket: Ticket = { challenge, until: now() + ticketMs }
    const options = await webauthn.creationOptions(challenge, { actorId: id, name: creator, passkeys })
    return { options: JSON.stringify(options), ticket: seal(keyRing, JSON.stringify(ticket), bindingOfTicket(id)) }
  }

  /**
   * Adds a passkey. An actor without an account gets one, which the passkey opens.
   *
   * @throws ServiceError `bad_request` for a response that is late or not valid, `conflict` for a passkey that the owner has
   *   already or that is one too many.
   */
  async add(id: string, { ticket, response, name }: AddedPasskey): Promise<void> {
    const { store, live, webauthn } = this.#deps
    const created = await webauthn.verifyCreation(response, this.#challengeIn(id, ticket))
    await store.writeActor(id, async (tx, locked) => {
      const existing = await findPasskeys(tx, id)
      if (existing.length >= maxPasskeys)
        throw new ServiceError('conflict', `Cannot add a passkey: an owner has at most ${maxPasskeys}`)
      await this.#ensureAccount(tx, id)
      await this.#insert(tx, id, created, name)
      await live.record(tx, locked, 'sessions', [created.passkeyId])
    })
  }

  /** Stores the first passkey and the recovery codes of a new actor, in the transaction that creates it. */
  async insertFirst(
    tx: Transaction,
    actorId: string,
    {
      created,
      name,
      codes,
    }: { readonly created: CreatedPasskey; readonly name: string; readonly codes: readonly string[] },
  ): Promise<void> {
    await this.#insert(tx, actorId, created, name)
    await this.#insertCodes(tx, actorId, codes)
  }

  /** @throws ServiceError `not_found` */
  async rename({ actorId, passkeyId, name }: PasskeyName): Promise<void> {
    const { store, live } = this.#deps
    await store.writeActor(actorId, async (tx, locked) => {
      if (!(await updateName(tx, { actorId, passkeyId, name }))) throw unknownPasskey()
      await live.record(tx, locked, 'sessions', [passkeyId])
    })
  }

  /**
   * Removes a passkey, immediately in every process.
   *
   * @throws ServiceError `not_found`, `conflict` for the last passkey of an owner who has no other way to sign in.
   */
  async remove(actorId: string, passkeyId: string): Promise<void> {
    const { store, live } = this.#deps
    await store.writeActor(actorId, async (tx, locked) => {
      const passkeys = await findPasskeys(tx, actorId)
      if (!passkeys.some((each) => each.passkeyId === passkeyId)) throw unknownPasskey()
      const account = passkeys.length === 1 ? await findAccount(tx, actorId) : null
      if (account?.identifier === passkeyIdentifier(actorId))
        throw new ServiceError(
          'conflict',
          'Cannot remove the last passkey: you could not sign in again. Add another one first.',
        )
      await deletePasskey(tx, actorId, passkeyId)
      await live.record(tx, locked, 'sessions', [passkeyId])
    })
  }

  /** Replaces the recovery codes. @returns the new codes, which are not stored. */
  async replaceCodes(actorId: string): Promise<readonly string[]> {
    const { store, oneTime, live } = this.#deps
    const codes = newRecoveryCodes()
    await store.writeActor(actorId, async (tx, locked) => {
      await oneTime.discard(tx, await findCodeHashes(tx, actorId))
      await deleteCodeHashes(tx, actorId)
      await this.#insertCodes(tx, actorId, codes)
      await live.record(tx, locked, 'sessions', ['recovery_codes'])
    })
    return codes
  }

  async #insert(tx: Transaction, actorId: string, created: CreatedPasskey, name: string): Promise<void> {
    const passkey = { ...created, actorId, name, createdAt: this.#deps.now(), lastUsedAt: null }
    if (!(await insertPasskey(tx, passkey)))
      throw new ServiceError('conflict', 'Cannot add this passkey: you have added it before')
  }

  async #insertCodes(tx: Transaction, actorId: string, codes: readonly string[]): Promise<void> {
    const { oneTime } = this.#deps
    const values = codes.map(parseRecoveryCode).filter((value) => value !== null)
    for (const value of values) await oneTime.create(tx, { purpose: 'recovery_code', actorId, data: {}, value })
    await insertCodeHashes(tx, actorId, values.map(hashSecret))
  }

  async #ensureAccount(tx: Transaction, actorId: string): Promise<void> {
    if ((await findAccount(tx, actorId)) !== null) return
    await this.#deps.accounts.insert(tx, {
      actorId,
      identifier: passkeyIdentifier(actorId),
      verified: true,
      subject: null,
    })
  }

  #challengeIn(actorId: string, ticket: string): string {
    const { keyRing, now } = this.#deps
    const { challenge, until } = readTicket(keyRing, actorId, ticket)
    if (until < now())
      throw new ServiceError(
        'bad_request',
        'Cannot add a passkey: it took longer than ten minutes. Please begin again.',
      )
    return challenge
  }
}

function bindingOfTicket(actorId: string): readonly string[] {
  return [actorId, 'passkey', 'ticket']
}

/** @throws ServiceError `bad_request` for a ticket that this service did not give to this owner. */
function readTicket(keyRing: KeyRing, actorId: string, ticket: string): Ticket {
  try {
    return JSON.parse(open(keyRing, ticket as Sealed, bindingOfTicket(actorId))) as Ticket
  } catch (error) {
    throw new ServiceError('bad_request', 'Cannot add a passkey: this page belongs to another account', {
      cause: error,
    })
  }
}

function unknownPasskey(): ServiceError {
  return new ServiceError('not_found', 'The passkey does not exist')
}
