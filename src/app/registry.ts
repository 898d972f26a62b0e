/** Everything that one application declared, by name. It is complete before the first request. */
import { toNfc } from '../json/nfc.ts'
import type { ActorHandle } from './actor-handle.ts'
import { BackgroundDeclarations } from './background/background-declarations.ts'
import type { ServiceDeclaration } from './service-declaration.ts'
import { type DataDeclaration, prepareData } from './data-declarations.ts'
import { requireResult } from './handler-result.ts'
import { isOfMethod, mcpInputSchema } from './mcp-input.ts'
import type { TrustType } from '../permission/trust-types.ts'
import {
  declaredSchema,
  nounOf,
  requireEvent,
  requireFunction,
  requireHooks,
  requireNamedHandler,
  requireNewData,
  requireNewKind,
  requireNewKindOfActors,
  requireOperation,
  requireTrustType,
  requireValidSchemas,
} from './validate-declarations.ts'
import { withoutPeerError } from './peer-errors.ts'
import { unknownKind } from '../errors.ts'
import { personKind } from './kinds/person.ts'
import { memberType, requireRoleOperations, type Roles } from './kinds/roles.ts'
import { inputSchema, type JsonSchema, outputSchema, type Schema } from './schema.ts'
import type {
  ActionMetadata,
  AppCallbackHandler,
  BotHandler,
  Call,
  CallbackHandler,
  CallbackOptions,
  CompanionKind,
  EventHandler,
  EventName,
  ExclusiveHandler,
  Handler,
  HandlerResult,
  MethodMetadata,
  OwnerApproval,
  PageHandler,
  PropertyHook,
  PropertyHooks,
  PropertyOperation,
  ResourceHandler,
  SubscriptionDataHandler,
  SubscriptionHandler,
} from './declarations.ts'

/** The facts about a kind of actors for people and other services. */
export interface KindFacts {
  readonly name: string
  readonly type: string | undefined
  readonly description: string
}

export type OperationKind = 'methods' | 'actions'

/** One declared handler with its checked input. */
export interface DeclaredOperation {
  readonly name: string
  /** Runs the handler, for an exclusive operation in a transaction of the actor. */
  readonly run: (actor: ActorHandle, call: Omit<Call, 'actor'>) => Promise<HandlerResult>
  readonly input: Schema | null
  readonly output: Schema | null
  readonly metadata: ActionMetadata | MethodMetadata | null
}

/** The entry of an operation in the discovery lists (R-OP-02). */
export interface Descriptor {
  readonly name: string
  readonly description: string
  readonly input_schema: JsonSchema | null
  readonly output_schema: JsonSchema | null
  readonly annotations: object
  /** Present when calls need owner approval. */
  readonly confirm?: 'owner'
}

type Preview = NonNullable<OwnerApproval['preview']>

/** An operation as its owner sees a call of it. */
export interface CallText {
  readonly title: string
  readonly description: string
  /** True when the application declares that a call may destroy data. */
  readonly isDestructive: boolean
  readonly inputSchema: JsonSchema | null
  /** The operation that the call runs, with the schema of its input; null when it is no longer declared. */
  readonly runs: { readonly kind: OperationKind; readonly name: string; readonly input: Schema | null } | null
}

export interface DeclaredCallback {
  readonly handler: CallbackHandler
  readonly isPublic: boolean
}

const anyName = '*'

