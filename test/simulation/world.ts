/** The world of one run: services with their processes, actors with their owners, and the violated invariants. */
import type { PeerRequest } from '../../src/peer/peer-client.ts'
import type { Service } from '../../src/service.ts'
import type { App, TroupeOptions } from '../../src/troupe.ts'
import { type Random, seeded } from '../support/random.ts'
import { basic } from '../support/service.ts'
import { Ledger, type Queues } from './ledger.ts'
import { Network, type Outsider } from './network.ts'
import { type AskOptions, Program, type Reply } from './program.ts'
import type { FileBytes } from '../../src/object/file-bytes.ts'
import { MemoryBytes } from '../../src/object/memory.ts'
import { ReadCache } from './read-cache.ts'
import { PythonHost } from './python/python-host.ts'
import { VirtualTime } from './virtual-time.ts'
import { Watch } from './watch.ts'

export interface Host {
  readonly origin: string
  readonly path: string
  /** The files of all processes of the host. */
  readonly bytes: FileBytes
  readonly reads: ReadCache
  readonly ledger: Ledger
  /** Number of processes that serve the host; some may be down. */
  readonly size: number
  readonly programs: Program[]
  starts: number
}

export interface SimActor {
  readonly id: string
  readonly creator: string
  /** Where the actor is now, or was before a move that is between its services. */
  readonly host: Host
  readonly url: string
  /** By host: the owner's credentials. */
  readonly credentials: Map<Host, string>
  isGone: boolean
  /** The owner has deleted the actor and got no answer. */
  mayBeGone: boolean
}

export interface WorldParts {
  readonly seed: number
  readonly folder: string
  /** Creates an empty, migrated database at this path. */
  readonly createDatabase: (path: string) => void
  readonly hosts: readonly number[]
  /** Whether a service is or becomes evil. */
  readonly isEvil: boolean
  /** Whether an actor of the Python implementation takes part. */
  readonly hasPython: boolean
  readonly settings: Partial<TroupeOptions>
  readonly declare: (app: App, world: World) => void
  readonly trace: (line: string) => void
}

export class World {
  readonly time = new VirtualTime()
  readonly network: Network
  readonly watch: Watch
  readonly python: PythonHost | null
  readonly hosts: Host[] = []
  readonly actors: SimActor[] = []
  readonly violations: string[] = []
  /** Evil services, by their origin or by the address of the one actor that they had. */
  readonly outsiders = new Map<string, Outsider>()
  /** By hash: the relationships of the secrets between actors of which none is evil. */
  readonly secrets = new Map<string, string>()
  /** Hashes of the tokens by which they announced actors. */
  readonly forged = new Set<string>()
  readonly #parts: WorldParts
  readonly #random: Random
  readonly #buried: Program[] = []

  constructor(parts: WorldParts) {
    this.#parts = parts
    this.#random = seeded(parts.seed * 3 + 1)
    this.watch = new Watch({
      now: this.time.now,
      violation: this.violation,
      excludes: (actorId, peerId, name) => this.#ledgerOf(actorId)?.excludes(actorId, peerId, name) === true,
      erases: (actorId, peerId, subscriptionId, sequence) =>
        this.#ledgerOf(actorId)?.erases(actorId, peerId, subscriptionId, sequence) === true,
      holds: (listenerId, publisherId, subscriptionId, sequence) =>
        this.#ledgerOf(listenerId)?.holds(listenerId, publisherId, subscriptionId, sequence) !== false,
    })
    this.network = new Network({
      time: this.time,
      random: seeded(parts.seed * 3 + 2),
      serverOf: (origin) => this.#programOf(this.hosts.find((host) => host.origin === origin)),
      outsiderOf: (url) => this.#outsiderOf(url),
      trace: this.trace,
      sent: (from, request) => this.watch.sent(from.name, request),
      arrives: (request) => this.watch.arrives(request),
      ended: (from, request) => this.watch.done(from.name, request),
      answered: (_from, request, reply) => this.watch.answered(request, reply.status),
    })
    this.python = parts.hasPython ? new PythonHost({ time: this.time, network: this.network, trace: this.trace }) : null
  }

