/** The numbers in the navigation of every page of the owner: what waits for a decision, and what fails. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { html } from '../../src/index.ts'
import type { PageValues } from '../../src/pages.ts'
import type { App } from '../../src/troupe.ts'
import type { PeerClient, PeerOutcome } from '../../src/peer/peer-client.ts'
import { LiveStream, wantsEvents } from '../support/live-stream.ts'
import { ManualClock, passUntil } from '../support/manual-clock.ts'
import { authorizeClient } from '../support/mcp-client.ts'
import { relateTo } from '../support/recording-peer.ts'
import { forEachService, type StartOptions, type TestActor, type TestService } from '../support/service.ts'
import { asBrowser, OwnersBrowser, signIn } from '../support/sessions.ts'
import { newPerson, sharedProvider, signInAt, singlePageReturn } from '../support/sign-in.ts'
import { faulty, type FaultyStore } from '../support/stores.ts'

const provider = sharedProvider()
const declare = (app: App): App => app.action('pay', { mcp: { title: 'Pay a bill', confirm: 'owner' } }, () => ({}))

type Counts = Readonly<Record<'waiting_count' | 'approval_count' | 'password_count' | 'failing_count', number>>
const none: Counts = { waiting_count: 0, approval_count: 0, password_count: 0, failing_count: 0 }

/** A peer that answers every callback with one status. */
class Answering implements PeerClient {
  outcome: PeerOutcome

  constructor(status: number) {
    this.outcome = { kind: 'answered', status, headers: {}, body: '' }
  }

  async call(): Promise<PeerOutcome> {
    return this.outcome
  }

  async close(): Promise<void> {}
}

interface World {
  readonly service: TestService
  readonly actor: TestActor
  readonly browser: OwnersBrowser
  /** The counts that the page of first steps receives now. */
  readonly counts: () => Promise<Counts>
}

/** The links of the navigation with their numbers, as a screen reader reads them, and the title of the page. */
async function navigationOf(answer: Response): Promise<{ title: string; counted: readonly string[] }> {
  assert.equal(answer.status, 200)
  const page = await answer.text()
  const [, nav = ''] = /<nav class="sections"[^>]*>([\s\S]*?)<\/nav>/.exec(page) ?? []
  const links = [...nav.matchAll(/<a [^>]*>([\s\S]*?)<\/a>/g)].map(([, link = '']) =>
    link
      .replace(/<span [^>]*aria-hidden="true">[^<]*<\/span>|<svg[\s\S]*?<\/svg>/g, '')
      .replace(/<[^>]*>/g, '')
      .replace(/\s+/g, ' '),
  )
  const [, title = ''] = /<title>([^<]*)<\/title>/.exec(page) ?? []
  return { title, counted: links.filter((link) => /\d/.test(link)) }
}

