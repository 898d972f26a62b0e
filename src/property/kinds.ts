/** The kinds of properties. */
import type { JsonText } from '../json/json.ts'
import type { LockedActor, Transaction } from '../store/store.ts'
import type { Change } from './change.ts'
import type { PropertyMethods } from './kind.ts'
import { listKind } from './lists/list-kind.ts'
import { nameIsTaken } from './property-errors.ts'
import type { PropertyKind, StoredProperty } from './property-store.ts'
import { valueKind } from './value-kind.ts'

export const kinds: Readonly<Record<PropertyKind, PropertyMethods>> = {
  value: valueKind,
  list: listKind,
}

/** The full value. Null for a property that holds items, because items have their own rows. */
export function valueOf({ kind, content }: Pick<StoredProperty, 'kind' | 'content'>): JsonText | null {
  return kinds[kind].holdsItems ? null : content
}

/** True for a kind that holds items. False for a name without a property. */
export function holdsItems(kind: PropertyKind | null | undefined): boolean {
  return kind !== null && kind !== undefined && kinds[kind].holdsItems
}

/** Handles PUT at the name of another kind than a value. @throws ServiceError `conflict` when the kind has no `replace`. */
export function replaceOther(
  tx: Transaction,
  actor: LockedActor,
  property: StoredProperty,
  value: JsonText,
): Promise<Change> {
  const { replace } = kinds[property.kind]
  if (replace === undefined) throw nameIsTaken(property.name, property.kind)
  return replace(tx, actor, property, value)
}
