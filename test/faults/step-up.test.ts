/** An old session of the owner: it must not leave access behind that outlives it, by any route. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { passkey } from '../../src/index.ts'
import { consentIn } from '../support/oauth-client.ts'
import { ManualClock } from '../support/manual-clock.ts'
import { signInWith, signUpWith } from '../support/passkey-page.ts'
import { declareAll, furnish, isBelowActor, requestOf, routes, samplePeer, sampleOf } from '../support/routes.ts'
import { forEachService, type TestActor, type TestService } from '../support/service.ts'
import { OwnersBrowser, signIn } from '../support/sessions.ts'
import {
  actorIn,
  newPerson,
  sharedProvider,
  signIn as signInAtProvider,
  signInAt,
  TestBrowser,
} from '../support/sign-in.ts'
import { seeded } from '../support/random.ts'
import { SoftPasskey } from '../support/soft-passkey.ts'
import { type Dump, dumpStore } from '../support/store-dump.ts'

const baseUrl = 'https://notes.example.com'
const minute = 60_000
const provider = sharedProvider()

/** Routes of which every request needs a recent sign-in. Their requests are the samples of the route table. */
const always = [
  'deleteActor',
  'exportActor',
  'beginMove',
  'createKey',
  'putKey',
  'requestTrust',
  'putTrustee',
  'createInvitation',
  'connectService',
  'putPermissions',
  'deletePermissions',
  'inviteMember',
  'setMemberRole',
  'addWebhook',
  'rotateWebhookSecret',
]

/** Routes of operators, which `stories/first-operator` and `stories/suspension` judge. */
const ofOperators = ['operatorActorForm', 'operatorTeamForm']

/** Routes that also do less. Requests that need a recent sign-in, and requests of an old session that are served. */
const sometimes: Readonly<
  Record<
    string,
    {
      readonly refused: readonly Readonly<Record<string, unknown>>[]
      readonly served: readonly Readonly<Record<string, unknown>>[]
    }
  >
> = {
  putTrustNamed: {
    refused: [
      { approved: true },
      { approved: true, approved_until: '2100-01-01T00:00:00Z' },
      { permissions: { properties: { patterns: ['*'], operations: ['read'] } } },
      { baseuri: 'https://evil.example.com/sample-peer' },
      { approved: false, baseuri: 'https://evil.example.com/sample-peer' },
    ],
    served: [{ approved: false }, { nickname: 'Ben' }],
  },
  putTrust: {
    refused: [{ approved: true }, { permissions: {} }, { baseuri: 'https://evil.example.com/sample-peer' }],
    served: [{ approved: false }, { nickname: 'Ben' }],
  },
  decidePasswordAccess: { refused: [{ decision: 'keep' }], served: [{ decision: 'revoke' }] },
  exportPage: { refused: [], served: [] },
  requestTrustForm: {
    refused: [
      { peer_url: 'https://peer.example.com/asked', trust_type: 'friend' },
      { peer_url: 'https://peer.example.com/asked', trust_type: 'friend', step: 'send' },
    ],
    served: [{ peer_url: 'https://peer.example.com/asked', trust_type: 'friend', step: 'review' }],
  },
  inviteForm: {
    refused: [{ action: 'create', trust_type: 'friend', days: '7' }],
    served: [{ action: 'revoke', invitation: 'none' }],
  },
  membersForm: {
    refused: [
      { action: 'role', member: 'none', role: 'captain' },
      { action: 'invite', role: 'captain', days: '7' },
    ],
    served: [{ action: 'remove', member: 'none' }],
  },
  peerForm: {
    refused: [
      { action: 'approve' },
      { action: 'approve_until', until: '' },
      { action: 'grant_until', category: 'properties', pattern: 'x', until: '' },
      { action: 'level', trust_type: 'friend', step: 'send' },
    ],
    served: [{ action: 'withdraw' }, { action: 'nickname', nickname: 'Ben' }],
  },
  rightsForm: {
    refused: [{ step: 'save', 'properties.patterns': 'x' }, { step: 'reset' }],
    served: [{ step: 'preview' }],
  },
  accessForm: {
    refused: [{ 'set:properties:color': 'allow' }, { 'set:properties:color': 'default' }, {}],
    served: [],
  },
  appsForm: {
    refused: [
      { action: 'create_key', name: 'A key', properties: 'read' },
      { action: 'resume', peerid: samplePeer },
    ],
    served: [{ action: 'end_other_sessions' }],
  },
  passwordAccessForm: { refused: [{ action: 'keep', actor: 'none' }], served: [{ action: 'revoke', actor: 'none' }] },
  passkeysForm: {
    refused: [
      { action: 'add', ticket: 'none', name: 'Key', response: '{}' },
      { action: 'remove', passkey: 'none' },
      { action: 'new_codes' },
    ],
    served: [{ action: 'rename', passkey: 'none', name: 'Old' }],
  },
  moveForm: { refused: [{ action: 'begin', to: 'https://new.example.com' }], served: [{ action: 'retry' }] },
  settingsForm: {
    refused: [{ action: 'delete', confirmation: 'owner@example.com' }],
    served: [{ action: 'appearance', theme: 'dark' }],
  },
}

