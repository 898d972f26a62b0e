import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import { relate, type Related } from '../support/friends.ts'
import { RecordingPeer, relateTo } from '../support/recording-peer.ts'
import { forEachService, type TestActor, type TestService } from '../support/service.ts'

forEachService((start) => {
  let service: TestService
  let bob: TestActor
  let alice: TestActor
  let friendship: Related

  before(async () => {
    service = await start({
      listen: true,
      declare: (app) => {
        app.method('get_weather', () => ({ weather: 'fine' }))
        app.method('admin_reset', () => ({ reset: true }))
        app.trustType({
          name: 'reader',
          display_name: 'Reader',
          description: 'Reads the diary',
          permissions: { properties: { patterns: ['diary'], operations: ['read', 'subscribe'] } },
        })
      },
    })
  })

  async function meet(relationship = 'friend', approved = true): Promise<void> {
    alice = await service.createActor('alice@example.com')
    bob = await service.createActor('bob@example.com')
    await bob.request('POST', '/properties', {
      diary: 'dear diary',
      private: { pin: 1 },
      settings: { theme: 'dark', secret: 'x' },
      trips: { _type: 'list' },
    })
    friendship = await relate(alice, [service, bob], relationship, approved)
  }

  const override = (body: unknown) =>
    bob.request('PUT', `/trust/${friendship.relationship}/${alice.id}/permissions`, body)
  const json = async (response: Response): Promise<Record<string, unknown>> =>
    (await response.json()) as Record<string, unknown>

  describe('the permissions of a relationship', () => {
    it('are the permissions of its trust type until the owner overrides them (R-PERM-01)', async () => {
      await meet()
      const answer = await bob.request('GET', `/trust/friend/${alice.id}/permissions`)
      assert.equal(answer.status, 200)
      assert.deepEqual(await json(answer), {
        actor_id: bob.id,
        peer_id: alice.id,
        trust_type: 'friend',
        properties: {
          patterns: ['*'],
          operations: ['read', 'write'],
          excluded_patterns: ['private/*', 'security/*', '_internal/*'],
        },
        methods: { allowed: ['*'], denied: ['delete_*', 'admin_*', 'system_*'] },
        actions: { allowed: ['*'], denied: ['delete_*', 'admin_*', 'system_*'] },
        tools: { allowed: ['*'], denied: ['admin_*', 'system_*'] },
        resources: { patterns: ['*'], operations: ['read', 'write'], excluded_patterns: ['private/*', 'security/*'] },
        prompts: {},
        created_by: 'system',
        updated_at: null,
        notes: '',
        is_custom: false,
        source: 'trust_type_default',
      })
    })

    it('are merged with the override, and return to the trust type when the override is deleted (R-PERM-01, CHOICE-18)', async () => {
      await meet()
      assert.equal(
        (await override({ properties: { excluded_patterns: ['diary'] }, notes: 'not the diary' })).status,
        201,
      )
      assert.equal((await override({ methods: { denied: ['get_*'] } })).status, 200)
      const shown = await json(await bob.request('GET', `/trust/friend/${alice.id}/permissions`))
      assert.deepEqual(shown['properties'], {
        patterns: ['*'],
        operations: ['read', 'write'],
        excluded_patterns: ['private/*', 'security/*', '_internal/*', 'diary'],
      })
      assert.deepEqual(
        [shown['is_custom'], shown['source'], shown['notes'], shown['created_by']],
        [true, 'custom_override', 'not the diary', 'creator'],
      )
      assert.equal((await bob.request('DELETE', `/trust/friend/${alice.id}/permissions`)).status, 204)
      assert.equal((await json(await bob.request('GET', `/trust/friend/${alice.id}/permissions`)))['is_custom'], false)
      assert.equal((await bob.request('DELETE', `/trust/friend/${alice.id}/permissions`)).status, 204)
    })

    it('exist only for an existing relationship under its own type (R-PERM-01)', async () => {
      await meet()
      for (const path of [`/trust/friend/unknown/permissions`, `/trust/admin/${alice.id}/permissions`]) {
        for (const method of ['GET', 'PUT', 'DELETE']) {
          assert.equal(
            (await bob.request(method, path, method === 'PUT' ? {} : undefined)).status,
            404,
            `${method} ${path}`,
          )
        }
      }
      assert.equal((await override([])).status, 400)
      assert.equal((await override({ properties: { patterns: 'x' } })).status, 400)
      assert.equal((await bob.request('POST', `/trust/friend/${alice.id}/permissions`, {})).status, 405)
    })

    it('cannot have a misspelt name, and the refusal lists the valid ones (R-PERM-01)', async () => {
      await meet()
      const properties = 'read, append, write, delete, subscribe'
      const parts = 'patterns, operations, excluded_patterns, allowed, denied, grants, merge'
      for (const [body, problem] of [
        [
          { properties: { patterns: ['*'], operations: ['read', 'reed'] } },
          `the operation "reed" of properties does not exist. The operations are ${properties}`,
        ],
        [
          { methods: { patterns: ['*'], operations: ['execute'] } },
          'the operation "execute" of methods does not exist. The operations are call',
        ],
        [
          { properties: { operations: ['constructor'] } },
          `the operation "constructor" of properties does not exist. The operations are ${properties}`,
        ],
        [{ tools: { allow: ['*'] } }, `the member "allow" of tools does not exist. The members are ${parts}`],
        [
          { properties: { grants: [{ pattern: 'x', operations: ['rite'] }] } },
          `the operation "rite" of properties does not exist. The operations are ${properties}`,
        ],
        [
          { properties: { grants: [{ pattern: 'x', operations: ['read'], expires: '2030-01-01T00:00:00Z' }] } },
          'the member "expires" of properties.grants does not exist. The members are pattern, operations, until',
        ],
        [
          { propertys: { patterns: ['*'], operations: ['read'] } },
          'the category "propertys" does not exist. The categories are properties, files, methods, actions, tools, resources, prompts',
        ],
        [
          { permissions: { methods: ['*'] } },
          'the category "permissions" does not exist. The categories are properties, files, methods, actions, tools, resources, prompts',
        ],
      ] as const) {
        const message = `Cannot set permissions: ${problem}`
        const answer = await override(body)
        assert.equal(answer.status, 400, message)
        assert.deepEqual(await answer.json(), { error: 'bad_request', message })
        const inTrust = await bob.request('PUT', `/trust/friend/${alice.id}`, { permissions: body })
        assert.deepEqual([inTrust.status, await inTrust.json()], [400, { error: 'bad_request', message }])
      }
      assert.equal((await json(await bob.request('GET', `/trust/friend/${alice.id}/permissions`)))['is_custom'], false)
    })

    it('can be sent back as they were shown, and with names that cannot be rules (R-PERM-01)', async () => {
      await meet()
      await override({
        properties: { excluded_patterns: ['diary'], grants: [{ pattern: 'x', operations: ['delete'] }] },
      })
      const shown = await json(await bob.request('GET', `/trust/friend/${alice.id}/permissions`))
      assert.equal((await override({ ...shown, comment: 'unchanged', at: 7, more: null })).status, 200)
      const { updated_at: _before, ...before } = shown
      const { updated_at: _after, ...after } = await json(
        await bob.request('GET', `/trust/friend/${alice.id}/permissions`),
      )
      assert.deepEqual(after, before)
    })

    it('cannot be read or changed by the peer at this path (PEER-06, R-PERM-04)', async () => {
      await meet()
      for (const method of ['GET', 'PUT', 'DELETE']) {
        const answer = await friendship.request(
          method,
          `/trust/friend/${alice.id}/permissions`,
          method === 'PUT' ? { methods: ['*'] } : undefined,
        )
        assert.equal(answer.status, 403, method)
      }
      assert.equal((await json(await bob.request('GET', `/trust/friend/${alice.id}/permissions`)))['is_custom'], false)
    })
  })

  describe('the access of a peer', () => {
    const reads = async (path: string): Promise<number> => (await friendship.request('GET', path)).status

    it('is what its trust type grants (R-PERM-04)', async () => {
      await meet()
      assert.equal(await reads('/properties/diary'), 200)
      assert.equal(await reads('/properties/private/pin'), 403)
      assert.equal(await reads('/properties/private'), 403)
      assert.equal(await reads('/methods/get_weather'), 200)
      assert.equal(await reads('/methods/admin_reset'), 403)
      assert.equal((await friendship.request('PUT', '/properties/diary', 'new')).status, 204)
      assert.equal((await friendship.request('DELETE', '/properties/diary')).status, 403)
      assert.deepEqual(Object.keys(await json(await friendship.request('GET', '/properties'))), [
        'diary',
        'settings',
        'trips',
      ])
      assert.deepEqual(await json(await friendship.request('GET', '/methods')), {
        methods: [{ name: 'get_weather', description: '', input_schema: null, output_schema: null, annotations: {} }],
      })
    })

    it('changes with the override on the next request (ACL-10)', async () => {
      await meet()
      await override({ properties: { excluded_patterns: ['diary'] } })
      assert.equal(await reads('/properties/diary'), 403)
      await bob.request('DELETE', `/trust/friend/${alice.id}/permissions`)
      assert.equal(await reads('/properties/diary'), 200)
      await override({ methods: { denied: ['get_*'] } })
      assert.equal(await reads('/methods/get_weather'), 403)
    })

    it('excludes a target, and its parent as a whole (R-PERM-04)', async () => {
      await meet()
      await override({ properties: { excluded_patterns: ['settings/secret'] } })
      assert.equal(await reads('/properties/settings/theme'), 200)
      assert.equal(await reads('/properties/settings/secret'), 403)
      assert.equal(await reads('/properties/settings'), 403)
      assert.equal((await friendship.request('PUT', '/properties/settings', { theme: 'x' })).status, 403)
      assert.equal((await friendship.request('PUT', '/properties/settings/theme', 'light')).status, 204)
      assert.deepEqual(Object.keys(await json(await friendship.request('GET', '/properties'))), ['diary', 'trips'])
    })

    it('denies a target, and its parent as a whole (R-PERM-04)', async () => {
      await meet()
      await override({ properties: { denied: ['settings/secret'] } })
      assert.equal(await reads('/properties/settings/theme'), 200)
      assert.equal(await reads('/properties/settings/secret'), 403)
      assert.equal(await reads('/properties/settings'), 403)
      assert.equal((await friendship.request('PUT', '/properties/settings', { secret: 'y' })).status, 403)
      assert.equal((await friendship.request('PUT', '/properties', { settings: { secret: 'y' } })).status, 403)
      assert.deepEqual(Object.keys(await json(await friendship.request('GET', '/properties'))), ['diary', 'trips'])
    })

    it('excludes or denies a name together with everything below it (R-PERM-04)', async () => {
      for (const rule of [{ excluded_patterns: ['settings', 'trips'] }, { denied: ['settings', 'trips'] }]) {
        await meet()
        await override({ properties: rule })
        for (const path of ['settings', 'settings/theme', 'trips', 'trips/0']) {
          assert.equal(await reads(`/properties/${path}`), 403, path)
        }
        assert.equal((await friendship.request('PUT', '/properties/settings/theme', 'light')).status, 403)
        const wanted = { target: 'properties', subtarget: 'trips', granularity: 'none' }
        const made = await friendship.request('POST', `/subscriptions/${alice.id}`, wanted)
        const { subscriptionid } = await json(made)
        await bob.request('POST', '/properties/trips', { to: 'an unknown place' })
        const polled = await friendship.request('GET', `/subscriptions/${alice.id}/${String(subscriptionid)}`)
        assert.deepEqual((await json(polled))['data'], [])
      }
    })

    it('narrows to the grants of the override when "merge" is false (ACL-07)', async () => {
      await meet()
      await override({ properties: { patterns: ['diary'], operations: ['read'], merge: false } })
      assert.equal(await reads('/properties/diary'), 200)
      assert.equal(await reads('/properties/settings'), 403)
      assert.equal((await friendship.request('PUT', '/properties/diary', 'x')).status, 403)
    })

    it('is empty under an unregistered trust type until the owner grants rights (CHOICE-15)', async () => {
      await meet('neighbor')
      assert.equal(await reads('/properties/diary'), 403)
      await override({ properties: ['diary'] })
      assert.equal(await reads('/properties/diary'), 200)
      assert.equal(await reads('/properties/settings'), 403)
    })

    it('is empty before the approval, whatever is granted (CHOICE-13, ACL-12, R-PERM-02)', async () => {
      await meet('friend', false)
      await override({ properties: { patterns: ['*'], operations: ['read'] } })
      for (const path of [
        '/properties',
        '/properties/diary',
        '/methods',
        `/permissions/${alice.id}`,
        `/trust/friend/${alice.id}/shared_properties`,
      ]) {
        assert.equal(await reads(path), 403, path)
      }
    })
  })

  describe('the list of granted permissions', () => {
    it('is available to the peer itself, including defaults (R-PERM-03)', async () => {
      await meet('reader')
      const answer = await friendship.request('GET', `/permissions/${alice.id}`)
      assert.equal(answer.status, 200)
      assert.deepEqual(await json(answer), {
        actor_id: bob.id,
        peer_id: alice.id,
        permissions: {
          properties: { patterns: ['diary'], operations: ['read', 'subscribe'] },
          methods: {},
          actions: {},
          tools: {},
          resources: {},
          prompts: {},
        },
        source: 'trust_type_default',
        trust_type: 'reader',
      })
    })

    it('is not available to another peer (R-PERM-03)', async () => {
      await meet()
      const carol = await service.createActor('carol@example.com')
      const other = await relate(carol, [service, bob])
      assert.equal((await other.request('GET', `/permissions/${alice.id}`)).status, 403)
      assert.equal((await other.request('GET', `/permissions/${carol.id}`)).status, 200)
      assert.equal((await bob.request('GET', '/permissions/unknown')).status, 404)
    })

    it('allows subscriptions where reading is allowed, with the operations that the routes allow (R-PERM-02)', async () => {
      await meet()
      const shown = await json(await friendship.request('GET', `/trust/friend/${alice.id}/shared_properties`))
      assert.deepEqual(shown['shared_properties'], [
        { name: 'diary', display_name: 'Diary', item_count: 0, operations: ['read', 'write', 'subscribe'] },
        { name: 'settings', display_name: 'Settings', item_count: 0, operations: ['read', 'write', 'subscribe'] },
        { name: 'trips', display_name: 'Trips', item_count: 0, operations: ['read', 'append', 'write', 'subscribe'] },
      ])
    })

    it('allows subscriptions where the right is granted, and reveals no other name (R-PERM-02)', async () => {
      await meet('reader')
      const answer = await friendship.request('GET', `/trust/reader/${alice.id}/shared_properties`)
      assert.deepEqual(await json(answer), {
        actor_id: bob.id,
        peer_id: alice.id,
        relationship: 'reader',
        shared_properties: [{ name: 'diary', display_name: 'Diary', item_count: 0, operations: ['read', 'subscribe'] }],
        excluded_properties: [],
      })
      assert.equal((await bob.request('GET', `/trust/reader/${alice.id}/shared_properties`)).status, 403)
    })
  })

  describe('a change of permissions', () => {
    it('notifies the peer of the resulting permissions, also when the override is deleted (R-PERM-05)', async () => {
      const remote = await new RecordingPeer().start()
      try {
        const own = await start({ allowPrivatePeers: true })
        const actor = await own.createActor()
        const baseuri = `${remote.url}/remote`
        const { peerId, secret } = await relateTo(own, actor, { baseuri, relationship: 'viewer' })
        const path = `/trust/viewer/${peerId}/permissions`
        assert.equal((await actor.request('PUT', path, { properties: { excluded_patterns: ['diary'] } })).status, 201)
        await remote.has(1)
        assert.equal((await actor.request('DELETE', path)).status, 204)
        const [put, withdrawn] = await remote.has(2)
        assert.deepEqual(
          [put?.method, put?.path, put?.headers['authorization']],
          ['POST', `/remote/callbacks/permissions/${actor.id}`, `Bearer ${secret}`],
        )
        const { timestamp, data, ...body } = put?.body ?? {}
        assert.match(String(timestamp), /^\d{4}-\d\d-\d\dT/)
        assert.deepEqual(body, { id: actor.id, target: 'permissions', type: 'permission' })
        const excluded = (given: unknown): boolean =>
          (given as { properties: { excluded_patterns?: string[] } }).properties.excluded_patterns?.includes(
            'diary',
          ) === true
        assert.deepEqual([excluded(data), excluded(withdrawn?.body?.['data'])], [true, false])
      } finally {
        await remote.stop()
      }
    })

    it('is made although the peer rejects the notification, which the log reports (R-PERM-05)', async () => {
      const remote = await new RecordingPeer().start()
      try {
        remote.replies = [400]
        const own = await start({ allowPrivatePeers: true })
        const actor = await own.createActor()
        const { peerId } = await relateTo(own, actor, { baseuri: `${remote.url}/remote` })
        const path = `/trust/friend/${peerId}/permissions`
        assert.equal((await actor.request('PUT', path, { properties: { excluded_patterns: ['diary'] } })).status, 201)
        await remote.has(1)
        await own.settled()
        const reported = own.log.filter((line) => line.includes('"msg":"Cannot deliver a notice"'))
        assert.equal(reported.length, 1)
        assert.match(reported[0] ?? '', /"kind":"permission","outcome":"failed","reason":"The peer answered 400"/)
        assert.equal((await json(await actor.request('GET', path)))['is_custom'], true)
      } finally {
        await remote.stop()
      }
    })

    it('sends no notification when the peer has no address or the operator disabled notifications (R-PERM-05)', async () => {
      for (const [notifyPermissions, baseuri] of [
        [true, ''],
        [false, 'http://127.0.0.1:9/remote'],
      ] as const) {
        const own = await start({ allowPrivatePeers: true, notifyPermissions })
        const actor = await own.createActor()
        const { peerId } = await relateTo(own, actor, { baseuri })
        const path = `/trust/friend/${peerId}/permissions`
        assert.equal((await actor.request('PUT', path, { properties: { excluded_patterns: ['diary'] } })).status, 201)
        const { store } = await own.app.running()
        assert.deepEqual(await store.read((q) => q.all('SELECT id FROM notice')), [])
      }
    })
  })

  describe('an explanation of a permission', () => {
    it('shows the owner the rule, its source and the change that would allow the operation', async () => {
      await meet()
      const answer = await bob.request(
        'GET',
        `/permissions/${alice.id}?explain=${encodeURIComponent('read:private/pin')}`,
      )
      assert.deepEqual(await json(answer), {
        operation: 'read',
        category: 'properties',
        target: 'private/pin',
        allowed: false,
        because: '"private/*" in excluded_patterns of the trust type friend covers it',
        rule: { part: 'excluded_patterns', pattern: 'private/*', source: 'trust_type' },
        to_change: 'add "private/pin" to properties.allowed in an override to allow it with every operation',
      })
      assert.equal((await bob.request('GET', `/permissions/${alice.id}?explain=fly:x`)).status, 400)
    })

    describe('for an operation that the route checks as another right', () => {
      const explained = async (question: string): Promise<unknown> => {
        const answer = await bob.request('GET', `/permissions/${alice.id}?explain=${encodeURIComponent(question)}`)
        const { allowed, because, decided_as: decidedAs = null } = await json(answer)
        return [allowed, because, decidedAs]
      }
      const granted = '"*" in patterns of the trust type friend covers it'

      for (const [question, expected] of [
        ['delete:trips/0', [true, granted, 'properties.write:trips']],
        ['write:trips/0', [true, granted, 'properties.write:trips']],
        ['write:trips/metadata', [true, granted, 'properties.write:trips']],
        ['read:trips/0', [true, granted, 'properties.read:trips']],
        ['append:trips', [true, granted, null]],
        ['delete:trips', [false, 'the trust type friend does not list delete for properties', null]],
        ['delete:settings/theme', [false, 'the trust type friend does not list delete for properties', null]],
        ['subscribe:diary', [true, granted, 'properties.read:diary']],
        [
          'subscribe:private/pin',
          [false, '"private/*" in excluded_patterns of the trust type friend covers it', 'properties.read:private/pin'],
        ],
        ['read:', [true, 'every approved peer may, and gets the properties that it may read', null]],
        ['delete:', [false, 'the trust type friend does not list delete for properties', null]],
        [
          'trust.read:x',
          [false, 'relationships of the type friend reach trust only where the address names the peer itself', null],
        ],
        [
          'actor.delete:',
          [false, 'relationships of the type friend reach actor only where the address names the peer itself', null],
        ],
      ] as const) {
        it(`answers ${question} as the route decides (CHOICE-74)`, async () => {
          await meet()
          assert.deepEqual(await explained(question), expected)
        })
      }

      it('names the property that keeps a peer from deleting all properties', async () => {
        await meet()
        await override({ properties: { operations: ['read', 'write', 'delete'] } })
        assert.deepEqual(await explained('delete:'), [
          false,
          '"private/*" in excluded_patterns of the trust type friend covers it',
          'properties.delete:private',
        ])
      })

      it('uses the table of roles for an administrator', async () => {
        await meet('admin')
        assert.deepEqual(await explained('trust.read:x'), [true, 'relationships of the type admin reach trust', null])
      })
    })

    for (const [question, noun] of [
      ['call:unheard_of', 'method'],
      ['execute:unheard_of', 'action'],
      ['resources.read:unheard_of', 'resource'],
    ] as const) {
      it(`reports that the application has no operation of this name: ${question}`, async () => {
        await meet()
        const answer = await bob.request('GET', `/permissions/${alice.id}?explain=${question}`)
        const { allowed, because, exists } = await json(answer)
        assert.deepEqual(
          [allowed, because, exists],
          [false, `the application has no ${noun} "unheard_of"; its rights alone would allow it`, false],
        )
      })
    }

    for (const question of ['use:anything', 'invoke:anything', 'resources.read:actingweb://properties/diary']) {
      it(`reports that other actors cannot use what is for AI clients: ${question}`, async () => {
        await meet()
        const answer = await bob.request('GET', `/permissions/${alice.id}?explain=${encodeURIComponent(question)}`)
        const { allowed, rule } = await json(answer)
        assert.deepEqual([allowed, rule], [false, { part: 'client', pattern: null, source: 'none' }])
      })
    }

    it('is not available to the peer', async () => {
      await meet()
      assert.equal((await friendship.request('GET', `/permissions/${alice.id}?explain=read:x`)).status, 403)
    })

    it('agrees with the result of a request', async () => {
      await meet()
      await override({ properties: { excluded_patterns: ['settings/secret'] } })
      for (const target of ['diary', 'private', 'private/pin', 'settings', 'settings/theme', 'settings/secret']) {
        const explained = await json(
          await bob.request('GET', `/permissions/${alice.id}?explain=${encodeURIComponent(`read:${target}`)}`),
        )
        const got = await friendship.request('GET', `/properties/${target}`)
        assert.equal(explained['allowed'], got.status === 200, target)
      }
    })
  })

  it('application-defined trust types are listed with the built-in ones for every caller (R-PERM-04)', async () => {
    await meet()
    const types = (await (await service.request(`/${bob.id}/meta/actingweb/trust_types`)).json()) as {
      name: string
      created_by: string
    }[]
    assert.deepEqual(
      types.map(({ name, created_by }) => `${name} by ${created_by}`),
      [
        'admin by system',
        'api_key by system',
        'associate by system',
        'friend by system',
        'mcp_client by system',
        'partner by system',
        'reader by application',
        'viewer by system',
      ],
    )
  })
})
