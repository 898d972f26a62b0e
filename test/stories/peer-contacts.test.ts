import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { faulty, type FaultyStore } from '../support/stores.ts'
import { forEachService, type TestActor, type TestService } from '../support/service.ts'

const secret = 's'.repeat(40)

async function withPeer(service: TestService): Promise<TestActor> {
  const actor = await service.createActor()
  const body = { baseuri: 'http://127.0.0.1:1/ben', id: 'ben', secret }
  assert.equal((await actor.request('POST', '/trust/friend', body)).status, 202)
  assert.equal((await actor.request('PUT', '/trust/friend/ben', { approved: true })).status, 204)
  return actor
}

async function contactOf(service: TestService, actor: TestActor): Promise<unknown[]> {
  const started = await service.app.running()
  await started.parts.contacts.settled()
  const record = (await (await actor.request('GET', '/trust/friend/ben')).json()) as Record<string, unknown>
  return [record['last_accessed'], record['last_connected_at'], record['last_connected_via']]
}

forEachService((start) => {
  describe('the last contact of a peer', () => {
    const visit = async (service: TestService, actor: TestActor, path: string, token = secret): Promise<number> =>
      (await service.request(`/${actor.id}${path}`, { headers: { authorization: `Bearer ${token}` } })).status

    it('is recorded at most once a minute, and only for successful responses', async () => {
      let now = Date.UTC(2031, 0, 1)
      const service = await start({ now: () => now })
      const actor = await withPeer(service)
      const created = '2031-01-01T00:00:00.000000+00:00'
      now += 59_999
      assert.equal(await visit(service, actor, '/trust/friend/ben'), 200)
      assert.deepEqual(await contactOf(service, actor), [created, created, 'trust'])
      now += 60_000
      assert.equal(await visit(service, actor, '/devtest/ping'), 403)
      assert.equal(await visit(service, actor, '/trust/friend/ben', 'x'.repeat(40)), 403)
      assert.deepEqual(await contactOf(service, actor), [created, created, 'trust'])
      assert.equal(await visit(service, actor, '/properties'), 200)
      const noted = '2031-01-01T00:01:59.999000+00:00'
      assert.deepEqual(await contactOf(service, actor), [noted, noted, 'trust'])
      now += 59_999
      assert.equal(await visit(service, actor, '/properties'), 200)
      assert.deepEqual(await contactOf(service, actor), [noted, noted, 'trust'])
    })

    it('is recorded after the responses in one statement, however many requests arrive at once', async () => {
      let now = Date.UTC(2031, 0, 1)
      const service = await start({ now: () => now })
      const actor = await withPeer(service)
      now += 3_600_000
      service.reset()
      await Promise.all(Array.from({ length: 20 }, () => visit(service, actor, '/properties')))
      await (await service.app.running()).parts.contacts.settled()
      const notes = service.backgroundStatements.filter((sql) => sql.startsWith('UPDATE trust SET last_accessed'))
      assert.equal(notes.length, 1)
    })

    it('fails no request when it cannot be recorded', async () => {
      let now = Date.UTC(2031, 0, 1)
      let store: FaultyStore | undefined
      const service = await start({ now: () => now, wrapStore: (inner) => (store = faulty(inner)) })
      const actor = await withPeer(service)
      now += 3_600_000
      store?.plan({ matching: /^UPDATE trust SET last_accessed/, times: 100 })
      assert.equal(await visit(service, actor, '/properties'), 200)
      await (await service.app.running()).parts.contacts.settled()
      assert.equal(store?.failed, 1)
      assert.ok(service.log.some((line) => line.includes('Cannot record the last contact of a peer')))
      store?.plan()
      assert.equal(await visit(service, actor, '/properties'), 200)
      const noted = '2031-01-01T01:00:00.000000+00:00'
      assert.deepEqual(await contactOf(service, actor), [noted, noted, 'trust'])
    })

    it("appears as the context of the peer's requests in the log", async () => {
      const service = await start()
      const actor = await withPeer(service)
      service.reset()
      await visit(service, actor, '/properties')
      await visit(service, actor, '/devtest/ping')
      const contexts = service.log
        .map((line) => JSON.parse(line) as { msg: string; context: string })
        .filter(({ msg }) => msg === 'Answered' || msg === 'A request was refused')
        .map(({ context }) => context.split(':').slice(1).join(':'))
      assert.ok(contexts.length >= 2)
      assert.deepEqual(new Set(contexts), new Set([`${actor.id}:ben]`]))
    })
  })
})
