/** The declarations for one kind of actor. */
import type { AlarmDeclaration, DeclaredAlarm } from '../background/alarms.ts'
import type { AlarmHandler, AlarmHandlerOf, AlarmOf } from '../background/background.ts'
import {
  declaredList,
  type DeclaredList,
  declaredProperty,
  type DeclaredProperty,
  type ListDeclaration,
  type PropertyDeclaration,
} from '../data-declarations.ts'
import type { DeclaresAction, DeclaresMethod } from '../declared-operations.ts'
import type {
  ActionMetadata,
  CallbackHandler,
  CallbackOptions,
  EventHandler,
  EventName,
  ExclusiveHandler,
  Handler,
  MethodMetadata,
  PageHandler,
  PropertyHook,
  PropertyHooks,
  ResourceHandler,
  ResultFor,
  SubscriptionDataHandler,
  SubscriptionHandler,
  TypedHandler,
} from '../declarations.ts'
import type { MethodMcp } from '../mcp-declarations.ts'
import type { MethodInput } from '../method-input.ts'
import type { OperationKind, Registry } from '../registry.ts'
import type { DeclaredSchema, InferData, InferInput, InferOutput } from '../schema.ts'

type Declared = readonly [Handler] | readonly [ActionMetadata | MethodMetadata, Handler | ExclusiveHandler]

/** The declarations for actors of one kind: of the person with `App`, of another kind with `Kind`. @public */
export abstract class ActorDeclarations {
  /** @internal */
  protected readonly registry: Registry

  /** @internal */
  constructor(registry: Registry) {
    this.registry = registry
  }

  /** Declares a method: `POST /<actor>/methods/<name>` and JSON-RPC call it. The name `*` handles every name. */
  method<Name extends string>(name: Name, handler: Handler): this & DeclaresMethod<Name>
  method<Name extends string, S extends DeclaredSchema, R extends DeclaredSchema, const M extends MethodMcp>(
    name: Name,
    metadata: MethodMetadata<S, R, M> & { readonly exclusive: true },
    handler: ExclusiveHandler<MethodInput<S, M>, ResultFor<R>>,
  ): this & DeclaresMethod<Name, S, R, M>
  method<Name extends string, S extends DeclaredSchema, R extends DeclaredSchema, const M extends MethodMcp>(
    name: Name,
    metadata: MethodMetadata<S, R, M>,
    handler: Handler<MethodInput<S, M>, ResultFor<R>>,
  ): this & DeclaresMethod<Name, S, R, M>
  method(name: string, ...declared: Declared): this {
    return this.#declare('methods', name, declared)
  }

  /** Declares an action: `POST /<actor>/actions/<name>` calls it. The name `*` handles every name. */
  action<Name extends string>(name: Name, handler: Handler): this & DeclaresAction<Name>
  action<Name extends string, S extends DeclaredSchema, R extends DeclaredSchema>(
    name: Name,
    metadata: ActionMetadata<S, R> & { readonly exclusive: true },
    handler: ExclusiveHandler<InferOutput<S>, ResultFor<R>>,
  ): this & DeclaresAction<Name, S, R>
  action<Name extends string, S extends DeclaredSchema, R extends DeclaredSchema>(
    name: Name,
    metadata: ActionMetadata<S, R>,
    handler: TypedHandler<S, R>,
  ): this & DeclaresAction<Name, S, R>
  action(name: string, ...declared: Declared): this {
    return this.#declare('actions', name, declared)
  }

