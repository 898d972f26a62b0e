/** A change of the role of a member, while the store fails at each of its statements. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { z } from 'zod'
import type { Kind } from '../../src/app/kinds/kind.ts'
import { dumpOf } from '../support/invariants.ts'
import { RecordingPeer, relateTo } from '../support/recording-peer.ts'
import { forEachService } from '../support/service.ts'
import { ownerOf } from '../support/kind-owner.ts'
import { faulty, type FaultyStore } from '../support/stores.ts'

type Role = 'captain' | 'member' | 'guest'

forEachService((start) => {
  describe('a change of the role of a member', () => {
    it('is complete or changes nothing, whichever statement fails, and deletes before it narrows (ACL-28)', async () => {
      let store: FaultyStore | undefined
      let club: Kind<never, never, Role> | undefined
      const peer = await new RecordingPeer().start()
      try {
        const service = await start({
          listen: true,
          wrapStore: (opened) => (store = faulty(opened)),
          declare: (app) => {
            club = app.kind('club', {
              name: 'Club',
              lists: { news: { item: z.string() } },
              properties: { fee: { schema: z.int() } },
              roles: {
                captain: { can: { read: '*' }, manages: true },
                member: { can: { read: ['news', 'fee'] } },
                guest: { can: {} },
              },
            }) as never
          },
        })
        assert.ok(club !== undefined && store !== undefined)
        const rowing = await club.create({ name: 'Rowing Club' })
        await rowing.set('fee', 25)
        await rowing.list('news').append('Won')
        const owner = await ownerOf(service, rowing)
        const member = await relateTo(service, owner, { relationship: 'club_member', baseuri: `${peer.url}/m` })
        await rowing.members.setRole(member.peerId, 'member')
        await member.subscribe({ granularity: 'high' })
        await service.settled()
        peer.received.length = 0
        const before = await dumpOf(service.databaseUrl)
        const change = () => owner.request('PUT', `/members/${member.peerId}`, { role: 'guest' })
        for (let at = 1; ; at++) {
          store.plan({ at })
          const answer = await change()
          const isWhole = store.failed === 0
          store.plan()
          if (isWhole) {
            assert.equal(answer.status, 204)
            assert.ok(at > 6, `${at} statements`)
            break
          }
          assert.equal(answer.status, 503, `statement ${at}: ${await answer.text()}`)
          assert.equal(await dumpOf(service.databaseUrl), before, `statement ${at}`)
          assert.equal((await member.request('GET', '/properties/fee')).status, 200)
          assert.deepEqual(peer.received, [])
        }
        assert.equal((await rowing.members.get(member.peerId))?.role, 'guest')
        assert.equal((await member.request('GET', '/properties/fee')).status, 403)
        assert.equal((await member.request('GET', '/properties/news')).status, 403)
        await service.settled()
        const kinds = peer.received.map(({ path }) => path.split('/')[3])
        assert.deepEqual(kinds, ['subscriptions', 'permissions'])
        const deleted = peer.received[0]?.body?.['data'] ?? {}
        assert.deepEqual(Object.keys(deleted).toSorted(), ['fee', 'news'])
      } finally {
        await peer.stop()
      }
    })
  })
})
