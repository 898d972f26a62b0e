/** A service: the runtime, its rooms, and the route table that serves them. */
import v8 from 'node:v8'
import type { ActorHandles } from './app/actor-handles.ts'
import type { BearerKind } from './auth/authenticate.ts'
import { createHttp } from './service/create-http.ts'
import { toFetch } from './http/edge/fetch.ts'
import type { Handle } from './http/edge/request.ts'
import { requireOwnRoutes } from './service/own-routes.ts'
import { requireFolder } from './http/edge/content/static-files.ts'
import { Catalogues } from './mcp/catalogue/catalogues.ts'
import { keyRingOf, openRuntime, type OpenRuntimeOptions } from './open-runtime.ts'
import type { Notices } from './outbox/notices.ts'
import { Problems } from './config/config-error.ts'
import type { ConsoleOptions } from './pages/languages/language.ts'
import { Languages } from './pages/languages/languages.ts'
import type { OwnPages } from './features/pages.ts'
import { groupsWith } from './pages/all-pages.ts'
import { pageSet } from './pages/shared/page-set.ts'
import type { Templates } from './pages/shared/templates.ts'
import { ratesOf } from './rate-limit/rates.ts'
import type { KeyRing } from './secret/key-ring.ts'
import { nameOfOperator } from './sign-in/operators/operators.ts'
import { requireUsableSignIns, unprovableOperators } from './sign-in/own/usable-sign-ins.ts'
import type { Store } from './store/store.ts'
import { connectHandles } from './api/create.ts'
import type { Feature } from './features/feature.ts'
import { handleMembersOf, schemaOfFeatures, startFeatures, tablesOfFeatures } from './features/features.ts'
import { builtInFeatures } from './features/list.ts'
import type { ChangeSink } from './property/change.ts'
import { closeRooms, createRooms, type RoomOptions, type Rooms } from './rooms.ts'

export interface ServiceOptions extends Omit<OpenRuntimeOptions, 'tables' | 'featureMigrations'>, RoomOptions {
  /** Default: the features of the service. */
  readonly features?: readonly Feature[]
  /** Receives the changes of every write inside its transaction. */
  readonly changeSink?: ChangeSink
  readonly pages?: OwnPages | undefined
  /** The words of the pages. Default: English and German. */
  readonly console?: ConsoleOptions | undefined
  /** Problems of the settings that were found before, so that the error names all of them. */
  readonly problems?: Problems
  /** Additional kinds of bearer tokens. They are tried in this order, before the kinds of the service. */
  readonly bearerKinds?: readonly BearerKind[]
}

export interface Service {
  readonly handle: Handle
  readonly parts: Rooms
  readonly store: Store
  readonly keyRing: KeyRing
  readonly notices: Notices
  readonly handleOf: ActorHandles['of']
  /** Makes `/health/ready` return 503 and ends open streams. */
  stopping(): void
  /** Resolves when no call to a peer runs in the background. Scheduled retries do not count. */
  settled(): Promise<void>
  close(): Promise<void>
}

export async function createService(options: ServiceOptions): Promise<Service> {
  const { problems = new Problems() } = options
  // A collection of garbage within a fast call from optimized code into C++ can end the process. Long strings cause it.
  v8.setFlagsFromString('--no-turbo-fast-api-calls')
  const templates = await findProblems(options, problems)
  problems.requireNone()
  const catalogues = new Catalogues(options.registry)
  await catalogues.requireLinear()
  const languages = new Languages(options.console)
  const { features = builtInFeatures, changeSink } = options
  const groups = groupsWith(features.flatMap(({ pages }) => pages ?? []))
  const pages = pageSet(options.pages ?? {}, { groups, templates, languages })
  const { runtime, keyCheck } = await openRuntime({ ...options, ...schemaOfFeatures(features) })
  const rooms = createRooms(runtime, options, catalogues, languages)
  warnOfOperators(options, rooms)
  const started = startFeatures(features, rooms)
  if (changeSink !== undefined) rooms.changeSinks.push(changeSink)
  connectHandles(runtime, rooms, handleMembersOf(started))
  let isStopping = false
  const checkStore = async (): Promise<void> => {
    await runtime.store.ping()
    await keyCheck.require()
  }
  const handle = createHttp(runtime, {
    rooms,
    routes: (deps) => started.flatMap(({ routes }) => routes(deps)),
    featureNames: started.flatMap(({ names = [] }) => names),
    featureActs: features.flatMap(({ acts }) => acts),
    pages,
    languages,
    health: { isStopping: () => isStopping, checkStore },
    bearerKinds: options.bearerKinds ?? [],
  })
  rooms.ownAddresses?.connect(toFetch(handle))
  rooms.waitingChanges.wake()
  rooms.deliveries.wake()
  rooms.gaps.wake()
  rooms.expiries.wake()
  rooms.removedLists.wake()
  rooms.unusedObjects.wake()
  rooms.jobs.wake()
  return {
    handle,
    parts: rooms,
    store: runtime.store,
    keyRing: runtime.keyRing,
    notices: rooms.notices,
    handleOf: runtime.handles.of,
    stopping: () => {
      isStopping = true
      // Streams would continue forever. Ending them lets their requests finish before the shutdown deadline.
      runtime.live.stop()
    },
    settled: () => settled(rooms),
    close: () => closeRooms(runtime, rooms),
  }
}

/** Checks the settings that need no database. Returns the templates of the pages; null without a folder. */
async function findProblems(options: ServiceOptions, problems: Problems): Promise<Templates | null> {
  const { config, registry, baseUrl, signIn: plans = [], features = builtInFeatures } = options
  const sendsMail = problems.collect(() => features.some((feature) => feature.sendsMail(options)), true)
  problems.collect(() => ratesOf(config), null)
  problems.collect(() => requireUsableSignIns({ config, plans, registry, baseUrl, sendsMail }), null)
  const facts = { ...options, tables: tablesOfFeatures(features) }
  problems.collect(() => requireOwnRoutes(features, facts), undefined)
  for (const name of config.admins) problems.collect(() => nameOfOperator(name), null)
  if (config.secretKeys !== null) await problems.collectLater(() => keyRingOf(config), null)
  const { singlePage, templates } = config
  if (singlePage !== null)
    await problems.collectLater(async () => requireFolder('TROUPE_SINGLE_PAGE', singlePage), undefined)
  return templates === null ? null : problems.collectLater(async () => loadTemplates(templates), null)
}

async function settled(rooms: Rooms): Promise<void> {
  const { expiries, gaps, facts, dataHooks, contacts, waitingChanges, jobs, deliveries, unusedObjects } = rooms
  const workers = [expiries, gaps, facts, dataHooks, contacts, waitingChanges, jobs, deliveries, unusedObjects]
  // Each worker may create work for the workers after it. A delivery to an actor of this service may create work for all.
  for (const each of [...workers, ...workers]) await each.settled()
}

function warnOfOperators({ config, providers, signIn = [] }: ServiceOptions, { host, log }: Rooms): void {
  // The program that embeds the service, a test, and the sign-in of development prove addresses themselves.
  if (host !== null || providers !== undefined || config.mode === 'development') return
  const unprovable = unprovableOperators(config.admins, signIn)
  if (unprovable !== null) log.warn(unprovable)
}

/** Loads the template engine only for applications with templates. @throws ConfigError */
async function loadTemplates(folder: string): Promise<Templates> {
  const { Templates } = await import('./pages/shared/templates.ts')
  return Templates.load(folder)
}