forEachService((start) => {
  async function open(options: StartOptions = {}): Promise<World> {
    const shown: PageValues<'init'>[] = []
    const service = await start({
      declare,
      pages: { init: (values) => (shown.unshift(values), html`init`) },
      ...options,
    })
    const actor = await service.createActor()
    const browser = await OwnersBrowser.open(service, actor)
    const counts = async (): Promise<Counts> => {
      assert.equal((await browser.get('/init')).status, 200)
      assert.ok(shown[0])
      const { waiting_count, approval_count, password_count, failing_count } = shown[0]
      return { waiting_count, approval_count, password_count, failing_count }
    }
    return { service, actor, browser, counts }
  }

  async function listen({ service, actor, browser }: World): Promise<LiveStream> {
    const headers = { ...wantsEvents, cookie: `oauth_token=${browser.token}`, 'sec-fetch-site': 'same-origin' }
    const stream = LiveStream.of(await service.request(`/${actor.id}/www/live`, { headers }))
    await stream.ready()
    return stream
  }

  async function categoryOf(stream: LiveStream): Promise<string> {
    return ((await stream.change()) as { category: string }).category
  }

  describe('the counts on every page of the owner', () => {
    it('are zero for a new actor, and leave the title as it is (R-PAGE-24)', async () => {
      const { browser, counts } = await open()
      assert.deepEqual(await counts(), none)
      assert.deepEqual(await navigationOf(await browser.get('/properties')), {
        title: 'Properties · test',
        counted: [],
      })
    })

    it('contain relationship requests until the owner decides (R-PAGE-24)', async () => {
      const world = await open()
      const { service, actor, browser, counts } = world
      const stream = await listen(world)
      const asking = await relateTo(service, actor, { approved: false })
      assert.deepEqual(await counts(), { ...none, waiting_count: 1 })
      const { title } = await navigationOf(await browser.get('/properties'))
      assert.equal(title, '(1) Properties · test')
      assert.equal((await browser.send(`/trust/${asking.peerId}`, { action: 'approve' })).status, 302)
      assert.equal(await categoryOf(stream), 'trust')
      assert.deepEqual(await counts(), none)
      await stream.close()
    })

    it('contain calls until the owner decides or they expire (R-PAGE-24)', async () => {
      const clock = new ManualClock()
      const world = await open({ now: clock.now })
      const { service, actor, browser, counts } = world
      const client = await authorizeClient(service, actor)
      const stream = await listen(world)
      const ask = async (n: number): Promise<void> =>
        void (await client.modern('tools/call', { name: 'pay', arguments: { n } }))
      await ask(1)
      assert.equal(await categoryOf(stream), 'approvals')
      await ask(2)
      assert.equal(await categoryOf(stream), 'approvals')
      assert.deepEqual(await counts(), { ...none, approval_count: 2 })
      const { parts } = await service.app.running()
      const [waiting] = await parts.approvals.waiting(actor.id)
      const denied = await browser.send(`/approvals/${waiting?.approvalId}`, { decision: 'refuse' })
      assert.equal(denied.status, 302)
      assert.equal(await categoryOf(stream), 'approvals')
      assert.deepEqual(await counts(), { ...none, approval_count: 1 })
      clock.pass(16 * 60_000)
      assert.deepEqual(await counts(), none)
      await stream.close()
    })

    it('contain programs with a password once, until the owner has decided about all of them (R-PAGE-24)', async () => {
      const shown: PageValues<'init'>[] = []
      const service = await start({
        ...signInAt(await provider()),
        spaRedirectOrigins: ['https://app.example.com'],
        pages: { init: (values) => (shown.unshift(values), html`init`) },
      })
      const { sub, email } = newPerson(await provider())
      const programs = [await service.createActor(email), await service.createActor(email)]
      const session = (await singlePageReturn(service, await provider(), sub)).get('session') ?? ''
      const owner = (await (await service.request(`/oauth/spa/session/${session}`)).json()) as {
        actor_id: string
        access_token: string
      }
      const cookie = `oauth_token=${owner.access_token}`
      const count = async (): Promise<number | undefined> => {
        const headers = { ...asBrowser, cookie }
        assert.equal((await service.request(`/${owner.actor_id}/www/init`, { headers })).status, 200)
        return shown[0]?.password_count
      }
      assert.equal(await count(), 1)
      const stream = LiveStream.of(
        await service.request(`/${owner.actor_id}/www/live`, {
          headers: { ...wantsEvents, cookie, 'sec-fetch-site': 'same-origin' },
        }),
      )
      await stream.ready()
      const decide = async (program: TestActor | undefined): Promise<number> => {
        const answer = await service.request(`/${owner.actor_id}/password-access/${program?.id}`, {
          method: 'PUT',
          headers: { authorization: `Bearer ${owner.access_token}`, 'content-type': 'application/json' },
          body: JSON.stringify({ decision: 'keep' }),
        })
        return answer.status
      }
      assert.equal(await decide(programs[0]), 204)
      assert.equal(await categoryOf(stream), 'sessions')
      assert.equal(await count(), 1)
      assert.equal(await decide(programs[1]), 204)
      assert.equal(await categoryOf(stream), 'sessions')
      assert.equal(await count(), 0)
      await stream.close()
    })

    it('contain a subscription with a change that the peer rejected, in the section of subscriptions (R-PAGE-24)', async () => {
      const peerClient = new Answering(400)
      const world = await open({ peerClient })
      const { service, actor, browser, counts } = world
      const peer = await relateTo(service, actor, { baseuri: 'http://failing.test/them' })
      const id = await peer.subscribe({ granularity: 'high' })
      await peer.subscribe({ granularity: 'high', subtarget: 'other' })
      const stream = await listen(world)
      await actor.request('PUT', '/properties/mood', 'good')
      assert.equal(await categoryOf(stream), 'properties')
      assert.equal(await categoryOf(stream), 'subscriptions')
      assert.deepEqual(await counts(), { ...none, failing_count: 1 })
      assert.deepEqual(await navigationOf(await browser.get('/properties')), {
        title: 'Properties · test',
        counted: ['Subscriptions 1 failing'],
      })
      peerClient.outcome = { kind: 'answered', status: 204, headers: {}, body: '' }
      await browser.send(`/subscriptions/${peer.peerId}/${id}`, { action: 'redrive' })
      await service.settled()
      assert.deepEqual(await counts(), none)
      await stream.close()
    })

    it('contain all subscriptions of a peer that cannot be reached, until it answers again (R-PAGE-24)', async () => {
      const [clock, peerClient] = [new ManualClock(), new Answering(503)]
      const { service, actor, counts } = await open({
        peerClient,
        now: clock.now,
        timers: clock.timers,
        circuitThreshold: 2,
      })
      const peer = await relateTo(service, actor, { baseuri: 'http://failing.test/them' })
      for (let n = 0; n < 3; n++) await peer.subscribe({ granularity: 'high' })
      // A peer that fetches its changes needs no delivery.
      await peer.subscribe({ granularity: 'none' })
      await actor.request('PUT', '/properties/mood', 'good')
      await passUntil(clock, [service], async () => (await counts()).failing_count === 3, 1000)
      peerClient.outcome = { kind: 'answered', status: 204, headers: {}, body: '' }
      await passUntil(clock, [service], async () => (await counts()).failing_count === 0, 1000)
    })

    it('are shown up to 99 (R-PAGE-24)', async () => {
      const { service, actor, browser, counts } = await open({ peerClient: new Answering(400) })
      const { store } = await service.app.running()
      const peer = await relateTo(service, actor, { baseuri: 'http://failing.test/them' })
      const ids = Array.from({ length: 130 }, (_, n) => `s${n}`)
      for (const id of ids)
        await store.writeActor(actor.id, (tx) =>
          tx.run(
            `INSERT INTO publisher_subscription (actor_id, peer_id, subscription_id, target, subtarget, resource, granularity,
               state, created_at) VALUES ($1, $2, $3, 'properties', '', '', 'high', 'stopped', 1)`,
            actor.id,
            peer.peerId,
            id,
          ),
        )
      for (let n = 0; n < 100; n++) await relateTo(service, actor, { approved: false })
      assert.deepEqual(await counts(), { ...none, waiting_count: 100, failing_count: 100 })
      const { title, counted } = await navigationOf(await browser.get('/properties'))
      assert.equal(title, '(99+) Properties · test')
      assert.ok(counted.includes('Subscriptions 99+ failing'))
    })

    it('fail the page when one of them cannot be read, because zero would be untrue (R-PAGE-24)', async () => {
      let store: FaultyStore | undefined
      const { browser } = await open({ wrapStore: (inner) => (store = faulty(inner)) })
      for (const matching of [/AS pending FROM trust/, /AS waiting FROM/, /FROM account/, /AS failing FROM/]) {
        store?.plan({ matching })
        assert.equal((await browser.get('/properties')).status, 503)
        assert.equal((await browser.get('/properties')).status, 200)
      }
    })

    it('belong to the actor of the page alone (R-PAGE-24)', async () => {
      const { service, actor, counts } = await open({ peerClient: new Answering(400) })
      const other = await service.createActor('other@example.com')
      await relateTo(service, other, { approved: false })
      const client = await authorizeClient(service, other)
      await client.modern('tools/call', { name: 'pay', arguments: {} })
      assert.deepEqual(await counts(), none)
      const theirs = await service.request(`/${other.id}/www`, {
        headers: { ...asBrowser, cookie: `oauth_token=${await signIn(service, other)}` },
      })
      assert.equal((await navigationOf(theirs)).title, '(2) Overview · test')
      assert.notEqual(actor.id, other.id)
    })
  })
})
