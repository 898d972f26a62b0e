import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { untilWatched } from '../support/stored.ts'
import { ManualClock } from '../support/manual-clock.ts'
import type { Live } from '../../src/live/live.ts'
import { relate } from '../support/friends.ts'
import { forEachService, type TestActor, type TestService } from '../support/service.ts'
import { OwnersBrowser, signIn } from '../support/sessions.ts'
import { until } from '../support/until.ts'

/** Collects the live changes of an actor as `category name`. */
class Watch {
  readonly #controller = new AbortController()
  readonly #changes: string[] = []
  #ended: Promise<void> = Promise.resolve()

  static async begin(service: TestService, actor: TestActor): Promise<Watch> {
    const { parts } = await service.app.running()
    const watch = new Watch()
    watch.#ended = watch.#collect(parts.live, actor.id)
    // The first reported change shows that the watch has begun.
    let attempt = 0
    await until(async () => {
      await actor.request('PUT', '/properties/begin', String(attempt++))
      return watch.#changes.length > 0
    })
    watch.#changes.length = 0
    return watch
  }

  async #collect(live: Live, actorId: string): Promise<void> {
    for await (const batch of live.watch(actorId, this.#controller.signal)) {
      for (const { category, name } of batch) this.#changes.push(`${category} ${name}`)
    }
  }

  /** Waits for `count` changes other than those of `begin`. */
  async next(count: number): Promise<string[]> {
    const of = (): string[] => this.#changes.filter((each) => each !== 'properties begin')
    await until(() => of().length >= count)
    const found = of()
    this.#changes.length = 0
    return found
  }

