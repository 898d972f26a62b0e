/* cspell:ignore Mitglieder Mitglied Gruppe erhält keinen Zugriff Konto veröffentlicht Rolle verwaltet behält letzte sendet Ihnen werden */
/** The pages of groups: the members with their roles, the relationship of a member, and invitations to a group. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { z } from 'zod'
import type { ActorHandle } from '../../src/app/actor-handle.ts'
import type { GroupHandle } from '../../src/app/kinds/group-handle.ts'
import type { App } from '../../src/troupe.ts'
import { ownerOf, PassphraseBrowser } from '../support/kind-owner.ts'
import { relateTo } from '../support/recording-peer.ts'
import { forEachService, type StartOptions, type TestActor, type TestService } from '../support/service.ts'
import { asBrowser, OwnersBrowser } from '../support/sessions.ts'

type Role = 'captain' | 'member' | 'guest'

const german = { 'accept-language': 'de' }

function declare(app: App) {
  const club = app.kind('club', {
    name: 'Sports club',
    lists: { news: { item: z.string() }, answers: { item: z.string() } },
    properties: { fee: { schema: z.int() } },
    roles: {
      captain: { description: 'Runs the club', can: { read: '*', write: '*', actions: '*' }, manages: true },
      member: { can: { read: ['news', 'fee'], append: ['answers'], actions: ['pay'] } },
      guest: { can: {} },
    },
  })
  club.action('pay', () => ({ paid: true }))
  return club
}

const lastManager = 'The last manager keeps the role. Give another member a role that manages first.'
const oneWay = 'The group gets no access to your account. It only sends you what it publishes.'

forEachService((start) => {
  async function serving(options: StartOptions = {}) {
    let club: ReturnType<typeof declare> | undefined
    const service = await start({ listen: true, declare: (app) => void (club = declare(app)), ...options })
    return { service, create: (by?: ActorHandle) => club?.create({ name: 'Rowing Club', ...(by && { by }) }) }
  }

  /** A club with Ann as its only manager, and the browser of its owner. */
  async function open() {
    const { service, create } = await serving()
    const ann = await service.createActor('ann@example.com')
    const rowing = (await create(await handleOf(service, ann))) ?? assert.fail()
    const owner = await ownerOf(service, rowing)
    return { service, ann, rowing, owner, browser: new PassphraseBrowser(service, owner) }
  }

  async function handleOf(service: TestService, { id }: TestActor): Promise<ActorHandle> {
    return (await service.app.actors.get(id)) ?? assert.fail()
  }

  const rolesIn = async (group: GroupHandle<Role>): Promise<Record<string, string>> =>
    Object.fromEntries((await group.members.list()).map(({ id, role }) => [id, role]))

  const linkIn = (page: string): string =>
    /<code id="invitation-link">([^<]+)<\/code>/.exec(page)?.[1] ?? assert.fail(page)

  const textOf = async (answer: Promise<Response>, status = 200): Promise<string> => {
    const page = await (await answer).text()
    assert.equal((await answer).status, status, page)
    return page
  }

  describe('the page of the members of a group', () => {
    it('lists them with their roles and who gave them, and what each role grants', async () => {
      const { rowing, browser, service, owner } = await open()
      const ben = await relateTo(service, owner, { relationship: 'club_member' })
      await rowing.members.setRole(ben.peerId, 'member')
      const page = await textOf(browser.get('/members'))
      assert.match(page, /<strong>captain<\/strong> since .+Invited/)
      assert.match(page, /<strong>member<\/strong> since .+Given by the application/)
      assert.match(page, /<p><strong>captain: Runs the club<\/strong><\/p>/)
      assert.match(page, /<p><strong>member<\/strong><\/p>\s*<dl class="rights">.+“news”.+Can add to “answers”/)
      assert.match(page, /The group gets no access to its members\./)
      assert.match(page, new RegExp(lastManager))
      assert.doesNotMatch(await textOf(browser.get('/members', german)), /The group|Given by/)
      const one = await textOf(browser.get(`/members?member=${ben.peerId}`))
      assert.doesNotMatch(one, /<strong>captain<\/strong> since/)
      assert.match(one, /Show all members/)
      assert.match(await textOf(browser.get('/trust')), /www\/members">Members<\/a>/)
    })

    it('gives a role, which applies to the next request, and removes a member', async () => {
      const { rowing, browser, service, owner, ann } = await open()
      await rowing.set('fee', 25)
      const ben = await relateTo(service, owner, { relationship: 'club_member' })
      await rowing.members.setRole(ben.peerId, 'guest')
      assert.equal((await ben.request('GET', '/properties/fee')).status, 403)
      const given = await browser.send('/members', { action: 'role', member: ben.peerId, role: 'member' })
      assert.equal(given.status, 302)
      assert.match(given.headers.getSetCookie().join(), /=roleGiven;/)
      assert.equal((await ben.request('GET', '/properties/fee')).status, 200)
      assert.equal((await rowing.members.get(ben.peerId))?.by, 'owner')
      const removed = await browser.send('/members', { action: 'remove', member: ben.peerId })
      assert.match(removed.headers.getSetCookie().join(), /=memberRemoved;/)
      assert.deepEqual(await rolesIn(rowing), { [ann.id]: 'captain' })
      assert.match(
        await textOf(browser.send('/members', { action: 'remove', member: ben.peerId }), 409),
        /This member left the group meanwhile\./,
      )
    })

    it('explains in each language why the last manager keeps the role (ACL-27)', async () => {
      const { rowing, browser, ann } = await open()
      const forms = [
        { action: 'role', member: ann.id, role: 'guest' },
        { action: 'remove', member: ann.id },
      ]
      for (const form of forms) {
        assert.match(await textOf(browser.send('/members', form), 409), new RegExp(`id="error"[^>]*>${lastManager}`))
        assert.match(
          await textOf(browser.send('/members', form, german), 409),
          /id="error"[^>]*>Das letzte Mitglied, das die Gruppe verwaltet, behält seine Rolle\./,
        )
      }
      const ended = await textOf(browser.send(`/trust/${ann.id}`, { action: 'end' }), 409)
      assert.match(ended, new RegExp(lastManager))
      assert.deepEqual(await rolesIn(rowing), { [ann.id]: 'captain' })
    })

    it('approves a request with a role, and gives none before', async () => {
      const { rowing, browser, service, owner } = await open()
      const ben = await relateTo(service, owner, { relationship: 'club_member', approved: false })
      assert.match(await textOf(browser.get('/members')), /<h2 id="requests">1 request<\/h2>[^]+No role yet/)
      const peer = await textOf(browser.get(`/trust/${ben.peerId}`))
      assert.match(peer, /gets no access until you give a role\./)
      assert.match(peer, new RegExp(`href="[^"]+/members\\?member=${ben.peerId}">Choose a role</a>`))
      assert.doesNotMatch(peer, /value="approve"/)
      assert.equal((await browser.send('/members', { action: 'role', member: ben.peerId, role: 'guest' })).status, 302)
      assert.equal((await rowing.members.get(ben.peerId))?.role, 'guest')
      assert.doesNotMatch(await textOf(browser.get('/members')), /No role yet/)
    })

    it('refuses unknown roles, days, long names and forms, and changes nothing', async () => {
      const { rowing, browser, ann } = await open()
      const refusals: readonly (readonly [Record<string, string>, RegExp])[] = [
        [{ action: 'role', member: ann.id, role: 'chief' }, /Choose one of the roles\./],
        [{ action: 'role', member: ann.id }, /Choose one of the roles\./],
        [{ action: 'invite', role: 'chief' }, /Choose one of the roles\./],
        [{ action: 'invite', role: 'guest', nickname: 'n'.repeat(81) }, /Use at most 80 characters\./],
        [{ action: 'invite', role: 'guest', days: '365' }, /days does not exist in the form/],
        [{ action: 'promote' }, /the action is unknown/],
        [{}, /the action is unknown/],
      ]
      for (const [form, shown] of refusals)
        assert.match(await textOf(browser.send('/members', form), 400), shown, JSON.stringify(form))
      assert.deepEqual(await rolesIn(rowing), { [ann.id]: 'captain' })
      assert.deepEqual(await rowing.invitations.list(), [])
    })

    it('does not exist for a person', async () => {
      const { service, ann } = await open()
      const browser = await OwnersBrowser.open(service, ann)
      assert.equal((await browser.get('/members')).status, 404)
      for (const action of ['role', 'remove', 'invite', ''])
        assert.equal((await browser.send('/members', { action, member: 'none', role: 'guest' })).status, 404, action)
      assert.doesNotMatch(await (await browser.get('/trust')).text(), /www\/members/)
    })
  })

  describe('the page of a relationship with a member', () => {
    it('has no form that the service refuses for members, and says where the role is changed (ACL-29)', async () => {
      const { rowing, browser, service, owner } = await open()
      const ben = await relateTo(service, owner, { relationship: 'club_member' })
      await rowing.members.setRole(ben.peerId, 'member')
      await rowing.set('fee', 25)
      for (const query of ['', '?edit=access']) {
        const page = await textOf(browser.get(`/trust/${ben.peerId}${query}`))
        assert.doesNotMatch(
          page,
          /\/permissions"|edit=access|\/access"|value="(withdraw|approve_until|grant_until|withdraw_grant|level|follow)"/,
        )
        assert.match(page, /The role of a member alone decides what they can access\./)
        assert.match(page, new RegExp(`href="[^"]+/members\\?member=${ben.peerId}">Change the role</a>`))
        assert.doesNotMatch(page, /customized by you/)
        assert.match(page, /value="end"/)
      }
      const asked = await textOf(browser.get(`/trust/${ben.peerId}?ask=properties.read&target=fee`))
      assert.match(
        asked,
        /The role of the member allows it\. ?<\/p><p class="fine">To change this, give the member another role\./,
      )
      const before = await rowing.trust.list()
      const forms: readonly (readonly [string, Record<string, string>])[] = [
        ['', { action: 'withdraw' }],
        ['', { action: 'approve_until', until: '2099-01-01T00:00' }],
        ['', { action: 'withdraw_grant', category: 'properties', pattern: 'answers' }],
        ['', { action: 'level', trust_type: 'friend' }],
        ['', { action: 'level', trust_type: 'friend', step: 'send' }],
        ['/permissions', { step: 'preview', 'properties.patterns': 'x' }],
        ['/permissions', { step: 'save', 'properties.patterns': 'x' }],
        ['/permissions', { step: 'reset' }],
        ['/access', { 'set:properties:fee': 'block' }],
      ]
      for (const [path, form] of forms)
        assert.match(
          await textOf(browser.send(`/trust/${ben.peerId}${path}`, form), 409),
          /id="error"[^>]*>The role of a member alone decides/,
          `${path} ${JSON.stringify(form)}`,
        )
      assert.deepEqual(await rowing.trust.list(), before)
    })
  })

  describe('an invitation to a group', () => {
    it('names the group, the role, its rights, and that the group gets nothing, at both services (ACL-31)', async () => {
      const { rowing, browser, service: home } = await open()
      const abroad = (await serving({ declare: () => undefined })).service
      const ben = await abroad.createActor('ben@example.com')
      const bens = await OwnersBrowser.open(abroad, ben)
      const created = await textOf(browser.send('/members', { action: 'invite', role: 'member', nickname: 'Ben' }))
      const link = linkIn(created)
      assert.match(created, /can connect as <strong>member<\/strong>/)
      assert.doesNotMatch(await textOf(browser.get('/members')), new RegExp(link))
      const inviteOf = (headers: Record<string, string>) => home.request(new URL(link).pathname, { headers })
      const invited = await textOf(inviteOf(asBrowser))
      const review = await textOf(bens.get(`/trust/new?invitation=${encodeURIComponent(link)}`))
      for (const [page, name] of [
        [invited, 'Rowing Club'],
        [review, `Rowing Club \\(${new URL(link).host}\\)`],
      ] as const) {
        assert.match(
          page,
          new RegExp(
            `You become a member of <strong>${name}</strong> \\(Sports club\\) with the role <strong>member</strong>\\.`,
          ),
        )
        assert.match(page, /Can view “news”.+Can add to “answers”.+“pay”/s)
        assert.match(page, /They do what the group defines, which can include editing and deleting its data\./)
        assert.ok(page.includes(oneWay))
        assert.doesNotMatch(page, /will be able to|your data\./)
      }
      const { membership } = (await (await inviteOf({ accept: 'application/json' })).json()) as { membership: object }
      assert.deepEqual(membership, {
        kind: 'Sports club',
        role: 'member',
        description: '',
        permissions: {
          properties: {
            patterns: ['news', 'fee', 'fee/*', 'displayname', 'displayname/*'],
            operations: ['read'],
            grants: [{ pattern: 'answers', operations: ['append'] }],
          },
          methods: null,
          actions: { allowed: ['pay'] },
          tools: null,
          resources: null,
          prompts: null,
        },
      })
      const germanWay = 'Die Gruppe erhält keinen Zugriff auf Ihr Konto. Sie sendet Ihnen nur, was sie veröffentlicht.'
      const germanReview = bens.get(`/trust/new?invitation=${encodeURIComponent(link)}`, german)
      for (const page of [await textOf(inviteOf({ ...asBrowser, ...german })), await textOf(germanReview)]) {
        assert.match(page, /Sie werden Mitglied von <strong>Rowing Club/)
        assert.ok(page.includes(germanWay))
      }
      const sent = await bens.send('/trust/new', { ...fieldsIn(review), step: 'send' })
      assert.equal(sent.status, 302)
      assert.match(sent.headers.getSetCookie().join(), /=connected;/)
      assert.equal((await rowing.members.get(ben.id))?.role, 'member')
      assert.equal((await rowing.members.get(ben.id))?.name, 'Ben')
      await ben.request('PUT', '/properties/diary', '"private"')
      await assert.rejects(rowing.peer(ben.id).get('diary'), { status: 403 })
    })

    it('shows what the group would get where its type grants something, and is confirmed as it was reviewed (ACL-31)', async () => {
      const { rowing, browser } = await open()
      const withType = (app: App): void =>
        void app.trustType({
          name: 'club_member',
          display_name: 'Club',
          description: 'A club',
          permissions: { properties: { patterns: ['payments'], operations: ['read'] } },
        })
      const abroad = (await serving({ declare: withType })).service
      const ben = await abroad.createActor('ben@example.com')
      const bens = await OwnersBrowser.open(abroad, ben)
      const link = linkIn(await textOf(browser.send('/members', { action: 'invite', role: 'guest' })))
      const review = await textOf(bens.get(`/trust/new?invitation=${encodeURIComponent(link)}`))
      assert.ok(!review.includes(oneWay))
      assert.match(review, /This connection gives the group more than a membership does:.+Can view “payments”/s)
      const [first] = await rowing.invitations.list()
      await rowing.invitations.revoke(first?.id ?? '')
      const late = await bens.send('/trust/new', { ...fieldsIn(review), step: 'send' })
      assert.equal(late.status, 409)
      assert.match(await late.text(), /This access changed while you were deciding\. Review it again\./)
      assert.deepEqual(await (await ben.request('GET', '/trust')).json(), [])
    })

    it('is needed to become a member by the page', async () => {
      const { rowing, service } = await open()
      const ben = await service.createActor('ben@example.com')
      const bens = await OwnersBrowser.open(service, ben)
      const form = { peer_url: rowing.url, trust_type: 'club_member' }
      for (const step of ['review', 'send'])
        assert.match(
          await textOf(bens.send('/trust/new', { ...form, step }), 400),
          /A membership begins with an invitation of the group\./,
        )
    })
  })

  const fieldsIn = (page: string): Record<string, string> =>
    Object.fromEntries(
      [...page.matchAll(/type="hidden" name="([^"]+)" value="([^"]*)"/g)].map(([, name = '', value = '']) => [
        name,
        value,
      ]),
    )
})
