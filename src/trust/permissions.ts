/** Permissions of peers, as the owner and the peer see them. */
import { findActorKind } from '../actor/actor-store.ts'
import type { Caller } from '../caller.ts'
import { type EnqueueNotice, type Notice, noticeTo } from '../outbox/notice.ts'
import { quoted, ServiceError } from '../errors.ts'
import { canonical } from '../json/canonical.ts'
import { isObject, type JsonText, members, toPlain } from '../json/json.ts'
import { holdsItems, kinds } from '../property/kinds.ts'
import type { DeclaredKinds } from '../property/declared-kinds.ts'
import { readNamePages, readPages } from '../property/property-pages.ts'
import { findKinds, type ListedProperty } from '../property/property-store.ts'
import type { Live } from '../live/live.ts'
import type { LockedActor, Store, Transaction } from '../store/store.ts'
import { type ExpiryKey, setExpiry } from './expiry-store.ts'
import { clientIdOf, isApprovedAt, type Trust } from './trust.ts'
import { findTrust, findTrusts, updateTrust } from './trust-store.ts'
import {
  explain,
  type Explanation,
  type ExplainSubject,
  parseQuestion,
  type WideQuestion,
} from '../permission/explain.ts'
import {
  earliest,
  firstEnd,
  futureTime,
  keepingGrants,
  longestPattern,
  maxGrants,
  type NewGrant,
  onlyGrants,
  readNewGrant,
  readWithdrawal,
  unexpired,
  withEnd,
  withGrants,
  type Withdrawal,
  withoutGrants,
} from '../permission/grants.ts'
import { decide } from '../permission/decision.ts'
import { requireKnownRights } from '../permission/known-rights.ts'
import {
  deleteOverride,
  findOverridden,
  findOverride,
  findOverrides,
  type Override,
  putOverride,
} from './override-store.ts'
import type { Category } from '../permission/operation.ts'
import type { Relationships } from './relationships.ts'
import {
  type EffectiveRule,
  type EffectiveRules,
  mergeRules,
  operationsOf,
  type OverrideRule,
  type OverrideRules,
  type PatternGrant,
  type RuledCategory,
  ruledCategories,
} from '../permission/rules.ts'

export interface PermissionsDeps {
  readonly store: Store
  readonly declared: DeclaredKinds
  readonly relationships: Relationships
  readonly now: () => number
  /** Stores the first end of grants, in the transaction that stores the grants. */
  readonly scheduleExpiry: (tx: Transaction, key: ExpiryKey, at: number) => Promise<void>
  /** Deletes the relationship of an API key at its end. A key cannot be approved again. */
  readonly endKey: (tx: Transaction, actor: LockedActor, trust: Trust) => Promise<void>
  /** Runs in the transaction that ends an approval at its time. */
  readonly onExpired: (tx: Transaction, actorId: string, peerId: string) => Promise<void>
  readonly live: Pick<Live, 'record'>
  /** Whether the application declares an operation or a resource that this name matches. */
  readonly declares: (kind: KindOfActor, category: Category, name: string) => boolean
  readonly needsApproval: (kind: KindOfActor, category: Category, name: string) => boolean
  /** Runs in the transaction that changes what a peer may reach, before the peer is notified. */
  readonly onRightsChanged: (tx: Transaction, actor: LockedActor, change: ChangedRights) => Promise<void>
  /** Null: peers are not notified of changed permissions. */
  readonly enqueue: EnqueueNotice | null
}

interface KindOfActor {
  readonly kind: string
}

/** The effective permissions of a peer before and after a change. */
export interface ChangedRights {
  readonly peerId: string
  readonly before: EffectiveRules
  readonly after: EffectiveRules
  /** True: the approval ends, so the peer may reach nothing. */
  readonly endsApproval?: true
}

/** The effective permissions, as the API shows them. */
export interface PermissionsView {
  readonly trust: Trust
  readonly override: Override | null
  readonly effective: EffectiveRules
}

/** A relationship with the trust type that the caller expects. Null: any trust type. */
export interface RelationshipKey {
  readonly actorId: string
  readonly peerId: string
  readonly relationship: string | null
}

export interface SharedProperty {
  readonly name: string
  readonly display_name: string
  readonly item_count: number
  readonly operations: readonly string[]
}

/** Throws to prevent a change of permissions. Runs in the transaction, and gets the stored state. */
export type RightsJudge = (trust: Trust, override: Override | null) => void

