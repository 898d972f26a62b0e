/** Decides whether a caller may do an operation. Each verdict has a reason. The default is to deny. */
import { type Caller, callerName } from '../caller.ts'
import { ServiceError } from '../errors.ts'
import { currentContext } from '../observe/context.ts'
import type { Queries } from '../store/store.ts'
import { categoryName, type Operation, type Right } from './operation.ts'
import { rightsIn, roleTable } from './roles.ts'
import { ruledCategories } from './rules.ts'

export type Verdict = { readonly allowed: boolean; readonly reason: string }

export type Related = Extract<Caller, { kind: 'peer' | 'client' }>

/**
 * Reads the rules of a relationship (trust type and override) once, for any number of targets. When the rules cannot be
 * read, it throws and the request fails: an error never grants access.
 */
export type RelationshipRules = (actorId: string, caller: Related) => Promise<(operation: Operation) => Verdict>

/** A caller with its relationship to an actor. */
export interface Relation {
  readonly actorId: string
  readonly caller: Related
}

/** Like `RelationshipRules`, for many relationships in one transaction, by a fixed number of statements. */
export type RulesOfMany = (
  q: Queries,
  relations: readonly Relation[],
) => Promise<(relation: Relation) => (operation: Operation) => Verdict>

const dataRights: readonly Right[] = ['read', 'append', 'write', 'delete']

const noRules: RelationshipRules = () => Promise.resolve(() => ({ allowed: false, reason: 'no rule grants it' }))

export class Permission {
  readonly #rules: RelationshipRules
  readonly #rulesOfMany: RulesOfMany

  constructor(rules: RelationshipRules = noRules, rulesOfMany: RulesOfMany = oneByOne(rules)) {
    this.#rules = rules
    this.#rulesOfMany = rulesOfMany
  }