export class Registry {
  /** The kind of the actors. */
  readonly kind: string
  /** The name and type of a kind. Null for the person, whose actors have those of the application. */
  readonly facts: KindFacts | null
  /** The roles of members, by name. Empty: the actors of the kind are no groups. */
  readonly roles: Roles
  readonly #kinds = new Map<string, Registry>()
  readonly #operations = {
    methods: new Map<string, DeclaredOperation[]>(),
    actions: new Map<string, DeclaredOperation[]>(),
  }
  readonly #propertyHooks = new Map<string, PropertyHooks[]>()
  readonly #resources = new Map<string, ResourceHandler[]>()
  readonly #events = new Map<EventName, EventHandler<EventName>[]>()
  readonly #callbacks = new Map<string, DeclaredCallback[]>()
  readonly #appCallbacks = new Map<string, AppCallbackHandler[]>()
  readonly #dataHandlers = new Map<string, SubscriptionDataHandler[]>()
  readonly #subscriptionHandlers: SubscriptionHandler[] = []
  readonly #bots: BotHandler[] = []
  readonly #pageHandlers: PageHandler[] = []
  readonly #trustTypes: TrustType[] = []
  readonly #data = new Map<string, DataDeclaration>()
  #checksResults = false
  readonly #companions = new Map<string, CompanionKind>()
  readonly #services = new Map<string, ServiceDeclaration>()
  /** Alarms and schedules. */
  readonly background = new BackgroundDeclarations()

  constructor(kind = personKind, facts: KindFacts | null = null, roles: Roles = new Map()) {
    this.kind = kind
    this.facts = facts
    this.roles = roles
  }

  /** Adds a kind of actors, whose declarations are in a registry of their own. @throws ConfigError */
  addKind(kind: string, facts: KindFacts, roles: Roles): Registry {
    requireNewKindOfActors(kind, facts, this.#kinds.has(kind))
    if (roles.size > 0) this.#addMemberType(kind, facts)
    const added = new Registry(kind, facts, roles)
    this.#kinds.set(kind, added)
    return added
  }

  #addMemberType(kind: string, { name, description }: KindFacts): void {
    const type = { name: memberType(kind), display_name: name, description, permissions: {}, neverAutoApproved: true }
    this.addTrustType(type)
    this.#trustTypes.splice(-1, 1, { ...type, membersOf: kind })
  }

  /** The declarations for the kind of the actor. @throws ServiceError `unknown_kind` */
  of({ kind }: { readonly kind: string }): Registry {
    const found = this.find(kind)
    if (found === undefined) throw unknownKind(kind)
    return found
  }

  /** The declarations for a kind; undefined for an undeclared one. */
  find(kind: string): Registry | undefined {
    return kind === this.kind ? this : this.#kinds.get(kind)
  }

  /** The declarations of every kind, of the person first. */
  get all(): readonly Registry[] {
    return [this, ...this.#kinds.values()]
  }

  get trustTypes(): readonly TrustType[] {
    return this.#trustTypes
  }

  addTrustType(type: TrustType): void {
    requireTrustType(
      type,
      this.#trustTypes.some(({ name }) => name === type.name),
    )
    this.#trustTypes.push(type)
  }

  addCompanion(name: string, kind: CompanionKind): void {
    requireNewKind('companion', name, kind, this.#companions.has(name))
    this.#companions.set(name, kind)
  }

  get companions(): ReadonlyMap<string, CompanionKind> {
    return this.#companions
  }

  addService(name: string, declaration: ServiceDeclaration): void {
    requireNewKind('service', name, declaration, this.#services.has(name))
    this.#services.set(name, declaration)
  }

  get services(): ReadonlyMap<string, ServiceDeclaration> {
    return this.#services
  }

  addSubscriptionHandler(handler: SubscriptionHandler): void {
    requireFunction('a subscription handler', handler)
    this.#subscriptionHandlers.push(handler)
  }

  get subscriptionHandlers(): readonly SubscriptionHandler[] {
    return this.#subscriptionHandlers
  }

  addBot(handler: BotHandler): void {
    requireFunction('a bot', handler)
    this.#bots.push(handler)
  }

  get bots(): readonly BotHandler[] {
    return this.#bots
  }

  addPageHandler(handler: PageHandler): void {
    requireFunction('pages', handler)
    this.#pageHandlers.push(handler)
  }

  get pageHandlers(): readonly PageHandler[] {
    return this.#pageHandlers
  }

  addCallback(name: string, handler: CallbackHandler, { public: isPublic = false }: CallbackOptions): void {
    requireNamedHandler('callback', name, handler)
    append(this.#callbacks, name, { handler, isPublic })
  }

  addAppCallback(name: string, handler: AppCallbackHandler): void {
    requireNamedHandler('callback of the application', name, handler)
    append(this.#appCallbacks, name, handler)
  }

  addDataHandler(target: string, handler: SubscriptionDataHandler): void {
    requireNamedHandler('handler of subscription data', target, handler)
    append(this.#dataHandlers, target, handler)
  }

  addOperation(
    kind: OperationKind,
    name: string,
    metadata: ActionMetadata | MethodMetadata | null,
    handler: Handler | ExclusiveHandler,
  ): void {
    const described = this.#operations[kind].get(name)?.some((operation) => operation.metadata !== null) === true
    requireOperation(kind, name, metadata, handler, described)
    const input = declaredSchema(kind, name, 'input', metadata, inputSchema) ?? mcpInput(metadata)
    const output = declaredSchema(kind, name, 'output', metadata, outputSchema)
    const run = runnerOf(metadata, handler)
    const checked: DeclaredOperation['run'] = async (actor, call) => {
      const result = await run(actor, call)
      if (this.#checksResults && output !== null && result !== null)
        await requireResult(`${nounOf(kind)} ${JSON.stringify(name)}`, output, result)
      return result
    }
    append(this.#operations[kind], name, { name, run: output === null ? run : checked, input, output, metadata })
  }

  addPropertyHooks(name: string, hooks: PropertyHooks): void {
    requireHooks(name, hooks)
    append(this.#propertyHooks, toNfc(name), hooks)
  }

  addData(declaration: DataDeclaration): void {
    requireNewData(declaration.kind, declaration.name, this.#data.has(declaration.name))
    this.#data.set(declaration.name, declaration)
  }

  /** The declared properties and lists, by name. */
  get data(): ReadonlyMap<string, DataDeclaration> {
    return this.#data
  }

  /**
   * Loads what the schemas of the data need. Call it once before the first request.
   *
   * @param options.checksResults whether the results of handlers must fit their declared output.
   * @throws ConfigError
   */
  async prepare({ checksResults }: { readonly checksResults: boolean }): Promise<void> {
    this.#checksResults = checksResults
    // In production, the first call loads the validator of a plain JSON Schema, so that a start does not wait for it.
    for (const kind of ['methods', 'actions'] as const)
      for (const operation of [...this.#operations[kind].values()].flat())
        await requireValidSchemas(kind, operation, { loads: checksResults })
    for (const [name, declaration] of this.#data) this.#data.set(name, await prepareData(declaration))
    await this.background.prepare()
    requireRoleOperations(this.kind, this.roles, (kind, name) => this.#operations[kind].has(name))
    for (const kind of this.#kinds.values()) await kind.prepare({ checksResults })
  }

  addResource(name: string, handler: ResourceHandler): void {
    requireNamedHandler('resource', name, handler)
    append(this.#resources, name, handler)
  }

  addEventHandler<E extends EventName>(event: E, handler: EventHandler<E>): void {
    requireEvent(event, handler)
    append(this.#events, event, handler as EventHandler<EventName>)
  }

  /** Returns the handlers of the exact name, then of `*`, each in the order of declaration. */
  operations(kind: OperationKind, name: string): readonly DeclaredOperation[] {
    return named(this.#operations[kind], name)
  }

  /** The first preview that a handler of this name, or of `*`, declares for the owner's approval; null without one. */
  previewOf(kind: OperationKind, name: string): Preview | null {
    for (const { metadata } of this.operations(kind, name)) {
      const confirm = metadata?.confirm
      if (typeof confirm === 'object' && confirm.preview !== undefined) return (call) => confirm.preview?.(call) ?? ''
    }
    return null
  }

  /** Returns true when any handler of this name, or of `*`, declares `confirm: 'owner'`: any of them may run. */
  needsApproval(kind: OperationKind, name: string): boolean {
    return this.operations(kind, name).some(needsApproval)
  }

  /** Returns the first declared operation that needs the owner's approval, `*` included; undefined without any. */
  findNeedingApproval(): { readonly kind: OperationKind; readonly name: string } | undefined {
    return this.all.flatMap((registry) => registry.#needingApproval())[0]
  }

  #needingApproval(): { readonly kind: OperationKind; readonly name: string }[] {
    return (['actions', 'methods'] as const)
      .flatMap((kind) => [...this.#operations[kind].keys()].map((name) => ({ kind, name })))
      .filter(({ kind, name }) => this.needsApproval(kind, name))
  }

  /** Returns the title and description of an operation for the owner's pages. */
  wordsFor(kind: OperationKind, name: string): CallText {
    const all = this.operations(kind, name)
    const declared = all.find(({ metadata }) => metadata !== null)
    const metadata: ActionMetadata | MethodMetadata = declared?.metadata ?? {}
    const { mcp, annotations, description = '' } = metadata
    const toolTitle = typeof mcp === 'object' && 'title' in mcp ? mcp.title : undefined
    return {
      title: toolTitle ?? annotations?.title ?? name,
      description,
      isDestructive: annotations?.destructiveHint === true,
      inputSchema: declared === undefined ? null : publishedSchema(declared),
      runs: { kind, name, input: all.find(({ input }) => input !== null)?.input ?? null },
    }
  }

  callbacks(name: string): readonly DeclaredCallback[] {
    return named(this.#callbacks, name)
  }

  /** Returns the callbacks of exactly this name, without `*`. */
  exactCallbacks(name: string): readonly DeclaredCallback[] {
    return this.#callbacks.get(name) ?? []
  }

  get hasAppCallbacks(): boolean {
    return this.#appCallbacks.size > 0
  }

  appCallbacks(name: string): readonly AppCallbackHandler[] {
    return this.#appCallbacks.get(name) ?? []
  }

  dataHandlers(target: string): readonly SubscriptionDataHandler[] {
    return named(this.#dataHandlers, target)
  }

  resources(name: string): readonly ResourceHandler[] {
    return named(this.#resources, name)
  }

  /** Returns the names in the order of declaration, without `*`. */
  resourceNames(): readonly string[] {
    return [...this.#resources.keys()].filter((name) => name !== anyName)
  }

  propertyHooks(name: string, operation: PropertyOperation): readonly PropertyHook[] {
    if (this.#propertyHooks.size === 0) return []
    return named(this.#propertyHooks, toNfc(name)).flatMap((hooks) => hooks[operation] ?? [])
  }

  eventHandlers<E extends EventName>(event: E): readonly EventHandler<E>[] {
    return this.#events.get(event) ?? []
  }

  /** Returns all operations of a kind in the order of declaration, without `*`. */
  declared(kind: OperationKind): DeclaredOperation[] {
    return [...this.#operations[kind].values()].flat().filter(({ name }) => name !== anyName)
  }

  /** Returns the descriptors in the order of declaration, without `*`. The first handler with metadata describes its name. */
  descriptors(kind: OperationKind): Descriptor[] {
    return [...this.#operations[kind]]
      .filter(([name]) => name !== anyName)
      .map(([name, declared]) => ({
        ...describe(name, declared.find((operation) => operation.metadata !== null) ?? null),
        ...(this.needsApproval(kind, name) ? { confirm: 'owner' as const } : {}),
      }))
  }
}

/** The input by the arguments of a prompt or the variables of a URI template; null when the declaration has none. */
function mcpInput(metadata: ActionMetadata | MethodMetadata | null): Schema | null {
  const mcp = metadata?.mcp
  const schema = mcp === undefined || !isOfMethod(mcp) ? null : mcpInputSchema(mcp)
  return schema === null ? null : inputSchema(schema)
}

function runnerOf(
  metadata: ActionMetadata | MethodMetadata | null,
  handler: Handler | ExclusiveHandler,
): DeclaredOperation['run'] {
  if (metadata?.exclusive !== true) {
    return async (actor, call) => {
      try {
        return await handler({ ...call, actor })
      } catch (error) {
        throw withoutPeerError(error)
      }
    }
  }
  // The overloads of `App.action` and `App.method` give exclusive operations a handler of this type.
  const exclusive = handler as ExclusiveHandler
  return (actor, call) => actor.transaction(async (tx) => exclusive({ ...call, actor: tx }))
}

function needsApproval({ metadata }: Pick<DeclaredOperation, 'metadata'>): boolean {
  const mcp = metadata?.mcp
  return metadata?.confirm !== undefined || (typeof mcp === 'object' && 'confirm' in mcp && mcp.confirm === 'owner')
}

/** The JSON Schema that describes the input to callers. */
export function publishedSchema({ metadata, input }: DeclaredOperation): JsonSchema | null {
  return metadata?.inputSchema ?? input?.jsonSchema ?? null
}

function describe(name: string, operation: DeclaredOperation | null): Descriptor {
  const metadata = operation?.metadata ?? {}
  return {
    name,
    description: metadata.description ?? '',
    input_schema: operation === null ? null : publishedSchema(operation),
    output_schema: metadata.outputSchema ?? operation?.output?.jsonSchema ?? null,
    annotations: metadata.annotations ?? {},
  }
}

function append<K, V>(map: Map<K, V[]>, key: K, value: V): void {
  const list = map.get(key)
  if (list === undefined) map.set(key, [value])
  else list.push(value)
}

function named<V>(map: ReadonlyMap<string, readonly V[]>, name: string): readonly V[] {
  const exact = map.get(name) ?? []
  const any = name === anyName ? [] : (map.get(anyName) ?? [])
  return any.length === 0 ? exact : [...exact, ...any]
}
