import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { TestCallers } from '../support/callers.ts'
import { sqliteService } from '../support/service.ts'

describe('an administrator among the peers', () => {
  const start = sqliteService()

  it('SEC-02 sees the actor, and never the passphrase, which would make it the owner', async () => {
    const callers = new TestCallers()
    const service = await start(callers.parts)
    const actor = await service.createActor()
    const token = callers.peer(actor.id, { relationship: 'admin', grants: () => true })
    const answer = await service.request(`/${actor.id}`, { headers: { authorization: `Bearer ${token}` } })
    assert.equal(answer.status, 200)
    assert.deepEqual(await answer.json(), { id: actor.id, creator: actor.creator })
    const own = await actor.request('GET', '')
    assert.deepEqual(await own.json(), { id: actor.id, creator: actor.creator, passphrase: actor.passphrase })
  })
})
