/** Requests take the same time on a cluster with many shards as on one with few. */
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { median } from '../../bench/compare.ts'
import { type Cluster, createCluster } from '../support/cluster.ts'
import { startService, type TestActor, type TestService } from '../support/service.ts'

const slices = 40
const requestsInSlice = 50

describe('a cluster with 128 shards', () => {
  let clusters: readonly Cluster[]
  let services: readonly TestService[]
  let actors: readonly TestActor[]

  before(async () => {
    clusters = [await createCluster({ shards: 4 }), await createCluster({ shards: 128 })]
    services = await Promise.all(clusters.map(({ url }) => startService(url)))
    actors = await Promise.all(services.map((service) => service.createActor()))
  })

  after(async () => {
    for (const service of services) await service.close()
    for (const cluster of clusters) await cluster.remove()
  })

  const requests: Readonly<Record<string, (actor: TestActor, at: number) => Promise<Response>>> = {
    'PUT of a property': (actor, at) => actor.request('PUT', '/properties/mood', `value ${at}`),
    'GET of a property': (actor) => actor.request('GET', '/properties/mood'),
  }
  for (const [what, request] of Object.entries(requests)) {
    // The bound is of the issue of scale: it concerns the median, because single requests wait for the disk or the processor.
    it(`answers a ${what} in at most 1.1 times the time of one with 4 shards`, async (t) => {
      const ratios: number[] = []
      const times: number[][] = [[], []]
      for (let slice = 0; slice < slices; slice += 1) {
        const medians: number[] = []
        for (const which of slice % 2 === 0 ? [0, 1] : [1, 0]) {
          const actor = actors[which]
          assert.ok(actor !== undefined)
          const taken: number[] = []
          for (let at = 0; at < requestsInSlice; at += 1) {
            const began = performance.now()
            const answer = await request(actor, slice * requestsInSlice + at)
            await answer.arrayBuffer()
            taken.push(performance.now() - began)
            assert.ok(answer.ok)
          }
          medians[which] = median(taken)
          times[which]?.push(...taken)
        }
        ratios.push((medians[1] ?? 0) / (medians[0] ?? 1))
      }
      const [few, many] = times.map((one) => median(one).toFixed(2))
      t.diagnostic(`${what}: ${few} ms with 4 shards, ${many} ms with 128, ratio ${median(ratios).toFixed(3)}`)
      assert.ok(median(ratios) <= 1.1, `the ratio of the medians is ${median(ratios).toFixed(3)}`)
    })
  }
})
