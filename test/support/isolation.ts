/** The callers of a service with two actors, and what none of them may see or change. */
import assert from 'node:assert/strict'
import type { Route } from '../../src/http/dispatch/route.ts'
import type { Operation } from '../../src/permission/operation.ts'
import { everything, TestCallers } from './callers.ts'
import { FakePeers, stoppedTimers } from './fake-peers.ts'
import { declareAll, furnish, isBelowActor, planted, requestOf, routes } from './routes.ts'
import { basic, challengeAt, type StartOptions, type TestActor, type TestService } from './service.ts'
import { type Dump, rowsOf, StoreDumps } from './store-dump.ts'

export interface World {
  readonly service: TestService
  readonly callers: TestCallers
  /** Names of the application’s handlers that ran. */
  readonly done: string[]
  readonly victim: TestActor
  /** Another actor of the same service, whose credentials are valid only for itself. */
  readonly stranger: TestActor
}

export type Headers = Record<string, string>
export type Kind = (world: World, actor: TestActor) => Headers

export const bearer = (token: string): Headers => ({ authorization: `Bearer ${token}` })
export const cookie = (token: string): Headers => ({ cookie: `oauth_token=${token}` })

/** Callers without valid credentials for the actor, and the status that every route for callers gives them. */
export const strangers: Readonly<Record<string, readonly [status: number, headers: Kind]>> = {
  'no credentials, as a program': [401, () => ({})],
  'no credentials, as a program that wants JSON': [401, () => ({ accept: 'application/json' })],
  'no credentials, with an empty cookie': [401, () => cookie('')],
  'no credentials, as a browser': [401, () => ({ accept: 'text/html,application/xhtml+xml' })],
  'a header without a value': [401, () => ({ authorization: 'Basic' })],
  'an empty header': [401, () => ({ authorization: '' })],
  'a bearer without a token': [401, () => ({ authorization: 'Bearer ' })],
  'two tokens in one header': [401, ({ callers }, actor) => bearer(`${callers.session(actor.id)} more`)],
  'an unknown scheme': [401, (_, actor) => ({ authorization: actor.authorization.replace('Basic', 'Digest') })],
  'Basic that is not base64': [401, () => ({ authorization: 'Basic !!!!' })],
  'Basic without a colon': [401, () => ({ authorization: `Basic ${Buffer.from('creator').toString('base64')}` })],
  'a malformed header beside a valid cookie': [
    401,
    ({ callers }, actor) => ({ authorization: 'Basic', ...cookie(callers.session(actor.id)) }),
  ],
  'a wrong passphrase': [403, (_, actor) => ({ authorization: basic(actor.creator, 'a-wrong-passphrase') })],
  'an empty passphrase': [403, (_, actor) => ({ authorization: basic(actor.creator, '') })],
  'half the passphrase': [403, (_, actor) => ({ authorization: basic(actor.creator, actor.passphrase.slice(0, 20)) })],
  'a wrong passphrase beside a valid cookie': [
    403,
    ({ callers }, actor) => ({ authorization: basic(actor.creator, 'wrong'), ...cookie(callers.session(actor.id)) }),
  ],
  'an unknown creator': [403, (_, actor) => ({ authorization: basic('unknown@example.com', actor.passphrase) })],
  'the creator of another actor': [403, ({ stranger }) => ({ authorization: stranger.authorization })],
  'the passphrase of another actor': [
    403,
    ({ stranger }, actor) => ({ authorization: basic(actor.creator, stranger.passphrase) }),
  ],
  'the passphrase as a bearer': [403, (_, actor) => bearer(actor.passphrase)],
  'an unknown bearer': [403, () => bearer('token-that-does-not-exist')],
  'an unknown cookie': [403, () => cookie('token-that-does-not-exist')],
  'a session of another actor': [403, ({ callers, stranger }) => bearer(callers.session(stranger.id))],
  'a session cookie of another actor': [403, ({ callers, stranger }) => cookie(callers.session(stranger.id))],
  'a peer of another actor': [
    403,
    ({ callers, stranger }) => bearer(callers.peer(stranger.id, { relationship: 'admin', grants: everything })),
  ],
  'a peer that is not approved': [
    403,
    ({ callers }, actor) => bearer(callers.peer(actor.id, { approved: false, grants: everything })),
  ],
  'an admin that is not approved': [
    403,
    ({ callers }, actor) =>
      bearer(callers.peer(actor.id, { approved: false, relationship: 'admin', grants: everything })),
  ],
  'a peer without an identity': [
    403,
    ({ callers }, actor) =>
      bearer(callers.as(actor.id, (via) => ({ kind: 'peer', peerId: '', relationship: 'admin', approved: true, via }))),
  ],
  'a client without an identity': [
    403,
    ({ callers }, actor) =>
      bearer(callers.as(actor.id, (via) => ({ kind: 'client', clientId: '', peerId: '', relationship: 'admin', via }))),
  ],
}

