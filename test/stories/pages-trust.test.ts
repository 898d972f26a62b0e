import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { html } from '../../src/index.ts'
import type { PageValues } from '../../src/pages.ts'
import { relate } from '../support/friends.ts'
import { authorizeClient } from '../support/mcp-client.ts'
import { forEachService, type StartOptions, type TestActor, type TestService } from '../support/service.ts'
import { OwnersBrowser } from '../support/sessions.ts'
import { leavesAll, quietStore } from '../support/stored.ts'

interface World {
  readonly service: TestService
  readonly actor: TestActor
  readonly peer: TestActor
  readonly browser: OwnersBrowser
  /** The values that the pages received, latest first. */
  readonly lists: PageValues<'trust'>[]
  readonly asks: PageValues<'trustNew'>[]
  readonly peers: PageValues<'trustPeer'>[]
  readonly views: PageValues<'trustView'>[]
}

forEachService((start) => {
  async function open(options: StartOptions = {}): Promise<World> {
    const [lists, asks, peers, views]: [
      PageValues<'trust'>[],
      PageValues<'trustNew'>[],
      PageValues<'trustPeer'>[],
      PageValues<'trustView'>[],
    ] = [[], [], [], []]
    const service = await start({
      listen: true,
      // Requests for profiles would otherwise change the store in the background and disturb its comparisons.
      peerProfileAttributes: [],
      pages: {
        trust: (values) => (lists.unshift(values), html`list`),
        trustNew: (values) => (asks.unshift(values), html`new`),
        trustPeer: (values) => (peers.unshift(values), html`peer`),
        trustView: (values) => (views.unshift(values), html`view`),
      },
      ...options,
    })
    const actor = await service.createActor()
    const peer = await service.createActor('peer@example.com')
    return { service, actor, peer, browser: await OwnersBrowser.open(service, actor), lists, asks, peers, views }
  }

  async function trustOf({ actor, peer }: World): Promise<Record<string, unknown> | null> {
    const [found] = (await (await actor.request('GET', `/trust?peerid=${peer.id}`)).json()) as Record<string, unknown>[]
    return found ?? null
  }

  describe('the page of relationships', () => {
    it('receives every relationship with its state, latest contact first, and the waiting requests (R-PAGE-11, R-WEB-02)', async () => {
      const world = await open()
      const { actor, peer, service, browser, lists } = world
      await relate(peer, [service, actor], 'friend', false)
      const other = await service.createActor('other@example.com')
      await relate(actor, [service, other], 'partner', false)
      const client = await authorizeClient(service, actor)
      assert.equal((await browser.get('/trust')).status, 200)
      const [values] = lists
      assert.ok(values)
      assert.equal(values.url, `${service.url}/${actor.id}/www/trust/`)
      assert.equal(values.actor_root, `/${actor.id}`)
      assert.equal(values.actor_www, `/${actor.id}/www`)
      assert.deepEqual(
        new Map(
          values.trusts.map((trust) => [
            trust.peerid,
            [trust.standing, trust.standing_word, trust.relationship, trust.relationship_name],
          ]),
        ),
        new Map([
          [peer.id, ['waiting', 'Pending', 'friend', 'Friend']],
          [other.id, ['asked', 'Request sent', 'partner', 'Partner']],
          [client.peerId, ['mutual', 'Active', 'friend', 'Friend']],
        ]),
      )
      assert.deepEqual(
        values.waiting.map(({ peerid, approveuri, has_custom_permissions }) => [
          peerid,
          approveuri,
          has_custom_permissions,
        ]),
        [[peer.id, `/${actor.id}/trust/friend/${peer.id}`, false]],
      )
      assert.deepEqual(
        values.oauth_clients.map(({ client_id, client_name, trust_type, status }) => [
          client_id,
          client_name,
          trust_type,
          status,
        ]),
        [[client.clientId, 'A test client', 'friend', 'active']],
      )
      assert.deepEqual(values.trust_connections.map(({ established_via }) => established_via).toSorted(), [
        'oauth2_client',
        'trust',
        'trust',
      ])
    })

    it('splits many relationships into pages, and shows no secret (R-PAGE-11)', async () => {
      const world = await open({ pages: {} })
      const { actor, browser } = world
      for (let n = 0; n < 60; n++)
        await actor.request('POST', '/trust/friend', { baseuri: `https://peer.example.com/peer-${n}`, id: `peer-${n}` })
      const first = await (await browser.get('/trust')).text()
      const second = await (await browser.get('/trust?page=2')).text()
      assert.match(first, /aria-current="true">All <span class="number">60<\/span>/)
      assert.equal(first.match(/<tr><th scope="row">/g)?.length, 50)
      assert.equal(second.match(/<tr><th scope="row">/g)?.length, 10)
      const trusts = (await (await actor.request('GET', '/trust')).json()) as { secret: string }[]
      for (const { secret } of trusts) assert.equal(first.includes(secret) || second.includes(secret), false)
    })
  })

  describe('the form that requests a relationship', () => {
    it('sends the request to the other actor, and redirects to the list (R-PAGE-12)', async () => {
      const world = await open()
      const { service, actor, peer, browser, asks } = world
      assert.equal((await browser.get('/trust/new')).status, 200)
      assert.equal(asks[0]?.form_action, `/${actor.id}/www/trust/new`)
      assert.equal(asks[0]?.form_method, 'post')
      assert.deepEqual(
        asks[0]?.trust_types.map(({ name }) => name),
        ['associate', 'viewer', 'friend', 'partner'],
      )
      assert.equal(asks[0]?.default_relationship, 'associate')
      const answer = await browser.send('/trust/new', {
        peer_url: `${service.url}/${peer.id}`,
        trust_type: 'friend',
        description: 'It is me',
      })
      assert.equal(answer.status, 302)
      assert.equal(answer.headers.get('location'), `${service.url}/${actor.id}/www/trust`)
      const trust = await trustOf(world)
      assert.deepEqual(
        [trust?.['relationship'], trust?.['approved'], trust?.['peer_approved']],
        ['friend', true, false],
      )
      const [theirs] = (await (await peer.request('GET', '/trust')).json()) as Record<string, unknown>[]
      assert.deepEqual([theirs?.['peerid'], theirs?.['desc']], [actor.id, 'It is me'])
    })

    for (const [what, fields, status, message] of [
      ['no address', { trust_type: 'friend' }, 400, /^Enter their account URL\.$/],
      ['an address of spaces', { peer_url: '   ', trust_type: 'friend' }, 400, /^Enter their account URL\.$/],
      ['no trust type', { peer_url: 'https://peer.example.com/1' }, 400, /^Choose what they can access\.$/],
      ['an unknown trust type', { peer_url: 'https://peer.example.com/1', trust_type: 'boss' }, 400, /“boss”/],
      ['an invalid address', { peer_url: 'http://', trust_type: 'friend' }, 400, /^Enter an account URL, like/],
      ['a script', { peer_url: 'javascript:alert(1)', trust_type: 'friend' }, 400, /^Enter an account URL, like/],
      [
        'a long relationship',
        { peer_url: 'https://peer.example.com/1', trust_type: 'friend', relationship: 'x'.repeat(101) },
        400,
        /longer than 100/,
      ],
      [
        'an address without an actor',
        { peer_url: 'http://127.0.0.1:9/unknown', trust_type: 'friend' },
        408,
        /^We couldn’t reach an account at this address/,
      ],
    ] as const) {
      it(`keeps the typed values and explains what is wrong with ${what} (R-PAGE-02, R-PAGE-12)`, async () => {
        const world = await open()
        const sent: Record<string, string> = fields
        await leavesAll(world.service, () => world.browser.send('/trust/new', sent), status)
        const [values] = world.asks
        assert.match(values?.error ?? '', message)
        assert.equal(
          values?.typed.peer_url,
          sent['peer_url']?.trim() === '' ? sent['peer_url'] : (sent['peer_url'] ?? ''),
        )
        assert.equal(values?.typed.trust_type, sent['trust_type'] ?? '')
      })
    }

    for (const [what, page] of [
      ['the overview', '/www'],
      ['another page', '/www/trust?notice=asked#content'],
    ] as const) {
      it(`accepts ${what} of an actor in place of its address (R-PAGE-12)`, async () => {
        const world = await open()
        const { service, peer, browser } = world
        const answer = await browser.send('/trust/new', {
          peer_url: `${service.url}/${peer.id}${page}`,
          trust_type: 'friend',
        })
        assert.equal(answer.status, 302)
        assert.equal((await trustOf(world))?.['baseuri'], `${service.url}/${peer.id}`)
      })
    }

    for (const below of ['', '/', '/www']) {
      it(`rejects the address of the user's own actor with “${below}” at its end (R-PAGE-12)`, async () => {
        const world = await open()
        const { service, actor, browser, asks } = world
        const sent = { peer_url: `${service.url}/${actor.id}${below}`, trust_type: 'friend' }
        await leavesAll(world.service, () => browser.send('/trust/new', sent), 400)
        assert.equal(asks[0]?.error, 'That’s your own account.')
      })
    }

    it('reports an existing relationship when the peer accepts no other one (R-PAGE-12)', async () => {
      const world = await open()
      const { service, actor, peer, browser, asks } = world
      await relate(actor, [service, peer], 'friend')
      const sent = { peer_url: `${service.url}/${peer.id}`, trust_type: 'viewer' }
      assert.equal((await browser.send('/trust/new', sent)).status, 408)
      assert.equal(
        asks[0]?.error,
        'You’re already connected to this account as Friend. Disconnect first to change it, or try again later.',
      )
      assert.equal((await trustOf(world))?.['relationship'], 'friend')
    })

    it('adds https to an address without a scheme (R-PAGE-12)', async () => {
      const world = await open()
      await leavesAll(
        world.service,
        () => world.browser.send('/trust/new', { peer_url: '127.0.0.1:9/unknown', trust_type: 'friend' }),
        408,
      )
      assert.match(world.asks[0]?.error ?? '', /^We couldn’t reach an account at this address/)
    })
  })

  describe('the page of a peer', () => {
    it('approves, withdraws the approval and ends the relationship (R-PAGE-13)', async () => {
      const world = await open()
      const { service, actor, peer, browser, peers } = world
      const related = await relate(peer, [service, actor], 'friend', false)
      const path = `/trust/${peer.id}`
      assert.equal((await browser.get(path)).status, 200)
      assert.equal(peers[0]?.trust.standing, 'waiting')
      assert.equal((await related.request('GET', '/properties')).status, 403)
      const location = `${service.url}/${actor.id}/www`
      const approved = await browser.send(path, { action: 'approve' })
      assert.deepEqual([approved.status, approved.headers.get('location')], [302, location + path])
      assert.equal((await related.request('GET', '/properties')).status, 200)
      assert.equal((await browser.send(path, { action: 'withdraw' })).status, 302)
      assert.equal((await related.request('GET', '/properties')).status, 403)
      const ended = await browser.send(path, { action: 'end' })
      assert.deepEqual([ended.status, ended.headers.get('location')], [302, `${location}/trust`])
      assert.equal(await trustOf(world), null)
      assert.equal((await browser.get(path)).status, 404)
    })

    it('subscribes to what the peer shares, and then shows the received data (R-PAGE-13, R-SUB-01)', async () => {
      const world = await open({ pages: {} })
      const { service, actor, peer, browser } = world
      await relate(peer, [service, actor])
      assert.equal((await peer.request('PUT', '/properties/color', 'blue')).status, 204)
      assert.equal((await peer.request('PUT', '/properties/private/diary', 'Dear diary')).status, 204)
      const path = `/trust/${peer.id}`
      assert.match(await (await browser.get(path)).text(), /<button type="submit">Subscribe</)
      const sent = await browser.send(path, { action: 'follow' })
      assert.equal(sent.status, 302)
      const at = (sent.headers.get('location') ?? '').slice(`${service.url}/${actor.id}/www`.length)
      assert.match(at, new RegExp(`^/subscriptions/${peer.id}/[0-9a-f]{32}$`))
      const known = await (await browser.get(at)).text()
      assert.match(known, /<strong>color<\/strong>/)
      assert.match(known, /blue/)
      assert.equal(known.includes('diary'), false)
      const after = await (await browser.get(path)).text()
      assert.match(after, /Subscribed\. /)
      assert.equal(after.includes('<button type="submit">Subscribe<'), false)
    })

    it('subscribes to no peer that has not approved, and says so (R-PAGE-13)', async () => {
      const world = await open()
      await relate(world.actor, [world.service, world.peer], 'friend', false)
      await leavesAll(world.service, () => world.browser.send(`/trust/${world.peer.id}`, { action: 'follow' }), 408)
      assert.equal(world.peers[0]?.followed, null)
      assert.equal(world.peers[0]?.error, 'Couldn’t subscribe. They declined or can’t be reached; try again later.')
    })

    it('describes the rights of the peer in plain language (R-PAGE-14)', async () => {
      const world = await open()
      const { service, actor, peer, browser, peers } = world
      await relate(peer, [service, actor])
      await actor.request('PUT', `/trust/friend/${peer.id}/permissions`, {
        properties: { patterns: ['notes/*'], operations: ['read'], excluded_patterns: ['notes/secret'], merge: false },
        methods: { denied: ['*'] },
        actions: { allowed: ['add_note'], merge: false },
      })
      await browser.get(`/trust/${peer.id}`)
      const sentences = Object.fromEntries((peers[0]?.rights ?? []).map((line) => [line.category, line.sentences]))
      assert.deepEqual(sentences['properties'], [
        'Can view everything in “notes” except “notes/secret” and the contents of “private”, “security” and “_internal”.',
        'Can’t edit or delete any property or list directly.',
      ])
      assert.deepEqual(sentences['methods'], ['No methods.'])
      assert.deepEqual(sentences['actions'], [
        'Can run “add_note”.',
        'Blocked: names starting with “delete_”, “admin_” or “system_”.',
        'They do what the application defines, which can include editing and deleting your data.',
      ])
      assert.deepEqual(sentences['prompts'], ['Only AI apps can use these.'])
      assert.deepEqual(peers[0]?.reach, [])
    })

    it('warns about a relationship whose rights extend beyond the data (R-PAGE-14)', async () => {
      const world = await open()
      const { service, actor, peer, browser, peers } = world
      await relate(peer, [service, actor], 'admin')
      await browser.get(`/trust/${peer.id}`)
      assert.deepEqual(peers[0]?.reach, [
        'Can view, edit and delete your whole account.',
        'Can view, edit and delete your connections, including those with other people.',
        'Can view, edit and delete your connections to other services.',
      ])
    })

    for (const [operations, sentences] of [
      [['read'], ['Can view everything.', 'Can’t edit or delete any property or list directly.']],
      [
        ['read', 'append'],
        ['Can view and add to everything.', 'Can’t edit or delete any property or list directly.'],
      ],
      [
        ['read', 'append', 'write'],
        [
          'Can view and edit everything.',
          'Can’t delete any property or list directly.',
          'Editing a list includes adding and removing its items.',
        ],
      ],
      [['append'], ['Can add to everything.', 'Can’t view, edit or delete any property or list directly.']],
      [
        ['read', 'write', 'delete', 'subscribe'],
        ['Can view, edit and delete everything.', 'Editing a list includes adding and removing its items.'],
      ],
      [['subscribe'], ['No properties or lists.']],
      [[], ['No properties or lists.']],
    ] as const) {
      it(`explains the meaning of the operations ${JSON.stringify(operations)} (R-PAGE-14, CHOICE-74)`, async () => {
        const world = await open()
        const { service, actor, peer, browser, peers } = world
        await relate(peer, [service, actor], 'neighbor')
        await actor.request('PUT', `/trust/neighbor/${peer.id}/permissions`, {
          properties: { patterns: ['*'], operations },
        })
        await browser.get(`/trust/${peer.id}`)
        assert.deepEqual(peers[0]?.rights[0]?.sentences, sentences)
      })
    }

    it('answers an access check for list items as the routes decide (R-PAGE-14, CHOICE-74)', async () => {
      const world = await open()
      const { service, actor, peer, browser, peers } = world
      await relate(peer, [service, actor])
      await actor.request('POST', '/properties', { log: { _type: 'list' } })
      const asked = async (ask: string, target: string): Promise<unknown> => {
        await browser.get(`/trust/${peer.id}?ask=${ask}&target=${target}`)
        const { question, allowed, because } = peers[0]?.may.answer ?? {}
        return [question, allowed, because]
      }
      assert.deepEqual(await asked('properties.delete', 'log/0'), [
        'delete “log/0”',
        true,
        'Friend allows everything. The rule for “edit log” decides.',
      ])
      assert.deepEqual(await asked('properties.delete', 'log'), [
        'delete “log”',
        false,
        'Friend doesn’t let them delete anything of this kind.',
      ])
      assert.deepEqual(await asked('properties.append', 'log'), ['add to “log”', true, 'Friend allows everything.'])
      assert.deepEqual(await asked('properties.subscribe', 'log'), [
        'subscribe to “log”',
        true,
        'Friend allows everything. The rule for “view log” decides.',
      ])
    })

    it('reports in an access check that a name does not exist, rather than allowing it (R-PAGE-14)', async () => {
      const world = await open({
        declare: (app) => {
          app.action('get_note', { mcp: true }, () => ({ note: 'n' }))
          app.action('clear_notes', { mcp: true, confirm: 'owner' }, () => ({ cleared: true }))
        },
      })
      const { service, actor, peer, browser, peers } = world
      const client = await authorizeClient(service, actor)
      await relate(peer, [service, actor])
      const asked = async (peerId: string, ask: string, target: string): Promise<unknown> => {
        await browser.get(`/trust/${encodeURIComponent(peerId)}?ask=${ask}&target=${target}`)
        const { allowed, because } = peers[0]?.may.answer ?? {}
        return [allowed, because]
      }
      assert.deepEqual(await asked(client.peerId, 'tools.use', 'get_note'), [true, 'Friend allows everything.'])
      for (const [peerId, ask] of [
        [client.peerId, 'tools.use'],
        [peer.id, 'actions.execute'],
      ] as const)
        assert.deepEqual(await asked(peerId, ask, 'clear_notes'), [
          true,
          'Friend allows everything. You approve each call.',
        ])
      assert.deepEqual(await asked(client.peerId, 'tools.use', 'unknown_tool'), [
        false,
        'There’s no tool called “unknown_tool” right now.',
      ])
      assert.deepEqual(await asked(client.peerId, 'methods.call', 'nothing'), [
        false,
        'There’s no method called “nothing” right now.',
      ])
      assert.deepEqual(await asked(peer.id, 'tools.use', 'get_note'), [
        false,
        'Only AI apps can use this, and this is another account.',
      ])
    })

    it('answers an access check with the deciding rule and the change that would allow it (R-PAGE-14, R-PERM-01)', async () => {
      const world = await open({ declare: (app) => app.method('get_weather', () => ({ sun: true })) })
      const { service, actor, peer, browser, peers } = world
      await relate(peer, [service, actor])
      await browser.get(`/trust/${peer.id}?ask=properties.read&target=private/diary`)
      assert.deepEqual(peers[0]?.may, {
        ask: 'properties.read',
        target: 'private/diary',
        answer: {
          question: 'view “private/diary”',
          sentence: `Account ${peer.id.slice(0, 6)} can’t view “private/diary”.`,
          allowed: false,
          because: 'Friend blocks the contents of “private”.',
          to_change:
            'Friend always blocks this. Choose another access level, or an app that allows “private/diary” for every action.',
        },
      })
      await browser.get(`/trust/${peer.id}?ask=methods.call&target=get_weather`)
      assert.equal(peers[0]?.may.answer?.allowed, true)
      for (const odd of ['?ask=properties.fly&target=x', '?ask=&target=x', '?ask=properties.read', '?target=x']) {
        assert.equal((await browser.get(`/trust/${peer.id}${odd}`)).status, 200)
        assert.equal(peers[0]?.may.answer, null)
      }
    })

    for (const [what, path, fields, status] of [
      ['another action', '', { action: 'adopt' }, 400],
      ['no action', '', {}, 400],
      ['another step', '/permissions', { step: 'guess' }, 400],
      ['an overlong pattern', '/permissions', { step: 'save', 'properties.patterns': 'x'.repeat(1025) }, 400],
    ] as const) {
      it(`rejects ${what}, and changes nothing (R-PAGE-13)`, async () => {
        const world = await open()
        await relate(world.peer, [world.service, world.actor])
        await leavesAll(world.service, () => world.browser.send(`/trust/${world.peer.id}${path}`, fields), status)
        assert.notEqual(world.peers[0]?.error, null)
      })
    }

    it('answers 404 to every request about an unknown peer (R-PAGE-13)', async () => {
      const world = await open()
      for (const sending of [
        () => world.browser.get('/trust/unknown'),
        () => world.browser.get('/trust/unknown/view'),
        () => world.browser.send('/trust/unknown', { action: 'approve' }),
        () => world.browser.send('/trust/unknown', { action: 'end' }),
        () => world.browser.send('/trust/unknown', { action: 'follow' }),
        () => world.browser.send('/trust/unknown/permissions', { step: 'save', 'properties.patterns': 'x' }),
      ])
        await leavesAll(world.service, sending, 404)
    })
  })

  describe('the form that overrides rights', () => {
    const given = {
      'properties.patterns': 'notes\r\nlogs/*\r\n\r\nnotes',
      'properties.operations.read': '1',
      'properties.excluded_patterns': 'logs/old',
      'properties.only': '1',
      'methods.denied': 'get_weather',
    }

    it('previews the changes before saving, and saves exactly the preview (R-PAGE-15, R-PERM-01)', async () => {
      const world = await open({ declare: (app) => app.method('get_weather', () => ({ sun: true })) })
      const { service, actor, peer, browser, peers } = world
      const related = await relate(peer, [service, actor], 'friend')
      await actor.request('POST', '/properties', { notes: 'n', color: 'blue', private: 'p' })
      await leavesAll(
        world.service,
        () => browser.send(`/trust/${peer.id}/permissions`, { step: 'preview', ...given }),
        200,
      )
      const preview = peers[0]?.preview
      assert.deepEqual(preview?.gained, [])
      assert.deepEqual(preview?.lost, ['view “color”', 'edit “color”', 'edit “notes”', 'call “get_weather”'])
      assert.deepEqual(preview?.lines[0]?.sentences, [
        'Can view “notes” and everything in “logs” except “logs/old” and the contents of “private”, “security” and “_internal”.',
        'Can’t edit or delete any property or list directly.',
      ])
      assert.deepEqual(preview?.fields, {
        'properties.patterns': 'notes\nlogs/*\n\nnotes',
        'properties.operations.read': '1',
        'properties.excluded_patterns': 'logs/old',
        'properties.only': '1',
        'methods.denied': 'get_weather',
      })
      const saved = await browser.send(`/trust/${peer.id}/permissions`, { ...preview?.fields, step: 'save' })
      assert.equal(saved.status, 302)
      const view = (await (await actor.request('GET', `/trust/friend/${peer.id}/permissions`)).json()) as Record<
        string,
        object
      >
      assert.deepEqual(view['properties'], {
        patterns: ['notes', 'logs/*'],
        operations: ['read'],
        excluded_patterns: ['private/*', 'security/*', '_internal/*', 'logs/old'],
      })
      assert.equal((await related.request('GET', '/properties/notes')).status, 200)
      assert.equal((await related.request('GET', '/properties/color')).status, 403)
      assert.equal((await related.request('PUT', '/properties/notes', 'x')).status, 403)
      assert.equal((await related.request('POST', '/methods/get_weather', {})).status, 403)
    })

    it('revokes what the form omits, and removes the override when the form matches the trust type (R-PAGE-15, R-PERM-01)', async () => {
      const world = await open()
      const { service, actor, peer, browser } = world
      await relate(peer, [service, actor], 'friend')
      const path = `/trust/friend/${peer.id}/permissions`
      await actor.request('PUT', path, { properties: { allowed: ['extra'] }, tools: { denied: ['x'] } })
      const asTyped = { 'properties.operations.read': '1', 'properties.operations.write': '1' }
      const ofResources = { 'resources.operations.read': '1', 'resources.operations.write': '1' }
      await browser.send(`/trust/${peer.id}/permissions`, {
        step: 'save',
        ...asTyped,
        ...ofResources,
        'actions.denied': 'pay',
      })
      const view = (await (await actor.request('GET', path)).json()) as Record<string, unknown>
      assert.deepEqual(view['properties'], {
        patterns: ['*'],
        operations: ['read', 'write'],
        excluded_patterns: ['private/*', 'security/*', '_internal/*'],
      })
      assert.deepEqual(view['tools'], { allowed: ['*'], denied: ['admin_*', 'system_*'] })
      assert.equal(view['is_custom'], true)
      await browser.send(`/trust/${peer.id}/permissions`, { step: 'save', ...asTyped, ...ofResources })
      assert.equal(((await (await actor.request('GET', path)).json()) as Record<string, unknown>)['is_custom'], false)
    })

    it('restores the rights of the trust type (R-PAGE-15, R-PERM-01)', async () => {
      const world = await open()
      const { service, actor, peer, browser } = world
      await relate(peer, [service, actor], 'friend')
      const path = `/trust/friend/${peer.id}/permissions`
      await actor.request('PUT', path, { properties: { allowed: ['extra'] } })
      assert.equal((await browser.send(`/trust/${peer.id}/permissions`, { step: 'reset' })).status, 302)
      assert.equal(((await (await actor.request('GET', path)).json()) as Record<string, unknown>)['is_custom'], false)
    })
  })

  describe('the preview of the actor for a peer', () => {
    it('shows exactly what the peer receives, value by value, including nested values and hooks (R-PAGE-16)', async () => {
      const world = await open({
        declare: (app) => {
          app.property('email', { get: ({ caller, value }) => (caller.kind === 'peer' ? 'hidden' : value) })
          app.property('diary', { get: ({ caller, value }) => (caller.kind === 'peer' ? null : value) })
          app.method('get_weather', { description: 'The weather' }, () => ({}))
          app.method('delete_all', () => ({}))
          app.action('paint', { description: 'Paints' }, () => ({}))
        },
      })
      const { service, actor, peer, browser, views } = world
      const related = await relate(peer, [service, actor], 'friend')
      await actor.request('POST', '/properties', {
        email: 'ada@example.com',
        diary: 'secret',
        private: 'secret',
        color: 'blue',
        settings: { theme: 'dark', secret: 'hush' },
        notes: { _type: 'list' },
      })
      await actor.request('POST', '/properties/notes', '"first"')
      await actor.request('PUT', `/trust/friend/${peer.id}/permissions`, {
        properties: { excluded_patterns: ['settings/secret'] },
      })
      const before = await quietStore(service)
      assert.equal((await browser.get(`/trust/${peer.id}/view`)).status, 200)
      assert.deepEqual(await quietStore(service), before)
      const [values] = views
      const given = (await (await related.request('GET', '/properties')).json()) as Record<string, unknown>
      assert.deepEqual(values?.properties.map(({ name }) => name).toSorted(), Object.keys(given).toSorted())
      assert.deepEqual(values?.properties.map(({ name }) => name).toSorted(), ['color', 'email', 'notes'])
      const shown = new Map(values?.properties.map((seen) => [seen.name, seen]))
      assert.deepEqual(shown.get('email')?.tree, { kind: 'text', text: 'hidden' })
      assert.deepEqual(shown.get('notes')?.items, [{ kind: 'text', text: 'first' }])
      assert.deepEqual(shown.get('color')?.may, ['view', 'edit'])
      assert.deepEqual(
        values?.parts.map(({ name, tree }) => [name, tree]),
        [['settings/theme', { kind: 'text', text: 'dark' }]],
      )
      assert.equal(await (await related.request('GET', '/properties/settings/theme')).text(), '"dark"')
      assert.equal((await related.request('GET', '/properties/settings/secret')).status, 403)
      assert.equal((await related.request('GET', '/properties/settings')).status, 403)
      assert.deepEqual(
        values?.methods.map(({ name, description }) => [name, description]),
        [['get_weather', 'The weather']],
      )
      assert.deepEqual(
        values?.actions.map(({ name }) => name),
        ['paint'],
      )
      assert.equal(values?.tools, null)
    })

    it('shows nothing for a peer that is not approved (R-PAGE-16)', async () => {
      const world = await open({ declare: (app) => app.method('get_weather', () => ({})) })
      const { service, actor, peer, browser, views } = world
      await relate(peer, [service, actor], 'friend', false)
      await actor.request('POST', '/properties', { color: 'blue', settings: { theme: 'dark' } })
      await browser.get(`/trust/${peer.id}/view`)
      const [values] = views
      assert.deepEqual([values?.properties, values?.parts, values?.methods, values?.actions], [[], [], [], []])
    })

    it('shows the tools that an AI client is offered (R-PAGE-16)', async () => {
      const world = await open({
        declare: (app) => {
          app.action('add_note', { description: 'Adds a note', mcp: true }, () => ({}))
          app.action('hidden', { mcp: { visible: () => false } }, () => ({}))
          app.action('admin_all', { mcp: true }, () => ({}))
        },
      })
      const client = await authorizeClient(world.service, world.actor)
      await world.browser.get(`/trust/${encodeURIComponent(client.peerId)}/view`)
      const listed: { readonly body: unknown } = await client.modern('tools/list')
      const { result } = listed.body as { result: { tools: { name: string }[] } }
      const offered = result.tools.map(({ name }) => name)
      assert.deepEqual(
        world.views[0]?.tools?.map(({ name }) => name),
        offered,
      )
      assert.deepEqual(offered, ['add_note'])
    })
  })
})
