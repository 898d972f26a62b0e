/** `troupe(…)`: the declarations of an application, and the service that they configure. */
import type { Actor } from './actor/actor.ts'
import type { StoredActor } from './actor/actor-store.ts'
import type { Created, NewActor } from './actor/actors.ts'
import { type AllActors, allActors } from './actor/all-actors.ts'
import type { ActorHandle, ClientsHandle } from './app/actor-handle.ts'
import type { ScheduleCall, ScheduleTiming } from './app/background/background.ts'
import type { Authenticate } from './app/embedding/authenticate.ts'
import type { HostRequest, RequestCaller, SessionsApi } from './app/embedding/sessions.ts'
import { ActorDeclarations } from './app/kinds/actor-declarations.ts'
import { Kind } from './app/kinds/kind.ts'
import type { KindDeclaration, Schemas } from './app/kinds/kind-declaration.ts'
import { managingRoles, noRoles, requireRoles, type Roles } from './app/kinds/roles.ts'
import { membersOf } from './app/declared-members.ts'
import { requireMembers } from './app/known-members.ts'
import {
  requireApprovalPath,
  requireAuthenticate,
  requireConfiguredTypes,
  requireType,
} from './app/validate-declarations.ts'
import type { AppCallbackHandler, BotHandler, CompanionKind } from './app/declarations.ts'
import type { Identity } from './app/identity.ts'
import { Registry } from './app/registry.ts'
import { systemActorId } from './authorization-server/client.ts'
import { clientsHandle } from './api/clients.ts'
import { application } from './caller.ts'
import { Problems } from './config/config-error.ts'
import { featureOf } from './app-feature/define.ts'
import type { AppFeature } from './app-feature/definition.ts'
import { readConfig, type ServiceConfig } from './features/config.ts'
import type { Feature } from './features/feature.ts'
import { optionsOfFeatures } from './features/features.ts'
import { fittingFeatures } from './features/fit.ts'
import { type Environment, processEnvironment } from './config/env.ts'
import type { Config } from './config/options.ts'
import { actorClosed, ServiceError } from './errors.ts'
import { fromPlain } from './json/json.ts'
import { type Connection, toFetch } from './http/edge/fetch.ts'
import { type Listening, listen } from './http/edge/server.ts'
import { type TrustType, TrustTypes } from './permission/trust-types.ts'
import { release } from './release.ts'
import type { ServiceDeclaration } from './app/service-declaration.ts'
import { configuredServices } from './connection/configured.ts'
import { configuredProviders, defaultProviders, ownDeepLinks, type ProviderChoice } from './sign-in/configured.ts'
import { hasSignIn, ownSignInsOf } from './sign-in/create.ts'
import type { ProviderDeclaration } from './sign-in/providers/settings.ts'
import { requireDeclarable } from './property/declared-data.ts'
import { createService, type Service, type ServiceOptions } from './service.ts'
import type { ConsoleOptions } from './pages/languages/language.ts'
import type { OwnPages } from './features/pages.ts'

/** The options of `troupe(…)`: the identity of the application, its pages and sign-in, and every setting. @public */
export interface TroupeOptions extends Partial<ServiceConfig>, Partial<Omit<Identity, 'type'>> {
  /** A URN or URL that names the kind of actor, such as `urn:actingweb:example.com:notes`. */
  readonly type: string
  /** Application-defined pages that replace built-in pages. @experimental */
  readonly pages?: OwnPages
  /** The languages of the pages, their messages, and the noun for an actor. @experimental */
  readonly console?: ConsoleOptions
  /** Identity providers: `[google({ … }), openid({ … })]`. `TROUPE_PROVIDERS` may add more. */
  readonly signIn?: readonly ProviderDeclaration[]
  /**
   * Names the user who is signed in at the program that embeds the service, by the request of the browser. The verified
   * address selects or creates the actor of the user.
   */
  readonly authenticate?: Authenticate
  /** Features beside those of the service, which `defineFeature` of `troupe/feature` made. @experimental */
  readonly features?: readonly AppFeature[]
  /** The environment variables to read settings from; `{}` reads none. Default: the environment of the process. */
  readonly env?: Environment
}

