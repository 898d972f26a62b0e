import assert from 'node:assert/strict'
import { beforeEach, describe, it } from 'node:test'
import type { PeerClient, PeerOutcome, PeerRequest } from '../../src/peer/peer-client.ts'
import { EventRecorder } from '../support/event-recorder.ts'
import { ManualClock, passUntil as passClockUntil } from '../support/manual-clock.ts'
import { PythonPeer } from '../support/python-peer.ts'
import { PythonSubscriber } from '../support/python-subscriptions.ts'
import { forEachService, type StartOptions, type TestActor, type TestService } from '../support/service.ts'
import { StoreActivity } from '../support/store-activity.ts'
import { until } from '../support/until.ts'

/** Outcome of a call, chosen by the caller’s service and the request line. Undefined means that the call succeeds. */
type Fate =
  | 'unreached'
  /** The request does not arrive, and the caller does not know that. */
  | 'lost'
  /** The request takes effect, but its response is lost. */
  | 'unheard'
  /** The request takes effect, but a gateway answers in the peer’s place. */
  | 'gateway timeout'
  | 'refused'
  /** The response is delayed. */
  | { readonly heardAfter: Promise<void>; readonly onAnswer?: () => void }
  | undefined

/** Connects services without sockets, and applies the chosen outcomes. */
class Network {
  readonly #services = new Map<string, TestService>()
  readonly calls: string[] = []
  /** Number of calls that a service is answering. */
  running = 0
  fate: (from: string, line: string, request: PeerRequest) => Fate | Promise<Fate> = () => undefined

  add(origin: string, service: TestService): void {
    this.#services.set(origin, service)
  }

