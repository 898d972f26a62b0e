/** The operators of the service: the people whom `TROUPE_ADMINS` names by a sign-in of theirs, and never by an actor. */
import { parseAddress } from '../../actor/address.ts'
import { ConfigError } from '../../config/config-error.ts'
import type { Store } from '../../store/store.ts'
import type { Chain } from '../../token/chain.ts'
import type { Accounts } from '../accounts.ts'
import { passkeyFingerprint, passkeyPrefix } from '../passkey/fingerprint.ts'
import { findPasskeys } from '../passkey/passkey-store.ts'

export interface Operator {
  /** The actor of the person. */
  readonly actorId: string
  /** The verified address, the provider id or the passkey that `TROUPE_ADMINS` names. */
  readonly name: string
}

export interface OperatorsDeps {
  readonly accounts: Pick<Accounts, 'find'>
  readonly store: Pick<Store, 'read'>
}

/** Sessions of these beginnings prove no identity: another program may know the passphrase. */
const unproven: ReadonlySet<string> = new Set(['passphrase', 'import'])

/** @throws ConfigError for an address that no provider could verify in this spelling. */
export function nameOfOperator(name: string): string {
  if (/^[a-z][a-z0-9-]*:/.test(name)) return name
  const address = parseAddress(name)
  if (address === null)
    throw new ConfigError(`TROUPE_ADMINS must contain valid addresses: ${JSON.stringify(name)} is not one.`)
  return address
}

export class Operators {
  readonly #names: ReadonlySet<string>
  readonly #deps: OperatorsDeps

  /** @param names Addresses, ids such as `google:1234`, and fingerprints of passkeys. */
  constructor(names: readonly string[], deps: OperatorsDeps) {
    this.#names = new Set(names.map(nameOfOperator))
    this.#deps = deps
  }

  /** Returns the operator of a session. Null for every other person, and for a session that proves no identity. */
  async of({ actorId, beganWith }: Pick<Chain, 'actorId' | 'beganWith'>): Promise<Operator | null> {
    if (unproven.has(beganWith)) return null
    const name = await this.nameOf(actorId)
    return name === null ? null : { actorId, name }
  }

  /** Returns the sign-in of the actor's owner that `TROUPE_ADMINS` names. Null: the owner is not an operator. */
  async nameOf(actorId: string): Promise<string | null> {
    if (this.#names.size === 0) return null
    const account = await this.#deps.accounts.find(actorId)
    if (account === null) return null
    const { identifier, verified, subject } = account
    const proven = (verified ? [identifier, subject] : [subject]).find((name) => name !== null && this.#isNamed(name))
    return proven ?? (await this.#passkeyOf(actorId))
  }

  /** The identifier of an account with passkeys has the id of the actor, which proves nothing about a person. */
  #isNamed(name: string): boolean {
    return this.#names.has(name) && !name.startsWith(passkeyPrefix)
  }

  async #passkeyOf(actorId: string): Promise<string | null> {
    if (![...this.#names].some((name) => name.startsWith(passkeyPrefix))) return null
    const passkeys = await this.#deps.store.read((q) => findPasskeys(q, actorId))
    return passkeys.map(passkeyFingerprint).find((name) => this.#names.has(name)) ?? null
  }
}
