/** A stranger prepares an actor for a victim, with everything in its archive that can read what the victim stores later. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { recordKindsWith } from '../../src/archive/record-kinds.ts'
import { builtInTables } from '../../src/features/features.ts'
import { hashSecret } from '../../src/secret/hash.ts'
import { EvilHome } from '../support/evil-home.ts'
import { relate } from '../support/friends.ts'
import { movingWorld, type MovingWorld, newUrl, peerUrl, ticks } from '../support/moving.ts'
import { seeded } from '../support/random.ts'
import { forEachService, type TestService } from '../support/service.ts'
import { newPerson, sharedProvider, signInAt, TestBrowser } from '../support/sign-in.ts'
import { until } from '../support/until.ts'

const provider = sharedProvider()
const at = '2026-01-01T00:00:00.000Z'
const evilUrl = 'https://evil.example.com'
const code = 'i'.repeat(43)
const trusteeRoot = `${evilUrl}/trustee`

const relationship = (peerId: string): object => ({
  kind: 'relationship',
  peer_id: peerId,
  baseuri: `${evilUrl}/${peerId}`,
  type: 'urn:actingweb:example.com:peer',
  relationship: 'friend',
  secret: `secret-of-${peerId}`.padEnd(32, '0'),
  verification_token: 'token',
  description: 'Your bank',
  nickname: '',
  approved: true,
  approved_until: null,
  peer_approved: true,
  verified: true,
  established_via: 'trust',
  facts: {},
  created_at: at,
  last_accessed: null,
  last_connected_via: '',
  request: null,
})

const webhook = (id: string): object => ({
  kind: 'webhook',
  webhook_id: id,
  url: `${evilUrl}/hooks/${id}`,
  events: ['property_changed'],
  names: [],
  description: '',
  secrets: JSON.stringify({ secret: `whsec_${'A'.repeat(32)}` }),
  created_at: at,
})

const companion = (name: string): object => ({
  kind: 'companion',
  name,
  peer_id: `companion-${name}`,
  baseuri: `${evilUrl}/companion-${name}`,
  type: 'urn:actingweb:example.com:companion',
  passphrase: 'x'.repeat(40),
})

const invitation = (id: string): object => ({
  kind: 'invitation',
  invitation_id: id,
  code_hash: hashSecret(`${id}${code}`.slice(0, 43)),
  relationship: 'friend',
  nickname: '',
  created_at: at,
  ends_at: '2999-01-01T00:00:00.000Z',
})

/** All that the stranger plants, in the order of an archive. */
const planted: readonly object[] = [
  relationship('evil1'),
  relationship('evil2'),
  {
    kind: 'rights',
    peer_id: 'evil1',
    rules: { properties: { patterns: ['*'], operations: ['read', 'write', 'delete', 'list'] } },
    created_by: 'mallory',
    notes: '',
    updated_at: at,
  },
  { kind: 'expiry', peer_id: 'evil1', due_at: '2999-01-01T00:00:00.000Z' },
  companion('calendar'),
  {
    kind: 'subscription_of_peer',
    peer_id: 'evil1',
    subscription_id: 's1',
    target: 'properties',
    subtarget: '',
    resource: '',
    granularity: 'high',
    sequence: 0,
    state: 'live',
    created_at: at,
  },
  webhook('w1'),
  webhook('w2'),
  {
    kind: 'notice',
    peer_id: 'evil1',
    position: 1,
    id: 'n1',
    notice: 'permission',
    method: 'POST',
    url: `${evilUrl}/evil1/callbacks`,
    baseuri: `${evilUrl}/evil1`,
    body: { any: 'thing' },
    request_id: '',
  },
  invitation('i1'),
  invitation('i2'),
]

interface Listed {
  readonly key: string
  readonly kind: string
  readonly id: string
  readonly name: string
  readonly address: string
  readonly relationship: string
  readonly has_own_rights: boolean
}

