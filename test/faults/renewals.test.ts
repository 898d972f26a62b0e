import assert from 'node:assert/strict'
import { beforeEach, describe, it } from 'node:test'
import type { Timers } from '../../src/timers.ts'
import type { PeerClient, PeerOutcome, PeerRequest } from '../../src/peer/peer-client.ts'
import { EventRecorder } from '../support/event-recorder.ts'
import { forEachService, type StartOptions, type TestActor, type TestService } from '../support/service.ts'
import { until } from '../support/until.ts'

/** What becomes of a call: by its caller's service and what it asks for. Nothing is said: it goes through. */
type Fate =
  | 'unreached'
  /** It does not arrive, and the caller does not know that. */
  | 'lost'
  /** It has its effect, and the answer does not arrive. */
  | 'unheard'
  /** It has its effect, and something between the two answers in the place of the peer. */
  | 'gateway timeout'
  | 'refused'
  /** The answer takes its time. */
  | { readonly heardAfter: Promise<void>; readonly onAnswer?: () => void }
  | undefined

/** Connects services without a socket, and loses what it is told to lose. */
class Network {
  readonly #services = new Map<string, TestService>()
  readonly calls: string[] = []
  /** Calls that a service is answering. */
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
    if (service === undefined) return { kind: 'unreached', reason: 'Nobody is there' }
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

/** What waits comes soon, however long it was to wait; what is due is told by the clock of the test alone. */
const hurried: Timers = {
  setTimer(_ms, then) {
    // Real time: as soon as possible, and so that requests come in between.
    const timer = setTimeout(then, 1)
    timer.unref()
    return () => clearTimeout(timer)
  },
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
  let clock: number
  let heard: Record<'here' | 'there', EventRecorder>
  let here: TestService
  let there: TestService
  let asker: TestActor
  let asked: TestActor

  async function startAt(origin: string, options: StartOptions = {}): Promise<TestService> {
    const service = await start({
      baseUrl: origin,
      peerClient: network.clientOf(origin.slice('http://'.length, -'.test'.length)),
      now: () => clock,
      timers: hurried,
      random: () => 0.5,
      peerProfileAttributes: [],
      ...options,
    })
    network.add(origin, service)
    return service
  }

  beforeEach(async () => {
    network = new Network()
    clock = 1_900_000_000_000
    heard = { here: new EventRecorder(), there: new EventRecorder() }
    here = await startAt('http://here.test', { declare: heard.here.declare })
    there = await startAt('http://there.test', { declare: heard.there.declare })
    asker = await here.createActor('asker@example.com')
    asked = await there.createActor('asked@example.com')
    assert.equal((await renew()).status, 201)
    assert.equal((await asked.request('PUT', `/trust/friend/${asker.id}`, { approved: true })).status, 204)
    await passUntil(() => heard.here.names(asker.id).includes('trust_fully_approved_remote'))
    // Requests that are sent soon after the answer to another count as crossing it.
    clock += 60_000
    heard.here.all.length = 0
    heard.there.all.length = 0
    network.calls.length = 0
  })

  /** Lets time pass until the condition holds, but not while a service is answering a call. */
  function passUntil(holds: () => boolean | Promise<boolean>): Promise<void> {
    return until(async () => {
      if (await holds()) return true
      if (network.running === 0) clock += 1000
      return false
    })
  }

  async function pass(seconds: number): Promise<void> {
    const end = clock + seconds * 1000
    await passUntil(() => clock >= end)
  }

  const renew = (): Promise<Response> =>
    asker.request('POST', '/trust', { url: `http://there.test/${asked.id}`, relationship: 'friend' })

  async function view(actor: TestActor): Promise<TrustView | undefined> {
    return ((await (await actor.request('GET', '/trust')).json()) as TrustView[])[0]
  }

  async function secretOf(actor: TestActor): Promise<string> {
    return (await view(actor))?.secret ?? 'none'
  }

  /** Whether the actor takes the secret for the other one's: 200, or 403. */
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

  /** The secret that the next request offers, and what becomes of it. */
  function once(fate: Fate): { secret: string } {
    const offered = { secret: '' }
    network.fate = (from, line, request) => {
      if (from !== 'here' || !isRequest(line) || offered.secret !== '') return undefined
      offered.secret = (JSON.parse(request.body as string) as { secret: string }).secret
      return fate
    }
    return offered
  }

  describe('a request that arrives when it is not meant any more', () => {
    /** As it was sent, at any time. */
    async function arrive(body: string): Promise<number> {
      const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body }
      return (await there.request(`/${asked.id}/trust/friend`, init)).status
    }

    async function relationshipsOf(actor: TestActor): Promise<string[]> {
      return ((await (await actor.request('GET', '/trust')).json()) as TrustView[]).map(({ peerid }) => peerid)
    }

    /** The next request is lost, after whatever happens meanwhile. */
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

    it('PEER-05 once more, while the next one is on its way, is not confirmed: it would bring back an older secret', async () => {
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

    it('PEER-05 leaves nothing at the peer when it was the first, and its sender gave it up', async () => {
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
      it(`PEER-08 leaves nothing at the peer when ${who} ended the relationship meanwhile`, async () => {
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

    it('PEER-08 once more, after its relationship was ended by the peer, does not bring that back', async () => {
      let body = ''
      network.fate = (from, line, request) => {
        if (from === 'here' && isRequest(line)) body = request.body as string
        return from === 'there' && line.startsWith('DELETE') ? 'unreached' : undefined
      }
      assert.equal((await renew()).status, 201)
      assert.equal((await asked.request('DELETE', `/trust/friend/${asker.id}`)).status, 204)
      assert.equal(await arrive(body), 403, 'its sender, who has not heard of the end, would confirm it')
      assert.deepEqual(await relationshipsOf(asked), [])
      network.fate = () => undefined
      await passUntil(async () => (await relationshipsOf(asker)).length === 0)
      assert.equal((await renew()).status, 201, 'a new request is another one')
    })

    it('holds up nothing that is said in another relationship with the same peer meanwhile', async () => {
      const stranger = await here.createActor('stranger@example.com')
      lost()
      const asking = { url: `http://there.test/${asked.id}`, relationship: 'friend' }
      assert.equal((await stranger.request('POST', '/trust', asking)).status, 408)
      assert.equal((await stranger.request('POST', '/trust', asking)).status, 201)
      const before = clock
      assert.equal((await stranger.request('PUT', `/trust/friend/${asked.id}`, { approved: true })).status, 204)
      await passUntil(() => network.calls.includes('here POST trust/friend/' + stranger.id))
      assert.ok(clock - before < 10_000)
    })
  })

  describe('a renewal that crosses a request whose sender died over it', () => {
    it('PEER-05 is told that the other counts, and leaves the secret that came with it', async () => {
      // The one with the lower id died, so that its request is the one that counts.
      while (asked.id > asker.id) asked = await there.createActor('asked@example.com')
      assert.equal((await asker.request('DELETE', `/trust/friend/${(await view(asker))?.peerid}`)).status, 204)
      await passUntil(() => nothingWaits(here))
      const offered = { secret: '' }
      network.fate = (from, line, request) => {
        if (from !== 'there' || !isRequest(line)) return undefined
        offered.secret = (JSON.parse(request.body as string) as { secret: string }).secret
        // Nobody is left to hear the answer.
        return { heardAfter: new Promise<void>(() => {}) }
      }
      void asked.request('POST', '/trust', { url: `http://here.test/${asker.id}`, relationship: 'friend' })
      await passUntil(async () => (await secretOf(asker)) === offered.secret)
      clock += 20_000
      assert.equal((await renew()).status, 201)
      assert.deepEqual([await secretOf(asker), await secretOf(asked)], [offered.secret, offered.secret])
      assert.deepEqual(
        [await knock(here, asker, offered.secret), await knock(there, asked, offered.secret)],
        [200, 200],
      )
    })
  })

  describe('a renewal whose answer does not come', () => {
    for (const fate of ['unheard', 'gateway timeout'] as const) {
      it(`PEER-05 ends with the new secret on both sides, and nobody has to ask again (${fate})`, async () => {
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

    it('PEER-05 that never arrived leaves the old secret, and the one that was offered ends', async () => {
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

    it('PEER-05 that is delayed until nobody waits for it is taken while it may be, and refused after that', async () => {
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
      assert.equal(await arrive(), 403, 'nobody confirms it any more')
      assert.deepEqual([await secretOf(asker), await secretOf(asked)], [offered, offered])
      assert.deepEqual([await knock(here, asker, late), await knock(there, asked, late)], [403, 403])
    })

    it('PEER-05 that the peer saw confirmed just before nobody confirms it any more still counts', async () => {
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
      await passUntil(() => isConfirmed)
      const { verification_token: shown } = (await view(asker)) as TrustView
      await passUntil(async () => (await view(asker))?.verification_token !== shown)
      read()
      assert.equal((await arriving).status, 201)
      await passUntil(() => nothingWaits(here))
      assert.deepEqual([await secretOf(asker), await secretOf(asked)], [offered, offered])
    })

    it('PEER-05 that finds nobody to ask waits for the peer, however long it is away', async () => {
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

    it('PEER-05 is asked about with an answer that is lost, too, and asked again', async () => {
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

    it('PEER-05 is not joined by another one before it is known what came of it', async () => {
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
      it(`PEER-05 is settled by another process where its own died (${fate})`, async () => {
        const old = await secretOf(asker)
        const { promise: isOver, resolve: end } = Promise.withResolvers<'unreached'>()
        let secret = ''
        network.fate = async (from, line, request) => {
          if (from !== 'here') return undefined
          if (isRequest(line) && secret === '') {
            secret = (JSON.parse(request.body as string) as { secret: string }).secret
            if (fate === 'unheard') await network.clientOf('nobody').call(request)
          }
          // The process that asked hears of nothing any more.
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

    it('SUB-02 holds up what is told meanwhile, and loses none of it', async () => {
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
      // Only now does it change something, with the secret that the peer has no more.
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
      it(`PEER-08 does not keep the end of ${what} from the peer`, async () => {
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

  describe('a renewal whose actor goes while the peer is asked what came of it', () => {
    it('PEER-05 PEER-08 is over: the peer is told of the end, and no error is logged', async () => {
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

  describe('a renewal that is refused', () => {
    it('PEER-05 ends at once what was offered, and may be asked for again', async () => {
      const old = await secretOf(asker)
      const offered = once('refused')
      assert.equal((await renew()).status, 408)
      assert.deepEqual([await knock(here, asker, old), await knock(here, asker, offered.secret)], [200, 403])
      assert.equal(await nothingWaits(here), true)
      assert.equal((await renew()).status, 201)
    })

    it('PEER-05 or does not reach anybody does so, too', async () => {
      const offered = once('unreached')
      assert.equal((await renew()).status, 408)
      assert.equal(await knock(here, asker, offered.secret), 403)
      assert.equal((await renew()).status, 201)
    })
  })

  describe('renewals of both at once', () => {
    it('PEER-05 leave one secret, whichever of them is lost on its way', async () => {
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
          clock += 60_000
        }
      }
    })

    for (const fate of [undefined, 'unheard'] as const) {
      it(`ACL-06 R-PERM-05 under another name is told with what the peer may do then (${fate ?? 'answered'})`, async () => {
        assert.equal((await asked.request('PUT', `/trust/friend/${asker.id}`, { approved: false })).status, 204)
        const told: { secret: string | undefined; patterns: unknown }[] = []
        network.fate = (from, line, { body, bearer }) => {
          if (from !== 'here') return undefined
          if (line === `POST callbacks/permissions/${asker.id}`) {
            const { data } = JSON.parse(body as string) as { data: { properties: { excluded_patterns: unknown } } }
            told.push({ secret: bearer?.secret, patterns: data.properties.excluded_patterns })
          }
          return line === 'POST trust/partner' ? fate : undefined
        }
        const wish = { url: `http://there.test/${asked.id}`, relationship: 'partner' }
        assert.equal((await asker.request('POST', '/trust', wish)).status, fate === undefined ? 201 : 408)
        await passUntil(() => told.length > 0)
        const { relationship, secret } = (await view(asker)) as TrustView
        assert.equal(relationship, 'partner')
        assert.deepEqual(told[0], { secret, patterns: ['_internal/*'] })
      })
    }

    it('PEER-05 under another name than they have, but the same, give it that name on both sides or on neither', async () => {
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
          // Whose request counts is decided by the ids, and whether the other one is refused first by the network.
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
        clock += 60_000
      }
    })
  })
})
