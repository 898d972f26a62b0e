import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { App } from '../../src/troupe.ts'
import { relate } from '../support/friends.ts'
import { forEachService, type StartOptions, type TestActor, type TestService } from '../support/service.ts'
import { until } from '../support/until.ts'

/** Two actors that subscribe to all properties of each other. */
interface Pair {
  readonly services: readonly [TestService, TestService]
  readonly actors: readonly [TestActor, TestActor]
}

const subscriptions = 'SELECT actor_id, subscription_id, sequence, due_at FROM publisher_subscription ORDER BY 1, 2'

forEachService((start) => {
  async function listening(where: 'one service' | 'two services', options: StartOptions = {}): Promise<Pair> {
    const first = await start({ listen: true, ...options })
    const second = where === 'one service' ? first : await start({ listen: true, ...options })
    const one = await first.createActor('one@example.com')
    const other = await second.createActor('other@example.com')
    await relate(one, [second, other])
    await other.request('PUT', `/trust/friend/${one.id}`, { approved: true })
    for (const [actor, peer] of [
      [one, other],
      [other, one],
    ] as const) {
      const wanted = { peerid: peer.id, target: 'properties', granularity: 'high' }
      const answer = await actor.request('POST', '/subscriptions', wanted)
      assert.equal(answer.status, 204)
    }
    return { services: [first, second], actors: [one, other] }
  }

  /** Returns the last sequence number of each actor’s subscription for the other. */
  async function numbers({ actors: [one, other] }: Pair): Promise<number[]> {
    return Promise.all(
      [
        [one, other],
        [other, one],
      ].map(async ([actor, peer]) => {
        const answer = await actor?.request('GET', `/subscriptions/${peer?.id}`)
        const page = (await answer?.json()) as { data: { sequence: number; callback: boolean }[] } | undefined
        return page?.data.find(({ callback }) => !callback)?.sequence ?? -1
      }),
    )
  }

  /** Resolves when no callback is due in any service and none is in progress. */
  async function rest({ services }: Pair): Promise<void> {
    let before = ''
    await until(async () => {
      const all: { sequence: number; due_at: number | null }[] = []
      for (const service of services) {
        await service.settled()
        const { store } = await service.app.running()
        all.push(...(await store.read((q) => q.all<{ sequence: number; due_at: number | null }>(subscriptions))))
      }
      const now = JSON.stringify(all)
      // The service that was checked last may have queued work at one that was checked earlier, so two equal rounds are
      // required.
      const isQuiet = now === before && all.every((row) => row.due_at === null)
      before = now
      return isQuiet
    })
  }

  for (const where of ['one service', 'two services'] as const) {
    describe(`two actors of ${where} that subscribe to each other`, () => {
      it('deliver a change once: a change to a copy is not delivered further (OUT-13)', async () => {
        const pair = await listening(where)
        const [one, other] = pair.actors
        await one.request('PUT', '/properties/mood', 'sunny')
        await other.request('PUT', '/properties/mood', 'rainy')
        await rest(pair)
        assert.deepEqual(await numbers(pair), [1, 1])
        const handle = await pair.services[1].app.actors.get(other.id)
        assert.deepEqual(await handle?.remote(one.id).all(), { mood: 'sunny' })
      })

      it('stop although their handlers answer every change with a change, and the copies are equal to the source (OUT-13)', {
        timeout: 120_000,
      }, async () => {
        const declare = (app: App): void => {
          app.subscriptionData('properties', async ({ actor }) => {
            const { count = 0 } = ((await actor.get('answer')) ?? {}) as { count?: number }
            await actor.set('answer', { count: count + 1 })
          })
        }
        const pair = await listening(where, { declare })
        const [one, other] = pair.actors
        // The handlers also run for the snapshot that a new subscription fetches.
        await rest(pair)
        for (const mood of ['sunny', 'cloudy']) {
          const before = await numbers(pair)
          for (const service of pair.services) service.reset()
          await one.request('PUT', '/properties/mood', mood)
          await rest(pair)
          const after = await numbers(pair)
          // One change of the owner and 16 changes by handlers reach the hop limit: 9 diffs one way and 8 the other.
          assert.deepEqual(
            after.map((number, index) => number - (before[index] ?? 0)),
            [9, 8],
          )
          const logged = pair.services
            .flatMap(({ log }) => log)
            .filter((line) => line.includes('Cannot call handlers: the change loops'))
          assert.equal(new Set(logged).size, 1)
        }
        const [handle, peer] = await Promise.all([
          pair.services[0].app.actors.get(one.id),
          pair.services[1].app.actors.get(other.id),
        ])
        assert.deepEqual(await handle?.remote(other.id).all(), await peer?.all())
      })
    })
  }

  describe('two actors whose application processes callbacks without automatic sequencing', () => {
    it('stop too: the callback beyond the hop limit is rejected, and the timeline shows it (OUT-13)', async () => {
      const declare = (app: App): void => {
        app.subscription(async ({ actor }) => {
          const { count = 0 } = ((await actor.get('answer')) ?? {}) as { count?: number }
          await actor.set('answer', { count: count + 1 })
          return true
        })
      }
      const pair = await listening('one service', { declare, autoSequence: false })
      const [one] = pair.actors
      await one.request('PUT', '/properties/mood', 'sunny')
      await rest(pair)
      assert.deepEqual(await numbers(pair), [9, 8])
      const { data } = (await (await one.request('GET', `/subscriptions/${pair.actors[1].id}`)).json()) as {
        data: { subscriptionid: string; callback: boolean }[]
      }
      const id = data.find(({ callback }) => !callback)?.subscriptionid
      const timeline = await one.request('GET', `/subscriptions/${pair.actors[1].id}/${id}?timeline=true`)
      const [last] = ((await timeline.json()) as { data: { outcome: string; reason: string }[] }).data
      assert.deepEqual([last?.outcome, last?.reason], ['failed', 'The peer answered 409'])
    })
  })
})
