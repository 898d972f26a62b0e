/** Webhooks of actors: `actor.webhooks` and `/<actor>/webhooks`. */
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { describe, it } from 'node:test'
import { Webhook as Verifier } from 'standardwebhooks'
import { ServiceError } from '../../src/errors.ts'
import type { PeerClient, PeerOutcome, PeerRequest } from '../../src/peer/peer-client.ts'
import type { App } from '../../src/troupe.ts'
import { ManualClock } from '../support/manual-clock.ts'
import { forEachService, type StartOptions, type TestActor, type TestService } from '../support/service.ts'
import { until, untilEqual } from '../support/until.ts'

const url = 'https://receiver.example.com/hook'

interface Message {
  readonly type: string
  readonly timestamp: string
  readonly data: Record<string, unknown>
}

interface Received {
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  readonly message: Message
}

/** A receiver that answers with the given outcomes, and then with 204. */
function receiver(...outcomes: (number | PeerOutcome)[]): { client: PeerClient; received: Received[] } {
  const received: Received[] = []
  const call = async ({ headers = {}, body }: PeerRequest): Promise<PeerOutcome> => {
    const text = String(body)
    received.push({ headers, body: text, message: JSON.parse(text) as Message })
    const next = outcomes.shift() ?? 204
    return typeof next === 'number' ? { kind: 'answered', status: next, headers: {}, body: '' } : next
  }
  return { client: { call, close: async () => {} }, received }
}

function still(clock: ManualClock, client: PeerClient): StartOptions {
  return { now: clock.now, timers: clock.timers, random: () => 1, peerClient: client }
}

/** Checks the signature with the reference implementation. Its clock is the one of the machine. */
function verify({ headers, body }: Received, secret: string): unknown {
  return new Verifier(secret).verify(body, { ...headers })
}

async function pass(service: TestService, clock: ManualClock, ms: number): Promise<void> {
  clock.pass(ms)
  const { parts } = await service.app.running()
  parts.jobs.wake()
  await service.settled()
}

async function add(actor: TestActor, more: object = {}): Promise<{ id: string; secret: string }> {
  const answer = await actor.request('POST', '/webhooks', {
    url,
    events: ['property_changed', 'list_changed'],
    ...more,
  })
  assert.equal(answer.status, 201)
  return (await answer.json()) as { id: string; secret: string }
}

async function read<T>(actor: TestActor, path: string): Promise<T> {
  const answer = await actor.request('GET', path)
  assert.equal(answer.status, 200, path)
  return (await answer.json()) as T
}

interface Shown {
  readonly id: string
  readonly state: string
  readonly reason: string
  readonly failing_since: string | null
  readonly next_attempt_at: string | null
}
interface Deliveries {
  readonly deliveries: { id: string; number: number; type: string; outcome: string; attempts: number; status: number }[]
  readonly next: number | null
}

/** The runs that read messages. */
function runsOf(service: TestService): number {
  return service.backgroundStatements.filter((sql) => sql.startsWith('/* jobs */ SELECT number')).length
}

