/** Gives members the rules of their role when a new deployment declares the role differently (docs/decisions/240). */
import { setImmediate } from 'node:timers/promises'
import type { Registry } from '../../app/registry.ts'
import { rulesOfRole } from '../../app/kinds/roles.ts'
import { Poller } from '../../due/poller.ts'
import { absenceOf } from '../../errors.ts'
import { canonical } from '../../json/canonical.ts'
import type { Log } from '../../observe/log.ts'
import type { OverrideRules } from '../../permission/rules.ts'
import type { Store } from '../../store/store.ts'
import type { Timers } from '../../timers.ts'
import type { Groups } from './groups.ts'
import { findGroupsWith, findRoleRules, putRoleRules, type RoleRules } from './member-store.ts'

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
  #isDone: boolean

  constructor(deps: RedeclaredRolesDeps) {
    this.#deps = deps
    this.#isDone = deps.registry.all.every(({ roles }) => roles.size === 0)
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
    const declared = declaredRules(registry.all)
    const known = await store.read(findRoleRules)
    const changed = Object.keys(known ?? {}).filter(
      (role) => canonical(known?.[role]) !== canonical(declared[role] ?? null),
    )
    let isComplete = true
    const roles = [...new Set(changed.map((name) => name.slice(name.indexOf('/') + 1)))]
    for (let after = ''; roles.length > 0; ) {
      const found = await store.read((q) => findGroupsWith(q, roles, after))
      for (const groupId of found) {
        if (this.#poller.isStopping) return false
        if (!(await this.#renew(groupId))) isComplete = false
        await setImmediate()
      }
      const last = found.at(-1)
      if (last === undefined) break
      after = last
    }
    if (isComplete && canonical(known) !== canonical(declared)) await store.write((tx) => putRoleRules(tx, declared))
    return isComplete
  }

  /** False: the group is moving, is replaced or is suspended. */
  async #renew(groupId: string): Promise<boolean> {
    try {
      await this.#deps.groups.renew(groupId)
      return true
    } catch (error) {
      const absence = absenceOf(error)
      if (absence === null) throw error
      return absence === 'gone'
    }
  }
}

/** The rules of all roles, by the kind and the role. */
function declaredRules(kinds: Registry['all']): RoleRules {
  const rules: Record<string, OverrideRules> = {}
  for (const { kind, roles, data } of kinds)
    for (const [role, declaration] of roles) rules[`${kind}/${role}`] = rulesOfRole(declaration, data)
  return rules
}
