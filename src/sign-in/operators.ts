/** The operators of the service: the people whom `TROUPE_ADMINS` names. */
import { parseAddress } from '../actor/address.ts'
import { ConfigError } from '../config/config-error.ts'
import type { Chain } from '../token/chain.ts'
import type { Account } from './account-store.ts'
import type { Accounts } from './accounts.ts'

export interface Operator {
  /** The actor of the person. */
  readonly actorId: string
  /** The verified address or provider id that `TROUPE_ADMINS` names. */
  readonly name: string
}

/** Sessions of these beginnings prove no identity: another program may know the passphrase. */
const unproven: ReadonlySet<string> = new Set(['passphrase', 'import'])

/** @throws ConfigError for an address that no provider could verify in this spelling. */
function nameOfOperator(name: string): string {
  if (/^[a-z][a-z0-9-]*:/.test(name)) return name
  const address = parseAddress(name)
  if (address === null)
    throw new ConfigError(`TROUPE_ADMINS must contain valid addresses: ${JSON.stringify(name)} is not one.`)
  return address
}

export class Operators {
  readonly #names: ReadonlySet<string>
  readonly #accounts: Pick<Accounts, 'find'>

  /** @param names Addresses, and ids such as `google:1234`. */
  constructor(names: readonly string[], accounts: Pick<Accounts, 'find'>) {
    this.#names = new Set(names.map(nameOfOperator))
    this.#accounts = accounts
  }

  /** Returns the operator of a session. Null for every other person, and for a session that proves no identity. */
  async of({ actorId, beganWith }: Pick<Chain, 'actorId' | 'beganWith'>): Promise<Operator | null> {
    if (this.#names.size === 0 || unproven.has(beganWith)) return null
    const account = await this.#accounts.find(actorId)
    const name = account === null ? null : this.nameOf(account)
    return name === null ? null : { actorId, name }
  }

  /** Returns the proven name of an account that `TROUPE_ADMINS` contains. Null: the account is not an operator's. */
  nameOf({ identifier, verified, subject }: Pick<Account, 'identifier' | 'verified' | 'subject'>): string | null {
    const proven = verified ? [identifier, subject] : [subject]
    return proven.find((name) => name !== null && this.#names.has(name)) ?? null
  }
}