/** The forms of consent, which tests below send: they belong to no actor. */
const consents = ['authorizeDecision', 'authorizeFinish']

/** Routes below an actor that change something within the session, take something away, or serve peers and programs. */
const within =
  `followEmail undoChanges deleteHistory importArchive stopImport postMovedCallback stopMove retryMovedPeers
  disconnectApp decideApproval deleteKey postProperties putProperties deleteProperties putProperty postProperty
  deleteProperty changeListItem putListMetadata putFile deleteFile callMethod putMethod deleteMethod callAction putAction
  deleteAction postResource putResource deleteResource deleteTrustee receiveTrust deleteTrustNamed notifyTrust deleteTrust
  deleteInvitation disconnectService endOtherSessions endSession subscribe receiveSubscription acknowledgeSubscription
  endSubscription redriveSubscription postSubscriptionCallback putSubscriptionCallback deleteSubscriptionCallback
  postPermissionCallback putPermissionCallback getCallback postCallback putCallback deleteCallback mailForm unsubscribe removeWebhook
  removeMember testWebhook redriveWebhook ownPageForm approvalForm createPropertyForm selectionForm propertyForm deletePropertyForm
  itemForm listTextsForm historyForm undoForm filesForm subscriptionForm importForm devtestPut devtestPost devtestDelete
  devtestProxyCreate devtestProxyPut devtestProxyDelete`.split(/\s+/)

function routeOf(id: string) {
  const route = routes.find((one) => one.id === id)
  if (route === undefined) throw new Error(`The route table has no ${id}`)
  return route
}

describe('the route table', () => {
  it('names each act that outlives or widens a session (WEB-18)', () => {
    const marked = (freshSignIn: 'all' | 'some') =>
      routes
        .filter((route) => route.freshSignIn === freshSignIn)
        .map(({ id }) => id)
        .toSorted()
    assert.deepEqual(marked('all'), [...always, ...ofOperators].toSorted())
    assert.deepEqual(marked('some'), [...Object.keys(sometimes), ...consents].toSorted())
  })

  it('has no other changing route of an actor that a test has not judged (WEB-18)', () => {
    const others = routes.filter(
      (route) =>
        isBelowActor(route) && route.freshSignIn === undefined && (route.method !== 'GET' || route.acts === true),
    )
    assert.deepEqual(others.map(({ id }) => id).toSorted(), within.toSorted())
  })
})

