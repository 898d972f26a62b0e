/** Checks how many statements a request sends to the store, for actors with little and with much data. */
import assert from 'node:assert/strict'
import { everything, TestCallers } from './callers.ts'
import { countOf, onShards } from './citus.ts'
import { FakePeers, stoppedTimers } from './fake-peers.ts'
import { registerClient } from './oauth-client.ts'
import { declareAll, furnish, samplePeer } from './routes.ts'
import type { StartOptions, TestActor, TestService } from './service.ts'
import type { Dialect } from '../../src/store/portable.ts'

/** The cost of one request, which is the same for every amount of data. */
export interface Cost {
  /** Statements sent to the store, including the lookup of the actor. */
  readonly statements: number
  /** Statements on PostgreSQL. Default: `statements`. */
  readonly postgres?: number
  /** Statements on a sharded database. Default: those on PostgreSQL. */
  readonly sharded?: number
  /** Statements of a stream, which reads much data page by page. */
  readonly inPages?: number
  /** How many times the rules of a peer are read. Null when a peer is refused before the rules are read. */
  readonly rules: number | null
  /** Statements when a peer is refused. Default: 1, the lookup of the actor. */
  readonly refusal?: number
  /** Statements of the same request again, when the list is in memory. Such a request has an actor of its own. */
  readonly again?: number
  /** The answer to a bearer token, at routes that look for it. Default: the same. */
  readonly withToken?: { readonly status: number; readonly statements: number }
  /** Only the peer that the path names may send this request. */
  readonly byNamedPeer?: true
  /** A session of the owner sends this request, because the passphrase opens no page. */
  readonly bySession?: true
}

export interface Case extends Cost {
  readonly method: string
  /** The path below the service. The test replaces `:actor` with the actor's id. */
  readonly path: string
  /** A string is sent as it is, any other value as JSON. */
  readonly body?: unknown
  readonly form?: Readonly<Record<string, string>>
  readonly headers?: Readonly<Record<string, string>>
  readonly status: number
}

export const form = { 'content-type': 'application/x-www-form-urlencoded' }

/** Lists of the actor with much data. Requests name `notes`. */
export const lists = ['notes', 'tasks', 'places', 'people']

/** @param otherItems the number of items of each list besides `notes`, which has 300. */
async function fill(actor: TestActor, otherItems: number): Promise<void> {
  const named = <T>(count: number, value: (n: number) => T): Record<string, T> =>
    Object.fromEntries(Array.from({ length: count }, (_, n) => [`name${n}`, value(n)]))
  const items = (list: string): object[] =>
    Array.from({ length: list === 'notes' ? 300 : otherItems }, (_, index) => ({ index, text: `item ${index}` }))
  const each = (valueOf: (list: string) => object): object =>
    Object.fromEntries(lists.map((list) => [list, valueOf(list)]))
  const steps: readonly [path: string, body: unknown][] = [
    ['/properties', named(200, (n) => ({ n }))],
    ['/properties', each(() => ({ _type: 'list' }))],
    ['/properties', each((list) => ({ items: items(list) }))],
    ['/devtest/attribute/box', named(200, String)],
  ]
  for (const [path, body] of steps) assert.ok((await actor.request('POST', path, body)).ok)
  const asking = Array.from({ length: 20 }, async (_, n) => {
    const body = { baseuri: `https://peer.example.com/peer-${n}`, id: `peer-${n}` }
    return (await actor.request('POST', '/trust/friend', body)).status
  })
  assert.deepEqual(new Set(await Promise.all(asking)), new Set([202]))
}

export async function send(
  service: TestService,
  request: Case,
  actor: TestActor,
  authorization: string,
): Promise<Response> {
  const { method, path, headers } = request
  const isForm = request.form !== undefined
  // The form that deletes an actor requires its creator as confirmation.
  const typed = { ...request.form, ...('confirmation' in (request.form ?? {}) ? { confirmation: actor.creator } : {}) }
  const body = isForm ? new URLSearchParams(typed).toString() : request.body
  const isJson = body !== undefined && typeof body !== 'string'
  return service.request(path.replace(':actor', actor.id), {
    method,
    headers: { authorization, ...(isForm ? form : isJson ? { 'content-type': 'application/json' } : {}), ...headers },
    ...(body === undefined ? {} : { body: (isJson ? JSON.stringify(body) : body).replace(':actor', actor.id) }),
  })
}

export function statementsOf(
  { statements, postgres = statements, sharded = postgres }: Pick<Cost, 'statements' | 'postgres' | 'sharded'>,
  dialect: Dialect,
): number {
  if (dialect === 'sqlite') return statements
  return onShards() ? sharded : postgres
}