/** The result of `app.actors.create`. @public */
export interface CreatedActor {
  readonly actor: ActorHandle
  readonly passphrase: string
  /** False when creators are unique and the request proved to be by the owner of the existing actor. */
  readonly isNew: boolean
}

/**
 * Access to actors from application code. It needs no rights, and property hooks see the caller `application`.
 *
 * @public
 */
export interface ActorsApi {
  /** @throws ServiceError `creator_exists`, `conflict`, `invalid_value` */
  create(actor?: NewActor): Promise<CreatedActor>
  get(id: string): Promise<ActorHandle | undefined>
  /** Finds an actor by the value of an indexed property. */
  findBy(name: string, value: string): Promise<ActorHandle | undefined>
  /**
   * Finds the actor of a verified creator, or else the oldest one under this name. With `proven`, finds only the actor of the
   * verified creator: where anyone may create actors, an actor under a name may belong to a stranger.
   */
  findByCreator(creator: string, options?: { readonly proven?: boolean }): Promise<ActorHandle | undefined>
  /**
   * Yields each actor once, the oldest first: `for await (const actor of app.actors.all())`. Actors that are created
   * meanwhile are left out, and so are suspended actors, those that move or are replaced, and those of a kind that the
   * application does not declare. An actor may be deleted after it was read; its handle then throws `actor_not_found`.
   *
   * @throws ServiceError `bad_request` for a `pageSize` outside 1 to 1000 (default: 100), or an invalid date.
   */
  all(which?: AllActors): AsyncGenerator<ActorHandle, void>
  /** Deletes the actor without an event. Returns true when the actor existed. */
  delete(id: string): Promise<boolean>
}

/** The default export of `seed.ts`, which `troupe actors seed` runs to create actors and their data. @public */
export type Seed = (given: { readonly app: App; readonly actors: ActorsApi }) => Promise<void> | void

/** Access to OAuth clients that registered themselves and belong to no actor. @public */
export type ClientsApi = Pick<ClientsHandle, 'get' | 'delete' | 'stats'>

/** The dependencies that a test may replace before the service starts. @internal */
export type Replaceable = Pick<
  ServiceOptions,
  | 'log'
  | 'inMemory'
  | 'now'
  | 'timers'
  | 'random'
  | 'maxDirectSubscriptions'
  | 'bearerKinds'
  | 'features'
  | 'relationshipRules'
  | 'changeSink'
  | 'databaseWaitMs'
  | 'peerClient'
  | 'fileBytes'
  | 'onQuery'
  | 'openFile'
  | 'wrapStore'
  | 'providers'
>

/** An application: its declarations, and the service that runs them. @public */
export class App extends ActorDeclarations {
  readonly #options: TroupeOptions
  readonly #replaced: Replaceable
  /**
   * The features of the service and of the application, for commands.
   *
   * @internal
   */
  readonly features: readonly Feature[]
  #service: Promise<Service> | undefined
  readonly #servers: Listening[] = []

  /** @throws ConfigError when the options have no type, or a feature does not fit. */
  constructor(options: TroupeOptions)
  /** @internal */
  constructor(options: TroupeOptions, replaced: Replaceable)
  constructor(options: TroupeOptions, replaced: Replaceable = {}) {
    super(new Registry())
    requireType(options.type)
    this.#options = options
    this.#replaced = replaced
    this.features = featuresOf(options, replaced)
  }

  // Declarations of the whole application

