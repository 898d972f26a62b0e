/** Acts of an owner about API keys. */
import type { NewKey } from '../app/keys.ts'
import { ServiceError } from '../errors.ts'
import { type Acting, noteIfOwner } from '../observe/own-acts.ts'
import type { SignInAge } from '../permission/sign-in-age.ts'
import type { CreatedKey, KeyChange, Keys } from './keys.ts'

export interface KeyActsDeps {
  readonly keys: Pick<Keys, 'change' | 'create' | 'revoke'>
  readonly signInAge: SignInAge
}

export class KeyActs {
  readonly #deps: KeyActsDeps

  constructor(deps: KeyActsDeps) {
    this.#deps = deps
  }

  /** @throws ServiceError like `Keys.create` */
  async create(by: Acting, given: NewKey): Promise<CreatedKey> {
    this.#deps.signInAge.require(by.caller)
    const created = await this.#deps.keys.create(by.actor.id, given, by.caller)
    noteIfOwner(by, 'key.create')
    return created
  }

  /** @throws ServiceError `not_found`, and like `Keys.change` */
  async change(by: Acting, key: string, change: KeyChange): Promise<void> {
    this.#deps.signInAge.require(by.caller)
    if (!(await this.#deps.keys.change(by.actor.id, key, change))) throw unknownKey()
    noteIfOwner(by, 'key.change', { key })
  }

  /** @throws ServiceError `not_found` */
  async revoke(by: Acting, key: string): Promise<void> {
    if (!(await this.#deps.keys.revoke(by.actor, key))) throw unknownKey()
    noteIfOwner(by, 'key.revoke', { key })
  }
}

export function unknownKey(): ServiceError {
  return new ServiceError('not_found', 'Cannot find the key: it does not exist, was revoked or has ended', {
    refusal: 'key_gone',
  })
}