  clientOf(from: string): PeerClient {
    return { call: (request) => this.#call(from, request), close: () => Promise.resolve() }
  }

  async #call(from: string, request: PeerRequest): Promise<PeerOutcome> {
    const { origin, pathname, search } = new URL(request.url)
    const line = `${request.method} ${pathname.split('/').slice(2).join('/')}`
    this.calls.push(`${from} ${line}`)
    const fate = await this.fate(from, line, request)
    if (fate === 'unreached') return { kind: 'unreached', reason: 'No connection' }
    if (fate === 'lost') return { kind: 'unknown', reason: 'The connection broke' }
    if (fate === 'refused') return { kind: 'answered', status: 403, headers: {}, body: '' }
    const service = this.#services.get(origin)
    if (service === undefined) return { kind: 'unreached', reason: 'Connection refused' }
    this.running += 1
    const answer = await service.request(`${pathname}${search}`, {
      method: request.method,
      headers: {
        ...request.headers,
        ...(request.bearer === undefined ? {} : { authorization: `Bearer ${request.bearer.secret}` }),
        ...(request.body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(request.body === undefined ? {} : { body: request.body as string }),
    })
    const body = await answer.text()
    this.running -= 1
    if (fate === 'unheard') return { kind: 'unknown', reason: 'The connection broke' }
    if (typeof fate === 'object') {
      fate.onAnswer?.()
      await fate.heardAfter
    }
    if (fate === 'gateway timeout') return { kind: 'answered', status: 504, headers: {}, body: '' }
    return { kind: 'answered', status: answer.status, headers: Object.fromEntries(answer.headers), body }
  }
}

interface TrustView {
  readonly peerid: string
  readonly secret: string
  readonly verification_token: string
  readonly relationship: string
  readonly approved: boolean
  readonly peer_approved: boolean
}

forEachService((start) => {
  let network: Network
  let clock: ManualClock
  let activity: StoreActivity
  let heard: Record<'here' | 'there', EventRecorder>
  let here: TestService
  let there: TestService
  let asker: TestActor
  let asked: TestActor

  async function startAt(origin: string, options: StartOptions = {}): Promise<TestService> {
    const service = await start({
      baseUrl: origin,
      peerClient: network.clientOf(origin.slice('http://'.length, -'.test'.length)),
      now: clock.now,
      timers: clock.timers,
      wrapStore: activity.wrap,
      random: () => 0.5,
      peerProfileAttributes: [],
      ...options,
    })
    network.add(origin, service)
    return service
  }

  beforeEach(async () => {
    network = new Network()
    clock = new ManualClock(1_900_000_000_000)
    activity = new StoreActivity()
    heard = { here: new EventRecorder(), there: new EventRecorder() }
    here = await startAt('http://here.test', { declare: heard.here.declare })
    there = await startAt('http://there.test', { declare: heard.there.declare })
    asker = await here.createActor('asker@example.com')
    asked = await there.createActor('asked@example.com')
    assert.equal((await renew()).status, 201)
    assert.equal((await asked.request('PUT', `/trust/friend/${asker.id}`, { approved: true })).status, 204)
    await passUntil(() => heard.here.names(asker.id).includes('trust_fully_approved_remote'))
    // Trust requests soon after a response count as crossing it, so the clock moves a minute.
    clock.pass(60_000)
    heard.here.all.length = 0
    heard.there.all.length = 0
    network.calls.length = 0
  })

  /** Lets time pass until the condition holds, but not while a service is answering a call. */
  function passUntil(holds: () => boolean | Promise<boolean>): Promise<void> {
    return until(holds, async () => {
      if (network.running === 0) clock.pass(1000)
      await activity.idle()
    })
  }

  async function pass(seconds: number): Promise<void> {
    const end = clock.now() + seconds * 1000
    await passUntil(() => clock.now() >= end)
  }

  const renew = (): Promise<Response> =>
    asker.request('POST', '/trust', { url: `http://there.test/${asked.id}`, relationship: 'friend' })

  async function view(actor: TestActor): Promise<TrustView | undefined> {
    return ((await (await actor.request('GET', '/trust')).json()) as TrustView[])[0]
  }

  async function secretOf(actor: TestActor): Promise<string> {
    return (await view(actor))?.secret ?? 'none'
  }

  /** Returns 200 if the actor accepts the secret as its peer’s, or 403. */
  async function knock(service: TestService, actor: TestActor, secret: string): Promise<number> {
    const other = actor === asker ? asked : asker
    const headers = { authorization: `Bearer ${secret}` }
    return (await service.request(`/${actor.id}/trust/friend/${other.id}`, { headers })).status
  }

  async function nothingWaits(service: TestService): Promise<boolean> {
    const { store } = await service.app.running()
    const row = await store.read((q) =>
      q.get<{ waits: number }>(
        `SELECT (SELECT COUNT(*) FROM notice WHERE due_at IS NOT NULL)
           + (SELECT COUNT(*) FROM trust WHERE next_secret_hash IS NOT NULL)
           + (SELECT COUNT(*) FROM publisher_subscription WHERE due_at IS NOT NULL) AS waits`,
      ),
    )
    return row?.waits === 0
  }

  const isRequest = (line: string): boolean => line === 'POST trust/friend'

  /** Applies the outcome to the next trust request and returns the secret that it offers. */
  function once(fate: Fate): { secret: string } {
    const offered = { secret: '' }
    network.fate = (from, line, request) => {
      if (from !== 'here' || !isRequest(line) || offered.secret !== '') return undefined
      offered.secret = (JSON.parse(request.body as string) as { secret: string }).secret
      return fate
    }
    return offered
  }

  describe('a trust request that arrives after its sender gave it up', () => {
    /** Delivers the body of an earlier request. */
    async function arrive(body: string): Promise<number> {
      const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body }
      return (await there.request(`/${asked.id}/trust/friend`, init)).status
    }

    async function relationshipsOf(actor: TestActor): Promise<string[]> {
      return ((await (await actor.request('GET', '/trust')).json()) as TrustView[]).map(({ peerid }) => peerid)
    }

    /** Loses the next trust request, after running `meanwhile`. Returns its body. */
    function lost(meanwhile: () => Promise<void> = async () => {}): { body: string } {
      const sent = { body: '' }
      network.fate = async (from, line, request) => {
        if (from !== 'here' || !isRequest(line) || sent.body !== '') return undefined
        sent.body = request.body as string
        await meanwhile()
        return 'lost'
      }
      return sent
    }

    it('is not confirmed while the next one is in progress, because it would restore an older secret (PEER-11)', async () => {
      const bodies: string[] = []
      const { promise: released, resolve: release } = Promise.withResolvers<void>()
      const { promise: answered, resolve: onAnswer } = Promise.withResolvers<void>()
      network.fate = (from, line, request) => {
        if (from !== 'here' || !isRequest(line)) return undefined
        bodies.push(request.body as string)
        return bodies.length === 1 ? undefined : { heardAfter: released, onAnswer }
      }
      assert.equal((await renew()).status, 201)
      const next = renew()
      await answered
      assert.equal(await arrive(bodies[0] ?? ''), 403)
      release()
      assert.equal((await next).status, 201)
      const { secret } = JSON.parse(bodies[1] ?? '') as { secret: string }
      assert.deepEqual([await secretOf(asker), await secretOf(asked)], [secret, secret])
    })

    it('leaves no relationship at the peer when it was the first (PEER-11)', async () => {
      const stranger = await here.createActor('stranger@example.com')
      const { body } = await (async () => {
        const sent = lost()
        const asking = { url: `http://there.test/${asked.id}`, relationship: 'friend' }
        assert.equal((await stranger.request('POST', '/trust', asking)).status, 408)
        return sent
      })()
      await pass(20)
      assert.equal(await arrive(body), 202)
      assert.deepEqual(new Set(await relationshipsOf(asked)), new Set([asker.id, stranger.id]))
      await passUntil(() => nothingWaits(here))
      assert.deepEqual(await relationshipsOf(asked), [asker.id])
      assert.deepEqual(await relationshipsOf(stranger), [])
    })

    for (const [who, end] of [
      ['its sender', () => asker.request('DELETE', `/trust/friend/${asked.id}`)],
      ['the peer', () => asked.request('DELETE', `/trust/friend/${asker.id}`)],
    ] as const) {
      it(`leaves no relationship at the peer when ${who} ended it meanwhile (PEER-08)`, async () => {
        const sent = lost(async () => {
          assert.equal((await end()).status, 204)
          await passUntil(
            async () => JSON.stringify([await relationshipsOf(asker), await relationshipsOf(asked)]) === '[[],[]]',
          )
        })
        assert.equal((await renew()).status, 408)
        await pass(20)
        assert.equal(await arrive(sent.body), 202)
        assert.deepEqual(await relationshipsOf(asked), [asker.id])
        await passUntil(() => nothingWaits(here))
        assert.deepEqual([await relationshipsOf(asker), await relationshipsOf(asked)], [[], []])
      })
    }

    it('does not restore a relationship that the peer has ended (PEER-08)', async () => {
      let body = ''
      network.fate = (from, line, request) => {
        if (from === 'here' && isRequest(line)) body = request.body as string
        return from === 'there' && line.startsWith('DELETE') ? 'unreached' : undefined
      }
      assert.equal((await renew()).status, 201)
      assert.equal((await asked.request('DELETE', `/trust/friend/${asker.id}`)).status, 204)
      assert.equal(await arrive(body), 403, 'the sender, not notified of the end, would confirm it')
      assert.deepEqual(await relationshipsOf(asked), [])
      network.fate = () => undefined
      await passUntil(async () => (await relationshipsOf(asker)).length === 0)
      assert.equal((await renew()).status, 201, 'a new request is accepted')
    })

    it('does not delay messages of another relationship with the same peer', async () => {
      const stranger = await here.createActor('stranger@example.com')
      lost()
      const asking = { url: `http://there.test/${asked.id}`, relationship: 'friend' }
      assert.equal((await stranger.request('POST', '/trust', asking)).status, 408)
      assert.equal((await stranger.request('POST', '/trust', asking)).status, 201)
      assert.equal((await stranger.request('PUT', `/trust/friend/${asked.id}`, { approved: true })).status, 204)
      // The clock stands still: a message that waited for the lost request would never be sent.
      await until(() => network.calls.includes('here POST trust/friend/' + stranger.id))
    })
  })

  describe('a renewal that crosses a request whose sender crashed', () => {
    it('learns that the other request counts, and keeps its secret (PEER-11)', async () => {
      // The crashed actor has the lower id, so that its request counts.
      while (asked.id > asker.id) asked = await there.createActor('asked@example.com')
      assert.equal((await asker.request('DELETE', `/trust/friend/${(await view(asker))?.peerid}`)).status, 204)
      await passUntil(() => nothingWaits(here))
      const offered = { secret: '' }
      network.fate = (from, line, request) => {
        if (from !== 'there' || !isRequest(line)) return undefined
        offered.secret = (JSON.parse(request.body as string) as { secret: string }).secret
        // The crashed sender never receives the response.
        return { heardAfter: new Promise<void>(() => {}) }
      }
      void asked.request('POST', '/trust', { url: `http://here.test/${asker.id}`, relationship: 'friend' })
      await passUntil(async () => (await secretOf(asker)) === offered.secret)
      clock.pass(20_000)
      assert.equal((await renew()).status, 201)
      assert.deepEqual([await secretOf(asker), await secretOf(asked)], [offered.secret, offered.secret])
      assert.deepEqual(
        [await knock(here, asker, offered.secret), await knock(there, asked, offered.secret)],
        [200, 200],
      )
    })
  })

  describe('a renewal whose response is lost', () => {
    for (const fate of ['unheard', 'gateway timeout'] as const) {
      it(`ends with the new secret on both sides without another request (${fate}) (PEER-11)`, async () => {
        const old = await secretOf(asker)
        const offered = once(fate)
        assert.equal((await renew()).status, 408)
        assert.equal(await knock(here, asker, offered.secret), 200, 'the peer may have it already')
        await passUntil(async () => (await secretOf(asker)) === offered.secret)
        assert.equal(await secretOf(asked), offered.secret)
        assert.deepEqual(
          [
            await knock(here, asker, old),
            await knock(there, asked, old),
            await knock(here, asker, offered.secret),
            await knock(there, asked, offered.secret),
          ],
          [403, 403, 200, 200],
        )
        const { approved, peer_approved: peerApproved } = (await view(asker)) as TrustView
        assert.deepEqual([approved, peerApproved], [true, true])
        await passUntil(() => nothingWaits(here))
        assert.deepEqual(heard.here.names(asker.id), ['trust_initiated'])
        assert.deepEqual(heard.there.names(asked.id), [])
        assert.equal(network.calls.filter((line) => line === 'here POST trust/friend').length, 1)
      })
    }

    it('keeps the old secret when the request never arrived, and the offered one expires (PEER-11)', async () => {
      const old = await secretOf(asker)
      const offered = once('lost')
      assert.equal((await renew()).status, 408)
      await passUntil(() => nothingWaits(here))
      assert.deepEqual([await secretOf(asker), await secretOf(asked)], [old, old])
      assert.deepEqual(
        [
          await knock(here, asker, old),
          await knock(there, asked, old),
          await knock(here, asker, offered.secret),
          await knock(there, asked, offered.secret),
        ],
        [200, 200, 403, 403],
      )
      assert.deepEqual(heard.here.names(asker.id), [])
    })

    it('is accepted late while its sender still confirms it, and rejected afterwards (PEER-11)', async () => {
      const old = await secretOf(asker)
      let body = ''
      network.fate = (from, line, request) => {
        if (from !== 'here' || !isRequest(line)) return undefined
        body = request.body as string
        return 'lost'
      }
      assert.equal((await renew()).status, 408)
      const offered = (JSON.parse(body) as { secret: string }).secret
      const arrive = async (): Promise<number> => {
        const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body }
        return (await there.request(`/${asked.id}/trust/friend`, init)).status
      }
      await pass(50)
      assert.equal(await arrive(), 201)
      await passUntil(() => nothingWaits(here))
      assert.deepEqual([await secretOf(asker), await secretOf(asked)], [offered, offered])
      assert.equal(await arrive(), 201, 'again: it changes nothing')
      assert.deepEqual([await secretOf(asker), await secretOf(asked)], [offered, offered])
      assert.equal(await knock(there, asked, old), 403)

      assert.equal((await renew()).status, 408)
      const late = (JSON.parse(body) as { secret: string }).secret
      await passUntil(() => nothingWaits(here))
      assert.equal(await arrive(), 403, 'the sender no longer confirms it')
      assert.deepEqual([await secretOf(asker), await secretOf(asked)], [offered, offered])
      assert.deepEqual([await knock(here, asker, late), await knock(there, asked, late)], [403, 403])
    })

    it('counts when the peer saw it confirmed just before the confirmation expired (PEER-11)', async () => {
      const { promise: isRead, resolve: read } = Promise.withResolvers<void>()
      let body = ''
      let isConfirmed = false
      network.fate = (from, line, request) => {
        if (from === 'here' && isRequest(line)) {
          body = request.body as string
          return 'lost'
        }
        if (from !== 'there' || line !== `GET trust/friend/${asked.id}`) return undefined
        return { heardAfter: isRead, onAnswer: () => (isConfirmed = true) }
      }
      assert.equal((await renew()).status, 408)
      await pass(59)
      const { secret: offered } = JSON.parse(body) as { secret: string }
      const arriving = there.request(`/${asked.id}/trust/friend`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body,
      })
      // Virtual time would end the renewal while the other service reads its database.
      await until(() => isConfirmed)
      const { verification_token: shown } = (await view(asker)) as TrustView
      await passUntil(async () => (await view(asker))?.verification_token !== shown)
      read()
      assert.equal((await arriving).status, 201)
      await passUntil(() => nothingWaits(here))
      assert.deepEqual([await secretOf(asker), await secretOf(asked)], [offered, offered])
    })

    it('waits for an unreachable peer without a limit (PEER-11)', async () => {
      const old = await secretOf(asker)
      const offered = once('unheard')
      assert.equal((await renew()).status, 408)
      const decided = network.fate
      let isAway = true
      network.fate = (from, line, request) => (from === 'here' && isAway ? 'unreached' : decided(from, line, request))
      await pass(300)
      assert.deepEqual([await knock(here, asker, old), await knock(here, asker, offered.secret)], [200, 200])
      isAway = false
      await passUntil(() => nothingWaits(here))
      assert.deepEqual([await secretOf(asker), await secretOf(asked)], [offered.secret, offered.secret])
    })

    it('is queried again when the response to the query is lost, too (PEER-11)', async () => {
      const offered = once('unheard')
      const decided = network.fate
      let unheard = 0
      network.fate = (from, line, request) => {
        if (from !== 'here' || !line.startsWith('POST trust/friend/') || unheard === 3)
          return decided(from, line, request)
        unheard += 1
        return 'unheard'
      }
      assert.equal((await renew()).status, 408)
      await passUntil(() => nothingWaits(here))
      assert.equal(unheard, 3)
      assert.deepEqual([await secretOf(asker), await secretOf(asked)], [offered.secret, offered.secret])
    })

    it('prevents another renewal until its outcome is known (PEER-11)', async () => {
      const offered = once('unheard')
      const decided = network.fate
      let isAway = false
      network.fate = (from, line, request) =>
        from === 'here' && isAway && line.startsWith('POST trust/friend/') ? 'unreached' : decided(from, line, request)
      isAway = true
      assert.equal((await renew()).status, 408)
      assert.equal((await renew()).status, 409)
      await pass(120)
      assert.equal((await renew()).status, 409)
      isAway = false
      await passUntil(() => nothingWaits(here))
      assert.equal(await secretOf(asker), offered.secret)
      assert.equal((await renew()).status, 201)
      assert.equal(await secretOf(asker), await secretOf(asked))
      assert.notEqual(await secretOf(asker), offered.secret)
    })

    for (const fate of ['unheard', 'lost'] as const) {
      it(`is completed by another process when its own crashed (${fate}) (PEER-11)`, async () => {
        const old = await secretOf(asker)
        const { promise: isOver, resolve: end } = Promise.withResolvers<'unreached'>()
        let secret = ''
        network.fate = async (from, line, request) => {
          if (from !== 'here') return undefined
          if (isRequest(line) && secret === '') {
            secret = (JSON.parse(request.body as string) as { secret: string }).secret
            if (fate === 'unheard') await network.clientOf('relay').call(request)
          }
          // The crashed process receives no further responses.
          return line === 'GET meta' ? undefined : isOver
        }
        const asking = renew()
        await passUntil(async () => secret !== '' && (fate === 'lost' || (await secretOf(asked)) === secret))
        const client = network.clientOf('another')
        const another = await startAt('http://here.test', { database: here.databaseUrl, peerClient: client })
        await passUntil(() => nothingWaits(another))
        const wanted = fate === 'lost' ? old : secret
        assert.deepEqual([await secretOf(asker), await secretOf(asked)], [wanted, wanted])
        const status = fate === 'lost' ? 403 : 200
        assert.deepEqual([await knock(another, asker, secret), await knock(there, asked, secret)], [status, status])
        end('unreached')
        await asking
      })
    }

    it('delays callbacks meanwhile and loses none (SUB-02)', async () => {
      const wish = { peerid: asker.id, target: 'properties', granularity: 'high' }
      assert.equal((await asked.request('POST', '/subscriptions', wish)).status, 204)
      await passUntil(() => nothingWaits(here))
      const offered = once('unheard')
      const decided = network.fate
      let isAway = true
      network.fate = (from, line, request) =>
        from === 'here' && isAway && line.startsWith('POST trust/friend/') ? 'unreached' : decided(from, line, request)
      assert.equal((await renew()).status, 408)
      assert.equal(await secretOf(asked), offered.secret)
      // The actor makes a change while its own copy of the secret is no longer valid at the peer.
      assert.equal((await asker.request('PUT', '/properties/mood', '"sunny"')).status, 204)
      await pass(20)
      isAway = false
      await passUntil(() => nothingWaits(here))
      const headers = { authorization: asked.authorization }
      const copy = await there.request(`/${asked.id}/devtest/attributes/remote:${asker.id}`, { headers })
      assert.deepEqual(((await copy.json()) as { mood: { data: unknown } }).mood.data, { value: 'sunny' })
      const { store } = await here.app.running()
      const failed = await store.read((q) => q.all(`SELECT sequence FROM delivery WHERE outcome = 'failed'`))
      assert.deepEqual(failed, [])
    })

    for (const [what, end] of [
      ['the relationship', async () => asker.request('DELETE', `/trust/friend/${asked.id}`)],
      ['the actor', async () => asker.request('DELETE', '')],
    ] as const) {
      it(`does not prevent the notification that ${what} ended (PEER-08)`, async () => {
        for (const fate of ['unheard', 'lost'] as const) {
          once(fate)
          const decided = network.fate
          network.fate = (from, line, request) =>
            from === 'here' && line.startsWith('POST trust/friend/') ? 'unreached' : decided(from, line, request)
          assert.equal((await renew()).status, 408)
          assert.equal((await end()).status, 204)
          await heard.there.first('trust_deleted', asked.id)
          await passUntil(() => nothingWaits(here))
          assert.equal(await view(asked), undefined)
          assert.deepEqual(
            heard.there.names(asked.id).filter((name) => name === 'trust_deleted'),
            ['trust_deleted'],
          )
          if (what === 'the actor') return
          network.fate = () => undefined
          heard.there.all.length = 0
          assert.equal((await renew()).status, 201)
        }
      })
    }
  })

