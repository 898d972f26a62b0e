/** A worker of a Citus cluster that is down: its actors wait, and the others continue. */
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { PeerOutcome } from '../../src/peer/peer-client.ts'
import { type Cluster, createCluster } from '../support/cluster.ts'
import { relateTo } from '../support/recording-peer.ts'
import { startService, type TestActor, type TestService } from '../support/service.ts'
import { until } from '../support/until.ts'

/** Peers that record each callback, by actor, and refuse as many calls as a test wants. */
class Peers {
  readonly sequences = new Map<string, number[]>()
  /** Calls per actor that are answered with 503. */
  readonly busy = new Map<string, number>()

  async call({ url, body }: { readonly url: string; readonly body?: unknown }): Promise<PeerOutcome> {
    const actorId = new URL(url).pathname.split('/').at(-2) ?? ''
    const left = this.busy.get(actorId) ?? 0
    this.busy.set(actorId, left - 1)
    if (left > 0) return { kind: 'answered', status: 503, headers: {}, body: '' }
    const { sequence } = JSON.parse(String(body)) as { sequence: number }
    this.sequences.set(actorId, [...(this.sequences.get(actorId) ?? []), sequence])
    return { kind: 'answered', status: 204, headers: {}, body: '' }
  }

  async close(): Promise<void> {}

  of(actor: TestActor): readonly number[] {
    return this.sequences.get(actor.id) ?? []
  }
}

interface Owner {
  readonly actor: TestActor
  /** The number of committed changes, and the last value. */
  changes: number
  value: string
}

describe('a cluster with a worker that is down', () => {
  const peers = new Peers()
  let cluster: Cluster
  let services: TestService[]
  /** Two actors on each worker. */
  let living: Owner[]
  let dead: Owner[]

  before(async () => {
    cluster = await createCluster()
    const first = await startService(cluster.url, { peerClient: peers })
    const second = await startService(cluster.url, { peerClient: peers })
    // A process at the worker that stays up.
    const third = await startService(cluster.workers[0]?.url ?? '', { peerClient: peers })
    services = [first, second, third]
    const places: Owner[][] = [[], []]
    while (places.some((owners) => owners.length < 2)) {
      const actor = await first.createActor(`owner${places.flat().length}-${Math.random()}@example.com`)
      const place = places[await cluster.placeOf(actor.id)]
      if (place === undefined || place.length === 2) continue
      const peer = await relateTo(first, actor, { baseuri: 'http://peer.test/them' })
      await peer.subscribe({ granularity: 'high' })
      place.push({ actor, changes: 0, value: '' })
    }
    ;[living, dead] = places as [Owner[], Owner[]]
  })

  after(async () => {
    for (const service of services) await service.close()
    await cluster.remove()
  })

  /** Sends a change through one of the services. Resolves with the status. */
  async function change(owner: Owner, service = services[0] as TestService): Promise<number> {
    const value = `value ${owner.changes + 1}`
    const { id, authorization } = owner.actor
    const answer = await service.request(`/${id}/properties/mood`, {
      method: 'PUT',
      headers: { authorization, 'content-type': 'application/json' },
      body: JSON.stringify(value),
    })
    if (answer.status === 204) {
      owner.changes += 1
      owner.value = value
    }
    await answer.body?.cancel()
    return answer.status
  }

  /** Changes the actors until its end. Returns the statuses of each actor. */
  function writing(owners: readonly Owner[]): { end(): Promise<ReadonlySet<number>[]> } {
    const state = { isOver: false }
    const writers = owners.map(async (owner, index) => {
      const statuses = new Set<number>()
      while (!state.isOver) statuses.add(await change(owner, services[index % services.length]))
      return statuses
    })
    return {
      end: () => {
        state.isOver = true
        return Promise.all(writers)
      },
    }
  }

  /** Every committed change was delivered once, in order. */
  async function delivered(owners: readonly Owner[]): Promise<void> {
    await until(() => owners.every(({ actor, changes }) => peers.of(actor).length >= changes))
    for (const { actor, changes } of owners)
      assert.deepEqual(
        peers.of(actor),
        Array.from({ length: changes }, (_, index) => index + 1),
      )
  }

  it('serves all actors before', async () => {
    for (const owner of [...living, ...dead]) assert.equal(await change(owner), 204)
    await delivered([...living, ...dead])
    // The outcome of a callback is stored after the response. Without it, the callback is sent again.
    for (const service of services) await service.settled()
  })

  it('answers requests for actors of the worker with 503, and requests for others as before', async () => {
    await cluster.workers[1]?.stop()
    for (const service of services) {
      for (const owner of living) assert.equal(await change(owner, service), 204)
      for (const { actor } of dead) {
        const { id, authorization } = actor
        const read = await service.request(`/${id}/properties/mood`, { headers: { authorization } })
        assert.equal(read.status, 503)
        assert.equal(((await read.json()) as { error: string }).error, 'store_unavailable')
        assert.equal(read.headers.get('retry-after'), '1')
      }
      for (const owner of dead) assert.equal(await change(owner, service), 503)
    }
  })

  it('sends the callbacks of other actors', () => delivered(living))

  it('finds retries of other actors', async () => {
    const [owner] = living as [Owner]
    peers.busy.set(owner.actor.id, 2)
    assert.equal(await change(owner), 204)
    await delivered(living)
    assert.ok((peers.busy.get(owner.actor.id) ?? 0) <= 0)
  })

  it('is ready, and lets a process start', async () => {
    const started = await startService(cluster.url, { peerClient: peers })
    services.push(started)
    for (const service of services) assert.equal((await service.request('/health/ready')).status, 200)
    for (const owner of living) assert.equal(await change(owner, started), 204)
    await delivered(living)
  })

  it('loses and repeats no change and no callback when the worker returns under load', async () => {
    const load = writing([...living, ...dead])
    await until(() => living.every(({ changes }) => changes > 20))
    const before = dead.map(({ changes }) => changes)
    await cluster.workers[1]?.start()
    await until(() => dead.every(({ changes }, index) => changes > (before[index] ?? 0) + 10))
    const [one, two, ...others] = await load.end()
    assert.deepEqual([one, two], [new Set([204]), new Set([204])])
    for (const statuses of others) assert.deepEqual(statuses, new Set([204, 503]))
    await delivered([...living, ...dead])
    for (const { actor, value } of [...living, ...dead]) {
      const read = await actor.request('GET', '/properties/mood', undefined, { accept: 'text/plain' })
      assert.equal(await read.text(), value)
    }
  })

  it('loses and repeats no change and no callback when rows move to another worker under load', async () => {
    const load = writing(living)
    const [owner] = living as [Owner]
    await cluster.move(owner.actor.id, 1)
    assert.equal(await cluster.placeOf(owner.actor.id), 1)
    const before = owner.changes
    await until(() => owner.changes > before + 10)
    for (const statuses of await load.end())
      assert.deepEqual(
        [...statuses].filter((one) => ![204, 503].includes(one)),
        [],
      )
    await delivered(living)
    for (const { actor, value } of living) {
      const read = await actor.request('GET', '/properties/mood', undefined, { accept: 'text/plain' })
      assert.equal(await read.text(), value)
    }
  })
})
