/** May this caller do that? The one evaluator: every answer comes with its reason, and what nothing grants is denied. */
import { type Caller, callerName } from '../caller.ts'
import { ServiceError } from '../errors.ts'
import { currentContext } from '../observe/context.ts'
import type { Queries } from '../store/store.ts'
import type { Operation, Right } from './operation.ts'
import { roleTable } from './roles.ts'

export type Verdict = { readonly allowed: boolean; readonly reason: string }

export type Related = Extract<Caller, { kind: 'peer' | 'client' }>

/**
 * The rules of a relationship (trust-type defaults and overrides): read once, then asked about as many targets as a
 * request has. Rules that cannot be read throw, and the request fails; that is never taken for a grant.
 */
export type RelationshipRules = (actorId: string, caller: Related) => Promise<(operation: Operation) => Verdict>

/** Somebody in a relationship, and with whom. */
export interface Relation {
  readonly actorId: string
  readonly caller: Related
}

/** As `RelationshipRules`, of many at once and as a transaction sees them: a fixed number of statements. */
export type RulesOfMany = (
  q: Queries,
  relations: readonly Relation[],
) => Promise<(relation: Relation) => (operation: Operation) => Verdict>

const noRules: RelationshipRules = () => Promise.resolve(() => ({ allowed: false, reason: 'no rule grants it' }))

export class Permission {
  readonly #rules: RelationshipRules
  readonly #rulesOfMany: RulesOfMany

  constructor(rules: RelationshipRules = noRules, rulesOfMany: RulesOfMany = oneByOne(rules)) {
    this.#rules = rules
    this.#rulesOfMany = rulesOfMany
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
        if (!caller.peerId) return { allowed: false, reason: 'the peer has no identity' }
        if (!caller.approved) return { allowed: false, reason: 'the relationship is not approved' }
        return inTable(roleTable(caller), operation, `relationship ${caller.relationship}`)
      case 'client':
        if (!caller.clientId || !caller.peerId) return { allowed: false, reason: 'the client has no identity' }
        // An override grants whatever the relationship is called, so the name alone would not close it.
        if (caller.relationship === '') return { allowed: false, reason: 'the relationship is not approved' }
        return inTable(roleTable(caller), operation, `relationship ${caller.relationship}`)
      case 'anonymous':
        return { allowed: false, reason: 'no credentials' }
      default:
        return caller satisfies never
    }
  }

  /** The whole answer for one target. */
  async may(actorId: string, caller: Caller, operation: Operation): Promise<Verdict> {
    return (await this.judge(actorId, caller, operation))(operation.target)
  }

  /** @throws ServiceError `forbidden`, or `unauthorized` without credentials. The reason is for the log. */
  async require(actorId: string, caller: Caller, operation: Operation): Promise<void> {
    await this.requireAll(actorId, caller, operation, [operation.target])
  }

  /** As `require`, for every one of `targets`; the rules are read once. */
  async requireAll(
    actorId: string,
    caller: Caller,
    { category, right }: Omit<Operation, 'target'>,
    targets: Iterable<string>,
  ): Promise<void> {
    const judge = await this.judge(actorId, caller, { category, right })
    for (const target of targets) {
      const verdict = judge(target)
      if (!verdict.allowed) throw refusal(caller, { category, right, target }, verdict)
      this.decided(caller, verdict)
    }
  }

  /** Those of `targets` that may be touched: what a listing shows. */
  async filter(
    actorId: string,
    caller: Caller,
    operation: Omit<Operation, 'target'>,
    targets: readonly string[],
  ): Promise<ReadonlySet<string>> {
    const judge = await this.judge(actorId, caller, operation)
    let decisive: Verdict | undefined
    const allowed = targets.filter((target) => {
      const verdict = judge(target)
      if (verdict.allowed) decisive ??= verdict
      return verdict.allowed
    })
    if (decisive !== undefined) this.decided(caller, decisive)
    return new Set(allowed)
  }

  /**
   * Notes in the state of the request why its caller was allowed to do something. The audit log omits the owner, and a
   * page that shows the owner what a peer sees asks for that peer.
   */
  decided(caller: Caller, { reason }: Verdict): void {
    const context = currentContext()
    if (context?.caller?.kind !== caller.kind) return
    if (this.isRuled(caller) || caller.kind === 'trustee') context.grant = reason
  }

  /** For as many targets as there are: the rules are read once. */
  async judge(
    actorId: string,
    caller: Caller,
    { category, right, isPrefix }: Omit<Operation, 'target'>,
  ): Promise<(target: string) => Verdict> {
    const coarse = this.mayTouch(caller, { category, right })
    if (!coarse.allowed || !this.isRuled(caller)) return () => coarse
    const judge = await this.#rules(actorId, caller)
    return isPrefix === true
      ? (target) => judge({ category, right, target, isPrefix })
      : (target) => judge({ category, right, target })
  }

  /** As `judge`, for every right on a category: the rules are read once. */
  async judgeRights(
    actorId: string,
    caller: Caller,
    category: Operation['category'],
  ): Promise<(right: Right, target: string) => Verdict> {
    if (!this.isRuled(caller)) return (right) => this.mayTouch(caller, { category, right })
    const judge = await this.#rules(actorId, caller)
    return (right, target) => {
      const coarse = this.mayTouch(caller, { category, right })
      return coarse.allowed ? judge({ category, right, target }) : coarse
    }
  }

  /** What many may touch, as a transaction sees their rights. With `isPrefix`, as of an operation. */
  async judgeMany(
    q: Queries,
    relations: readonly Relation[],
    { category, right }: Omit<Operation, 'target' | 'isPrefix'>,
  ): Promise<(relation: Relation) => (target: string, isPrefix?: boolean) => Verdict> {
    const rulesOf = await this.#rulesOfMany(q, relations)
    return (relation) => {
      const coarse = this.mayTouch(relation.caller, { category, right })
      if (!coarse.allowed) return () => coarse
      const judge = rulesOf(relation)
      return (target, isPrefix = false) => judge({ category, right, target, isPrefix })
    }
  }

  /** False when one answer holds for every target of a category. */
  isRuled(caller: Caller): caller is Related {
    return caller.kind === 'peer' || caller.kind === 'client'
  }
}