  describe('a renewal whose actor is deleted during the query of its outcome', () => {
    it('ends with a notification of the peer, and logs no error (PEER-11, PEER-08)', async () => {
      const { promise: mayBeHeard, resolve: hear } = Promise.withResolvers<void>()
      let isAsked = false
      once('unheard')
      const decided = network.fate
      network.fate = (from, line, request) =>
        from === 'here' && line.startsWith('POST trust/friend/')
          ? { heardAfter: mayBeHeard, onAnswer: () => (isAsked = true) }
          : decided(from, line, request)
      assert.equal((await renew()).status, 408)
      await passUntil(() => isAsked)
      assert.equal((await asker.request('DELETE', '')).status, 204)
      hear()
      await heard.there.first('trust_deleted', asked.id)
      await passUntil(() => nothingWaits(here))
      await here.close()
      assert.equal(await view(asked), undefined)
      assert.deepEqual(
        here.log.filter((line) => line.includes('"level":"error"')),
        [],
      )
    })
  })

  describe('a renewal that fails', () => {
    it('by a rejection discards the offered secret immediately, and can be repeated (PEER-11)', async () => {
      const old = await secretOf(asker)
      const offered = once('refused')
      assert.equal((await renew()).status, 408)
      assert.deepEqual([await knock(here, asker, old), await knock(here, asker, offered.secret)], [200, 403])
      assert.equal(await nothingWaits(here), true)
      assert.equal((await renew()).status, 201)
    })

    it('by an unreachable peer discards the offered secret, too (PEER-11)', async () => {
      const offered = once('unreached')
      assert.equal((await renew()).status, 408)
      assert.equal(await knock(here, asker, offered.secret), 403)
      assert.equal((await renew()).status, 201)
    })
  })