export class Permissions {
  readonly #deps: PermissionsDeps

  constructor(deps: PermissionsDeps) {
    this.#deps = deps
  }

  /** Null: no relationship with the peer, or not of the given type. */
  async find(actorId: string, peerId: string, relationship?: string): Promise<PermissionsView | null> {
    const { store, relationships } = this.#deps
    const [trust, override] = await store.read((q) =>
      Promise.all([findTrust(q, actorId, peerId), findOverride(q, actorId, peerId)]),
    )
    if (trust === null || (relationship !== undefined && trust.relationship !== relationship)) return null
    return { trust, override, effective: relationships.effective(trust.relationship, override) }
  }

  /** The peers whose permissions the owner has changed. */
  overridden(actorId: string): Promise<ReadonlySet<string>> {
    return this.#deps.store.read((q) => findOverridden(q, actorId))
  }

  /** Returns the overrides of these peers. Peers without an override are left out. */
  async overrides(actorId: string, peerIds: readonly string[]): Promise<ReadonlyMap<string, Override>> {
    const wanted = peerIds.map((peerId) => ({ actorId, peerId }))
    const found = await this.#deps.store.read((q) => findOverrides(q, wanted))
    return new Map(found.map(({ peerId, override }) => [peerId, override]))
  }

  /** @throws ServiceError `not_found` */
  async require(actorId: string, peerId: string, relationship?: string): Promise<PermissionsView> {
    const view = await this.find(actorId, peerId, relationship)
    if (view === null) throw noRelationship(peerId)
    return view
  }

