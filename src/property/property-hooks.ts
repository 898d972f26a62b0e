/** Runs the application's property hooks for an access. A value that no hook changes keeps its stored text. */
import type { ActorHandle } from '../app/actor-handle.ts'
import type { PropertyOperation } from '../app/declarations.ts'
import { handlerResult } from '../app/handler-result.ts'
import type { Registry } from '../app/registry.ts'
import { type Json, type JsonText, toPlain } from '../json/json.ts'
import { callLog } from '../observe/call-log.ts'
import type { Log } from '../observe/log.ts'
import type { Access } from './access.ts'

/** Members of the facts about a change that contain values. */
const valueMembers = new Set(['value', 'item', 'items', 'old_item'])

/** Leaves out values when a hook may show readers another value than the stored one, or none. */
export function shownFacts(
  registry: Pick<Registry, 'propertyHooks'>,
  name: string,
  facts: Iterable<readonly [member: string, value: JsonText]>,
): (readonly [member: string, value: JsonText])[] {
  const isHooked = registry.propertyHooks(name, 'get').length > 0
  return [...facts].filter(([member]) => !isHooked || !valueMembers.has(member))
}

export class PropertyGate {
  readonly #registry: Registry
  readonly #handleOf: (actor: Access['actor']) => ActorHandle
  readonly #log: Log

  /** @param handleOf Creates a handle whose accesses call no hooks. */
  constructor(registry: Registry, handleOf: (actor: Access['actor']) => ActorHandle, log: Log) {
    this.#registry = registry
    this.#handleOf = handleOf
    this.#log = log
  }

  hasNoHooks(access: Access, operation: PropertyOperation, name: string): boolean {
    return access.withoutHooks === true || this.#registry.of(access.actor).propertyHooks(name, operation).length === 0
  }

  /** The value after all hooks. Null when a hook hides or rejects it. An error of a hook fails the request. */
  runHooks(
    access: Access,
    operation: PropertyOperation,
    path: readonly string[],
    value: JsonText,
  ): Promise<JsonText | null> | JsonText {
    return this.hasNoHooks(access, operation, path[0] ?? '') ? value : this.#run(access, operation, path, value)
  }

  async #run(
    access: Access,
    operation: PropertyOperation,
    path: readonly string[],
    value: JsonText,
  ): Promise<JsonText | null> {
    const [name = ''] = path
    const actor = this.#handleOf(access.actor)
    const given = toPlain(value)
    const before = JSON.stringify(given)
    let current: Json = given
    const ofCall = callLog(this.#log, `properties/${name}`, access.actor.id)
    for (const hook of this.#registry.of(access.actor).propertyHooks(name, operation)) {
      const result = await hook({ ...ofCall, actor, caller: access.caller, operation, value: current, path })
      if (result === null || result === undefined) return null
      current = result
    }
    return JSON.stringify(current) === before ? value : handlerResult(current)
  }

  /** The items in order, after the hooks for each index. Hidden items are left out. */
  async runItemHooks(access: Access, list: string, items: readonly HookedItem[]): Promise<readonly HookedItem[]> {
    if (this.hasNoHooks(access, 'get', list)) return items
    const passed: HookedItem[] = []
    for (const { index, item } of items) {
      const shown = await this.runHooks(access, 'get', [list, String(index)], item)
      if (shown !== null) passed.push({ index, item: shown })
    }
    return passed
  }
}

export interface HookedItem {
  readonly index: number
  readonly item: JsonText
}