  describe('concurrent renewals of both actors', () => {
    it('leave one secret, whichever of the requests is lost (PEER-11)', async () => {
      for (const lost of ['here', 'there', 'neither']) {
        for (const fate of ['lost', 'unheard', 'unreached'] as const) {
          const { promise: bothAsked, resolve: go } = Promise.withResolvers<void>()
          const asking = new Set<string>()
          network.fate = async (from, line) => {
            if (!isRequest(line) || asking.has(from)) return undefined
            asking.add(from)
            if (asking.size === 2) go()
            await bothAsked
            return from === lost ? fate : undefined
          }
          await Promise.all([
            renew(),
            asked.request('POST', '/trust', { url: `http://here.test/${asker.id}`, relationship: 'friend' }),
          ])
          await passUntil(async () => (await nothingWaits(here)) && (await nothingWaits(there)))
          const secret = await secretOf(asker)
          assert.equal(await secretOf(asked), secret, `${lost} ${fate}`)
          assert.deepEqual([await knock(here, asker, secret), await knock(there, asked, secret)], [200, 200])
          clock.pass(60_000)
        }
      }
    })

    for (const fate of [undefined, 'unheard'] as const) {
      it(`under another trust type notify the peer of its new permissions (${fate ?? 'answered'}) (ACL-06, R-PERM-05)`, async () => {
        assert.equal((await asked.request('PUT', `/trust/friend/${asker.id}`, { approved: false })).status, 204)
        const sent: { secret: string | undefined; patterns: unknown }[] = []
        network.fate = (from, line, { body, bearer }) => {
          if (from !== 'here') return undefined
          if (line === `POST callbacks/permissions/${asker.id}`) {
            const { data } = JSON.parse(body as string) as { data: { properties: { excluded_patterns: unknown } } }
            sent.push({ secret: bearer?.secret, patterns: data.properties.excluded_patterns })
          }
          return line === 'POST trust/partner' ? fate : undefined
        }
        const wish = { url: `http://there.test/${asked.id}`, relationship: 'partner' }
        assert.equal((await asker.request('POST', '/trust', wish)).status, fate === undefined ? 201 : 408)
        await passUntil(() => sent.length > 0)
        const { relationship, secret } = (await view(asker)) as TrustView
        assert.equal(relationship, 'partner')
        assert.deepEqual(sent[0], { secret, patterns: ['_internal/*'] })
      })
    }

    it('under the same other trust type apply it on both sides or on neither (PEER-11)', async () => {
      const lower = asker.id < asked.id ? 'here' : 'there'
      for (const [isHeardFirst, name] of [
        [false, 'partner'],
        [true, 'partner'],
        [true, 'associate'],
      ] as const) {
        const { promise: bothAsked, resolve: go } = Promise.withResolvers<void>()
        const { promise: isDecided, resolve: decided } = Promise.withResolvers<void>()
        const asking = new Set<string>()
        network.fate = async (from, line) => {
          if (line !== `POST trust/${name}`) return undefined
          asking.add(from)
          if (asking.size === 2) go()
          await bothAsked
          // The ids decide whose request counts; the network decides whether the other one is rejected first.
          if (from === lower) return isHeardFirst ? (await isDecided, undefined) : undefined
          return isHeardFirst ? undefined : { heardAfter: isDecided }
        }
        const ask = async (actor: TestActor, url: string, from: string): Promise<void> => {
          await actor.request('POST', '/trust', { url, relationship: name })
          if ((from === lower) !== isHeardFirst) decided()
        }
        await Promise.all([
          ask(asker, `http://there.test/${asked.id}`, 'here'),
          ask(asked, `http://here.test/${asker.id}`, 'there'),
        ])
        await passUntil(async () => (await nothingWaits(here)) && (await nothingWaits(there)))
        const [ours, theirs] = [(await view(asker)) as TrustView, (await view(asked)) as TrustView]
        assert.equal(ours.secret, theirs.secret)
        for (const { relationship, approved, peer_approved: peerApproved } of [ours, theirs]) {
          assert.deepEqual([relationship, approved, peerApproved], ['partner', true, true])
        }
        clock.pass(60_000)
      }
    })
  })