/** Callers with a relationship to the actor but without the right. */
export const related: Readonly<Record<string, Kind>> = {
  'a friend without any right': ({ callers }, actor) => bearer(callers.peer(actor.id)),
  'a friend with a right on something else': ({ callers }, actor) =>
    bearer(callers.peer(actor.id, { grants: elsewhere })),
  'a friend whose session is a cookie': ({ callers }, actor) => cookie(callers.peer(actor.id)),
  'a partner without any right': ({ callers }, actor) => bearer(callers.peer(actor.id, { relationship: 'partner' })),
  'a client without any right': ({ callers }, actor) => bearer(callers.client(actor.id)),
  'a client with a right on something else': ({ callers }, actor) =>
    bearer(callers.client(actor.id, { grants: elsewhere })),
}

function elsewhere({ target }: Operation): boolean {
  return target === 'elsewhere'
}

/** Empty lists for callers with rights in the category but none on its names. */
export const emptyListings: Readonly<Record<string, string>> = {
  listProperties: '{}',
  listMethods: '{"methods":[]}',
  listActions: '{"actions":[]}',
  listFiles: '{"files":[],"next":null}',
}

/**
 * Routes that authenticate in their own way. The tests of relationships cover the first one,
 * test/stories/receiving-callbacks.test.ts and test/faults/receiving.test.ts cover the others.
 */
const forAskers = [
  'receiveTrust',
  'postSubscriptionCallback',
  'putSubscriptionCallback',
  'getCallback',
  'postCallback',
  'putCallback',
  'deleteCallback',
]
/** Pages accept only sessions: test/stories/pages-access.test.ts checks every caller for each page. */
export const forCallers = routes.filter(
  (route) => isBelowActor(route) && !['public', 'www'].includes(route.access) && !forAskers.includes(route.id),
)
/** The sign-out answers a browser with a cookie differently from a program: test/stories/sessions.test.ts. */
const forSessions = ['askLogout', 'logout']
export const forEverybody = routes.filter(
  (route) => (!isBelowActor(route) || route.access === 'public') && !forSessions.includes(route.id),
)

/** Returns the permission category of a route. */
export function areaOf(route: Route): string {
  return route.access === 'open' ? (route.category ?? 'none') : route.access
}

export async function ask(world: World, route: Route, actor: TestActor, headers: Headers): Promise<Response> {
  return world.service.request(...requestOf(route, actor.id, headers))
}

/** Returns headers and body as one string to search. */
export async function textOf(response: Response): Promise<string> {
  return JSON.stringify([...response.headers]) + (await response.text())
}

/** The root of an actor redirects browsers to the sign-in page, even without a provider. */
export function statusFor(who: string, route: Route, status: number): number {
  return who === 'no credentials, as a browser' && route.id === 'getActor' ? 302 : status
}

/** A browser asks for the creator and the passphrase, so it gets no challenge for programs. */
export function challengeTo(who: string, { id }: TestActor): string {
  return who === 'no credentials, as a browser' ? 'Basic realm="troupe.test", charset="UTF-8"' : challengeAt(id)
}

export function assertHoldsNothingOf(actor: TestActor, text: string, what: string): void {
  for (const secret of [actor.creator, actor.passphrase, ...planted]) assert.ok(!text.includes(secret), what)
}

type Start = (options?: StartOptions) => Promise<TestService>

/** Starts the service of a world before the tests of a group, and compares its store. */
export class Isolation {
  readonly dumps = new StoreDumps()
  #world: World | undefined
  #untouched: Dump = {}
  #found: Dump = {}

  get world(): World {
    if (this.#world === undefined) throw new Error('The service has not started yet')
    return this.#world
  }

  async begin(start: Start): Promise<World> {
    const callers = new TestCallers()
    const done: string[] = []
    const service = await start({
      ...callers.parts,
      peerClient: new FakePeers(),
      timers: stoppedTimers,
      wrapStore: this.dumps.wrap,
      // Profiles are fetched in the background, which would change the store between two dumps.
      peerProfileAttributes: [],
      declare: (app) => declareAll(app, done),
    })
    const victim = await service.createActor('victim@example.com')
    const stranger = await service.createActor('stranger@example.com')
    await furnish(victim)
    await furnish(stranger)
    this.#world = { service, callers, done, victim, stranger }
    this.#untouched = await this.store()
    this.#found = this.#untouched
    return this.#world
  }

  async store(): Promise<Dump> {
    const running = await this.world.service.app.running()
    // A sharded database deletes the rows of removed lists behind the response.
    if (running.store.isSharded) await running.parts.removedLists.settled()
    return this.dumps.dump()
  }

  async freshActor(): Promise<TestActor> {
    const actor = await this.world.service.createActor('fresh@example.com')
    await furnish(actor)
    return actor
  }

  async assertUntouched(what: string): Promise<void> {
    const { victim, done } = this.world
    const now = await this.store()
    if (now !== this.#found) assert.deepEqual(rowsOf(now, victim.id), rowsOf(this.#untouched, victim.id), what)
    this.#found = now
    assert.deepEqual(done, [], what)
  }
}
