/** Runs a service in this process on a new database, and records its log, statements and changes. */
import { hash } from 'node:crypto'
import { rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, after, beforeEach } from 'node:test'
import { App, type TroupeOptions } from '../../src/troupe.ts'
import { isInBackground } from '../../src/observe/context.ts'
import { createLog } from '../../src/observe/log.ts'
import type { Timers } from '../../src/timers.ts'
import type { Change, ChangeSink } from '../../src/property/change.ts'
import type { BearerKind } from '../../src/auth/authenticate.ts'
import type { Caller } from '../../src/caller.ts'
import type { Feature } from '../../src/features/feature.ts'
import type { PeerClient } from '../../src/peer/peer-client.ts'
import type { RelationshipRules } from '../../src/permission/permission.ts'
import type { Dialect } from '../../src/store/portable.ts'
import type { Store } from '../../src/store/store.ts'
import { asSharded, createTestDatabase, forEachStore, type LentDatabase, type TestDatabase } from './stores.ts'

export interface StartOptions extends Partial<TroupeOptions> {
  /** Declares the application. */
  readonly declare?: (app: App) => void
  /** Listens on a free port. Default: the service answers only in this process. */
  readonly listen?: boolean
  readonly now?: () => number
  readonly timers?: Timers
  readonly maxDirectSubscriptions?: number
  readonly random?: () => number
  readonly wrapStore?: (store: Store) => Store
  /** Runs in the transaction of each write, before its changes are recorded here. */
  readonly changeSink?: ChangeSink
  readonly bearerKinds?: readonly BearerKind[]
  readonly relationshipRules?: RelationshipRules
  readonly peerClient?: PeerClient
  /** Replaces the features of the service. */
  readonly builtIn?: readonly Feature[]
}

export interface RecordedChange extends Change {
  readonly actorId: string
  readonly by: Caller
}

export interface TestService {
  readonly app: App
  readonly databaseUrl: string
  /** The base URL: `http://…` with the port when the service listens, else `http://troupe.test`. */
  readonly url: string
  /** Sends a request to a path of the service. Redirects are not followed. */
  request(path: string, init?: RequestInit): Promise<Response>
  createActor(creator?: string): Promise<TestActor>
  /** Statements of requests and of direct calls since the last `reset`. */
  readonly statements: string[]
  /** Statements of background work, such as deliveries, housekeeping and notes of the last use, since the last `reset`. */
  readonly backgroundStatements: string[]
  readonly changes: RecordedChange[]
  /** Every log line. The default level is `trace`. */
  readonly log: string[]
  reset(): void
  /** Resolves when no call to a peer runs in the background. */
  settled(): Promise<void>
  close(): Promise<void>
}

