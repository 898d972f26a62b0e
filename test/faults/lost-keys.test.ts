/** A service whose encryption key is lost: `troupe keys forget`, and what happens to the secrets that it sealed. */
import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, it } from 'node:test'
import { parseKeyRing } from '../../src/secret/key-ring.ts'
import { findForgottenKeys } from '../../src/secret/forgotten-keys.ts'
import { ringFits } from '../../src/secret/key-check.ts'
import { openStore } from '../../src/open-store.ts'
import { type Ending, Workplace } from '../support/program.ts'
import { relateTo } from '../support/recording-peer.ts'
import { startService, type TestActor, testKeys } from '../support/service.ts'
import { signIn } from '../support/sessions.ts'
import { createTestDatabase, type TestDatabase } from '../support/stores.ts'

const newKeys = 'k2:Zt7hQm4pW1rXc8uYvLs0dKfNjBg6aEiTo3RyMkHnPxU'
const sameId = newKeys.replace('k2', 'k1')

for (const dialect of ['sqlite', 'postgres'] as const) {
  describe(`a lost key with ${dialect}`, () => {
    let database: TestDatabase
    let place: Workplace
    let actor: TestActor
    let session: string
    let webhook: string
    beforeEach(async () => {
      place = new Workplace()
      database = await createTestDatabase(dialect)
      const service = await startService(database.url)
      actor = await service.createActor('ada@example.com')
      await actor.request('PUT', '/properties/color', 'red')
      const made = await actor.request('POST', '/webhooks', {
        url: 'https://receiver.example.com/hook',
        events: ['property_changed'],
      })
      webhook = ((await made.json()) as { id: string }).id
      await relateTo(service, actor, { peerId: 'p1', baseuri: 'https://peer.example.com/p1' })
      session = await signIn(service, actor)
      await service.close()
    })
    afterEach(async () => {
      await place.remove()
      await database.remove()
    })
    const run = (args: readonly string[], keys = newKeys): Promise<Ending> =>
      place.run(args, { env: { DATABASE_URL: database.url, TROUPE_SECRET_KEYS: keys } })
    const bearer = (): Record<string, string> => ({ authorization: `Bearer ${session}` })

    it('is forgotten after a list and a question, and the service starts (DUR-23)', async () => {
      await assert.rejects(
        startService(database.url, { secretKeys: newKeys }),
        /^ConfigError: Cannot decrypt the secrets/,
      )
      const asked = await run(['keys', 'forget'])
      assert.equal(asked.code, 1)
      assert.match(asked.stdout, /^ {7}1 {2}passphrases of actors: troupe actors renew-passphrase makes a new one$/m)
      assert.match(asked.stdout, /^ {7}1 {2}secrets of webhooks: their owners rotate them$/m)
      assert.equal(asked.stderr, 'Cannot ask for confirmation without a terminal: add --yes to forget the keys.\n')
      await assert.rejects(startService(database.url, { secretKeys: newKeys }), /Cannot decrypt the secrets/)
      const forgotten = await run(['keys', 'forget', '--yes', '--json'])
      assert.deepEqual([forgotten.code, forgotten.stderr], [0, ''])
      const { unreadable, forgotten: ids } = JSON.parse(forgotten.stdout) as {
        unreadable: Record<string, number>
        forgotten: readonly string[]
      }
      assert.deepEqual(ids, ['k1'])
      assert.deepEqual(
        [unreadable['actor.passphrase'], unreadable['webhook.secrets'], unreadable['trust.secret']],
        [1, 1, 1],
      )
      const service = await startService(database.url, { secretKeys: newKeys })
      try {
        const read = await service.request(`/${actor.id}/properties/color`, { headers: bearer() })
        assert.deepEqual([read.status, await read.text()], [200, 'red'])
        const lost = await service.request(`/${actor.id}/properties/color`, {
          headers: { authorization: actor.authorization },
        })
        assert.equal(lost.status, 500)
        assert.match(
          await lost.text(),
          /secret_lost.*A stored secret cannot be read, because the service no longer has its key/,
        )
        const rotated = await service.request(`/${actor.id}/webhooks/${webhook}/secret`, {
          method: 'POST',
          headers: { ...bearer(), 'content-type': 'application/json' },
          body: '{}',
        })
        assert.ok(rotated.ok, await rotated.text())
        const ended = await service.request(`/${actor.id}/trust/friend/p1`, { method: 'DELETE', headers: bearer() })
        assert.equal(ended.status, 204)
      } finally {
        await service.close()
      }
      const renewed = await run(['actors', 'renew-passphrase', actor.id])
      const passphrase = /is ([0-9a-f]{40})\n$/.exec(renewed.stdout)?.[1] ?? ''
      const again = await startService(database.url, { secretKeys: newKeys })
      try {
        const authorization = `Basic ${Buffer.from(`${actor.creator}:${passphrase}`).toString('base64')}`
        const read = await again.request(`/${actor.id}/properties/color`, { headers: { authorization } })
        assert.deepEqual([read.status, await read.text()], [200, 'red'])
      } finally {
        await again.close()
      }
    })

    it('opens its secrets again when it is found (DUR-23)', async () => {
      assert.equal((await run(['keys', 'rotate'])).code, 1)
      assert.equal((await run(['keys', 'forget', '--yes'])).code, 0)
      const rotated = await run(['keys', 'rotate'])
      assert.deepEqual([rotated.code, rotated.stderr], [0, ''])
      const service = await startService(database.url, { secretKeys: `${newKeys},${testKeys}` })
      try {
        assert.equal((await actorOf((path, init) => service.request(path, init))).status, 200)
      } finally {
        await service.close()
      }
    })

    it('is not forgotten while every secret opens, or when a configured key has its id (DUR-23)', async () => {
      const none = await run(['keys', 'forget', '--yes'], testKeys)
      assert.deepEqual([none.code, none.stdout], [0, 'Every stored secret is of a configured key: none is lost.\n'])
      const same = await run(['keys', 'forget', '--yes'], sameId)
      assert.equal(same.code, 1)
      assert.match(same.stderr, /^Cannot forget the key k1: a configured key has its id/)
      const store = await openStore({ url: database.url, mustExist: true })
      try {
        assert.deepEqual([...(await store.read(findForgottenKeys))], [])
        assert.equal(await ringFits(store, parseKeyRing(newKeys), []), false)
      } finally {
        await store.close()
      }
      for (const args of [
        ['keys', 'forget', 'k1'],
        ['keys', 'forget', '--all'],
        ['keys', 'rotate', '--yes'],
        ['keys', 'lose'],
      ])
        assert.equal((await run(args)).code, 1)
      assert.equal((await run(['actors', 'renew-passphrase', 'missing'])).code, 1)
    })

    const actorOf = (request: (path: string, init?: RequestInit) => Promise<Response>): Promise<Response> =>
      request(`/${actor.id}/properties/color`, { headers: { authorization: actor.authorization } })
  })
}
