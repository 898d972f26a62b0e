/** Sends random requests about relationships and subscriptions of an actor, and compares each response and state with a model. */
import assert from 'node:assert/strict'
import fc from 'fast-check'
import { violationsIn } from './invariants.ts'
import type { ModelOptions } from './property-runs.ts'
import type { TestActor, TestService } from './service.ts'

interface Subscription {
  readonly subtarget: string | null
  sequence: number
  diffs: readonly (readonly [sequence: number, data: unknown])[]
}

interface Relationship {
  readonly secret: string
  approved: boolean
  readonly subscriptions: Map<string, Subscription>
}

const names = ['a', 'b'] as const
const peers = ['p1', 'p2', 'p3'] as const

const peer = fc.constantFrom(...peers)
const name = fc.constantFrom(...names)
const nth = fc.nat({ max: 2 })
/** Each step as its kind and its choices. Weights let most runs reach subscriptions with diffs. */
const step = fc.oneof(
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('ask' as const), peer }) },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('approve' as const), peer }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('end' as const), peer, byPeer: fc.boolean() }) },
  {
    weight: 5,
    arbitrary: fc.record({ kind: fc.constant('subscribe' as const), peer, subtarget: fc.option(name) }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('unsubscribe' as const), peer, nth, byPeer: fc.boolean() }) },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant('acknowledge' as const), peer, nth, upTo: fc.nat({ max: 4 }) }),
  },
  { weight: 8, arbitrary: fc.record({ kind: fc.constant('write' as const), name, value: fc.nat({ max: 2 }) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('remove' as const), name }) },
)
type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never

/** @throws Error with the shortest failing sequence of steps, and the seed that reproduces it. */
export async function runRelationshipModel(service: TestService, options: ModelOptions): Promise<void> {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 40, size: 'max' }), async (steps) => {
      const world = new World(service, await service.createActor())
      for (const one of steps) {
        await world.take(one)
        await world.compare(JSON.stringify(one))
      }
    }),
    { numRuns: options.runs, ...(options.seed === undefined ? {} : { seed: options.seed }) },
  )
  assert.deepEqual(await violationsIn(service.databaseUrl), [])
}

/** An actor with its model. */
class World {
  readonly #service: TestService
  readonly #actor: TestActor
  readonly #relationships = new Map<string, Relationship>()
  readonly #values = new Map<string, number>()
  #secrets = 0

  constructor(service: TestService, actor: TestActor) {
    this.#service = service
    this.#actor = actor
  }

  async take(one: Step): Promise<void> {
    if ('peer' in one) await this.#withPeer(one)
    else if (one.kind === 'write') await this.#write(one.name, one.value)
    else await this.#write(one.name, null)
  }