  /**
   * Declares a kind of actors beside the person: `const club = app.kind('club', { name: 'Sports club' })`. The result has the
   * same declarations as `app`, for the actors of the kind alone, and creates them.
   *
   * @experimental
   */
  kind<
    const Lists extends Schemas = Schemas,
    const Properties extends Schemas = Schemas,
    const Role extends string = string,
  >(kind: string, declaration: KindDeclaration<Lists, Properties, Role>): Kind<Lists, Properties, Role> {
    requireMembers(`Cannot declare the kind ${JSON.stringify(kind)}:`, membersOf.kind, declaration)
    const { name: kindName, type, description = '' } = declaration
    const roles: Roles = declaration.roles === undefined ? new Map() : requireRoles(kind, declaration.roles)
    const registry = this.registry.addKind(kind, { name: kindName, type, description }, roles)
    return new Kind(registry, declaration, async ({ name, by, ...given }) => {
      const [first] = managingRoles(roles)
      if (by !== undefined && first === undefined) throw noRoles(kind)
      const { parts, handleOf } = await this.running()
      const prepareData =
        name === undefined
          ? undefined
          : (actor: Actor) => parts.values.prepareFirst({ actor, caller: application }, 'displayname', fromPlain(name))
      const { actor } = await parts.actors.create({ ...given, kind, prepareData })
      const group = handleOf(actor)
      if (by === undefined || first === undefined) return group
      try {
        const { url } = await group.members.invite(first)
        await by.trust.request(url)
        return group
      } catch (error) {
        await parts.actors.delete(actor.id)
        throw error
      }
    })
  }

  /** Declares a callback of the whole application: everyone may call it at `/callbacks/<name>`. */
  appCallback(name: string, handler: AppCallbackHandler): this {
    this.registry.addAppCallback(name, handler)
    return this
  }

  /**
   * Declares work that the application repeats: `app.schedule('tidy', { every: '1h' }, …)`. Each occurrence runs in one
   * process. It runs again after a failure, and when the process is killed. Occurrences that were missed run once.
   */
  schedule(name: string, timing: ScheduleTiming, handler: (call: ScheduleCall<ActorsApi>) => unknown): this {
    const run = (call: Omit<ScheduleCall<never>, 'actors'>): unknown => handler({ ...call, actors: this.actors })
    this.registry.background.addSchedule(name, timing, handler, run)
    return this
  }

  /** Declares a trust type with its rules. A built-in name replaces the built-in trust type. */
  trustType(type: TrustType): this {
    this.registry.addTrustType(type)
    return this
  }

  /** Declares a kind of companion for `actor.trust.companion(name)`. The kind `myself` always exists. @experimental */
  companion(name: string, kind: CompanionKind): this {
    this.registry.addCompanion(name, kind)
    return this
  }

  /**
   * Declares a third-party service that owners can connect: `app.service('dropbox', { authorizationUrl, tokenUrl,
   * clientId, clientSecret, scopes })`. The environment may set fields (`TROUPE_SERVICE_DROPBOX_CLIENT_SECRET`).
   *
   * @experimental
   */
  service(name: string, declaration: ServiceDeclaration): this {
    this.registry.addService(name, declaration)
    return this
  }

  /** Handles the messages to `POST /bot`, which needs `TROUPE_BOT_TOKEN`. @experimental */
  bot(handler: BotHandler): this {
    this.registry.addBot(handler)
    return this
  }

  // Running

  /**
   * A web-standard handler for Hono, Next and every runtime that accepts one. Pass the client's address where the server
   * knows it, so that rate limits can distinguish clients: `app.fetch(request, { remoteAddress })`.
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
    findByCreator: async (creator, { proven = false } = {}) =>
      this.#found((service) => service.parts.actors.findByCreator(creator, proven)),
    all: (which) => this.#all(which),
    delete: async (id) => (await this.running()).parts.actors.delete(id),
  }

  /** The sessions of owners whom an embedding program has signed in itself. */
  readonly sessions: SessionsApi = {
    begin: async (actor, given) => (await this.running()).parts.embedding.sessions.begin(actor, given),
    end: async (request) => (await this.running()).parts.embedding.sessions.end(request),
    endAll: async (actor) => (await this.running()).parts.embedding.sessions.endAll(actor),
  }