forEachService((start) => {
  describe('a webhook', () => {
    it('receives the changes of its actor in order, signed by the Standard Webhooks specification', async () => {
      const { client, received } = receiver()
      const service = await start({ peerClient: client })
      const actor = await service.createActor()
      const { id, secret } = await add(actor)
      assert.match(secret, /^whsec_[A-Za-z0-9+/]{43}=$/)
      await actor.request('PUT', '/properties/budget', { limit: 500 })
      await actor.request('PUT', '/properties/budget/limit', 600)
      await (await service.app.actors.get(actor.id))?.list('notes').append({ text: 'milk' })
      await service.settled()
      const caller = { kind: 'creator' }
      assert.deepEqual(
        received.map(({ message: { type, data } }) => ({ type, ...data })),
        [
          {
            type: 'property_changed',
            actor: actor.id,
            caller,
            name: 'budget',
            operation: 'set',
            path: [],
            value: { limit: 500 },
          },
          {
            type: 'property_changed',
            actor: actor.id,
            caller,
            name: 'budget',
            operation: 'set',
            path: ['limit'],
            value: 600,
          },
          {
            type: 'list_changed',
            actor: actor.id,
            caller: { kind: 'application' },
            name: 'notes',
            operation: 'append',
            length: 1,
            index: 0,
            item: { text: 'milk' },
          },
        ],
      )
      for (const message of received) assert.deepEqual(verify(message, secret), message.message)
      for (const message of received) assert.throws(() => verify({ ...message, body: '{}' }, secret))
      const { deliveries } = await read<Deliveries>(actor, `/webhooks/${id}/deliveries`)
      assert.deepEqual(
        deliveries.map(({ number, type, outcome, attempts, status }) => [number, type, outcome, attempts, status]),
        [
          [3, 'list_changed', 'delivered', 1, 204],
          [2, 'property_changed', 'delivered', 1, 204],
          [1, 'property_changed', 'delivered', 1, 204],
        ],
      )
      assert.deepEqual(
        received.map(({ headers }) => headers['webhook-id']),
        deliveries.map((delivery) => delivery.id).toReversed(),
      )
    })

    it('receives only its events and names', async () => {
      const { client, received } = receiver()
      const service = await start({ peerClient: client })
      const { actor } = await service.app.actors.create()
      await actor.webhooks.add(url, { events: ['list_changed'], names: ['shop*'] })
      await actor.set('shopper', 1)
      await actor.list('shopping').append(1)
      await actor.list('other').append(2)
      await service.settled()
      assert.deepEqual(
        received.map(({ message }) => message.data['item']),
        [1],
      )
    })

    it('can be listed and removed, and shows no secret again', async () => {
      const { client, received } = receiver()
      const service = await start({ peerClient: client })
      const actor = await service.createActor()
      const given = `whsec_${Buffer.from('a'.repeat(24)).toString('base64')}`
      const { id, secret } = await add(actor, { description: 'Backup', names: ['a', 'b*'], secret: given })
      assert.equal(secret, given)
      const listed = await read<{ webhooks: (Shown & { created_at: string })[] }>(actor, '/webhooks')
      assert.deepEqual(listed.webhooks, [
        {
          id,
          url,
          events: ['property_changed', 'list_changed'],
          names: ['a', 'b*'],
          description: 'Backup',
          state: 'active',
          created_at: listed.webhooks[0]?.created_at,
          failing_since: null,
          reason: '',
          next_attempt_at: null,
        },
      ])
      assert.deepEqual(await read(actor, `/webhooks/${id}`), listed.webhooks[0])
      assert.equal((await actor.request('DELETE', `/webhooks/${id}`)).status, 204)
      assert.equal((await actor.request('DELETE', `/webhooks/${id}`)).status, 404)
      await actor.request('PUT', '/properties/a', 1)
      await service.settled()
      assert.deepEqual(received, [])
      const { store } = await service.app.running()
      const stored = await store.read((q) =>
        q.all<{ n: number; c: number }>(
          'SELECT (SELECT COUNT(*) FROM job) AS n, (SELECT observer_count FROM actor) AS c',
        ),
      )
      assert.deepEqual(
        stored.map(({ n, c }) => [n, c]),
        [[0, 0]],
      )
    })

    it('signs with both secrets after a rotation, until the overlap ends', async () => {
      const clock = new ManualClock(Math.floor(Date.now() / 1000) * 1000)
      const { client, received } = receiver()
      const service = await start(still(clock, client))
      const { actor } = await service.app.actors.create()
      const { id, secret } = await actor.webhooks.add(url, { events: ['property_changed'] })
      const newer = await actor.webhooks.rotateSecret(id, { overlapSeconds: 60 })
      assert.ok(newer !== undefined && newer !== secret)
      await actor.set('a', 1)
      await service.settled()
      const [first] = received
      assert.ok(first !== undefined)
      verify(first, secret)
      verify(first, newer)
      await pass(service, clock, 60_000)
      await actor.set('a', 2)
      await service.settled()
      const [, second] = received
      assert.ok(second !== undefined)
      verify(second, newer)
      assert.throws(() => verify(second, secret))
      assert.equal(await actor.webhooks.rotateSecret('none'), undefined)
      await assert.rejects(actor.webhooks.rotateSecret(id, { secret: 'short' }), /whsec_/)
      await assert.rejects(actor.webhooks.rotateSecret(id, { overlapSeconds: -1 }), /overlapSeconds/)
    })

    it('receives a test message', async () => {
      const { client, received } = receiver()
      const service = await start({ peerClient: client })
      const actor = await service.createActor()
      const { id, secret } = await add(actor)
      const answer = await actor.request('POST', `/webhooks/${id}/test`)
      assert.equal(answer.status, 202)
      await service.settled()
      const [message] = received
      assert.ok(message !== undefined)
      verify(message, secret)
      assert.deepEqual(message.message.type, 'test')
      assert.equal(((await answer.json()) as { id: string }).id, message.headers['webhook-id'])
    })

    it('costs no statement without a webhook', async () => {
      const service = await start()
      const actor = await service.createActor()
      service.reset()
      await actor.request('PUT', '/properties/a', 1)
      assert.deepEqual(
        service.statements.filter((sql) => /\b(webhook|job|job_entry)\b/.test(sql)),
        [],
      )
    })

    it('is called over HTTP without redirects, through the checks of addresses', async (t) => {
      const seen: { url: string; type: string }[] = []
      const server = createServer((request, response) => {
        seen.push({ url: request.url ?? '', type: request.headers['content-type'] ?? '' })
        if (seen.length === 1) response.writeHead(302, { location: '/elsewhere' }).end()
        // The page of a receiver is its own answer, and not that of an ingress before a peer.
        else response.writeHead(404, { 'content-type': 'text/html' }).end('<h1>404</h1>')
      })
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
      t.after(() => server.close())
      const address = server.address()
      assert.ok(typeof address === 'object' && address !== null)
      const service = await start({ allowPrivatePeers: true })
      const { actor } = await service.app.actors.create()
      const { id } = await actor.webhooks.add(`http://127.0.0.1:${address.port}/hook`, { events: ['property_changed'] })
      await actor.set('a', 1)
      const outcomes = async (): Promise<unknown> =>
        (await actor.webhooks.deliveries(id))?.map(({ outcome, status }) => [outcome, status]).sort()
      await untilEqual(outcomes, () => [['failed', 302]])
      await actor.set('a', 2)
      await untilEqual(outcomes, () => [
        ['failed', 302],
        ['failed', 404],
      ])
      const call = { url: '/hook', type: 'application/json' }
      assert.deepEqual(seen, [call, call])
    })
  })

  describe('a receiver that fails', () => {
    it('gets the message again with backoff, in order, with the same id', async () => {
      const clock = new ManualClock()
      const unreached = { kind: 'unreached', reason: 'getaddrinfo ENOTFOUND receiver.internal' } as const
      const { client, received } = receiver(unreached, 500, 429)
      const service = await start(still(clock, client))
      const actor = await service.createActor()
      const { id } = await add(actor)
      await actor.request('PUT', '/properties/a', 1)
      await actor.request('PUT', '/properties/b', 2)
      await service.settled()
      const shown = await read<Shown>(actor, `/webhooks/${id}`)
      assert.deepEqual(
        [shown.state, shown.reason, Date.parse(shown.next_attempt_at ?? '') - clock.now()],
        ['active', 'The receiver could not be reached', 1000],
      )
      await pass(service, clock, 1000)
      await pass(service, clock, 2000)
      await pass(service, clock, 4000)
      assert.deepEqual(
        received.map(({ message }) => message.data['name']),
        ['a', 'a', 'a', 'a', 'b'],
      )
      assert.equal(new Set(received.map(({ headers }) => headers['webhook-id'])).size, 2)
      const { deliveries } = await read<Deliveries>(actor, `/webhooks/${id}/deliveries?limit=1&before=2`)
      assert.deepEqual(
        deliveries.map(({ outcome, attempts, status }) => [outcome, attempts, status]),
        [['delivered', 4, 204]],
      )
      assert.equal((await read<Shown>(actor, `/webhooks/${id}`)).failing_since, null)
    })

    it('that refuses a message gets the next one; redrive sends the refused one again', async () => {
      const { client, received } = receiver(400)
      const service = await start({ peerClient: client })
      const actor = await service.createActor()
      const { id } = await add(actor)
      await actor.request('PUT', '/properties/a', 1)
      await actor.request('PUT', '/properties/b', 2)
      await service.settled()
      const outcomes = async (): Promise<unknown> =>
        (await read<Deliveries>(actor, `/webhooks/${id}/deliveries`)).deliveries.map(({ outcome, status }) => [
          outcome,
          status,
        ])
      assert.deepEqual(await outcomes(), [
        ['delivered', 204],
        ['failed', 400],
      ])
      const redriven = await actor.request('POST', `/webhooks/${id}/redrive`)
      assert.deepEqual([redriven.status, await redriven.json()], [202, { messages: 1 }])
      await service.settled()
      assert.deepEqual(
        received.map(({ message }) => message.data['name']),
        ['a', 'b', 'a'],
      )
      assert.deepEqual(await outcomes(), [
        ['delivered', 204],
        ['delivered', 204],
      ])
    })

    for (const [how, outcomes, reason] of [
      ['answers 410', [410], 'The receiver answered 410'],
      [
        'refuses 50 messages in a row',
        Array.from({ length: 50 }, () => 404),
        'The receiver refused 50 messages in a row',
      ],
    ] as const) {
      it(`is suspended when it ${how}, keeps its messages, and continues with redrive`, async () => {
        const { client, received } = receiver(...outcomes)
        const service = await start({ peerClient: client })
        const { actor } = await service.app.actors.create()
        const { id } = await actor.webhooks.add(url, { events: ['list_changed'] })
        await actor.transaction(async (tx) => {
          for (const n of outcomes.keys()) await tx.list('l').append(n)
        })
        await untilEqual(
          async () => (await actor.webhooks.get(id))?.state,
          () => 'suspended',
        )
        assert.equal((await actor.webhooks.get(id))?.reason, reason)
        await actor.list('l').append('later')
        await service.settled()
        assert.equal(received.length, outcomes.length)
        assert.ok(service.log.some((line) => line.includes('A webhook is suspended')))
        await actor.webhooks.redrive(id)
        await untilEqual(
          () => received.length,
          () => outcomes.length * 2 + 1,
        )
        await service.settled()
        assert.equal((await actor.webhooks.get(id))?.state, 'active')
        assert.deepEqual(
          received.slice(outcomes.length).map(({ message }) => message.data['item']),
          [...outcomes.keys(), 'later'],
        )
      })
    }

    it('is suspended when it fails for TROUPE_MAX_DIFF_AGE_DAYS', async () => {
      const clock = new ManualClock()
      const { client } = receiver(...Array.from({ length: 5 }, () => 503))
      const service = await start({ ...still(clock, client), maxDiffAgeDays: 1 })
      const { actor } = await service.app.actors.create()
      const { id } = await actor.webhooks.add(url, { events: ['property_changed'] })
      await actor.set('a', 1)
      await service.settled()
      await pass(service, clock, 86_399_000)
      assert.equal((await actor.webhooks.get(id))?.state, 'active')
      await pass(service, clock, 1000)
      await pass(service, clock, 60_000)
      assert.equal((await actor.webhooks.get(id))?.state, 'suspended')
    })

    it('keeps at most TROUPE_MAX_DIFFS messages', async () => {
      const { client } = receiver(410)
      const service = await start({ peerClient: client, maxDiffs: 16 })
      const { actor } = await service.app.actors.create()
      const { id } = await actor.webhooks.add(url, { events: ['property_changed'] })
      for (let n = 0; n < 20; n++) await actor.set('a', n)
      await service.settled()
      assert.equal((await actor.webhooks.deliveries(id))?.length, 16)
    })

    it('receives long values one by one, and no value is kept after its delivery', async () => {
      const { client, received } = receiver()
      const service = await start({ peerClient: client })
      const { actor } = await service.app.actors.create()
      await actor.webhooks.add(url, { events: ['property_changed'] })
      const long = 'x'.repeat(5000)
      const values = ['short', long, 'middle', long, 'last']
      service.reset()
      await actor.transaction(async (tx) => {
        for (const [index, value] of values.entries()) await tx.set(`v${index}`, value)
      })
      await service.settled()
      assert.deepEqual(
        received.map(({ message }) => message.data['value']),
        values,
      )
      assert.equal(runsOf(service), 5)
      const { store } = await service.app.running()
      const rows = await store.read((q) =>
        q.all<{ data: string }>('SELECT data FROM job_entry WHERE actor_id = $1 ORDER BY number', actor.id),
      )
      assert.deepEqual(
        rows.map(({ data }) => data),
        ['', '', '', '', ''],
      )
    })

    it('gives its place to others after 5 seconds with a slow receiver', async () => {
      const clock = new ManualClock()
      const { client, received } = receiver()
      const slow: PeerClient = {
        ...client,
        call: async (request) => {
          clock.pass(3000)
          return client.call(request)
        },
      }
      const service = await start(still(clock, slow))
      const { actor } = await service.app.actors.create()
      await actor.webhooks.add(url, { events: ['property_changed'] })
      service.reset()
      await actor.transaction(async (tx) => {
        for (const name of ['a', 'b', 'c', 'd']) await tx.set(name, 1)
      })
      await until(() => received.length === 4)
      await service.settled()
      assert.equal(runsOf(service), 2)
    })

    it('sends a message once when the service finds its own lease ended', async () => {
      const { client, received } = receiver()
      const begun = Promise.withResolvers<void>()
      const answer = Promise.withResolvers<void>()
      const slow: PeerClient = {
        ...client,
        call: async (request) => {
          begun.resolve()
          await answer.promise
          return client.call(request)
        },
      }
      const clock = new ManualClock()
      let sleptMs = 0
      const service = await start({ ...still(clock, slow), now: () => clock.now() + sleptMs })
      const { actor } = await service.app.actors.create()
      await actor.webhooks.add(url, { events: ['property_changed'] })
      service.reset()
      await actor.set('a', 1)
      await begun.promise
      const { store, parts } = await service.app.running()
      const lease = async (): Promise<string | undefined> => {
        const row = await store.read((q) =>
          q.get<{ lease: string }>('SELECT lease FROM job WHERE actor_id = $1', actor.id),
        )
        return row?.lease
      }
      const before = await lease()
      // The machine sleeps: time passes, and no timer of the service fires.
      sleptMs = 10_000
      parts.jobs.wake()
      await until(async () => (await lease()) !== before)
      answer.resolve()
      await service.settled()
      assert.equal(received.length, 1)
      assert.equal(runsOf(service), 1)
      assert.deepEqual(
        (await actor.webhooks.list()).map(({ state }) => state),
        ['active'],
      )
    })

    it('receives no value that a hook may hide', async () => {
      const { client, received } = receiver()
      const declare = (app: App): void => void app.property('score', { get: () => null })
      const service = await start({ peerClient: client, declare })
      const { actor } = await service.app.actors.create()
      await actor.webhooks.add(url, { events: ['property_changed'] })
      await actor.set('score', 7)
      await actor.set('name', 'Ada')
      await service.settled()
      assert.deepEqual(
        received.map(({ message: { data } }) => [data['name'], data['operation'], data['value']]),
        [
          ['score', 'set', undefined],
          ['name', 'set', 'Ada'],
        ],
      )
    })

    it('receives the rest of a batch signed with the secret that replaced the first one', async () => {
      const { client, received } = receiver()
      const replacement: { run: () => Promise<string> } = { run: async () => '' }
      const secrets: string[] = []
      const replacing: PeerClient = {
        ...client,
        call: async (request) => {
          const outcome = await client.call(request)
          if (received.length === 1) secrets.push(await replacement.run())
          return outcome
        },
      }
      const service = await start({ peerClient: replacing })
      const actor = await service.createActor()
      const { id, secret } = await add(actor)
      replacement.run = async () => {
        const answer = await actor.request('POST', `/webhooks/${id}/secret`, { overlap_seconds: 0 })
        return ((await answer.json()) as { secret: string }).secret
      }
      const handle = await service.app.actors.get(actor.id)
      await handle?.transaction(async (tx) => {
        await tx.set('a', 1)
        await tx.set('b', 2)
      })
      await service.settled()
      const [first, second] = received
      assert.ok(first !== undefined && second !== undefined)
      verify(first, secret)
      verify(second, secrets[0] ?? '')
      assert.throws(() => verify(second, secret))
    })

    it('receives no further message of a batch after its removal', async () => {
      const { client, received } = receiver()
      const removal: { run: () => Promise<unknown> } = { run: async () => {} }
      const removing: PeerClient = {
        ...client,
        call: async (request) => {
          const outcome = await client.call(request)
          await removal.run()
          return outcome
        },
      }
      const service = await start({ peerClient: removing })
      const { actor } = await service.app.actors.create()
      const { id } = await actor.webhooks.add(url, { events: ['property_changed'] })
      removal.run = async () => actor.webhooks.remove(id)
      await actor.transaction(async (tx) => {
        await tx.set('a', 1)
        await tx.set('b', 2)
        await tx.set('c', 3)
      })
      await service.settled()
      assert.equal(received.length, 1)
    })
  })

  describe('a webhook that cannot be used', () => {
    for (const [what, change, status, message] of [
      ['a URL without TLS', { url: 'http://receiver.example.com/hook' }, 400, /its URL is not https/],
      ['an address of a private network', { url: 'https://10.0.0.1/hook' }, 400, /its URL names a private address/],
      ['a host of a private network', { url: 'https://printer.local/hook' }, 400, /names a host of a private network/],
      ['a URL with credentials', { url: 'https://ada:secret@receiver.example.com/' }, 400, /carries credentials/],
      ['a URL of a metadata service', { url: 'https://metadata.google.internal/' }, 400, /metadata service/],
      ['no URL', { url: undefined }, 400, /url is missing/],
      ['an unknown event', { events: ['trust_deleted'] }, 400, /events must be an array of property_changed/],
      ['no event', { events: [] }, 400, /events must be some of/],
      ['an empty name', { names: [''] }, 400, /names must be an array of at most 20 strings/],
      ['too many names', { names: Array.from({ length: 21 }, (_, n) => `n${n}`) }, 400, /at most 20 strings/],
      ['a short secret', { secret: 'whsec_c2hvcnQ=' }, 400, /base64 of 24 to 64 bytes/],
      ['a secret without its prefix', { secret: 'c2hvcnQ=' }, 400, /"whsec_"/],
    ] as const) {
      it(`is refused: ${what}`, async () => {
        const { client } = receiver()
        const service = await start({ peerClient: client, allowPrivatePeers: false, allowHttp: false })
        const actor = await service.createActor()
        const answer = await actor.request('POST', '/webhooks', { url, events: ['list_changed'], ...change })
        assert.deepEqual(
          [answer.status, message.test(((await answer.json()) as { message: string }).message)],
          [status, true],
        )
        assert.deepEqual(await read(actor, '/webhooks'), { webhooks: [] })
      })
    }

    it('is refused above the limit of TROUPE_MAX_WEBHOOKS, also for simultaneous requests', async () => {
      const { client } = receiver()
      const service = await start({ peerClient: client, maxWebhooks: 2 })
      const { actor } = await service.app.actors.create()
      const added = await Promise.allSettled(
        Array.from({ length: 5 }, () => actor.webhooks.add(url, { events: ['list_changed'] })),
      )
      assert.equal(added.filter(({ status }) => status === 'fulfilled').length, 2)
      const refused = added.filter((result) => result.status === 'rejected').map(({ reason }) => reason as unknown)
      assert.ok(refused.every((error) => error instanceof ServiceError && error.code === 'quota_exceeded'))
      assert.equal((await actor.webhooks.list()).length, 2)
    })

    it('is 404 when it does not exist', async () => {
      const service = await start()
      const actor = await service.createActor()
      for (const [method, path] of [
        ['GET', ''],
        ['DELETE', ''],
        ['POST', '/test'],
        ['POST', '/redrive'],
        ['GET', '/deliveries'],
      ] as const)
        assert.equal((await actor.request(method, `/webhooks/none${path}`)).status, 404, `${method} ${path}`)
      assert.equal((await actor.request('POST', '/webhooks/none/secret', {})).status, 404)
    })

    it('ends with its actor', async () => {
      const { client, received } = receiver({ kind: 'unreached', reason: 'down' })
      const clock = new ManualClock()
      const service = await start(still(clock, client))
      const actor = await service.createActor()
      await add(actor)
      await actor.request('PUT', '/properties/a', 1)
      await until(() => received.length === 1)
      await actor.request('DELETE', '')
      await pass(service, clock, 60_000)
      assert.equal(received.length, 1)
      const { store } = await service.app.running()
      for (const table of ['webhook', 'job', 'job_entry'])
        assert.equal((await store.read((q) => q.all(`SELECT 1 AS one FROM ${table}`))).length, 0, table)
    })
  })
})
