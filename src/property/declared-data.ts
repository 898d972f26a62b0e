/**
 * The properties and lists that the application declared. Every write passes here after the hooks, so that stored data fits its
 * schema. A declared name without a row has the default value, or is an empty list.
 */
import type { DataDeclaration } from '../app/data-declarations.ts'
import { handlerResult } from '../app/handler-result.ts'
import { UnfitError } from '../app/schema.ts'
import { checkListName, checkName } from '../actor/property-name.ts'
import { ConfigError } from '../config/config-error.ts'
import { ServiceError } from '../errors.ts'
import { type JsonText, known, toPlain } from '../json/json.ts'
import { emptyHeadText, ensureList, type ListAddress } from '../list/list.ts'
import type { Transaction } from '../store/store.ts'
import { quote } from './property-errors.ts'
import type { StoredProperty } from './property-store.ts'

export class DeclaredData {
  readonly #declarations: ReadonlyMap<string, DataDeclaration>
  /** The content of each declared name before its first write. */
  readonly #initial = new Map<string, StoredProperty>()

  constructor(declarations: ReadonlyMap<string, DataDeclaration>) {
    this.#declarations = declarations
    for (const declaration of declarations.values()) {
      const initial = initialOf(declaration)
      if (initial !== null) this.#initial.set(declaration.name, initial)
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

  /** The stored property, or what the declared name holds without a row. */
  present(name: string, stored: StoredProperty | null): StoredProperty | null {
    return stored ?? this.#initial.get(name) ?? null
  }

  /** The stored properties together with the declared names that have no row, by name. */
  allPresent(stored: readonly StoredProperty[]): readonly StoredProperty[] {
    if (this.#initial.size === 0) return stored
    const names = new Set(stored.map(({ name }) => name))
    const missing = [...this.#initial.values()].filter(({ name }) => !names.has(name))
    if (missing.length === 0) return stored
    return [...stored, ...missing].toSorted((a, b) => (a.name < b.name ? -1 : 1))
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

function fit({ schema }: DataDeclaration, path: readonly string[], text: JsonText): JsonText {
  const given = toPlain(text)
  const before = JSON.stringify(given)
  let fitting: unknown
  try {
    fitting = schema.check(given)
  } catch (error) {
    if (!(error instanceof UnfitError)) throw error
    const field = error.path.join('.')
    const where = field === '' ? '' : `field "${field}": `
    throw new ServiceError('invalid_value', `Cannot set ${quote(path)}: ${where}${error.message}`, {
      members: { field },
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

function initialOf(declaration: DataDeclaration): StoredProperty | null {
  const { kind, name, description, explanation } = declaration
  if (kind === 'list') return { name, kind, content: known(emptyHeadText({ description, explanation })) }
  return declaration.default === null ? null : { name, kind, content: declaration.default }
}