  /**
   * Returns the caller of a request to a route of an embedding program, by the session or access token of the request;
   * undefined without a valid one. Check `kind`: only `creator` is the owner of the actor. A cookie does not count in a
   * request that changes something and comes from another site.
   *
   * @throws ServiceError `store_unavailable`
   */
  async callerOf(request: HostRequest): Promise<RequestCaller | undefined> {
    return (await this.running()).parts.embedding.callerOf(request)
  }

  readonly clients: ClientsApi = {
    get: async (clientId) => (await this.#registeredClients()).get(clientId),
    delete: async (clientId) => (await this.#registeredClients()).delete(clientId),
    stats: async () => (await this.#registeredClients()).stats(),
  }

  async *#all(which: AllActors = {}): AsyncGenerator<ActorHandle, void> {
    const { parts, store, handleOf } = await this.running()
    for await (const actor of allActors({ store, now: parts.now }, which))
      if (actor.residence === 'here' && this.registry.find(actor.kind) !== undefined) yield handleOf(actor)
  }

  async #registeredClients(): Promise<ClientsApi> {
    return clientsHandle((await this.running()).parts.clients, systemActorId)
  }

  /** @throws ServiceError `unavailable` while an archive replaces the content of the actor, `actor_suspended`. */
  async #found(find: (service: Service) => Promise<StoredActor | null>): Promise<ActorHandle | undefined> {
    const service = await this.running()
    const actor = await find(service)
    if (actor?.residence === 'replacing') throw actorClosed()
    if (actor?.residence === 'suspended') throw new ServiceError('actor_suspended')
    return actor === null ? undefined : service.handleOf(actor)
  }

  /**
   * Opens the store and creates the service. The first request does the same. The next call retries a failed start.
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
   * The settings and the declared data, for commands that start no service.
   *
   * @throws ConfigError
   * @internal
   */
  async declared(): Promise<{ readonly config: Config; readonly registry: Registry }> {
    const problems = new Problems()
    const config = this.#config(problems)
    problems.requireNone()
    this.registry.all.forEach(({ data }) => requireDeclarable(data))
    await this.registry.prepare({ checksResults: false })
    return { config, registry: this.registry }
  }

  /**
   * Starts the service with other settings and dependencies, until `close`.
   *
   * @throws Error when the application runs already; ConfigError
   * @internal
   */
  async startWith(settings: Partial<TroupeOptions>, replaced: Replaceable): Promise<Service> {
    if (this.#service !== undefined) throw new Error('Cannot start the application for a test: it runs already')
    this.#service = this.#create(null, { ...this.#options, ...settings }, { ...this.#replaced, ...replaced })
    try {
      return await this.#service
    } catch (error) {
      this.#service = undefined
      throw error
    }
  }

  /**
   * Starts an HTTP server on the configured host and port.
   *
   * @throws ConfigError, StoreStartError, ListenError: one sentence for the operator.
   */
  async listen(): Promise<Listening> {
    const problems = new Problems()
    const config = this.#config(problems)
    // The start names all problems, also those that this one does not.
    if (problems.any) await this.#create(null)
    // Listen first: port 0 gets its number here, and a port in use fails before the store is opened.
    const address = await listen(config)
    try {
      // A database that starts beside the service may come later. In development, a wrong address is more likely.
      const databaseWaitMs = config.mode === 'production' ? 60_000 : 0
      this.#service ??= this.#create(address.url, this.#options, { databaseWaitMs, ...this.#replaced })
      const service = await this.#service
      const server = address.serve(service)
      service.parts.heartbeat.wake()
      this.#servers.push(server)
      return { url: server.url, stop: () => this.close() }
    } catch (error) {
      this.#service = undefined
      address.close()
      throw error
    }
  }

  /** Stops the servers of `listen`, then background work, then closes the store. */
  async close(): Promise<void> {
    const service = this.#service
    this.#service = undefined
    const servers = this.#servers.splice(0)
    if (servers.length === 0) await (await service)?.close()
    else await Promise.all(servers.map((server) => server.stop()))
  }

  #config(problems: Problems, options = this.#options): Config {
    const {
      type: _type,
      name: _name,
      version: _version,
      description: _description,
      info: _info,
      specification: _spec,
      pages: _pages,
      console: _console,
      signIn: _signIn,
      authenticate: _authenticate,
      features: _features,
      env,
      ...config
    } = options
    return readConfig(config, env ?? processEnvironment(), problems, optionsOfFeatures(this.features))
  }