forEachService((start) => {
  interface Owner {
    readonly service: TestService
    readonly actor: TestActor
    readonly clock: ManualClock
    /** The access token of the session. */
    readonly token: string
  }

  async function owner(): Promise<Owner> {
    const clock = new ManualClock()
    const service = await start({
      baseUrl,
      devtest: true,
      now: clock.now,
      timers: clock.timers,
      signIn: [passkey()],
      declare: (app) => declareAll(app),
    })
    const actor = await service.createActor('owner@example.com')
    await furnish(actor)
    return { service, actor, clock, token: await signIn(service, actor) }
  }

  /** Sends the sample of a route with other content, as a script of the owner's application does. */
  async function send({ service, actor, token }: Owner, id: string, content?: object): Promise<Response> {
    const route = routeOf(id)
    const [path, init] = requestOf(route, actor.id, { authorization: `Bearer ${token}` })
    if (content === undefined) return service.request(path, init)
    const isForm = sampleOf(route).form !== undefined
    const body = isForm ? new URLSearchParams(content as Record<string, string>).toString() : JSON.stringify(content)
    return service.request(path, { ...init, body })
  }

  async function refusalIn(answer: Response): Promise<readonly unknown[]> {
    const text = await answer.text()
    return [answer.status, text.startsWith('{') ? (JSON.parse(text) as { error: string }).error : text]
  }
  const refusal = [401, 'insufficient_user_authentication']

  /** Everything that is stored, besides the time at which a session was last used. */
  async function stored(service: TestService): Promise<Dump> {
    const { token_chain: chains = [], ...rest } = await dumpStore((await service.app.running()).store)
    return { ...rest, token_chain: chains.map((row) => row.replace(/"last_used_at":\d+/, '')) }
  }

  describe('an old session', () => {
    it('is refused by each act that outlives or widens it, and stores nothing (WEB-18)', async () => {
      const old = await owner()
      const { service, clock } = old
      clock.pass(5 * minute + 1)
      const before = await stored(service)
      for (const id of always) assert.deepEqual(await refusalIn(await send(old, id)), refusal, id)
      for (const [id, { refused }] of Object.entries(sometimes))
        for (const content of refused)
          assert.deepEqual(await refusalIn(await send(old, id, content)), refusal, `${id} ${JSON.stringify(content)}`)
      assert.equal((await send(old, 'exportPage')).status, 302)
      assert.deepEqual(await stored(service), before)
    })

    it('is served by everything else, such as what takes access away (WEB-18)', async () => {
      const old = await owner()
      old.clock.pass(5 * minute + 1)
      for (const [id, { served }] of Object.entries(sometimes))
        for (const content of served)
          assert.notEqual((await send(old, id, content)).status, 401, `${id} ${JSON.stringify(content)}`)
      // The request that ends the session comes last.
      for (const id of within.filter((name) => !['endSession', 'endOtherSessions'].includes(name)))
        assert.notDeepEqual(await refusalIn(await send(old, id)), refusal, id)
      assert.equal((await send(old, 'endOtherSessions')).status, 200)
    })

    it('reads neither the passphrase nor the secret of a peer by any route (WEB-19)', async () => {
      const old = await owner()
      const { service, actor, clock } = old
      const read = async (authorization: string): Promise<string> => {
        const texts: string[] = []
        for (const route of routes.filter(
          ({ id, method }) => method === 'GET' && !['streamChanges', 'liveChanges', 'askLogout'].includes(id),
        ))
          for (const accept of ['application/json', 'text/html']) {
            const [path, init] = requestOf(route, actor.id, { authorization, accept })
            texts.push(await (await service.request(path, init)).text())
          }
        return texts.join('\n')
      }
      const [{ secret = '', verification_token: proof = '' } = {}] = (await (
        await actor.request('GET', '/trust')
      ).json()) as { secret?: string; verification_token?: string }[]
      assert.ok(secret.length >= 16 && proof.length >= 16)
      const fresh = await read(`Bearer ${old.token}`)
      assert.deepEqual(
        [actor.passphrase, secret, proof].map((text) => fresh.includes(text)),
        [true, true, true],
      )
      clock.pass(5 * minute + 1)
      const later = await read(`Bearer ${old.token}`)
      assert.deepEqual(
        [actor.passphrase, secret, proof].map((text) => later.includes(text)),
        [false, false, false],
      )
      assert.deepEqual(Object.keys((await (await send(old, 'getActor')).json()) as object), ['id', 'creator'])
      // A program with the passphrase proves the owner with each request.
      assert.ok((await read(actor.authorization)).includes(actor.passphrase))
    })

    it('leads a browser that opens the connection of a service to a sign-in, and back (WEB-18)', async () => {
      const { service, actor, clock } = await owner()
      const browser = await OwnersBrowser.open(service, actor)
      clock.pass(5 * minute + 1)
      const path = `/${actor.id}/services/drive/connect?redirect=%2F${actor.id}%2Fapp`
      const led = await service.request(path, { headers: { ...browser.headers, 'sec-fetch-site': 'same-origin' } })
      assert.equal(led.status, 302)
      const target = new URL(led.headers.get('location') ?? '')
      assert.equal(target.pathname, '/oauth/login/passkey')
      assert.deepEqual(
        [...target.searchParams],
        [
          ['actor', actor.id],
          ['redirect', path],
          ['fresh', '1'],
        ],
      )
    })

    it('sees the way to a sign-in on each page in place of the form (WEB-18)', async () => {
      const { service, actor, clock } = await owner()
      const browser = await OwnersBrowser.open(service, actor)
      const forms: Readonly<Record<string, RegExp>> = {
        '/trust/new': /<button type="submit">Send/,
        '/trust/invite': /name="days"/,
        '/apps': /value="create_key"/,
        [`/trust/${samplePeer}`]: /value="approve"|\/permissions"|edit=access/,
      }
      for (const [path, form] of Object.entries(forms)) {
        const shown = await (await browser.get(path)).text()
        assert.equal(path === '/trust/new' || form.test(shown), true, path)
        assert.doesNotMatch(shown, /fresh=1/, path)
      }
      clock.pass(5 * minute + 1)
      for (const [path, form] of Object.entries(forms)) {
        const shown = await (await browser.get(path)).text()
        assert.doesNotMatch(shown, form, path)
        assert.match(shown, /fresh=1/, path)
      }
    })
  })

  describe('the passphrase', () => {
    it('opens every act to a program that sends it with Basic, and to no other credential (WEB-19)', async () => {
      const { service, actor, clock } = await owner()
      clock.pass(60 * minute)
      // curl, the Python library and password managers send the passphrase like this.
      const answer = await actor.request('POST', '/keys', sampleOf(routeOf('createKey')).body)
      assert.equal(answer.status, 201)
      assert.equal((await actor.request('GET', '/export')).status, 200)
      assert.equal(
        (await service.request(`/${actor.id}`, { headers: { authorization: actor.authorization } })).status,
        200,
      )
    })
  })

  describe('the consent to an app', () => {
    async function client(service: TestService): Promise<string> {
      const registered = await service.request('/oauth/register', {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({
          client_name: 'Helper',
          redirect_uris: ['https://helper.example.com/back'],
          token_endpoint_auth_method: 'none',
        }),
      })
      const { client_id: id } = (await registered.json()) as { client_id: string }
      const query = {
        client_id: id,
        redirect_uri: 'https://helper.example.com/back',
        response_type: 'code',
        code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM',
        code_challenge_method: 'S256',
      }
      return `/oauth/authorize?${new URLSearchParams(query).toString()}`
    }

    it('of an old session needs a sign-in first, which leads to the code (WEB-18)', async () => {
      const clock = new ManualClock()
      const service = await start({ baseUrl, now: clock.now, timers: clock.timers, signIn: [passkey()] })
      const { browser, passkey: device, answer } = await signUpWith(service, new SoftPasskey(), 'Ada')
      assert.match(actorIn(answer), /^[0-9a-f]{32}$/)
      const page = await client(service)
      const asked = await (await browser.get(page)).text()
      assert.match(asked, /value="allow"/)
      clock.pass(5 * minute + 1)
      // The form of the page that was opened before.
      const late = await browser.post('/oauth/authorize', { consent: consentIn(asked), decision: 'allow' })
      assert.equal(late.status, 403)
      const again = await (await browser.get(page)).text()
      assert.doesNotMatch(again, /value="allow"/)
      const begun = await browser.post('/oauth/authorize', { consent: consentIn(again), provider: 'passkey' })
      const target = new URL(begun.headers.get('location') ?? '')
      assert.deepEqual([target.pathname, target.searchParams.get('fresh')], ['/oauth/login/passkey', '1'])
      // The sign-in cannot be left out.
      const finish = target.searchParams.get('redirect') ?? ''
      assert.equal((await browser.get(finish)).status, 403)
      await signInWith(service, device, target.href, browser)
      const code = new URL((await browser.get(finish)).headers.get('location') ?? '').searchParams.get('code')
      assert.match(code ?? '', /^[\w-]{20,}$/)
    })
  })

  describe('the time at which a provider asked the person', () => {
    it('is in the past and a whole number, whatever the provider states (IDP-33)', async () => {
      const idp = await provider()
      const random = seeded(18)
      const seconds = Math.floor(Date.now() / 1000)
      const stated = [
        ...Array.from({ length: 6 }, () => seconds - 60 + random.below(1_000_000) / 1_000_007),
        seconds + 86_400,
        4e9,
        1e13,
        1e300,
        9_007_199_254_740_991,
        seconds - 1e-7,
        0,
        -1,
        -1e300,
        -0.5,
        'x',
        null,
        [],
        { a: 1 },
        true,
        String(seconds),
      ]
      let ahead = 0
      const service = await start({ ...signInAt(idp), now: () => Date.now() + ahead })
      const { store } = await service.app.running()
      for (const time of stated) {
        const { sub, email } = newPerson(idp)
        const browser = new TestBrowser(service)
        const begun = await browser.get('/oauth/login/acme')
        const address = begun.headers.get('location') ?? ''
        const { url } = await idp.signIn(address, sub)
        const nonce = new URL(address).searchParams.get('nonce')
        const issued = Math.floor((Date.now() + ahead) / 1000)
        const times = { iat: issued, exp: issued + 60, auth_time: time }
        const token = await idp.assertion({ sub, email, email_verified: true, nonce, ...times })
        idp.answers.set('/token', (_, response) => {
          response.setHeader('content-type', 'application/json')
          response.end(JSON.stringify({ access_token: 'a', token_type: 'Bearer', id_token: token }))
        })
        const what = `auth_time ${JSON.stringify(time)}`
        const answer = await browser.get(url.href)
        idp.answers.delete('/token')
        assert.equal(answer.status, 302, `${what}: ${await answer.text()}`)
        const id = actorIn(answer)
        const [chain] = await store.read((q) =>
          q.all<{ at: number }>('SELECT authenticated_at AS at FROM token_chain WHERE actor_id = $1', id),
        )
        const at = chain?.at ?? Number.NaN
        assert.ok(Number.isSafeInteger(at) && at >= 0 && at <= Date.now() + ahead, `${what}: ${at}`)
        ahead += 5 * minute + 1
        const late = await browser.post(`/${id}/www/apps`, { action: 'create_key', name: 'k', properties: 'read' })
        assert.equal(late.status, 401, what)
      }
    })
  })

  describe('an operator with an old session', () => {
    it('sees the pages and changes nothing there (WEB-18)', async () => {
      const idp = await provider()
      const { sub, email } = newPerson(idp)
      let ahead = 0
      const service = await start({ admins: [email], ...signInAt(idp), now: () => Date.now() + ahead })
      const browser = new TestBrowser(service)
      const id = actorIn(await signInAtProvider(browser, idp, sub, '/oauth/login/acme'))
      const redrive = (): Promise<Response> => browser.post(`/admin/actors/${id}`, { action: 'redrive' })
      assert.equal((await redrive()).status, 302)
      ahead = 5 * minute + 1
      assert.equal((await browser.get(`/admin/actors/${id}`)).status, 200)
      assert.equal((await redrive()).status, 401)
    })
  })
})
