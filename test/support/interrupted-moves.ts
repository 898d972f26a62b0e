/** Moves that a test interrupts, and the check that the actor is at one service afterwards. */
import assert from 'node:assert/strict'
import { ServiceError } from '../../src/errors.ts'
import type { Store } from '../../src/store/store.ts'
import { numbersOfRun } from './day.ts'
import { relate } from './friends.ts'
import { addressAt, arrivedAt, movingWorld, type MovingWorld, newUrl, secretAt, takeAt } from './moving.ts'
import type { StartOptions, TestActor, TestService } from './service.ts'
import { until } from './until.ts'

/** A store of a process that is killed at a write: before it, or after its commit and before its answer. */
export class DyingStore {
  #left: number | null = null
  #isBefore = false
  #isDead = false
  onDeath: () => void = () => {}

  get isDead(): boolean {
    return this.#isDead
  }

  /** Kills the process at the write with this number, from now on. */
  dieAt(write: number, isBefore: boolean): void {
    this.#left = write
    this.#isBefore = isBefore
  }

  readonly wrap = (inner: Store): Store => ({
    dialect: inner.dialect,
    now: inner.now,
    isSharded: inner.isSharded,
    read: (work) => this.#alive(() => inner.read(work)),
    snapshot: (work) => this.#alive(() => inner.snapshot(work)),
    readAllServers: (sql, ...params) => this.#alive(() => inner.readAllServers(sql, ...params)),
    write: (work, how) => this.#write(() => inner.write(work, how)),
    writeActor: (id, work, origin) => this.#write(() => inner.writeActor(id, work, origin)),
    ping: () => this.#alive(() => inner.ping()),
    usage: () => this.#alive(() => inner.usage()),
    close: () => inner.close(),
  })

  #alive<T>(work: () => Promise<T>): Promise<T> {
    return this.#isDead ? Promise.reject(dead()) : work()
  }

  async #write<T>(work: () => Promise<T>): Promise<T> {
    if (this.#isDead) throw dead()
    const isLast = this.#left !== null && --this.#left === 0
    if (isLast && this.#isBefore) this.#die()
    const result = await this.#alive(work)
    if (isLast) {
      this.#die()
      throw dead()
    }
    return result
  }

  #die(): void {
    this.#isDead = true
    this.onDeath()
  }
}

function dead(): ServiceError {
  return new ServiceError('store_unavailable', 'The process was killed')
}

/** The leases of the killed process are over. Attempts still have pauses: the process works before the network finds it. */
export const later = { now: () => Date.now() + 60_000, random: () => 0.1 }

interface Related {
  readonly alice: TestActor
  readonly bob: TestActor
  readonly secret: string
}

export async function related(world: MovingWorld): Promise<Related> {
  const alice = await world.old.createActor('alice@example.com')
  const bob = await world.peers.createActor('bob@example.com')
  const { secret } = await relate(bob, [world.old, alice])
  const wanted = { peerid: alice.id, target: 'properties', granularity: 'high' }
  assert.ok((await bob.request('POST', '/subscriptions', wanted)).ok)
  assert.ok((await alice.request('POST', '/properties', { log: { _type: 'list' }, note: { text: 'one' } })).ok)
  assert.ok((await alice.request('POST', '/properties/log', '1')).ok)
  await until(async () => (await copyOf(bob, alice)).length === 1)
  return { alice, bob, secret }
}

export async function copyOf(bob: TestActor, alice: TestActor): Promise<readonly unknown[]> {
  const answer = await bob.request('GET', `/remote/${alice.id}/log/items`)
  if (answer.status !== 200) return []
  return ((await answer.json()) as { items: { item: unknown }[] }).items.map(({ item }) => item)
}

export const statusAt = async (service: TestService, path: string): Promise<number> =>
  (await service.request(path)).status

async function passphraseAt(service: TestService, { id }: TestActor): Promise<string> {
  const { actors } = (await service.app.running()).parts
  return actors.passphraseOf(await actors.require(id))
}

