/** `troupe(…)`: an application's declarations, and the service that they make. */
import type { Created, NewActor } from './actor/actors.ts'
import type { ActorHandle, ClientsHandle } from './app/actor-handle.ts'
import { requireType } from './app/validate-declarations.ts'
import type {
  AppCallbackHandler,
  BotHandler,
  CallbackHandler,
  CallbackOptions,
  CompanionKind,
  EventHandler,
  EventName,
  ActionMetadata,
  Handler,
  MethodMetadata,
  PageHandler,
  PropertyHook,
  PropertyHooks,
  ResourceHandler,
  SubscriptionDataHandler,
  SubscriptionHandler,
  TypedHandler,
} from './app/declarations.ts'
import type { Identity } from './app/identity.ts'
import { type OperationKind, Registry } from './app/registry.ts'
import type { DeclaredSchema } from './app/schema.ts'
import { systemActorId } from './authorization-server/client.ts'
import { clientsHandle } from './api/clients.ts'
import { resolveConfig } from './config/config.ts'
import { type Environment, processEnvironment } from './config/env.ts'
import type { Config } from './config/options.ts'
import { type Connection, toFetch } from './http/edge/fetch.ts'
import { type Listening, listen } from './http/edge/server.ts'
import type { TrustType } from './permission/trust-types.ts'
import { release } from './release.ts'
import type { ServiceDeclaration } from './app/service-declaration.ts'
import { configuredServices } from './connection/configured.ts'
import { configuredProviders } from './sign-in/configured.ts'
import type { ProviderDeclaration } from './sign-in/providers/settings.ts'
import { createService, type Service, type ServiceOptions } from './service.ts'
import type { OwnPages } from './pages/shared/page-set.ts'

export interface TroupeOptions extends Partial<Config>, Partial<Omit<Identity, 'type'>> {
  /** A URN or address that names the kind of actor: `urn:actingweb:example.com:notes`. */
  readonly type: string
  /** Pages of the application's own in place of the built-in ones. */
  readonly pages?: OwnPages
  /** Where people sign in: `[google({ … }), openid({ … })]`. The environment may add to them (`TROUPE_PROVIDERS`). */
  readonly signIn?: readonly ProviderDeclaration[]
  /** Where settings are read from besides the options; `{}` reads none. The process's environment unless given. */
  readonly env?: Environment
}

export interface CreatedActor {
  readonly actor: ActorHandle
  readonly passphrase: string
  /** False when creators are unique and this one proved to be the owner of the existing actor. */
  readonly isNew: boolean
}

/** Actors from inside the application: no rights are asked, and property hooks see the caller `application`. */
export interface ActorsApi {
  /** @throws ServiceError `creator_exists`, `conflict`, `invalid_value` */
  create(actor?: NewActor): Promise<CreatedActor>
  get(id: string): Promise<ActorHandle | undefined>
  /** By the value of an indexed property. */
  findBy(name: string, value: string): Promise<ActorHandle | undefined>
  findByCreator(creator: string): Promise<ActorHandle | undefined>
  /** Wipes the actor; fires no event. True when there was one. */
  delete(id: string): Promise<boolean>
}

/** Programs that registered themselves and belong to no actor. */
export type ClientsApi = Pick<ClientsHandle, 'get' | 'delete' | 'stats'>

/** What parts of the service a test or an embedding program may replace before it starts. */
export type Replaceable = Pick<
  ServiceOptions,
  | 'log'
  | 'now'
  | 'timers'
  | 'random'
  | 'bearerKinds'
  | 'relationshipRules'
  | 'changeSink'
  | 'peerClient'
  | 'onQuery'
  | 'wrapStore'
>

export class App {
  readonly #options: TroupeOptions
  readonly #replaced: Replaceable
  readonly #registry = new Registry()
  #service: Promise<Service> | undefined
  readonly #servers: Listening[] = []

  /** @throws ConfigError when the options have no type. */
  constructor(options: TroupeOptions, replaced: Replaceable = {}) {
    requireType(options.type)
    this.#options = options
    this.#replaced = replaced
  }

  // Declarations

