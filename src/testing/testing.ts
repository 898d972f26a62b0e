/** `testing(app)`: runs an application in memory, with a clock that stands still, for its tests. */
import { type Json } from '../json/json.ts'
import { TrustTypes } from '../permission/trust-types.ts'
import { generateKey } from '../secret/key-ring.ts'
import type { Service } from '../service.ts'
import type { App, TroupeOptions } from '../troupe.ts'
import type { AiClient } from './ai-client.ts'
import { authorizeClient, type ClientOptions } from './authorize-client.ts'
import { BackgroundWork } from './background-work.ts'
import { requestTo, type TestRequest } from './browser.ts'
import { type Duration, VirtualClock } from './clock.ts'
import { TestLog } from './log.ts'
import { Network, type Outside } from './network.ts'
import { TestPerson } from './person.ts'
import { TestProvider } from './test-provider.ts'

/** The settings that a test may change. The test kit itself provides the store, the addresses, the keys and the sign-in. */
export type TestSettings = Partial<
  Omit<
    TroupeOptions,
    | 'type'
    | 'database'
    | 'readReplicas'
    | 'synchronous'
    | 'workers'
    | 'secretKeys'
    | 'baseUrl'
    | 'host'
    | 'port'
    | 'signIn'
  >
>

export interface SecondOptions {
  /** Replaces settings of the application. */
  readonly settings?: TestSettings
}

/** The options of `testing`. @public */
export interface TestingOptions extends SecondOptions {
  /** The time at which the clock stands first. Default: the time of the machine. */
  readonly now?: Date | number | string
  /**
   * Answers the requests of handlers to third-party services, and calls to peers outside of the test. Default: such a call
   * fails. No call leaves the process.
   */
  readonly outside?: Outside
}

/** The clock of a test. It stands still until the test advances it. @public */
export interface TestClock {
  /** Unix milliseconds. */
  now(): number
  /**
   * Advances the clock. Timers, retries and expiries happen at their time, one after another, and each one finishes before
   * the clock continues. Resolves when everything has finished.
   *
   * @throws TypeError for an invalid duration.
   */
  advance(duration: Duration): Promise<void>
}

/** A call that waited for the owner's approval. */
export interface WaitingCall {
  /** The name of the action, method, prompt or resource. */
  readonly operation: string
  readonly arguments: Json
}

/** An application that runs in memory for a test. @public */
export interface Testing extends AsyncDisposable {
  readonly app: App
  /** The base URL of the service. Only this test reaches it. */
  readonly url: string
  /** The clock of all services of the test. */
  readonly clock: TestClock
  /** The log of all services of the test. */
  readonly log: TestLog
  /** Sends a request without a session to a path of the service. Redirects are not followed. */
  fetch(path: string, init?: TestRequest): Promise<Response>
  /**
   * Signs a person in through an identity provider that confirms the address. The first sign-in creates the actor.
   *
   * @throws RequestRefused when the application refuses the sign-in.
   */
  signIn(email: string, person?: { readonly name?: string }): Promise<TestPerson>
  /**
   * Creates a relationship: `one` requests it with this trust type, and `other` approves it. Both may then use the rights of
   * the trust type.
   *
   * @throws TypeError for a trust type that no application of the test has; Error when one of them did not approve.
   */
  befriend(one: RelatedActor, other: RelatedActor, type: string): Promise<void>
  /** Resolves when no delivery, fetch, event or audit entry is under way. Work that is due later waits for the clock. */
  settled(): Promise<void>
  /** Registers an AI client, and authorizes it as the owner on the consent page does. */
  mcp(owner: TestPerson, options?: ClientOptions): Promise<AiClient>
  /**
   * Approves the call that waits for the owner. The caller then repeats the call.
   *
   * @param operation The name, when several calls wait.
   * @throws Error when no call, or more than one, waits.
   */
  approve(owner: TestPerson, operation?: string): Promise<WaitingCall>
  /** Like `approve`, but denies the call. */
  deny(owner: TestPerson, operation?: string): Promise<WaitingCall>
  /**
   * Runs another application beside this one, with the same clock and log. Actors of both reach each other without
   * sockets. To run the same application twice, create its object twice.
   *
   * @throws Error when the application runs already; ConfigError for an invalid setting.
   */
  second(app: App, options?: SecondOptions): Promise<Testing>
  /** Stops the service, and with the first service of the test all others. Their data ends with them. */
  close(): Promise<void>
}

/** A person of the test, or any actor of its services. */
export type RelatedActor = Pick<TestPerson, 'actor'>

/**
 * Runs an application in memory: it needs no port and no file, its clock stands still, and its log prints nothing. After
 * `close`, the application can be tested again.
 *
 * @throws Error when the application runs already; ConfigError for an invalid setting.
 * @public
 */
export async function testing(
  app: App,
  { now = Date.now(), outside, settings }: TestingOptions = {},
): Promise<Testing> {
  const start = new Date(now).getTime()
  if (Number.isNaN(start)) throw new TypeError(`Cannot start the clock at ${JSON.stringify(now)}: it is not a time`)
  return new TestGroup(start, outside, settings?.logLevel).add(app, settings)
}

/** The services of one test. */
class TestGroup {
  readonly clock: VirtualClock
  readonly log: TestLog
  readonly work: BackgroundWork
  readonly network: Network
  readonly #members = new Map<App, Service>()
  #count = 0

