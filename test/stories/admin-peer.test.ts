import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { TestCallers } from '../support/callers.ts'
import { relateTo } from '../support/recording-peer.ts'
import { ScriptedPeers } from '../support/scripted-peer.ts'
import { sqliteService } from '../support/service.ts'

describe('an administrator among the peers', () => {
  const start = sqliteService()

  it('sees the actor, but not the passphrase, which would make it the owner (SEC-02)', async () => {
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

  it('cannot redirect the secret of another relationship to an address of its own (SEC-02, PEER-06)', async () => {
    const callers = new TestCallers()
    const peers = new ScriptedPeers()
    const service = await start({ ...callers.parts, peerClient: peers })
    const actor = await service.createActor()
    const { peerId } = await relateTo(service, actor, { baseuri: 'https://friend.example.com/f1' })
    const token = callers.peer(actor.id, { relationship: 'admin', grants: () => true })
    const change = async (body: object, authorization = `Bearer ${token}`): Promise<number> => {
      const headers = { authorization, 'content-type': 'application/json' }
      const init = { method: 'PUT', headers, body: JSON.stringify(body) }
      return (await service.request(`/${actor.id}/trust/friend/${peerId}`, init)).status
    }
    const moved = { approved: true, baseuri: `https://thief.example.com/${peerId}` }
    assert.equal(await change(moved), 403)
    assert.equal(await change({ desc: 'A friend' }), 204)
    assert.equal(await change(moved, actor.authorization), 204)
  })
})
