/** Simultaneous first sign-ins of many persons at two servers of a Citus cluster. */
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { type Cluster, createCluster } from '../support/cluster.ts'
import { startService, type TestService } from '../support/service.ts'
import { actorIn, newPerson, sharedProvider, signInAt, TestBrowser, wayBack } from '../support/sign-in.ts'

const provider = sharedProvider()
const people = 1000
const atOnce = 10
const browsers = 8

describe('first sign-ins on a cluster', () => {
  let cluster: Cluster
  let services: readonly TestService[]

  before(async () => {
    cluster = await createCluster()
    const options = signInAt(await provider())
    const [coordinator, worker] = [cluster.url, cluster.workers[0]?.url ?? '']
    services = [await startService(coordinator, options), await startService(worker, options)]
  })

  after(async () => {
    for (const service of services) await service.close()
    await cluster.remove()
  })

  it(`create one actor for each of ${people} persons with ${browsers} browsers at two servers (CON-01)`, async () => {
    const idp = await provider()
    const found: Set<string>[] = []
    for (let done = 0; done < people; done += atOnce) {
      const group = Array.from({ length: atOnce }, () => newPerson(idp))
      const waiting = await Promise.all(
        group.flatMap(({ sub }, person) =>
          Array.from({ length: browsers }, async (_, at) => {
            const service = services[at % services.length]
            assert.ok(service !== undefined)
            const browser = new TestBrowser(service)
            return { person, browser, back: await wayBack(browser, idp, sub) }
          }),
        ),
      )
      const answers = await Promise.all(
        waiting.map(async ({ person, browser, back }) => ({ person, id: actorIn(await browser.get(back.href)) })),
      )
      for (const person of group.keys())
        found.push(new Set(answers.filter((one) => one.person === person).map(({ id }) => id)))
    }
    assert.deepEqual(
      found.filter((ids) => ids.size !== 1),
      [],
    )
    assert.equal(new Set(found.flatMap((ids) => [...ids])).size, people)
    const [stored] = await cluster.query<{ actors: number }>('SELECT count(*)::int AS actors FROM actor')
    assert.equal(stored?.actors, people)
  })
})