/** Creates an actor with little or much data. Most requests need one long list, and other lists. */
export async function actorOf(service: TestService, size: 'little' | 'much', otherItems = 3): Promise<TestActor> {
  const actor = await service.createActor(`${size}@example.com`)
  await furnish(actor)
  assert.equal((await actor.request('PUT', '/properties/settings', { theme: 'light', items: 1 })).status, 204)
  if (size === 'much') await fill(actor, otherItems)
  else assert.equal((await actor.request('POST', '/properties/notes', 'second')).status, 201)
  return actor
}

type Start = (options?: StartOptions) => Promise<TestService>

/** A service whose requests have known costs. */
export class QueryCosts {
  readonly #callers = new TestCallers()
  #service: TestService | undefined

  get service(): TestService {
    if (this.#service === undefined) throw new Error('The service has not started yet')
    return this.#service
  }

  async begin(start: Start): Promise<void> {
    this.#service = await start({
      ...this.#callers.parts,
      peerProfileAttributes: [],
      peerClient: new FakePeers(),
      timers: stoppedTimers,
      declare: (app) => declareAll(app),
    })
    // The first registration creates the actor that clients belong to, which would cost extra statements later.
    await registerClient(this.#service)
  }

  readonly #forReading = new Map<string, Promise<TestActor>>()
  /** Actors of requests that changed nothing. */
  readonly #unchanged: Record<'little' | 'much', TestActor[]> = { little: [], much: [] }

  /** Requests that read share an actor. */
  async #actorFor({ method, path, again, inPages }: Case, size: 'little' | 'much'): Promise<TestActor> {
    if (again !== undefined) return actorOf(this.service, size)
    if (method !== 'GET' || path.includes('/actions/'))
      return this.#unchanged[size].pop() ?? actorOf(this.service, size)
    if (inPages !== undefined) return actorOf(this.service, size, 300)
    return this.#readingActor(size)
  }

  /** Lets the next request have the actor, unless the last one may have changed it or loaded one of its lists into memory. */
  #giveBack({ method, path }: Case, size: 'little' | 'much', actor: TestActor): void {
    const isRead = method === 'GET' && !path.includes('/actions/')
    const hasEffect = /\b(?:INSERT|UPDATE|DELETE|list_\w+)\b/
    if (
      !isRead &&
      ![...this.service.statements, ...this.service.backgroundStatements].some((sql) => hasEffect.test(sql))
    )
      this.#unchanged[size].push(actor)
  }

  #readingActor(size: 'little' | 'much'): Promise<TestActor> {
    const known = this.#forReading.get(size) ?? actorOf(this.service, size, 300)
    this.#forReading.set(size, known)
    return known
  }

  #tokenOfNamed({ id }: TestActor): string {
    return this.#callers.as(id, (via) => ({
      kind: 'peer',
      peerId: samplePeer,
      relationship: 'friend',
      approved: true,
      via,
    }))
  }

  async assertCosts(request: Case): Promise<void> {
    const { status, rules } = request
    const dialect = this.service.databaseUrl.startsWith('sqlite:') ? 'sqlite' : 'postgres'
    const statements = statementsOf(request, dialect)
    for (const size of ['little', 'much'] as const) {
      const owned = await this.#actorFor(request, size)
      const named = request.byNamedPeer === true ? `Bearer ${this.#tokenOfNamed(owned)}` : null
      const session = request.bySession === true ? `Bearer ${this.#callers.session(owned.id)}` : null
      this.service.reset()
      const answer = await send(this.service, request, owned, named ?? session ?? owned.authorization)
      await answer.text()
      const expectedOfOwner = size === 'much' ? (request.inPages ?? statements) : statements
      assert.deepEqual(
        [answer.status, countOf(this.service.statements)],
        [status, expectedOfOwner],
        `the owner of ${size}`,
      )
      this.#giveBack(request, size, owned)
      if (named !== null) continue

      // A refused request changes nothing.
      const shared = rules === null ? await this.#readingActor(size) : await this.#actorFor(request, size)
      const peer = this.#callers.peer(shared.id, { grants: everything })
      this.service.reset()
      this.#callers.rulesRead = 0
      const shown = await send(this.service, request, shared, `Bearer ${peer}`)
      await shown.text()
      const { withToken = { status, statements } } = request
      const expected = rules === null ? [403, request.refusal ?? 1, 0] : [withToken.status, withToken.statements, rules]
      assert.deepEqual(
        [shown.status, countOf(this.service.statements), this.#callers.rulesRead],
        expected,
        `a peer of the owner of ${size}`,
      )
      if (rules !== null && request.again === undefined) this.#giveBack(request, size, shared)
      if (request.again === undefined) continue
      this.service.reset()
      await (await send(this.service, request, shared, `Bearer ${peer}`)).text()
      assert.equal(countOf(this.service.statements), request.again, `a peer of the owner of ${size}, again`)
    }
  }
}
