/** The actions of owners, peers and applications during a run: a mix that the seed decides. */
import type { ActorHandle, ListHandle } from '../../src/app/actor-handle.ts'
import { ServiceError } from '../../src/errors.ts'
import type { Service } from '../../src/service.ts'
import { hashSecret } from '../../src/secret/hash.ts'
import type { Random } from '../support/random.ts'
import { canary, type Mark } from './evil/heard.ts'
import { PythonWork } from './python/python-work.ts'
import type { Host, SimActor, World } from './world.ts'

interface TrustView {
  readonly peerid: string
  readonly relationship: string
  readonly secret: string
  readonly approved: boolean
  readonly peer_approved: boolean
  readonly baseuri: string
  readonly verified: boolean
}

export interface SubscriptionView {
  readonly peerid: string
  readonly subscriptionid: string
  readonly granularity: string
  readonly target: string
  readonly subtarget: string
  readonly resource: string
  readonly sequence: number
  readonly callback: boolean
}

const values = ['mood', 'trip', 'settings', 'private', 'public'] as const
/** Properties below which owners write. */
export const partlyWritten: readonly string[] = ['settings', 'trip', 'private']
const lists = ['todo', 'log'] as const
const names = [...values, ...lists] as const
const relationships = ['friend', 'partner', 'associate'] as const

type Step = (actor: SimActor) => Promise<unknown>

/** A relationship of an actor that began a move. */
export interface LeftBehind {
  readonly actor: SimActor
  readonly from: Host
  readonly peerid: string
  readonly secret: string
  /** The sealed secrets of the move. */
  readonly sealed: string
}

/** The peers that may read a property. */
function markOf(property: string): Mark {
  if (property === 'public') return 'open'
  return property === 'private' ? 'closed' : 'inner'
}

export class Workload {
  readonly #world: World
  readonly #random: Random
  #tokens = 0
  /** Pairs whose permissions are being changed, so that the current state is unknown. */
  readonly #changing = new Set<string>()
  /** Trust requests without a known outcome. */
  readonly #unanswered = new Map<
    string,
    { actor: SimActor; other: SimActor; relationship: string; isRenewal: boolean }
  >()
  readonly counts = new Map<string, number>()

  readonly #strangerUrl: string | null
  readonly #pythonWork: PythonWork | null

  /** @param strangerUrl Address of the actor at an evil service that owners relate to. Null without evil services. */
  constructor(world: World, random: Random, strangerUrl: string | null = null) {
    this.#world = world
    this.#random = random
    this.#strangerUrl = strangerUrl
    this.#pythonWork = world.python === null ? null : new PythonWork(world, world.python, random)
  }

  get pythonWork(): PythonWork | null {
    return this.#pythonWork
  }