forEachService((start) => {
  /** An actor that a stranger has prepared, and that waits for its victim. */
  async function bait(
    options: Parameters<typeof movingWorld>[1] = {},
    records: readonly object[] = planted,
    head: object = { trustee_root: trusteeRoot },
  ): Promise<{ world: MovingWorld; evil: EvilHome; id: string; link: string }> {
    const world = await movingWorld(start, options)
    const id = 'b'.repeat(32)
    const evil = await EvilHome.start(world.network, id)
    assert.equal(await evil.announce(world.home), 201)
    assert.equal(await evil.send(world.home, records, head), 200)
    await evil.leave(world.home)
    assert.equal(await evil.activate(world.home), 200)
    return { world, evil, id, link: `/moves/${id}/claim?code=${evil.code}` }
  }

  async function listed(
    service: TestService,
    id: string,
    code: string,
  ): Promise<{ version: string; readers: Listed[] }> {
    const answer = await service.request(`/moves/${id}/claim/readers?code=${code}`)
    assert.equal(answer.status, 200)
    return (await answer.json()) as { version: string; readers: Listed[] }
  }

  const taking = (service: TestService, id: string, body: object): Promise<Response> =>
    service.request(`/moves/${id}/claim/passphrase`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })

  /** The rows of what can read an actor, by kind. */
  async function left(service: TestService, id: string): Promise<Record<string, string[]>> {
    const { store } = await service.app.running()
    const queries = {
      relationship: 'SELECT peer_id AS id FROM trust WHERE actor_id = $1 ORDER BY 1',
      rights: 'SELECT peer_id AS id FROM permission_override WHERE actor_id = $1',
      subscription: 'SELECT subscription_id AS id FROM publisher_subscription WHERE actor_id = $1',
      peer: 'SELECT peer_id AS id FROM arrival_peer WHERE actor_id = $1 ORDER BY 1',
      webhook: 'SELECT webhook_id AS id FROM webhook WHERE actor_id = $1 ORDER BY 1',
      queue: `SELECT id FROM job WHERE actor_id = $1 AND kind = 'webhook' ORDER BY 1`,
      companion: 'SELECT kind AS id FROM companion WHERE actor_id = $1',
      invitation: 'SELECT invitation_id AS id FROM invitation WHERE actor_id = $1 ORDER BY 1',
      notice: `SELECT kind AS id FROM notice WHERE sender = $1 AND kind <> 'trust_deleted'`,
      trustee: 'SELECT trustee_root AS id FROM actor WHERE id = $1 AND trustee_root IS NOT NULL',
    }
    const rows: Record<string, string[]> = {}
    for (const [kind, sql] of Object.entries(queries))
      rows[kind] = (await store.read((q) => q.all<{ id: string }>(sql, id))).map((row) => row.id)
    return rows
  }

  const nothing = {
    relationship: [],
    rights: [],
    subscription: [],
    peer: [],
    webhook: [],
    queue: [],
    companion: [],
    invitation: [],
    notice: [],
    trustee: [],
  }

  describe('an actor that a stranger has prepared', () => {
    it('keeps nothing that can read it when its owner takes it without a choice (MOV-12)', async () => {
      const { world, evil, id } = await bait()
      assert.equal(await (await world.home.request(`/${id}/meta/trustee_root`)).text(), '')
      const answer = await taking(world.home, id, { code: evil.code })
      assert.equal(answer.status, 200, await answer.clone().text())
      const { creator, passphrase } = (await answer.json()) as { creator: string; passphrase: string }
      assert.deepEqual(await left(world.home, id), nothing)
      const authorization = `Basic ${btoa(`${creator}:${passphrase}`)}`
      const written = await world.home.request(`/${id}/properties/diary`, {
        method: 'PUT',
        headers: { authorization, 'content-type': 'application/json' },
        body: '{"text":"private"}',
      })
      assert.equal(written.status, 204)
      const used = await world.home.request(`/${id}/trust/friend`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({
          baseuri: `${evilUrl}/evil3`,
          id: 'evil3',
          type: 'urn:actingweb:example.com:peer',
          secret: 's'.repeat(40),
          verify: 'v',
          invitation: `i1${code}`.slice(0, 43),
        }),
      })
      assert.notEqual(used.status, 201)
      await world.home.settled()
      // The peers get the end of their relationships with each secret that they may have (MOV-30), and nothing else.
      const toEvil = world.network.calls.filter((call) =>
        /^[A-Z]+ https:..evil\.example\.com.evil[12].(?!meta)/.test(call),
      )
      assert.deepEqual(toEvil.toSorted(), [
        `DELETE ${evilUrl}/evil1/trust/friend/${id}`,
        `DELETE ${evilUrl}/evil1/trust/friend/${id}`,
        `DELETE ${evilUrl}/evil2/trust/friend/${id}`,
        `DELETE ${evilUrl}/evil2/trust/friend/${id}`,
      ])
    })

    it('lists what can read it, by name and address, to its code alone (MOV-12)', async () => {
      const { world, evil, id } = await bait()
      const { readers } = await listed(world.home, id, evil.code)
      assert.deepEqual(
        readers.map(({ key: _key, ...reader }) => Object.values(reader)),
        [
          ['relationship', 'evil1', 'Your bank', `${evilUrl}/evil1`, 'friend', true],
          ['relationship', 'evil2', 'Your bank', `${evilUrl}/evil2`, 'friend', false],
          ['webhook', 'w1', '', `${evilUrl}/hooks/w1`, '', false],
          ['webhook', 'w2', '', `${evilUrl}/hooks/w2`, '', false],
          ['companion', 'calendar', 'calendar', `${evilUrl}/companion-calendar`, '', false],
          ['invitation', 'i1', '', '', 'friend', false],
          ['invitation', 'i2', '', '', 'friend', false],
          ['trustee', trusteeRoot, '', trusteeRoot, '', false],
        ],
      )
      for (const wrong of ['x', '', 'x'.repeat(43)]) {
        const answer = await world.home.request(`/moves/${id}/claim/readers?code=${wrong}`)
        assert.notEqual(answer.status, 200)
        assert.doesNotMatch(await answer.text(), /evil1/)
      }
    })

    it('keeps exactly what its owner has chosen, for any choice (MOV-12)', async () => {
      const random = seeded(8)
      for (let round = 0; round < 6; round += 1) {
        const { world, evil, id } = await bait()
        const { version, readers } = await listed(world.home, id, evil.code)
        const isAll = round === 0
        const kept = readers.filter(() => isAll || random.below(2) === 0)
        const keep = isAll ? 'all' : kept.map(({ key }) => key)
        assert.equal(
          (await taking(world.home, id, { code: evil.code, keep, ...(isAll ? { version } : {}) })).status,
          200,
        )
        const idsOf = (kind: string): string[] => kept.flatMap((one) => (one.kind === kind ? [one.id] : []))
        const { rights, subscription, notice: _notice, ...rest } = await left(world.home, id)
        assert.deepEqual(rest, {
          relationship: idsOf('relationship'),
          peer: idsOf('relationship'),
          webhook: idsOf('webhook'),
          queue: idsOf('webhook'),
          companion: idsOf('companion'),
          invitation: idsOf('invitation'),
          trustee: idsOf('trustee'),
        })
        const hasEvil1 = idsOf('relationship').includes('evil1')
        assert.deepEqual([rights, subscription], hasEvil1 ? [['evil1'], ['s1']] : [[], []])
        await Promise.all([world.old.close(), world.home.close(), world.peers.close()])
      }
    })

    it('is not taken by a choice that is not about its list, and nothing changes (MOV-12)', async () => {
      const { world, evil, id } = await bait()
      const before = await left(world.home, id)
      const refusals: readonly (readonly [body: object, status: number])[] = [
        [{ code: evil.code, keep: 'all' }, 409],
        [{ code: evil.code, keep: 'all', version: 'x' }, 409],
        [{ code: evil.code, keep: ['evil1'] }, 400],
        [{ code: evil.code, keep: ['x'.repeat(43)] }, 400],
        [{ code: evil.code, keep: 'some' }, 400],
        [{ code: evil.code, keep: [1] }, 400],
        [{ code: evil.code, keep: { relationships: [] } }, 400],
        [{ code: 'wrong', keep: [] }, 403],
        [{ keep: [] }, 400],
      ]
      for (const [body, status] of refusals) {
        const answer = await taking(world.home, id, body)
        assert.equal(answer.status, status, JSON.stringify(body))
      }
      assert.deepEqual(await left(world.home, id), before)
      assert.equal((await taking(world.home, id, { code: evil.code })).status, 200)
    })

    it('keeps nothing that changed or came since its owner saw the list (MOV-12)', async () => {
      const { world, evil, id } = await bait()
      const { version, readers } = await listed(world.home, id, evil.code)
      const { store, parts } = await world.home.app.running()
      const keys = await parts.arrivalClaims.chosen(id, { keys: readers.map(({ key }) => key) })
      await store.write(async (tx) => {
        await tx.run(`UPDATE trust SET baseuri = '${evilUrl}/other' WHERE actor_id = $1 AND peer_id = 'evil2'`, id)
        await tx.run(`UPDATE webhook SET url = '${evilUrl}/other' WHERE actor_id = $1 AND webhook_id = 'w2'`, id)
      })
      assert.equal((await taking(world.home, id, { code: evil.code, keep: 'all', version })).status, 409)
      await store.writeActor(id, (tx) => parts.arrivalClaims.take(tx, id, keys))
      const { relationship: relationships, webhook: webhooks } = await left(world.home, id)
      assert.deepEqual([relationships, webhooks], [['evil1'], ['w1']])
    })

    it('keeps what its owner ticks on the page, and only a page of the service can tick (MOV-12)', async () => {
      const idp = await provider()
      const { world, id, link } = await bait({ home: signInAt(idp) })
      const person = newPerson(idp)
      const browser = new TestBrowser(world.home)
      const page = await (await browser.get(link)).text()
      assert.doesNotMatch(page, /<input[^>]* checked/)
      const shown = ticks(page)
      assert.equal(shown.length, 8)
      const path = `/moves/${id}/claim`
      const form = {
        code: 'evil-code',
        way: 'acme',
        all: '1',
        version: /name="version" value="([^"]+)"/.exec(page)?.[1] ?? '',
      }
      const foreign: readonly Record<string, string>[] = [
        { 'sec-fetch-site': 'cross-site' },
        { 'sec-fetch-site': 'same-site' },
        { 'sec-fetch-site': 'none' },
        { origin: evilUrl },
        {},
      ]
      for (const from of foreign) assert.equal((await browser.post(path, form, from)).status, 403)
      const token = /name="csrf_token" value="([^"]+)"/.exec(page)?.[1] ?? ''
      const stranger = await browser.post(path, { ...form, csrf_token: 'x'.repeat(43) }, {})
      assert.equal(stranger.status, 403)
      const otherBrowser = await new TestBrowser(world.home).post(path, { ...form, csrf_token: token }, {})
      assert.equal(otherBrowser.status, 403)
      assert.equal((await browser.post(path, { ...form, version: 'x' })).status, 409)
      const begun = await browser.post(
        path,
        { code: 'evil-code', way: 'acme', [shown[1] ?? '']: '1', csrf_token: token },
        {},
      )
      assert.equal(begun.status, 303)
      const { url } = await idp.signIn(begun.headers.get('location') ?? '', person.sub)
      assert.equal((await browser.get(url.href)).headers.get('location'), `${newUrl}/${id}/www/move`)
      const { relationship: relationships, webhook: webhooks, invitation: invitations } = await left(world.home, id)
      assert.deepEqual([relationships, webhooks, invitations], [['evil2'], [], []])
    })

    it('shows hidden characters of its archive with their codes, before and after it is taken (WEB-23)', async () => {
      const hidden = '\u202e\u2066\u200b\u3164\u2800\u00ad\u{e0041}'
      const codes = '[U+202E][U+2066][U+200B][U+3164][U+2800][U+00AD][U+E0041]'
      const { world, id, link } = await bait(
        {},
        [
          { ...relationship('evil1'), description: `Your${hidden}bank` },
          { ...webhook('w1'), description: `Your${hidden}hook` },
          companion(`Your${hidden}kind`),
          { ...invitation('i1'), nickname: `Your${hidden}guest` },
        ],
        { creator: `Your${hidden}name` },
      )
      const browser = new TestBrowser(world.home)
      const before = await (await browser.get(link)).text()
      const taken = await (await browser.post(`/moves/${id}/claim`, { code: 'evil-code', way: '' })).text()
      const shown = [before, taken].join('\n').replaceAll(/ value="[^"]*"/g, '')
      assert.doesNotMatch(shown, /[\u202e\u2066\u200b\u3164\u2800\u00ad]|\u{e0041}/u)
      const texts = [...shown.replaceAll(codes, '\0').matchAll(/Your\0(\w+)/g)].map(([, text = '']) => text)
      assert.deepEqual(texts.toSorted(), ['bank', 'guest', 'hook', 'kind', 'kind', 'name'])
    })

    it('keeps nothing when its owner follows a link to the sign-in past the page (MOV-12)', async () => {
      const idp = await provider()
      const { world, id } = await bait({ home: signInAt(idp) })
      const person = newPerson(idp)
      const browser = new TestBrowser(world.home)
      const begun = await browser.get(`/oauth/login/acme?actor=${id}&claim=evil-code&kept=all&keep=all&all=1`)
      const { url } = await idp.signIn(begun.headers.get('location') ?? '', person.sub)
      assert.equal((await browser.get(url.href)).status, 302)
      assert.deepEqual(await left(world.home, id), nothing)
    })
  })

  describe('an actor whose owner does not keep a relationship', () => {
    it('ends it at the peer, with its old secret (R-MOVE-11)', async () => {
      const world = await movingWorld(start)
      const alice = await world.old.createActor('alice@example.com')
      const [bob, carol] = await Promise.all([
        world.peers.createActor('bob@example.com'),
        world.peers.createActor('carol@example.com'),
      ])
      await Promise.all([relate(bob, [world.old, alice]), relate(carol, [world.old, alice])])
      const { leaving } = await world.move(alice)
      await world.landed(alice)
      const [, code = ''] = (leaving?.claim_url ?? '').split('?code=')
      const { readers } = await listed(world.home, alice.id, code)
      const keep = readers.filter(({ id }) => id === bob.id).map(({ key }) => key)
      assert.equal((await taking(world.home, alice.id, { code, keep })).status, 200)
      const { trusts } = (await world.peers.app.running()).parts
      await until(async () => (await trusts.find(carol.id, alice.id)) === null)
      await until(async () => (await trusts.find(bob.id, alice.id))?.baseuri === `${newUrl}/${alice.id}`)
      assert.ok(!world.network.saw(new RegExp(`^POST ${peerUrl}/${carol.id}/callbacks/moved`)))
      assert.deepEqual((await left(world.home, alice.id))['relationship'], [bob.id])
    })
  })
})

describe('a kind of record in an archive', () => {
  it('is kept by choice, depends on one that is, or cannot read the actor (MOV-12)', () => {
    const decided = {
      relationship: 'by choice',
      webhook: 'by choice',
      companion: 'by choice',
      invitation: 'by choice',
      rights: 'with its relationship',
      expiry: 'with its relationship',
      subscription_of_peer: 'with its relationship',
      subscription_to_peer: 'with its relationship',
      diff: 'with its relationship',
      missed_deletion: 'with its relationship',
      delivered: 'with its relationship',
      doubtful_copy: 'with its relationship',
      pending_callback: 'with its relationship',
      missing_data: 'with its relationship',
      notice: 'with its relationship',
      app: 'stays behind',
      passkey: 'stays behind',
      service_connection: 'stays behind',
      waiting_event: 'of the application, or with its webhook',
      alarm: 'of the application',
      attribute: 'of the application',
      change: 'content',
      activity: 'content',
      suspension: 'content',
      mail_choice: 'content',
      member: 'with its relationship',
    }
    assert.deepEqual(
      Object.keys(decided).toSorted(),
      recordKindsWith(builtInTables)
        .map(({ kind }) => kind)
        .toSorted(),
    )
  })
})
