/** The caller and the actor of an access, with helpers for all property operations. */
import type { Caller } from '../caller.ts'
import type { Right } from '../permission/operation.ts'
import type { Permission } from '../permission/permission.ts'
import type { WriteCondition } from './condition.ts'

export interface Access {
  readonly actor: { readonly id: string; readonly creator: string; readonly kind: string }
  readonly caller: Caller
  /** Set when a property hook itself reads or writes, so that its access does not call the hook again. */
  readonly withoutHooks?: true
  /** Every write of this access decides about it in its transaction. */
  readonly condition?: WriteCondition
}

/** Returns nothing to wait for when no rules decide about the caller. @throws ServiceError `forbidden` */
export function requireRight(
  permission: Permission,
  { actor, caller }: Access,
  right: Right,
  path: readonly string[],
): Promise<void> | undefined {
  const operation = { category: 'properties', right, target: path.join('/') } as const
  if (permission.isRuled(caller)) return permission.requireAll(actor.id, caller, operation, [operation.target])
  permission.requireUnruled(caller, operation)
  return undefined
}
