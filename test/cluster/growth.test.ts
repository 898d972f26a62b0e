/** Requests take the same time on a cluster with many shards as on one with few. */
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { median } from '../../bench/compare.ts'
import { type Cluster, createCluster } from '../support/cluster.ts'
import { startService, type TestActor, type TestService } from '../support/service.ts'
import { actorIn, newPerson, sharedProvider, signIn, signInAt, TestBrowser, wayBack } from '../support/sign-in.ts'

const slices = 40
const requestsInSlice = 50
const signInsInSlice = 10

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

  /** Returns the median times of both clusters in one slice. The order of the clusters alternates. */
  async function measure(prepare: Prepare, slice: number, requests: number): Promise<number[][]> {
    const times: number[][] = [[], []]
    for (const which of slice % 2 === 0 ? [0, 1] : [1, 0]) {
      const here = worlds[which]
      assert.ok(here !== undefined)
      for (let at = 0; at < requests; at += 1) {
        const request = await prepare(here, slice * requests + at)
        const began = performance.now()
        const answer = await request()
        await answer.arrayBuffer()
        times[which]?.push(performance.now() - began)
        assert.ok(answer.status < 400, `answered with ${answer.status}`)
      }
    }
    return times
  }

  const requests: readonly (readonly [what: string, inSlice: number, prepare: Prepare])[] = [
    [
      'PUT of a property',
      requestsInSlice,
      async ({ actor }, at) =>
        () =>
          actor.request('PUT', '/properties/mood', `value ${at}`),
    ],
    [
      'GET of a property',
      requestsInSlice,
      async ({ actor }) =>
        () =>
          actor.request('GET', '/properties/mood'),
    ],
    [
      'sign-in of a person',
      signInsInSlice,
      async ({ service, sub }) => {
        const browser = new TestBrowser(service)
        const { href } = await wayBack(browser, await provider(), sub)
        return () => browser.get(href)
      },
    ],
  ]
  for (const [what, inSlice, prepare] of requests) {
    // The bound is of the issue of scale: it concerns the median, because single requests wait for the disk or the processor.
    it(`answers a ${what} in at most 1.1 times the time of one with 4 shards`, async (t) => {
      const ratios: number[] = []
      const all: number[][] = [[], []]
      for (let slice = 0; slice < slices; slice += 1) {
        const [few = [], many = []] = await measure(prepare, slice, inSlice)
        ratios.push(median(many) / median(few))
        all[0]?.push(...few)
        all[1]?.push(...many)
      }
      const [few, many] = all.map((one) => median(one).toFixed(2))
      t.diagnostic(`${what}: ${few} ms with 4 shards, ${many} ms with 128, ratio ${median(ratios).toFixed(3)}`)
      assert.ok(median(ratios) <= 1.1, `the ratio of the medians is ${median(ratios).toFixed(3)}`)
    })
  }
})
