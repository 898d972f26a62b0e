import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Live } from '../../src/live/live.ts'
import { relate } from '../support/friends.ts'
import { forEachService, type TestActor, type TestService } from '../support/service.ts'
import { OwnersBrowser, signIn } from '../support/sessions.ts'
import { until } from '../support/until.ts'

/** What is told while the owner looks on, as `category name`; the names of things that are made anew are left out. */
class Watch {
  readonly #controller = new AbortController()
  readonly #told: string[] = []
  #ended: Promise<void> = Promise.resolve()

  static async begin(service: TestService, actor: TestActor): Promise<Watch> {
    const { parts } = await service.app.running()
    const watch = new Watch()
    watch.#ended = watch.#collect(parts.live, actor.id)
    // The first change that is told shows that the watch is in place.
    let attempt = 0
    await until(async () => {
      await actor.request('PUT', '/properties/begin', String(attempt++))
      return watch.#told.length > 0
    })
    watch.#told.length = 0
    return watch
  }

  async #collect(live: Live, actorId: string): Promise<void> {
    for await (const batch of live.watch(actorId, this.#controller.signal)) {
      for (const { category, name } of batch) this.#told.push(`${category} ${name}`)
    }
  }

  /** Waits until `count` of other things than the beginning were told. */
  async next(count: number): Promise<string[]> {
    const of = (): string[] => this.#told.filter((each) => each !== 'properties begin')
    await until(() => of().length >= count)
    const found = of()
    this.#told.length = 0
    return found
  }

  /** What was told until now, each once. */
  async soFar(actor: TestActor): Promise<string[]> {
    await actor.request('PUT', '/properties/now', 'x')
    await until(() => this.#told.includes('properties now'))
    const found = this.#told.splice(0).filter((each) => !/^properties (begin|now)$/.test(each))
    return [...new Set(found)]
  }

  async end(): Promise<void> {
    this.#controller.abort()
    await this.#ended
  }
}

forEachService((start) => {
  describe('what is told to those who look on', () => {
    it('R-WEB-01 R-TRUST-01 a relationship that is asked for, approved, given other rights and ended, on either side', async () => {
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
      // The peer hears of it.
      assert.deepEqual(await other.next(1), [`trust ${actor.id}`])
      await actor.request('PUT', `/trust/friend/${peer.id}/permissions`, { properties: { patterns: ['x'] } })
      assert.deepEqual(await watch.next(1), [`trust ${peer.id}`])
      await actor.request('DELETE', `/trust/friend/${peer.id}/permissions`)
      assert.deepEqual(await watch.next(1), [`trust ${peer.id}`])
      await actor.request('DELETE', `/trust/friend/${peer.id}`)
      assert.deepEqual(await watch.next(1), [`trust ${peer.id}`])
      assert.deepEqual(await other.next(1), [`trust ${actor.id}`])
      await Promise.all([watch.end(), other.end()])
    })

    it('R-WEB-01 R-SUB-01 a subscription that begins and ends, on either side', async () => {
      const service = await start({ listen: true })
      const actor = await service.createActor()
      const peer = await service.createActor('peer@example.com')
      await relate(peer, [service, actor])
      const watch = await Watch.begin(service, actor)
      const other = await Watch.begin(service, peer)
      const answer = await peer.request('POST', '/subscriptions', { peerid: actor.id, target: 'properties' })
      const id = answer.headers.get('location')?.split('/').at(-1)
      assert.deepEqual(await watch.next(1), [`subscriptions ${id}`])
      assert.deepEqual(await other.soFar(peer), [`subscriptions ${id}`])
      await peer.request('DELETE', `/subscriptions/${actor.id}/${id}`)
      assert.deepEqual(await other.soFar(peer), [`subscriptions ${id}`])
      assert.deepEqual(await watch.next(1), [`subscriptions ${id}`])
      await Promise.all([watch.end(), other.end()])
    })

    it('R-WEB-01 R-SUB-04 a change that was delivered, to the one who told it and to the one who was told', async () => {
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
      assert.deepEqual(await other.next(1), [`subscriptions ${id}`])
      await Promise.all([watch.end(), other.end()])
    })

    it('R-WEB-01 R-TOK-01 a session that begins, is ended elsewhere, and signs out', async () => {
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

    it('R-WEB-01 R-TOK-06 that all other sessions end, once there are others', async () => {
      const service = await start({ devtest: true })
      const actor = await service.createActor()
      const browser = await OwnersBrowser.open(service, actor)
      const watch = await Watch.begin(service, actor)
      assert.equal((await browser.send('/apps', { action: 'end_other_sessions' })).status, 302)
      assert.deepEqual(await watch.soFar(actor), [])
      await signIn(service, actor)
      await watch.next(1)
      assert.equal((await browser.send('/apps', { action: 'end_other_sessions' })).status, 302)
      const told = await watch.soFar(actor)
      assert.equal(told.length, 1)
      assert.match(told[0] ?? '', /^sessions [\w-]{22}$/)
      await watch.end()
    })

    it('costs no statement while nobody looks on', async () => {
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
  })
})
