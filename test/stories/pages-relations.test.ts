import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { z } from 'zod'
import { html } from '../../src/index.ts'
import type { PageValues } from '../../src/pages.ts'
import { relate } from '../support/friends.ts'
import { ManualClock } from '../support/manual-clock.ts'
import { authorizeClient } from '../support/mcp-client.ts'
import { forEachService, type StartOptions, type TestActor, type TestService } from '../support/service.ts'
import { OwnersBrowser, signIn } from '../support/sessions.ts'
import { leavesAll, quietStore } from '../support/stored.ts'
import { writtenAuditLog } from '../support/written-audit-log.ts'
import { until } from '../support/until.ts'

interface World {
  readonly service: TestService
  readonly actor: TestActor
  readonly peer: TestActor
  readonly browser: OwnersBrowser
  /** The values that the pages received, latest first. */
  readonly shown: {
    readonly dashboard: PageValues<'dashboard'>[]
    readonly subscriptions: PageValues<'subscriptions'>[]
    readonly subscription: PageValues<'subscription'>[]
    readonly apps: PageValues<'apps'>[]
    readonly requests: PageValues<'requests'>[]
    readonly approval: PageValues<'approval'>[]
    readonly activity: PageValues<'activity'>[]
  }
}

forEachService((start) => {
  async function open(options: StartOptions = {}): Promise<World> {
    const shown: World['shown'] = {
      dashboard: [],
      subscriptions: [],
      subscription: [],
      apps: [],
      requests: [],
      approval: [],
      activity: [],
    }
    const service = await start({
      listen: true,
      peerProfileAttributes: [],
      pages: {
        dashboard: (values) => (shown.dashboard.unshift(values), html`dashboard`),
        subscriptions: (values) => (shown.subscriptions.unshift(values), html`subscriptions`),
        subscription: (values) => (shown.subscription.unshift(values), html`subscription`),
        apps: (values) => (shown.apps.unshift(values), html`apps`),
        requests: (values) => (shown.requests.unshift(values), html`requests`),
        approval: (values) => (shown.approval.unshift(values), html`approval`),
        activity: (values) => (shown.activity.unshift(values), html`activity`),
      },
      ...options,
    })
    const actor = await service.createActor()
    const peer = await service.createActor('peer@example.com')
    return { service, actor, peer, browser: await OwnersBrowser.open(service, actor), shown }
  }

  /** Subscribes the peer to the actor, and returns the id of the subscription. */
  async function subscribe({ actor, peer }: World, granularity: string): Promise<string> {
    const wish = { peerid: actor.id, target: 'properties', granularity }
    const answer = await peer.request('POST', '/subscriptions', wish)
    assert.equal(answer.status, 204)
    return answer.headers.get('location')?.split('/').at(-1) ?? ''
  }

  describe('the pages of subscriptions', () => {
    it("show the subscribers with their progress, and the actor's own subscriptions (R-PAGE-18, R-SUB-01)", async () => {
      const world = await open()
      const { service, actor, peer, browser, shown } = world
      await relate(peer, [service, actor])
      const id = await subscribe(world, 'high')
      const own = await OwnersBrowser.open(service, peer)
      await actor.request('PUT', '/properties/color', 'blue')
      await actor.request('PUT', '/properties/color', 'red')
      await until(async () => {
        await browser.get('/subscriptions')
        return shown.subscriptions[0]?.listeners[0]?.state === 'Up to date'
      })
      const [listener] = shown.subscriptions[0]?.listeners ?? []
      assert.deepEqual(
        [listener?.subscriptionid, listener?.peer.peerid, listener?.about, listener?.how, listener?.sequence],
        [id, peer.id, 'All properties', 'Full updates', 2],
      )
      assert.equal(listener?.href, `/${actor.id}/www/subscriptions/${peer.id}/${id}`)
      assert.deepEqual(shown.subscriptions[0]?.listening, [])
      await own.get('/subscriptions')
      assert.deepEqual(shown.subscriptions[0]?.listeners, [])
      assert.deepEqual(
        shown.subscriptions[0]?.listening.map(({ subscriptionid, sequence, how }) => [subscriptionid, sequence, how]),
        [[id, 2, 'Full updates']],
      )
    })

    it('show for each sequence number when it was written, sent and acknowledged (R-PAGE-18, R-SUB-03)', async () => {
      const world = await open()
      const { service, actor, peer, browser, shown } = world
      const related = await relate(peer, [service, actor])
      const answer = await related.request('POST', `/subscriptions/${peer.id}`, { target: 'properties' })
      const { subscriptionid: id } = (await answer.json()) as { subscriptionid: string }
      for (let n = 1; n <= 60; n++) await actor.request('PUT', '/properties/color', `blue ${n}`)
      const path = `/subscriptions/${peer.id}/${id}`
      await related.request('PUT', path, { sequence: 2 })
      await browser.get(`${path}?page=2`)
      const [values] = shown.subscription
      assert.deepEqual(values?.paging, { page: 2, pages: 2, total: 60 })
      assert.deepEqual(
        values?.entries.map(({ sequence }) => sequence),
        [10, 9, 8, 7, 6, 5, 4, 3, 2, 1],
      )
      assert.equal(values?.entries[0]?.outcome_text, 'Ready to fetch')
      assert.equal(values?.entries[0]?.acknowledged, null)
      assert.equal(values?.entries[9]?.outcome_text, 'Fetched')
      assert.notEqual(values?.entries[9]?.acknowledged, null)
      assert.deepEqual([values?.subscription.state, values?.subscription.how], ['58 to fetch', 'On request'])
    })

    it('show diffs that failed for good with the reason, and send them again (R-PAGE-18)', async () => {
      const world = await open()
      const { service, actor, peer, browser, shown } = world
      await relate(peer, [service, actor])
      const id = await subscribe(world, 'high')
      const path = `/subscriptions/${peer.id}/${id}`
      const { store } = await service.app.running()
      // The peer loses the relationship, so it rejects what it receives.
      await store.write((tx) => tx.run('DELETE FROM trust WHERE actor_id = $1', peer.id))
      await actor.request('PUT', '/properties/color', 'blue')
      await until(async () => {
        await browser.get(path)
        return (shown.subscription[0]?.failed ?? 0) > 0
      })
      const [values] = shown.subscription
      assert.equal(values?.entries[0]?.outcome, 'failed')
      assert.match(values?.entries[0]?.outcome_text ?? '', /^Not delivered: .*\d{3}/)
      assert.equal(values?.subscription.is_in_order, false)
      const attempts = values?.entries[0]?.attempts ?? 0
      const sent = await browser.send(path, { action: 'redrive' })
      assert.deepEqual([sent.status, sent.headers.get('location')], [302, `${service.url}/${actor.id}/www${path}`])
      await until(async () => {
        await browser.get(path)
        return (shown.subscription[0]?.entries[0]?.attempts ?? 0) > attempts
      })
    })

    it('end a subscription of either actor (R-PAGE-18, R-SUB-06)', async () => {
      const world = await open()
      const { service, actor, peer, browser } = world
      await relate(peer, [service, actor])
      for (const side of ['theirs', 'own'] as const) {
        const id = await subscribe(world, 'high')
        const own = await OwnersBrowser.open(service, peer)
        const sent =
          side === 'theirs'
            ? await browser.send(`/subscriptions/${peer.id}/${id}`, { action: 'end' })
            : await own.send(`/subscriptions/${actor.id}/${id}`, { action: 'end' })
        assert.equal(sent.status, 302)
        for (const one of [actor, peer]) {
          await until(async () => {
            const left = (await (await one.request('GET', '/subscriptions')).json()) as { data: unknown[] }
            return left.data.length === 0
          })
        }
      }
    })

    it('reject unknown actions with 400 and unknown subscriptions with 404 (R-PAGE-18)', async () => {
      const world = await open()
      const { service, actor, peer, browser } = world
      await relate(peer, [service, actor])
      const id = await subscribe(world, 'none')
      const path = `/subscriptions/${peer.id}/${id}`
      await leavesAll(world.service, () => browser.send(path, { action: 'guess' }), 400)
      await leavesAll(world.service, () => browser.send(path, {}), 400)
      for (const unknown of [`/subscriptions/${peer.id}/none`, `/subscriptions/unknown/${id}`]) {
        await leavesAll(world.service, () => browser.get(unknown), 404)
        for (const action of ['end', 'redrive'])
          await leavesAll(world.service, () => browser.send(unknown, { action }), 404)
      }
    })
  })

  describe('the page of connected apps', () => {
    it('shows the sessions of the owner, marks the current one, and ends one or all others (R-PAGE-19, R-TOK-01)', async () => {
      const world = await open()
      const { service, actor, browser, shown } = world
      const others = [await signIn(service, actor), await signIn(service, actor), await signIn(service, actor)]
      const works = async (token: string): Promise<boolean> =>
        (await service.request(`/${actor.id}/properties`, { headers: { authorization: `Bearer ${token}` } })).status ===
        200
      await browser.get('/apps')
      const sessions = shown.apps[0]?.sessions ?? []
      assert.equal(sessions.length, 4)
      assert.equal(sessions.filter(({ is_current }) => is_current).length, 1)
      assert.deepEqual(
        [...new Set(sessions.map(({ device, began_with }) => `${device}, ${began_with}`))],
        ['A Node.js program, Passphrase'],
      )
      const session = sessions.find(({ is_current }) => !is_current)?.id ?? ''
      assert.equal((await browser.send('/apps', { action: 'end_session', session })).status, 302)
      const left = await Promise.all(others.map(works))
      assert.equal(left.filter(Boolean).length, 2)
      assert.equal((await browser.send('/apps', { action: 'end_other_sessions' })).status, 302)
      assert.deepEqual(await Promise.all(others.map(works)), [false, false, false])
      assert.equal(await works(browser.token), true)
    })

    it('groups AI clients by name, shows the rights of each, and disconnects one with its tokens (R-PAGE-19, ORF-14)', async () => {
      const world = await open()
      const { actor, browser, shown } = world
      const [first, second] = [
        await authorizeClient(world.service, actor),
        await authorizeClient(world.service, actor, { relationship: 'viewer' }),
      ]
      await browser.get('/apps')
      assert.deepEqual(
        shown.apps[0]?.groups.map(({ name, redirect_host, apps }) => [name, redirect_host, apps.length]),
        [['A test client', '', 2]],
      )
      const apps = shown.apps[0]?.groups[0]?.apps ?? []
      const viewer = apps.find(({ peer }) => peer.peerid === second.peerId)
      assert.deepEqual(
        viewer?.rights.map(({ subject, sentences }) => [subject, sentences.join(' ')]),
        [
          [
            'Properties',
            'Can view everything in “public” and “shared”. Can’t edit or delete any property or list directly.',
          ],
          ['Files', 'No files.'],
          ['Tools', 'No tools.'],
        ],
      )
      assert.deepEqual([viewer?.relationship_name, viewer?.has_access, viewer?.is_approved], ['Viewer', true, true])
      assert.equal((await first.modern('tools/list')).status, 200)
      assert.equal((await browser.send('/apps', { action: 'revoke', peerid: first.peerId })).status, 302)
      assert.equal((await first.modern('tools/list')).status, 401)
      assert.equal((await second.modern('tools/list')).status, 200)
      assert.equal((await actor.request('GET', `/trust/friend/${encodeURIComponent(first.peerId)}`)).status, 404)
    })

    it('ends nothing that does not exist or belongs to another actor, and no relationship with an actor (R-PAGE-19)', async () => {
      const world = await open()
      const { service, actor, peer, browser, shown } = world
      await relate(peer, [service, actor])
      const theirs = await authorizeClient(service, peer)
      await signIn(service, peer)
      const [foreign] = (await (await peer.request('GET', '/sessions')).json()) as { id: string }[]
      for (const fields of [
        { action: 'end_session', session: 'none' },
        { action: 'end_session', session: foreign?.id ?? '' },
        { action: 'revoke', peerid: 'unknown' },
        { action: 'revoke', peerid: peer.id },
        { action: 'revoke', peerid: theirs.peerId },
      ]) {
        await leavesAll(world.service, () => browser.send('/apps', fields), 409)
        assert.match(shown.apps[0]?.error ?? '', /^That (device is already signed out|app is already disconnected)\.$/)
      }
      for (const fields of [{ action: 'format' }, {}] as Record<string, string>[])
        await leavesAll(world.service, () => browser.send('/apps', fields), 400)
    })
  })

  describe('the pages of calls that wait for approval', () => {
    const args = { to: 'Charles', text: 'It works.\n<b>', copies: 2 }
    const declare: NonNullable<StartOptions['declare']> = (app) =>
      app.action(
        'send_letter',
        {
          description: 'Sends a letter by post',
          input: z.object({ to: z.string(), text: z.string(), copies: z.number() }),
          mcp: { title: 'Send a letter', confirm: 'owner' },
        },
        () => ({ sent: true }),
      )

    interface Waiting {
      readonly call: () => Promise<unknown>
      readonly id: string
    }

    async function waiting(world: World): Promise<Waiting> {
      const client = await authorizeClient(world.service, world.actor)
      const call = async (): Promise<unknown> => {
        const called: { readonly body: unknown } = await client.modern('tools/call', {
          name: 'send_letter',
          arguments: args,
        })
        const { result } = called.body as { result: { isError?: boolean; content: { text: string }[] } }
        return result.isError === true ? 'held back' : 'done'
      }
      assert.equal(await call(), 'held back')
      await world.browser.get('/requests')
      return { call, id: world.shown.requests[0]?.approvals[0]?.id ?? '' }
    }

    it('show the call with its arguments, and approve it once (R-PAGE-21)', async () => {
      const world = await open({ declare })
      const { browser, shown, actor } = world
      const { call, id } = await waiting(world)
      assert.deepEqual(
        shown.requests[0]?.approvals.map(({ href, title, description, kind, operation, state, peer }) => [
          href,
          title,
          description,
          kind,
          operation,
          state,
          peer.name,
        ]),
        [
          [
            `/${actor.id}/www/approvals/${id}`,
            'Send a letter',
            'Sends a letter by post',
            'tools',
            'send_letter',
            'waiting',
            'A test client',
          ],
        ],
      )
      await browser.get(`/approvals/${id}`)
      assert.deepEqual(shown.approval[0]?.arguments, {
        kind: 'object',
        members: [
          { name: 'to', value: { kind: 'text', text: 'Charles' } },
          { name: 'text', value: { kind: 'text', text: 'It works.\n<b>' } },
          { name: 'copies', value: { kind: 'number', text: '2' } },
        ],
        more: 0,
      })
      assert.equal(await call(), 'held back')
      assert.equal((await browser.send(`/approvals/${id}`, { decision: 'allow' })).status, 302)
      assert.equal(await call(), 'done')
      await browser.get(`/approvals/${id}`)
      assert.equal(shown.approval[0]?.approval.state, 'used')
      assert.equal(await call(), 'held back')
    })

    it('reject the call, and report the decision on later views and second decisions (R-PAGE-21)', async () => {
      const world = await open({ declare })
      const { browser, shown } = world
      const { call, id } = await waiting(world)
      assert.equal((await browser.send(`/approvals/${id}`, { decision: 'refuse' })).status, 302)
      assert.equal(await call(), 'held back')
      await browser.get(`/approvals/${id}`)
      assert.equal(shown.approval[0]?.approval.state, 'denied')
      await leavesAll(world.service, () => browser.send(`/approvals/${id}`, { decision: 'allow' }), 409)
      assert.match(shown.approval[0]?.error ?? '', /^This request was already answered/)
      assert.equal(await call(), 'held back')
    })

    it('answer 404 after expiry and to other actors, and 400 to another decision (R-PAGE-21)', async () => {
      const clock = new ManualClock()
      const world = await open({ declare, now: clock.now })
      const { service, peer, browser } = world
      const { id } = await waiting(world)
      await leavesAll(world.service, () => browser.send(`/approvals/${id}`, { decision: 'maybe' }), 400)
      await leavesAll(world.service, () => browser.send(`/approvals/${id}`, {}), 400)
      const stranger = await OwnersBrowser.open(service, peer)
      await leavesAll(world.service, () => stranger.get(`/approvals/${id}`), 404)
      await leavesAll(world.service, () => stranger.send(`/approvals/${id}`, { decision: 'allow' }), 404)
      clock.pass(16 * 60_000)
      // Refreshes the idle time of the session.
      await browser.get('/requests')
      assert.deepEqual(world.shown.requests[0]?.approvals, [])
      await leavesAll(world.service, () => browser.get(`/approvals/${id}`), 404)
      await leavesAll(world.service, () => browser.send(`/approvals/${id}`, { decision: 'allow' }), 404)
    })
  })

  describe('the activity page', () => {
    it('describes what others did and what was refused, by caller and in pages (R-PAGE-22)', async () => {
      const world = await open({
        activityPerActor: 1000,
        declare: (app) => app.method('greet', () => ({ hello: true })),
      })
      const { service, actor, peer, browser, shown } = world
      const related = await relate(peer, [service, actor])
      await actor.request('PUT', '/properties/color', 'blue')
      await related.request('GET', '/properties/color')
      await related.request('PUT', '/properties/color', 'red')
      await related.request('GET', '/properties/private')
      await related.request('POST', '/methods/greet', {})
      await related.request('GET', '/methods/greet')
      await writtenAuditLog(service)
      await browser.get(`/activity?caller=${peer.id}`)
      const lines = shown.activity[0]?.entries.map(({ what, is_refused, reason }) => [what, is_refused, reason]) ?? []
      assert.deepEqual(lines.slice(0, 5), [
        // A method may also be called by GET.
        ['called the method “greet”', false, 'allowed by friend: *'],
        ['called the method “greet”', false, 'allowed by friend: *'],
        ['view the property “private”', true, 'properties.excluded_patterns ("private/*") of friend refuses it'],
        ['edited the property “color”', false, 'allowed by friend: *'],
        ['viewed the property “color”', false, 'allowed by friend: *'],
      ])
      assert.equal(shown.activity[0]?.filter.caller, peer.id)
      assert.deepEqual(
        shown.activity[0]?.callers.map(({ peerid }) => peerid),
        [peer.id],
      )
      // Reads of missing names would share one entry.
      const names = Object.fromEntries(Array.from({ length: 60 }, (_, n) => [`p${n}`, n]))
      assert.equal((await actor.request('PUT', '/properties', names)).status, 204)
      for (let n = 0; n < 60; n++) await related.request('GET', `/properties/p${n}`)
      await writtenAuditLog(service)
      await browser.get(`/activity?caller=${peer.id}`)
      assert.equal(shown.activity[0]?.entries.length, 50)
      const older = shown.activity[0]?.older_href ?? ''
      await browser.get(older.slice(`/${actor.id}/www`.length))
      assert.equal(shown.activity[0]?.is_first, false)
      assert.equal(shown.activity[0]?.older_href, null)
      assert.ok(shown.activity[0]?.entries.some(({ what }) => what === 'called the method “greet”'))
      await browser.get('/activity?caller=unknown')
      assert.deepEqual(shown.activity[0]?.entries, [])
      assert.equal((await browser.get('/activity?cursor=nonsense')).status, 400)
    })

    it('reports that a call waits for approval, or that the owner denied it (R-PAGE-22)', async () => {
      const world = await open({
        activityPerActor: 1000,
        declare: (app) => app.action('pay', { mcp: { title: 'Pay a bill', confirm: 'owner' } }, () => ({})),
      })
      const { service, actor, browser, shown } = world
      const client = await authorizeClient(service, actor)
      const { parts } = await service.app.running()
      const pay = { name: 'pay', arguments: {} }
      await client.legacy('tools/call', pay)
      const [waiting] = await parts.approvals.waiting(actor.id)
      await parts.approvals.decide(actor.id, waiting?.approvalId ?? '', 'denied')
      await client.legacy('tools/call', pay)
      await writtenAuditLog(service)
      await browser.get('/activity')
      const lines = shown.activity[0]?.entries.map(({ what, is_refused, reason }) => [what, is_refused, reason]) ?? []
      assert.deepEqual(lines, [
        ['use the tool “pay”', true, 'denied by you'],
        ['didn’t get your approval to use the tool “pay”', false, 'denied by you'],
        ['requested your approval to use the tool “pay”', false, 'needs your approval'],
        ['signed in', false, 'as the owner'],
      ])
    })

    it('states that activity is not recorded when it is disabled (R-PAGE-22)', async () => {
      const world = await open()
      await world.browser.get('/activity')
      assert.equal(world.shown.activity[0]?.is_off, true)
    })
  })

  describe('the overview', () => {
    it('shows counts, and links each waiting decision to its page (R-PAGE-25)', async () => {
      const world = await open({
        declare: (app) => app.action('pay', { mcp: { title: 'Pay a bill', confirm: 'owner' } }, () => ({})),
      })
      const { service, actor, peer, browser, shown } = world
      await browser.get('')
      assert.deepEqual(
        [shown.dashboard[0]?.waiting, shown.dashboard[0]?.relationship_count, shown.dashboard[0]?.app_count],
        [[], 0, 0],
      )
      await relate(peer, [service, actor], 'friend', false)
      const client = await authorizeClient(service, actor)
      await client.modern('tools/call', { name: 'pay', arguments: {} })
      await browser.get('')
      const [values] = shown.dashboard
      assert.deepEqual(
        [values?.relationship_count, values?.app_count, values?.waiting_count, values?.approval_count],
        [2, 1, 1, 1],
      )
      const www = `/${actor.id}/www`
      assert.deepEqual(
        values?.waiting.map(({ text }) => text),
        [
          'A test client requests your approval: Pay a bill',
          `Account ${peer.id.slice(0, 6)} at ${new URL(service.url).host} wants to connect`,
        ],
      )
      assert.ok(values?.waiting[0]?.href.startsWith(`${www}/approvals/`))
      assert.equal(values?.waiting[1]?.href, `${www}/trust/${peer.id}`)
    })
  })

  describe('the cost of the pages', () => {
    it('is a constant number of statements, however much they show (R-PAGE-26)', async () => {
      const world = await open({ activityPerActor: 1000 })
      const { service, actor, peer, browser } = world
      const related = await relate(peer, [service, actor])
      const client = await authorizeClient(service, actor)
      await actor.request('POST', '/properties', { list: { _type: 'list' } })
      const subscribed = await related.request('POST', `/subscriptions/${peer.id}`, { target: 'properties' })
      const { subscriptionid: id } = (await subscribed.json()) as { subscriptionid: string }
      const paths = [
        '',
        '/trust',
        `/trust/${peer.id}?ask=properties.read&target=x`,
        `/trust/${peer.id}/view`,
        `/trust/${encodeURIComponent(client.peerId)}/view`,
        '/subscriptions',
        `/subscriptions/${peer.id}/${id}`,
        '/apps',
        '/requests',
        '/activity',
      ]
      const costs = async (): Promise<Record<string, number>> => {
        await quietStore(service)
        const found: Record<string, number> = {}
        for (const path of paths) {
          service.reset()
          assert.equal((await browser.get(path)).status, 200)
          found[path] = service.statements.length
        }
        return found
      }
      const little = await costs()
      await actor.request(
        'POST',
        '/properties',
        Object.fromEntries(Array.from({ length: 100 }, (_, n) => [`p${n}`, { n }])),
      )
      for (let n = 0; n < 5; n++) await actor.request('POST', '/properties', { [`list${n}`]: { _type: 'list' } })
      for (let n = 0; n < 30; n++) {
        await related.request('POST', `/subscriptions/${peer.id}`, { target: 'properties', subtarget: `p${n}` })
        await actor.request('POST', '/trust/friend', { baseuri: `https://peer.example.com/q${n}`, id: `q${n}` })
        await authorizeClient(service, actor)
        await signIn(service, actor)
        await actor.request('PUT', '/properties/p0', String(n))
      }
      await writtenAuditLog(service)
      assert.deepEqual(await costs(), little)
    })
  })
})
