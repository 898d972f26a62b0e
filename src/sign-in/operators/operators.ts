/**
 * The operators of the service: the people whom `TROUPE_ADMINS` or the store names by a sign-in of theirs, and never by an
 * actor.
 */
import { parseAddress } from '../../actor/address.ts'
import { ConfigError } from '../../config/config-error.ts'
import { ServiceError } from '../../errors.ts'
import type { Store } from '../../store/store.ts'
import type { Chain } from '../../token/chain.ts'
import type { Account } from '../account-store.ts'
import type { Accounts } from '../accounts.ts'
import { passkeyFingerprint, passkeyPrefix } from '../passkey/fingerprint.ts'
import { findPasskeys } from '../passkey/passkey-store.ts'
import { findStoredOperators, lockStoredOperators, type StoredOperator, storeOperators } from './operator-store.ts'

export interface Operator {
  /** The actor of the person. */
  readonly actorId: string
  /** The verified address, the provider id or the passkey that names the operator. */
  readonly name: string
}

export interface OperatorsDeps {
  readonly accounts: Pick<Accounts, 'find'>
  readonly store: Pick<Store, 'read' | 'write' | 'now'>
}

/** Sessions of these beginnings prove no identity: another program may know the passphrase, and an operator the link. */
const unproven: ReadonlySet<string> = new Set(['passphrase', 'import', 'operator'])

/** @throws ConfigError for an address that no provider could verify in this spelling. */
export function nameOfOperator(name: string): string {
  if (isId(name)) return name
  const address = parseAddress(name)
  if (address === null)
    throw new ConfigError(`TROUPE_ADMINS must contain valid addresses: ${JSON.stringify(name)} is not one.`)
  return address
}

function isId(name: string): boolean {
  return /^[a-z][a-z0-9-]*:/.test(name)
}

/** Returns the name in the form that is compared. Null for a name that no sign-in could prove. */
export function parseOperator(name: string): string | null {
  if (name.startsWith(passkeyPrefix)) return /^passkey:[\w-]{43}$/.test(name) ? name : null
  return isId(name) ? (/^[!-~]{1,512}$/.test(name) ? name : null) : parseAddress(name)
}

export class Operators {
  readonly #configured: readonly string[]
  readonly #deps: OperatorsDeps

  /** @param names Addresses, ids such as `google:1234`, and fingerprints of passkeys. */
  constructor(names: readonly string[], deps: OperatorsDeps) {
    this.#configured = [...new Set(names.map(nameOfOperator))]
    this.#deps = deps
  }

  /** The operators whom `TROUPE_ADMINS` names. */
  get configured(): readonly string[] {
    return this.#configured
  }

  stored(): Promise<readonly StoredOperator[]> {
    return this.#deps.store.read(findStoredOperators)
  }

  /** Returns whether the service has an operator. Without one, its pages do not exist. */
  async exist(): Promise<boolean> {
    return this.#configured.length > 0 || (await this.stored()).length > 0
  }

  /** Returns the operator of a session. Null for every other person, and for a session that proves no identity. */
  async of(chain: Pick<Chain, 'actorId' | 'beganWith'>): Promise<Operator | null> {
    const name = provesIdentity(chain) ? await this.nameOf(chain.actorId) : null
    return name === null ? null : { actorId: chain.actorId, name }
  }

  /** Returns the sign-in of the actor's owner that names an operator. Null: the owner is not an operator. */
  async nameOf(actorId: string): Promise<string | null> {
    const names = new Set([...this.#configured, ...(await this.stored()).map(({ name }) => name)])
    if (names.size === 0) return null
    const account = await this.#deps.accounts.find(actorId)
    if (account === null) return null
    const proven = provenNames(account).find((name) => names.has(name))
    if (proven !== undefined || ![...names].some((name) => name.startsWith(passkeyPrefix))) return proven ?? null
    return (await this.#passkeysOf(actorId)).find((name) => names.has(name)) ?? null
  }

  /**
   * Returns the sign-in by which the person of the session would become an operator: a verified address or provider id, else
   * the passkey that was used last. Null for a session that proves no identity.
   */
  async candidate(chain: Pick<Chain, 'actorId' | 'beganWith'>): Promise<string | null> {
    const account = provesIdentity(chain) ? await this.#deps.accounts.find(chain.actorId) : null
    if (account === null) return null
    return provenNames(account)[0] ?? (await this.#passkeysOf(chain.actorId))[0] ?? null
  }

  /**
   * @param name A result of `parseOperator`.
   * @param by The name of the operator who adds, or `command`.
   * @throws ServiceError `conflict` when the name is that of an operator.
   */
  async add(name: string, by: string): Promise<void> {
    const { store } = this.#deps
    await store.write(async (tx) => {
      const stored = await lockStoredOperators(tx)
      if (this.#configured.includes(name) || stored.some((one) => one.name === name))
        throw new ServiceError('conflict', `Cannot add ${name}: it is an operator already`)
      await storeOperators(tx, [...stored, { name, addedAt: store.now(), addedBy: by }])
    })
  }

  /**
   * @throws ServiceError `not_found` for a name that is not stored, `conflict` for a name in `TROUPE_ADMINS`, and for the last
   *   operator, because the service would have none.
   */
  async remove(name: string): Promise<void> {
    await this.#deps.store.write(async (tx) => {
      const stored = await lockStoredOperators(tx)
      const others = stored.filter((one) => one.name !== name)
      if (others.length === stored.length && this.#configured.includes(name))
        throw new ServiceError(
          'conflict',
          `Cannot remove ${name}: TROUPE_ADMINS names this operator. Remove the name there, and restart the service`,
        )
      if (others.length === stored.length)
        throw new ServiceError('not_found', `Cannot remove ${name}: it is not a stored operator`)
      if (others.length + this.#configured.length === 0)
        throw new ServiceError('conflict', `Cannot remove ${name}: it is the last operator. Add another one first`)
      await storeOperators(tx, others)
    })
  }

  async #passkeysOf(actorId: string): Promise<readonly string[]> {
    const passkeys = await this.#deps.store.read((q) => findPasskeys(q, actorId))
    const usedAt = ({ lastUsedAt, createdAt }: (typeof passkeys)[number]): number => lastUsedAt ?? createdAt
    return passkeys.toSorted((a, b) => usedAt(b) - usedAt(a)).map(passkeyFingerprint)
  }
}

function provesIdentity({ beganWith }: Pick<Chain, 'beganWith'>): boolean {
  return !unproven.has(beganWith)
}

/** The identifier of an account with passkeys has the id of the actor, which proves nothing about a person. */
function provenNames({ identifier, verified, subject }: Account): readonly string[] {
  return [...(verified ? [identifier] : []), ...(subject === null ? [] : [subject])].filter(
    (name) => !name.startsWith(passkeyPrefix),
  )
}
