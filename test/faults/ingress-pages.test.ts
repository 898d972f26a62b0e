/** Answers of an ingress, which stands before the service of a peer, and answers for it during a deployment. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { relate } from '../support/friends.ts'
import { copyOf } from '../support/interrupted-moves.ts'
import { ManualClock, passUntil } from '../support/manual-clock.ts'
import { forEachService, type TestActor } from '../support/service.ts'
import { ServiceNetwork } from '../support/service-network.ts'
import { until } from '../support/until.ts'

/** The pages of nginx, of Traefik, of the default backend of Kubernetes, and of a sign-in and a firewall before the service. */
const pages: readonly (readonly [status: number, body: string, headers: Record<string, string>])[] = [
  [404, '<html><head><title>404 Not Found</title></head></html>', { 'content-type': 'text/html' }],
  [404, '404 page not found\n', { 'content-type': 'text/plain' }],
  [404, 'default backend - 404', { 'content-type': 'text/plain' }],
  [410, '<h1>Gone</h1>', { 'content-type': 'text/html' }],
  [302, '<a href="https://sign-in.example.com/">Found</a>', { location: 'https://sign-in.example.com/' }],
  [401, 'Unauthorized', {}],
  [403, '<h1>Forbidden</h1>', { 'content-type': 'text/html' }],
  [502, '<h1>Bad Gateway</h1>', { 'content-type': 'text/html' }],
  // A sign-in that answers every request.
  [200, '\r\n<!DOCTYPE html><title>Sign in</title>', { 'content-type': 'text/html' }],
]

forEachService((start) => {
  /** Bob has a copy of the data of Alice, whose service is another one. */
  async function world() {
    const clock = new ManualClock()
    const network = new ServiceNetwork()
    const common = { now: clock.now, timers: clock.timers, random: () => 1, peerClient: network }
    const here = await start({ ...common, baseUrl: 'https://alice.example.com' })
    const there = await start({ ...common, baseUrl: 'https://bob.example.com' })
    for (const service of [here, there]) network.add(service)
    const alice = await here.createActor('alice@example.com')
    const bob = await there.createActor('bob@example.com')
    await relate(bob, [here, alice])
    const wanted = { peerid: alice.id, target: 'properties', granularity: 'high' }
    assert.ok((await bob.request('POST', '/subscriptions', wanted)).ok)
    await alice.request('POST', '/properties', { log: { _type: 'list' } })
    await alice.request('POST', '/properties/log', '1')
    await until(async () => (await copyOf(bob, alice)).length === 1)
    const services = [here, there]
    let refused = 0
    return {
      network,
      here,
      there,
      alice,
      bob,
      until: (holds: () => boolean | Promise<boolean>) => passUntil(clock, services, holds, 60_000),
      refused: () => refused,
      /** The ingress of the service answers all requests, or forwards them again. */
      ingressOf: (service: typeof here, page: (typeof pages)[number] | null) => {
        if (page === null) network.add(service)
        else
          network.serve(service.url, async () => {
            refused += 1
            const [status, body, headers] = page
            return new Response(body, { status, headers })
          })
      },
    }
  }

  const count = async (actor: TestActor, path: string): Promise<number> => {
    const answer = await actor.request('GET', path)
    if (answer.status === 404) return 0
    const found = (await answer.json()) as { data: unknown[] } | unknown[]
    return (Array.isArray(found) ? found : found.data).length
  }

  describe('a message to a peer that an ingress answers', () => {
    it('about the end of a subscription or a relationship, and a change, arrives when the ingress forwards it (SUB-27, SUB-32)', async () => {
      const made = await world()
      const { alice, bob, here, there } = made
      for (const [turn, page] of pages.entries()) {
        const [status, body] = page
        const what = `${status} ${body}`
        made.ingressOf(there, page)
        const before = made.refused()
        await alice.request('POST', '/properties/log', String(turn + 2))
        await made.until(() => made.refused() > before)
        made.ingressOf(there, null)
        await made.until(async () => (await copyOf(bob, alice)).length === turn + 2)
        const carol = await there.createActor(`carol${turn}@example.com`)
        await relate(carol, [here, alice])
        const held = `/trust/friend/${alice.id}`
        made.ingressOf(there, page)
        const begun = made.refused()
        assert.equal((await alice.request('DELETE', `/trust/friend/${carol.id}`)).status, 204, what)
        await made.until(() => made.refused() > begun)
        assert.equal((await carol.request('GET', held)).status, 200, what)
        made.ingressOf(there, null)
        await made.until(async () => (await carol.request('GET', held)).status === 404)
      }
      const id = (
        (await (await alice.request('GET', '/subscriptions')).json()) as { data: { subscriptionid: string }[] }
      ).data[0]?.subscriptionid
      made.ingressOf(there, pages[0] ?? null)
      const begun = made.refused()
      assert.equal((await alice.request('DELETE', `/subscriptions/${bob.id}/${id}`)).status, 204)
      await made.until(() => made.refused() > begun)
      assert.equal(await count(bob, '/subscriptions'), 1)
      made.ingressOf(there, null)
      await made.until(async () => (await count(bob, '/subscriptions')) === 0)
    })
  })

  describe('a fetch from a peer that an ingress answers', () => {
    it('leaves the copy as it is, and is repeated (SUB-27)', async () => {
      const made = await world()
      const { alice, bob, here, there } = made
      const handle = await there.app.actors.get(bob.id)
      assert.ok(handle)
      for (const page of pages) {
        made.ingressOf(here, page)
        const before = made.refused()
        await handle.sync(alice.id)
        assert.ok(made.refused() > before)
        assert.deepEqual(await copyOf(bob, alice), [1], `${page[0]} ${page[1]}`)
        assert.equal((await bob.request('GET', `/trust/friend/${alice.id}`)).status, 200)
        assert.equal(await count(bob, '/subscriptions'), 1)
      }
      made.ingressOf(here, null)
      await handle.sync(alice.id)
      assert.deepEqual(await copyOf(bob, alice), [1])
    })
  })
})
