/** Gives members the rules of their role when a new deployment declares the role differently (docs/decisions/240). */
import { setImmediate } from 'node:timers/promises'
import type { Registry } from '../../app/registry.ts'
import { rulesOfRole } from '../../app/kinds/roles.ts'
import { Poller } from '../../due/poller.ts'
import { absenceOf, ServiceError } from '../../errors.ts'
import { canonical } from '../../json/canonical.ts'
import type { Log } from '../../observe/log.ts'
import type { Store } from '../../store/store.ts'
import type { Timers } from '../../timers.ts'
import type { Groups } from './groups.ts'
import { findGroupsWith, findRoleRules, nameOfRole, putRoleRules, type RoleRules } from './member-store.ts'

export interface RedeclaredRolesDeps {
  readonly store: Store
  readonly timers: Timers
  readonly log: Log
  readonly registry: Pick<Registry, 'all'>
  readonly groups: Pick<Groups, 'renew'>
}

/** The pause before groups that were moving or suspended are tried again. */
const againMs = 60_000

/** Works once after a start. A process that is killed leaves all of it to the next start. */
export class RedeclaredRoles {
  readonly #deps: RedeclaredRolesDeps
  readonly #poller: Poller
  #isDone = false
  /** The groups that were moving, replaced or suspended. Null: all groups are looked at. */
  #left: readonly string[] | null = null

  constructor(deps: RedeclaredRolesDeps) {
    this.#deps = deps
    this.#poller = new Poller(deps.timers, () => this.#look())
  }

  wake(): void {
    this.#poller.wake()
  }

  async settled(): Promise<void> {
    await this.#poller.looking
  }

  nextDue(): Promise<null> {
    return Promise.resolve(null)
  }

  stop(): Promise<void> {
    return this.#poller.stop()
  }

  async #look(): Promise<number | null> {
    if (this.#isDone) return null
    try {
      this.#isDone = await this.#renewAll()
    } catch (error) {
      this.#deps.log.warn({ error }, 'Cannot give members the permissions of their roles; the service tries again')
    }
    return this.#isDone ? null : againMs
  }

  /** False: groups are left that are moving, replaced or suspended. */
  async #renewAll(): Promise<boolean> {
    const { store, registry } = this.#deps
    const known = (await store.read(findRoleRules)) ?? {}
    const declared = rulesAfter(known, registry.all)
    const roles = changedRoles(known, declared)
    if (roles.length === 0) return true
    const left: string[] = []
    for await (const groupId of this.#left ?? this.#groupsWith(roles)) {
      if (this.#poller.isStopping) return false
      if (!(await this.#renew(groupId))) left.push(groupId)
      await setImmediate()
    }
    this.#left = left
    if (left.length > 0) return false
    await store.write((tx) => putRoleRules(tx, declared))
    return true
  }

  async *#groupsWith(roles: readonly string[]): AsyncGenerator<string, undefined> {
    for (let after: string | undefined = ''; after !== undefined; ) {
      const last: string = after
      const found = await this.#deps.store.read((q) => findGroupsWith(q, roles, last))
      yield* found
      after = found.at(-1)
    }
  }

  /** False: the group is moving, is replaced or is suspended. */
  async #renew(groupId: string): Promise<boolean> {
    try {
      await this.#deps.groups.renew(groupId)
      return true
    } catch (error) {
      const absence = absenceOf(error)
      // Each request to an actor of a kind that is not declared is refused.
      const isUnknown = error instanceof ServiceError && error.code === 'unknown_kind'
      if (absence === null && !isUnknown) throw error
      return isUnknown || absence === 'gone'
    }
  }
}

/** The rules of all roles that are declared, and the last ones of kinds that are not: a later release may declare these again. */
function rulesAfter(known: RoleRules, kinds: Registry['all']): RoleRules {
  const isDeclared = (name: string): boolean => kinds.some(({ kind }) => name.startsWith(`${kind}/`))
  const rules = Object.fromEntries(Object.entries(known).filter(([name]) => !isDeclared(name)))
  for (const { kind, roles, data } of kinds)
    for (const [role, declaration] of roles) rules[nameOfRole(kind, role)] = rulesOfRole(declaration, data)
  return rules
}

/** The roles of any kind whose rules differ. A role without rules is not declared. */
function changedRoles(before: RoleRules, after: RoleRules): readonly string[] {
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])]
  const changed = names.filter((name) => canonical(before[name] ?? null) !== canonical(after[name] ?? null))
  return [...new Set(changed.map((name) => name.slice(name.indexOf('/') + 1)))]
}
