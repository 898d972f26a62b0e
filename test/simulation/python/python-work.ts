/** Steps of the owner of the Python actor during a run, and of other owners who deal with it. */
import type { Random } from '../../support/random.ts'
import type { SimActor, World } from '../world.ts'
import type { PythonHost } from './python-host.ts'

/** The relationship with the Python actor, as an actor has it. */
export interface OwnSide {
  readonly secret: string
  readonly relationship: string
  readonly approved: boolean
}

/** Subscriptions to one actor share a copy, so that a second one would apply each list operation again. */
const maxSubscriptions = 1

export class PythonWork {
  readonly #world: World
  readonly #python: PythonHost
  readonly #random: Random
  /** Actors with a request under way. */
  readonly #subscribing = new Set<string>()

  constructor(world: World, python: PythonHost, random: Random) {
    this.#world = world
    this.#python = python
    this.#random = random
  }

  /** Each step concerns one actor. */
  readonly steps: Readonly<Record<string, (actor: SimActor) => Promise<unknown>>> = {
    pythonAsks: (actor) => this.#ask(actor),
    askPython: (actor) => this.#askPython(actor),
    pythonApproves: (actor) => this.#approve(actor),
    pythonSubscribes: (actor) => this.#subscribe(actor),
    pythonSubscribesToo: (actor) => this.#subscribe(actor),
    pythonUnsubscribes: (actor) => this.#unsubscribe(actor),
    pythonEnds: (actor) => this.#end(actor),
    pythonSyncs: (actor) => this.#sync(actor),
    pythonIsBackedUp: async () => this.#python.backUp(),
    pythonIsRestored: async () => this.#python.restore(),
  }

  async #ask(actor: SimActor): Promise<void> {
    await this.#python.peer.request(actor.url, this.#random.below(4) === 0 ? 'partner' : 'friend')
  }

  async #askPython(actor: SimActor): Promise<void> {
    await this.#world.asOwner(actor, 'POST', '/trust', { url: this.#python.url, relationship: 'friend' })
  }

  async #approve({ id }: SimActor): Promise<void> {
    if (this.#python.trustIn(id)?.approved === false) await this.#python.peer.approve(id)
  }

  async #subscribe({ id }: SimActor): Promise<void> {
    const { subscriber } = this.#python
    const own = subscriber.subscriptions.filter((one) => subscriber.peerOf(one) === id)
    if (this.#python.trustIn(id) === undefined || own.length >= maxSubscriptions || this.#subscribing.has(id)) return
    this.#subscribing.add(id)
    await subscriber
      .subscribe(id, this.#random.pick(['high', 'high', 'high', 'low']))
      .finally(() => this.#subscribing.delete(id))
  }

  async #unsubscribe({ id }: SimActor): Promise<void> {
    const { subscriber } = this.#python
    const found = subscriber.subscriptions.find((one) => subscriber.peerOf(one) === id)
    if (found !== undefined && this.#python.trustIn(id) !== undefined) await subscriber.unsubscribe(found)
  }

  async #end({ id }: SimActor): Promise<void> {
    if (this.#python.trustIn(id) !== undefined) await this.#python.peer.end(id)
  }

  async #sync({ id }: SimActor): Promise<void> {
    if (this.#python.trustIn(id) !== undefined) await this.#python.subscriber.sync(id)
  }

  async ownSideOf(actor: SimActor): Promise<OwnSide | null> {
    const reply = await this.#world.asOwner(actor, 'GET', '/trust')
    const all = reply?.status === 200 ? (JSON.parse(reply.body) as (OwnSide & { peerid: string })[]) : []
    return all.find(({ peerid }) => peerid === this.#python.id) ?? null
  }

  /**
   * Lets the owners agree again where the two sides differ: the reference deletes its record after an answer that was lost, and
   * never notices that a peer lost the relationship (WIRE-RESTORE-16, WIRE-ADDRESS-10).
   */
  async settle(actor: SimActor): Promise<void> {
    const [own, theirs] = [await this.ownSideOf(actor), this.#python.trustIn(actor.id)]
    if (theirs === undefined && own === null) return
    if (theirs === undefined) await this.#askPython(actor)
    else if (own?.secret !== theirs.secret || theirs.baseuri !== actor.url)
      await this.#python.peer.request(actor.url, theirs.relationship)
    await this.#approve(actor)
  }
}