  /**
   * Replaces the given categories of the override. The other categories stay, and so do grants that are not given.
   *
   * @returns whether it is the first override.
   * @throws ServiceError `not_found`, `bad_request`
   */
  async override(key: RelationshipKey, body: JsonText, by: Caller, judge?: RightsJudge): Promise<boolean> {
    const given = readOwnOverride(body)
    const first = firstEnd(given.rules)
    if (first !== null) futureTime('set permissions', new Date(first), this.#deps.now())
    return this.#change(key, judge, async (tx, before) => {
      const override: Override = {
        rules: { ...before?.rules, ...keepingGrants(before?.rules ?? {}, given.rules) },
        createdBy: given.createdBy ?? before?.createdBy ?? by.kind,
        notes: given.notes ?? before?.notes ?? '',
        updatedAt: this.#deps.now(),
      }
      await putOverride(tx, key.actorId, key.peerId, override)
      return { override, result: before === null }
    })
  }

  /** Deletes the override with its grants, so that the rules of the trust type apply again. @throws ServiceError `not_found` */
  async reset(key: RelationshipKey, judge?: RightsJudge): Promise<void> {
    await this.#change(key, judge, async (tx) => {
      await deleteOverride(tx, key.actorId, key.peerId)
      return { override: null, result: undefined }
    })
  }

  /** Deletes the rules of the override, and keeps its grants. @throws ServiceError `not_found` */
  async resetRules(key: RelationshipKey, judge?: RightsJudge): Promise<void> {
    await this.#change(key, judge, async (tx, before) => ({
      override: before === null ? null : await this.#put(tx, key, before, onlyGrants(before.rules)),
      result: undefined,
    }))
  }

  /**
   * Adds grants. A grant replaces earlier grants of the same operations on the same pattern.
   *
   * @throws ServiceError `not_found`, `bad_request`
   */
  async grant(actorId: string, peerId: string, given: NewGrant): Promise<void> {
    const added = readNewGrant(given, this.#deps.now())
    await this.#changeGrants(actorId, peerId, (rules) => withGrants(rules, added))
  }

  /** Removes these grants, or all grants. Returns whether one of them existed. @throws ServiceError `not_found`, `bad_request` */
  async withdraw(actorId: string, peerId: string, given?: Withdrawal, judge?: RightsJudge): Promise<boolean> {
    const removed = given === undefined ? null : readWithdrawal(given)
    return this.#changeGrants(actorId, peerId, (rules) => withoutGrants(rules, removed), judge)
  }

  /**
   * Moves the end of the grants on a pattern, in Unix milliseconds. Null: the grants get no end. Returns false when nothing
   * changed.
   *
   * @throws ServiceError `not_found`
   */
  moveEnd(
    { actorId, peerId }: Pick<RelationshipKey, 'actorId' | 'peerId'>,
    { category, pattern }: { readonly category: RuledCategory; readonly pattern: string },
    until: number | null,
    judge?: RightsJudge,
  ): Promise<boolean> {
    return this.#changeGrants(actorId, peerId, (rules) => withEnd(rules, category, pattern, until), judge)
  }

  /** Returns whether the change has an effect. Without one, nothing is stored, and the peer is not notified. */
  async #changeGrants(
    actorId: string,
    peerId: string,
    change: (rules: OverrideRules) => OverrideRules,
    judge?: RightsJudge,
  ): Promise<boolean> {
    const key = { actorId, peerId, relationship: null }
    return this.#change(key, judge, async (tx, before) => {
      const after = change(unexpired(before?.rules ?? {}, this.#deps.now()))
      if (JSON.stringify(after) === JSON.stringify(before?.rules ?? {})) return { result: false }
      return { override: await this.#put(tx, key, before, after), result: true }
    })
  }

  /** Stores the rules of an override by the application. An override without rules is deleted. */
  async #put(
    tx: Transaction,
    { actorId, peerId }: RelationshipKey,
    before: Override | null,
    rules: OverrideRules,
  ): Promise<Override | null> {
    if (Object.keys(rules).length === 0) {
      await deleteOverride(tx, actorId, peerId)
      return null
    }
    const { createdBy = 'application', notes = '' } = before ?? {}
    const override = { rules, createdBy, notes, updatedAt: this.#deps.now() }
    await putOverride(tx, actorId, peerId, override)
    return override
  }

  /**
   * Changes the override. It takes effect with the commit, and the peer is notified in the background. A result without
   * `override` means that nothing changed.
   */
  async #change<T>(
    { actorId, peerId, relationship }: RelationshipKey,
    judge: RightsJudge | undefined,
    work: (tx: Transaction, before: Override | null) => Promise<{ override?: Override | null; result: T }>,
  ): Promise<T> {
    const { store, live } = this.#deps
    return store.writeActor(actorId, async (tx, locked) => {
      const trust = await findTrust(tx, actorId, peerId)
      if (trust === null || (relationship !== null && trust.relationship !== relationship)) throw noRelationship(peerId)
      if (this.#deps.relationships.types.isOfMembers(trust.relationship, locked)) throw roleDecides()
      const before = await findOverride(tx, actorId, peerId)
      judge?.(trust, before)
      const done = await work(tx, before)
      if (done.override === undefined) return done.result
      const first = firstEnd(done.override?.rules ?? {})
      if (first !== null) await this.#deps.scheduleExpiry(tx, trust, first)
      await live.record(tx, locked, 'trust', [peerId])
      await this.#changed(tx, locked, { trust, before, after: done.override, isNotified: true })
      return done.result
    })
  }

  /** Copies of the peer lose what the peer may no longer read before the peer receives its permissions. */
  async #changed(
    tx: Transaction,
    actor: LockedActor,
    {
      trust,
      before,
      after,
      isNotified,
    }: {
      readonly trust: Trust
      readonly before: Override | null
      readonly after: Override | null
      readonly isNotified: boolean
    },
  ): Promise<void> {
    const { relationships, onRightsChanged } = this.#deps
    const [old, rules] = [before, after].map((one) => relationships.effective(trust.relationship, one))
    await onRightsChanged(tx, actor, { peerId: trust.peerId, before: old ?? {}, after: rules ?? {} })
    if (isNotified) await this.#notify(tx, trust, after, rules)
  }

  /**
   * Gives a member the rules of a role, in the transaction that has locked the actor.
   *
   * @param by Who gave the role.
   * @param isNotified Whether the peer receives its permissions. It reads those of a new relationship itself.
   */
  async assign(
    tx: Transaction,
    actor: LockedActor,
    trust: Trust,
    { rules, by, isNotified }: { readonly rules: OverrideRules; readonly by: string; readonly isNotified: boolean },
  ): Promise<void> {
    const before = await findOverride(tx, trust.actorId, trust.peerId)
    if (before !== null && canonical(before.rules) === canonical(rules)) return
    const after = { rules, createdBy: by, notes: '', updatedAt: this.#deps.now() }
    await putOverride(tx, trust.actorId, trust.peerId, after)
    await this.#deps.live.record(tx, actor, 'trust', [trust.peerId])
    await this.#changed(tx, actor, { trust, before, after, isNotified })
  }

  /**
   * Removes the grants and the approval of a relationship that have ended, and notifies the peer. The clock is read after
   * the lock of the actor. Does nothing before the end, or when another process has removed them.
   */
  async expire(key: ExpiryKey): Promise<void> {
    const { store, live, onExpired, relationships } = this.#deps
    const { actorId, peerId } = key
    await store.writeActor(actorId, async (tx, locked) => {
      const [before, override] = [await findTrust(tx, actorId, peerId), await findOverride(tx, actorId, peerId)]
      if (before === null) return
      const now = this.#deps.now()
      const isOver = before.approved && !isApprovedAt(before, now)
      if (isOver && before.establishedVia === 'api_key') return this.#deps.endKey(tx, locked, before)
      const trust = isOver ? { ...before, approved: false, approvedUntil: null } : before
      const stored = override?.rules ?? {}
      const rules = unexpired(stored, now)
      if (isOver) {
        await updateTrust(tx, trust, now)
        await onExpired(tx, actorId, peerId)
        // Time 0 keeps the grants that have ended now.
        await this.#approvalEnded(tx, locked, before, relationships.effective(before.relationship, override, 0))
      }
      const kept = rules === stored ? override : await this.#put(tx, { ...key, relationship: null }, override, rules)
      await setExpiry(tx, key, earliest(firstEnd(rules), trust.approvedUntil))
      if (!isOver && rules === stored) return
      await live.record(tx, locked, 'trust', [peerId])
      if (!isOver) await this.#expired(tx, locked, { trust, override, kept })
      await this.#notify(tx, trust, kept, isOver ? {} : undefined)
    })
  }

  async #expired(
    tx: Transaction,
    actor: LockedActor,
    {
      trust,
      override,
      kept,
    }: { readonly trust: Trust; readonly override: Override | null; readonly kept: Override | null },
  ): Promise<void> {
    const { relationships, onRightsChanged } = this.#deps
    const { peerId, relationship } = trust
    // Time 0 keeps the grants that have ended now.
    const before = relationships.effective(relationship, override, 0)
    await onRightsChanged(tx, actor, { peerId, before, after: relationships.effective(relationship, kept) })
  }

  /** The trust type of a relationship changed, and with it the permissions of the peer. */
  readonly typeChanged = async (tx: Transaction, actor: LockedActor, before: Trust, after: Trust): Promise<void> => {
    const { relationships, onRightsChanged } = this.#deps
    const { actorId, peerId } = after
    const override = await findOverride(tx, actorId, peerId)
    const [old, rules] = [before, after].map(({ relationship }) => relationships.effective(relationship, override))
    await onRightsChanged(tx, actor, { peerId, before: old ?? {}, after: rules ?? {} })
    await this.#notify(tx, after, override)
  }

  /** A new deployment declares other rules for trust types. The copies of their peers have what the rules of before allowed. */
  async redeclared(actorId: string, before: Readonly<Record<string, EffectiveRules>>): Promise<void> {
    const { store, live, relationships, onRightsChanged, now } = this.#deps
    await store.writeActor(actorId, async (tx, locked) => {
      for (const trust of await findTrusts(tx, actorId)) {
        const { peerId, relationship } = trust
        const declared = before[relationship]
        if (declared === undefined || !isApprovedAt(trust, now())) continue
        const override = await findOverride(tx, actorId, peerId)
        const old = override === null ? declared : mergeRules(declared, unexpired(override.rules, now()))
        const rules = relationships.effective(relationship, override)
        if (canonical(old) === canonical(rules)) continue
        await onRightsChanged(tx, locked, { peerId, before: old, after: rules })
        await this.#notify(tx, trust, override, rules)
        await live.record(tx, locked, 'trust', [peerId])
      }
    })
  }

  /** The owner no longer approves the relationship. */
  readonly approvalEnded = async (tx: Transaction, actor: LockedActor, before: Trust): Promise<void> => {
    const override = await findOverride(tx, before.actorId, before.peerId)
    await this.#approvalEnded(tx, actor, before, this.#deps.relationships.effective(before.relationship, override))
  }

  async #approvalEnded(tx: Transaction, actor: LockedActor, { peerId }: Trust, rules: EffectiveRules): Promise<void> {
    await this.#deps.onRightsChanged(tx, actor, { peerId, before: rules, after: {}, endsApproval: true })
  }

  /** Notifies the peer of its permissions. */
  async notify(tx: Transaction, trust: Trust): Promise<void> {
    await this.#notify(tx, trust, await findOverride(tx, trust.actorId, trust.peerId))
  }

  /** @param rules The permissions. Default: those of the trust type and the override. */
  async #notify(
    tx: Transaction,
    trust: Trust,
    override: Override | null,
    rules = this.#deps.relationships.effective(trust.relationship, override),
  ): Promise<void> {
    const { enqueue } = this.#deps
    if (enqueue !== null && trust.baseuri !== '') await enqueue(tx, this.#notice(trust, rules))
  }

  #notice(trust: Trust, rules: EffectiveRules): Notice {
    const data = wireRules(rules, null)
    const timestamp = new Date(this.#deps.now()).toISOString()
    const body = { id: trust.actorId, target: 'permissions', type: 'permission', timestamp, data }
    return noticeTo(trust, 'permission', 'POST', ['callbacks', 'permissions', trust.actorId], body)
  }

  /**
   * Lists the properties to which the peer may subscribe, in pages. Names of other properties stay hidden. The rights are
   * read for each page.
   *
   * @throws ServiceError `not_found`
   */
  async *shared(actorId: string, peerId: string): AsyncGenerator<readonly SharedProperty[], undefined> {
    const { store, declared } = this.#deps
    const data = await store.read((q) => declared.ofActor(q, actorId))
    const unseen = new Map(data.allPresent([]).map((property) => [property.name, property]))
    for await (const page of readPages(store, actorId, {
      isNeeded: ({ kind }) => holdsItems(kind),
      contents: 'none',
    })) {
      for (const { name } of page) unseen.delete(name)
      yield await this.#sharedOf(actorId, peerId, page)
    }
    yield await this.#sharedOf(
      actorId,
      peerId,
      [...unseen.values()].map((stored) => ({ ...stored, stored })),
    )
  }

  async #sharedOf(
    actorId: string,
    peerId: string,
    page: readonly Pick<ListedProperty, 'name' | 'kind' | 'stored'>[],
  ): Promise<readonly SharedProperty[]> {
    const { effective } = await this.require(actorId, peerId)
    const may = (operation: string, name: string): boolean =>
      decide(effective, { category: 'properties', operation, target: name }).allowed
    return page
      .filter(({ name }) => may('subscribe', name))
      .map(({ name, kind, stored }) => ({
        name,
        display_name: displayName(name),
        item_count: stored === null ? 0 : kinds[kind].itemCount(stored),
        operations: operationsOf.properties
          .filter((operation) => operation !== 'append' || holdsItems(kind))
          .filter((operation) => may(operation, name)),
      }))
  }

  /** @throws ServiceError `bad_request` for a question without an operation. */
  async explain(actorId: string, peerId: string, text: string): Promise<Explanation> {
    const question = parseQuestion(text)
    if (question === null) {
      throw new ServiceError(
        'bad_request',
        'Cannot explain: ask with <operation>:<target>, such as read:notes/1 or call:get_weather',
      )
    }
    return this.answer(await this.require(actorId, peerId), question)
  }

  /** Like `explain`, for a relationship that is already loaded. */
  async answer(view: PermissionsView, question: WideQuestion): Promise<Explanation> {
    if (question.category === 'properties' && question.target === '')
      return this.#answerForAll(view.trust.actorId, this.#subjectOf(view), question.operation)
    const [answer] = await this.answers(view, [question])
    if (answer === undefined) throw new Error('Cannot explain: the answer is missing')
    return answer
  }

  /** Like `answer`, for many questions that name their targets. Reads the kinds of all properties with one statement. */
  async answers(view: PermissionsView, questions: readonly WideQuestion[]): Promise<readonly Explanation[]> {
    const { store, declared, declares, needsApproval } = this.#deps
    const subject = this.#subjectOf(view)
    const nameOf = ({ target }: WideQuestion): string => target.split('/', 1)[0] ?? ''
    const names = new Set(questions.filter(({ category }) => category === 'properties').map(nameOf))
    const stored = names.size === 0 ? null : await store.read((q) => findKinds(q, view.trust.actorId, [...names]))
    const kind = { kind: await store.read((q) => findActorKind(q, view.trust.actorId)) }
    return questions.map((question) => {
      const { category, target } = question
      const name = nameOf(question)
      return category === 'properties'
        ? explain(subject, question, {
            holdsItems: holdsItems(stored?.get(name) ?? declared.of(kind).present(name, null)?.kind),
            isDeclared: true,
            needsApproval: false,
          })
        : explain(subject, question, {
            holdsItems: false,
            isDeclared: declares(kind, category, target),
            needsApproval: needsApproval(kind, category, target),
          })
    })
  }

  #subjectOf({ trust, override }: PermissionsView): ExplainSubject {
    const now = this.#deps.now()
    return {
      approved: isApprovedAt(trust, now),
      approvedUntil: trust.approvedUntil,
      relationship: trust.relationship,
      isClient: isClient(trust),
      base: this.#deps.relationships.effective(trust.relationship, null),
      override: override === null ? null : unexpired(override.rules, now),
    }
  }

  /**
   * Explains access to all properties. A listing shows what the peer may read; a deletion needs the right to every
   * property.
   */
  async #answerForAll(actorId: string, subject: ExplainSubject, operation: string): Promise<Explanation> {
    const question = { category: 'properties', operation, target: '' } as const
    const answer = (target: string): Explanation =>
      explain(subject, { ...question, target }, { holdsItems: false, isDeclared: true, needsApproval: false })
    const whole = answer('')
    if (!subject.approved) return whole
    if (operation === 'read' || operation === 'subscribe') {
      return {
        ...whole,
        allowed: true,
        because: 'every approved peer may, and gets the properties that it may read',
        rule: { part: 'approved', pattern: null, source: 'approval' },
        to_change: 'withdraw the approval to deny it',
      }
    }
    if (operation !== 'delete' || !whole.allowed) return whole
    for await (const page of readNamePages(this.#deps.store, actorId)) {
      const refused = page.map(({ name }) => answer(name)).find(({ allowed }) => !allowed)
      if (refused !== undefined) return { ...refused, target: '', decided_as: `properties.delete:${refused.target}` }
    }
    return whole
  }
}

