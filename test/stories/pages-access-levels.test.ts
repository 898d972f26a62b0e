import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { html } from '../../src/index.ts'
import type { PageValues } from '../../src/pages.ts'
import { relate } from '../support/friends.ts'
import { forEachService, type StartOptions, type TestActor, type TestService } from '../support/service.ts'
import { OwnersBrowser } from '../support/sessions.ts'
import { leavesAll } from '../support/stored.ts'
import { until } from '../support/until.ts'

interface World {
  readonly service: TestService
  readonly actor: TestActor
  readonly peer: TestActor
  readonly browser: OwnersBrowser
  /** The values that the pages received, latest first. */
  readonly requests: PageValues<'trustNew'>[]
  readonly peers: PageValues<'trustPeer'>[]
}

forEachService((start) => {
  async function open(options: StartOptions = {}): Promise<World> {
    const [requests, peers]: [PageValues<'trustNew'>[], PageValues<'trustPeer'>[]] = [[], []]
    const service = await start({
      listen: true,
      peerProfileAttributes: [],
      pages: {
        trustNew: (values) => (requests.unshift(values), html`new`),
        trustPeer: (values) => (peers.unshift(values), html`peer`),
      },
      ...options,
    })
    const actor = await service.createActor()
    const peer = await service.createActor('peer@example.com')
    return { service, actor, peer, browser: await OwnersBrowser.open(service, actor), requests, peers }
  }

  async function trustOf(actor: TestActor, peer: TestActor): Promise<Record<string, unknown> | null> {
    const [found] = (await (await actor.request('GET', `/trust?peerid=${peer.id}`)).json()) as Record<string, unknown>[]
    return found ?? null
  }

  /** Connects both actors, at the actor's request, and waits until the actor has received the peer's approval. */
  async function connect(world: World): Promise<void> {
    await relate(world.actor, [world.service, world.peer])
    await untilConnected(world)
  }

  async function untilConnected({ actor, peer }: World): Promise<void> {
    await until(async () => (await trustOf(actor, peer))?.['peer_approved'] === true)
  }

  /** Fields of the form that assigns another access level, from the page after the review. */
  async function reviewed(world: World, level: string): Promise<Record<string, string>> {
    const answer = await world.browser.send(`/trust/${world.peer.id}`, { action: 'level', trust_type: level })
    assert.equal(answer.status, 200)
    return { ...world.peers[0]?.level?.review?.fields }
  }

  describe('the form that requests a connection', () => {
    it('offers the types for people with the rights that their rules grant, least access first (R-PERM-01)', async () => {
      const { browser, requests } = await open({
        declare: (app) => {
          app.trustType({
            name: 'reader',
            display_name: 'Reader',
            description: 'Anything',
            permissions: { properties: { patterns: ['public/books'], operations: ['read'] } },
          })
          app.trustType({
            name: 'owner_twin',
            display_name: 'Twin',
            description: 'Everything that is data',
            needsConfirmation: true,
            permissions: { properties: { patterns: ['*'], operations: ['read', 'write', 'delete'] } },
          })
          app.trustType({
            name: 'bot',
            display_name: 'Bot',
            description: 'A program',
            forClients: true,
            permissions: { tools: { allowed: ['*'] } },
          })
        },
      })
      await browser.get('/trust/new')
      assert.deepEqual(
        requests[0]?.trust_types.map(({ name }) => name),
        ['reader', 'associate', 'viewer', 'friend', 'partner'],
      )
      assert.deepEqual(
        requests[0]?.trust_types[0]?.rights.map(({ category, is_granted }) => [category, is_granted]),
        [['properties', true]],
      )
    })

    it('leaves out a declared type that the configuration assigns to AI clients', async () => {
      const { browser, requests } = await open({
        clientTrustTypes: ['mcp_client', 'helper', 'viewer'],
        declare: (app) => app.trustType({ name: 'helper', display_name: 'Helper', description: '', permissions: {} }),
      })
      await browser.get('/trust/new')
      assert.deepEqual(
        requests[0]?.trust_types.map(({ name }) => name),
        ['associate', 'viewer', 'friend', 'partner'],
      )
    })

    for (const [what, type, message] of [
      ['admin', 'admin', '“Administrator” can only be given to an existing connection, on its page.'],
      [
        'a declared type that needs a typed confirmation',
        'twin',
        '“Twin” can only be given to an existing connection, on its page.',
      ],
      ['a type for AI clients', 'mcp_client', '“MCP Client (AI Assistant)” is for apps.'],
    ] as const) {
      for (const step of [undefined, 'review', 'send']) {
        it(`refuses ${what} that was posted with step ${step ?? 'absent'}, and sends no request (R-PERM-01)`, async () => {
          const world = await open({
            declare: (app) =>
              app.trustType({
                name: 'twin',
                display_name: 'Twin',
                description: '',
                needsConfirmation: true,
                permissions: { properties: { patterns: ['*'], operations: ['read'] } },
              }),
          })
          const { service, browser, peer, requests } = world
          const sent = {
            peer_url: `${service.url}/${peer.id}`,
            trust_type: type,
            confirmation: `${service.url}/${peer.id}`,
            ...(step === undefined ? {} : { step }),
          }
          await leavesAll(service, () => browser.send('/trust/new', sent), 400)
          assert.equal(requests[0]?.error, message)
          assert.equal(requests[0]?.error_field, 'trust_type')
        })
      }
    }

    it('refuses admin also for an existing connection, whose own page asks for the confirmation', async () => {
      const world = await open()
      const { service, actor, browser, peer } = world
      await relate(actor, [service, peer])
      const sent = { peer_url: `${service.url}/${peer.id}`, trust_type: 'admin', confirmation: peer.id }
      await leavesAll(service, () => browser.send('/trust/new', sent), 400)
    })

    it('still refuses admin when the application declares a type of this name without needsConfirmation', async () => {
      const world = await open({
        declare: (app) =>
          app.trustType({
            name: 'admin',
            display_name: 'Boss',
            description: '',
            permissions: {},
            needsConfirmation: false,
          }),
      })
      const sent = { peer_url: `${world.service.url}/${world.peer.id}`, trust_type: 'admin' }
      await leavesAll(world.service, () => world.browser.send('/trust/new', sent), 400)
      assert.match(world.requests[0]?.error ?? '', /“Boss” can only be given to an existing connection/)
    })

    it('previews what the peer will be able to do with the stored properties, before it sends anything', async () => {
      const world = await open({
        declare: (app) => {
          app.action('clear_notes', {}, () => ({}))
          app.action('admin_reset', {}, () => ({}))
          app.method('get_weather', {}, () => ({}))
        },
      })
      const { service, actor, browser, peer, requests } = world
      await actor.request('POST', '/properties', { color: 'blue', notes: 'x' })
      await actor.request('PUT', '/properties/private/diary', 'Dear diary')
      const sent = {
        peer_url: `${service.url}/${peer.id}`,
        trust_type: 'friend',
        description: 'It is me',
        step: 'review',
      }
      await leavesAll(service, () => browser.send('/trust/new', sent), 200)
      const review = requests[0]?.review
      assert.equal(review?.who, `${service.url}/${peer.id}`)
      assert.equal(review?.level, 'Friend')
      assert.deepEqual(review?.now, [
        { text: 'view 2 of your 3 properties', names: ['color', 'notes'], more: 0 },
        { text: 'edit 2 of your 3 properties', names: ['color', 'notes'], more: 0 },
        { text: 'call 1 of 1 method', names: ['get_weather'], more: 0 },
        { text: 'run 1 of 2 actions', names: ['clear_notes'], more: 0 },
      ])
      assert.equal((await browser.send('/trust/new', { ...review?.fields })).status, 302)
      assert.equal((await trustOf(actor, peer))?.['relationship'], 'friend')
      assert.equal((await trustOf(peer, actor))?.['desc'], 'It is me')
    })

    it('keeps the typed values when the user returns from the review', async () => {
      const world = await open()
      const { service, browser, peer, requests } = world
      const typed = { peer_url: `${service.url}/${peer.id}`, trust_type: 'viewer', description: 'It is me' }
      await leavesAll(service, () => browser.send('/trust/new', { ...typed, step: 'edit' }), 200)
      assert.deepEqual(requests[0]?.typed, typed)
      assert.equal(requests[0]?.review, null)
    })

    it('requires another review with 409 when the rights of the peer changed after the review', async () => {
      const world = await open()
      const { service, actor, browser, peer, requests } = world
      await relate(actor, [service, peer], 'friend', false)
      const sent = { peer_url: `${service.url}/${peer.id}`, trust_type: 'viewer', step: 'review' }
      await browser.send('/trust/new', sent)
      const { fields } = requests[0]?.review ?? { fields: {} }
      await actor.request('PUT', `/trust/friend/${peer.id}/permissions`, {
        properties: { patterns: ['*'], operations: ['read', 'write', 'delete'] },
      })
      assert.equal((await browser.send('/trust/new', { ...fields })).status, 409)
      assert.equal((await trustOf(actor, peer))?.['relationship'], 'friend')
      assert.equal(requests[0]?.error, 'This access changed while you were deciding. Review it again.')
      assert.notEqual(requests[0]?.review, null)
    })
  })

  describe('the form that assigns another access level', () => {
    it('is offered only for a connection, with admin last and marked as needing a confirmation', async () => {
      const world = await open()
      const { service, actor, peer, browser, peers } = world
      await relate(actor, [service, peer], 'friend', false)
      await browser.get(`/trust/${peer.id}`)
      assert.deepEqual([peers[0]?.level], [null])
      await peer.request('PUT', `/trust/friend/${actor.id}`, { approved: true })
      await untilConnected(world)
      await browser.get(`/trust/${peer.id}`)
      assert.deepEqual(
        peers[0]?.level?.choices.map(({ name, needs_confirmation }) => [name, needs_confirmation]),
        [
          ['associate', false],
          ['viewer', false],
          ['partner', false],
          ['admin', true],
        ],
      )
    })

    it('makes a peer an administrator after the review with the typed name, once both actors agree', async () => {
      const world = await open()
      const { actor, peer, browser, peers } = world
      await connect(world)
      const fields = await reviewed(world, 'admin')
      assert.equal(peers[0]?.level?.review?.needs_confirmation, true)
      assert.deepEqual(peers[0]?.level?.review?.reach.length, 3)
      // The peer withdraws its approval so that the actors can agree on another level.
      await peer.request('PUT', `/trust/friend/${actor.id}`, { approved: false })
      const name = peers[0]?.trust.peer.name ?? ''
      const sent = await browser.send(`/trust/${peer.id}`, { ...fields, confirmation: `  ${name.toUpperCase()} ` })
      assert.equal(sent.status, 302)
      assert.equal((await trustOf(actor, peer))?.['relationship'], 'admin')
      assert.equal((await trustOf(peer, actor))?.['relationship'], 'admin')
      assert.equal((await trustOf(peer, actor))?.['approved'], false)
    })

    for (const [what, confirmation] of [
      ['nothing', undefined],
      ['spaces', '   '],
      ['another name', 'someone else'],
      ['a word that the page does not show', 'yes'],
      ['a part of the address', '/'],
    ] as const) {
      it(`refuses admin when the user typed ${what}, and keeps the typed value (R-PERM-01)`, async () => {
        const world = await open()
        const { service, actor, peer, browser, peers } = world
        await connect(world)
        const fields = await reviewed(world, 'admin')
        await peer.request('PUT', `/trust/friend/${actor.id}`, { approved: false })
        const sent = { ...fields, ...(confirmation === undefined ? {} : { confirmation }) }
        await leavesAll(service, () => browser.send(`/trust/${peer.id}`, sent), 400)
        assert.equal(peers[0]?.error_field, 'confirmation')
        assert.equal(peers[0]?.typed.confirmation, confirmation ?? '')
        assert.equal(peers[0]?.level?.review?.level, 'Administrator')
      })
    }

    it('accepts the address of the peer in place of its name, with or without the scheme', async () => {
      for (const scheme of ['', 'http://']) {
        const world = await open()
        const { service, actor, peer, browser } = world
        await connect(world)
        const fields = await reviewed(world, 'admin')
        await peer.request('PUT', `/trust/friend/${actor.id}`, { approved: false })
        const confirmation = `${scheme}${service.url.replace('http://', '')}/${peer.id}/`
        assert.equal((await browser.send(`/trust/${peer.id}`, { ...fields, confirmation })).status, 302)
      }
    })

    it('is refused when the connection ended after the review, and creates no new connection', async () => {
      const world = await open()
      const { service, actor, peer, browser } = world
      await connect(world)
      const fields = await reviewed(world, 'viewer')
      await actor.request('DELETE', `/trust/friend/${peer.id}`)
      await leavesAll(service, () => browser.send(`/trust/${peer.id}`, fields), 404)
      assert.equal(await trustOf(actor, peer), null)
    })

    it('is refused with 409 when the connection changed after the review', async () => {
      const world = await open()
      const { service, actor, peer, browser, peers } = world
      await connect(world)
      const fields = await reviewed(world, 'viewer')
      await actor.request('PUT', `/trust/friend/${peer.id}`, { desc: 'A colleague' })
      await leavesAll(service, () => browser.send(`/trust/${peer.id}`, fields), 409)
      assert.equal(peers[0]?.error, 'This connection changed while you were deciding. Review it before you continue.')
    })

    it('shows what the peer must do when the peer approved another level', async () => {
      const world = await open()
      const { actor, peer, browser, peers } = world
      await connect(world)
      const fields = await reviewed(world, 'viewer')
      assert.equal((await browser.send(`/trust/${peer.id}`, fields)).status, 408)
      assert.equal(
        peers[0]?.error,
        'The request was not accepted. Someone who approved “Friend” has to pause that access before another access level can be agreed.',
      )
      assert.equal((await trustOf(actor, peer))?.['relationship'], 'friend')
    })

    for (const [what, sent] of [
      ['no type', {}],
      ['a type that does not exist', { trust_type: 'boss' }],
      ['a type for AI clients', { trust_type: 'mcp_client', confirmation: 'peer' }],
    ] as const) {
      it(`is refused with ${what}`, async () => {
        const world = await open()
        const { service, peer, browser, peers } = world
        await connect(world)
        const fields: Record<string, string> = { action: 'level', step: 'send', ...sent }
        await leavesAll(service, () => browser.send(`/trust/${peer.id}`, fields), 400)
        assert.equal(peers[0]?.error_field, 'trust_type')
      })
    }

    it('is refused for a request that is not approved by both actors', async () => {
      const world = await open()
      const { service, actor, peer, browser } = world
      await relate(peer, [service, actor], 'friend', false)
      const fields = { action: 'level', step: 'send', trust_type: 'viewer' }
      await leavesAll(service, () => browser.send(`/trust/${peer.id}`, fields), 409)
    })
  })

  describe('a request for a powerful trust type', () => {
    it("shows the rights that it grants, and is approved only with the peer's name or address (R-PERM-01)", async () => {
      const world = await open()
      const { service, actor, peer, browser, peers } = world
      const related = await relate(peer, [service, actor], 'admin', false)
      await browser.get(`/trust/${peer.id}`)
      const approval = peers[0]?.approval
      assert.equal(approval?.needs_confirmation, true)
      assert.equal(approval?.reach.length, 3)
      assert.equal(approval?.level, 'Administrator')
      for (const sent of [{ ...approval?.fields }, { ...approval?.fields, confirmation: 'yes' }, { action: 'approve' }])
        await leavesAll(service, () => browser.send(`/trust/${peer.id}`, sent), 400)
      assert.equal(peers[0]?.error_field, 'confirmation')
      assert.equal((await related.request('GET', '/properties')).status, 403)
      const confirmation = peers[0]?.trust.peer.name ?? ''
      assert.equal((await browser.send(`/trust/${peer.id}`, { ...approval?.fields, confirmation })).status, 302)
      assert.equal((await related.request('GET', '/properties')).status, 200)
    })

    it('requires the confirmation again when a withdrawn approval is renewed', async () => {
      const world = await open()
      const { service, actor, peer, browser } = world
      await relate(peer, [service, actor], 'admin')
      await browser.send(`/trust/${peer.id}`, { action: 'withdraw' })
      await leavesAll(service, () => browser.send(`/trust/${peer.id}`, { action: 'approve' }), 400)
    })

    it('is not approved by a form for the request that it replaced (409)', async () => {
      const world = await open()
      const { service, actor, peer, browser, peers } = world
      await relate(peer, [service, actor], 'viewer', false)
      await browser.get(`/trust/${peer.id}`)
      const fields = { ...peers[0]?.approval?.fields }
      await relate(peer, [service, actor], 'friend', false)
      assert.equal((await browser.send(`/trust/${peer.id}`, fields)).status, 409)
      assert.equal(peers[0]?.trust.relationship, 'friend')
      assert.equal((await trustOf(actor, peer))?.['approved'], false)
    })

    it('needs no confirmation when the type is an ordinary one', async () => {
      const world = await open()
      const { service, actor, peer, browser, peers } = world
      await relate(peer, [service, actor], 'friend', false)
      await browser.get(`/trust/${peer.id}`)
      assert.equal(peers[0]?.approval?.needs_confirmation, false)
      assert.equal((await browser.send(`/trust/${peer.id}`, { ...peers[0]?.approval?.fields })).status, 302)
      assert.equal((await trustOf(actor, peer))?.['approved'], true)
    })

    it('is approved over REST without a confirmation, as the protocol specifies', async () => {
      const { service, actor, peer } = await open()
      const related = await relate(peer, [service, actor], 'admin')
      assert.equal((await related.request('GET', '/properties')).status, 200)
    })
  })
})
