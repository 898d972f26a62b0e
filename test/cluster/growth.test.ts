/** Requests take the same time on a cluster with many shards as on one with few. */
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { median } from '../../bench/compare.ts'
import { type Cluster, createCluster } from '../support/cluster.ts'
import { startService, type TestActor, type TestService } from '../support/service.ts'
import { actorIn, newPerson, sharedProvider, signIn, signInAt, TestBrowser, wayBack } from '../support/sign-in.ts'

const pairsOfRequests = 2000
const pairsOfSignIns = 1200

/** One cluster, with an actor and a person who has signed in before. */
interface World {
  readonly service: TestService
  readonly actor: TestActor
  readonly sub: string
}

/** Prepares a request. Only the function that it returns is measured. */
type Prepare = (world: World, at: number) => Promise<() => Promise<Response>>

const provider = sharedProvider()

describe('a cluster with 128 shards', () => {
  let clusters: readonly Cluster[]
  let worlds: readonly World[]

  before(async () => {
    clusters = [await createCluster({ shards: 4 }), await createCluster({ shards: 128 })]
    worlds = await Promise.all(clusters.map(({ url }) => world(url)))
  })

  after(async () => {
    for (const { service } of worlds) await service.close()
    for (const cluster of clusters) await cluster.remove()
  })

  async function world(url: string): Promise<World> {
    const idp = await provider()
    const service = await startService(url, signInAt(idp))
    const { sub } = newPerson(idp)
    assert.notEqual(actorIn(await signIn(new TestBrowser(service), idp, sub)), '')
    return { service, actor: await service.createActor(), sub }
  }

  // Real time: the bound concerns the time of servers outside of this process. The two clusters answer in turn.
  const now = (): number => performance.now()

  /** Returns the median times of both clusters. They answer in turn, so that other work on the machine slows both. */
  async function measure(prepare: Prepare, pairs: number): Promise<readonly [few: number, many: number]> {
    const times: readonly [number[], number[]] = [[], []]
    for (let at = 0; at < pairs; at += 1) {
      for (const which of at % 2 === 0 ? ([0, 1] as const) : ([1, 0] as const)) {
        const here = worlds[which]
        assert.ok(here !== undefined)
        const request = await prepare(here, at)
        const began = now()
        const answer = await request()
        await answer.arrayBuffer()
        times[which].push(now() - began)
        assert.ok(answer.status < 400, `answered with ${answer.status}`)
      }
    }
    return [median(times[0]), median(times[1])]
  }

  const requests: readonly (readonly [what: string, pairs: number, prepare: Prepare])[] = [
    [
      'PUT of a property',
      pairsOfRequests,
      async ({ actor }, at) =>
        () =>
          actor.request('PUT', '/properties/mood', `value ${at}`),
    ],
    [
      'GET of a property',
      pairsOfRequests,
      async ({ actor }) =>
        () =>
          actor.request('GET', '/properties/mood'),
    ],
    [
      'sign-in of a person',
      pairsOfSignIns,
      async ({ service, sub }) => {
        const browser = new TestBrowser(service)
        const { href } = await wayBack(browser, await provider(), sub)
        return () => browser.get(href)
      },
    ],
  ]
  for (const [what, pairs, prepare] of requests) {
    // The bound is of the issue of scale: it concerns the median, because single requests wait for the disk or the processor.
    it(`answers a ${what} in at most 1.1 times the time of one with 4 shards`, async (t) => {
      const [few, many] = await measure(prepare, pairs)
      const ratio = many / few
      const figures = `${few.toFixed(2)} ms with 4 shards, ${many.toFixed(2)} ms with 128, ratio ${ratio.toFixed(3)}`
      t.diagnostic(`${what}: ${figures}`)
      assert.ok(ratio <= 1.1, figures)
    })
  }
})