export async function asOwner(service: TestService, actor: TestActor, method: string, path: string, body?: unknown) {
  const authorization = `Basic ${btoa(`${actor.creator}:${await passphraseAt(service, actor)}`)}`
  return service.request(`/${actor.id}${path}`, {
    method,
    headers: { authorization, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
}

/** Each service has connections to the database, which has only some. */
export async function closeAll({ old, home, peers }: Pick<MovingWorld, 'old' | 'home' | 'peers'>): Promise<void> {
  await Promise.all([old.close(), home.close(), peers.close()])
}

/** Checks that the actor is at exactly one service, with its content, and that its peer knows that one. */
export async function assertOneHome(
  { old, home, peers }: Pick<MovingWorld, 'old' | 'home' | 'peers'>,
  { alice, bob, secret }: Related,
  isMoved: boolean,
): Promise<void> {
  const [here, away] = isMoved ? [home, old] : [old, home]
  await until(async () => (await statusAt(here, `/${alice.id}/meta`)) === 200)
  if (isMoved) await arrivedAt(home, alice)
  assert.equal(await statusAt(away, `/${alice.id}/meta`), isMoved ? 308 : 404)
  await until(async () => (await addressAt(peers, bob.id, alice.id)) === `${here.url}/${alice.id}`)
  await until(async () => (await secretAt(peers, bob.id, alice.id)) === (await secretAt(here, alice.id, bob.id)))
  assert.equal((await secretAt(here, alice.id, bob.id)) === secret, !isMoved)
  assert.deepEqual(await (await asOwner(here, alice, 'GET', '/properties/note')).json(), { text: 'one' })
  assert.ok((await asOwner(here, alice, 'POST', '/properties/log', 2)).ok)
  await until(async () => (await copyOf(bob, alice)).length >= 2)
  assert.deepEqual(await copyOf(bob, alice), [1, 2])
}

/** Kills the service at the writes of a move that are of this run, and starts it again: the actor is then at one service. */
export async function killAtEachWrite(
  start: (options?: StartOptions) => Promise<TestService>,
  side: 'old' | 'home',
  isBefore: boolean,
): Promise<void> {
  let moves = 0
  for (const write of numbersOfRun()) {
    const store = new DyingStore()
    // Without pauses, the other service would give up before this one is started again.
    const world = await movingWorld(start, { all: { random: () => 0.1 }, [side]: { wrapStore: store.wrap } })
    const all = await related(world)
    // A message to the peer waits, and the archive takes it along.
    world.network.fate = ({ url: to }) => (to.includes('/callbacks/permissions/') ? 'unreached' : 'arrives')
    const rights = { properties: { excluded_patterns: ['secret/*'] } }
    assert.ok((await all.alice.request('PUT', `/trust/friend/${all.bob.id}/permissions`, rights)).ok)
    const { url } = world[side]
    store.onDeath = () => world.network.remove(url)
    store.dieAt(write, isBefore)
    const begun = await all.alice.request('POST', '/move', { to: newUrl })
    const isMoved = async (): Promise<boolean> =>
      (await statusAt(world.home, `/${all.alice.id}/meta`)) === 200 &&
      (await takeAt(world.home, all.alice)) &&
      (await secretAt(world.peers, all.bob.id, all.alice.id)) !== all.secret &&
      (await (await world.old.app.running()).parts.actors.find(all.alice.id)) === null
    if (begun.status === 202) await until(async () => store.isDead || (await isMoved().catch(() => false)))
    if (!store.isDead) break
    await world[side].close()
    const again = await start({
      ...later,
      baseUrl: url,
      peerClient: world.network,
      acceptMoves: true,
      database: world[side].databaseUrl,
    })
    world.network.add(again)
    const after = { ...world, [side]: again }
    for (const service of [after.old, after.home]) (await service.app.running()).parts.jobs.wake()
    const isFrozen = begun.status === 202 || (await statusAt(after.old, `/${all.alice.id}/meta`)) !== 200
    await assertOneHome(after, all, isFrozen)
    if (isFrozen) moves += 1
    await closeAll(after)
  }
  assert.ok(moves >= 2, `only ${moves} moves were interrupted`)
}
