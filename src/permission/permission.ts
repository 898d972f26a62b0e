/** May this caller do that? The one evaluator: every answer comes with its reason, and what nothing grants is denied. */
import { type Caller, nameOf } from '../auth/caller.ts'
import { ServiceError } from '../errors.ts'
import type { Operation } from './operation.ts'
import { roleTable } from './roles.ts'

export type Verdict = { readonly allowed: boolean; readonly reason: string }

type Related = Extract<Caller, { kind: 'peer' | 'client' }>

/**
 * The rules of a relationship (trust-type defaults and overrides) for one operation.
 * A rule that cannot be read throws, and the request fails; it is never taken for a grant.
 */
export type RelationshipRules = (actorId: string, caller: Related, operation: Operation) => Promise<Verdict>

const noRules: RelationshipRules = () => Promise.resolve({ allowed: false, reason: 'no rule grants it' })

export class Permission {
  readonly #rules: RelationshipRules

  constructor(rules: RelationshipRules = noRules) {
    this.#rules = rules
  }

  /** The first gate, by category and right alone; it reads nothing. */
  mayTouch(caller: Caller, operation: Omit<Operation, 'target'>): Verdict {
    switch (caller.kind) {
      case 'application':
        return { allowed: true, reason: 'the application itself' }
      case 'creator':
        return inTable(roleTable({ creator: true }), operation, 'the creator')
      case 'trustee':
        return inTable(roleTable({ trustee: true }), operation, 'a trustee')
      case 'peer':
        if (!caller.approved) return { allowed: false, reason: 'the relationship is not approved' }
        return inTable(roleTable(caller), operation, `relationship ${caller.relationship}`)
      case 'client':
        return inTable(roleTable(caller), operation, `relationship ${caller.relationship}`)
      case 'anonymous':
        return { allowed: false, reason: 'no credentials' }
      default:
        return caller satisfies never
    }
  }

  /** The whole answer for one target. */
  async may(actorId: string, caller: Caller, operation: Operation): Promise<Verdict> {
    const coarse = this.mayTouch(caller, operation)
    if (!coarse.allowed) return coarse
    return caller.kind === 'peer' || caller.kind === 'client' ? this.#rules(actorId, caller, operation) : coarse
  }

  /** @throws ServiceError `forbidden`, or `unauthorized` without credentials. The reason is for the log. */
  async require(actorId: string, caller: Caller, operation: Operation): Promise<void> {
    const verdict = await this.may(actorId, caller, operation)
    if (!verdict.allowed) throw refusal(caller, operation, verdict)
  }

  /** Those of `targets` that may be touched: what a listing shows. */
  async filter(
    actorId: string,
    caller: Caller,
    operation: Omit<Operation, 'target'>,
    targets: readonly string[],
  ): Promise<ReadonlySet<string>> {
    if (!this.isRuled(caller)) return new Set(this.mayTouch(caller, operation).allowed ? targets : [])
    const verdicts = await Promise.all(targets.map((target) => this.may(actorId, caller, { ...operation, target })))
    return new Set(targets.filter((_, index) => verdicts[index]?.allowed === true))
  }

  /** False when one answer holds for every target of a category. */
  isRuled(caller: Caller): caller is Related {
    return caller.kind === 'peer' || caller.kind === 'client'
  }
}

export function refusal(
  caller: Caller,
  operation: Omit<Operation, 'target'> & { target?: string },
  verdict: Verdict,
): ServiceError {
  const what = `${operation.right} ${operation.category}${operation.target ? `/${operation.target}` : ''}`
  const reason = `${nameOf(caller)} may not ${what}: ${verdict.reason}`
  if (caller.kind === 'anonymous') return new ServiceError('unauthorized', undefined, { reason })
  return new ServiceError('forbidden', `Cannot ${what}: these credentials do not allow it`, { reason })
}

function inTable(table: ReturnType<typeof roleTable>, operation: Omit<Operation, 'target'>, who: string): Verdict {
  const allowed = table[operation.category]?.includes(operation.right) === true
  return { allowed, reason: `${who} ${allowed ? 'may' : 'may not'} ${operation.right} ${operation.category}` }
}
