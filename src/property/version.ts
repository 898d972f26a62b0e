/**
 * Versions of properties. A form contains the version on which it is based. The write compares the version in its
 * transaction, so that it does not overwrite a concurrent change.
 */
import { createHmac, hkdfSync } from 'node:crypto'
import { ServiceError } from '../errors.ts'
import type { KeyRing } from '../secret/key-ring.ts'
import type { Queries } from '../store/store.ts'
import { readHeadText } from '../list/list-head.ts'
import type { DeclaredData } from './declared-data.ts'
import { findProperty, type StoredProperty } from './property-store.ts'

export interface PropertyVersion {
  /** The version of the value, or of the list with its items. It changes with every change of them. */
  readonly whole: string
  /** The version of the description and explanation of a list. The same as `whole` for a value. */
  readonly texts: string
}

/** The version of a name without a property. */
export const noVersion = 'none'

/** Computes versions with a key, so that a version does not reveal a value that hooks hide. Key rotation changes versions. */
export class Versions {
  readonly #key: Buffer
  readonly #declared: DeclaredData

  constructor({ currentId, keys }: KeyRing, declared: DeclaredData) {
    this.#declared = declared
    const key = keys.get(currentId)
    if (key === undefined) throw new Error('the key ring lacks its current key')
    this.#key = Buffer.from(hkdfSync('sha256', key, '', 'troupe version v1', 32))
  }

  /** @throws ServiceError `list_corrupted` */
  of(actorId: string, property: StoredProperty | null): PropertyVersion {
    if (property === null) return { whole: noVersion, texts: noVersion }
    const { name, kind, content } = property
    const whole = this.#digest([actorId, name, kind, content])
    if (kind !== 'list') return { whole, texts: whole }
    const { id, description, explanation } = readHeadText(name, content)
    return { whole, texts: this.#digest([actorId, name, 'texts', id, description, explanation]) }
  }

  /**
   * Compares the stored version with the expected version, if given.
   *
   * @throws ServiceError `conflict` when the stored version differs.
   */
  async require(
    q: Queries,
    actorId: string,
    name: string,
    expected: { readonly whole?: string | undefined; readonly texts?: string | undefined },
  ): Promise<void> {
    if (expected.whole === undefined && expected.texts === undefined) return
    const stored = this.of(actorId, this.#declared.present(name, await findProperty(q, actorId, name)))
    if ((expected.whole ?? stored.whole) === stored.whole && (expected.texts ?? stored.texts) === stored.texts) return
    if (expected.whole === noVersion) throw new ServiceError('conflict', `“${shown(name)}” already exists.`)
    throw changedMeanwhile(name, stored.whole === noVersion)
  }

  #digest(facts: readonly string[]): string {
    return createHmac('sha256', this.#key).update(JSON.stringify(facts)).digest('base64url').slice(0, 22)
  }
}

function changedMeanwhile(name: string, isGone: boolean): ServiceError {
  return new ServiceError(
    'conflict',
    isGone
      ? `“${shown(name)}” was deleted while you were editing. Nothing was saved.`
      : `“${shown(name)}” changed while you were editing. Nothing was saved.`,
  )
}

function shown(name: string): string {
  return name.length > 120 ? `${name.slice(0, 120)}…` : name
}
