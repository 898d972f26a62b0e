/** Groups: actors of a kind with members, whose roles decide what they may do at the group, here and at other services. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { z } from 'zod'
import type { ActorHandle } from '../../src/app/actor-handle.ts'
import { PeerRefused } from '../../src/app/peer-errors.ts'
import { troupe, type App } from '../../src/troupe.ts'
import { ownerOf } from '../support/kind-owner.ts'
import { PythonPeer } from '../support/python-peer.ts'
import { PythonSubscriber } from '../support/python-subscriptions.ts'
import { untilEqual } from '../support/until.ts'
import {
  forEachService,
  sqliteService,
  type StartOptions,
  type TestActor,
  type TestService,
} from '../support/service.ts'

const Event = z.object({ title: z.string() })

function declare(app: App) {
  const club = app.kind('club', {
    name: 'Sports club',
    lists: { events: { item: Event }, news: { item: z.object({ text: z.string() }) }, answers: { item: Event } },
    properties: { fee: { schema: z.int() }, secret: { schema: z.string() } },
    roles: {
      captain: {
        description: 'Runs the club',
        can: { read: '*', write: '*', delete: '*', actions: '*', methods: '*', files: '*' },
        manages: true,
      },
      member: {
        can: {
          read: ['events', 'news', 'fee'],
          append: ['answers'],
          actions: ['pay'],
          methods: ['count'],
          files: { read: ['photos/*'] },
        },
      },
      guest: { can: { read: ['events'] } },
    },
  })
  club.action('pay', { input: z.object({ cents: z.int() }) }, async ({ actor, caller, input }) => ({
    cents: input.cents,
    role: caller.kind === 'peer' ? ((await actor.members.get(caller.peerId))?.role ?? null) : null,
  }))
  club.action('close', () => ({ closed: true }))
  club.method('count', async ({ actor }) => ({ members: (await actor.members.list()).length }))
  return club
}

type Start = (options?: StartOptions) => Promise<TestService>

async function serving(start: Start) {
  let club: ReturnType<typeof declare> | undefined
  const service = await start({ listen: true, declare: (app) => void (club = declare(app)) })
  assert.ok(club !== undefined)
  const person = async (name: string): Promise<ActorHandle> => {
    const { id } = await service.createActor(`${name}@example.com`)
    const handle = await service.app.actors.get(id)
    assert.ok(handle !== undefined)
    return handle
  }
  return { service, club, person }
}

/** A club at one service, and a person at another. */
async function clubAndVisitor(start: Start) {
  const [home, abroad] = [await serving(start), await serving(start)]
  const ann = await home.person('ann')
  const rowing = await home.club.create({ name: 'Rowing Club', by: ann })
  const ben = await abroad.person('ben')
  const join = async (role: 'captain' | 'member' | 'guest', actor = ben) => {
    const { url } = await rowing.members.invite(role)
    await actor.trust.request(url)
  }
  const settled = async (): Promise<void> => {
    await home.service.settled()
    await abroad.service.settled()
  }
  return { home, abroad, ann, rowing, ben, join, settled, club: abroad.club }
}

const forbidden = (error: unknown): boolean => error instanceof PeerRefused && error.status === 403
const rolesIn = async (members: { list(): Promise<{ id: string; role: string }[]> }) =>
  new Map((await members.list()).map(({ id, role }) => [id, role]))