  async #create(
    listeningAt: string | null,
    options = this.#options,
    replaced: Replaceable = this.#replaced,
  ): Promise<Service> {
    const problems = new Problems()
    const config = this.#config(problems, options)
    const {
      type,
      name = 'troupe',
      version = release,
      description = '',
      info = '',
      specification = '',
      pages,
      console,
      signIn,
      authenticate,
      env = processEnvironment(),
    } = options
    this.registry.all.forEach(({ data }) => requireDeclarable(data))
    problems.collect(() => requireConfiguredTypes(config, new TrustTypes(this.registry.trustTypes)), undefined)
    const baseUrl = (config.baseUrl ?? listeningAt ?? `http://localhost:${config.port}`).replace(/(?<!\/)\/+$/, '')
    const chosen = { signIn, authenticate, env, config, baseUrl }
    const { plans, deepLinks } = this.#signIn(chosen, replaced.providers !== undefined, problems)
    const services = problems.collect(() => configuredServices(this.registry.services, env, config), new Map())
    await this.registry.prepare({ checksResults: config.mode === 'development' || replaced.inMemory === true })
    return createService({
      config,
      identity: { type, name, version, description, info, specification },
      registry: this.registry,
      problems,
      signIn: plans,
      deepLinks,
      authenticate,
      services,
      baseUrl,
      pages,
      console,
      ...replaced,
      features: featuresOf(options, replaced),
    })
  }

  /** Returns no plans when their settings have problems. */
  #signIn(
    chosen: ChosenSignIn,
    hasProviders: boolean,
    problems: Problems,
  ): { readonly plans: readonly ProviderChoice[]; readonly deepLinks: ReadonlyMap<string, string> } {
    const { signIn, authenticate, env, config } = chosen
    const deepLinks = new Map<string, string>()
    const plans = problems.collect(() => providerChoices(chosen), null)
    problems.collect(() => requireAuthenticate(authenticate, plans ?? []), undefined)
    // Without usable providers, how people sign in is not known.
    if (plans === null) return { plans: [], deepLinks }
    const declared = { plans, authenticate: authenticate ?? null }
    const signsIn = hasProviders || hasSignIn(config, declared)
    problems.collect(() => requireApprovalPath(this.registry.findNeedingApproval(), config, signsIn), undefined)
    const rules = { ...config, offered: ownSignInsOf(config, declared) }
    return { plans, deepLinks: problems.collect(() => ownDeepLinks(signIn ?? [], env, rules), deepLinks) }
  }
}

/** The features of the service and of the application. @throws ConfigError */
function featuresOf({ features = [] }: TroupeOptions, { features: others }: Replaceable): readonly Feature[] {
  return fittingFeatures(features.map(featureOf), others)
}

interface ChosenSignIn {
  readonly signIn: TroupeOptions['signIn'] | undefined
  readonly authenticate: TroupeOptions['authenticate'] | undefined
  readonly env: Environment
  readonly config: Config
  readonly baseUrl: string
}

function providerChoices({ signIn, authenticate, env, config, baseUrl }: ChosenSignIn): readonly ProviderChoice[] {
  const configured = configuredProviders(signIn ?? [], env, config)
  const isConfigured = configured.length > 0 || authenticate !== undefined
  return isConfigured ? configured : defaultProviders(signIn, env, { ...config, baseUrl })
}

function created({ actor, passphrase, isNew }: Created, handleOf: Service['handleOf']): CreatedActor {
  return { actor: handleOf(actor), passphrase, isNew }
}

/** Creates an application. Declare its methods, actions and hooks on the result, then serve it. @public */
export function troupe(options: TroupeOptions): App {
  return new App(options)
}
