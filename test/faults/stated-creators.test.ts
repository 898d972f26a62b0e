/** The archive of a moved actor names a creator and a time of creation. Both prove nothing about a person. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { EvilHome } from '../support/evil-home.ts'
import { movingWorld } from '../support/moving.ts'
import { forEachService } from '../support/service.ts'

forEachService((start) => {
  describe('an actor that a stranger has prepared under the name of a person', () => {
    it('is not found before the actor that the person has here, however old it pretends to be (MOV-24)', async () => {
      const world = await movingWorld(start)
      const { actors } = world.home.app
      const own = await world.home.createActor('ada@example.com')
      for (const [n, creator] of ['ada@example.com', 'Ada@Example.com', ' ada@example.com '].entries()) {
        const id = `${n}`.repeat(32)
        const evil = await EvilHome.start(world.network, id)
        assert.equal(await evil.announce(world.home), 201)
        assert.equal(await evil.send(world.home, [], { creator, created_at: '1970-01-01T00:00:00Z' }), 200)
        await evil.leave(world.home)
        assert.equal(await evil.activate(world.home), 200)
        assert.equal((await actors.get(id))?.creator, 'ada@example.com')
        assert.equal((await actors.findByCreator('ada@example.com'))?.id, own.id)
      }
    })

    it('arrives as under any other name where creators are unique, and gets no name that is taken (MOV-24)', async () => {
      const world = await movingWorld(start, { home: { uniqueCreator: true } })
      const { actors } = world.home.app
      const own = await world.home.createActor('ada@example.com')
      const seen: (readonly [number, number])[] = []
      for (const [n, creator] of ['ada@example.com', 'grace@example.com'].entries()) {
        const id = `${n}`.repeat(32)
        const evil = await EvilHome.start(world.network, id)
        assert.equal(await evil.announce(world.home), 201)
        const sent = await evil.send(world.home, [], { creator })
        await evil.leave(world.home)
        seen.push([sent, await evil.activate(world.home)])
      }
      assert.deepEqual(seen, [
        [200, 200],
        [200, 200],
      ])
      assert.equal((await actors.findByCreator('ada@example.com'))?.id, own.id)
      assert.notEqual((await actors.get('0'.repeat(32)))?.creator, 'ada@example.com')
      assert.equal((await actors.findByCreator('grace@example.com'))?.id, '1'.repeat(32))
    })

    it('is refused with a name that no actor here can have (MOV-24)', async () => {
      const world = await movingWorld(start)
      for (const [n, creator] of [
        '\uff42oss@example.com',
        'bo\u017fs@example.com',
        'a\nb',
        'x'.repeat(513),
      ].entries()) {
        const id = `${n}`.repeat(32)
        const evil = await EvilHome.start(world.network, id)
        assert.equal(await evil.announce(world.home), 201)
        assert.equal(await evil.send(world.home, [], { creator }), 400, JSON.stringify(creator))
      }
    })
  })
})