forEachService((start) => {
  describe('a group', () => {
    it('has the actor that created it as its first manager', async () => {
      const { ann, rowing, club } = await clubAndVisitor(start)
      const [first, ...others] = await rowing.members.list()
      assert.deepEqual(others, [])
      assert.equal(first?.id, ann.id)
      assert.equal(first.url, ann.url)
      assert.equal(first.role, 'captain')
      assert.equal(first.by, 'invitation')
      assert.deepEqual(
        (await ann.groups(club)).map(({ id, url }) => ({ id, url })),
        [{ id: rowing.id, url: rowing.url }],
      )
      assert.equal(await ann.peer(club, rowing.id).get('displayname'), 'Rowing Club')
    })

    it('is deleted when its first member cannot be added', async () => {
      const { club, person, service } = await serving(start)
      const ann = await person('ann')
      await service.app.actors.delete(ann.id)
      await assert.rejects(club.create({ id: 'lost', by: ann }), { code: 'actor_not_found' })
      assert.equal(await service.app.actors.get('lost'), undefined)
    })

    it('lets a member of another service do what the role allows, and nothing else', async () => {
      const { rowing, ben, join, club } = await clubAndVisitor(start)
      await rowing.list('events').append({ title: 'Regatta' })
      await rowing.set('fee', 25)
      await rowing.set('secret', 'hidden')
      await rowing.files.put('photos/start.txt', Buffer.from('start'), { type: 'text/plain' })
      await join('member')
      const peer = ben.peer(club, rowing.id)
      assert.deepEqual(await peer.list('events').items(), [{ title: 'Regatta' }])
      assert.equal(await peer.get('fee'), 25)
      assert.equal(await peer.list('answers').append({ title: 'Regatta' }), 0)
      assert.deepEqual(await peer.action('pay', { cents: 100 }), { cents: 100, role: 'member' })
      assert.deepEqual(await peer.method('count'), { members: 2 })
      assert.deepEqual(
        (await ben.groups(club)).map(({ id }) => id),
        [rowing.id],
      )
      await assert.rejects(peer.get('secret'), forbidden)
      await assert.rejects(peer.set('fee', 1), forbidden)
      await assert.rejects(peer.list('events').append({ title: 'Mine' }), forbidden)
      await assert.rejects(peer.list('answers').items(), forbidden)
      await assert.rejects(peer.action('close'), forbidden)
    })

    it('may do nothing at the actor of a member (ACL-30)', async () => {
      const { rowing, ben, ann, join } = await clubAndVisitor(start)
      await join('captain')
      for (const member of [ben, ann]) {
        await member.set('payments', 'private')
        await assert.rejects(rowing.peer(member.id).get('payments'), forbidden)
        await assert.rejects(rowing.peer(member.id).set('payments', 'changed'), forbidden)
        assert.equal((await member.trust.may(rowing.id, 'properties.read', 'payments')).allowed, false)
      }
    })

    it('applies a change of the role to the next request (ACL-28)', async () => {
      const { rowing, ben, join, club, settled } = await clubAndVisitor(start)
      await rowing.list('news').append({ text: 'Won' })
      await join('guest')
      const peer = ben.peer(club, rowing.id)
      await assert.rejects(peer.list('news').items(), forbidden)
      await rowing.members.setRole(ben.id, 'member')
      assert.deepEqual(await peer.list('news').items(), [{ text: 'Won' }])
      await rowing.members.setRole(ben.id, 'captain')
      await peer.set('fee', 30)
      assert.equal(await rowing.get('fee'), 30)
      await rowing.members.setRole(ben.id, 'guest')
      await assert.rejects(peer.list('news').items(), forbidden)
      await assert.rejects(peer.set('fee', 31), forbidden)
      await settled()
      assert.equal((await rowing.members.get(ben.id))?.by, 'application')
    })

    it('deletes from the copy of a member what a lower role may not read, and fetches what a higher one may', async () => {
      const { rowing, ben, join, settled } = await clubAndVisitor(start)
      await rowing.list('events').append({ title: 'Regatta' })
      await rowing.list('news').append({ text: 'Won' })
      await rowing.set('fee', 25)
      await rowing.set('secret', 'hidden')
      await join('member')
      await ben.subscribe(rowing.id)
      await settled()
      assert.deepEqual(Object.keys(await ben.remote(rowing.id).all()).toSorted(), [
        'displayname',
        'events',
        'fee',
        'news',
      ])
      await rowing.members.setRole(ben.id, 'guest')
      await settled()
      assert.deepEqual(Object.keys(await ben.remote(rowing.id).all()).toSorted(), ['displayname', 'events'])
      await rowing.members.setRole(ben.id, 'captain')
      await settled()
      assert.deepEqual(Object.keys(await ben.remote(rowing.id).all()).toSorted(), [
        'answers',
        'displayname',
        'events',
        'fee',
        'news',
        'secret',
      ])
    })

    it('ends every right with the membership', async () => {
      const { rowing, ben, join, club, settled } = await clubAndVisitor(start)
      await join('member')
      assert.equal(await rowing.members.remove(ben.id), true)
      assert.equal(await rowing.members.remove(ben.id), false)
      await settled()
      await assert.rejects(ben.peer(club, rowing.id).get('fee'), { code: 'not_found' })
      assert.deepEqual(await ben.groups(club), [])
      assert.equal(await rowing.members.get(ben.id), undefined)
    })

    it('approves a request for membership together with the role', async () => {
      const { rowing, ben, club, settled } = await clubAndVisitor(start)
      await ben.trust.request(rowing.url, 'club_member')
      assert.equal(await rowing.members.get(ben.id), undefined)
      await assert.rejects(ben.peer(club, rowing.id).list('events').items(), forbidden)
      await rowing.members.setRole(ben.id, 'guest')
      await settled()
      assert.deepEqual(await ben.peer(club, rowing.id).get('displayname'), 'Rowing Club')
      assert.equal((await rowing.members.get(ben.id))?.role, 'guest')
    })

    it('grants nothing to a request that was approved without a role', async () => {
      const { rowing, ben, club } = await clubAndVisitor(start)
      await ben.trust.request(rowing.url, 'club_member')
      await rowing.trust.approve(ben.id)
      await assert.rejects(ben.peer(club, rowing.id).get('displayname'), forbidden)
      assert.deepEqual([...(await rolesIn(rowing.members)).keys()].includes(ben.id), false)
    })

    it('sends a member on the Python library explicit patterns after the deletions, which its copy follows (ACL-28)', async () => {
      const { rowing, settled } = await clubAndVisitor(start)
      await rowing.list('events').append({ title: 'Regatta' })
      await rowing.list('news').append({ text: 'Won' })
      await rowing.set('fee', 25)
      const python = await PythonPeer.start()
      try {
        const subscriber = new PythonSubscriber(python)
        assert.ok((await python.request(rowing.url, 'club_member')) !== null)
        await rowing.members.setRole(python.id, 'guest')
        await settled()
        await subscriber.subscribe(rowing.id)
        const names = () => {
          const { values, lists } = subscriber.copyOf(rowing.id)
          return [...values.keys(), ...lists.keys()].toSorted()
        }
        assert.deepEqual(names(), ['displayname', 'events'])
        // The lists of its copy are known as lists after a full state.
        await rowing.members.setRole(python.id, 'member')
        await settled()
        await untilEqual(
          () => [...subscriber.copyOf(rowing.id).lists.keys()].toSorted(),
          () => ['events', 'news'],
        )
        const before = python.requests.length
        await rowing.members.setRole(python.id, 'guest')
        await settled()
        // Its copy loses what the role may no longer read before it learns of the narrower permissions.
        const sent = python.requests
          .slice(before)
          .map(({ method, path }) => `${method} ${path.split('/', 3).join('/')}`)
        assert.deepEqual(sent.slice(0, 2), ['POST /callbacks/subscriptions', 'POST /callbacks/permissions'])
        const pushed = python.requests.filter(({ path }) => path.startsWith('/callbacks/permissions/'))
        assert.deepEqual(
          pushed.map(({ body }) => (JSON.parse(body) as { data: object }).data),
          [
            {
              properties: {
                patterns: ['events', 'news', 'fee', 'fee/*', 'displayname', 'displayname/*'],
                operations: ['read'],
                grants: [{ pattern: 'answers', operations: ['append'] }],
              },
              files: { patterns: ['photos/*'], operations: ['read'] },
              methods: { allowed: ['count'] },
              actions: { allowed: ['pay'] },
              tools: null,
              resources: null,
              prompts: null,
            },
            {
              properties: { patterns: ['events', 'displayname', 'displayname/*'], operations: ['read'] },
              methods: null,
              actions: null,
              tools: null,
              resources: null,
              prompts: null,
            },
          ],
        )
        await untilEqual(
          () => [...subscriber.copyOf(rowing.id).lists.keys()].toSorted(),
          () => ['events'],
        )
      } finally {
        await python.close()
      }
    })

    it('keeps its last manager (ACL-27)', async () => {
      const { rowing, ann, ben, join } = await clubAndVisitor(start)
      await join('member')
      const conflict = { code: 'conflict' }
      await assert.rejects(rowing.members.setRole(ann.id, 'member'), conflict)
      await assert.rejects(rowing.members.remove(ann.id), conflict)
      await assert.rejects(rowing.trust.delete(ann.id), conflict)
      await rowing.members.setRole(ben.id, 'captain')
      await rowing.members.setRole(ann.id, 'member')
      await assert.rejects(rowing.members.remove(ben.id), conflict)
      assert.equal(await rowing.members.remove(ann.id), true)
      assert.deepEqual([...(await rolesIn(rowing.members))], [[ben.id, 'captain']])
    })

    it('keeps one of two managers that leave at the same time (ACL-27)', async () => {
      const { rowing, ann, ben, join } = await clubAndVisitor(start)
      await join('captain')
      const outcomes = await Promise.allSettled([rowing.members.remove(ann.id), rowing.members.remove(ben.id)])
      assert.deepEqual(outcomes.map(({ status }) => status).toSorted(), ['fulfilled', 'rejected'])
      assert.equal((await rowing.members.list()).length, 1)
    })

    it('refuses a leaving last manager with 409, who stays a member (ACL-27)', async () => {
      const { rowing, ann, home, settled } = await clubAndVisitor(start)
      await ann.trust.delete(rowing.id)
      await settled()
      assert.deepEqual([...(await rolesIn(rowing.members))], [[ann.id, 'captain']])
      const { url } = await rowing.members.invite('captain')
      const cora = await home.person('cora')
      await cora.trust.request(url)
      assert.equal(await rowing.members.remove(ann.id), true)
    })

    it('changes the permissions of a member by the role alone (ACL-29)', async () => {
      const { rowing, ben, join } = await clubAndVisitor(start)
      await join('guest')
      const conflict = { code: 'conflict' }
      const granted = { properties: { patterns: ['secret'], operations: ['read'] } } as const
      await assert.rejects(rowing.trust.grant(ben.id, granted), conflict)
      await assert.rejects(rowing.trust.withdraw(ben.id), conflict)
      await assert.rejects(rowing.trust.approve(ben.id, { until: new Date(Date.now() + 60_000) }), conflict)
      await assert.rejects(rowing.members.setRole(ben.id, 'chief' as never), { code: 'bad_request' })
      await assert.rejects(rowing.members.invite('chief' as never), { code: 'bad_request' })
      await assert.rejects(rowing.members.setRole('unknown', 'guest'), { code: 'not_found' })
      await assert.rejects(ben.members.list(), { code: 'not_found' })
      await assert.rejects(rowing.invitations.create({ relationship: 'club_member' }), { code: 'bad_request' })
    })
  })

  describe('a membership', () => {
    it('keeps its trust type, because another one would keep the role and its rights', async () => {
      const { home, rowing, ben, join } = await clubAndVisitor(start)
      await join('captain')
      await assert.rejects(rowing.trust.request(ben.url, 'friend'), { code: 'conflict' })
      const owner = await ownerOf(home.service, rowing)
      assert.equal((await owner.request('POST', '/trust', { url: ben.url, relationship: 'partner' })).status, 409)
      assert.equal((await rowing.trust.get(ben.id))?.relationship, 'club_member')
      assert.equal((await rowing.members.get(ben.id))?.role, 'captain')
    })

    it('does not begin with the rights of an earlier connection', async () => {
      const { rowing, ben } = await clubAndVisitor(start)
      await ben.trust.request(rowing.url, 'friend')
      await rowing.trust.approve(ben.id)
      await rowing.trust.grant(ben.id, { properties: { patterns: ['secret'], operations: ['read'] } })
      await assert.rejects(rowing.trust.request(ben.url, 'club_member'), { code: 'conflict' })
      assert.equal((await rowing.trust.get(ben.id))?.relationship, 'friend')
    })
  })

  describe('the members over HTTP', () => {
    const send = async (from: TestActor, method: string, path: string, body?: object) => {
      const answer = await from.request(method, path, body)
      const text = await answer.text()
      return { status: answer.status, body: (text === '' ? null : JSON.parse(text)) as Record<string, unknown> | null }
    }

    it('are listed, invited, promoted and removed by the owner of the group', async () => {
      const { home, rowing, ann, ben } = await clubAndVisitor(start)
      const owner = await ownerOf(home.service, rowing)
      const invited = await send(owner, 'POST', '/members/invitations', { role: 'guest', name: 'Ben' })
      assert.equal(invited.status, 201)
      assert.equal(invited.body?.['role'], 'guest')
      await ben.trust.request(String(invited.body['url']))
      assert.equal((await send(owner, 'PUT', `/members/${ben.id}`, { role: 'member' })).status, 204)
      const shown = await send(owner, 'GET', `/members/${ben.id}`)
      const { since, ...facts } = shown.body ?? {}
      assert.deepEqual(facts, { id: ben.id, url: ben.url, name: 'Ben', role: 'member', by: 'owner' })
      assert.ok(!Number.isNaN(Date.parse(String(since))))
      const { members } = (await send(owner, 'GET', '/members')).body as { members: { id: string; role: string }[] }
      assert.deepEqual(new Map(members.map(({ id, role }) => [id, role])), await rolesIn(rowing.members))
      assert.equal(members.length, 2)
      assert.equal((await send(owner, 'DELETE', `/members/${ben.id}`)).status, 204)
      assert.equal((await send(owner, 'DELETE', `/members/${ben.id}`)).status, 404)
      assert.equal((await send(owner, 'GET', `/members/${ben.id}`)).status, 404)
      assert.deepEqual([...(await rolesIn(rowing.members)).keys()], [ann.id])
    })

    it('keep the last manager, and refuse unknown roles and members (ACL-27, ACL-29)', async () => {
      const { home, rowing, ann } = await clubAndVisitor(start)
      const owner = await ownerOf(home.service, rowing)
      assert.equal((await send(owner, 'DELETE', `/members/${ann.id}`)).status, 409)
      assert.equal((await send(owner, 'PUT', `/members/${ann.id}`, { role: 'guest' })).status, 409)
      assert.equal((await send(owner, 'DELETE', `/trust/club_member/${ann.id}`)).status, 409)
      assert.equal((await send(owner, 'PUT', `/trust/club_member/${ann.id}`, { approved: false })).status, 409)
      const rights = { properties: { patterns: ['fee'], operations: ['read'] } }
      assert.equal((await send(owner, 'PUT', `/trust/club_member/${ann.id}/permissions`, rights)).status, 409)
      assert.equal((await send(owner, 'DELETE', `/trust/club_member/${ann.id}/permissions`)).status, 409)
      assert.equal((await send(owner, 'PUT', `/members/${ann.id}`, { role: 'chief' })).status, 400)
      assert.equal((await send(owner, 'POST', '/members/invitations', { role: 'chief' })).status, 400)
      assert.equal((await send(owner, 'POST', '/members/invitations', {})).status, 400)
      assert.equal((await send(owner, 'PUT', '/members/unknown', { role: 'guest' })).status, 404)
      assert.deepEqual([...(await rolesIn(rowing.members))], [[ann.id, 'captain']])
    })

    it('are closed to members and strangers, and do not exist for a person', async () => {
      const { home, abroad, rowing, join, ben } = await clubAndVisitor(start)
      await join('captain')
      const { parts } = await abroad.service.app.running()
      const record = parts.trusts.shown(await parts.trusts.require(ben.id, rowing.id, null), 'owner')
      const headers = { authorization: `Bearer ${record.secret}` }
      assert.equal((await home.service.request(`/${rowing.id}/members`, { headers })).status, 403)
      assert.equal((await home.service.request(`/${rowing.id}/members`)).status, 401)
      const person = await home.service.createActor('dora@example.com')
      for (const [method, path, body] of [
        ['GET', '/members', undefined],
        ['GET', '/members/x', undefined],
        ['POST', '/members/invitations', { role: 'captain' }],
        ['PUT', '/members/x', { role: 'captain' }],
        ['DELETE', '/members/x', undefined],
      ] as const)
        assert.equal((await send(person, method, path, body)).status, 404, `${method} ${path}`)
    })
  })
})

