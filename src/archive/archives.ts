/** The archive of an actor for its owner. */
import type { Actor } from '../actor/actor.ts'
import type { Caller } from '../caller.ts'
import type { Access } from '../property/access.ts'
import type { PropertyModule } from '../property/create.ts'
import { type ArchiveView, exportActor, type ExportDeps } from './export-actor.ts'

export interface ArchivesDeps extends ExportDeps, Pick<PropertyModule, 'declared' | 'gate' | 'hooks'> {}

export class Archives {
  readonly #deps: ArchivesDeps

  constructor(deps: ArchivesDeps) {
    this.#deps = deps
  }

  /**
   * Yields the archive as text. It has what the owner sees after the hooks, in the declared versions, and no secrets.
   *
   * @throws ServiceError `value_corrupted`, `list_corrupted`, `file_missing`, `migration_failed`, `newer_data`
   */
  export(actor: Actor, caller: Caller): AsyncGenerator<string, void> {
    return exportActor(this.#deps, actor, { view: this.#viewOf({ actor, caller }), hasSecrets: false })
  }

  #viewOf(access: Access): ArchiveView {
    const { declared, gate, hooks } = this.#deps
    return {
      property: async (stored) => {
        const { name, content, version } = declared.of(access.actor).current(stored)
        const shown = await gate.runHooks(access, 'get', [name], content)
        return shown === null ? null : { content: shown, version }
      },
      formatOf: (list) => declared.of(access.actor).formatOf(list),
      items: (list, items) => hooks.runItemHooks(access, list, items),
      hasHistoryOf: (name) => gate.hasNoHooks(access, 'get', name),
    }
  }
}