  readonly steps: Readonly<Record<string, Step>> = {
    put: (actor) => this.#world.asOwner(actor, 'PUT', ...this.#newValue()),
    putBelow: (actor) => {
      const path = this.#below()
      return this.#world.asOwner(actor, 'PUT', path, this.#value(path.split('/')[2]))
    },
    deleteBelow: (actor) => this.#world.asOwner(actor, 'DELETE', this.#below()),
    bulk: (actor) =>
      this.#world.asOwner(actor, this.#random.pick(['POST', 'PUT']), '/properties', {
        ...this.#member(),
        ...this.#member(),
      }),
    remove: (actor) => this.#world.asOwner(actor, 'DELETE', `/properties/${this.#random.pick(names)}`),
    removeAll: (actor) => this.#world.asOwner(actor, 'DELETE', '/properties'),
    list: (actor) => this.#list(actor),
    listOverHttp: (actor) =>
      this.#world.asOwner(
        actor,
        'POST',
        `/properties/${this.#random.pick(lists)}/items`,
        this.#random.pick<object>([
          { action: 'add', item_value: this.#value() },
          { action: 'update', item_index: this.#random.below(4), item_value: this.#value() },
          { action: 'delete', item_index: this.#random.below(4) },
        ]),
      ),
    bulkOfList: (actor) =>
      this.#world.asOwner(actor, 'POST', '/properties', {
        [this.#random.pick(lists)]: { items: [{ index: this.#random.below(4), t: this.#token() }, { index: 0 }] },
      }),
    peerWrites: (actor) => this.#asSomePeer(actor, 'PUT', ...this.#newValue()),
    peerReads: (actor) => this.#asSomePeer(actor, 'GET', '/properties?format=full'),
    ask: (actor) => this.#ask(actor),
    approve: (actor) => this.#approve(actor),
    end: (actor) => this.#end(actor),
    narrow: (actor) => this.#narrow(actor),
    widen: (actor) => this.#widen(actor),
    subscribe: (actor) => this.#subscribe(actor),
    subscribeUnheard: (actor) => this.#subscribeUnheard(actor),
    unsubscribe: (actor) => this.#unsubscribe(actor),
    suspend: (actor) => this.#inside(actor, 'suspend', (handle) => handle.subscriptions.suspend(...this.#suspended())),
    resume: (actor) => this.#inside(actor, 'resume', (handle) => handle.subscriptions.resume(...this.#suspended())),
    acknowledge: (actor) => this.#acknowledge(actor),
    poll: (actor) => this.#poll(actor),
    sync: (actor) => this.#sync(actor),
    knock: () => this.#knock(),
    deleteActor: (actor) => this.#deleteActor(actor),
    move: (actor) => this.#move(actor),
    stay: (actor) => this.#world.asOwner(actor, 'DELETE', '/move'),
  }

  /** Steps of owners who meet an evil service. */
  readonly strangeSteps: Readonly<Record<string, Step>> = {
    befriend: (actor) =>
      this.#world.asOwner(actor, 'POST', '/trust', { url: this.#strangerUrl, relationship: 'associate' }),
    admit: (actor) => this.#admit(actor),
    reject: (actor) => this.rejectStrangers(actor),
    listen: (actor) =>
      this.#world.asOwner(actor, 'POST', '/subscriptions', { peerid: this.#strangerId(), ...this.#wanted() }),
    part: (actor) => this.#world.asOwner(actor, 'DELETE', `/trust/${this.#strangerId()}`),
  }

  async do(name: string, actor: SimActor): Promise<void> {
    this.counts.set(name, (this.counts.get(name) ?? 0) + 1)
    await (this.steps[name] ?? this.strangeSteps[name] ?? this.#pythonWork?.steps[name])?.(actor)
  }

  // Writes

  /** Number of marked values so far. */
  get written(): number {
    return this.#tokens
  }

  #token(property = ''): string {
    const number = this.#tokens++
    return this.#strangerUrl === null ? `t${number}` : canary(markOf(property), number)
  }

  #newValue(): [path: string, value: unknown] {
    const name = this.#random.pick(values)
    return [`/properties/${name}`, this.#value(name)]
  }

  #member(): object {
    const name = this.#random.pick(values)
    return { [name]: this.#value(name) }
  }

  #value(property = ''): unknown {
    const token = (): string => this.#token(property)
    return this.#random.pick<() => unknown>([
      () => token(),
      () => ({ theme: token(), ui: { font: token(), size: this.#tokens } }),
      () => ({ theme: { dark: token() } }),
      () => [token(), null, { deep: [1, ''] }],
      () => this.#tokens++,
      () => ({ t: token(), text: 'x'.repeat(this.#random.below(3) === 0 ? 1500 : 10) }),
      () => false,
      () => ({}),
      () => ({ theme: '', ui: '' }),
    ])()
  }

  #below(): string {
    const path = this.#random.pick(['theme', 'ui', 'ui/font', 'theme/dark', 'ui/size', 'new/one/more'])
    return `/properties/${this.#random.pick(partlyWritten as [string, ...string[]])}/${path}`
  }

  #list(actor: SimActor): Promise<unknown> {
    const below = (limit: number): number => this.#random.below(limit)
    const item = this.#value() as object
    const field = this.#token()
    const [what, run] = this.#random.pick<readonly [string, (list: ListHandle) => Promise<unknown>]>([
      ['append', (list) => list.append(item)],
      ['append', (list) => list.append({ t: 'same' })],
      ['extend', (list) => list.extend([item, null, { t: 'same' }])],
      ['insert', (list) => list.insert(below(3), item)],
      ['update', (list) => list.update(below(3), item)],
      ['delete', (list) => list.delete(below(3))],
      ['pop', (list) => list.pop()],
      ['pop', (list) => list.pop(0)],
      ['clear', (list) => list.clear()],
      ['remove', (list) => list.remove()],
      ['create', (list) => list.create({ description: field })],
      ['removeWhere', (list) => list.removeWhere('t', 'same', { firstOnly: below(2) === 0 })],
      ['updateWhere', (list) => list.updateWhere('t', 'same', { t: field }, { firstOnly: below(2) === 0 })],
    ])
    const name = this.#random.pick(lists)
    return this.#inside(actor, `${name}: ${what}`, (handle) => run(handle.list(name)))
  }

  async #inside(actor: SimActor, what: string, work: (handle: ActorHandle) => Promise<unknown>): Promise<void> {
    let end = 'no answer'
    await this.#world.inside(actor, async (service: Service) => {
      const found = await service.parts.actors.find(actor.id)
      if (found === null) return
      try {
        await work(service.handleOf(found))
        end = 'done'
      } catch (error) {
        end = error instanceof Error ? error.message : 'failed'
        // ServiceErrors such as an index beyond the end or a value in place of a list are expected. Any other error is a
        // violation.
        if (!(error instanceof ServiceError) || error.code === 'server_error') {
          this.#world.violation(`The application caught ${error instanceof Error ? error.stack : String(error)}`)
        }
      }
    })
    this.#world.trace(`> ${what} of ${actor.id}: ${end}`)
  }

  // Relationships

  #other(actor: SimActor): SimActor | undefined {
    const others = this.#world.actors.filter((other) => other !== actor && !other.isGone)
    return others[this.#random.below(others.length)]
  }

  actorOf(id: string): SimActor | undefined {
    return this.#world.actors.find((actor) => actor.id === id)
  }

  async trustsOf(actor: SimActor): Promise<readonly TrustView[]> {
    const reply = await this.#world.asOwner(actor, 'GET', '/trust')
    return reply?.status === 200 ? (JSON.parse(reply.body) as TrustView[]) : []
  }

  async #someTrust(actor: SimActor): Promise<TrustView | undefined> {
    const trusts = (await this.trustsOf(actor)).filter((trust) => this.#isFamiliar(actor, trust))
    return trusts[this.#random.below(trusts.length)]
  }

  #strangerId(): string {
    return this.#strangerUrl?.split('/').at(-1) ?? ''
  }

  /** Whether the owner knows the peer. An owner asks a friend about a request that the service could not verify. */
  #isFamiliar(actor: SimActor, { peerid, baseuri, verified, secret }: TrustView): boolean {
    if (this.#strangerUrl === null) return true
    if (this.#world.isStrange(peerid, baseuri)) return false
    if (peerid === this.#world.python?.id) return this.#world.python.trustIn(actor.id)?.secret === secret
    return verified || this.actorOf(peerid)?.host.ledger.secretOf(peerid, actor.id) === hashSecret(secret)
  }

  /** Ends the relationships with strangers who pretend to be other actors. */
  async rejectStrangers(actor: SimActor): Promise<void> {
    for (const trust of await this.trustsOf(actor)) {
      if (trust.peerid === this.#strangerId() || this.#isFamiliar(actor, trust)) continue
      await this.#world.asOwner(actor, 'DELETE', `/trust/${trust.relationship}/${trust.peerid}`)
    }
  }

  /** Approves the actor at the evil service as an associate, which reads what is public. */
  async #admit(actor: SimActor): Promise<void> {
    const trust = (await this.trustsOf(actor)).find(({ peerid }) => peerid === this.#strangerId())
    if (trust?.relationship !== 'associate') return
    await this.#world.asOwner(actor, 'PUT', `/trust/associate/${trust.peerid}`, { approved: true })
  }

  /** Whether every two actors can have a relationship, whatever evil services did. */
  async judgeReach(): Promise<void> {
    const actors = this.#world.actors.filter(({ isGone, mayBeGone }) => !isGone && !mayBeGone)
    for (const [index, actor] of actors.entries()) {
      const other = actors[(index + 1) % actors.length]
      if (other === undefined || other === actor) continue
      for (const trust of await this.trustsOf(actor)) {
        if (trust.peerid === this.#world.python?.id) continue
        if (trust.peerid !== this.#strangerId() && !this.#isFamiliar(actor, trust))
          this.#world.violation(`EVIL: ${actor.id} has a relationship with ${trust.peerid} at ${trust.baseuri}`)
      }
      const known = (await this.trustsOf(other)).find(({ peerid }) => peerid === actor.id)
      const wish = { url: other.url, relationship: known?.relationship ?? 'friend' }
      const reply = await this.#world.asOwner(actor, 'POST', '/trust', wish)
      if (reply?.status !== 201)
        this.#world.violation(`EVIL: ${actor.url} cannot ask ${other.url}: ${reply?.status} ${reply?.body}`)
    }
  }

  async #ask(actor: SimActor): Promise<void> {
    const other = this.#other(actor)
    if (other === undefined) return
    // Usually the same trust type, so that requests cross or repeat.
    const relationship = this.#random.below(4) === 0 ? this.#random.pick(relationships) : 'friend'
    await this.#request(actor, other, relationship)
  }

  async #request(actor: SimActor, other: SimActor, relationship: string): Promise<void> {
    const secret = actor.host.ledger.secretOf(actor.id, other.id)
    const isRenewal = secret !== null && secret === other.host.ledger.secretOf(other.id, actor.id)
    const reply = await this.#world.asOwner(actor, 'POST', '/trust', { url: other.url, relationship })
    const pair = `${actor.id} ${other.id}`
    if (reply?.status === 201) this.#unanswered.delete(pair)
    else this.#unanswered.set(pair, { actor, other, relationship, isRenewal })
  }

  async #approve(actor: SimActor): Promise<void> {
    const trust = await this.#someTrust(actor)
    if (trust === undefined) return
    await this.#world.asOwner(actor, 'PUT', `/trust/${trust.relationship}/${trust.peerid}`, { approved: true })
  }

  async #end(actor: SimActor): Promise<void> {
    const trust = await this.#someTrust(actor)
    if (trust === undefined) return
    const pair = `${actor.id} ${trust.peerid}`
    this.#world.watch.withdrawn.delete(pair)
    const reply = await this.#world.asOwner(actor, 'DELETE', `/trust/${trust.relationship}/${trust.peerid}`)
    if (reply?.status === 204) this.#world.watch.end(actor.id, trust.secret)
  }

  async #narrow(actor: SimActor): Promise<void> {
    const trust = await this.#someTrust(actor)
    if (trust === undefined) return
    const denied = [this.#random.pick(names), this.#random.pick(names)]
    // A pattern covers either a name or the values below it.
    const excluded = denied.flatMap((name) => [name, `${name}/*`])
    const rule = { patterns: ['*'], operations: ['read'], excluded_patterns: excluded, merge: false }
    const isDone = await this.#changeRights(actor, trust, 'PUT', { properties: rule })
    if (isDone) {
      const withdrawal = { names: new Set<string>(denied), at: this.#world.time.now() }
      this.#world.watch.withdrawn.set(`${actor.id} ${trust.peerid}`, withdrawal)
    }
  }

  async #widen(actor: SimActor): Promise<void> {
    const trust = await this.#someTrust(actor)
    if (trust === undefined) return
    if (this.#random.below(2) === 0) await this.#changeRights(actor, trust, 'DELETE')
    else {
      const rule = { patterns: ['*'], operations: ['read', 'write'], merge: false }
      await this.#changeRights(actor, trust, 'PUT', { properties: rule })
    }
  }

  /** Changes the permissions. Returns false when the resulting state is unknown. */
  async #changeRights(actor: SimActor, trust: TrustView, method: string, body?: object): Promise<boolean> {
    const pair = `${actor.id} ${trust.peerid}`
    if (this.#changing.has(pair)) return false
    this.#changing.add(pair)
    this.#world.watch.withdrawn.delete(pair)
    const path = `/trust/${trust.relationship}/${trust.peerid}/permissions`
    const reply = await this.#world.asOwner(actor, method, path, body)
    this.#changing.delete(pair)
    return reply !== null && reply.status < 300
  }

  async #asSomePeer(actor: SimActor, method: string, path: string, body?: unknown): Promise<void> {
    const trust = await this.#someTrust(actor)
    if (trust === undefined) return
    const before = this.#world.watch.withdrawn.get(`${actor.id} ${trust.peerid}`)
    const reply = await this.#world.asPeer(actor, trust.secret, method, path, body)
    const after = this.#world.watch.withdrawn.get(`${actor.id} ${trust.peerid}`)
    if (reply?.status !== 200 || before === undefined || before !== after) return
    const names = Object.keys(JSON.parse(reply.body) as object)
    const shown = this.#world.watch.leaked(actor.id, trust.peerid, before, names)
    if (shown !== undefined) {
      this.#world.violation(`I7: ${trust.peerid} reads "${shown}" of ${actor.id}, which was withdrawn`)
    }
  }

  /** Tries the secrets of relationships that ended. */
  async #knock(): Promise<void> {
    const { ended } = this.#world.watch
    const tried = ended[this.#random.below(ended.length)]
    if (tried !== undefined) await this.knockWith(tried.actorId, tried.secret)
  }

  async knockWith(actorId: string, secret: string): Promise<void> {
    const actor = this.actorOf(actorId)
    if (actor === undefined) return
    const reply = await this.#world.asPeer(actor, secret, 'GET', '/properties')
    if (reply === null || reply.status >= 300) return
    // A delayed request may have created the relationship again, which then needs a new approval.
    const trusts = await this.trustsOf(actor)
    if (trusts.some((trust) => trust.secret === secret && trust.approved)) this.#world.watch.begin(actorId, secret)
    else this.#world.violation(`I7: ${actorId} accepts a secret of a relationship that ended`)
  }

  async #deleteActor(actor: SimActor): Promise<void> {
    if (this.#world.actors.filter(({ isGone }) => !isGone).length < 3) return
    const trusts = await this.trustsOf(actor)
    const reply = await this.#world.asOwner(actor, 'DELETE', '')
    if (reply === null) actor.mayBeGone = true
    if (reply?.status !== 204) return
    actor.isGone = true
    for (const { secret } of trusts) this.#world.watch.end(actor.id, secret)
  }

  /** Secrets of relationships before moves. */
  readonly leftBehind: LeftBehind[] = []
  moves = 0

  async #move(actor: SimActor): Promise<void> {
    const from = actor.host
    const others = this.#world.hosts.filter(
      (host) => host !== from && !this.#world.outsiders.has(`${host.origin}/${actor.id}`),
    )
    const trusts = await this.trustsOf(actor)
    const to = others[this.#random.below(others.length)]
    if (to === undefined) return
    const reply = await this.#world.asOwner(actor, 'POST', '/move', { to: to.origin })
    if (reply?.status !== 202) return
    const sealed = from.ledger.departureOf(actor.id) ?? ''
    for (const { peerid, secret, baseuri } of trusts) {
      // A stranger may choose the same secret for its next request.
      if (!this.#world.isStrange(peerid, baseuri)) this.leftBehind.push({ actor, from, peerid, secret, sealed })
    }
  }

  /** Tries the secrets of the old services at the new ones. */
  async knockAfterMoves(): Promise<void> {
    for (const { actor, from, secret } of this.leftBehind) {
      if (actor.isGone || actor.host === from) continue
      this.moves += 1
      const reply = await this.#world.asPeer(actor, secret, 'GET', '/properties')
      if (reply === null || reply.status >= 400) continue
      this.#world.violation(`${actor.id} accepts at its new service a secret of its old one`)
    }
  }

  // End of the run

  /** Waits until the actor is at one service, because it refuses everything while it moves. */
  async waitForMove(actor: SimActor): Promise<void> {
    while (!actor.isGone && (await this.#world.take(actor)) === null) {
      await this.#world.time.pause(1000)
      // The process that deleted it was killed before its answer.
      if (actor.mayBeGone) actor.isGone = !this.#world.hosts.some(({ ledger }) => ledger.hasActor(actor.id))
    }
  }

  async resumeAll(actor: SimActor): Promise<void> {
    await this.#inside(actor, 'resume all', async (handle) => {
      for (const { target, subtarget } of await handle.subscriptions.suspended()) {
        await handle.subscriptions.resume(target, subtarget)
      }
    })
  }

  /**
   * Repeats trust requests without an outcome, because the peer may have accepted the request and its secret.
   *
   * Uses the trust type at the peer, because another type would need a new approval by an owner. Rotations recover
   * automatically.
   */
  async askAgain(): Promise<void> {
    for (let rounds = 0; rounds < 3 && this.#unanswered.size > 0; rounds++) {
      // Another request is rejected while a response to the first one may still arrive.
      await this.#world.time.pause(101_000)
      const asked = Array.from(this.#unanswered.values())
      for (const { actor, other, relationship, isRenewal } of asked) {
        if (actor.isGone || other.isGone || isRenewal) continue
        const known = (await this.trustsOf(other)).find(({ peerid }) => peerid === actor.id)
        await this.#request(actor, other, known?.relationship ?? relationship)
      }
    }
  }

  /** Approves every relationship, because an unapproved peer receives no callbacks. */
  async approveAll(actor: SimActor): Promise<void> {
    for (const trust of await this.trustsOf(actor)) {
      if (trust.approved || !this.#isFamiliar(actor, trust)) continue
      await this.#world.asOwner(actor, 'PUT', `/trust/${trust.relationship}/${trust.peerid}`, { approved: true })
    }
  }

  /** Syncs every polled subscription, which receives no callbacks. */
  async syncPolled(actor: SimActor): Promise<void> {
    const subscriptions = (await this.subscriptionsOf(actor)).filter(({ callback }) => callback)
    for (const peerId of new Set(subscriptions.map(({ peerid }) => peerid))) {
      const isPolled = subscriptions.some(({ peerid, granularity }) => peerid === peerId && granularity === 'none')
      if (isPolled) await this.#inside(actor, 'sync', (handle) => handle.sync(peerId))
    }
  }

  /** Changes every property that may have a subscriber, with each kind of list operation. No resync hides these diffs. */
  async touchEverything(actor: SimActor): Promise<void> {
    await this.#inside(actor, 'touch everything', async (handle) => {
      for (const name of lists) {
        const list = handle.list(name)
        try {
          await list.extend([this.#token(), this.#token()])
          await list.insert(1, this.#token())
          await list.update(2, this.#token())
          await list.delete(0)
          await list.append(this.#token())
        } catch {
          // A value has that name.
        }
      }
      for (const name of values) await handle.set(name, { theme: this.#token(name), last: this.#token(name) })
    })
  }

  // Subscriptions

  async subscriptionsOf(actor: SimActor): Promise<readonly SubscriptionView[]> {
    const reply = await this.#world.asOwner(actor, 'GET', '/subscriptions')
    return reply?.status === 200 ? (JSON.parse(reply.body) as { data: SubscriptionView[] }).data : []
  }

  async #someSubscription(actor: SimActor, callback: boolean | null = null): Promise<SubscriptionView | undefined> {
    const all = (await this.subscriptionsOf(actor)).filter((one) => callback === null || one.callback === callback)
    return all[this.#random.below(all.length)]
  }

  async #subscribe(actor: SimActor): Promise<void> {
    const trust = await this.#someTrust(actor)
    if (trust === undefined || (await this.subscriptionsOf(actor)).length > 6) return
    await this.#world.asOwner(actor, 'POST', '/subscriptions', { peerid: trust.peerid, ...this.#wanted() })
  }

  /** Subscribes as a peer that forgets the subscription and answers 404 to its callbacks. */
  async #subscribeUnheard(actor: SimActor): Promise<void> {
    const trust = await this.#someTrust(actor)
    if (trust === undefined || (await this.subscriptionsOf(actor)).length > 6) return
    await this.#world.asPeer(actor, trust.secret, 'POST', `/subscriptions/${trust.peerid}`, this.#wanted())
  }

  #wanted(): object {
    const subtarget = this.#random.pick(['', '', '', 'settings', 'trip', 'todo', 'private'])
    return {
      target: 'properties',
      subtarget,
      resource: subtarget === 'settings' && this.#random.below(3) === 0 ? 'theme' : '',
      granularity: this.#random.pick(['high', 'high', 'high', 'low', 'none']),
    }
  }

  async #unsubscribe(actor: SimActor): Promise<void> {
    const found = await this.#someSubscription(actor)
    if (found !== undefined) {
      await this.#world.asOwner(actor, 'DELETE', `/subscriptions/${found.peerid}/${found.subscriptionid}`)
    }
  }

  #suspended(): [target: string, subtarget?: string] {
    return this.#random.below(2) === 0 ? ['properties'] : ['properties', this.#random.pick(names)]
  }

  /** Uses the secret of the relationship as the program of a subscriber may, beside the service itself. */
  async #withPublisher(
    actor: SimActor,
    work: (publisher: SimActor, secret: string, found: SubscriptionView) => Promise<unknown>,
  ): Promise<void> {
    const found = await this.#someSubscription(actor, true)
    const trust = (await this.trustsOf(actor)).find(({ peerid }) => peerid === found?.peerid)
    const publisher = this.actorOf(found?.peerid ?? '')
    if (found !== undefined && trust !== undefined && publisher !== undefined) {
      await work(publisher, trust.secret, found)
    }
  }

  /** Acknowledges only applied diffs, because an acknowledged diff is no longer delivered. */
  #acknowledge(actor: SimActor): Promise<void> {
    return this.#withPublisher(actor, async (publisher, secret, found) => {
      if (found.sequence === 0) return
      const path = `/subscriptions/${actor.id}/${found.subscriptionid}`
      await this.#world.asPeer(publisher, secret, 'PUT', path, { sequence: found.sequence })
    })
  }

  async #sync(actor: SimActor): Promise<void> {
    const found = await this.#someSubscription(actor, true)
    if (found !== undefined)
      await this.#inside(actor, 'sync', (handle) => handle.sync(found.peerid, found.subscriptionid))
  }

  #poll(actor: SimActor): Promise<void> {
    return this.#withPublisher(actor, async (publisher, secret, found) => {
      await this.#world.asPeer(publisher, secret, 'GET', `/subscriptions/${actor.id}/${found.subscriptionid}`)
    })
  }
}
