/** Acts of an owner about archives of the actor. */
import type { Actor } from '../actor/actor.ts'
import type { MailPort } from '../app/background/mail-port.ts'
import { ServiceError } from '../errors.ts'
import { type Acting, noteIfOwner } from '../observe/own-acts.ts'
import type { SignInAge } from '../permission/sign-in-age.ts'
import type { ArchiveImports } from './archive-imports.ts'
import type { Archives } from './archives.ts'
import type { ImportState } from './import-store.ts'
import type { Existing } from './merge-archive.ts'

export interface ArchiveActsDeps {
  readonly archives: Pick<Archives, 'export'>
  readonly imports: Pick<ArchiveImports, 'begin' | 'stop'>
  readonly signInAge: SignInAge
  readonly mail: Pick<MailPort, 'event'>
}

type ActingAtActor = Acting & { readonly actor: Actor }

export class ArchiveActs {
  readonly #deps: ArchiveActsDeps

  constructor(deps: ArchiveActsDeps) {
    this.#deps = deps
  }

  /** @throws ServiceError like `Archives.export` */
  export(by: ActingAtActor): AsyncGenerator<string, void> {
    this.#deps.signInAge.require(by.caller)
    noteIfOwner(by, 'archive.export')
    return this.#exported(by)
  }

  async *#exported({ actor, caller }: ActingAtActor): AsyncGenerator<string, void> {
    yield* this.#deps.archives.export(actor, caller)
    if (caller.kind === 'creator') await this.#deps.mail.event({ kind: 'export', actorId: actor.id })
  }

  /** Begins an import. @throws ServiceError like `ArchiveImports.begin` */
  async import(by: ActingAtActor, content: AsyncIterable<Uint8Array>, existing: Existing): Promise<ImportState> {
    const state = await this.#deps.imports.begin(by.actor, by.caller, content, existing)
    noteIfOwner(by, 'archive.import')
    return state
  }

  /** Stops the running import. What came in stays. @throws ServiceError `not_found` */
  async stopImport(by: Acting): Promise<void> {
    if (!(await this.#deps.imports.stop(by.actor.id)))
      throw new ServiceError('not_found', 'No import runs', { refusal: 'import_ended' })
  }
}

/** Records of the archive that are done, also in the list that the import is at. */
export function doneRecords({ position, added }: ImportState): number {
  return position + added
}
