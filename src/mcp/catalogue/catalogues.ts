/** The catalog of each kind of actors, for AI clients. */
import type { Registry } from '../../app/registry.ts'
import { unknownKind } from '../../errors.ts'
import { type Catalogue, catalogueOf, requireLinearTools } from './catalogue.ts'

export class Catalogues {
  readonly #kinds: ReadonlyMap<string, Catalogue>

  /** @throws ConfigError for a declaration that the protocol cannot express. */
  constructor(registry: Registry) {
    this.#kinds = new Map(registry.all.map((each) => [each.kind, catalogueOf(each)]))
  }

  /** @throws ConfigError when a tool has a schema of its own with a pattern that can take long. */
  async requireLinear(): Promise<void> {
    for (const catalogue of this.#kinds.values()) await requireLinearTools(catalogue)
  }

  /** @throws ServiceError `unknown_kind` */
  of({ kind }: { readonly kind: string }): Catalogue {
    const found = this.#kinds.get(kind)
    if (found === undefined) throw unknownKind(kind)
    return found
  }
}
