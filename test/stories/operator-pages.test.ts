/** The pages of operators at `/admin`: who may open them, what they show, and what owners see of it. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { html } from 'hono/html'
import type { PageValues } from '../../src/features/pages.ts'
import { stoppedTimers } from '../support/fake-peers.ts'
import { authorizeClient } from '../support/mcp-client.ts'
import { registerClient } from '../support/oauth-client.ts'
import { relateTo } from '../support/recording-peer.ts'
import { forEachService, type StartOptions, type TestActor, type TestService } from '../support/service.ts'
import { asBrowser, OwnersBrowser } from '../support/sessions.ts'
import { actorIn, sharedProvider, signIn, signInAt, TestBrowser } from '../support/sign-in.ts'

const pagePaths = ['/admin', '/admin/actors', '/admin/deliveries', '/admin/apps'] as const
const shareOfProvider = sharedProvider()

interface World {
  readonly service: TestService
  /** Signed in as ada@example.com, the operator. */
  readonly operator: TestBrowser
  /** The actor of the operator. */
  readonly own: string
}

interface Activity {
  readonly caller_kind: string
  readonly caller: string
  readonly method: string
  readonly path: string
  readonly decision: string
  readonly reason: string
}

forEachService((start) => {
  async function open(options: StartOptions = {}): Promise<World> {
    const provider = await shareOfProvider()
    const service = await start({
      admins: ['Ada@Example.com', 'acme:4711'],
      activityPerActor: 1000,
      ...signInAt(provider),
      ...options,
    })
    const operator = new TestBrowser(service)
    const own = actorIn(await signIn(operator, provider, 'ada'))
    assert.match(own, /^[0-9a-f]{32}$/)
    return { service, operator, own }
  }

  async function signedIn(service: TestService, person: string): Promise<TestBrowser> {
    const browser = new TestBrowser(service)
    assert.notEqual(actorIn(await signIn(browser, await shareOfProvider(), person)), '')
    return browser
  }

  const textOf = async (browser: TestBrowser, path: string): Promise<string> => {
    const answer = await browser.get(path)
    const text = await answer.text()
    assert.equal(answer.status, 200, `${path} ${text}`)
    return text
  }

  async function activityOf(service: TestService, actor: TestActor): Promise<Activity[]> {
    await (await service.app.running()).parts.auditLog.flush()
    const answer = await actor.request('GET', '/activity')
    return ((await answer.json()) as { activity: Activity[] }).activity
  }

  /** Stores a subscription whose delivery stopped. */
  async function stopDelivery(service: TestService, actor: TestActor): Promise<void> {
    const { store } = await service.app.running()
    const peer = await relateTo(service, actor, { baseuri: 'http://failing.test/them' })
    await store.writeActor(actor.id, async (tx) => {
      const row = [actor.id, peer.peerId] as const
      await tx.run(
        `INSERT INTO publisher_subscription (actor_id, peer_id, subscription_id, target, subtarget, resource, granularity,
           sequence, state, failing_since, attempts, created_at)
         VALUES ($1, $2, 's1', 'properties', '', '', 'high', 1, 'stopped', 1, 7, 1)`,
        ...row,
      )
      await tx.run(
        `INSERT INTO diff (actor_id, peer_id, subscription_id, sequence, kind, data, replaces, created_at)
         VALUES ($1, $2, 's1', 1, 'diff', '{}', 0, 1)`,
        ...row,
      )
      await tx.run(
        `INSERT INTO delivery (actor_id, peer_id, subscription_id, sequence, written_at, outcome)
         VALUES ($1, $2, 's1', 1, 1, 'failed')`,
        ...row,
      )
    })
  }

  describe('the pages of operators', () => {
    it('open for a person whom TROUPE_ADMINS names and who proved the address', async () => {
      const { operator, own } = await open()
      for (const path of pagePaths) {
        const answer = await operator.get(path)
        assert.deepEqual([answer.status, answer.headers.get('cache-control')], [200, 'no-store'], path)
        assert.match(await answer.text(), new RegExp(`ada@example\\.com</span> <a href="/${own}/www">Your account</a>`))
      }
    })

    it('open for a person whom TROUPE_ADMINS names by the id at the provider', async () => {
      const { service } = await open({ admins: ['acme:bob'], signInIdentity: 'provider' })
      const bob = await signedIn(service, 'bob')
      assert.match(await textOf(bob, '/admin'), /acme:bob/)
      const ada = await signedIn(service, 'ada')
      assert.equal((await ada.get('/admin')).status, 403)
    })

    it('open after the sign-in to which they lead', async () => {
      const { service } = await open()
      const browser = new TestBrowser(service)
      const begin = (await browser.get('/admin/actors')).headers.get('location') ?? ''
      const back = await signIn(browser, await shareOfProvider(), 'ada', begin)
      assert.equal(back.headers.get('location'), `${service.url}/admin/actors`)
      assert.match(await textOf(browser, '/admin/actors'), /<h1>Accounts<\/h1>/)
    })

    it('are linked from the settings of an operator alone', async () => {
      const { service, operator, own } = await open()
      assert.match(await textOf(operator, `/${own}/www/settings`), /<a href="\/admin">Open the operator pages<\/a>/)
      const provider = await shareOfProvider()
      const bob = new TestBrowser(service)
      const other = actorIn(await signIn(bob, provider, 'bob'))
      assert.ok(!(await textOf(bob, `/${other}/www/settings`)).includes('/admin'))
    })

    it('do not exist unless TROUPE_ADMINS names a person', async () => {
      const { operator } = await open({ admins: [] })
      for (const path of pagePaths) assert.equal((await operator.get(path)).status, 404, path)
    })

    it('refuse other people, and people who are not signed in', async () => {
      const { service } = await open()
      const bob = await signedIn(service, 'bob')
      const stranger = new TestBrowser(service)
      for (const path of [...pagePaths, '/admin/actors/none']) {
        const refused = await bob.get(path)
        assert.equal(refused.status, 403, path)
        assert.ok(!(await refused.text()).includes('SQLite'))
        const sent = await stranger.get(path)
        assert.equal(sent.status, 302, path)
        assert.equal(
          sent.headers.get('location'),
          `${service.url}/oauth/login/acme?redirect=${encodeURIComponent(path)}`,
        )
        assert.equal((await service.request(path, { headers: { accept: 'application/json' } })).status, 401, path)
      }
    })

    it('refuse the passphrase and the sessions that it begins, because other programs may know it', async () => {
      const { service, own } = await open()
      const { actors } = (await service.app.running()).parts
      const passphrase = actors.passphraseOf((await actors.find(own)) ?? assert.fail())
      const basic = `Basic ${Buffer.from(`ada@example.com:${passphrase}`).toString('base64')}`
      assert.equal((await service.request('/admin', { headers: { authorization: basic } })).status, 401)
      const session = await service.request('/oauth/spa/token', {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ grant_type: 'passphrase', actor_id: own, passphrase }),
      })
      const { access_token: token } = (await session.json()) as { access_token: string }
      const headers = { ...asBrowser, cookie: `oauth_token=${token}` }
      assert.equal((await service.request(`/${own}/www`, { headers })).status, 200)
      assert.equal((await service.request('/admin', { headers })).status, 403)
    })

    it('refuse an actor that only has the name of an operator', async () => {
      const provider = await shareOfProvider()
      const service = await start({ admins: ['victim@example.com'], ...signInAt(provider) })
      const actor = await service.createActor('victim@example.com')
      const browser = await OwnersBrowser.open(service, actor)
      assert.equal((await service.request('/admin', { headers: browser.headers })).status, 403)
      const unverified = new TestBrowser(service)
      await signIn(unverified, provider, 'unverified')
      assert.notEqual((await unverified.get('/admin')).status, 200)
    })

    it('list the actors, newest first in pages, and find them by the beginning of the creator or the id', async () => {
      // Actors of the same millisecond have no order of creation.
      let now = Date.now()
      const { service, operator } = await open({ now: () => now })
      const made: TestActor[] = []
      for (let n = 0; n < 30; n++) {
        now += 1
        made.push(await service.createActor(`person-${String(n).padStart(2, '0')}@example.com`))
      }
      const listed = (text: string): string[] =>
        [...text.matchAll(/<th scope="row"><a href="[^"]*">([^<]*)</g)].map(([, creator = '']) => creator)
      const first = await textOf(operator, '/admin/actors')
      assert.equal(listed(first).length, 25)
      assert.equal(listed(first)[0], 'person-29@example.com')
      const [, older = ''] = /href="([^"]*)" rel="next"/.exec(first) ?? []
      const second = await textOf(operator, older)
      assert.deepEqual(listed(second), [
        'person-04@example.com',
        'person-03@example.com',
        'person-02@example.com',
        'person-01@example.com',
        'person-00@example.com',
        'ada@example.com',
      ])
      assert.match(second, /<a href="\/admin\/actors" rel="first">/)
      assert.ok(!second.includes('rel="next"'))
      assert.deepEqual(listed(await textOf(operator, '/admin/actors?search=PERSON-1')).length, 10)
      assert.deepEqual(listed(await textOf(operator, `/admin/actors?search=${made[7]?.id}`)), ['person-07@example.com'])
      assert.match(await textOf(operator, '/admin/actors?search=unknown'), /Nothing begins with “unknown”\./)
      for (const before of ['x', '1', '99999999999999999.x', "1.'"])
        assert.equal(listed(await textOf(operator, `/admin/actors?before=${encodeURIComponent(before)}`)).length, 25)
    })

    it('list the actors that store most, and those with most of the newest records', async () => {
      const { service, operator } = await open()
      const large = await service.createActor('large@example.com')
      await large.request('PUT', '/properties/a', 'x'.repeat(5000))
      const busy = await service.createActor('busy@example.com')
      for (let n = 0; n < 5; n++) await busy.request('PUT', '/properties/a', String(n))
      const first = async (sort: string): Promise<string | undefined> =>
        /<th scope="row"><a href="[^"]*">([^<]*)</.exec(await textOf(operator, `/admin/actors?sort=${sort}`))?.[1]
      assert.equal(await first('size'), 'large@example.com')
      assert.equal(await first('activity'), 'busy@example.com')
      assert.match(await textOf(operator, '/admin/actors?sort=size'), /<strong>[\d.,]+\s\w+<\/strong>/)
      assert.match(await textOf(operator, '/admin/actors?sort=size'), /sort=size" aria-current="true">Largest/)
    })

    it('show how much an actor stores and when it was used, and never a value', async () => {
      const shown: PageValues<'operatorActor'>[] = []
      const { service, operator } = await open({
        pages: { operatorActor: (values) => (shown.push(values), html`facts`) },
      })
      const actor = await service.createActor('grace@example.com')
      await actor.request('POST', '/properties', { secret: 'a secret value', notes: { _type: 'list' } })
      await actor.request('POST', '/properties/notes', '"a secret item"')
      const list = await textOf(operator, '/admin/actors')
      assert.match(list, /2 properties, 1 list item, \d+ bytes/)
      await textOf(operator, `/admin/actors/${actor.id}`)
      const [facts] = shown
      assert.deepEqual(
        [facts?.creator, facts?.is_proven, facts?.values, facts?.lists, facts?.items],
        ['grace@example.com', false, 1, 1, 1],
      )
      for (const path of pagePaths) assert.ok(!/a secret (value|item)/.test(await textOf(operator, path)), path)
      assert.ok(!/a secret (value|item)/.test(JSON.stringify(facts)))
      for (const id of ['none', 'admin', '%3Cb%3E'])
        assert.equal((await operator.get(`/admin/actors/${id}`)).status, 404, id)
    })

    it('tell the owner in the activity that an operator opened the page of the actor', async () => {
      const { service, operator } = await open()
      const actor = await service.createActor('grace@example.com')
      await textOf(operator, `/admin/actors/${actor.id}`)
      assert.deepEqual(
        (await activityOf(service, actor)).map(({ caller_kind, caller, method, path, decision, reason }) => [
          caller_kind,
          caller,
          method,
          path,
          decision,
          reason,
        ]),
        [['operator', 'ada@example.com', 'GET', '/admin', 'allowed', 'an operator of the service']],
      )
      const page = await (await (await OwnersBrowser.open(service, actor)).get('/activity')).text()
      assert.match(page, /Operator ada@example\.com<\/strong> viewed how much you store, without the values/)
      assert.match(page, /operates this service/)
    })

    it('show deliveries that stopped, and retry them; the owner sees who did it', async () => {
      const { service, operator } = await open({ timers: { setTimer: () => () => {} } })
      const actor = await service.createActor('grace@example.com')
      assert.match(await textOf(operator, '/admin/deliveries'), /Every subscriber gets its updates\./)
      await stopDelivery(service, actor)
      const failing = await textOf(operator, '/admin/deliveries')
      assert.match(
        failing,
        new RegExp(`<a href="/admin/actors/${actor.id}">${actor.id}</a></th><td>failing\\.test</td><td>Stopped</td>`),
      )
      const answer = await operator.post(`/admin/actors/${actor.id}`, { action: 'redrive' })
      assert.deepEqual(
        [answer.status, answer.headers.get('location')],
        [302, `${service.url}/admin/actors/${actor.id}`],
      )
      const { store } = await service.app.running()
      const states = await store.read((q) =>
        q.all<{ state: string }>('SELECT state FROM publisher_subscription WHERE actor_id = $1', actor.id),
      )
      assert.deepEqual(
        states.map(({ state }) => state),
        ['live'],
      )
      assert.match(await textOf(operator, `/admin/actors/${actor.id}`), /Retrying the failed updates\./)
      const [, done] = await activityOf(service, actor)
      assert.deepEqual([done?.caller, done?.method, done?.path], ['ada@example.com', 'POST', '/admin/redrive'])
    })

    it('refuse a form of another site, an unknown action and an unknown actor, and change nothing', async () => {
      const { service, operator } = await open()
      const actor = await service.createActor('grace@example.com')
      await stopDelivery(service, actor)
      const path = `/admin/actors/${actor.id}`
      const redrive = { action: 'redrive' }
      assert.equal((await operator.post(path, redrive, { 'sec-fetch-site': 'cross-site' })).status, 403)
      assert.equal((await operator.post(path, redrive, {})).status, 403)
      assert.equal((await operator.post(path, { ...redrive, csrf_token: 'wrong' }, {})).status, 403)
      assert.equal((await operator.post(path, { action: 'unknown' })).status, 400)
      assert.equal((await operator.post('/admin/actors/none', redrive)).status, 404)
      const bob = await signedIn(service, 'bob')
      assert.equal((await bob.post(path, redrive)).status, 403)
      assert.match(await textOf(operator, '/admin/deliveries'), /<td>Stopped<\/td>/)
      assert.deepEqual(await activityOf(service, actor), [])
      const [, token = ''] = /name="csrf_token" value="([^"]*)"/.exec(await textOf(operator, path)) ?? []
      assert.equal((await operator.post(path, { ...redrive, csrf_token: token }, {})).status, 302)
    })

    it('list the connected apps of all actors, without API keys', async () => {
      const { service, operator } = await open()
      assert.match(await textOf(operator, '/admin/apps'), /No apps connected\./)
      const [first, second] = [
        await service.createActor('grace@example.com'),
        await service.createActor('bob@example.com'),
      ]
      const { client_id: clientId } = await registerClient(service, { client_name: 'Planner' })
      await authorizeClient(service, first, { clientId })
      await authorizeClient(service, second, { clientId })
      await authorizeClient(service, second, { clientId: 'https://notes.example/client.json' })
      await first.request('POST', '/keys', {
        name: 'Sensor',
        grants: { properties: { patterns: ['*'], operations: ['read'] } },
      })
      const text = await textOf(operator, '/admin/apps')
      const rows = [...text.matchAll(/<th scope="row">([^<]*)<small>([^<]*)<\/small><\/th><td class="number">(\d+)</g)]
      assert.deepEqual(
        rows.map(([, ...row]) => row).toSorted(([a = ''], [b = '']) => a.localeCompare(b)),
        [
          ['notes.example', 'https://notes.example/client.json', '1'],
          ['Planner', clientId, '2'],
        ],
      )
      assert.ok(!text.includes('key_'))
    })

    it('show requests, refusals by rate limits and the keys of the process', async () => {
      const { service, operator } = await open()
      const text = await textOf(operator, '/admin')
      assert.match(text, /New secrets are encrypted with <code class="inline">[\w-]+<\/code>\./)
      assert.match(text, /No older keys are configured\./)
      const before = /<span>Requests<\/span><strong>(\d+)</.exec(text)?.[1]
      await service.request('/health/live')
      const after = /<span>Requests<\/span><strong>(\d+)</.exec(await textOf(operator, '/admin'))?.[1]
      assert.equal(Number(after), Number(before) + 2)
    })

    it('use a number of statements that does not depend on the data', async () => {
      const { service, operator } = await open({ timers: stoppedTimers })
      const count = async (path: string): Promise<number> => {
        service.reset()
        await textOf(operator, path)
        return service.statements.length
      }
      const counts = async (id: string): Promise<number[]> => {
        const all: number[] = []
        for (const path of [...pagePaths, `/admin/actors/${id}`]) all.push(await count(path))
        return all
      }
      const small = await service.createActor('small@example.com')
      const before = await counts(small.id)
      const large = await service.createActor('large@example.com')
      for (let n = 0; n < 5; n++) {
        await large.request('PUT', `/properties/p${n}`, '1')
        await authorizeClient(service, large)
      }
      await stopDelivery(service, large)
      assert.deepEqual(await counts(large.id), before)
    })
  })
})