  /** The first check, by category and right alone. It does not read the store. */
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
        // An override may grant rights to a relationship of any name, so an unapproved client needs this check.
        if (caller.relationship === '') return { allowed: false, reason: 'the relationship is not approved' }
        return inTable(roleTable({ program: true }), operation, `relationship ${caller.relationship}`)
      case 'anonymous':
        return { allowed: false, reason: 'no credentials' }
      default:
        return caller satisfies never
    }
  }

  /** The verdict for one target, by role table and rules. */
  async may(actorId: string, caller: Caller, operation: Operation): Promise<Verdict> {
    return (await this.judge(actorId, caller, operation))(operation.target)
  }

  /** @throws ServiceError `forbidden`, or `unauthorized` without credentials. The reason is for the log. */
  async require(actorId: string, caller: Caller, operation: Operation): Promise<void> {
    // An `await` of the verdict itself would accept a promise of a grant.
    if (this.isRuled(caller)) return this.requireAll(actorId, caller, operation, [operation.target])
    this.requireUnruled(caller, operation)
  }

  /** Like `require`, for a caller without rules. It does not read the store. */
  requireUnruled(caller: Exclude<Caller, Related>, operation: Operation): void {
    const verdict = this.mayTouch(caller, operation)
    if (!verdict.allowed) throw refusal(caller, operation, verdict)
    this.decided(caller, verdict)
  }

  /** Like `require`, for each of `targets`. Reads the rules once. */
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

  /** The targets that the caller may access, for listings. */
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
   * Records in the state of the request why its caller was allowed. Verdicts for the owner, and for a peer whose view the
   * owner previews, are not recorded.
   */
  decided(caller: Caller, { reason }: Verdict): void {
    const context = currentContext()
    if (context?.caller?.kind !== caller.kind) return
    if (this.isRuled(caller) || caller.kind === 'trustee') context.grant = reason
  }

  /** A function that judges any number of targets. Reads the rules once. */
  async judge(
    actorId: string,
    caller: Caller,
    { category, right, isPrefix }: Omit<Operation, 'target'>,
  ): Promise<(target: string) => Verdict> {
    const coarse = this.mayTouch(caller, { category, right })
    if (!coarse.allowed || !this.isRuled(caller)) return () => coarse
    const judge = noted(caller, await this.#rules(actorId, caller))
    return isPrefix === true
      ? (target) => judge({ category, right, target, isPrefix })
      : (target) => judge({ category, right, target })
  }

  /** Like `judge`, for all rights of a category. Reads the rules once. */
  async judgeRights(
    actorId: string,
    caller: Caller,
    category: Operation['category'],
  ): Promise<(right: Right, target: string) => Verdict> {
    if (!this.isRuled(caller)) return (right) => this.mayTouch(caller, { category, right })
    const judge = noted(caller, await this.#rules(actorId, caller))
    return (right, target) => {
      const coarse = this.mayTouch(caller, { category, right })
      return coarse.allowed ? judge({ category, right, target }) : coarse
    }
  }

  /**
   * Like `judge`, for many relationships in one transaction. `isPrefix` has the meaning of `Operation.isPrefix`. Relations
   * that share one function of rules get one function here, so a caller can reuse its verdicts.
   */
  async judgeMany(
    q: Queries,
    relations: readonly Relation[],
    { category, right }: Omit<Operation, 'target' | 'isPrefix'>,
  ): Promise<(relation: Relation) => (target: string, isPrefix?: boolean) => Verdict> {
    const rulesOf = await this.#rulesOfMany(q, relations)
    const judges = new Map<(operation: Operation) => Verdict, (target: string, isPrefix?: boolean) => Verdict>()
    return (relation) => {
      const coarse = this.mayTouch(relation.caller, { category, right })
      if (!coarse.allowed) return () => coarse
      const rules = rulesOf(relation)
      const judge = judges.get(rules) ?? ((target, isPrefix = false) => rules({ category, right, target, isPrefix }))
      judges.set(rules, judge)
      return judge
    }
  }

  /**
   * Judges operations of the data categories, for many relationships in one transaction. Relations with equal rights share
   * one function, so a caller can reuse its verdicts.
   */
  async judgeEach(
    q: Queries,
    relations: readonly Relation[],
  ): Promise<(relation: Relation) => (operation: Operation) => Verdict> {
    const rulesOf = await this.#rulesOfMany(q, relations)
    // The first check does not depend on which peer or client it is, so it runs once for all that are alike.
    const opens = new Map<string, boolean>()
    const isOpen = (caller: Related): boolean => {
      const ids = { peerId: caller.peerId === '', clientId: caller.kind === 'client' && caller.clientId === '' }
      const alike = JSON.stringify({ ...caller, ...ids })
      const known =
        opens.get(alike) ??
        ruledCategories.every((category) =>
          dataRights.every((right) => this.mayTouch(caller, { category, right }).allowed),
        )
      opens.set(alike, known)
      return known
    }
    return (relation) => {
      const rules = rulesOf(relation)
      if (isOpen(relation.caller)) return rules
      return (operation) => {
        const coarse = this.mayTouch(relation.caller, operation)
        return coarse.allowed ? rules(operation) : coarse
      }
    }
  }

  /** False when one verdict applies to every target of a category. */
  isRuled(caller: Caller): caller is Related {
    return caller.kind === 'peer' || caller.kind === 'client'
  }
}

/** Collects the rights that the caller of the request uses, if the response will be kept. */
function noted(caller: Related, judge: (operation: Operation) => Verdict): (operation: Operation) => Verdict {
  const context = currentContext()
  const granted = context?.granted
  const isOwn =
    context?.caller?.kind === 'peer' ? context.caller.peerId === caller.peerId : context?.caller?.kind === caller.kind
  if (granted === undefined || !isOwn) return judge
  return (operation) => {
    const verdict = judge(operation)
    if (verdict.allowed && operation.isPrefix !== true)
      granted.set(JSON.stringify([operation.category, operation.right, operation.target]), operation)
    return verdict
  }
}

/** Reads the rules of each relationship separately, for rules that are not in the store. */
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
  // The target is shortened, because a name in a body may be as long as the body.
  const target = operation.target === undefined || operation.target === '' ? '' : `/${operation.target.slice(0, 120)}`
  const what = `${operation.right} ${categoryName(operation.category)}${target}`
  const reason = `${callerName(caller)} may not ${what}: ${verdict.reason}`
  if (caller.kind === 'anonymous') return new ServiceError('unauthorized', undefined, { reason })
  return new ServiceError('forbidden', `Cannot ${what}: these credentials do not allow it`, { reason })
}

function inTable(table: ReturnType<typeof roleTable>, operation: Omit<Operation, 'target'>, who: string): Verdict {
  const right = operation.right === 'append' ? 'write' : operation.right
  const allowed = rightsIn(table, operation.category).includes(right)
  const what = `${operation.right} ${categoryName(operation.category)}`
  return { allowed, reason: `${who} ${allowed ? 'may' : 'may not'} ${what}` }
}