describe('the declaration of roles', () => {
  const application = () => troupe({ type: 'urn:actingweb:example.com:clubs', env: {} })
  const can = { read: ['events'] }
  const declarations: readonly (readonly [string, unknown, RegExp])[] = [
    ['without a role', {}, /at least one role/],
    ['without a role that manages', { member: { can } }, /manages: true/],
    ['with an invalid name', { 'The Boss': { can, manages: true } }, /lower-case/],
    ['with an unknown member', { boss: { can, manages: true, may: {} } }, /"may" does not exist/],
    ['with an unknown right', { boss: { can: { reads: '*' }, manages: true } }, /"reads" does not exist/],
    [
      'with an unknown right on files',
      { boss: { can: { files: { append: '*' } }, manages: true } },
      /"append" does not/,
    ],
    ['with a name outside of an array', { boss: { can: { read: 'events' }, manages: true } }, /array of names/],
    ['with a wildcard among names', { boss: { can: { read: ['*'] }, manages: true } }, /array of names/],
  ]
  for (const [title, roles, message] of declarations)
    it(`is refused ${title}`, () => {
      assert.throws(() => application().kind('club', { name: 'Club', roles: roles as never }), message)
    })

  it('is refused with an action that is not declared', async () => {
    const start = sqliteService()
    const declareClub = (app: App): void => {
      app.kind('club', { name: 'Club', roles: { boss: { can: { actions: ['pya'] }, manages: true } } })
    }
    await assert.rejects(start({ declare: declareClub }), /"pya"/)
  })

  it('is refused beside a trust type of the same name', () => {
    const app = application()
    app.trustType({ name: 'club_member', display_name: 'Member', description: '', permissions: {} })
    assert.throws(
      () => app.kind('club', { name: 'Club', roles: { boss: { can: {}, manages: true } } }),
      /"club_member": the name is declared already/,
    )
  })
})
