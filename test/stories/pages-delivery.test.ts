/** The delivery log of a subscription: what changed, the outcome of each update, and the next attempt. */
import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { html } from 'hono/html'
import type { PageValues } from '../../src/pages.ts'
import { RecordingPeer, relateTo, type TestRelationship } from '../support/recording-peer.ts'
import { forEachService, type StartOptions, type TestActor, type TestService } from '../support/service.ts'
import { OwnersBrowser } from '../support/sessions.ts'
import { until } from '../support/until.ts'

type Values = PageValues<'subscription'>

interface World {
  readonly service: TestService
  readonly owner: TestActor
  readonly receiver: RecordingPeer
  readonly peer: TestRelationship
  readonly browser: OwnersBrowser
  /** The values of the page of the subscription now. */
  readonly shown: (query?: string) => Promise<Values>
  readonly path: string
}

forEachService((start) => {
  const receivers: RecordingPeer[] = []
  after(async () => {
    for (const receiver of receivers) await receiver.stop()
  })

  async function open(options: StartOptions = {}, wish: Record<string, unknown> = {}): Promise<World> {
    const pages: Values[] = []
    const receiver = await new RecordingPeer().start()
    receivers.push(receiver)
    const service = await start({
      peerProfileAttributes: [],
      pages: { subscription: (values) => (pages.push(values), html`subscription`) },
      ...options,
    })
    const owner = await service.createActor('ada@example.com')
    const peer = await relateTo(service, owner, { baseuri: `${receiver.url}/grace` })
    const id = await peer.subscribe({ target: 'properties', granularity: 'high', ...wish })
    const browser = await OwnersBrowser.open(service, owner)
    const path = `/subscriptions/${peer.peerId}/${id}`
    const shown = async (query = ''): Promise<Values> => {
      assert.equal((await browser.get(`${path}${query}`)).status, 200)
      return pages.at(-1) ?? assert.fail()
    }
    return { service, owner, receiver, peer, browser, shown, path }
  }

  describe('the delivery log of a subscription', () => {
    it('names what changed, and never a value', async () => {
      const { owner, receiver, shown, service } = await open()
      await owner.request('PUT', '/properties/color', '"the secret blue"')
      await owner.request('POST', '/properties', { a: 1, b: 2, c: 3, d: 4, e: 5, f: 6, g: 7 })
      await owner.request('PUT', '/properties/settings/theme', '"the secret dark"')
      await owner.request('DELETE', '/properties/color')
      await receiver.has(4)
      await service.settled()
      const values = await shown()
      assert.deepEqual(
        values.entries.map(({ sequence, changed, more_changed }) => [sequence, changed, more_changed]),
        [
          [4, ['color'], 0],
          [3, ['settings'], 0],
          [2, ['a', 'b', 'c', 'd', 'e'], 2],
          [1, ['color'], 0],
        ],
      )
      assert.ok(!JSON.stringify(values).includes('the secret'))
    })

    it('names only what the subscriber may view', async () => {
      const { owner, shown, peer } = await open()
      const rules = { properties: { excluded_patterns: ['diary'] } }
      assert.equal((await owner.request('PUT', `/trust/friend/${peer.peerId}/permissions`, rules)).ok, true)
      assert.equal((await owner.request('POST', '/properties', { diary: 'x', color: 'blue' })).status, 201)
      assert.deepEqual(
        (await shown()).entries.map(({ changed }) => changed),
        [['color']],
      )
    })

    it('names the property of a subscription to it alone', async () => {
      const { owner, receiver, shown, service } = await open({}, { subtarget: 'settings' })
      await owner.request('PUT', '/properties/settings/theme', '"dark"')
      await receiver.has(1)
      await service.settled()
      assert.deepEqual((await shown()).entries[0]?.changed, ['settings'])
    })

    it('says how long a delivery took, and counts the latest 30', async () => {
      const { owner, receiver, shown, service } = await open()
      for (let n = 1; n <= 31; n++) await owner.request('PUT', '/properties/color', `${n}`)
      await receiver.has(31)
      await service.settled()
      const values = await shown()
      assert.match(values.entries[0]?.outcome_text ?? '', /^Delivered in \d+ ms$/)
      assert.deepEqual(
        values.marks,
        Array.from({ length: 30 }, () => 'delivered'),
      )
      assert.match(values.summary, /^30 delivered, 0 waiting, 0 not delivered\. Half took at most \d+ ms\.$/)
      assert.equal(values.next_attempt, null)
    })

    it('shows when the next attempt is, and tries again at once when the owner asks', async () => {
      let now = Date.now()
      const { owner, receiver, shown, service, browser, path } = await open({ now: () => now })
      receiver.replies = [503]
      await owner.request('PUT', '/properties/color', '"blue"')
      await receiver.has(1)
      await service.settled()
      const held = await shown()
      assert.equal(held.entries[0]?.mark, 'waiting')
      assert.match(held.entries[0]?.outcome_text ?? '', /^Retrying/)
      assert.ok(Date.parse(held.next_attempt?.at ?? '') > now, String(held.next_attempt?.at))
      receiver.replies = [204]
      const answer = await browser.send(path, { action: 'redrive' })
      assert.equal(answer.status, 302)
      await receiver.has(2)
      await service.settled()
      now += 1
      const done = await shown()
      assert.deepEqual([done.entries[0]?.mark, done.next_attempt], ['late', null])
    })

    it('tries again at once although the calls to the peer are paused', async () => {
      const now = Date.now()
      const { owner, receiver, shown, service, browser, path, peer } = await open({ now: () => now })
      const { store } = await service.app.running()
      receiver.replies = [503]
      await owner.request('PUT', '/properties/color', '"blue"')
      await receiver.has(1)
      await service.settled()
      await store.writeActor(owner.id, (tx) =>
        tx.run(
          'UPDATE trust SET failures = 5, open_until = $3 WHERE actor_id = $1 AND peer_id = $2',
          owner.id,
          peer.peerId,
          now + 600_000,
        ),
      )
      const held = await shown()
      assert.equal(Date.parse(held.next_attempt?.at ?? ''), now + 600_000)
      receiver.replies = [204]
      await browser.send(path, { action: 'redrive' })
      await until(() => receiver.received.length >= 2)
      await service.settled()
      assert.equal((await shown()).next_attempt, null)
    })

    it('filters by the outcome, and keeps the filter between pages', async () => {
      const { owner, receiver, shown, service } = await open()
      receiver.replies = [400, 204]
      await owner.request('PUT', '/properties/color', '"one"')
      await receiver.has(1)
      await service.settled()
      await owner.request('PUT', '/properties/color', '"two"')
      await service.settled()
      const all = await shown()
      const counts = Object.fromEntries(all.filters.map(({ name, count }) => [name, count]))
      assert.equal(counts['All'], all.entries.length)
      const failed = await shown('?outcome=failed')
      assert.deepEqual(
        failed.entries.map(({ mark }) => mark),
        all.entries.filter(({ mark }) => mark === 'failed').map(() => 'failed'),
      )
      assert.ok(failed.entries.length > 0)
      assert.match(failed.address, /\?outcome=failed$/)
      assert.deepEqual((await shown('?outcome=nonsense')).entries.length, all.entries.length)
    })
  })
})