  /** Compares what the owner and each peer see with the model. */
  async compare(after: string): Promise<void> {
    const listed = (await (await this.#actor.request('GET', '/trust')).json()) as Record<string, unknown>[]
    assert.deepEqual(
      listed.map(({ peerid, approved }) => JSON.stringify([peerid, approved])).toSorted(),
      [...this.#relationships].map(([id, { approved }]) => JSON.stringify([id, approved])).toSorted(),
      after,
    )
    const all = (await (await this.#actor.request('GET', '/subscriptions')).json()) as {
      data: Record<string, unknown>[]
    }
    const expected = [...this.#relationships].flatMap(([id, { subscriptions }]) =>
      [...subscriptions].map(([subscription, { sequence }]) => JSON.stringify([id, subscription, sequence])),
    )
    assert.deepEqual(
      all.data
        .map(({ peerid, subscriptionid, sequence }) => JSON.stringify([peerid, subscriptionid, sequence]))
        .toSorted(),
      expected.toSorted(),
      after,
    )
    for (const [id, { subscriptions }] of this.#relationships) {
      for (const [subscription, { diffs }] of subscriptions) {
        const polled = await this.#asPeer(id, 'GET', `/subscriptions/${id}/${subscription}`)
        const { data } = (await polled.json()) as { data: { sequence: number; data: unknown }[] }
        assert.deepEqual(
          data.map((diff) => [diff.sequence, diff.data]),
          diffs,
          after,
        )
      }
    }
  }

  async #withPeer(one: Extract<Step, { peer: string }>): Promise<void> {
    const relationship = this.#relationships.get(one.peer)
    if (one.kind === 'ask') {
      // A second request of the same peer changes the secret, and other tests cover it.
      if (relationship !== undefined) return
      await this.#ask(one.peer)
    } else if (one.kind === 'approve') {
      const answer = await this.#actor.request('PUT', `/trust/friend/${one.peer}`, { approved: true })
      assert.equal(answer.status, relationship === undefined ? 404 : 204, JSON.stringify(one))
      if (relationship !== undefined) relationship.approved = true
    } else if (one.kind === 'end') {
      const path = `/trust/friend/${one.peer}`
      const answer = one.byPeer
        ? await this.#asPeer(one.peer, 'DELETE', path)
        : await this.#actor.request('DELETE', path)
      assert.equal(answer.status, relationship === undefined ? 404 : 204, JSON.stringify(one))
      this.#relationships.delete(one.peer)
    } else if (one.kind === 'subscribe') {
      await this.#subscribe(one.peer, one.subtarget)
    } else {
      await this.#withSubscription(one)
    }
  }

  async #ask(id: string): Promise<void> {
    this.#secrets += 1
    const secret = `${id}${String(this.#secrets).padStart(3, '0')}`.padEnd(40, 'f')
    const body = { baseuri: `https://peer.example.com/${id}`, id, secret }
    assert.equal((await this.#actor.request('POST', '/trust/friend', body)).status, 202)
    this.#relationships.set(id, { secret, approved: false, subscriptions: new Map() })
  }

  async #subscribe(id: string, subtarget: string | null): Promise<void> {
    const relationship = this.#relationships.get(id)
    const body = { target: 'properties', granularity: 'none', ...(subtarget === null ? {} : { subtarget }) }
    const answer = await this.#asPeer(id, 'POST', `/subscriptions/${id}`, body)
    if (relationship?.approved !== true) return assert.equal(answer.status, 403)
    assert.equal(answer.status, 201)
    const { subscriptionid } = (await answer.json()) as { subscriptionid: string }
    relationship.subscriptions.set(subscriptionid, { subtarget, sequence: 0, diffs: [] })
  }

  async #withSubscription(one: Extract<Step, { nth: number }>): Promise<void> {
    const subscriptions = this.#relationships.get(one.peer)?.subscriptions
    const [id, subscription] = [...(subscriptions ?? [])][one.nth] ?? []
    if (id === undefined || subscription === undefined) return
    const path = `/subscriptions/${one.peer}/${id}`
    if (one.kind === 'acknowledge') {
      assert.equal((await this.#asPeer(one.peer, 'PUT', path, { sequence: one.upTo })).status, 204)
      subscription.diffs = one.upTo === 0 ? [] : subscription.diffs.filter(([sequence]) => sequence > one.upTo)
      return
    }
    const answer = one.byPeer ? await this.#asPeer(one.peer, 'DELETE', path) : await this.#actor.request('DELETE', path)
    assert.equal(answer.status, 204)
    subscriptions?.delete(id)
  }

  /** Sets a value, or deletes it for null, and gives each subscription that covers it a diff. */
  async #write(property: string, value: number | null): Promise<void> {
    const path = `/properties/${property}`
    const answer =
      value === null ? this.#actor.request('DELETE', path) : this.#actor.request('PUT', path, String(value))
    assert.equal((await answer).status, 204)
    if ((this.#values.get(property) ?? null) === value) return
    if (value === null) this.#values.delete(property)
    else this.#values.set(property, value)
    for (const { subscriptions } of this.#relationships.values()) {
      for (const subscription of subscriptions.values()) {
        if (subscription.subtarget !== null && subscription.subtarget !== property) continue
        subscription.sequence += 1
        // The data of a diff is relative to the scope of its subscription.
        const data = subscription.subtarget === null ? { [property]: value ?? '' } : (value ?? '')
        subscription.diffs = [...subscription.diffs, [subscription.sequence, data]]
      }
    }
  }

  #asPeer(id: string, method: string, path: string, body?: unknown): Promise<Response> {
    const secret = this.#relationships.get(id)?.secret ?? '0'.repeat(40)
    return this.#service.request(`/${this.#actor.id}${path}`, {
      method,
      headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
  }
}