  describe('a renewal that crosses a request of a Python peer', () => {
    // When the peer stores the request of the renewal, and what the renewing actor hears.
    const cases = [
      ['never', 504],
      ['before', 504],
      ['before', 201],
      ['after', 504],
      ['after', 201],
    ] as const
    for (const [stored, status] of cases) {
      it(`ends with one secret when the peer stores it ${stored} its own request and answers ${status} (PEER-11)`, async (t) => {
        const python = await PythonPeer.start({ autoAccept: 'friend' })
        t.after(() => python.close())
        const passing = new ManualClock()
        const service = await start({ listen: true, now: passing.now, timers: passing.timers })
        const actor = await service.createActor()
        const wish = { url: python.url, relationship: 'friend' }
        assert.equal((await actor.request('POST', '/trust', wish)).status, 201)
        const subscriber = new PythonSubscriber(python)
        await subscriber.subscribe(actor.id)
        passing.pass(60_000)
        const { promise: hasAsked, resolve } = Promise.withResolvers<undefined>()
        const { promise: isStored, resolve: store } = Promise.withResolvers<undefined>()
        let isInner = false
        python.route('POST', /^\/trust\/friend$/, async (request) => {
          if (isInner) return undefined
          const take = async () => {
            isInner = true
            const answer = await python.answer(request)
            isInner = false
            return answer
          }
          const before = stored === 'before' ? await take() : undefined
          store(undefined)
          if (status === 201 || stored === 'after') await hasAsked
          const answer = stored === 'after' ? await take() : before
          return status === 504 ? { status } : answer
        })
        const renewing = actor.request('POST', '/trust', wish)
        await isStored
        if (status === 504 && stored !== 'after') await renewing
        assert.notEqual(await python.request(python.trusts.get(actor.id)?.baseuri ?? '', 'friend'), null)
        resolve(undefined)
        await renewing
        const secretHere = async () => ((await (await actor.request('GET', '/trust')).json()) as TrustView[])[0]?.secret
        const { store: rows } = await service.app.running()
        const isSettled = async () => {
          const row = await rows.read((q) =>
            q.get<{ open: number }>('SELECT COUNT(*) AS open FROM trust WHERE next_secret_hash IS NOT NULL'),
          )
          return row?.open === 0
        }
        await passClockUntil(passing, [service], isSettled, 5000)
        assert.equal(await secretHere(), python.trusts.get(actor.id)?.secret)
        assert.equal((await actor.request('PUT', '/properties/mood', 'sunny')).status, 204)
        await passClockUntil(passing, [service], () => subscriber.copyOf(actor.id).values.get('mood') === 'sunny', 1000)
      })
    }
  })
})
