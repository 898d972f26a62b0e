import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { after, describe, it } from 'node:test'
import { DatabaseSync } from 'node:sqlite'
import { Workplace } from '../support/program.ts'
import { seeded } from '../support/random.ts'
import { forEachService, startService, type TestActor, testKeys, type TestService } from '../support/service.ts'
import { createTestDatabase } from '../support/stores.ts'

const damaged = async (answer: Response, name: string): Promise<void> => {
  assert.equal(answer.status, 500)
  assert.deepEqual(await answer.json(), {
    error: 'value_corrupted',
    message: `The stored value of "${name}" is damaged`,
  })
}

forEachService((start) => {
  describe('a stored value that was damaged', () => {
    async function world(): Promise<{ service: TestService; actor: TestActor }> {
      const service = await start()
      const actor = await service.createActor()
      await actor.request('PUT', '/properties', { mood: 'sunny', deep: { a: { b: 1 } }, safe: 'x' })
      await actor.request('POST', '/properties', { notes: { _type: 'list' } })
      for (const text of ['one', 'two', 'three']) await actor.request('POST', '/properties/notes', { text })
      return { service, actor }
    }

    const change = async ({ app }: TestService, sql: string, actorId: string): Promise<void> => {
      const { store } = await app.running()
      assert.equal(await store.write((tx) => tx.run(sql, actorId)), 1)
    }

    it('is rejected by every request for it and logged, while other values stay available (DUR-12)', async () => {
      const { service, actor } = await world()
      await change(service, `UPDATE property SET value = '"funny"' WHERE actor_id = $1 AND name = 'mood'`, actor.id)
      await change(
        service,
        `UPDATE property SET value = '{"a":{"b":3}}' WHERE actor_id = $1 AND name = 'deep'`,
        actor.id,
      )
      service.reset()
      await damaged(await actor.request('GET', '/properties/mood'), 'mood')
      await damaged(await actor.request('GET', '/properties/deep/a/b'), 'deep')
      await damaged(await actor.request('PUT', '/properties/deep/a/c', 1), 'deep')
      assert.equal((await actor.request('GET', '/properties')).status, 500)
      assert.equal(service.log.filter((line) => line.includes('The checksum of')).length, 4)
      assert.equal(await (await actor.request('GET', '/properties/safe')).text(), 'x')
      assert.equal((await actor.request('PUT', '/properties/safe', 'y')).status, 204)
    })

    it('does not prevent a start with more indexed properties, and is not indexed (DUR-12)', async () => {
      const { service, actor } = await world()
      await change(service, `UPDATE property SET value = '"sun' WHERE actor_id = $1 AND name = 'mood'`, actor.id)
      await service.close()
      const next = await start({ database: service.databaseUrl, indexedProperties: ['mood', 'safe'] })
      const { store } = await next.app.running()
      const found = await store.read((q) =>
        q.all<{ name: string; value: string; actor_id: string }>('SELECT name, value, actor_id FROM property_lookup'),
      )
      assert.deepEqual(
        found.map((row) => [row.name, row.value, row.actor_id]),
        [['safe', 'x', actor.id]],
      )
    })

    it('is valid again after it is overwritten, and can be deleted (DUR-12)', async () => {
      const { service, actor } = await world()
      await change(service, `UPDATE property SET value = '"funny"' WHERE actor_id = $1 AND name = 'mood'`, actor.id)
      assert.equal((await actor.request('PUT', '/properties/mood', 'rainy')).status, 204)
      assert.equal(await (await actor.request('GET', '/properties/mood')).text(), 'rainy')
      assert.equal((await actor.request('GET', '/properties')).status, 200)
    })

    it('is not served as a list item, nor under the name of another property (DUR-12)', async () => {
      const { service, actor } = await world()
      await change(service, `UPDATE list_item SET value = '{"text":"twq"}' WHERE actor_id = $1 AND item = 2`, actor.id)
      await damaged(await actor.request('GET', '/properties/notes/1'), 'notes#2')
      assert.equal((await actor.request('GET', '/properties/notes')).status, 500)
      assert.deepEqual(await (await actor.request('GET', '/properties/notes/0')).json(), { text: 'one' })
      await change(service, `UPDATE property SET name = 'moot' WHERE actor_id = $1 AND name = 'mood'`, actor.id)
      await damaged(await actor.request('GET', '/properties/moot'), 'moot')
    })

    it('is served without a check if it has no checksum, as values of old versions (DUR-12)', async () => {
      const { service, actor } = await world()
      await change(service, `UPDATE property SET checksum = NULL WHERE actor_id = $1 AND name = 'mood'`, actor.id)
      assert.equal(await (await actor.request('GET', '/properties/mood')).text(), 'sunny')
    })
  })
})

describe('an SQLite file in which bits flipped', () => {
  const places: Workplace[] = []
  after(async () => {
    for (const place of places) await place.remove()
  })

  it('serves no damaged value, whichever bit flipped, and `doctor deep` names the value (DUR-12)', async (t) => {
    const database = await createTestDatabase('sqlite')
    t.after(() => database.remove())
    const file = database.url.slice('sqlite:'.length)
    const first = await startService(database.url)
    const actor = await first.createActor()
    const text = 'a value that is written once and found in the file again'
    await actor.request('PUT', '/properties/mood', text)
    await first.close()
    const settled = new DatabaseSync(file)
    settled.exec('PRAGMA wal_checkpoint(TRUNCATE); VACUUM')
    settled.close()
    const right = readFileSync(file)
    const at = right.indexOf(text)
    assert.ok(at > 0 && right.indexOf(text, at + 1) < 0)
    const random = seeded(12)
    for (let round = 0; round < 12; round++) {
      const wrong = Buffer.from(right)
      const byte = at + random.below(text.length)
      // A flip of one of the five lower bits leaves valid text, so only the checksum can detect it.
      wrong[byte] = (wrong[byte] ?? 0) ^ (1 << random.below(5))
      writeFileSync(file, wrong)
      const service = await startService(database.url)
      const answer = await service.request(`/${actor.id}/properties/mood`, {
        headers: { authorization: actor.authorization },
      })
      assert.equal(answer.status, 500, String(wrong.subarray(at, at + text.length)))
      await service.close()
    }

    const place = new Workplace()
    places.push(place)
    const env = { DATABASE_URL: database.url, TROUPE_MODE: 'development', TROUPE_SECRET_KEYS: testKeys }
    const deep = await place.run(['doctor', 'deep'], { env })
    assert.equal(deep.code, 1)
    assert.match(deep.stdout, new RegExp(`damaged {3}"mood" of actor ${actor.id}\n`))
    assert.match(deep.stderr, /has 1 damaged value: restore a backup, or write them again/)
    assert.equal((await place.run(['doctor'], { env })).code, 0)
    writeFileSync(file, right)
    assert.equal((await place.run(['doctor', 'deep'], { env })).code, 0)
  })
})
