/* cspell:ignore haben sich angemeldet einen Schlüssel erstellt */
import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { authorizeClientByConsent } from '../support/oauth-client.ts'
import { RecordingPeer, relateTo } from '../support/recording-peer.ts'
import { forEachService, type StartOptions, type TestActor, type TestService } from '../support/service.ts'
import { asBrowser, OwnersBrowser } from '../support/sessions.ts'
import { newPerson, sharedProvider, signIn, signInAt, TestBrowser, actorIn } from '../support/sign-in.ts'
import { writtenAuditLog } from '../support/written-audit-log.ts'

interface Line {
  readonly caller_kind: string
  readonly caller: string
  readonly through: string
  readonly method: string
  readonly path: string
  readonly decision: string
  readonly reason: string
  readonly status: number
  readonly device: string
}

const on: StartOptions = { activityPerActor: 1000, peerProfileAttributes: [] }
const firefox = 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0'

async function activityOf(service: TestService, actor: TestActor): Promise<Line[]> {
  await writtenAuditLog(service)
  const answer = await actor.request('GET', '/activity')
  assert.equal(answer.status, 200)
  return ((await answer.json()) as { activity: Line[] }).activity
}

/** The owner's acts, oldest first, without the sign-in of the test's own browser. */
async function actsOf(service: TestService, actor: TestActor): Promise<string[]> {
  const lines = await activityOf(service, actor)
  return lines
    .filter(({ caller_kind }) => caller_kind === 'owner')
    .map(({ method, path }) => `${method} ${path.replace(/^\/sessions\/.+/, '/sessions/<session>')}`)
    .reverse()
}