/**
 * Every category of the specification, with `unset` where neither the trust type nor the override has rules. Rules on files
 * are sent only where they exist, because other implementations do not know this category.
 */
export function wireRules(rules: EffectiveRules, unset: null | object): Record<string, unknown> {
  return Object.fromEntries(
    ruledCategories
      .filter((category) => category !== 'files' || rules.files !== undefined)
      .map((category) => {
        const rule = rules[category]
        return [category, rule === undefined ? unset : wireRule(rule)]
      }),
  )
}

/** Ends of grants are ISO 8601 strings on the wire. */
function wireRule(rule: EffectiveRule): object {
  if (rule.grants === undefined) return rule
  const grants = rule.grants.map(({ until, ...grant }) => ({
    ...grant,
    ...(until === undefined ? {} : { until: new Date(until).toISOString() }),
  }))
  return { ...rule, grants }
}

interface GivenOverride {
  readonly rules: OverrideRules
  readonly createdBy: string | null
  readonly notes: string | null
}

/** Like `readOverride`, for rights that this service enforces. Refuses names that do not exist. */
export function readOwnOverride(body: JsonText): GivenOverride {
  const given = readOverride(body)
  requireKnownRights(body)
  return given
}

/**
 * Reads the documented keys. A plain list of properties grants reading them. Peers may use names that this version does not
 * know. @throws ServiceError `bad_request`
 */
