/**
 * The properties and lists that the application declared. Every write passes here after the hooks, so that stored data fits its
 * schema. Every read passes here too, which upgrades values of older versions. A declared name without a row has the default
 * value, or is an empty list.
 */
import type { DataDeclaration } from '../app/data-declarations.ts'
import { handlerResult } from '../app/handler-result.ts'
import { UnfitError } from '../app/schema.ts'
import { checkListName, checkName } from '../actor/property-name.ts'
import { ConfigError } from '../config/config-error.ts'
import { ServiceError } from '../errors.ts'
import { fromResult, isNull, type JsonText, known, toPlain } from '../json/json.ts'
import {
  emptyHeadText,
  ensureList,
  firstVersion,
  type ItemFormat,
  type ListAddress,
  type ListHistory,
} from '../list/list.ts'
import type { Transaction } from '../store/store.ts'
import { quote } from './property-errors.ts'
import type { NewValue, PropertyBefore, UnreadProperty, StoredProperty } from './property-store.ts'

export class DeclaredData {
  readonly #declarations: ReadonlyMap<string, DataDeclaration>
  /** The content of each declared name before its first write. */
  readonly #initial = new Map<string, UnreadProperty>()
  readonly #formats = new Map<string, ItemFormat>()
  readonly #history: ListHistory | undefined

  /** @param history Receives the changes of lists. */
  constructor(declarations: ReadonlyMap<string, DataDeclaration>, history?: ListHistory) {
    this.#declarations = declarations
    this.#history = history
    for (const declaration of declarations.values()) {
      const initial = initialOf(declaration)
      if (initial !== null) this.#initial.set(declaration.name, initial)
      if (declaration.kind === 'list') this.#formats.set(declaration.name, formatOf(declaration))
    }
  }

  get isEmpty(): boolean {
    return this.#declarations.size === 0
  }

  declarationOf(name: string): DataDeclaration | undefined {
    return this.#declarations.get(name)
  }

  /** The fields for which the list has an index. */
  indexesOf(name: string): readonly string[] {
    return this.#declarations.get(name)?.indexes ?? []
  }

  /** The format of the items of a declared list. Null for any other name. */
  formatOf(name: string): ItemFormat | null {
    return this.#formats.get(name) ?? null
  }

