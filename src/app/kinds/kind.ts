/** Kinds of actors: each has its own declarations, beside those of the person. */
import type { ActorHandle } from '../actor-handle.ts'
import type { DeclaredList, DeclaredProperty, ListDeclaration, PropertyDeclaration } from '../data-declarations.ts'
import type { Registry } from '../registry.ts'
import type { InferData, InferInput } from '../schema.ts'
import { ActorDeclarations } from './actor-declarations.ts'
import type { GroupHandle } from './group-handle.ts'
import type { KindDeclaration, Schemas } from './kind-declaration.ts'

/** The input of `create` of a kind. @experimental */
export interface NewOfKind {
  /** Its name, which is stored as the property `displayname`. Default: none. */
  readonly name?: string
  /** Default: a random id. */
  readonly id?: string
  /** The first member of a group, with the first role that manages. Default: a group without members. */
  readonly by?: ActorHandle
}

/** Creates an actor of a kind. */
export type CreateOfKind = (given: NewOfKind) => Promise<ActorHandle>

/** A kind of actors, the result of `App.kind`. It has the declarations of its actors, and creates them. @experimental */
export class Kind<
  Lists extends Schemas = Schemas,
  Properties extends Schemas = Schemas,
  Role extends string = string,
> extends ActorDeclarations {
  readonly kind: string
  /** The declared lists by name: `actor.list(club.lists.events)`. */
  readonly lists: {
    readonly [Name in keyof Lists & string]: DeclaredList<InferData<Lists[Name]>, InferInput<Lists[Name]>, Name>
  }
  /** The declared properties by name: `actor.get(club.properties.fee)`. */
  readonly properties: {
    readonly [Name in keyof Properties & string]: DeclaredProperty<
      InferData<Properties[Name]>,
      InferInput<Properties[Name]>,
      undefined,
      Name
    >
  }
  readonly #create: CreateOfKind

  /** @internal */
  constructor(
    registry: Registry,
    { lists, properties }: KindDeclaration<Lists, Properties, Role>,
    create: CreateOfKind,
  ) {
    super(registry)
    this.kind = registry.kind
    this.#create = create
    this.lists = declaredOf(lists, (name, given) => this.list(name, given as ListDeclaration))
    this.properties = declaredOf(properties, (name, given) => this.property(name, given as PropertyDeclaration))
  }

  /**
   * Creates an actor of this kind together with its name, or nothing. No person signs in to it. The hooks for
   * `displayname` run before the actor is stored.
   *
   * @throws ServiceError `conflict` when the id is taken, `invalid_value`, and errors of the hooks and schema of `displayname`; with
   *   `by`, `not_found` when the kind has no roles, and errors of `trust.request`. A group whose first member fails is deleted.
   */
  async create(given: NewOfKind = {}): Promise<GroupHandle<Role>> {
    // Its members have the roles of the declaration.
    return (await this.#create(given)) as GroupHandle<string> as GroupHandle<Role>
  }
}

/** The type checker knows the names and schemas by the type parameters of the class. */
function declaredOf(declarations: object | undefined, declare: (name: string, declaration: unknown) => object): never {
  const entries: [string, unknown][] = Object.entries(declarations ?? {})
  return Object.fromEntries(entries.map(([name, given]) => [name, declare(name, given)])) as never
}
