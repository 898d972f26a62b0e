/** Roles of members while statements fail, processes compete, deployments change roles, and groups move. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { ActorHandle } from '../../src/app/actor-handle.ts'
import type { RoleDeclaration } from '../../src/app/kinds/roles.ts'
import type { App } from '../../src/troupe.ts'
import { archiveOf, linesOf, restore } from '../support/archives.ts'
import { RecordingPeer, relateTo, type TestRelationship } from '../support/recording-peer.ts'
import { forEachService, type StartOptions, type TestActor, type TestService } from '../support/service.ts'
import type { Store } from '../../src/store/store.ts'
import { bound, faulty, type FaultyStore } from '../support/stores.ts'
import { until } from '../support/until.ts'

const declareWith =
  (player: readonly string[]) =>
  (app: App): void => {
    const list = (name: string) => app.list(name, { item: {} })
    list('unrelated')
    app.kind('club', {
      name: 'Club',
      lists: { games: { item: {} }, posts: { item: {} } },
      properties: { fee: { schema: {} } },
      roles: {
        captain: { can: { read: '*', write: '*' }, manages: true },
        player: { can: { read: player } },
        guest: { can: {} },
      },
    })
  }

interface Team {
  readonly service: TestService
  readonly group: ActorHandle
  readonly remote: RecordingPeer
  /** The member at `remote`, who subscribed, as it calls the group. */
  readonly member: TestRelationship
  /** The messages to the member: `permissions`, or the type or data of a callback. */
  readonly received: () => unknown[]
  readonly close: () => Promise<void>
}