/** For rules that are not read from the store. */
function oneByOne(rules: RelationshipRules): RulesOfMany {
  return async (_q, relations) => {
    const keyOf = ({ actorId, caller }: Relation): string => JSON.stringify([actorId, callerName(caller)])
    const judges = new Map<string, (operation: Operation) => Verdict>()
    for (const relation of relations) judges.set(keyOf(relation), await rules(relation.actorId, relation.caller))
    return (relation) => judges.get(keyOf(relation)) ?? (() => ({ allowed: false, reason: 'no rule grants it' }))
  }
}

export function refusal(
  caller: Caller,
  operation: Omit<Operation, 'target'> & { target?: string },
  verdict: Verdict,
): ServiceError {
  // A name in a body may be as long as the body.
  const target = operation.target === undefined || operation.target === '' ? '' : `/${operation.target.slice(0, 120)}`
  const what = `${operation.right} ${operation.category}${target}`
  const reason = `${callerName(caller)} may not ${what}: ${verdict.reason}`
  if (caller.kind === 'anonymous') return new ServiceError('unauthorized', undefined, { reason })
  return new ServiceError('forbidden', `Cannot ${what}: these credentials do not allow it`, { reason })
}

function inTable(table: ReturnType<typeof roleTable>, operation: Omit<Operation, 'target'>, who: string): Verdict {
  const right = operation.right === 'append' ? 'write' : operation.right
  const allowed = table[operation.category]?.includes(right) === true
  return { allowed, reason: `${who} ${allowed ? 'may' : 'may not'} ${operation.right} ${operation.category}` }
}