  /** Returns the distinct changes until now. */
  async soFar(actor: TestActor): Promise<string[]> {
    await actor.request('PUT', '/properties/now', 'x')
    await until(() => this.#changes.includes('properties now'))
    const found = this.#changes.splice(0).filter((each) => !/^properties (begin|now)$/.test(each))
    return [...new Set(found)]
  }

  has(change: string): boolean {
    return this.#changes.includes(change)
  }

  async end(): Promise<void> {
    this.#controller.abort()
    await this.#ended
  }
}

forEachService((start) => {
  describe('live changes', () => {
    it('report a relationship that is requested, approved, given other permissions and deleted, to both actors (R-LIVE-01, R-TRUST-01)', async () => {
      const service = await start({ listen: true })
      const actor = await service.createActor()
      const peer = await service.createActor('peer@example.com')
      const watch = await Watch.begin(service, actor)
      const other = await Watch.begin(service, peer)
      await relate(peer, [service, actor], 'friend', false)
      assert.deepEqual(await watch.next(1), [`trust ${peer.id}`])
      assert.deepEqual(await other.next(2), [`trust ${actor.id}`, `trust ${actor.id}`])
      await actor.request('PUT', `/trust/friend/${peer.id}`, { approved: true })
      assert.deepEqual(await watch.next(1), [`trust ${peer.id}`])
      // The peer receives the approval.
      assert.deepEqual(await other.next(1), [`trust ${actor.id}`])
      await actor.request('PUT', `/trust/friend/${peer.id}/permissions`, { properties: { patterns: ['x'] } })
      assert.deepEqual(await watch.next(1), [`trust ${peer.id}`])
      await actor.request('DELETE', `/trust/friend/${peer.id}/permissions`)
      assert.deepEqual(await watch.next(1), [`trust ${peer.id}`])
      await actor.request('DELETE', `/trust/friend/${peer.id}`)
      assert.deepEqual(await watch.next(1), [`trust ${peer.id}`])
      // The copies of the peer's data end with the relationship, if there are any yet.
      await until(() => other.has(`trust ${actor.id}`))
      const ended = (await other.soFar(peer)).filter((change) => change !== `remote ${actor.id}`)
      assert.deepEqual(ended, [`trust ${actor.id}`])
      await Promise.all([watch.end(), other.end()])
    })

    it('report a subscription that begins and ends, to both actors (R-LIVE-01, R-SUB-01)', async () => {
      const service = await start({ listen: true })
      const actor = await service.createActor()
      const peer = await service.createActor('peer@example.com')
      await relate(peer, [service, actor])
      const watch = await Watch.begin(service, actor)
      const other = await Watch.begin(service, peer)
      const answer = await peer.request('POST', '/subscriptions', { peerid: actor.id, target: 'properties' })
      const id = answer.headers.get('location')?.split('/').at(-1)
      assert.deepEqual(await watch.next(1), [`subscriptions ${id}`])
      assert.deepEqual(await other.soFar(peer), [`subscriptions ${id}`, `remote ${actor.id}`])
      await peer.request('DELETE', `/subscriptions/${actor.id}/${id}`)
      assert.deepEqual(await other.soFar(peer), [`subscriptions ${id}`, `remote ${actor.id}`])
      assert.deepEqual(await watch.next(1), [`subscriptions ${id}`])
      await Promise.all([watch.end(), other.end()])
    })

    it('report a delivered diff to the publisher and to the subscriber (R-LIVE-01, R-SUB-04)', async () => {
      const service = await start({ listen: true })
      const actor = await service.createActor()
      const peer = await service.createActor('peer@example.com')
      await relate(peer, [service, actor])
      const wish = { peerid: actor.id, target: 'properties', subtarget: 'color', granularity: 'high' }
      const answer = await peer.request('POST', '/subscriptions', wish)
      const id = answer.headers.get('location')?.split('/').at(-1)
      const watch = await Watch.begin(service, actor)
      const other = await Watch.begin(service, peer)
      await actor.request('PUT', '/properties/color', 'blue')
      assert.deepEqual(await watch.next(2), ['properties color', `subscriptions ${id}`])
      assert.deepEqual(await other.next(2), [`subscriptions ${id}`, `remote ${actor.id}`])
      await Promise.all([watch.end(), other.end()])
    })

    it('report a session that begins, is ended elsewhere, or signs out (R-LIVE-01, R-TOK-01)', async () => {
      const service = await start()
      const actor = await service.createActor()
      const watch = await Watch.begin(service, actor)
      const token = await signIn(service, actor)
      const [begun] = await watch.next(1)
      assert.match(begun ?? '', /^sessions [\w-]{22}$/)
      await actor.request('DELETE', `/sessions/${begun?.slice('sessions '.length)}`)
      assert.deepEqual(await watch.next(1), [begun])
      await signIn(service, actor)
      const [second] = await watch.next(1)
      assert.notEqual(second, begun)
      assert.equal((await actor.request('DELETE', '/sessions/none')).status, 404)
      assert.equal(
        (await service.request(`/${actor.id}/properties`, { headers: { authorization: `Bearer ${token}` } })).status,
        401,
      )
      const third = await signIn(service, actor)
      const [signedIn] = await watch.next(1)
      await service.request('/oauth/logout', { method: 'POST', headers: { authorization: `Bearer ${third}` } })
      assert.deepEqual(await watch.next(1), [signedIn])
      await watch.end()
    })

    it('report the end of the other sessions only when there are any (R-LIVE-01, R-TOK-06)', async () => {
      const service = await start({ devtest: true })
      const actor = await service.createActor()
      const browser = await OwnersBrowser.open(service, actor)
      const watch = await Watch.begin(service, actor)
      assert.equal((await browser.send('/apps', { action: 'end_other_sessions' })).status, 302)
      assert.deepEqual(await watch.soFar(actor), [])
      await signIn(service, actor)
      await watch.next(1)
      assert.equal((await browser.send('/apps', { action: 'end_other_sessions' })).status, 302)
      const changes = await watch.soFar(actor)
      assert.equal(changes.length, 1)
      assert.match(changes[0] ?? '', /^sessions [\w-]{22}$/)
      await watch.end()
    })

    it('cost no statement while no browser watches', async () => {
      const service = await start()
      const actor = await service.createActor()
      await actor.request('POST', '/trust/friend', { baseuri: 'https://peer.example.com/1', id: 'one' })
      service.reset()
      await actor.request('PUT', '/trust/friend/one', { approved: true })
      await signIn(service, actor)
      assert.deepEqual(
        service.statements.filter((sql) => /recent_change|version/.test(sql)),
        [],
      )
    })

    it('are deleted an hour after their stream ended', async () => {
      const clock = new ManualClock()
      const service = await start({ now: clock.now, timers: clock.timers })
      const actor = await service.createActor()
      const { parts, store } = await service.app.running()
      const ending = new AbortController()
      const changes = parts.live.watch(actor.id, ending.signal)
      const first = changes.next()
      await untilWatched(service, actor)
      await actor.request('PUT', '/properties/diary', 'secret')
      await first
      ending.abort()
      await changes.return(undefined)
      const stored = async (): Promise<number | undefined> =>
        (await store.read((q) => q.get<{ n: number }>('SELECT COUNT(*) AS n FROM recent_change')))?.n
      assert.equal(await stored(), 1)
      parts.jobs.wake()
      await parts.jobs.settled()
      clock.pass(3_600_000)
      await until(async () => (await stored()) === 0)
    })
  })
})