  constructor(start: number, outside: Outside | undefined, level: TestSettings['logLevel'] = 'info') {
    this.network = new Network(outside)
    this.log = new TestLog(level)
    this.work = new BackgroundWork({
      now: () => this.clock.now(),
      services: () => [...this.#members.values()],
      calls: () => this.network.calls,
    })
    this.clock = new VirtualClock(start, this.work)
  }

  async add(app: App, settings: TestSettings = {}): Promise<Testing> {
    const number = ++this.#count
    const baseUrl = number === 1 ? 'https://service.test' : `https://service-${number}.test`
    const provider = new TestProvider(baseUrl)
    const service = await app.startWith(
      {
        mode: 'production',
        // The clock stands still, so a limit would never have room again.
        rateLimits: { '*': null },
        localSignIn: false,
        devtest: false,
        env: {},
        ...settings,
        signIn: [],
        baseUrl,
        readReplicas: [],
        secretKeys: generateKey(),
      },
      {
        inMemory: true,
        log: this.log.log,
        now: this.clock.now,
        timers: this.clock.timers,
        onQuery: this.work.observe,
        peerClient: this.network.client,
        providers: provider,
      },
    )
    this.#members.set(app, service)
    this.network.add(baseUrl, service)
    const close = number === 1 ? () => this.#closeAll() : () => this.#close(app, baseUrl)
    return new TestService(this, { app, service, baseUrl, provider, close })
  }

  /** A peer of an unknown trust type has no rights, so its name is a misspelling in a test. */
  requireTrustType(name: string): void {
    const isKnown = ({ parts }: Service): boolean => new TrustTypes(parts.registry.trustTypes).find(name) !== undefined
    if (![...this.#members.values()].some(isKnown))
      throw new TypeError(`Cannot create a relationship: no application of the test has the trust type ${name}`)
  }

  async #close(app: App, baseUrl: string): Promise<void> {
    this.network.remove(baseUrl)
    if (this.#members.delete(app)) await app.close()
  }

  async #closeAll(): Promise<void> {
    const apps = [...this.#members.keys()]
    this.#members.clear()
    for (const app of apps) await app.close()
  }
}

interface Member {
  readonly app: App
  readonly service: Service
  readonly baseUrl: string
  readonly provider: TestProvider
  readonly close: () => Promise<void>
}

class TestService implements Testing {
  readonly app: App
  readonly url: string
  readonly clock: TestClock
  readonly log: TestLog
  readonly #group: TestGroup
  readonly #member: Member

  constructor(group: TestGroup, member: Member) {
    this.#group = group
    this.#member = member
    this.app = member.app
    this.url = member.baseUrl
    this.clock = group.clock
    this.log = group.log
  }

  fetch(path: string, init?: TestRequest): Promise<Response> {
    return this.#group.network.fetch(requestTo(path.startsWith('/') ? this.url + path : path, init))
  }

  readonly #send = (request: Request): Promise<Response> => this.#group.network.fetch(request)

  signIn(email: string, { name = email }: { readonly name?: string } = {}): Promise<TestPerson> {
    const { app, provider } = this.#member
    const { now } = this.#group.clock
    return TestPerson.signIn({ baseUrl: this.url, now, fetch: this.#send, app, provider, log: this.log }, email, name)
  }

  async befriend({ actor: one }: RelatedActor, { actor: other }: RelatedActor, type: string): Promise<void> {
    this.#group.requireTrustType(type)
    await one.trust.request(other.url, type)
    await other.trust.approve(one.id)
    await this.settled()
    for (const [actor, peer] of [
      [one, other],
      [other, one],
    ] as const) {
      const trust = await actor.trust.get(peer.id)
      if (trust?.approved !== true || !trust.peer_approved)
        throw new Error(
          `Cannot befriend ${one.creator} and ${other.creator}: ${actor.creator} has ${trust === undefined ? 'no relationship' : 'a relationship that is not approved'}`,
        )
    }
  }

  settled(): Promise<void> {
    return this.#group.work.settle()
  }

  mcp(owner: TestPerson, options: ClientOptions = {}): Promise<AiClient> {
    const { service } = this.#member
    const { now } = this.#group.clock
    return authorizeClient({ baseUrl: this.url, service, fetch: this.#send, now }, owner, options)
  }

  approve(owner: TestPerson, operation?: string): Promise<WaitingCall> {
    return decide(owner, operation, true)
  }

  deny(owner: TestPerson, operation?: string): Promise<WaitingCall> {
    return decide(owner, operation, false)
  }

  second(app: App, { settings }: SecondOptions = {}): Promise<Testing> {
    return this.#group.add(app, settings)
  }

  close(): Promise<void> {
    return this.#member.close()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }
}

async function decide(owner: TestPerson, operation: string | undefined, approved: boolean): Promise<WaitingCall> {
  const { approvals } = (await owner.json('/approvals')) as unknown as {
    readonly approvals: readonly (WaitingCall & { readonly id: string })[]
  }
  const asked = approvals.filter((approval) => operation === undefined || approval.operation === operation)
  const [call] = asked
  if (call === undefined || asked.length > 1) {
    const names = approvals.map((approval) => approval.operation).join(', ')
    throw new Error(
      `Cannot decide for ${owner.email}: ${asked.length} calls${operation === undefined ? '' : ` of ${operation}`} wait for approval${names === '' ? '' : ` (${names})`}, expected one`,
    )
  }
  await owner.json(`/approvals/${call.id}`, { method: 'PUT', json: { approved } })
  return { operation: call.operation, arguments: call.arguments }
}
