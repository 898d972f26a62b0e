/** Rights of a relationship: the rules of its trust type, merged with the owner's override. */
import type { Store } from '../store/store.ts'
import { decide, type Decision, mayReach } from '../permission/decision.ts'
import { unexpired } from '../permission/grants.ts'
import type { Operation } from '../permission/operation.ts'
import { findOverride, findOverrides, type Override } from './override-store.ts'
import type { RelationshipRules, RulesOfMany, Verdict } from '../permission/permission.ts'
import { type EffectiveRules, mergeRules, type RuledCategory } from '../permission/rules.ts'
import type { TrustTypes } from '../permission/trust-types.ts'

/** Translates an operation into the words of rules. Null: rules do not cover the category, and other checks decide. */
function inRuleWords({ category, right }: Pick<Operation, 'category' | 'right'>): [RuledCategory, string] | null {
  switch (category) {
    case 'properties':
    case 'files':
    case 'resources':
      return [category, right]
    case 'methods':
      return [category, 'call']
    case 'actions':
      return [category, 'execute']
    case 'tools':
      return [category, 'use']
    case 'prompts':
      return [category, 'invoke']
    default:
      return null
  }
}

export class Relationships {
  readonly types: TrustTypes
  readonly #now: () => number

  /** @param now The clock that ends grants. */
  constructor(types: TrustTypes, now: () => number) {
    this.types = types
    this.#now = now
  }

  /**
   * The rules at a time, in Unix milliseconds. Default: now. A trust type that is not registered grants nothing until the owner
   * adds rules.
   */
  effective(relationship: string, override: Override | null, at = this.#now()): EffectiveRules {
    const base: EffectiveRules = this.types.find(relationship)?.permissions ?? {}
    return override === null ? base : mergeRules(base, unexpired(override.rules, at))
  }

  judge(relationship: string, override: Override | null): (operation: Operation) => Verdict {
    const rules = this.effective(relationship, override)
    return (operation) => {
      const words = inRuleWords(operation)
      if (words === null) return { allowed: true, reason: `relationship ${relationship}` }
      const [category, word] = words
      const question = { category, operation: word, target: operation.target }
      if (operation.isPrefix === true) {
        const allowed = mayReach(rules, question)
        return { allowed, reason: `${category} of ${relationship} ${allowed ? 'reach' : 'do not reach'} there` }
      }
      return new Ruled(decide(rules, question), relationship)
    }
  }

  /** Rules for `Permission`, with one statement for each request, however many targets it has. */
  rules(store: Store): RelationshipRules {
    return (actorId, caller) =>
      store
        .read((q) => findOverride(q, actorId, caller.peerId))
        .then((override) => this.judge(caller.relationship, override))
  }

  /** Like `rules`, with one statement for many relationships. */
  readonly rulesOfMany: RulesOfMany = async (q, relations) => {
    const overridden = await findOverrides(
      q,
      relations.map(({ actorId, caller }) => ({ actorId, peerId: caller.peerId })),
    )
    const overrides = new Map(overridden.map(({ actorId, peerId, override }) => [keyOf(actorId, peerId), override]))
    const judges = new Map<string, (operation: Operation) => Verdict>()
    return ({ actorId, caller }) => {
      const override = overrides.get(keyOf(actorId, caller.peerId)) ?? null
      if (override !== null) return this.judge(caller.relationship, override)
      const judge = judges.get(caller.relationship) ?? this.judge(caller.relationship, null)
      judges.set(caller.relationship, judge)
      return judge
    }
  }
}

function keyOf(actorId: string, name: string): string {
  return JSON.stringify([actorId, name])
}

/** A verdict that builds its reason on demand, because a listing decides hundreds of targets and reads one reason. */
class Ruled implements Verdict {
  readonly allowed: boolean
  readonly #decision: Decision
  readonly #relationship: string

  constructor(decision: Decision, relationship: string) {
    this.allowed = decision.allowed
    this.#decision = decision
    this.#relationship = relationship
  }

  get reason(): string {
    const { by, pattern, category } = this.#decision
    if (by === 'nothing') return `no rule of ${this.#relationship} grants it`
    const shown = pattern === null ? '' : ` (${JSON.stringify(pattern)})`
    const does = this.allowed ? 'allows' : 'refuses'
    return `${category}.${by}${shown} of ${this.#relationship} ${does} it`
  }
}