  /** A method: called at `POST /<actor>/methods/<name>` and by JSON-RPC. `*` answers for every name. */
  method(name: string, handler: Handler): this
  method<S extends DeclaredSchema>(name: string, metadata: MethodMetadata<S>, handler: TypedHandler<S>): this
  method(name: string, ...declared: Declared): this {
    return this.#declare('methods', name, declared)
  }

  /** An action: called at `POST /<actor>/actions/<name>`. `*` answers for every name. */
  action(name: string, handler: Handler): this
  action<S extends DeclaredSchema>(name: string, metadata: ActionMetadata<S>, handler: TypedHandler<S>): this
  action(name: string, ...declared: Declared): this {
    return this.#declare('actions', name, declared)
  }

  #declare(kind: OperationKind, name: string, declared: Declared): this {
    const [metadata, handler] = declared.length === 1 ? [null, declared[0]] : declared
    this.#registry.addOperation(kind, name, metadata, handler)
    return this
  }

  /** A resource: `/<actor>/resources/<name>`. The handler gets the body with `method` set to the HTTP method. */
  resource(name: string, handler: ResourceHandler): this {
    this.#registry.addResource(name, handler)
    return this
  }

  /** Hooks for every access to a property or list; one function stands for all four operations. `*` covers every name. */
  property(name: string, hooks: PropertyHooks | PropertyHook): this {
    const all = typeof hooks === 'function' ? { get: hooks, put: hooks, post: hooks, delete: hooks } : hooks
    this.#registry.addPropertyHooks(name, all)
    return this
  }

  /**
   * A callback: called at `/<actor>/callbacks/<name>` by those whom the actor knows, or by everybody when it is public.
   * `*` answers for every name, to those whom the actor knows. `permissions` also hears what peers grant.
   */
  callback(name: string, handler: CallbackHandler, options: CallbackOptions = {}): this {
    this.#registry.addCallback(name, handler, options)
    return this
  }

  /** A callback of the whole application: called at `/callbacks/<name>` by everybody. */
  appCallback(name: string, handler: AppCallbackHandler): this {
    this.#registry.addAppCallback(name, handler)
    return this
  }

  /** What peers send to the actors' subscriptions, as it comes: only where automatic sequencing is off. */
  subscription(handler: SubscriptionHandler): this {
    this.#registry.subscriptionHandlers.push(handler)
    return this
  }

  /** What peers sent to subscriptions to `target` (`*` for all), in order and once, after it was stored. */
  subscriptionData(target: string, handler: SubscriptionDataHandler): this {
    this.#registry.addDataHandler(target, handler)
    return this
  }

  /** A lifecycle event. */
  on<E extends EventName>(event: E, handler: EventHandler<E>): this {
    this.#registry.addEventHandler(event, handler)
    return this
  }

  /** A kind of relationship, with what it grants by itself. One of a built-in name takes that one's place. */
  trustType(type: TrustType): this {
    this.#registry.addTrustType(type)
    return this
  }

  /** A kind of companion that `actor.trust.companion(name)` has made. The kind `myself` always exists. */
  companion(name: string, kind: CompanionKind): this {
    this.#registry.companions.set(name, kind)
    return this
  }

  /** Pages of the application's own: what is asked for below `/<actor>/www/` and is no page of the service. */
  www(handler: PageHandler): this {
    this.#registry.pageHandlers.push(handler)
    return this
  }

  /**
   * A third-party service at which actors may have an account: `app.service('dropbox', { authorizationUrl, tokenUrl,
   * clientId, clientSecret, scopes })`. The environment may add to it (`TROUPE_SERVICE_DROPBOX_CLIENT_SECRET`).
   */
  service(name: string, declaration: ServiceDeclaration): this {
    this.#registry.services.set(name, declaration)
    return this
  }

  /** Messages to `POST /bot`, where `TROUPE_BOT_TOKEN` is set. */
  bot(handler: BotHandler): this {
    this.#registry.bots.push(handler)
    return this
  }

  // Running

  /**
   * A web-standard handler: works as it is in Hono, Next and every runtime that takes one. Where the server knows the
   * address of the other end, hand it on, so that rate limits can tell senders apart: `app.fetch(request, { remoteAddress })`.
   */
  readonly fetch = async (request: Request, connection?: Connection): Promise<Response> => {
    const { handle } = await this.running()
    return toFetch(handle)(request, connection)
  }

  readonly actors: ActorsApi = {
    create: async (actor = {}) => {
      const { parts, handleOf } = await this.running()
      return created(await parts.actors.create(actor), handleOf)
    },
    get: async (id) => this.#found((service) => service.parts.actors.find(id)),
    findBy: async (name, value) => this.#found((service) => service.parts.actors.findBy(name, value)),
    findByCreator: async (creator) => this.#found((service) => service.parts.actors.findByCreator(creator)),
    delete: async (id) => (await this.running()).parts.actors.delete(id),
  }

  readonly clients: ClientsApi = {
    get: async (clientId) => (await this.#registeredClients()).get(clientId),
    delete: async (clientId) => (await this.#registeredClients()).delete(clientId),
    stats: async () => (await this.#registeredClients()).stats(),
  }

  async #registeredClients(): Promise<ClientsApi> {
    return clientsHandle((await this.running()).parts.clients, systemActorId)
  }

  async #found(find: (service: Service) => Promise<Created['actor'] | null>): Promise<ActorHandle | undefined> {
    const service = await this.running()
    const actor = await find(service)
    return actor === null ? undefined : service.handleOf(actor)
  }

  /**
   * Opens the store and creates the service; the first request does so unasked. A start that failed is tried again by
   * the next call.
   *
   * @throws ConfigError, StoreStartError: one sentence for the operator.
   */
  async start(): Promise<void> {
    await this.running()
  }

  /**
   * The service itself, for commands, adapters and tests.
   *
   * @internal
   */
  running(): Promise<Service> {
    this.#service ??= this.#create(null).catch((error: unknown) => {
      this.#service = undefined
      throw error
    })
    return this.#service
  }

  /**
   * Starts a server of its own on the configured host and port.
   *
   * @throws ConfigError, StoreStartError, ListenError: one sentence for the operator.
   */
  async listen(): Promise<Listening> {
    const config = this.#config()
    // The port comes first: with port 0 the address is known only now, and a taken one costs no open store.
    const address = await listen(config)
    try {
      this.#service ??= this.#create(address.url)
      const server = address.serve(await this.#service)
      this.#servers.push(server)
      return { url: server.url, stop: () => this.close() }
    } catch (error) {
      this.#service = undefined
      address.close()
      throw error
    }
  }

  /** Ends what the application started: the servers of `listen`, then background work, then the store. */
  async close(): Promise<void> {
    const service = this.#service
    this.#service = undefined
    const servers = this.#servers.splice(0)
    if (servers.length === 0) await (await service)?.close()
    else await Promise.all(servers.map((server) => server.stop()))
  }

  #config(): Config {
    const {
      type: _type,
      name: _name,
      version: _version,
      description: _description,
      info: _info,
      specification: _spec,
      pages: _pages,
      signIn: _signIn,
      env,
      ...config
    } = this.#options
    return resolveConfig(config, env ?? processEnvironment())
  }

  async #create(listeningAt: string | null): Promise<Service> {
    const config = this.#config()
    const {
      type,
      name = 'troupe',
      version = release,
      description = '',
      info = '',
      specification = '',
      pages,
      signIn = [],
      env = processEnvironment(),
    } = this.#options
    return createService({
      config,
      identity: { type, name, version, description, info, specification },
      registry: this.#registry,
      signIn: configuredProviders(signIn, env, config),
      services: configuredServices(this.#registry.services, env, config),
      baseUrl: (config.baseUrl ?? listeningAt ?? `http://localhost:${config.port}`).replace(/\/+$/, ''),
      pages,
      ...this.#replaced,
    })
  }
}

type Declared = readonly [Handler] | readonly [ActionMetadata | MethodMetadata, Handler]

function created({ actor, passphrase, isNew }: Created, handleOf: Service['handleOf']): CreatedActor {
  return { actor: handleOf(actor), passphrase, isNew }
}

/** An application: declare what it does on the result, then serve it. */
export function troupe(options: TroupeOptions): App {
  return new App(options)
}