  addressOf(actorId: string, name: string): ListAddress {
    return { actorId, list: name, format: this.formatOf(name), history: this.#history }
  }

  /** The stored row, or what the declared name holds without a row. */
  present(name: string, stored: UnreadProperty | null): UnreadProperty | null {
    return stored ?? this.#initial.get(name) ?? null
  }

  /** The stored rows together with the declared names that have no row, by name. */
  allPresent(stored: readonly UnreadProperty[]): readonly UnreadProperty[] {
    if (this.#initial.size === 0) return stored
    const names = new Set(stored.map(({ name }) => name))
    const missing = [...this.#initial.values()].filter(({ name }) => !names.has(name))
    if (missing.length === 0) return stored
    return [...stored, ...missing].toSorted((a, b) => (a.name < b.name ? -1 : 1))
  }

  /** The declared values without a row and without a default, by name. */
  unset(stored: readonly UnreadProperty[]): readonly DataDeclaration[] {
    const names = new Set(stored.map(({ name }) => name))
    return [...this.#declarations.values()]
      .filter(({ kind, name }) => kind === 'value' && !names.has(name) && !this.#initial.has(name))
      .toSorted((a, b) => (a.name < b.name ? -1 : 1))
  }

  /**
   * The property with its value in the declared version. The row stays as it is until the next write.
   *
   * @throws ServiceError `migration_failed`; `newer_data` when a newer release has written the value.
   */
  current(row: UnreadProperty): StoredProperty {
    const declaration = this.#declarations.get(row.name)
    const isCurrent = declaration?.kind !== 'value' || row.kind !== 'value' || row.version === declaration.version
    if (isCurrent) return row as StoredProperty
    return { ...row, content: upgraded(declaration, row.content, row.version), version: declaration.version }
  }

  /** The value before a write. Undefined when it cannot be read, so that the write can replace it. */
  valueBefore(name: string, { kind, value, version }: PropertyBefore): JsonText | undefined {
    if (value === undefined || kind !== 'value') return undefined
    try {
      return this.current({ name, kind, content: value, version }).content
    } catch (error) {
      if (error instanceof ServiceError) return undefined
      throw error
    }
  }

  /** The value to store under the name, with its version. */
  newValue(name: string, value: JsonText): NewValue {
    return { name, value, version: this.versionOf(name) }
  }

  /** The declared version of the values or items of the name. */
  versionOf(name: string): number {
    return this.#declarations.get(name)?.version ?? firstVersion
  }

  /** The declared names whose stored content may have an older version. */
  versioned(): readonly string[] {
    return [...this.#declarations.keys()].filter((name) => this.versionOf(name) > firstVersion)
  }

  /**
   * The value to store, as the schema converts it.
   *
   * @param path the path of the write, for the error.
   * @throws ServiceError `invalid_value` with the field; `conflict` when the name is declared as a list.
   */
  fitValue(path: readonly string[], value: JsonText): JsonText {
    const declaration = this.#declarationFor('value', path[0] ?? '')
    return declaration === undefined ? value : fit(declaration, path, value)
  }

  /** The item to store. @throws ServiceError `invalid_value` with the field; `conflict` when the name is declared as a value. */
  fitItem(path: readonly string[], item: JsonText): JsonText {
    const declaration = this.#declarationFor('list', path[0] ?? '')
    return declaration === undefined ? item : fit(declaration, path, item)
  }

  /** @throws ServiceError `conflict` when the name is declared as a value. */
  requireList(name: string): void {
    this.#declarationFor('list', name)
  }

  /** Creates a declared list that does not exist yet. Does nothing for other names. */
  async ensureList(tx: Transaction, at: ListAddress, nowMs: number): Promise<void> {
    const declaration = this.#declarations.get(at.list)
    if (declaration?.kind === 'list') await ensureList(tx, at, declaration, nowMs)
  }

  #declarationFor(kind: DataDeclaration['kind'], name: string): DataDeclaration | undefined {
    const declaration = this.#declarations.get(name)
    if (declaration === undefined || declaration.kind === kind) return declaration
    throw new ServiceError(
      'conflict',
      kind === 'value'
        ? `Cannot set ${quote([name])}: it is declared as a list`
        : `Cannot create the list ${quote([name])}: it is declared as a value`,
    )
  }
}

/**
 * @throws ServiceError `migration_failed` or `newer_data`, which names the property and the versions. Only the log has the reason
 *   of the application, because it may quote the value.
 */
function upgraded(declaration: DataDeclaration, text: string, from: number): JsonText {
  const { name, schema, version, migrate } = declaration
  requireReadable(declaration, from)
  try {
    const migrated = fromResult(migrate?.(toPlain(known(text)), from))
    if (isNull(migrated)) throw new Error('migrate returned null')
    return handlerResult(schema.check(toPlain(migrated)))
  } catch (cause) {
    const what = `Cannot upgrade ${quote([name])} from version ${from} to version ${version}`
    const reason =
      cause instanceof UnfitError ? unfitReason(cause) : cause instanceof Error ? cause.message : String(cause)
    throw new ServiceError('migration_failed', what, { cause, reason: `${what}: ${reason}` })
  }
}

function unfitReason({ path, message }: UnfitError): string {
  return path.length === 0 ? message : `field "${path.join('.')}": ${message}`
}

/** @throws ServiceError `newer_data` */
function requireReadable({ name, version }: DataDeclaration, stored: number): void {
  if (stored <= version) return
  throw new ServiceError(
    'newer_data',
    `Cannot read ${quote([name])}: a newer release stored it with version ${stored}, and this release declares version ${version}`,
  )
}

function formatOf(declaration: DataDeclaration): ItemFormat {
  return {
    version: declaration.version,
    upgrade: (text, from) => (from === declaration.version ? known(text) : upgraded(declaration, text, from)),
    requireReadable: (version) => requireReadable(declaration, version),
  }
}

function fit({ schema }: DataDeclaration, path: readonly string[], text: JsonText): JsonText {
  const given = toPlain(text)
  const before = JSON.stringify(given)
  let fitting: unknown
  try {
    fitting = schema.check(given)
  } catch (error) {
    if (!(error instanceof UnfitError)) throw error
    throw new ServiceError('invalid_value', `Cannot set ${quote(path)}: ${unfitReason(error)}`, {
      members: { field: error.path.join('.') },
    })
  }
  // The given text stays when the schema has not changed the value, so that large numbers keep their digits.
  const converted = handlerResult(fitting)
  return converted === before ? text : converted
}

/** @throws ConfigError for a name that a property or a list cannot have. */
export function requireDeclarable(declarations: ReadonlyMap<string, DataDeclaration>): void {
  for (const { kind, name } of declarations.values()) {
    try {
      if (kind === 'list') checkListName(name)
      else checkName(name)
    } catch (error) {
      if (error instanceof ServiceError) throw new ConfigError(`Cannot declare the data of actors: ${error.message}.`)
      throw error
    }
  }
}

function initialOf(declaration: DataDeclaration): UnreadProperty | null {
  const { kind, name, description, explanation, version } = declaration
  if (kind === 'list') return { name, kind, content: emptyHeadText({ description, explanation }), version }
  return declaration.default === null ? null : { name, kind, content: declaration.default, version }
}
