/** The declared data of each kind of actors. */
import type { Registry } from '../app/registry.ts'
import { findActorKind } from '../actor/actor-store.ts'
import { unknownKind } from '../errors.ts'
import type { ListHistory } from '../list/list.ts'
import type { Queries } from '../store/store.ts'
import { DeclaredData } from './declared-data.ts'

export class DeclaredKinds {
  readonly #data: ReadonlyMap<string, DeclaredData>

  /** @param history Receives the changes of lists. */
  constructor(registry: Pick<Registry, 'all'>, history?: ListHistory) {
    this.#data = new Map(registry.all.map(({ kind, data }) => [kind, new DeclaredData(data, history)]))
  }

  /** @throws ServiceError `unknown_kind` */
  of({ kind }: { readonly kind: string }): DeclaredData {
    const found = this.#data.get(kind)
    if (found === undefined) throw unknownKind(kind)
    return found
  }

  /**
   * The same by the id of an actor. Reads its kind also when the application declares only the person: another release may
   * have stored actors of further kinds, and their data is not that of a person.
   *
   * @throws ServiceError `unknown_kind`
   */
  async ofActor(q: Queries, actorId: string): Promise<DeclaredData> {
    return this.of({ kind: await findActorKind(q, actorId) })
  }

  /** The declared names of any kind whose stored content may have an older version. */
  versioned(): readonly string[] {
    return [...this.#data.values()].flatMap((data) => data.versioned())
  }
}
