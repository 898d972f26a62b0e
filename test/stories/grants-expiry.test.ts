import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { ActorHandle } from '../../src/index.ts'
import { onShards } from '../support/citus.ts'
import { ManualClock } from '../support/manual-clock.ts'
import { authorizeClient, type TestClient } from '../support/mcp-client.ts'
import { RecordingPeer, relateTo, type TestRelationship } from '../support/recording-peer.ts'
import { forEachService, type TestActor, type TestService } from '../support/service.ts'

const begin = Date.UTC(2030, 0, 1)
const hour = 3_600_000
const inOneHour = new Date(begin + hour)
const readPhotos = { properties: { patterns: ['photos'], operations: ['read'] } } as const

interface World {
  readonly service: TestService
  readonly owner: TestActor
  readonly actor: ActorHandle
  readonly peer: TestRelationship
  /** Sets the clock. No timer runs. */
  readonly set: (time: number) => void
  /** Lets the service announce the ends that have passed. */
  readonly announce: () => Promise<void>
}

/** The time between two announcements: a sharded database is searched at most once in five seconds. */
const lookMs = onShards() ? 5000 : 1

forEachService((start) => {
  async function open(related: { readonly baseuri?: string; readonly approved?: boolean } = {}): Promise<World> {
    let time = begin
    const service = await start({
      allowPrivatePeers: true,
      now: () => time,
      timers: new ManualClock().timers,
      declare: (app) => {
        app.action('do_it', { mcp: true }, () => ({ done: true }))
        app.trustType({ name: 'guest', display_name: 'Guest', description: 'Reads nothing by itself', permissions: {} })
      },
    })
    const owner = await service.createActor()
    await owner.request('POST', '/properties', { photos: { _type: 'list' } })
    await owner.request('POST', '/properties/photos', 'first')
    const peer = await relateTo(service, owner, { relationship: 'guest', ...related })
    const actor = await service.app.actors.get(owner.id)
    assert.ok(actor !== undefined)
    const { parts } = await service.app.running()
    return {
      service,
      owner,
      actor,
      peer,
      set: (to) => {
        time = to
      },
      announce: async () => {
        parts.expiries.wake()
        await service.settled()
      },
    }
  }

  const statusOf = async (answer: Promise<Response>): Promise<number> => (await answer).status
  const json = async (answer: Promise<Response>): Promise<Record<string, unknown>> =>
    (await (await answer).json()) as Record<string, unknown>

  async function withRemote(run: (remote: RecordingPeer) => Promise<void>): Promise<void> {
    const remote = await new RecordingPeer().start()
    try {
      await run(remote)
    } finally {
      await remote.stop()
    }
  }

  describe('a grant with an end', () => {
    it('ends at its time for every request, before any background work', async () => {
      const { actor, peer, set } = await open()
      await actor.trust.grant(peer.peerId, { ...readPhotos, until: inOneHour })
      set(begin + hour - 1)
      assert.equal(await statusOf(peer.request('GET', '/properties/photos')), 200)
      set(begin + hour)
      assert.equal(await statusOf(peer.request('GET', '/properties/photos')), 403)
      assert.deepEqual(await json(peer.request('GET', '/properties')), {})
    })

    it('shows its end in may, in the explanation and to the peer, and nothing of it afterwards', async () => {
      const { owner, actor, peer, set, announce } = await open()
      await actor.trust.grant(peer.peerId, { ...readPhotos, until: inOneHour })
      const grants = [{ pattern: 'photos', operations: ['read'], until: '2030-01-01T01:00:00.000Z' }]
      const shown = async (): Promise<unknown[]> => [
        (await json(owner.request('GET', `/trust/guest/${peer.peerId}/permissions`)))['properties'],
        ((await json(peer.request('GET', `/permissions/${peer.peerId}`)))['permissions'] as { properties: unknown })
          .properties,
      ]
      assert.deepEqual(await shown(), [{ grants }, { grants }])
      assert.deepEqual(await actor.trust.may(peer.peerId, 'read', 'photos'), {
        allowed: true,
        reason: 'a grant of read on "photos" covers it',
        toChange: 'withdraw the grant, or add "photos" to properties.denied in an override to deny it',
        until: inOneHour,
        needsApproval: false,
      })
      const { until } = await json(owner.request('GET', `/permissions/${peer.peerId}?explain=read:photos`))
      assert.equal(until, '2030-01-01T01:00:00.000Z')
      set(begin + hour)
      const after = await actor.trust.may(peer.peerId, 'read', 'photos')
      assert.deepEqual([after.allowed, after.until], [false, null])
      await announce()
      const { is_custom: isCustom } = await json(owner.request('GET', `/trust/guest/${peer.peerId}/permissions`))
      assert.equal(isCustom, false)
    })

    it('has the latest end of the grants that allow the operation', async () => {
      const { actor, peer, set } = await open()
      const later = new Date(begin + 2 * hour)
      await actor.trust.grant(peer.peerId, { ...readPhotos, until: inOneHour })
      await actor.trust.grant(peer.peerId, { properties: { patterns: ['ph*'], operations: ['read'] }, until: later })
      assert.deepEqual((await actor.trust.may(peer.peerId, 'read', 'photos')).until, later)
      set(begin + hour)
      assert.equal(await statusOf(peer.request('GET', '/properties/photos')), 200)
    })

    it('is extended, shortened or made permanent by a later grant', async () => {
      const { actor, peer, set } = await open()
      await actor.trust.grant(peer.peerId, { ...readPhotos, until: inOneHour })
      await actor.trust.grant(peer.peerId, { ...readPhotos, until: new Date(begin + 2 * hour) })
      set(begin + hour)
      assert.equal(await statusOf(peer.request('GET', '/properties/photos')), 200)
      await actor.trust.grant(peer.peerId, { ...readPhotos, until: new Date(begin + hour + 1) })
      set(begin + hour + 1)
      assert.equal(await statusOf(peer.request('GET', '/properties/photos')), 403)
      await actor.trust.grant(peer.peerId, readPhotos)
      set(begin + 1000 * hour)
      assert.equal(await statusOf(peer.request('GET', '/properties/photos')), 200)
    })

    it('is announced to the peer once, as any change of permissions', async () => {
      await withRemote(async (remote) => {
        const { service, actor, peer, set, announce } = await open({ baseuri: `${remote.url}/remote` })
        await actor.trust.grant(peer.peerId, { ...readPhotos, until: inOneHour })
        await service.settled()
        set(begin + hour - lookMs)
        await announce()
        assert.equal(remote.received.length, 1)
        set(begin + hour)
        await announce()
        await announce()
        const [granted, ended, ...others] = remote.received
        assert.deepEqual(others, [])
        const propertiesIn = (given: typeof granted): unknown =>
          ((given?.body?.['data'] ?? {}) as Record<string, unknown>)['properties']
        assert.deepEqual(propertiesIn(granted), {
          grants: [{ pattern: 'photos', operations: ['read'], until: '2030-01-01T01:00:00.000Z' }],
        })
        assert.equal(propertiesIn(ended), null)
        assert.equal(ended?.path, `/remote/callbacks/permissions/${actor.id}`)
      })
    })

    it('is announced one after the other, and permanent grants stay', async () => {
      const { owner, actor, peer, set, announce } = await open()
      const grant = (pattern: string, until?: Date): Promise<void> =>
        actor.trust.grant(peer.peerId, {
          properties: { patterns: [pattern], operations: ['read'] },
          ...(until === undefined ? {} : { until }),
        })
      await grant('a', new Date(begin + 2 * hour))
      await grant('b', inOneHour)
      await grant('c')
      const patterns = async (): Promise<unknown> => {
        const { properties } = await json(owner.request('GET', `/trust/guest/${peer.peerId}/permissions`))
        return (properties as { grants: { pattern: string }[] }).grants.map(({ pattern }) => pattern)
      }
      set(begin + hour)
      await announce()
      assert.deepEqual(await patterns(), ['a', 'c'])
      set(begin + 2 * hour)
      await announce()
      assert.deepEqual(await patterns(), ['c'])
    })

    it('applies at the delivery: a change from before the end is withheld after the end', async () => {
      await withRemote(async (remote) => {
        const { service, owner, actor, peer, set } = await open({ baseuri: `${remote.url}/remote` })
        await actor.trust.grant(peer.peerId, { ...readPhotos, until: inOneHour })
        await peer.subscribe({ subtarget: 'photos', granularity: 'high' })
        await service.settled()
        remote.replies = [503, 204]
        await owner.request('POST', '/properties/photos', 'a new photo')
        await service.settled()
        const before = remote.received.length
        assert.ok(JSON.stringify(remote.received.at(-1)?.body).includes('a new photo'))
        set(begin + 2 * hour)
        const { parts } = await service.app.running()
        parts.deliveries.wake()
        await service.settled()
        const later = remote.received.slice(before)
        assert.ok(later.length > 0)
        assert.ok(!JSON.stringify(later.map(({ body }) => body)).includes('a new photo'))
      })
    })

    it('ends while an AI client works', async () => {
      const { service, owner, actor, set } = await open()
      const client = await authorizeClient(service, owner, { relationship: 'guest' })
      const call = async (): Promise<unknown> => {
        const body = (await client.modern('tools/call', { name: 'do_it' })).body as { error?: { code: number } }
        return body.error?.code
      }
      assert.equal(await call(), 403)
      await actor.trust.grant(client.peerId, {
        tools: { patterns: ['do_it'], operations: ['use'] },
        until: inOneHour,
      })
      assert.equal(await call(), undefined)
      set(begin + hour)
      assert.equal(await call(), 403)
    })

    it('is judged by the clock, also when the clock is set back, until its end was announced', async () => {
      const { actor, peer, set, announce } = await open()
      await actor.trust.grant(peer.peerId, { ...readPhotos, until: inOneHour })
      await announce()
      set(begin + hour)
      assert.equal(await statusOf(peer.request('GET', '/properties/photos')), 403)
      set(begin + hour - lookMs)
      await announce()
      assert.equal(await statusOf(peer.request('GET', '/properties/photos')), 200)
      set(begin + hour)
      await announce()
      set(begin)
      assert.equal(await statusOf(peer.request('GET', '/properties/photos')), 403)
    })

    it('ends without an error when the relationship or the actor was deleted', async () => {
      const { service, owner, actor, peer, set, announce } = await open()
      await actor.trust.grant(peer.peerId, { ...readPhotos, until: inOneHour })
      assert.equal(await actor.trust.delete(peer.peerId), true)
      const other = await relateTo(service, owner, { relationship: 'guest', peerId: 'other' })
      await actor.trust.grant(other.peerId, { ...readPhotos, until: inOneHour })
      assert.equal(await statusOf(owner.request('DELETE', '')), 204)
      set(begin + hour)
      service.reset()
      await announce()
      assert.deepEqual(
        service.log.filter((line) => line.includes('Cannot end the permissions')),
        [],
      )
      const { parts } = await service.app.running()
      assert.equal(await parts.expiries.nextDue(), null)
    })

    for (const [until, message] of [
      [new Date(begin), 'until must be in the future, not 2030-01-01T00:00:00.000Z'],
      [new Date(begin - 1), 'until must be in the future, not 2029-12-31T23:59:59.999Z'],
      [new Date(Number.NaN), 'until must be a valid Date'],
      ['2031-01-01', 'until must be a valid Date'],
    ] as const) {
      it(`is refused with the end ${String(until)}`, async () => {
        const { actor, peer } = await open()
        await assert.rejects(actor.trust.grant(peer.peerId, { ...readPhotos, until: until as Date }), {
          code: 'bad_request',
          message: `Cannot grant permissions: ${message}`,
        })
        await assert.rejects(actor.trust.approve(peer.peerId, { until: until as Date }), {
          code: 'bad_request',
          message: `Cannot approve the relationship: ${message}`,
        })
        assert.equal((await actor.trust.may(peer.peerId, 'read', 'photos')).allowed, false)
      })
    }

    it('can be set over HTTP, with a time in the future', async () => {
      const { owner, peer, set } = await open()
      const put = (until: unknown): Promise<number> =>
        statusOf(
          owner.request('PUT', `/trust/guest/${peer.peerId}/permissions`, {
            properties: { grants: [{ pattern: 'photos', operations: ['read'], until }] },
          }),
        )
      for (const until of ['yesterday', 1, null, '2030-01-01T00:00:00Z'])
        assert.equal(await put(until), 400, String(until))
      assert.equal(await put('2030-01-01T02:00:00+01:00'), 201)
      assert.equal(await statusOf(peer.request('GET', '/properties/photos')), 200)
      set(begin + hour)
      assert.equal(await statusOf(peer.request('GET', '/properties/photos')), 403)
    })
  })

  describe('an approval with an end', () => {
    it('gives the peer its rights until its end, and shows the end', async () => {
      const { owner, actor, peer, set } = await open({ approved: false })
      await actor.trust.grant(peer.peerId, readPhotos)
      assert.equal(await statusOf(peer.request('GET', '/properties/photos')), 403)
      const approved = await actor.trust.approve(peer.peerId, { until: inOneHour })
      assert.deepEqual([approved.approved, approved.approved_until], [true, '2030-01-01T01:00:00.000000+00:00'])
      assert.equal(await statusOf(peer.request('GET', '/properties/photos')), 200)
      assert.deepEqual((await actor.trust.may(peer.peerId, 'read', 'photos')).until, inOneHour)
      set(begin + hour)
      assert.equal(await statusOf(peer.request('GET', '/properties/photos')), 403)
      assert.equal(await statusOf(peer.request('GET', `/permissions/${peer.peerId}`)), 403)
      const { because } = await json(owner.request('GET', `/permissions/${peer.peerId}?explain=read:photos`))
      assert.equal(because, 'the relationship is not approved, so nothing is allowed')
    })

    it('is announced to the peer as permissions that grant nothing, and the relationship waits for the owner again', async () => {
      await withRemote(async (remote) => {
        const { service, actor, peer, set, announce } = await open({ baseuri: `${remote.url}/remote` })
        await actor.trust.grant(peer.peerId, readPhotos)
        await actor.trust.approve(peer.peerId, { until: inOneHour })
        await service.settled()
        const before = remote.received.length
        set(begin + hour)
        await announce()
        const [ended, ...others] = remote.received.slice(before)
        assert.deepEqual(others, [])
        assert.deepEqual(ended?.body?.['data'], {
          properties: null,
          methods: null,
          actions: null,
          tools: null,
          resources: null,
          prompts: null,
        })
        const record = await actor.trust.get(peer.peerId)
        assert.deepEqual([record?.approved, record?.approved_until], [false, undefined])
        await actor.trust.approve(peer.peerId)
        assert.equal(await statusOf(peer.request('GET', '/properties/photos')), 200)
      })
    })

    it('can be set over HTTP, only together with the approval', async () => {
      const { owner, peer, set } = await open()
      const put = (change: object): Promise<number> =>
        statusOf(owner.request('PUT', `/trust/guest/${peer.peerId}`, change))
      const end = '2030-01-01T01:00:00Z'
      for (const change of [
        { approved_until: end },
        { approved: false, approved_until: end },
        { approved: true, approved_until: 'tomorrow' },
        { approved: true, approved_until: '2030-01-01T00:00:00Z' },
      ])
        assert.equal(await put(change), 400, JSON.stringify(change))
      assert.equal(await put({ approved: true, approved_until: end }), 204)
      assert.equal(await statusOf(peer.request('GET', '/properties')), 200)
      set(begin + hour)
      assert.equal(await statusOf(peer.request('GET', '/properties')), 403)
    })

    it('is extended by another approval, and has no end without until', async () => {
      const { actor, peer, set, announce } = await open()
      await actor.trust.grant(peer.peerId, readPhotos)
      await actor.trust.approve(peer.peerId, { until: inOneHour })
      await actor.trust.approve(peer.peerId, { until: new Date(begin + 2 * hour) })
      set(begin + hour)
      await announce()
      assert.equal(await statusOf(peer.request('GET', '/properties/photos')), 200)
      const { approved_until: until } = await actor.trust.approve(peer.peerId)
      assert.equal(until, undefined)
      set(begin + 2 * hour)
      await announce()
      assert.equal(await statusOf(peer.request('GET', '/properties/photos')), 200)
    })

    it('withholds deliveries after its end', async () => {
      await withRemote(async (remote) => {
        const { service, owner, actor, peer, set } = await open({ baseuri: `${remote.url}/remote` })
        await actor.trust.grant(peer.peerId, readPhotos)
        await peer.subscribe({ subtarget: 'photos', granularity: 'high' })
        await actor.trust.approve(peer.peerId, { until: inOneHour })
        await service.settled()
        const before = remote.received.length
        set(begin + hour)
        await owner.request('POST', '/properties/photos', 'a new photo')
        await service.settled()
        assert.deepEqual(remote.received.slice(before), [])
      })
    })

    describe('of an AI client', () => {
      async function openClient(): Promise<
        World & { readonly client: TestClient; readonly refresh: () => Promise<unknown> }
      > {
        const world = await open()
        const client = await authorizeClient(world.service, world.owner, { relationship: 'friend' })
        const { parts } = await world.service.app.running()
        return {
          ...world,
          client,
          refresh: async () => {
            const presenter = { kind: 'client', clientId: client.clientId } as const
            return parts.tokens.refresh(client.refreshToken, presenter)
          },
        }
      }

      it('ends its access tokens at once, and its refresh tokens with the announcement', async () => {
        const { actor, client, set, announce, refresh } = await openClient()
        const status = async (): Promise<number> => (await client.modern('tools/list')).status
        await actor.trust.approve(client.peerId, { until: inOneHour })
        set(begin + hour - 1)
        assert.equal(await status(), 200)
        set(begin + hour)
        assert.equal(await status(), 401)
        await announce()
        assert.equal(await refresh(), null)
        await actor.trust.approve(client.peerId)
        assert.equal(await status(), 401)
      })

      it('leaves the tokens of a client whose approval was extended', async () => {
        const { actor, client, set, announce, refresh } = await openClient()
        await actor.trust.approve(client.peerId, { until: inOneHour })
        await actor.trust.approve(client.peerId, { until: new Date(begin + 2 * hour) })
        set(begin + hour)
        await announce()
        assert.notEqual(await refresh(), null)
      })
    })
  })
})
