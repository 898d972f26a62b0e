/** Every route of an actor, for API keys and access tokens with all rights and with none. */
import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import { FakePeers, stoppedTimers } from '../support/fake-peers.ts'
import { authorizeClient } from '../support/mcp-client.ts'
import { declareAll, furnish, isBelowActor, requestOf, routes, sampleOf } from '../support/routes.ts'
import { forEachService, type TestActor, type TestService } from '../support/service.ts'

/** Routes whose answer does not depend on the caller, or that authenticate the sender of a message. */
const forAll = [
  'receiveTrust',
  'followEmail',
  'getCallback',
  'postCallback',
  'putCallback',
  'deleteCallback',
  'postSubscriptionCallback',
  'putSubscriptionCallback',
]
/** The categories that a program may have rights in (docs/keys.md). All other routes refuse it, whatever was granted. */
const reachable = ['properties', 'methods', 'actions', 'resources', 'files']

/** Lists without the names that the program has no right to. */
const emptyListings: Readonly<Record<string, string>> = {
  listProperties: '{}',
  listMethods: '{"methods":[]}',
  listActions: '{"actions":[]}',
  listFiles: '{"files":[],"next":null}',
}

const forCallers = routes.filter(
  (route) => isBelowActor(route) && route.access !== 'public' && !forAll.includes(route.id),
)
const categoryOf = (route: (typeof routes)[number]): string =>
  route.access === 'open' ? (route.category ?? 'none') : route.access

const everything = {
  properties: { patterns: ['*'], operations: ['read', 'write', 'subscribe', 'delete'] },
  methods: { patterns: ['*'], operations: ['call'] },
  actions: { patterns: ['*'], operations: ['execute'] },
  resources: { patterns: ['*'], operations: ['read', 'write', 'delete'] },
  files: { patterns: ['*'], operations: ['read', 'write', 'delete'] },
} as const
const nothing = { properties: { patterns: ['nothing'], operations: ['read'] } } as const

forEachService((start) => {
  describe('a program', () => {
    let service: TestService

    before(async () => {
      service = await start({
        peerClient: new FakePeers(),
        timers: stoppedTimers,
        peerProfileAttributes: [],
        declare: (app) => declareAll(app),
      })
    })

    /** An actor with data, and the credentials of its programs. */
    async function furnished(): Promise<{ actor: TestActor; key: string; token: string; powerless: string[] }> {
      const actor = await service.createActor(`${crypto.randomUUID()}@example.com`)
      await furnish(actor)
      const handle = (await service.app.actors.get(actor.id)) ?? assert.fail()
      const { key } = await handle.keys.create({ name: 'All', grants: everything })
      const { key: weak } = await handle.keys.create({ name: 'None', grants: nothing })
      const audience = { audience: `${service.url}/${actor.id}`, scope: 'actor' }
      const admin = await authorizeClient(service, actor, { relationship: 'admin', ...audience })
      const mcp = await authorizeClient(service, actor, { relationship: 'admin' })
      return { actor, key, token: admin.token, powerless: [weak, mcp.token] }
    }

    for (const route of forCallers) {
      const isReachable = reachable.includes(categoryOf(route))
      it(`with every right ${isReachable ? 'reaches' : 'is refused by'} ${route.id}, and with none is refused (ACL-01)`, async () => {
        const { actor, key, token, powerless } = await furnished()
        const ask = (credential: string): Promise<Response> =>
          service.request(...requestOf(route, actor.id, { authorization: `Bearer ${credential}` }))
        for (const credential of powerless) {
          const answer = await ask(credential)
          if (answer.status === 200) assert.equal(await answer.text(), emptyListings[route.id])
          else assert.ok([401, 403].includes(answer.status), `${route.id}: ${answer.status}`)
        }
        const own = isReachable ? sampleOf(route).status : 403
        assert.equal((await ask(key)).status, own)
        // The token does not find data that the key deleted, and replaces a file that the key created.
        const { status } = await ask(token)
        assert.ok(status === own || (isReachable && [200, 404].includes(status)), `${route.id}: ${status}`)
      })
    }
  })
})