export function readOverride(body: JsonText): GivenOverride {
  const fields = isObject(body) ? members(body) : null
  if (fields === null) throw new ServiceError('bad_request', 'Cannot set permissions: the body must be a JSON object')
  const rules: Record<string, OverrideRule> = {}
  for (const category of ruledCategories) {
    const given = fields.get(category)
    if (given !== undefined && given !== 'null') rules[category] = readRule(category, given)
  }
  const text = (name: string): string | null => {
    const value = fields.get(name)
    const plain = value === undefined ? null : toPlain(value)
    return typeof plain === 'string' ? plain : null
  }
  return { rules, createdBy: text('created_by'), notes: text('notes') }
}

const ruleParts = ['patterns', 'operations', 'excluded_patterns', 'allowed', 'denied'] as const

const names = { type: 'array', items: { type: 'string' } }

/** @param operations The schema of the operations of a category. */
function rightsSchema(operations: (category: RuledCategory) => object) {
  const grantSchema = (category: RuledCategory): object => ({
    type: 'object',
    properties: {
      pattern: { type: 'string' },
      operations: operations(category),
      until: { type: 'string', format: 'date-time', description: 'End of the grant. Default: no end' },
    },
    required: ['pattern', 'operations'],
  })
  const ruleSchema = (category: RuledCategory): object => ({
    type: ['object', 'array', 'null'],
    properties: {
      ...Object.fromEntries(ruleParts.map((part) => [part, names])),
      operations: operations(category),
      grants: {
        type: ['array', 'null'],
        items: grantSchema(category),
        description: 'Operations on the targets of one pattern each, in addition to the other members',
      },
      merge: { type: 'boolean' },
    },
  })
  return {
    type: 'object',
    properties: Object.fromEntries(ruledCategories.map((category) => [category, ruleSchema(category)])),
  } as const
}

