import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Live, LiveChange } from '../../src/live/live.ts'
import { forEachService, type TestService } from '../support/service.ts'
import { untilWatched } from '../support/stored.ts'

/** Collects reported changes until there are `count` of them. */
async function collect(
  live: Live,
  actorId: string,
  count: number,
  begun: () => Promise<unknown>,
): Promise<LiveChange[]> {
  const controller = new AbortController()
  const changes: LiveChange[] = []
  const watching = (async () => {
    for await (const batch of live.watch(actorId, controller.signal)) {
      changes.push(...batch)
      if (changes.length >= count) return
    }
  })()
  await begun()
  await watching
  return changes
}

async function liveOf(service: TestService): Promise<Live> {
  return (await service.app.running()).parts.live
}

describe('watching an actor', () => {
  forEachService((start) => {
    it('reports each change by name, numbered without gaps in the order of commits', async () => {
      const service = await start()
      const actor = await service.createActor()
      const changes = await collect(await liveOf(service), actor.id, 24, async () => {
        await untilWatched(service, actor)
        await Promise.all(Array.from({ length: 20 }, (_, n) => actor.request('PUT', `/properties/p${n}`, String(n))))
        await actor.request('PUT', '/properties', { a: 1, b: 2 })
        await actor.request('POST', '/properties', { notes: { _type: 'list' } })
        await actor.request('DELETE', '/properties/p0')
      })
      const numbers = changes.map(({ number }) => number)
      assert.deepEqual(
        numbers,
        Array.from({ length: numbers.length }, (_, n) => (numbers[0] ?? 0) + n),
      )
      assert.deepEqual(
        changes
          .slice(0, 20)
          .map(({ name }) => name)
          .toSorted(),
        Array.from({ length: 20 }, (_, n) => `p${n}`).toSorted(),
      )
      assert.deepEqual(
        changes.slice(20, 22).map(({ category, name }) => `${category} ${name}`),
        ['properties a', 'properties b'],
      )
    })

    it('reports changes that another process made', async () => {
      const one = await start()
      const other = await start({ database: one.databaseUrl })
      const actor = await one.createActor()
      const changes = await collect(await liveOf(one), actor.id, 1, async () => {
        await untilWatched(one, actor)
        await other.request(`/${actor.id}/properties/color`, {
          method: 'PUT',
          headers: { authorization: actor.authorization },
          body: 'red',
        })
      })
      assert.deepEqual(
        changes.map(({ name }) => name),
        ['color'],
      )
    })

    it('adds no statement to a write while no client watches', async () => {
      const service = await start()
      const actor = await service.createActor()
      service.reset()
      await actor.request('PUT', '/properties/color', 'red')
      assert.ok(!service.statements.some((sql) => sql.includes('recent_change') || sql.startsWith('UPDATE actor')))
    })

    it('reads the changes of all watched actors with one statement', async () => {
      const service = await start()
      const live = await liveOf(service)
      const actors = await Promise.all(Array.from({ length: 12 }, () => service.createActor()))
      const controller = new AbortController()
      const seen = new Set<string>()
      const watching = actors.map(async (actor) => {
        for await (const batch of live.watch(actor.id, controller.signal)) {
          seen.add(`${actor.id} ${batch.map(({ name }) => name).join()}`)
          return
        }
      })
      await Promise.all(actors.map((actor) => untilWatched(service, actor)))
      service.reset()
      await Promise.all(actors.map((actor) => actor.request('PUT', '/properties/x', '1')))
      await Promise.all(watching)
      assert.equal(seen.size, 12)
      const looks = service.statements.filter((sql) => sql.includes('JOIN recent_change'))
      assert.ok(looks.length <= 13, `${looks.length} looks for 12 changes`)
    })

    it('ends with its reader, with the service, and at once for an actor that does not exist', async () => {
      const service = await start()
      const live = await liveOf(service)
      const actor = await service.createActor()
      const controller = new AbortController()
      const batches = live.watch(actor.id, controller.signal)
      const next = batches.next()
      await untilWatched(service, actor)
      controller.abort()
      assert.deepEqual(await next, { done: true, value: undefined })
      assert.deepEqual(await live.watch('absent', new AbortController().signal).next(), {
        done: true,
        value: undefined,
      })
      const last = live.watch(actor.id, new AbortController().signal).next()
      await new Promise((resolve) => setImmediate(resolve))
      await service.close()
      assert.equal((await last).done, true)
    })
  })
})
