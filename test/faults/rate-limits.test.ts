import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { ManualClock } from '../support/manual-clock.ts'
import { FakePeers } from '../support/fake-peers.ts'
import { basic, forEachService, type StartOptions, type TestActor, type TestService } from '../support/service.ts'
import { sharedProvider, signIn, signInAt, TestBrowser } from '../support/sign-in.ts'
import { faulty } from '../support/stores.ts'

interface Sent {
  readonly method?: string
  readonly authorization?: string
  readonly body?: unknown
  readonly forwarded?: string
}

/** Sends a request from an address. */
function from(service: TestService, remoteAddress: string | null, path: string, sent: Sent = {}): Promise<Response> {
  const { method = 'GET', authorization, body, forwarded } = sent
  const request = new Request(`http://troupe.test${path}`, {
    method,
    redirect: 'manual',
    headers: {
      ...(authorization === undefined ? {} : { authorization }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...(forwarded === undefined ? {} : { 'x-forwarded-for': forwarded }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  return service.app.fetch(request, { remoteAddress })
}

/** Fixed, because a limit is refilled as time passes. */
const now = (): number => 1_900_000_000_000

const few: Pick<StartOptions, 'rateLimits' | 'now'> = {
  now,
  rateLimits: {
    '*': null,
    'create_actor/source': { count: 3, seconds: 60 },
    'create_actor/total': { count: 8, seconds: 60 },
    'trust_request/source': { count: 2, seconds: 60 },
    'trust_request/target': { count: 3, seconds: 60 },
    'trust_request/total': { count: 5, seconds: 60 },
    'passphrase/pair': { count: 4, seconds: 600 },
    'passphrase/source': { count: 6, seconds: 600 },
    'passphrase/target': { count: 10, seconds: 600 },
    'secret/pair': { count: 5, seconds: 600 },
    'secret/source': { count: 8, seconds: 600 },
    'secret/target': { count: 12, seconds: 600 },
  },
}

const times = (count: number, status: number): number[] => Array.from({ length: count }, () => status)

const provider = sharedProvider()

const attacker = '192.0.2.66'
const home = '198.51.100.1'

forEachService((start) => {
  async function guess(
    service: TestService,
    actor: TestActor,
    address: string | null,
    count: number,
  ): Promise<number[]> {
    const all = Array.from({ length: count }, (_, index) =>
      from(service, address, `/${actor.id}/properties`, { authorization: basic(actor.creator, `guess ${index}`) }),
    )
    return (await Promise.all(all)).map(({ status }) => status).sort((a, b) => a - b)
  }

  const asOwner = async (service: TestService, actor: TestActor, address: string | null): Promise<number> =>
    (await from(service, address, `/${actor.id}/properties`, { authorization: actor.authorization })).status

  describe('guessing a passphrase', () => {
    it('is stopped after the configured number of failures, and then rejects the right one from that sender too (RATE-01)', async () => {
      const service = await start(few)
      const actor = await service.createActor()
      assert.deepEqual(await guess(service, actor, attacker, 20), [...times(4, 403), ...times(16, 429)])
      const refused = await from(service, attacker, `/${actor.id}/properties`, { authorization: actor.authorization })
      assert.equal(refused.status, 429)
      assert.equal(refused.headers.get('retry-after'), '150')
      assert.equal(refused.headers.get('ratelimit-policy'), '"passphrase";q=4;w=600')
      assert.equal(refused.headers.get('ratelimit'), '"passphrase";r=0;t=600')
      assert.equal(((await refused.json()) as { error: string }).error, 'too_many_requests')
    })

    it('does not lock out other addresses, and is possible again after Retry-After (RATE-01)', async () => {
      const clock = new ManualClock()
      const service = await start({ ...few, now: clock.now, timers: clock.timers })
      const actor = await service.createActor()
      await guess(service, actor, attacker, 20)
      assert.equal(await asOwner(service, actor, home), 200)
      clock.pass(149_900)
      assert.equal(await asOwner(service, actor, attacker), 429)
      clock.pass(100)
      assert.equal(await asOwner(service, actor, attacker), 200)
    })

    it('from many addresses is stopped at the actor, while the owner signs in from an address without failures (RATE-01)', async () => {
      const service = await start(few)
      const actor = await service.createActor()
      const statuses: number[] = []
      for (let index = 0; index < 8; index++) statuses.push(...(await guess(service, actor, `203.0.113.${index}`, 3)))
      assert.equal(statuses.filter((status) => status === 403).length, 10)
      assert.equal(statuses.filter((status) => status === 429).length, 14)
      assert.equal(await asOwner(service, actor, home), 200)
      assert.equal(await asOwner(service, actor, '203.0.113.0'), 429)
    })

    it('is limited for one sender over all actors together (RATE-01)', async () => {
      const service = await start(few)
      const actors = [await service.createActor('a@example.com'), await service.createActor('b@example.com')]
      const statuses: number[] = []
      for (const actor of actors) statuses.push(...(await guess(service, actor, attacker, 4)))
      assert.deepEqual(statuses, [403, 403, 403, 403, 403, 403, 429, 429])
    })

    it('is counted across processes and restarts, where the right one is rejected too (RATE-01)', async () => {
      const service = await start(few)
      const actor = await service.createActor()
      const second = await start({ ...few, database: service.databaseUrl })
      assert.deepEqual(await guess(service, actor, attacker, 4), [403, 403, 403, 403])
      assert.equal(await asOwner(second, actor, attacker), 429)
      assert.deepEqual(await guess(second, actor, attacker, 3), [429, 429, 429])
      assert.equal(await asOwner(second, actor, home), 200)
      const restarted = await start({ ...few, database: service.databaseUrl })
      assert.equal(await asOwner(restarted, actor, attacker), 429)
      assert.equal(await asOwner(restarted, actor, home), 200)
    })

    it('is checked for exactly the allowed number of concurrent attempts (RATE-05)', async () => {
      const service = await start(few)
      const actor = await service.createActor()
      const wrong = await guess(service, actor, attacker, 100)
      assert.equal(wrong.filter((status) => status === 403).length, 4)
      assert.equal(wrong.filter((status) => status === 429).length, 96)
    })

    it('stays limited while the store of the counters fails (RATE-05)', async () => {
      let broken = false
      const service = await start({
        ...few,
        wrapStore: (store) => {
          const failing = faulty(store)
          return {
            ...failing,
            write: (work) => {
              if (broken) return Promise.reject(new Error('the store is down'))
              return failing.write(work)
            },
          }
        },
      })
      const actor = await service.createActor()
      broken = true
      assert.deepEqual(await guess(service, actor, attacker, 20), [...times(4, 403), ...times(16, 429)])
      assert.equal(await asOwner(service, actor, attacker), 429)
      assert.equal(await asOwner(service, actor, home), 200)
    })

    it('is limited per actor for all callers when no address is known (RATE-01)', async () => {
      const service = await start(few)
      const actor = await service.createActor()
      const statuses = await guess(service, actor, null, 30)
      assert.equal(statuses.filter((status) => status === 403).length, 10)
      assert.equal(await asOwner(service, actor, null), 429)
      assert.equal(await asOwner(service, actor, home), 200)
    })

    it('costs the owner no statement, and a wrong attempt a fixed number', async () => {
      const service = await start(few)
      const actor = await service.createActor()
      const cost = async (authorization: string, address: string): Promise<number> => {
        service.reset()
        await from(service, address, `/${actor.id}/properties`, { authorization })
        return service.statements.length
      }
      const plain = await cost(actor.authorization, home)
      assert.equal(plain, 2)
      assert.equal(await cost(basic(actor.creator, 'wrong'), home), 4)
      assert.equal(await cost(actor.authorization, home), plain)
    })
  })

  describe('guessing a secret', () => {
    it('is stopped after the configured number of failures, per actor and per sender (RATE-01)', async () => {
      const service = await start(few)
      const actor = await service.createActor()
      const tries = async (address: string, count: number): Promise<number[]> => {
        const all: number[] = []
        for (let index = 0; index < count; index++) {
          const sent = { authorization: `Bearer ${'0f'.repeat(19)}${index % 10}${index % 7}` }
          all.push((await from(service, address, `/${actor.id}/properties`, sent)).status)
        }
        return all
      }
      assert.deepEqual(await tries(attacker, 7), [403, 403, 403, 403, 403, 429, 429])
      assert.equal(
        (await from(service, attacker, `/${actor.id}/properties`, { authorization: 'Bearer x' })).status,
        429,
      )
      // The passphrase has its own counter.
      assert.equal(await asOwner(service, actor, attacker), 200)
    })
  })

  describe('a session while an attacker guesses', () => {
    for (const address of [attacker, null]) {
      it(`continues ${address === null ? 'when no address is known' : 'behind the attacker’s address'} (RATE-01)`, async () => {
        const service = await start(few)
        const actor = await service.createActor()
        const { parts } = await service.app.running()
        const begun = { actorId: actor.id, identifier: actor.creator, beganWith: 'web', device: '' } as const
        const { accessToken } = await parts.sessions.begin(begun)
        const ask = async (token: string): Promise<number> =>
          (await from(service, address, `/${actor.id}/properties`, { authorization: `Bearer ${token}` })).status
        for (let index = 0; index < 13; index++) await ask(`a-wrong-secret-${index}`)
        assert.equal(await ask('a-wrong-secret'), 429)
        assert.equal(await ask(accessToken), 200)
        await parts.sessions.end(actor.id, (await parts.sessions.list(actor.id))[0]?.chainId ?? '')
        assert.equal(await ask(accessToken), 401)
      })
    }
  })

  describe('the rate limits of unauthenticated requests', () => {
    it('bound the creation of actors per sender and in total (RATE-03, RATE-04)', async () => {
      const service = await start(few)
      const create = (address: string, index: number): Promise<Response> =>
        from(service, address, '/', { method: 'POST', body: { creator: `c${index}@example.com` } })
      const first = await create(attacker, 0)
      assert.deepEqual([first.status, first.headers.get('ratelimit')], [201, '"create_actor";r=2;t=20'])
      const statuses: number[] = []
      for (let index = 1; index < 5; index++) statuses.push((await create(attacker, index)).status)
      assert.deepEqual(statuses, [201, 201, 429, 429])
      for (let index = 5; index < 10; index++) statuses.push((await create(`203.0.113.${index}`, index)).status)
      assert.deepEqual(statuses.slice(4), [201, 201, 201, 201, 201])
      const last = await create(home, 20)
      assert.equal(last.status, 429)
      assert.equal(last.headers.get('retry-after'), '8')
      assert.equal(last.headers.get('ratelimit'), '"create_actor";r=0;t=60')
      assert.equal(await service.app.actors.findByCreator('c20@example.com'), undefined)
      assert.equal(await service.app.actors.findByCreator('c3@example.com'), undefined)
    })

    it('count a passphrase at the factory as a guess when creators are unique (RATE-01)', async () => {
      const service = await start({
        uniqueCreator: true,
        rateLimits: { ...few.rateLimits, 'create_actor/source': null, 'create_actor/total': null },
      })
      const actor = await service.createActor('ada@example.com')
      const create = async (address: string, passphrase: string): Promise<number> => {
        const body = { creator: 'Ada@example.com', passphrase }
        return (await from(service, address, '/', { method: 'POST', body })).status
      }
      assert.deepEqual([await create(attacker, 'a'), await create(attacker, 'b')], [403, 403])
      assert.deepEqual(await guess(service, actor, attacker, 3), [403, 403, 429])
      assert.equal(await create(attacker, actor.passphrase), 429)
      assert.equal(await create(home, actor.passphrase), 201)
      // A request without a passphrase is not a guess.
      assert.equal(await create(home, ''), 403)
      assert.equal(await asOwner(service, actor, home), 200)
    })

    it('treat addresses of one /64 as one sender and ignore forged forwarding headers (RATE-02)', async () => {
      const service = await start(few)
      const statuses: number[] = []
      for (let index = 0; index < 4; index++) {
        const sent = { method: 'POST', body: {}, forwarded: `6.6.6.${index}` }
        statuses.push((await from(service, `2001:db8:1:2::${index}`, '/', sent)).status)
      }
      assert.deepEqual(statuses, [201, 201, 201, 429])
      assert.equal((await from(service, '2001:db8:1:3::1', '/', { method: 'POST', body: {} })).status, 201)
    })

    it('take the sender from the header of a configured proxy (RATE-02)', async () => {
      const service = await start({ ...few, trustedProxies: 1 })
      const create = async (forwarded: string): Promise<number> =>
        (await from(service, '10.0.0.1', '/', { method: 'POST', body: {}, forwarded })).status
      for (const forged of ['1.1.1.1', '2.2.2.2', '3.3.3.3']) assert.equal(await create(`${forged}, ${attacker}`), 201)
      assert.equal(await create(`4.4.4.4, ${attacker}`), 429)
      assert.equal(await create(home), 201)
    })

    it('bound trust requests per sender, per actor and in total (RATE-03, RATE-04)', async () => {
      const service = await start({ ...few, peerClient: new FakePeers() })
      const actors = [await service.createActor('a@example.com'), await service.createActor('b@example.com')]
      let asking = 0
      const ask = async (address: string, actor: TestActor | undefined): Promise<number> => {
        const id = `stranger-${asking++}`
        const body = { baseuri: `https://peer.example.com/${id}`, id }
        return (await from(service, address, `/${actor?.id}/trust/friend`, { method: 'POST', body })).status
      }
      assert.deepEqual([await ask(attacker, actors[0]), await ask(attacker, actors[0])], [202, 202])
      assert.equal(await ask(attacker, actors[0]), 429)
      assert.equal(await ask('203.0.113.1', actors[0]), 202)
      assert.equal(await ask('203.0.113.2', actors[0]), 429)
      assert.equal(await ask('203.0.113.3', actors[1]), 202)
      assert.equal(await ask('203.0.113.4', actors[1]), 202)
      assert.equal(await ask('203.0.113.5', actors[1]), 429)
      const trusts = (await (await actors[0]?.request('GET', '/trust'))?.json()) as unknown[]
      assert.equal(trusts.length, 3)
    })

    /** The limiter of each route, and a request that spends from it. */
    const driven: Readonly<Record<string, readonly [limit: string, method: string, path: string, body?: object]>> = {
      'the redirect to a provider': ['sign_in', 'GET', '/oauth/login/none'],
      'the provider callback': ['sign_in', 'GET', '/oauth/callback?state=x&code=y'],
      'the provider callback by form': ['sign_in', 'POST', '/oauth/callback/none', {}],
      'the claim of an actor': ['sign_in', 'POST', '/oauth/claim', {}],
      'the sign-in of single-page applications': ['sign_in', 'POST', '/oauth/spa/authorize', {}],
      'the callback of a third-party service': ['sign_in', 'GET', '/services/none/callback?state=x'],
      'the token endpoint': ['token', 'POST', '/oauth/spa/token', { grant_type: 'refresh_token', refresh_token: 'x' }],
      'a ticket': ['ticket', 'POST', '/oauth/spa/token', { grant_type: 'mobile_ticket', ticket: 'x' }],
      'a one-time session id': ['ticket', 'GET', '/oauth/spa/session/x'],
      'a verification link': ['email_verification', 'GET', '/oauth/email?verify=x'],
      'a verification link of the old form': ['email_verification', 'GET', '/:actor/www/verify_email?token=x'],
      'the verification of an address': ['email_verification', 'POST', '/oauth/email', { verify: 'x' }],
      'the verification of an address in the old form': [
        'email_verification',
        'POST',
        '/:actor/www/verify_email',
        { token: 'x' },
      ],
      'the revocation of a token': ['token', 'POST', '/oauth/revoke', { token: 'x' }],
      'the registration of a client': ['register_client', 'POST', '/oauth/register', { redirect_uris: [] }],
      'the consent to a client': ['authorize', 'GET', '/oauth/authorize?client_id=x'],
      'the token endpoint of clients': ['client_token', 'POST', '/oauth/token', {}],
      'the entry of an address': ['email_entry', 'POST', '/oauth/email', { session: 'x', email: 'a@example.com' }],
    }
    for (const [what, [limit, method, path, body]] of Object.entries(driven)) {
      it(`bound ${what} per sender and in total (RATE-01, RATE-03)`, async () => {
        const rate = (count: number): { count: number; seconds: number } => ({ count, seconds: 60 })
        const rateLimits = { '*': null, [`${limit}/source`]: rate(2), [`${limit}/total`]: rate(5) }
        const service = await start({ rateLimits, now })
        const actor = await service.createActor()
        const send = async (address: string): Promise<Response> =>
          from(service, address, path.replace(':actor', actor.id), { method, ...(body === undefined ? {} : { body }) })
        const statuses: number[] = []
        for (const address of [attacker, attacker, attacker, '203.0.113.1', '203.0.113.2', '203.0.113.3']) {
          statuses.push((await send(address)).status)
        }
        assert.deepEqual(
          statuses.map((status) => status === 429),
          [false, false, true, false, false, false],
          statuses.join(),
        )
        const refused = await send(home)
        assert.equal(refused.status, 429)
        assert.equal(refused.headers.get('retry-after'), '12')
        assert.equal(refused.headers.get('ratelimit-policy'), `"${limit}";q=5;w=60`)
      })
    }

    it('bound the entry of one address in any spelling and by any user (RATE-01, RATE-03)', async () => {
      const rateLimits = { '*': null, 'email_entry/target': { count: 2, seconds: 60 } } as const
      const service = await start({ ...signInAt(await provider()), rateLimits })
      const enter = async (email: string): Promise<number> => {
        const browser = new TestBrowser(service)
        const asked = await signIn(browser, await provider(), 'silent')
        const session = new URL(asked.headers.get('location') ?? '').searchParams.get('session') ?? ''
        return (await browser.post('/oauth/email', { session, email })).status
      }
      await service.createActor('a@example.com')
      assert.deepEqual([await enter('a@example.com'), await enter(' A@Example.com')], [409, 409])
      assert.equal(await enter('a@EXAMPLE.com'), 429)
      assert.equal(await enter('b@example.com'), 302)
    })

    it('do not let a caller without a sign-in use up the entry of another’s address (RATE-01)', async () => {
      const rateLimits = { '*': null, 'email_entry/target': { count: 2, seconds: 60 } } as const
      const service = await start({ ...signInAt(await provider()), rateLimits })
      const email = 'silent@example.com'
      for (const body of [
        { email },
        { session: 'x', email },
        { session: '', email },
        { session: 'x'.repeat(43), email },
      ]) {
        assert.equal((await from(service, attacker, '/oauth/email', { method: 'POST', body })).status, 400)
      }
      const browser = new TestBrowser(service)
      const asked = await signIn(browser, await provider(), 'silent')
      const session = new URL(asked.headers.get('location') ?? '').searchParams.get('session') ?? ''
      assert.equal((await browser.post('/oauth/email', { session, email })).status, 302)
    })

    it('count the passphrase grant together with other guesses (RATE-01)', async () => {
      const service = await start(few)
      const actor = await service.createActor()
      const grant = async (address: string, passphrase: string): Promise<number> => {
        const body = { grant_type: 'passphrase', actor_id: actor.id, passphrase }
        return (await from(service, address, '/oauth/spa/token', { method: 'POST', body })).status
      }
      assert.deepEqual([await grant(attacker, 'a'), await grant(attacker, 'b')], [401, 401])
      assert.deepEqual(await guess(service, actor, attacker, 3), [403, 403, 429])
      assert.equal(await grant(attacker, actor.passphrase), 429)
      assert.equal(await grant(home, actor.passphrase), 200)
    })

    it('bound requests without a known address in total (RATE-04)', async () => {
      const service = await start(few)
      const statuses: number[] = []
      for (let index = 0; index < 10; index++) {
        statuses.push((await from(service, null, '/', { method: 'POST', body: {} })).status)
      }
      assert.deepEqual(statuses, [...times(8, 201), 429, 429])
    })
  })
})
