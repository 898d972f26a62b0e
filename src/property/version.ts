/**
 * Versions of properties, of their parts and of list items. A form and an entity tag contain the version on which a write is
 * based. The write compares the version in its transaction, so that it does not overwrite a concurrent change.
 */
import { hash, hkdfSync } from 'node:crypto'
import { ServiceError } from '../errors.ts'
import { getAt, type JsonText } from '../json/json.ts'
import type { KeyRing } from '../secret/key-ring.ts'
import type { Queries } from '../store/store.ts'
import { readHeadText } from '../list/list-head.ts'
import { firstVersion, type ItemRow, parseIndex, readItemRow } from '../list/list.ts'
import type { Access } from './access.ts'
import { type ConditionSubject, requireMet, untagged } from './condition.ts'
import type { DeclaredKinds } from './declared-kinds.ts'
import { readTogether } from './property-pages.ts'
import { findProperty, type StoredProperty } from './property-store.ts'

export interface PropertyVersion {
  /** The version of the value, or of the list with its items. It changes with every change of them. */
  readonly whole: string
  /** The version of the description and explanation of a list. The same as `whole` for a value. */
  readonly texts: string
}

/** The actor of a version. Its kind declares the versions of its data. */
export type OwnerOfVersion = Pick<Access['actor'], 'id' | 'kind'>

/** The version of a name without a property. */
export const noVersion = 'none'

/** Computes versions with a key, so that a version does not reveal a value that hooks hide. Key rotation changes versions. */
export class Versions {
  readonly #keys: { readonly inner: string; readonly outer: string }
  readonly #declared: DeclaredKinds

  constructor({ currentId, keys }: KeyRing, declared: DeclaredKinds) {
    this.#declared = declared
    const key = keys.get(currentId)
    if (key === undefined) throw new Error('the key ring lacks its current key')
    // In hexadecimal, each key fills one block of SHA-256.
    const derived = (purpose: string): string =>
      Buffer.from(hkdfSync('sha256', key, '', `troupe version v1 ${purpose}`, 32)).toString('hex')
    this.#keys = { inner: derived('inner'), outer: derived('outer') }
  }

  /** @throws ServiceError `list_corrupted` */
  of(actor: OwnerOfVersion, property: StoredProperty | null): PropertyVersion {
    if (property === null) return { whole: noVersion, texts: noVersion }
    const whole = this.ofWhole(actor, property)
    const { name, kind, content } = property
    if (kind !== 'list') return { whole, texts: whole }
    const { id, description, explanation } = readHeadText(name, content)
    return { whole, texts: this.#digest([actor.id, name, 'texts', id, description, explanation]) }
  }

  /** `PropertyVersion.whole`. Does not read the head of a list, which may be damaged. */
  ofWhole(actor: OwnerOfVersion, { name, kind, content }: StoredProperty): string {
    return kind === 'value'
      ? this.ofValue(actor.id, [name], content)
      : this.#digest([actor.id, name, kind, ...this.#formatFacts(actor, name)], content)
  }

  /** The version of a value, or of a part of it. @param path the name, followed by keys. */
  ofValue(actorId: string, path: readonly string[], value: JsonText): string {
    return this.#digest([actorId, ...path, 'value'], value)
  }

  ofItem(actor: OwnerOfVersion, name: string, { listId, row }: ItemRow): string {
    const facts = [listId, String(row.item), String(row.revision), ...this.#formatFacts(actor, name)]
    return this.#digest([actor.id, name, 'item', ...facts])
  }

  /** A release that declares another version shows other items, although the rows are the same. */
  #formatFacts(actor: OwnerOfVersion, name: string): readonly string[] {
    const version = this.#declared.of(actor).versionOf(name)
    return version === firstVersion ? [] : [`version ${version}`]
  }

  /** The version of a listing of these properties. */
  ofListing(actor: OwnerOfVersion, properties: readonly StoredProperty[]): string {
    const facts = properties.map(({ name, kind, content }) =>
      JSON.stringify([name, kind, content.length, ...(kind === 'list' ? this.#formatFacts(actor, name) : [])]),
    )
    return this.#digest([actor.id, 'all', ...facts], properties.map(({ content }) => content).join(''))
  }

  /** The version of a response whose content hooks of the application determine. */
  ofShown(version: string, shown: JsonText): string {
    return `${version}.${this.#digest(['shown'], shown)}`
  }

  /** @throws ServiceError `precondition_failed` when the access has a condition that the stored state does not meet. */
  async requireCondition(q: Queries, { actor, condition }: Access): Promise<void> {
    if (condition === undefined) return
    const version = await this.#stored(q, actor, condition.subject)
    requireMet(condition, version === noVersion ? null : version)
  }

  async #stored(q: Queries, actor: OwnerOfVersion, subject: ConditionSubject): Promise<string> {
    if ('mayRead' in subject) {
      const rows = await readTogether(q, actor.id)
      if (rows === null) return untagged
      const stored = this.#declared.of(actor).allPresent(rows)
      const readable = stored.filter(({ name }) => subject.mayRead(name))
      return this.ofListing(
        actor,
        readable.map((row) => this.#declared.of(actor).current(row)),
      )
    }
    const [name = '', ...below] = subject.path
    const row = this.#declared.of(actor).present(name, await findProperty(q, actor.id, name))
    const property = row === null ? null : this.#declared.of(actor).current(row)
    const [first] = below
    if (property === null || first === undefined) return this.of(actor, property).whole
    if (property.kind === 'list') {
      const at = below.length === 1 ? parseIndex(first) : null
      const found = at === null ? null : await readItemRow(q, this.#declared.of(actor).addressOf(actor.id, name), at)
      return found === null ? noVersion : this.ofItem(actor, name, found)
    }
    const part = below.includes('') ? undefined : getAt(property.content, below)
    return part === undefined ? noVersion : this.ofValue(actor.id, subject.path, part)
  }

  /**
   * Compares the stored version with the expected version, if given.
   *
   * @throws ServiceError `conflict` when the stored version differs.
   */
  async require(
    q: Queries,
    actor: OwnerOfVersion,
    name: string,
    expected: { readonly whole?: string | undefined; readonly texts?: string | undefined },
  ): Promise<void> {
    if (expected.whole === undefined && expected.texts === undefined) return
    const row = this.#declared.of(actor).present(name, await findProperty(q, actor.id, name))
    const stored = this.of(actor, row === null ? null : this.#declared.of(actor).current(row))
    if ((expected.whole ?? stored.whole) === stored.whole && (expected.texts ?? stored.texts) === stored.texts) return
    if (expected.whole === noVersion) throw new ServiceError('conflict', `“${shown(name)}” already exists.`)
    throw changedMeanwhile(name, stored.whole === noVersion)
  }

  /** HMAC with SHA-256 and a key for each of its two steps. `createHmac` takes four times as long for a short content. */
  #digest(facts: readonly string[], content = ''): string {
    const { inner, outer } = this.#keys
    const hashed = hash('sha256', `${inner}${JSON.stringify(facts)}${content}`, 'hex')
    return hash('sha256', outer + hashed, 'base64url').slice(0, 22)
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