  #declare(kind: OperationKind, name: string, declared: Declared): this {
    const [metadata, handler] = declared.length === 1 ? [null, declared[0]] : declared
    this.registry.addOperation(kind, name, metadata, handler)
    return this
  }

  /** Declares a resource at `/<actor>/resources/<name>`. The handler receives the body with `method` set to the HTTP method. */
  resource(name: string, handler: ResourceHandler): this {
    this.registry.addResource(name, handler)
    return this
  }

  /**
   * Declares a property. Every value that is stored fits its schema, however it is written. Use the result in place of the
   * name: `actor.get(budget)` has the type of the schema. Reads return the default until the property is set.
   */
  property<S extends DeclaredSchema, Name extends string>(
    name: Name,
    declaration: PropertyDeclaration<S> & { readonly default: InferInput<S> },
  ): DeclaredProperty<InferData<S>, InferInput<S>, never, Name>
  property<S extends DeclaredSchema, Name extends string>(
    name: Name,
    declaration: PropertyDeclaration<S>,
  ): DeclaredProperty<InferData<S>, InferInput<S>, undefined, Name>
  /** Declares hooks for each access to a property or list. One function handles all four operations. `*` covers every name. */
  property(name: string, hooks: PropertyHooks | PropertyHook): this
  property(name: string, declared: object): DeclaredProperty<unknown, unknown, unknown> | this {
    if (isDeclaration(declared)) {
      this.registry.addData(declaredProperty(name, declared))
      return { kind: 'property', name }
    }
    const hooks: PropertyHooks | PropertyHook = declared
    const all = typeof hooks === 'function' ? { get: hooks, put: hooks, post: hooks, delete: hooks } : hooks
    this.registry.addPropertyHooks(name, all)
    return this
  }

  /**
   * Declares a list. Every item that is stored fits its schema, however it is written. Use the result in place of the name:
   * `actor.list(shopping)` has items of that type. Every actor has the list, which is empty at first.
   */
  list<S extends DeclaredSchema, Name extends string>(
    name: Name,
    declaration: ListDeclaration<S>,
  ): DeclaredList<InferData<S>, InferInput<S>, Name> {
    this.registry.addData(declaredList(name, declaration))
    return { kind: 'list', name }
  }

  /**
   * Declares a callback: authenticated callers of the actor, or everyone when it is public, call it at
   * `/<actor>/callbacks/<name>`. `*` handles every name for authenticated callers. `permissions` also receives the grants of peers.
   */
  callback(name: string, handler: CallbackHandler, options: CallbackOptions = {}): this {
    this.registry.addCallback(name, handler, options)
    return this
  }

  /** Handles the callbacks of peers to subscriptions, unordered. Runs only when automatic sequencing is off. */
  subscription(handler: SubscriptionHandler): this {
    this.registry.addSubscriptionHandler(handler)
    return this
  }

  /** Handles the changes of subscriptions to `target` (`*` for all), in order and once, after they were stored. */
  subscriptionData(target: string, handler: SubscriptionDataHandler): this {
    this.registry.addDataHandler(target, handler)
    return this
  }

  /**
   * Declares a handler for an event: a lifecycle event, which fires once, or `property_changed`, `list_changed` and `file_changed`, which are
   * stored with the change and repeated until the handlers succeed.
   */
  on<E extends EventName>(event: E, handler: EventHandler<E>): this {
    this.registry.addEventHandler(event, handler)
    return this
  }

  /**
   * Declares the handler of an alarm, which `actor.alarm(at, remind, data)` sets. Use the result in place of the name: the data
   * then has the type of the schema.
   */
  alarm(name: string, handler: AlarmHandler): DeclaredAlarm
  alarm<S extends DeclaredSchema>(
    name: string,
    declaration: AlarmDeclaration<S>,
    handler: AlarmHandlerOf<S>,
  ): AlarmOf<S>
  alarm(
    name: string,
    ...declared: readonly [AlarmHandler] | readonly [AlarmDeclaration, AlarmHandler<never>]
  ): DeclaredAlarm<never> {
    const [declaration, handler] = declared.length === 1 ? [null, declared[0]] : declared
    this.registry.background.addAlarm(name, declaration, handler)
    return { kind: 'alarm', name }
  }

  /** Declares application-defined pages: every path below `/<actor>/www/` that is not a page of the service. */
  www(handler: PageHandler): this {
    this.registry.addPageHandler(handler)
    return this
  }
}

function isDeclaration(declared: object): declared is PropertyDeclaration {
  return 'schema' in declared
}