/** Schema of the override that `readOwnOverride` reads. Responses show permissions in the same form. */
export const overrideSchema = rightsSchema((category) => ({ type: 'array', items: { enum: operationsOf[category] } }))

/** Schema of the permissions that `readOverride` reads from a peer. */
export const peerRightsSchema = rightsSchema(() => names)

function readRule(category: string, given: JsonText): OverrideRule {
  const plain = toPlain(given)
  if (Array.isArray(plain)) {
    const names = readNames(category, 'patterns', plain)
    return category === 'properties' || category === 'resources'
      ? { patterns: names, operations: ['read'] }
      : { allowed: names }
  }
  if (typeof plain !== 'object' || plain === null) throw malformed(category)
  const values = plain as { readonly [name: string]: unknown }
  const parts = ruleParts.flatMap((part) =>
    values[part] === undefined || values[part] === null
      ? []
      : [[part, readNames(category, part, values[part])] as const],
  )
  if (values['merge'] !== undefined && typeof values['merge'] !== 'boolean') throw malformed(`${category}.merge`)
  const grants = values['grants'] ?? undefined
  return {
    ...Object.fromEntries(parts),
    ...(grants === undefined ? {} : { grants: readGrants(category, grants) }),
    ...(values['merge'] === false ? { merge: false } : {}),
  }
}