forEachService((start) => {
  const deploy = (player: readonly string[], options: StartOptions = {}) =>
    start({ declare: declareWith(player), ...options })

  /** A group with one player at another service. */
  async function team(options: StartOptions = {}): Promise<Team> {
    const service = await deploy(['games', 'posts'], options)
    const { parts } = await service.app.running()
    const { actor } = await parts.actors.create({ kind: 'club' })
    const group = await service.app.actors.get(actor.id)
    assert.ok(group !== undefined)
    await group.set('fee', 5)
    await group.list('posts').append('won')
    const remote = await new RecordingPeer().start()
    const wanted = { baseuri: `${remote.url}/member`, relationship: 'club_member' }
    const member = await relateTo(service, { id: actor.id } as TestActor, wanted)
    await group.members.setRole(member.peerId, 'player')
    await member.subscribe({ granularity: 'high' })
    await service.settled()
    remote.received.length = 0
    const received = () =>
      remote.received.map(({ path, body }) =>
        path.includes('/permissions/') ? 'permissions' : (body?.['type'] ?? body?.['data']),
      )
    return { service, group, remote, member, received, close: () => remote.stop() }
  }

  const statusOf = async ({ member }: Team, name: string) => (await member.request('GET', `/properties/${name}`)).status

  describe('a change of a role', () => {
    it('deletes what may no longer be read before it announces the permissions', async () => {
      const world = await team()
      await world.group.members.setRole(world.member.peerId, 'guest')
      assert.equal(await statusOf(world, 'posts'), 403)
      await until(() => world.remote.received.length >= 2)
      const kinds = world.received().map((one) => (one === 'permissions' ? one : 'deletion'))
      assert.deepEqual(kinds.toSorted(), ['deletion', 'permissions'])
      await world.close()
    })

    it('happens entirely or not at all when one of its statements fails', async () => {
      for (const matching of [
        /INSERT INTO group_member /,
        /INSERT INTO permission_override /,
        /INSERT INTO notice /,
        /INSERT INTO diff /,
      ]) {
        let faults: FaultyStore | undefined
        const world = await team({ wrapStore: (store) => (faults = faulty(store)) })
        faults?.plan({ matching, times: 1 })
        await assert.rejects(world.group.members.setRole(world.member.peerId, 'guest'), { code: 'store_unavailable' })
        assert.equal(faults?.failed, 1, String(matching))
        faults?.plan()
        assert.equal((await world.group.members.get(world.member.peerId))?.role, 'player')
        assert.equal(await statusOf(world, 'posts'), 200)
        await world.service.settled()
        assert.deepEqual(world.received(), [])
        await world.group.members.setRole(world.member.peerId, 'guest')
        assert.equal(await statusOf(world, 'posts'), 403)
        await until(() => world.received().includes('permissions'))
        await world.close()
      }
    })

    it('gives no role to a request that arrives between its steps, because no one has approved the request', async () => {
      let arrive: (() => Promise<unknown>) | undefined
      const wrapStore = (store: Store): Store => ({
        ...bound(store),
        writeActor: async (actorId, work, origin) => {
          const next = arrive
          arrive = undefined
          await next?.()
          return store.writeActor(actorId, work, origin)
        },
      })
      const world = await team({ wrapStore })
      const late = { relationship: 'club_member', approved: false, peerId: 'late' }
      arrive = () => relateTo(world.service, { id: world.group.id } as TestActor, late)
      await assert.rejects(world.group.members.setRole('late', 'captain'), { code: 'not_found' })
      assert.equal((await world.group.trust.get('late'))?.approved, false)
      assert.equal(await world.group.members.get('late'), undefined)
      await world.close()
    })

    it('keeps one manager when two processes demote the two at once', async () => {
      const world = await team()
      const other = await deploy(['games', 'posts'], { database: world.service.databaseUrl })
      const second = await relateTo(world.service, { id: world.group.id } as TestActor, { relationship: 'club_member' })
      const elsewhere = await other.app.actors.get(world.group.id)
      assert.ok(elsewhere !== undefined)
      for (let round = 0; round < 5; round += 1) {
        const [one, two] = [world.member.peerId, second.peerId]
        await world.group.members.setRole(one, 'captain')
        await world.group.members.setRole(two, 'captain')
        const demotions = [world.group.members.setRole(one, 'guest'), elsewhere.members.setRole(two, 'guest')]
        const outcomes: PromiseSettledResult<void>[] = await Promise.allSettled(demotions)
        assert.deepEqual(outcomes.map(({ status }) => status).toSorted(), ['fulfilled', 'rejected'])
        const roles = (await world.group.members.list()).map(({ role }) => role)
        assert.deepEqual(roles.toSorted(), ['captain', 'guest'])
      }
      await world.close()
    })
  })

  describe('a deployment that declares a role differently', () => {
    const cases: readonly (readonly [string, readonly string[], Readonly<Record<string, number>>])[] = [
      ['fewer', ['games'], { games: 200, posts: 403, fee: 403 }],
      ['more', ['games', 'posts', 'fee'], { games: 200, posts: 200, fee: 200 }],
      ['others', ['fee'], { games: 403, posts: 403, fee: 200 }],
    ]
    for (const [what, player, statuses] of cases)
      it(`gives its members the rights of now: ${what}`, async () => {
        const world = await team()
        await world.service.close()
        const next = await deploy(player, { database: world.service.databaseUrl })
        await next.settled()
        const member: TestRelationship = {
          ...world.member,
          request: (method, path) =>
            next.request(`/${world.group.id}${path}`, {
              method,
              headers: { authorization: `Bearer ${world.member.secret}` },
            }),
        }
        for (const [name, status] of Object.entries(statuses))
          assert.equal(await statusOf({ ...world, member }, name), status, name)
        await until(() => world.received().includes('permissions'))
        await world.close()
      })
  })

  /** Calls the next deployment as the member of the first one. */
  const statusAt = async (next: TestService, { group, member }: Team, name: string): Promise<number> => {
    const headers = { authorization: `Bearer ${member.secret}` }
    return (await next.request(`/${group.id}/properties/${name}`, { headers })).status
  }

  async function redeploy(from: TestService, declare: (app: App) => void): Promise<TestService> {
    await from.close()
    const next = await start({ declare, database: from.databaseUrl })
    await next.settled()
    return next
  }

  const club = (app: App, roles?: Record<string, RoleDeclaration>): void => {
    const lists = { games: { item: {} }, posts: { item: {} } }
    app.kind('club', {
      name: 'Club',
      lists,
      properties: { fee: { schema: {} } },
      ...(roles === undefined ? {} : { roles }),
    })
  }
  const boss: RoleDeclaration = { can: {}, manages: true }

  describe('a deployment without roles', () => {
    it('takes the rights of their members, and a later one with the roles gives them back', async () => {
      const world = await team()
      const without = await redeploy(world.service, (app) => club(app))
      for (const name of ['posts', 'games']) assert.equal(await statusAt(without, world, name), 403, name)
      const again = await redeploy(without, declareWith(['games']))
      assert.equal(await statusAt(again, world, 'games'), 200)
      assert.equal(await statusAt(again, world, 'posts'), 403)
      await world.close()
    })

    it('takes the rights of a role that it no longer declares, beside other roles', async () => {
      const world = await team()
      const next = await redeploy(world.service, (app) => club(app, { boss }))
      for (const name of ['posts', 'games']) assert.equal(await statusAt(next, world, name), 403, name)
      await world.close()
    })

    it('leaves a kind that it does not declare, and changes the groups of others', async () => {
      const world = await team()
      const both = await redeploy(world.service, (app) => {
        club(app, { boss, player: { can: { read: ['games', 'posts'] } } })
        app.kind('band', {
          name: 'Band',
          lists: { songs: { item: {} } },
          roles: { boss, player: { can: { read: ['songs'] } } },
        })
      })
      const { actor } = await (await both.app.running()).parts.actors.create({ kind: 'band', id: 'zz-the-last-group' })
      const band = (await both.app.actors.get(actor.id)) ?? assert.fail()
      await band.list('songs').append('first')
      const player = await relateTo(both, { id: actor.id } as TestActor, { relationship: 'band_member' })
      await band.members.setRole(player.peerId, 'player')
      assert.equal((await player.request('GET', '/properties/songs')).status, 200)
      const next = await redeploy(both, (app) => {
        app.kind('band', { name: 'Band', lists: { songs: { item: {} } }, roles: { boss, player: { can: {} } } })
      })
      const of = { ...world, group: band, member: player }
      assert.equal(await statusAt(next, of, 'songs'), 403)
      const back = await redeploy(next, (app) => club(app, { boss, player: { can: { read: ['games'] } } }))
      assert.equal(await statusAt(back, world, 'games'), 200)
      assert.equal(await statusAt(back, world, 'posts'), 403)
      await world.close()
    })

    it('renews the others while one group is suspended, and that group when it is resumed', async () => {
      const world = await team()
      const { parts } = await world.service.app.running()
      const act = { operator: 'test', device: '' }
      await parts.reports.suspend(world.group.id, act, '')
      const next = await deploy(['games'], { database: world.service.databaseUrl })
      await next.settled()
      await (await next.app.running()).parts.reports.resume(world.group.id, act)
      ;(await next.app.running()).parts.jobs.wake()
      await next.settled()
      assert.equal(await statusAt(next, world, 'games'), 200)
      assert.equal(await statusAt(next, world, 'posts'), 403)
      await world.close()
    })
  })

  describe('an archive of a group', () => {
    it('brings the members back with the rights that their roles have now', async () => {
      const world = await team()
      const text = await archiveOf(world.service, world.group.id)
      const next = await redeploy(world.service, declareWith(['games']))
      assert.equal(await statusAt(next, world, 'posts'), 403)
      await next.app.actors.delete(world.group.id)
      await restore(next, text)
      assert.equal(await statusAt(next, world, 'games'), 200)
      assert.equal(await statusAt(next, world, 'posts'), 403)
      await world.close()
    })

    it('brings the members with their roles and rights back', async () => {
      const world = await team()
      const text = await archiveOf(world.service, world.group.id)
      const members = linesOf(text).filter(({ kind }) => kind === 'member')
      assert.deepEqual(
        members.map(({ peer_id: id, role, given_by: by }) => [id, role, by]),
        [[world.member.peerId, 'player', 'application']],
      )
      await world.service.app.actors.delete(world.group.id)
      await restore(world.service, text)
      const back = await world.service.app.actors.get(world.group.id)
      assert.equal((await back?.members.get(world.member.peerId))?.role, 'player')
      assert.equal(await statusOf(world, 'posts'), 200)
      assert.equal(await statusOf(world, 'fee'), 403)
      await world.close()
    })
  })
})