forEachService((start) => {
  const providerOf = sharedProvider()
  const receivers: RecordingPeer[] = []
  after(async () => {
    for (const receiver of receivers) await receiver.stop()
  })

  /** An owner with an approved friend, who answers every call. */
  async function friends(options: StartOptions = {}) {
    const receiver = await new RecordingPeer().start()
    receivers.push(receiver)
    const service = await start({ ...on, ...options })
    const owner = await service.createActor('ada@example.com')
    const peer = await relateTo(service, owner, { baseuri: `${receiver.url}/grace` })
    return { service, owner, peer, path: `/trust/friend/${peer.peerId}` }
  }

  describe('an act of the owner that changes who may reach the actor', () => {
    it('has an entry with the request and the device, without its content', async () => {
      const { service, owner, path } = await friends()
      const rules = { properties: { excluded_patterns: ['the secret diary'] } }
      const changed = await owner.request('PUT', `${path}/permissions`, rules, { 'user-agent': firefox })
      assert.equal(changed.status, 201)
      const lines = await activityOf(service, owner)
      assert.deepEqual(
        lines.map(({ caller_kind, caller, through, method, path: at, decision, reason, status, device }) => [
          caller_kind,
          caller,
          through,
          method,
          at,
          decision,
          reason,
          status,
          device,
        ]),
        [['owner', 'owner', 'http', 'PUT', `${path}/permissions`, 'allowed', 'the owner', 201, 'Firefox on Linux']],
      )
      assert.ok(!JSON.stringify(lines).includes('the secret'))
    })

    it('has an entry for each request of the API that gives, changes or takes access', async () => {
      const { service, owner, path, peer } = await friends({ allowHttp: true })
      const sent = async (method: string, at: string, body?: unknown): Promise<Record<string, string>> => {
        const answer = await owner.request(method, at, body)
        assert.ok(answer.ok, `${method} ${at}: ${answer.status}`)
        const text = await answer.text()
        return text.startsWith('{') ? (JSON.parse(text) as Record<string, string>) : {}
      }
      await sent('PUT', `${path}/permissions`, { properties: { excluded_patterns: ['diary'] } })
      await sent('DELETE', `${path}/permissions`)
      await sent('PUT', path, { nickname: 'Aunt Grace' })
      await sent('PUT', `/trust/${peer.peerId}`, { nickname: 'Grace' })
      const key = await sent('POST', '/keys', {
        name: 'Sensor',
        grants: { properties: { patterns: ['*'], operations: ['read'] } },
      })
      const keyPath = `/keys/${encodeURIComponent(key['id'] ?? '')}`
      await sent('PUT', keyPath, { name: 'Old sensor' })
      await sent('DELETE', keyPath)
      const invitation = await sent('POST', '/invitations', { relationship: 'friend' })
      const invitationPath = `/invitations/${invitation['id'] ?? ''}`
      await sent('DELETE', invitationPath)
      await sent('PUT', '/trust/trustee', { trustee_root: 'https://trustee.example.com/t' })
      await sent('DELETE', '/trust/trustee')
      await sent('DELETE', '/sessions')
      await sent('DELETE', path)
      assert.deepEqual(await actsOf(service, owner), [
        `PUT ${path}/permissions`,
        `DELETE ${path}/permissions`,
        `PUT ${path}`,
        `PUT ${path}`,
        'POST /keys',
        `PUT ${keyPath}`,
        `DELETE ${keyPath}`,
        'POST /invitations',
        `DELETE ${invitationPath}`,
        'PUT /trust/trustee',
        'DELETE /trust/trustee',
        'DELETE /sessions',
        `DELETE ${path}`,
      ])
      assert.notEqual(peer.peerId, '')
    })

    it('has the entry of the API for a form of the pages', async () => {
      const { service, owner, path, peer } = await friends()
      const browser = await OwnersBrowser.open(service, owner)
      const sent = async (at: string, fields: Record<string, string>, status = 302): Promise<void> => {
        assert.equal((await browser.send(at, fields)).status, status, `${at} ${fields['action'] ?? ''}`)
      }
      const peerPath = `/trust/${peer.peerId}`
      await sent(peerPath, { action: 'withdraw' })
      await sent(peerPath, { action: 'approve' })
      await sent(`${peerPath}/permissions`, { step: 'reset' })
      await sent('/apps', { action: 'create_key', name: 'Sensor', properties: 'view' }, 200)
      await sent('/trust/invite', { action: 'create', trust_type: 'friend', nickname: '', days: '7' }, 200)
      const listed = async (at: string): Promise<string[]> => {
        const text = await (await owner.request('GET', at)).text()
        return [...text.matchAll(/"id": ?"([^"]+)"/g)].map(([, id = '']) => id)
      }
      const [[key = ''], [invitation = '']] = [await listed('/keys'), await listed('/invitations')]
      await sent('/apps', { action: 'revoke_key', key })
      await sent('/trust/invite', { action: 'revoke', invitation })
      await sent(peerPath, { action: 'nickname', nickname: 'Aunt Grace' })
      await sent(`${peerPath}/access`, { 'set:properties:diary': 'block' })
      const before = await listed('/sessions')
      const elsewhere = await OwnersBrowser.open(service, owner)
      const session = (await listed('/sessions')).find((id) => !before.includes(id)) ?? assert.fail()
      await sent('/apps', { action: 'end_session', session })
      assert.notEqual((await elsewhere.get('')).status, 200)
      await sent('/apps', { action: 'end_other_sessions' })
      await sent(peerPath, { action: 'end' })
      assert.deepEqual(await actsOf(service, owner), [
        'POST /sessions',
        `PUT ${path}`,
        // The approval is a decision, which has its own entry.
        `DELETE ${path}/permissions`,
        'POST /keys',
        'POST /invitations',
        `DELETE /keys/${key}`,
        `DELETE /invitations/${invitation}`,
        `PUT ${path}`,
        `PUT ${path}/permissions`,
        'POST /sessions',
        'DELETE /sessions/<session>',
        'DELETE /sessions',
        `DELETE ${path}`,
      ])
    })

    it('has one entry, the decision, for a request to connect', async () => {
      const { service, owner } = await friends()
      const asking = await relateTo(service, owner, { approved: false, baseuri: `${receivers.at(-1)?.url}/alan` })
      assert.equal((await owner.request('PUT', `/trust/friend/${asking.peerId}`, { approved: true })).status, 204)
      const lines = await activityOf(service, owner)
      assert.deepEqual(
        lines.map(({ caller_kind, decision }) => [caller_kind, decision]),
        [['peer', 'approved']],
      )
    })

    it('has an entry for the sign-in and the sign-out', async () => {
      const provider = await providerOf()
      const service = await start({ ...on, ...signInAt(provider) })
      const person = newPerson(provider)
      const browser = new TestBrowser(service)
      const actorId = actorIn(await signIn(browser, provider, person.sub))
      assert.equal((await browser.post('/oauth/logout', {})).status, 302)
      await writtenAuditLog(service)
      const actor = (await service.app.actors.get(actorId)) ?? assert.fail()
      const { entries } = await actor.activity()
      assert.deepEqual(
        entries.map(({ callerKind, method, path }) => [callerKind, method, path.replace(/[\w-]{20,}$/, '<session>')]),
        [
          ['owner', 'DELETE', '/sessions/<session>'],
          ['owner', 'POST', '/sessions'],
        ],
      )
    })

    it('has an entry for the consent to an AI client', async () => {
      const provider = await providerOf()
      const service = await start({ ...on, ...signInAt(provider) })
      const { tokens } = await authorizeClientByConsent(service, provider, { sub: newPerson(provider).sub })
      await writtenAuditLog(service)
      const actor = (await service.app.actors.get(tokens.actor_id)) ?? assert.fail()
      const { entries } = await actor.activity()
      const own = entries.filter(({ callerKind }) => callerKind === 'owner')
      assert.deepEqual(
        own.map(({ method, path }) => `${method} ${path.replace(/^\/apps\/.+/, '/apps/<app>')}`),
        ['POST /apps/<app>', 'POST /sessions'],
      )
    })
  })

  describe('no entry of the owner', () => {
    it('is written for reading and changing data', async () => {
      const { service, owner, path } = await friends()
      await owner.request('PUT', '/properties/color', 'blue')
      await owner.request('GET', path)
      await owner.request('GET', '/keys')
      await owner.request('DELETE', '/properties/color')
      assert.deepEqual(await activityOf(service, owner), [])
    })

    it('is written for an act that was refused', async () => {
      const { service, owner, path, peer } = await friends()
      const browser = await OwnersBrowser.open(service, owner)
      for (const [method, at, body] of [
        ['PUT', `${path}/permissions`, { properties: { patterns: 'everything' } }],
        ['DELETE', '/keys/none', undefined],
        ['DELETE', '/sessions/none', undefined],
        ['DELETE', '/trust/friend/absent', undefined],
        ['POST', '/invitations', { relationship: 'unheard_of' }],
      ] as const) {
        const { status } = await owner.request(method, at, body)
        assert.ok(status >= 400, `${method} ${at}: ${status}`)
      }
      for (const [at, fields] of [
        ['/apps', { action: 'revoke', peerid: 'none' }],
        ['/apps', { action: 'end_session', session: 'none' }],
        [`/trust/${peer.peerId}`, { action: 'level', trust_type: 'unheard_of' }],
        ['/trust/invite', { action: 'create', trust_type: 'unheard_of', nickname: '', days: '7' }],
      ] as const)
        assert.ok((await browser.send(at, fields)).status >= 400, at)
      assert.deepEqual(await actsOf(service, owner), ['POST /sessions'])
    })

    it('is written for a peer that ends the relationship itself', async () => {
      const { service, owner, path, peer } = await friends()
      assert.equal((await peer.request('DELETE', path)).status, 204)
      assert.deepEqual(await actsOf(service, owner), [])
    })

    it('is written when a form comes from another site', async () => {
      const { service, owner, peer } = await friends()
      const browser = await OwnersBrowser.open(service, owner)
      const foreign = { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' }
      assert.equal((await browser.send(`/trust/${peer.peerId}`, { action: 'end' }, foreign)).status, 403)
      assert.deepEqual(await actsOf(service, owner), ['POST /sessions'])
    })
  })

  describe('the page of the activity', () => {
    it('says what the owner did, on which device, and filters it, in English and German', async () => {
      const { service, owner, path } = await friends()
      const onFirefox = { 'user-agent': firefox }
      const grants = { properties: { patterns: ['*'], operations: ['read'] } }
      await owner.request('POST', '/keys', { name: 'Sensor', grants }, onFirefox)
      await owner.request('PUT', `${path}/permissions`, { properties: { excluded_patterns: ['diary'] } }, onFirefox)
      const browser = await OwnersBrowser.open(service, owner)
      await writtenAuditLog(service)
      const text = async (language: string): Promise<string> =>
        (await browser.get('/activity?caller=owner', { ...asBrowser, 'accept-language': language })).text()
      const english = await text('en')
      assert.match(english, /<strong>You \(Firefox on Linux\)<\/strong> created an API key/)
      assert.match(english, /<strong>You \(Firefox on Linux\)<\/strong> changed the access of /)
      assert.match(english, /<strong>You<\/strong> signed in/)
      assert.match(
        english,
        /<time [^>]*>just now<\/time> · [^<]+<\/p>\s*<details class="kind"><summary>Details<\/summary><time [^>]*>[^<]+ UTC<\/time> · <code>POST /,
      )
      assert.match(english, /<option value="owner" selected>You<\/option>/)
      const german = await text('de')
      assert.match(german, /<strong>Sie \(Firefox on Linux\)<\/strong> haben einen API-Schlüssel erstellt/)
      assert.match(german, /<strong>Sie<\/strong> haben sich angemeldet/)
    })
  })

  describe('the picture of the last days', () => {
    it('does not count what the owner did', async () => {
      const { service, owner } = await friends()
      await owner.request('POST', '/keys', {
        name: 'Sensor',
        grants: { properties: { patterns: ['*'], operations: ['read'] } },
      })
      await writtenAuditLog(service)
      const { parts } = await service.app.running()
      assert.deepEqual(
        (await parts.auditLog.daily(owner.id, 14)).map(({ requests }) => requests),
        Array.from({ length: 14 }, () => 0),
      )
    })
  })
})