export interface TestActor {
  readonly id: string
  readonly creator: string
  readonly passphrase: string
  /** `Basic …` of the creator. */
  readonly authorization: string
  /** Sends a request as the creator to a path below the actor. A body that is neither a string nor bytes is sent as JSON. */
  request(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Response>
}

/** Declares the same tests for both stores. Every service that a test starts stops with the test. */
export function forEachService(
  declare: (start: (options?: StartOptions) => Promise<TestService>, dialect: Dialect) => void,
): void {
  forEachStore(
    (dialect, _open, _database, lend, isSharded) => {
      const start = starter(lend)
      const sharded = (options: StartOptions = {}): Promise<TestService> =>
        start({ ...options, wrapStore: (store) => asSharded(options.wrapStore?.(store) ?? store) })
      declare(isSharded ? sharded : start, dialect)
    },
    { withSharded: true },
  )
}

/** Runs services on SQLite only, for tests whose result does not depend on the store. */
export function sqliteService(): (options?: StartOptions) => Promise<TestService> {
  const databases: TestDatabase[] = []
  const start = starter(async () => {
    const database = await createTestDatabase('sqlite')
    databases.push(database)
    return { url: database.url, giveBack() {} }
  })
  after(async () => {
    for (const database of databases) await database.remove()
  })
  return start
}

function starter(lend: () => Promise<LentDatabase>): (options?: StartOptions) => Promise<TestService> {
  const ofTest: (() => Promise<void>)[] = []
  const ofGroup: (() => Promise<void>)[] = []
  let current = ofGroup
  beforeEach(() => {
    current = ofTest
  })
  const stop = async (ends: (() => Promise<void>)[]): Promise<void> => {
    for (const end of ends.splice(0)) await end()
  }
  afterEach(async () => {
    current = ofGroup
    await stop(ofTest)
  })
  after(() => stop(ofGroup))
  return async (options = {}) => {
    const database = options.database === undefined ? await lend() : null
    const service = await startService(options.database ?? database?.url ?? '', options)
    // A service started in `before` serves all tests of its group.
    current.push(async () => {
      await service.close()
      if (database === null) return
      rmSync(filesOf(database.url), { recursive: true, force: true })
      database.giveBack()
    })
    return service
  }
}

export const testKeys = 'k1:mJ4bWw0r9cPq7fTzXoLk2sVdYhNe5uGiAt8RxQyBj3E'

/** Starts a service. `options.database` names a database that another service of the test already uses. */
export async function startService(databaseUrl: string, options: StartOptions = {}): Promise<TestService> {
  const {
    declare,
    listen = false,
    now,
    wrapStore,
    changeSink,
    bearerKinds,
    relationshipRules,
    peerClient,
    timers,
    random,
    maxDirectSubscriptions,
    builtIn,
    ...appOptions
  } = options
  const statements: string[] = []
  const backgroundStatements: string[] = []
  const changes: RecordedChange[] = []
  const log: string[] = []
  const app = new App(
    {
      type: 'urn:actingweb:example.com:test',
      name: 'test',
      mode: 'development',
      database: databaseUrl,
      secretKeys: testKeys,
      host: '127.0.0.1',
      port: 0,
      env: {},
      // Tests of sign-in configure their own provider.
      localSignIn: false,
      devMail: false,
      // A process may be paused for seconds. Tests of this limit set their own.
      storeTimeoutSeconds: 60,
      // Rate limits add statements, and all tests have one address. Tests of rate limits turn them on.
      rateLimits: { '*': null },
      // Audit log entries, which are written in the background, would disturb comparisons of the store.
      activityPerActor: 0,
      // Services on one PostgreSQL database share its files. SQLite has them next to its file.
      ...(databaseUrl.startsWith('sqlite:') ? {} : { files: filesOf(databaseUrl) }),
      ...(listen ? {} : { baseUrl: 'http://troupe.test' }),
      ...appOptions,
    },
    {
      log: createLog(appOptions.logLevel ?? 'trace', { write: (line: string) => void log.push(line) }),
      onQuery: (sql) => void (isInBackground() ? backgroundStatements : statements).push(sql),
      changeSink: async (tx, actor, made, by) => {
        await changeSink?.(tx, actor, made, by)
        changes.push(...made.map((change) => ({ ...change, actorId: actor.id, by })))
      },
      ...(now === undefined ? {} : { now }),
      ...(wrapStore === undefined ? {} : { wrapStore }),
      ...(bearerKinds === undefined ? {} : { bearerKinds }),
      ...(relationshipRules === undefined ? {} : { relationshipRules }),
      ...(peerClient === undefined ? {} : { peerClient }),
      ...(timers === undefined ? {} : { timers }),
      ...(builtIn === undefined ? {} : { features: builtIn }),
      ...(random === undefined ? {} : { random }),
      ...(maxDirectSubscriptions === undefined ? {} : { maxDirectSubscriptions }),
    },
  )
  declare?.(app)
  const listening = listen ? await app.listen() : null
  if (listening === null) await app.start()
  const base = appOptions.baseUrl ?? listening?.url ?? 'http://troupe.test'
  const request = async (path: string, init: RequestInit = {}): Promise<Response> => {
    const target = `${base}${path}`
    return listening === null
      ? app.fetch(new Request(target, { redirect: 'manual', ...init }))
      : fetch(target, { redirect: 'manual', ...init })
  }
  const service: TestService = {
    app,
    databaseUrl,
    url: base,
    request,
    createActor: async (creator = 'creator@example.com') => createTestActor(request, creator),
    statements,
    backgroundStatements,
    changes,
    log,
    reset() {
      for (const list of [statements, backgroundStatements, changes, log]) list.length = 0
    },
    settled: async () => (await app.running()).settled(),
    close: async () => (listening === null ? app.close() : listening.stop()),
  }
  return service
}

async function createTestActor(request: TestService['request'], creator: string): Promise<TestActor> {
  const answer = await request('/', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ creator }),
  })
  if (answer.status !== 201) throw new Error(`Cannot create an actor: ${answer.status} ${await answer.text()}`)
  const created = (await answer.json()) as { id: string; creator: string; passphrase: string }
  const authorization = basic(created.creator, created.passphrase)
  return {
    ...created,
    authorization,
    request: async (method, path, body, headers = {}) =>
      request(`/${created.id}${path}`, {
        method,
        headers: {
          authorization,
          ...(body === undefined || isRaw(body) ? {} : { 'content-type': 'application/json' }),
          ...headers,
        },
        ...(body === undefined ? {} : { body: isRaw(body) ? body : JSON.stringify(body) }),
      }),
  }
}

/** The folder for the files of a PostgreSQL database. It is created when a test stores a file. */
function filesOf(databaseUrl: string): string {
  return join(tmpdir(), `troupe-test-files-${process.pid}`, hash('sha256', databaseUrl).slice(0, 16))
}

process.once('exit', () => rmSync(join(tmpdir(), `troupe-test-files-${process.pid}`), { recursive: true, force: true }))

function isRaw(body: unknown): body is string | Uint8Array<ArrayBuffer> {
  return typeof body === 'string' || body instanceof Uint8Array
}

/** The challenges of a 401 at an address of an actor: for people and peers, and for programs. */
export function challengeAt(actorId: string, host = 'troupe.test'): string {
  const metadata = `http://${host}/.well-known/oauth-protected-resource/${actorId}`
  return `Basic realm="${host}", charset="UTF-8", Bearer resource_metadata="${metadata}", scope="actor"`
}

export function basic(user: string, password: string): string {
  return `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`
}
