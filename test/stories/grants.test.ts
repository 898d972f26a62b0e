import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { ActorHandle } from '../../src/index.ts'
import { RecordingPeer, relateTo, type TestRelationship } from '../support/recording-peer.ts'
import { forEachService, type StartOptions, type TestActor, type TestService } from '../support/service.ts'

interface World {
  readonly service: TestService
  readonly owner: TestActor
  readonly actor: ActorHandle
  readonly peer: TestRelationship
}

forEachService((start) => {
  async function open(
    options: StartOptions = {},
    related: { readonly baseuri?: string; readonly approved?: boolean } = {},
  ): Promise<World> {
    const service = await start({
      allowPrivatePeers: true,
      declare: (app) => {
        app.method('m', () => ({ done: true }))
        app.action('do_it', () => ({ done: true }))
        app.trustType({
          name: 'reader',
          display_name: 'Reader',
          description: 'Reads the diary',
          permissions: {
            properties: { patterns: ['diary'], operations: ['read'], excluded_patterns: ['secrets'] },
            actions: { denied: ['do_never'] },
          },
        })
      },
      ...options,
    })
    const owner = await service.createActor()
    await owner.request('POST', '/properties', { diary: 'dear diary', photos: { _type: 'list' }, secrets: 'hidden' })
    await owner.request('POST', '/properties/photos', 'first')
    const peer = await relateTo(service, owner, { relationship: 'reader', ...related })
    const actor = await service.app.actors.get(owner.id)
    assert.ok(actor !== undefined)
    return { service, owner, actor, peer }
  }

  const statusOf = async (answer: Promise<Response>): Promise<number> => (await answer).status
  const json = async (answer: Promise<Response>): Promise<Record<string, unknown>> =>
    (await (await answer).json()) as Record<string, unknown>

  describe('actor.trust.grant', () => {
    it('gives one peer the operations on the patterns, and nothing else', async () => {
      const { service, owner, actor, peer } = await open()
      const other = await relateTo(service, owner, { relationship: 'reader', peerId: 'other' })
      assert.equal(await statusOf(peer.request('GET', '/properties/photos')), 403)
      await actor.trust.grant(peer.peerId, { properties: { patterns: ['photos'], operations: ['read'] } })
      assert.equal(await statusOf(peer.request('GET', '/properties/photos')), 200)
      assert.equal(await statusOf(peer.request('GET', '/properties/diary')), 200)
      assert.equal(await statusOf(peer.request('POST', '/properties/photos', 'second')), 403)
      assert.equal(await statusOf(peer.request('PUT', '/properties/diary', 'changed')), 403)
      assert.equal(await statusOf(other.request('GET', '/properties/photos')), 403)
    })

    it('lets a peer with append add to a list, and neither change nor remove items', async () => {
      const { actor, peer } = await open()
      await actor.trust.grant(peer.peerId, { properties: { patterns: ['photos'], operations: ['append'] } })
      assert.equal(await statusOf(peer.request('POST', '/properties/photos', 'second')), 201)
      assert.equal(await statusOf(peer.request('PUT', '/properties/photos/0', 'changed')), 403)
      assert.equal(await statusOf(peer.request('DELETE', '/properties/photos/0')), 403)
      assert.equal(await statusOf(peer.request('DELETE', '/properties/photos')), 403)
      assert.equal(await statusOf(peer.request('GET', '/properties/photos')), 403)
      assert.deepEqual(await actor.list('photos').items(), ['first', 'second'])
    })

    it('covers methods and actions', async () => {
      const { actor, peer } = await open()
      assert.equal(await statusOf(peer.request('POST', '/methods/m', {})), 403)
      await actor.trust.grant(peer.peerId, {
        methods: { patterns: ['m'], operations: ['call'] },
        actions: { patterns: ['do_*'], operations: ['execute'] },
      })
      assert.equal(await statusOf(peer.request('POST', '/methods/m', {})), 200)
      assert.equal(await statusOf(peer.request('POST', '/actions/do_it', {})), 200)
    })

    it('opens nothing that the trust type excludes or denies', async () => {
      const { actor, peer } = await open()
      await actor.trust.grant(peer.peerId, {
        properties: { patterns: ['*'], operations: ['read'] },
        actions: { patterns: ['*'], operations: ['execute'] },
      })
      assert.equal(await statusOf(peer.request('GET', '/properties/secrets')), 403)
      assert.deepEqual((await actor.trust.may(peer.peerId, 'execute', 'do_never')).allowed, false)
      assert.equal(await statusOf(peer.request('GET', '/properties/photos')), 200)
    })

    it('opens nothing to a peer that is not approved', async () => {
      const { actor, peer } = await open({}, { approved: false })
      await actor.trust.grant(peer.peerId, { properties: { patterns: ['photos'], operations: ['read'] } })
      assert.equal(await statusOf(peer.request('GET', '/properties/photos')), 403)
      assert.deepEqual(await actor.trust.may(peer.peerId, 'read', 'photos'), {
        allowed: false,
        reason: 'the relationship is not approved, so nothing is allowed',
        toChange: 'approve the relationship',
        until: null,
        needsApproval: false,
      })
    })

    it('adds to earlier grants, and keeps each pattern with its operations once', async () => {
      const { owner, actor, peer } = await open()
      await actor.trust.grant(peer.peerId, { properties: { patterns: ['photos'], operations: ['read', 'append'] } })
      await actor.trust.grant(peer.peerId, { properties: { patterns: ['letters', 'photos'], operations: ['read'] } })
      const shown = await json(owner.request('GET', `/trust/reader/${peer.peerId}/permissions`))
      assert.deepEqual(shown['properties'], {
        patterns: ['diary'],
        operations: ['read'],
        excluded_patterns: ['secrets'],
        grants: [
          { pattern: 'photos', operations: ['append'] },
          { pattern: 'letters', operations: ['read'] },
          { pattern: 'photos', operations: ['read'] },
        ],
      })
      assert.deepEqual([shown['created_by'], shown['is_custom']], ['application', true])
    })

    it('stays when the owner changes the override, and ends when the owner deletes it', async () => {
      const { owner, actor, peer } = await open()
      await actor.trust.grant(peer.peerId, { properties: { patterns: ['photos'], operations: ['read'] } })
      const path = `/trust/reader/${peer.peerId}/permissions`
      assert.equal(await statusOf(owner.request('PUT', path, { properties: { patterns: ['letters'] } })), 200)
      assert.equal(await statusOf(peer.request('GET', '/properties/photos')), 200)
      assert.equal(await statusOf(owner.request('PUT', path, { properties: { grants: [] } })), 200)
      assert.equal(await statusOf(peer.request('GET', '/properties/photos')), 403)
      await actor.trust.grant(peer.peerId, { properties: { patterns: ['photos'], operations: ['read'] } })
      assert.equal(await statusOf(owner.request('DELETE', path)), 204)
      assert.equal(await statusOf(peer.request('GET', '/properties/photos')), 403)
    })

    it('can be set over HTTP, where a grant without a pattern or operations is refused', async () => {
      const { owner, peer } = await open()
      const path = `/trust/reader/${peer.peerId}/permissions`
      const put = (grants: unknown): Promise<number> => statusOf(owner.request('PUT', path, { properties: { grants } }))
      for (const grants of ['photos', ['photos'], [{}], [null], [{ pattern: 'photos' }], [{ operations: ['read'] }]])
        assert.equal(await put(grants), 400, JSON.stringify(grants))
      assert.equal(await put([{ pattern: 'photos', operations: ['read'] }]), 201)
      assert.equal(await statusOf(peer.request('GET', '/properties/photos')), 200)
    })

    it('notifies the peer once, and not when nothing changes', async () => {
      const remote = await new RecordingPeer().start()
      try {
        const { service, actor, peer } = await open({}, { baseuri: `${remote.url}/remote` })
        const grant = { properties: { patterns: ['photos'], operations: ['read'] } } as const
        await actor.trust.grant(peer.peerId, grant)
        await actor.trust.grant(peer.peerId, grant)
        assert.equal(await actor.trust.withdraw(peer.peerId, { properties: { patterns: ['letters'] } }), false)
        await service.settled()
        const [notice, ...others] = remote.received
        assert.deepEqual(others, [])
        assert.equal(notice?.path, `/remote/callbacks/permissions/${actor.id}`)
        const { properties } = (notice?.body?.['data'] ?? {}) as Record<string, unknown>
        assert.deepEqual(properties, {
          patterns: ['diary'],
          operations: ['read'],
          excluded_patterns: ['secrets'],
          grants: [{ pattern: 'photos', operations: ['read'] }],
        })
      } finally {
        await remote.stop()
      }
    })

    it('reaches the subscriptions of the peer', async () => {
      const { owner, actor, peer } = await open()
      const id = await peer.subscribe({ subtarget: 'photos', granularity: 'none' })
      const path = `/subscriptions/${peer.peerId}/${id}`
      const received = async (): Promise<unknown[]> => (await json(peer.request('GET', path)))['data'] as unknown[]
      await owner.request('POST', '/properties/photos', 'unseen')
      assert.equal((await received()).length, 0)
      await actor.trust.grant(peer.peerId, { properties: { patterns: ['photos'], operations: ['read'] } })
      await owner.request('POST', '/properties/photos', 'seen')
      assert.equal((await received()).length, 1)
    })

    const refused: readonly (readonly [given: object, message: string])[] = [
      [{}, 'it names no category'],
      [
        { propertys: { patterns: ['a'], operations: ['read'] } },
        'the category "propertys" does not exist. The categories are properties, files, methods, actions, tools, resources, prompts',
      ],
      [
        { properties: { patterns: ['a'], operations: ['reed'] } },
        'the operation "reed" of properties does not exist. The operations are read, append, write, delete, subscribe',
      ],
      [
        { properties: { patterns: [], operations: ['read'] } },
        'properties.patterns must be a list of at least one pattern',
      ],
      [
        { properties: { patterns: ['a'], operations: [] } },
        'properties.operations must be a list of at least one operation',
      ],
      [{ properties: { patterns: ['a'] } }, 'properties.operations must be a list of at least one operation'],
      [
        { properties: { patterns: [''], operations: ['read'] } },
        'a pattern of properties must be a string of 1 to 1024 characters',
      ],
      [
        { properties: { patterns: ['a'], operations: ['read'], denied: ['b'] } },
        'the member "denied" of properties does not exist',
      ],
      [{ properties: ['a'] }, 'properties must be an object with patterns and operations'],
    ]
    for (const [given, message] of refused) {
      it(`refuses ${JSON.stringify(given)}`, async () => {
        const { actor, peer } = await open()
        await assert.rejects(actor.trust.grant(peer.peerId, given), {
          code: 'bad_request',
          message: `Cannot grant permissions: ${message}`,
        })
      })
    }

    it('refuses more than 1000 grants of a category', async () => {
      const { actor, peer } = await open()
      const patterns = Array.from({ length: 1000 }, (_each, index) => `p${index}`)
      await actor.trust.grant(peer.peerId, { properties: { patterns, operations: ['read'] } })
      await assert.rejects(
        actor.trust.grant(peer.peerId, { properties: { patterns: ['one more'], operations: ['read'] } }),
        { code: 'bad_request', message: 'Cannot grant permissions: properties would have more than 1000 grants' },
      )
      await actor.trust.grant(peer.peerId, { properties: { patterns: ['p0'], operations: ['read', 'append'] } })
    })

    it('refuses a peer without a relationship', async () => {
      const { actor } = await open()
      const grant = { properties: { patterns: ['photos'], operations: ['read'] } } as const
      const notFound = { code: 'not_found', message: 'This relationship with peer "unknown" does not exist' }
      await assert.rejects(actor.trust.grant('unknown', grant), notFound)
      await assert.rejects(actor.trust.withdraw('unknown', grant), notFound)
      await assert.rejects(actor.trust.may('unknown', 'read', 'photos'), notFound)
    })
  })

  describe('actor.trust.withdraw', () => {
    it('takes back some operations, all operations on a pattern, or everything', async () => {
      const { owner, actor, peer } = await open()
      const grantsOf = async (): Promise<unknown> => {
        const shown = await json(owner.request('GET', `/trust/reader/${peer.peerId}/permissions`))
        return (shown['properties'] as { grants?: unknown }).grants
      }
      await actor.trust.grant(peer.peerId, {
        properties: { patterns: ['photos', 'letters'], operations: ['read', 'append'] },
        methods: { patterns: ['m'], operations: ['call'] },
      })
      assert.equal(
        await actor.trust.withdraw(peer.peerId, { properties: { patterns: ['photos'], operations: ['append'] } }),
        true,
      )
      assert.deepEqual(await grantsOf(), [
        { pattern: 'photos', operations: ['read'] },
        { pattern: 'letters', operations: ['read', 'append'] },
      ])
      assert.equal(await actor.trust.withdraw(peer.peerId, { properties: { patterns: ['letters'] } }), true)
      assert.deepEqual(await grantsOf(), [{ pattern: 'photos', operations: ['read'] }])
      assert.equal(await actor.trust.withdraw(peer.peerId), true)
      assert.equal(await grantsOf(), undefined)
      assert.equal(await statusOf(peer.request('POST', '/methods/m', {})), 403)
      const shown = await json(owner.request('GET', `/trust/reader/${peer.peerId}/permissions`))
      assert.equal(shown['is_custom'], false)
    })

    it('returns false for what was never granted, and leaves the trust type and the override', async () => {
      const { owner, actor, peer } = await open()
      assert.equal(await actor.trust.withdraw(peer.peerId), false)
      assert.equal(await actor.trust.withdraw(peer.peerId, { properties: { patterns: ['diary'] } }), false)
      await owner.request('PUT', `/trust/reader/${peer.peerId}/permissions`, { properties: { patterns: ['photos'] } })
      assert.equal(await actor.trust.withdraw(peer.peerId, { properties: { patterns: ['photos'] } }), false)
      assert.equal(await statusOf(peer.request('GET', '/properties/diary')), 200)
      assert.equal(await statusOf(peer.request('GET', '/properties/photos')), 200)
    })

    it('refuses a misspelled category', async () => {
      const { actor, peer } = await open()
      await assert.rejects(actor.trust.withdraw(peer.peerId, { propertys: { patterns: ['a'] } } as object), {
        code: 'bad_request',
        message:
          'Cannot withdraw permissions: the category "propertys" does not exist. The categories are properties, files, methods, actions, tools, resources, prompts',
      })
    })
  })

  describe('actor.trust.may', () => {
    it('answers by the rule that the service enforces', async () => {
      const { actor, peer } = await open()
      await actor.trust.grant(peer.peerId, { properties: { patterns: ['photos'], operations: ['append'] } })
      const reasonOf = async (...asked: Parameters<ActorHandle['trust']['may']>): Promise<readonly unknown[]> => {
        const { allowed, reason } = await actor.trust.may(...asked)
        return [allowed, reason]
      }
      const none = 'no rule of reader for properties covers it, and what nothing grants is denied'
      assert.deepEqual(await reasonOf(peer.peerId, 'append', 'photos'), [
        true,
        'a grant of append on "photos" covers it',
      ])
      assert.deepEqual(await reasonOf(peer.peerId, 'read', 'diary'), [
        true,
        '"diary" in patterns of the trust type reader covers it',
      ])
      assert.deepEqual(await reasonOf(peer.peerId, 'read', 'photos'), [false, none])
      assert.deepEqual(await reasonOf(peer.peerId, 'properties.delete', 'photos/0'), [false, none])
      assert.deepEqual(await reasonOf(peer.peerId, 'execute', 'unknown'), [
        false,
        'the application has no action "unknown", and no rule of reader for actions covers it, and what nothing grants is denied',
      ])
    })

    it('says how to take a grant back', async () => {
      const { actor, peer } = await open()
      await actor.trust.grant(peer.peerId, { methods: { patterns: ['m'], operations: ['call'] } })
      assert.deepEqual(await actor.trust.may(peer.peerId, 'call', 'm'), {
        allowed: true,
        reason: 'a grant of call on "m" covers it',
        toChange: 'withdraw the grant, or add "m" to methods.denied in an override to deny it',
        until: null,
        needsApproval: false,
      })
    })

    it('refuses an operation that does not exist', async () => {
      const { actor, peer } = await open()
      await assert.rejects(actor.trust.may(peer.peerId, 'fly' as 'read', 'photos'), { code: 'bad_request' })
    })
  })
})
