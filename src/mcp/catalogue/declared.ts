/** The names that an application declares, over HTTP and for AI clients. */
import type { Registry } from '../../app/registry.ts'
import type { Category } from '../../permission/operation.ts'
import { everything, propertiesUri } from '../../permission/property-address.ts'
import type { RuledCategory } from '../../permission/rules.ts'
import { unknownKind } from '../../errors.ts'
import type { Catalogue, Resource } from './catalogue.ts'
import type { Catalogues } from './catalogues.ts'

interface KindOfActor {
  readonly kind: string
}

/** The names of each kind of actors. */
export class DeclaredNames {
  readonly #kinds: ReadonlyMap<string, Declared>

  /** @param catalogues Null when the service has no endpoint for AI clients. */
  constructor(registry: Registry, catalogues: Catalogues | null) {
    this.#kinds = new Map(registry.all.map((each) => [each.kind, new Declared(each, catalogues?.of(each) ?? null)]))
  }

  /** @throws ServiceError `unknown_kind` */
  of({ kind }: KindOfActor): Declared {
    const found = this.#kinds.get(kind)
    if (found === undefined) throw unknownKind(kind)
    return found
  }
}

export class Declared {
  readonly #registry: Registry
  readonly #catalogue: Catalogue | null

  constructor(registry: Registry, catalogue: Catalogue | null) {
    this.#registry = registry
    this.#catalogue = catalogue
  }

  /** True for a declared name, and for any name in a category without declarations. */
  has(category: Category, name: string): boolean {
    switch (category) {
      case 'methods':
      case 'actions':
        return this.#registry.operations(category, name).length > 0
      case 'tools':
        return this.#catalogue?.tools.has(name) === true
      case 'prompts':
        return this.#catalogue?.prompts.has(name) === true
      case 'resources':
        return this.#hasResource(name)
      default:
        return true
    }
  }

  /** True when each call by a peer or a client needs the owner's approval. */
  needsApproval(category: Category, name: string): boolean {
    switch (category) {
      case 'methods':
      case 'actions':
        return this.#registry.needsApproval(category, name)
      case 'tools':
        return this.#catalogue?.tools.get(name)?.needsApproval === true
      case 'prompts':
        return this.#catalogue?.prompts.get(name)?.needsApproval === true
      case 'resources':
        return this.#resourceAt(name)?.needsApproval === true
      default:
        return false
    }
  }

  #hasResource(name: string): boolean {
    if (name.startsWith(propertiesUri)) return this.#catalogue !== null
    return this.#registry.resources(name).length > 0 || this.#resourceAt(name) !== undefined
  }

  /** Finds a resource by its address, or by the template that matches the address. */
  #resourceAt(name: string): Resource | undefined {
    return this.#catalogue?.resources.find(({ template }) => template.text === name || template.match(name) !== null)
  }

  /** The declared names in each category, in the order of declaration. */
  names(isClient: boolean): {
    readonly [category in Exclude<RuledCategory, 'properties' | 'files'>]: readonly string[]
  } {
    const offered = isClient ? this.#catalogue : null
    const { tools, prompts, resources } = offered ?? { tools: new Map(), prompts: new Map(), resources: [] }
    return {
      methods: this.#registry.descriptors('methods').map(({ name }) => name),
      actions: this.#registry.descriptors('actions').map(({ name }) => name),
      tools: [...tools.keys()],
      prompts: [...prompts.keys()],
      resources: [
        ...this.#registry.resourceNames(),
        ...resources.map(({ template }) => template.text),
        ...(offered === null ? [] : [everything]),
      ],
    }
  }
}