function readGrants(category: string, given: unknown): PatternGrant[] {
  const where = `${category}.grants`
  if (!Array.isArray(given) || given.length > maxGrants) throw malformedGrants(where)
  return given.map((each: unknown) => {
    const { pattern, operations, until } = (typeof each === 'object' ? (each ?? {}) : {}) as Readonly<
      Record<string, unknown>
    >
    if (typeof pattern !== 'string' || pattern === '' || pattern.length > longestPattern) throw malformedGrants(where)
    const time = typeof until === 'string' ? Date.parse(until) : Number.NaN
    if (until !== undefined && Number.isNaN(time)) throw malformedGrants(where)
    return {
      pattern,
      operations: readNames(category, 'grants', operations),
      ...(until === undefined ? {} : { until: time }),
    }
  })
}

function malformedGrants(where: string): ServiceError {
  return new ServiceError(
    'bad_request',
    `Cannot set permissions: ${where} must be a list of objects with a pattern and operations, and with a time in until if they end`,
    { field: where },
  )
}

function readNames(category: string, part: string, value: unknown): string[] {
  if (!Array.isArray(value) || value.length > 1000) throw malformed(`${category}.${part}`)
  return value.map((name: unknown) => {
    if (typeof name !== 'string' || name === '' || name.length > longestPattern) throw malformed(`${category}.${part}`)
    return name
  })
}

function malformed(where: string): ServiceError {
  return new ServiceError(
    'bad_request',
    `Cannot set permissions: ${where} must be a list of names, or an object of such lists`,
    { field: where },
  )
}

/** The permissions of a member of a group follow from the role alone (docs/decisions/240). */
export function roleDecides(): ServiceError {
  return new ServiceError('conflict', 'Cannot change the permissions of a member: change the role instead', {
    refusal: 'role_decides',
  })
}

function noRelationship(peerId: string): ServiceError {
  return new ServiceError('not_found', `This relationship with peer ${quoted(peerId)} does not exist`)
}

/** Whether the peer is an AI client, or another program that acts for the owner, instead of an actor. */
export function isClient(trust: Trust): boolean {
  return clientIdOf(trust) !== null
}

/** `trip_plan` → `Trip Plan`. */
function displayName(name: string): string {
  return name.replace(/[_-]+/g, ' ').replace(/(^|\s)\p{L}/gu, (letter) => letter.toUpperCase())
}
