/** Ids of peers that could be taken for a kind of caller, for a person, or for what every object inherits. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { relateTo, type TestRelationship } from '../support/recording-peer.ts'
import { forEachService, type TestActor, type TestService } from '../support/service.ts'
import { OwnersBrowser } from '../support/sessions.ts'

const reserved = [
  'creator',
  'owner',
  'peer',
  'client',
  'trustee',
  'anonymous',
  'application',
  'operator',
  'system',
  'you',
  'me',
  '__proto__',
  'constructor',
  'prototype',
  'toString',
  'hasOwnProperty',
  'valueOf',
  'isPrototypeOf',
  'Creator',
  'CONSTRUCTOR',
  '__PROTO__',
  '\uff43\uff52\uff45\uff41\uff54\uff4f\uff52',
  'creator ',
] as const

const kinds = ['creator', 'peer', 'client', 'trustee', 'anonymous', 'application'] as const

forEachService((start) => {
  const secret = 'a'.repeat(40)

  describe('a reserved id', () => {
    it('is refused for a peer that requests a relationship, and nothing is stored (PEER-16)', async () => {
      const service = await start()
      const actor = await service.createActor()
      for (const id of reserved) {
        const body = { baseuri: `http://127.0.0.1:1/${encodeURIComponent(id)}`, id, type: 'urn:x', secret }
        const answer = await service.request(`/${actor.id}/trust/friend`, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify(body),
        })
        assert.equal(answer.status, 400, id)
      }
      assert.equal(await (await actor.request('GET', '/trust')).text(), '[]')
    })

    it('is refused for a peer to which the owner connects, and for an actor of the service (PEER-16)', async () => {
      const service = await start()
      const actor = await service.createActor()
      for (const id of reserved) {
        const url = `http://127.0.0.1:1/${encodeURIComponent(id)}`
        const answer = await actor.request('POST', '/trust', { url, relationship: 'friend' })
        assert.equal(answer.status, 400, id)
        await assert.rejects(service.app.actors.create({ creator: 'x@example.com', id }), { code: 'invalid_value' }, id)
      }
    })
  })

  /** A relationship whose peer may write. An older version may have stored any id. */
  async function writer(service: TestService, actor: TestActor, peerId: string): Promise<TestRelationship> {
    const peer = await relateTo(service, actor, { baseuri: `https://peer.example.com/${peerId}`, peerId })
    const path = `/trust/friend/${encodeURIComponent(peerId)}/permissions`
    const rights = { properties: { patterns: ['*'], operations: ['read', 'write'] } }
    assert.ok((await actor.request('PUT', path, rights)).status < 300)
    return peer
  }

  const put = async (from: Pick<TestRelationship, 'request'>, name: string, value: string): Promise<void> => {
    const answer = await from.request('PUT', `/properties/${name}`, value)
    assert.ok(answer.status < 300, `${name}: ${answer.status}`)
  }

  const undo = async (actor: TestActor, body: object): Promise<unknown> =>
    ((await (await actor.request('POST', '/history/undo', body)).json()) as { undone?: unknown }).undone

  describe('the history of a peer whose id is the name of a kind of caller', () => {
    for (const kind of kinds) {
      it(`has the changes of the peer ${kind} alone, and undoes these (PEER-16)`, async () => {
        const service = await start()
        const actor = await service.createActor()
        const peer = await writer(service, actor, kind)
        const other = await writer(service, actor, 'other')
        await put(actor, 'mine', 'the owner wrote this')
        await put(peer, 'planted', 'the peer wrote this')
        await put(other, 'third', 'another peer wrote this')
        const shown = await actor.request('GET', `/history?caller=${kind}`)
        const { history } = (await shown.json()) as { history: readonly { name: string }[] }
        assert.deepEqual(
          history.map(({ name }) => name),
          ['planted'],
        )
        const browser = await OwnersBrowser.open(service, actor)
        const page = await (await browser.get(`/history/undo?caller=${kind}`)).text()
        assert.match(page, /planted/)
        assert.doesNotMatch(page, /\/properties\/(?:mine|third)/)
        assert.match(page, /name="caller_kind" value="peer"/)
        const sent = await browser.send('/history/undo', { caller: kind, caller_kind: 'peer' })
        assert.equal(sent.status, 302)
        assert.equal((await actor.request('GET', '/properties/planted')).status, 404)
        for (const name of ['mine', 'third'])
          assert.equal((await actor.request('GET', `/properties/${name}`)).status, 200, name)
      })
    }

    it('is apart from the changes of a kind, which has a field of its own (PEER-16)', async () => {
      const service = await start()
      const actor = await service.createActor()
      const peer = await writer(service, actor, 'creator')
      await put(actor, 'mine', 'x')
      await put(peer, 'planted', 'x')
      const handle = await service.app.actors.get(actor.id)
      const named = async (which: object): Promise<string[]> =>
        ((await handle?.history.list(which))?.changes ?? []).map(({ name }) => name)
      assert.deepEqual(await named({ caller: 'creator' }), ['planted'])
      assert.deepEqual(await named({ callerKind: 'creator' }), ['mine'])
      assert.deepEqual(await named({ caller: 'creator', callerKind: 'creator' }), [])
      assert.equal((await actor.request('GET', '/history?caller_kind=other')).status, 400)
      assert.equal((await actor.request('POST', '/history/undo', {})).status, 400)
      assert.deepEqual(await undo(actor, { caller_kind: 'peer' }), ['planted'])
      assert.equal((await actor.request('GET', '/properties/mine')).status, 200)
    })
  })
})
