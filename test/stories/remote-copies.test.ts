import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { listenTo, type Listening } from '../support/scripted-peer.ts'
import { forEachService, type TestActor, type TestService } from '../support/service.ts'

forEachService((start) => {
  async function copied(): Promise<{ service: TestService; actor: TestActor; peer: Listening }> {
    const service = await start()
    const actor = await service.createActor()
    const peer = await listenTo(service, actor)
    const items = ['a', 'b', 'c', 'd'].map((text, at) => ({ text, due: 4 - at }))
    assert.equal((await peer.diff(1, { jobs: { list: 'jobs', operation: 'extend', items } })).status, 204)
    assert.equal((await peer.diff(2, { mood: { now: 'calm' } })).status, 204)
    return { service, actor, peer }
  }
  const body = async (response: Response): Promise<unknown> => {
    assert.equal(response.status, 200, await response.clone().text())
    return response.json()
  }

  describe('GET /<actor>/remote/<peer>/<name>', () => {
    it('returns a value of the copy to the owner', async () => {
      const { actor, peer } = await copied()
      assert.deepEqual(await body(await actor.request('GET', `/remote/${peer.peerId}/mood`)), { now: 'calm' })
    })

    it('returns 404 for a name and a peer without a copy, and 400 for a list', async () => {
      const { actor, peer } = await copied()
      for (const path of [`/remote/${peer.peerId}/none`, '/remote/stranger/mood']) {
        const response = await actor.request('GET', path)
        assert.equal(response.status, 404)
        assert.match(((await response.json()) as { message: string }).message, /has no copy of it from the peer/)
      }
      const list = await actor.request('GET', `/remote/${peer.peerId}/jobs`)
      assert.deepEqual(await list.json(), {
        error: 'bad_request',
        message: 'Cannot return "jobs": it is a list. Read its items at …/items.',
      })
    })

    it('is refused for the peer itself and for anonymous callers', async () => {
      const { service, actor, peer } = await copied()
      const path = `/${actor.id}/remote/${peer.peerId}/mood`
      assert.equal((await service.request(path, { headers: { authorization: `Bearer ${peer.secret}` } })).status, 403)
      assert.equal((await service.request(path)).status, 401)
    })
  })

  describe('GET /<actor>/remote/<peer>/<list>/items', () => {
    it('returns a range with its indexes, the length and the address of the next part', async () => {
      const { actor, peer } = await copied()
      const first = await actor.request('GET', `/remote/${peer.peerId}/jobs/items?start=1&limit=2`)
      const { after, ...part } = (await body(first)) as { after: string }
      assert.equal(first.headers.get('link'), `<?limit=2&after=${after}>; rel="next"`)
      assert.deepEqual(part, {
        items: [
          { index: 1, item: { text: 'b', due: 3 } },
          { index: 2, item: { text: 'c', due: 2 } },
        ],
        count: 4,
        next: 3,
      })
      assert.deepEqual(await body(await actor.request('GET', `/remote/${peer.peerId}/jobs/items?start=3`)), {
        items: [{ index: 3, item: { text: 'd', due: 1 } }],
        count: 4,
      })
    })

    it('answers a query in pages', async () => {
      const { actor, peer } = await copied()
      const path = `/remote/${peer.peerId}/jobs/items`
      const first = (await body(await actor.request('GET', `${path}?sort=due&limit=3`))) as { next: string }
      assert.deepEqual(first, {
        items: ['d', 'c', 'b'].map((text, at) => ({ item: { text, due: at + 1 } })),
        next: first.next,
      })
      assert.deepEqual(await body(await actor.request('GET', `${path}?sort=due&limit=3&after=${first.next}`)), {
        items: [{ item: { text: 'a', due: 4 } }],
      })
      assert.deepEqual(await body(await actor.request('GET', `${path}?where[text]=c`)), {
        items: [{ item: { text: 'c', due: 2 } }],
      })
    })

    it('refuses start with a query, a wrong limit, and a name that is not a list of the copy', async () => {
      const { actor, peer } = await copied()
      const path = `/remote/${peer.peerId}/jobs/items`
      for (const [query, status] of [
        ['?start=1&sort=due', 400],
        ['?limit=0', 400],
        ['?limit=1001', 400],
      ] as const)
        assert.equal((await actor.request('GET', path + query)).status, status, query)
      assert.equal((await actor.request('GET', `/remote/${peer.peerId}/mood/items`)).status, 404)
    })
  })
})
