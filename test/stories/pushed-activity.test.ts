/* cspell:ignore eine Änderung Eigenschaft erhalten */
import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { RecordingPeer, relateTo, type Reply } from '../support/recording-peer.ts'
import { forEachService, type StartOptions, type TestActor, type TestService } from '../support/service.ts'
import { OwnersBrowser } from '../support/sessions.ts'
import { until } from '../support/until.ts'
import { writtenAuditLog } from '../support/written-audit-log.ts'

interface Line {
  readonly caller: string
  readonly through: string
  readonly method: string
  readonly path: string
  readonly decision: string
  readonly reason: string
  readonly status: number
  readonly times: number
}

interface World {
  readonly service: TestService
  readonly owner: TestActor
  readonly receiver: RecordingPeer
  readonly peer: Awaited<ReturnType<typeof relateTo>>
  /** The lines about pushed values, newest first. */
  readonly pushed: (query?: string) => Promise<Line[]>
}

forEachService((start) => {
  const receivers: RecordingPeer[] = []
  after(async () => {
    for (const receiver of receivers) await receiver.stop()
  })

  /** A service with an owner, and a friend who subscribed to the properties, or to what `wish` names. */
  async function open(
    wish: Record<string, unknown> = {},
    { replies = [204], ...options }: StartOptions & { readonly replies?: Reply[] } = {},
  ): Promise<World> {
    const receiver = await new RecordingPeer().start()
    receivers.push(receiver)
    receiver.replies = [...replies]
    const service = await start({ activityPerActor: 1000, peerProfileAttributes: [], ...options })
    const owner = await service.createActor('ada@example.com')
    const peer = await relateTo(service, owner, { baseuri: `${receiver.url}/grace` })
    await peer.subscribe({ granularity: 'high', ...wish })
    const pushed = async (query = ''): Promise<Line[]> => {
      await writtenAuditLog(service)
      const answer = await owner.request('GET', `/activity${query}`)
      assert.equal(answer.status, 200)
      const { activity } = (await answer.json()) as { activity: Line[] }
      return activity.filter(({ through }) => through === 'push')
    }
    return { service, owner, receiver, peer, pushed }
  }

  const briefly = ({ method, path, status, times }: Line): unknown[] => [method, path, status, times]

  describe('the activity of an actor with a subscriber', () => {
    it('names who received a value, without the value', async () => {
      const { owner, receiver, peer, pushed } = await open()
      await owner.request('PUT', '/properties/color', '"the secret blue"')
      await receiver.has(1)
      const lines = await pushed()
      assert.deepEqual(lines.map(briefly), [['POST', '/properties/color', 204, 1]])
      assert.deepEqual(
        [lines[0]?.caller, lines[0]?.decision, lines[0]?.reason],
        [peer.peerId, 'allowed', 'its subscription'],
      )
      assert.ok(!JSON.stringify(lines).includes('the secret'))
    })

    it('has a line for each property of one change, and one line for more than twenty', async () => {
      const { owner, receiver, pushed } = await open()
      const named = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, at) => [`p${at}`, at]))
      await owner.request('POST', '/properties', { café: 1, color: 2 })
      await owner.request('POST', '/properties', named(21))
      await receiver.has(2)
      assert.deepEqual((await pushed()).map(({ path }) => path).sort(), [
        '/properties',
        '/properties/caf%C3%A9',
        '/properties/color',
      ])
    })

    it('counts further changes of a property within a minute', async () => {
      const { owner, receiver, pushed } = await open()
      for (const color of ['red', 'green', 'blue']) await owner.request('PUT', '/properties/color', color)
      await receiver.has(3)
      assert.deepEqual((await pushed()).map(briefly), [['POST', '/properties/color', 204, 3]])
    })

    it('names the part of a property that was subscribed to', async () => {
      const { owner, receiver, pushed } = await open({ subtarget: 'settings', resource: 'theme' })
      await owner.request('PUT', '/properties/settings', { theme: 'dark', size: 12 })
      await receiver.has(1)
      assert.deepEqual((await pushed()).map(briefly), [['POST', '/properties/settings/theme', 204, 1]])
    })

    it('finds pushed values by the property and by the subscriber', async () => {
      const { owner, receiver, peer, pushed } = await open()
      await owner.request('POST', '/properties', { color: 'blue', size: 12 })
      await receiver.has(1)
      assert.deepEqual((await pushed('?property=size')).map(briefly), [['POST', '/properties/size', 204, 1]])
      assert.equal((await pushed(`?caller=${peer.peerId}&kind=properties`)).length, 2)
      assert.deepEqual(await pushed('?outcome=denied'), [])
      assert.deepEqual(await pushed('?caller=someone'), [])
    })

    it('names the answer of a subscriber that received a value and failed', async () => {
      const { owner, receiver, pushed } = await open({}, { replies: [500], retryCallbacks: false })
      await owner.request('PUT', '/properties/color', 'blue')
      await receiver.has(1)
      await until(async () => (await pushed()).length === 1)
      assert.deepEqual((await pushed()).map(briefly), [['POST', '/properties/color', 500, 1]])
    })

    it('has a line without a status when the subscriber may have received a value', async () => {
      const { owner, receiver, pushed } = await open({}, { replies: ['cut'], retryCallbacks: false })
      await owner.request('PUT', '/properties/color', 'blue')
      await receiver.has(1)
      await until(async () => (await pushed()).length === 1)
      assert.deepEqual((await pushed()).map(briefly), [['POST', '/properties/color', 0, 1]])
    })

    it('has no line for a callback without values, and one for the request that fetches them', async () => {
      const { owner, receiver, peer, pushed, service } = await open({ granularity: 'low' })
      await owner.request('PUT', '/properties/color', 'blue')
      const [callback] = await receiver.has(1)
      assert.deepEqual(await pushed(), [])
      const fetched = new URL(String(callback?.body?.['url'])).pathname.replace(`/${owner.id}`, '')
      assert.equal((await peer.request('GET', fetched)).status, 200)
      await writtenAuditLog(service)
      const { activity } = (await (await owner.request('GET', '/activity')).json()) as { activity: Line[] }
      assert.ok(activity.some(({ method, path }) => method === 'GET' && path === fetched))
    })

    it('has no line for values that are too large for a callback', async () => {
      const { owner, receiver, pushed } = await open({}, { maxHighGranularityBytes: 1024 })
      await owner.request('PUT', '/properties/color', 'x'.repeat(2000))
      await receiver.has(1)
      assert.deepEqual(await pushed(), [])
    })

    it('has no line for a value that the subscriber may not view', async () => {
      const { owner, receiver, peer, pushed } = await open()
      const rules = { properties: { excluded_patterns: ['diary'] } }
      assert.equal((await owner.request('PUT', `/trust/friend/${peer.peerId}/permissions`, rules)).ok, true)
      await owner.request('POST', '/properties', { diary: 'x', color: 'blue' })
      await until(() => receiver.received.some(({ body }) => body?.['sequence'] !== undefined))
      assert.deepEqual((await pushed()).map(briefly), [['POST', '/properties/color', 204, 1]])
    })

    it('has no line for a subscriber that nothing reached', async () => {
      const { owner, receiver, pushed, service } = await open()
      await receiver.stop()
      await owner.request('PUT', '/properties/color', 'blue')
      await service.settled()
      assert.deepEqual(await pushed(), [])
    })

    it('has no line when the activity is off', async () => {
      const { owner, receiver, pushed } = await open({}, { activityPerActor: 0 })
      await owner.request('PUT', '/properties/color', 'blue')
      await receiver.has(1)
      assert.deepEqual(await pushed(), [])
    })
  })

  describe('the page of the activity', () => {
    it('says who received a change, in English and German', async () => {
      const { service, owner, receiver } = await open()
      await owner.request('PUT', '/properties/color', 'blue')
      await receiver.has(1)
      await writtenAuditLog(service)
      const browser = await OwnersBrowser.open(service, owner)
      const text = async (language: string): Promise<string> =>
        (await browser.get('/activity', { 'accept-language': language })).text()
      assert.match(await text('en'), /received a change of the property “color”/)
      assert.match(await text('de'), /hat eine Änderung der Eigenschaft „color“ erhalten/)
    })
  })
})