  #outsiderOf({ origin, pathname }: URL): Outsider | undefined {
    if (this.python?.url.startsWith(`${origin}/`) === true) return this.python
    return this.outsiders.get(origin) ?? this.outsiders.get(`${origin}/${pathname.split('/')[1]}`)
  }

  readonly trace = (line: string): void => this.#parts.trace(`${this.time.clock} ${line}`)

  readonly violation = (text: string): void => {
    this.trace(`VIOLATION ${text}`)
    this.violations.push(`${this.time.clock} ${text}`)
  }

  async open(): Promise<void> {
    const queues: Queues = new Map()
    const { secrets } = this
    const secretsOfEvil = new Set<string>()
    for (const [index, size] of this.#parts.hosts.entries()) {
      const path = `${this.#parts.folder}/${index}.db`
      this.#parts.createDatabase(path)
      const reads = new ReadCache()
      const host: Host = {
        origin: `http://s${index}.test`,
        path,
        ledger: new Ledger(path, {
          reads,
          maxDiffs: this.#parts.settings.maxDiffs ?? 1000,
          queues,
          secrets,
          secretsOfEvil,
          violation: this.violation,
          forged: this.forged,
          isStrange: (peerId, baseuri) => this.isStrange(peerId, baseuri),
          isSubscribed: (peerId, subscriptionId) =>
            peerId === this.python?.id && this.python.subscriber.peerOf(subscriptionId) !== undefined,
        }),
        size,
        programs: [],
        bytes: new MemoryBytes(),
        reads,
        starts: 0,
      }
      this.hosts.push(host)
      while (host.programs.length < size) await this.startProgram(host)
    }
  }

  async startProgram(host: Host): Promise<void> {
    const name = `${host.origin.slice('http://'.length, -'.test'.length)}.${host.starts++}`
    this.trace(`${name} starts`)
    const program = await Program.start({
      name,
      databasePath: host.path,
      fileBytes: host.bytes,
      reads: host.reads,
      baseUrl: host.origin,
      settings: this.#parts.settings,
      time: this.time,
      random: this.#random,
      declare: (app) => this.#parts.declare(app, this),
      call: (from, request: PeerRequest) => this.network.call(from, host.origin, request),
      committed: () => {
        host.ledger.observe()
        if (this.#parts.isEvil) host.ledger.watchSecrets()
      },
      trace: this.trace,
      violation: this.violation,
      died: (dead) => {
        host.programs.splice(host.programs.indexOf(dead), 1)
        this.watch.died(dead.name)
        this.#buried.push(dead)
      },
    })
    host.programs.push(program)
  }

  /** Whether the address is not one of the actor’s, or belongs to an evil service now. */
  isStrange(peerId: string, baseuri: string): boolean {
    if (this.outsiders.size === 0 || baseuri === this.python?.url) return false
    const home = this.hosts.find(({ origin }) => baseuri === `${origin}/${peerId}`)
    return home === undefined || this.outsiders.has(baseuri) || !home.ledger.wasHome(peerId)
  }

  #ledgerOf(actorId: string): Ledger | undefined {
    return this.actors.find(({ id }) => id === actorId)?.host.ledger
  }

  #programOf(host: Host | undefined): Program | undefined {
    return host?.programs[this.#random.below(host.programs.length)]
  }

  async createActor(host: Host): Promise<SimActor> {
    const creator = `owner${this.actors.length}@example.com`
    const reply = await this.ask(host, 'POST', '/', { body: JSON.stringify({ creator }) })
    if (reply?.status !== 201) throw new Error(`No actor: ${reply?.status} ${reply?.body}`)
    const { id, passphrase } = JSON.parse(reply.body) as { id: string; passphrase: string }
    const { hosts } = this
    let last = host
    const actor: SimActor = {
      id,
      creator,
      get host() {
        const home = hosts.find(({ ledger }) => ledger.isHome(id)) ?? last
        // An actor that comes back has another passphrase.
        if (home !== last) actor.credentials.delete(home)
        last = home
        return home
      },
      get url() {
        return `${this.host.origin}/${id}`
      },
      credentials: new Map([[host, basic(creator, passphrase)]]),
      isGone: false,
      mayBeGone: false,
    }
    this.actors.push(actor)
    this.trace(`${actor.url} exists`)
    return actor
  }

  /** The owner's credentials. An actor that moved has a new passphrase. Null when the process did not answer. */
  async #credentialOf(actor: SimActor, host: Host): Promise<string | null> {
    const known = actor.credentials.get(host)
    if (known !== undefined) return known
    const passphrase = await this.take(actor)
    if (passphrase === null || host !== actor.host) return null
    const credential = basic(actor.creator, passphrase)
    actor.credentials.set(host, credential)
    return credential
  }

  /** Takes an actor that came from another service, as its owner, with all that came along. Returns its passphrase. Null: it is not here yet. */
  take(actor: SimActor): Promise<string | null> {
    return this.inside(actor, async ({ parts: { actors, arrivalClaims }, store }) => {
      const found = await actors.find(actor.id)
      if (found?.residence !== 'here') return null
      const { readers } = await arrivalClaims.readers(actor.id)
      const kept = readers.map(({ key }) => key)
      await store.writeActor(actor.id, (tx) => arrivalClaims.take(tx, actor.id, kept))
      return actors.passphraseOf(found)
    })
  }

  /** Sends a request to a service. Null when the service sent no response. */
  async ask(host: Host, method: string, path: string, options: AskOptions = {}): Promise<Reply | null> {
    const reply = await this.#exchange(host, method, path, options)
    const isMoving = reply?.status === 503 && reply.body.includes('"actor_moving"')
    if (reply !== null && reply.status >= 500 && reply.status !== 502 && reply.status !== 504 && !isMoving) {
      this.violation(`${method} ${path} was answered ${reply.status} ${reply.body}`)
    }
    return reply
  }

  /** Sends a request of an evil service. Only 500 is a fault, because the others depend on what it answers itself. */
  async askAsEvil(host: Host, method: string, path: string, options: AskOptions = {}): Promise<Reply | null> {
    const reply = await this.#exchange(host, method, path, options)
    if (reply?.status === 500) this.violation(`EVIL: ${method} ${path} was answered 500 ${reply.body}`)
    return reply
  }

  async #exchange(host: Host, method: string, path: string, options: AskOptions): Promise<Reply | null> {
    await this.time.pause(this.#random.below(20))
    const reply = (await this.#programOf(host)?.ask(method, path, options)) ?? null
    await this.time.pause(this.#random.below(20))
    this.trace(
      `> ${method} ${path} ${String(options.body ?? '')}: ${reply === null ? 'no answer' : `${reply.status} ${reply.body}`}`,
    )
    return reply
  }

  /** Sends a request of the owner below the actor. */
  async asOwner(actor: SimActor, method: string, path: string, body?: unknown): Promise<Reply | null> {
    const { host } = actor
    const authorization = await this.#credentialOf(actor, host)
    if (authorization === null) return null
    return this.ask(host, method, `/${actor.id}${path}`, {
      authorization,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
  }

  /** Sends a request with the peer's secret below the actor. */
  asPeer(actor: SimActor, secret: string, method: string, path: string, body?: unknown): Promise<Reply | null> {
    return this.ask(actor.host, method, `/${actor.id}${path}`, {
      authorization: `Bearer ${secret}`,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
  }

  /**
   * Runs code inside a process of the actor's service, as the application would. Null when the process did not answer.
   */
  async inside<T>(actor: SimActor, work: (service: Service) => Promise<T>): Promise<T | null> {
    await this.time.pause(this.#random.below(20))
    return (await this.#programOf(actor.host)?.attempt(work)) ?? null
  }

  /** Runs the work while virtual time passes, until it is done. */
  async during<T>(work: Promise<T>, limitMs = 3_600_000): Promise<T> {
    const running = { isDone: false }
    const end = (): void => {
      running.isDone = true
    }
    work.then(end, end)
    const limit = this.time.now() + limitMs
    while (!running.isDone && this.time.now() < limit) await this.time.runUntil(this.time.now() + 50)
    if (!running.isDone) throw new Error('Virtual time is over, but the work has not ended')
    return work
  }

  async close(): Promise<void> {
    for (const host of this.hosts) {
      host.ledger.close()
      for (const program of host.programs.slice()) program.die()
    }
    // A request that was read before its process died, such as a poll, must not end in the next run and use its random values.
    for (let turns = 0; turns < 20; turns++) await this.time.settle()
    for (const program of this.#buried) await program.bury()
  }
}
