/** The kinds of properties. */
import type { JsonText } from '../json/json.ts'
import type { LockedActor, Transaction } from '../store/store.ts'
import type { Change } from './change.ts'
import type { Kind } from './kind.ts'
import { listKind } from './list-kind.ts'
import { nameIsTaken } from './property-errors.ts'
import type { PropertyKind, StoredProperty } from './property-store.ts'
import { valueKind } from './value-kind.ts'

export const kinds: Readonly<Record<PropertyKind, Kind>> = {
  value: valueKind,
  list: listKind,
}

/** The whole value; null for a property that holds items, which have rows of their own. */
export function valueOf({ kind, content }: Pick<StoredProperty, 'kind' | 'content'>): JsonText | null {
  return kinds[kind].holdsItems ? null : content
}

/** False for a name without a property, too. */
export function holdsItems(kind: PropertyKind | null | undefined): boolean {
  return kind !== null && kind !== undefined && kinds[kind].holdsItems
}

/** PUT at a name that is not a value's. @throws ServiceError `conflict` when the kind takes no whole value. */
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
