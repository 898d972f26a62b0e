/**
 * The link with which the first operator begins. Each start replaces it, while the service has no operator. The link shows a
 * page and changes nothing; the person signs in, and a form makes that sign-in an operator (docs/decisions/225).
 */
import { ServiceError } from '../../errors.ts'
import { hashSecret } from '../../secret/hash.ts'
import { randomToken } from '../../secret/random.ts'
import type { Queries, Store } from '../../store/store.ts'
import {
  deleteOperatorLink,
  findOperatorLink,
  lockStoredOperators,
  storeOperatorLink,
  storeOperators,
} from './operator-store.ts'
import type { Operators } from './operators.ts'

const lifetimeMs = 86_400_000

export interface FirstOperatorDeps {
  readonly operators: Pick<Operators, 'configured' | 'exist'>
  readonly store: Pick<Store, 'read' | 'write' | 'now'>
}

export class FirstOperator {
  readonly #deps: FirstOperatorDeps

  constructor(deps: FirstOperatorDeps) {
    this.#deps = deps
  }

  /** Replaces the code of the link, for a start. Null: the service has an operator, and the former link ends. */
  async renew(): Promise<string | null> {
    const { operators, store } = this.#deps
    const code = randomToken(32)
    return store.write(async (tx) => {
      const stored = await lockStoredOperators(tx)
      if (operators.configured.length > 0 || stored.length > 0) {
        await deleteOperatorLink(tx)
        return null
      }
      await storeOperatorLink(tx, { hash: hashSecret(code), expiresAt: store.now() + lifetimeMs })
      return code
    })
  }

  /** @throws ServiceError `gone` unless the code is that of the newest start, and the service has no operator. */
  async require(code: string): Promise<void> {
    if ((await this.#deps.operators.exist()) || !(await this.#deps.store.read((q) => this.#isValid(q, code))))
      throw ended()
  }

  /**
   * Consumes the code, and stores the first operator.
   *
   * @param name The sign-in of the person (`Operators.candidate`).
   * @throws ServiceError `gone`, also when another browser was faster.
   */
  async become(code: string, name: string): Promise<void> {
    const { operators, store } = this.#deps
    await store.write(async (tx) => {
      const stored = await lockStoredOperators(tx)
      const isFirst = operators.configured.length === 0 && stored.length === 0
      if (!isFirst || !(await this.#isValid(tx, code))) throw ended()
      await deleteOperatorLink(tx)
      await storeOperators(tx, [{ name, addedAt: store.now(), addedBy: 'link' }])
    })
  }

  async #isValid(q: Queries, code: string): Promise<boolean> {
    const link = await findOperatorLink(q)
    return link !== null && link.hash === hashSecret(code) && link.expiresAt > this.#deps.store.now()
  }
}

function ended(): ServiceError {
  return new ServiceError(
    'gone',
    'This link has ended: it was used, a later start of the service replaced it, or it is older than 24 hours. If the service has no operator, restart it and open the link that the start prints.',
  )
}
