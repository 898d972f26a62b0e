/** Copies after an actor has moved whose owner changed the rights of its subscribers before or after the move. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { asOwner, related } from '../support/interrupted-moves.ts'
import { ManualClock, passUntil } from '../support/manual-clock.ts'
import { movingWorld, takeAt } from '../support/moving.ts'
import { PythonPeer } from '../support/python-peer.ts'
import { PythonSubscriber } from '../support/python-subscriptions.ts'
import { forEachService, type StartOptions, type TestService } from '../support/service.ts'

forEachService((start) => {
  describe('the copies of subscribers after a move', () => {
    it('lose what its owner hid while callbacks did not arrive and the actor moved (MOV-23, SUB-24)', async () => {
      const world = await rightsWorld(start)
      const { hide, copies, move, down } = world
      assert.deepEqual(await copies(), [
        ['note', 'salary'],
        ['note', 'salary'],
      ])
      down(true)
      await hide(true)
      await move()
      down(false)
      await world.until(async () => (await copies()).every((names) => !names.includes('salary')))
      assert.deepEqual(await copies(), [['note'], ['note']])
    })

    it('get what its owner showed while callbacks did not arrive and the actor moved (MOV-23, SUB-24)', async () => {
      const world = await rightsWorld(start)
      const { hide, copies, move, down } = world
      await hide(true)
      await world.until(async () => (await copies()).every((names) => !names.includes('salary')))
      down(true)
      await hide(false)
      await world.put('salary', { amount: 120 })
      await move()
      down(false)
      await world.until(async () => (await copies()).every((names) => names.includes('salary')))
      assert.deepEqual(await world.salaries(), [{ amount: 120 }, { amount: 120 }])
    })

    it('follow the rights that its owner changes at the new service (MOV-23, SUB-24)', async () => {
      const world = await rightsWorld(start)
      const { hide, copies, move } = world
      await move()
      await hide(true)
      await world.until(async () => (await copies()).every((names) => !names.includes('salary')))
      assert.deepEqual(await copies(), [['note'], ['note']])
      await world.put('salary', { amount: 130 })
      await hide(false)
      await world.until(async () => (await copies()).every((names) => names.includes('salary')))
      assert.deepEqual(await world.salaries(), [{ amount: 130 }, { amount: 130 }])
    })
  })
})

/** Alice moves. Bob, an actor of a service of this kind, and a Python actor have copies of her properties. */
async function rightsWorld(start: (options?: StartOptions) => Promise<TestService>) {
  const clock = new ManualClock()
  const world = await movingWorld(start, { all: { now: clock.now, timers: clock.timers, random: () => 1 } })
  const { old, home, peers, network } = world
  const services = [old, home, peers]
  const { alice, bob } = await related(world)
  const python = PythonPeer.within(
    {
      origin: 'https://py.example.com',
      id: 'f'.repeat(32),
      send: async ({ url, ...call }) => {
        const service = services.find((one) => url.startsWith(one.url)) ?? old
        const answer = await service.app.fetch(new Request(url, call))
        return { status: answer.status, location: answer.headers.get('location'), body: await answer.text() }
      },
    },
    { autoAccept: 'friend' },
  )
  let isDown = false
  const isLost = (url: string): boolean => isDown && url.includes('/callbacks/')
  network.serve('https://py.example.com', async (request) => {
    const { pathname, search } = new URL(request.url)
    if (isLost(pathname)) return new Response(null, { status: 404 })
    const { status, body } = await python.answer({
      method: request.method,
      path: pathname.slice(python.id.length + 1) + search,
      headers: Object.fromEntries(request.headers),
      body: await request.text(),
    })
    return new Response(status === 204 ? null : JSON.stringify(body), { status })
  })
  network.serve(peers.url, (request) =>
    isLost(request.url) ? new Response(null, { status: 404 }) : peers.app.fetch(request),
  )
  let at = old
  const put = async (name: string, value: object): Promise<void> => {
    assert.equal((await asOwner(at, alice, 'PUT', `/properties/${name}`, value)).status, 204)
  }
  const until = (holds: () => Promise<boolean>): Promise<void> => passUntil(clock, services, holds, 10_000)
  await put('salary', { amount: 100 })
  assert.equal((await alice.request('POST', '/trust', { url: python.url, relationship: 'friend' })).status, 201)
  const subscriber = new PythonSubscriber(python, { now: clock.now })
  assert.ok(await subscriber.subscribe(alice.id))
  const copyAtBob = async (): Promise<Record<string, unknown>> =>
    (await (await peers.app.actors.get(bob.id))?.remote(alice.id).all()) ?? {}
  const copyAtPython = (): Record<string, unknown> => Object.fromEntries(subscriber.copyOf(alice.id).values)
  const both = async (): Promise<Record<string, unknown>[]> => [await copyAtBob(), copyAtPython()]
  /** The names of values in both copies. */
  const copies = async (): Promise<string[][]> =>
    (await both()).map((copy) =>
      Object.keys(copy)
        .filter((name) => name === 'note' || name === 'salary')
        .toSorted(),
    )
  await until(async () => (await copies()).every((names) => names.length === 2))
  return {
    copies,
    until,
    put,
    salaries: async () => (await both()).map((copy) => copy['salary']),
    down: (is: boolean) => {
      isDown = is
    },
    hide: async (isHidden: boolean) => {
      for (const id of [bob.id, python.id]) {
        const path = `/trust/friend/${id}/permissions`
        const rules = { properties: { excluded_patterns: ['salary'] } }
        const answer = isHidden
          ? await asOwner(at, alice, 'PUT', path, rules)
          : await asOwner(at, alice, 'DELETE', path)
        assert.ok(answer.ok, await answer.text())
      }
    },
    move: async () => {
      await world.move(alice)
      await passUntil(clock, services, async () => (await home.request(`/${alice.id}/meta/id`)).status === 200)
      await takeAt(home, alice)
      at = home
      await until(async () => python.trusts.get(alice.id)?.baseuri === `${home.url}/${alice.id}`)
    },
  }
}
