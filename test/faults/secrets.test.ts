import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, it } from 'node:test'
import { resealAll } from '../../src/secret/reseal.ts'
import { builtInTables } from '../../src/features/features.ts'
import { actorPassphrase, sealedColumnsWith } from '../../src/secret/sealed-columns.ts'
import { TestCallers } from '../support/callers.ts'
import { declareAll, furnish, requestOf, routes } from '../support/routes.ts'
import { basic, forEachService, testKeys, type TestActor, type TestService } from '../support/service.ts'
import { dumpStore } from '../support/store-dump.ts'
import { writtenAuditLog } from '../support/written-audit-log.ts'

const newKey = 'k2:fT3rX8vQ1mZb6WdKpYcN4hJsLg0uEiAo7Rx9QyBwV5U'
const wrongKey = 'k1:Yq2mT7vX0rKd5ZpWcB8nHs4JuLgEfAi1oR9xQyN3w6M'
const neutral = { error: 'server_error', message: 'The service failed' }
const lost = {
  error: 'secret_lost',
  message: 'A stored secret cannot be read, because the service no longer has its key',
}

async function storeOf(service: TestService) {
  return (await service.app.running()).store
}

/** Returns the encrypted passphrase of an actor from the store. */
async function sealedPassphrase(service: TestService, id: string): Promise<string> {
  const row = await (await storeOf(service)).read((q) =>
    q.get<{ passphrase: string }>('SELECT passphrase FROM actor WHERE id = $1', id),
  )
  return row?.passphrase ?? ''
}

function reasonsIn(service: TestService): string[] {
  return service.log.flatMap((line) => {
    const { error } = JSON.parse(line) as { error?: { reason?: string } }
    return error?.reason === undefined ? [] : [error.reason]
  })
}

forEachService((start, dialect) => {
  describe('the content of the store', () => {
    it('includes no passphrase in clear, chosen or generated, and no credential that a caller tried (SEC-01, SEC-02)', async () => {
      const callers = new TestCallers()
      const service = await start({
        ...callers.parts,
        botToken: 'planted-bot-token',
        // The audit log and the counters of failed attempts are searched, too.
        activityPerActor: 10_000,
        rateLimits: {},
        declare: (app) => declareAll(app),
      })
      const made = await service.createActor('made@example.com')
      await furnish(made)
      const chosen = 'planted chosen passphrase: ü'
      const answer = await service.request('/', {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ creator: 'chosen@example.com', passphrase: chosen }),
      })
      const { id } = (await answer.json()) as { id: string }
      const session = callers.session(made.id)
      for (const route of routes.filter(({ id: name }) => name !== 'deleteActor')) {
        for (const authorization of [
          made.authorization,
          basic(made.creator, 'planted-wrong-passphrase'),
          `Bearer ${session}`,
          'Bearer planted-wrong-token',
        ]) {
          await (await service.request(...requestOf(route, made.id, { authorization }))).text()
        }
      }
      assert.equal(
        (await service.request(`/${id}`, { headers: { authorization: basic('chosen@example.com', chosen) } })).status,
        200,
      )

      const issue = async (fields: object): Promise<string[]> => {
        const issued = await service.request('/oauth/spa/token', {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify(fields),
        })
        assert.equal(issued.status, 200)
        const tokens = (await issued.json()) as { access_token: string; refresh_token: string }
        return [tokens.access_token, tokens.refresh_token]
      }
      const begun = await issue({ grant_type: 'passphrase', actor_id: made.id, passphrase: made.passphrase })
      const refreshed = await issue({ grant_type: 'refresh_token', refresh_token: begun[1] })
      const { parts, store: all } = await service.app.running()
      const data = { planted: 'planted-one-time-data' }
      const oneTime = await all.write((tx) =>
        parts.oneTime.create(tx, { purpose: 'ticket', data, browser: 'planted-browser' }),
      )

      const secrets = [
        ...begun,
        ...refreshed,
        oneTime,
        'planted-one-time-data',
        'planted-browser',
        made.passphrase,
        chosen,
        made.authorization.slice('Basic '.length),
        session,
        'planted-wrong',
        'planted-bot-token',
        testKeys.slice('k1:'.length),
      ]
      await writtenAuditLog(service)
      const dump = JSON.stringify(await dumpStore(await storeOf(service)))
      assert.ok(dump.includes(id))
      assert.ok(dump.includes('wrong credentials'))
      for (const secret of secrets) assert.ok(!dump.includes(secret), secret)
      if (dialect === 'sqlite') {
        const folder = dirname(service.databaseUrl.slice('sqlite:'.length))
        const bytes = readdirSync(folder, { withFileTypes: true, recursive: true })
          .filter((entry) => entry.isFile())
          .map(({ parentPath, name }) => readFileSync(join(parentPath, name)))
        assert.ok(bytes.some((file) => file.includes(id)))
        for (const secret of secrets) assert.ok(!bytes.some((file) => file.includes(secret)), secret)
      }
    })

    it('names the key of every encrypted value, and encrypts equal secrets to different strings (SEC-02)', async () => {
      const service = await start()
      const create = { method: 'POST', headers: { 'content-type': 'application/json' } }
      const body = JSON.stringify({ creator: 'same@example.com', passphrase: 'the same passphrase' })
      const ids = await Promise.all(
        [1, 2].map(async () => ((await (await service.request('/', { ...create, body })).json()) as { id: string }).id),
      )
      const [first = '', second = ''] = await Promise.all(ids.map((id) => sealedPassphrase(service, id)))
      assert.match(first, /^v1\.k1\.[A-Za-z0-9_-]{60,}$/)
      assert.match(second, /^v1\.k1\.[A-Za-z0-9_-]{60,}$/)
      assert.notEqual(first, second)
    })

    it('is bound to its row: a moved encrypted value authenticates no caller (SEC-02)', async () => {
      const service = await start()
      const [owner, thief] = [
        await service.createActor('owner@example.com'),
        await service.createActor('thief@example.com'),
      ]
      const store = await storeOf(service)
      const stolen = await sealedPassphrase(service, thief.id)
      await store.write((tx) => tx.run('UPDATE actor SET passphrase = $2 WHERE id = $1', owner.id, stolen))
      const before = await dumpStore(store)
      service.reset()
      for (const passphrase of [thief.passphrase, owner.passphrase, stolen, '']) {
        const answer = await service.request(`/${owner.id}`, {
          headers: { authorization: basic(owner.creator, passphrase) },
        })
        assert.equal(answer.status, 500)
        assert.deepEqual(await answer.json(), neutral)
      }
      assert.deepEqual(await dumpStore(store), before)
      assert.deepEqual(
        new Set(reasonsIn(service)),
        new Set([
          `Cannot open the secret of ["${owner.id}","actor.passphrase"]: key "k1" is not the one it was sealed with, or it was changed, or it belongs to another place`,
        ]),
      )
      assert.equal((await thief.request('GET', '')).status, 200)
    })

    it('is authenticated: an encrypted value that is changed, truncated or in clear cannot be opened (SEC-02)', async () => {
      const service = await start()
      const actor = await service.createActor()
      const store = await storeOf(service)
      const sealed = await sealedPassphrase(service, actor.id)
      const at = sealed.length - 10
      const changed = sealed.slice(0, at) + (sealed[at] === 'A' ? 'B' : 'A') + sealed.slice(at + 1)
      for (const value of [changed, sealed.slice(0, 20), 'v1.k1.', '', actor.passphrase, 'v1.k9.AAAA']) {
        await store.write((tx) => tx.run('UPDATE actor SET passphrase = $2 WHERE id = $1', actor.id, value))
        const answer = await actor.request('GET', '')
        assert.equal(answer.status, 500, value)
        // Only the last one names a key that the service does not have.
        assert.deepEqual(await answer.json(), value === 'v1.k9.AAAA' ? lost : neutral)
      }
      await store.write((tx) => tx.run('UPDATE actor SET passphrase = $2 WHERE id = $1', actor.id, sealed))
      assert.equal((await actor.request('GET', '')).status, 200)
    })
  })

  describe('a key rotation', () => {
    it('keeps old values readable, and encrypts them again with the new key (SEC-03)', async () => {
      const first = await start()
      const actor = await first.createActor('before@example.com')
      const rotated = await start({ database: first.databaseUrl, secretKeys: `${newKey},${testKeys}` })
      const ask = (service: TestService, { id, authorization }: TestActor): Promise<Response> =>
        service.request(`/${id}`, { headers: { authorization } })
      const answer = (await (await ask(rotated, actor)).json()) as { passphrase: string }
      assert.equal(answer.passphrase, actor.passphrase)
      const later = await rotated.createActor('after@example.com')
      assert.match(await sealedPassphrase(rotated, actor.id), /^v1\.k1\./)
      assert.match(await sealedPassphrase(rotated, later.id), /^v1\.k2\./)

      assert.deepEqual(await resealAll(await storeOf(rotated), (await rotated.app.running()).keyRing, builtInTables), {
        resealed: 1,
      })
      const without = await start({ database: first.databaseUrl, secretKeys: newKey })
      for (const { id, authorization, passphrase } of [actor, later]) {
        const shown = (await (await without.request(`/${id}`, { headers: { authorization } })).json()) as {
          passphrase: string
        }
        assert.equal(shown.passphrase, passphrase)
        assert.match(await sealedPassphrase(without, id), /^v1\.k2\./)
      }
    })

    const gone: readonly [what: string, keys: string, reason: string][] = [
      ['was removed', newKey, 'key "k1" is not in the key ring'],
      [
        'has another value under the same id',
        wrongKey,
        'key "k1" is not the one it was sealed with, or it was changed, or it belongs to another place',
      ],
    ]
    for (const [what, secretKeys, reason] of gone) {
      it(`fails clearly when the key ${what}, without wrong data or access (SEC-03)`, async () => {
        const first = await start({ uniqueCreator: true })
        // The service starts because no secret is stored yet.
        const service = await start({ database: first.databaseUrl, secretKeys, uniqueCreator: true })
        const actor = await first.createActor('owner@example.com')
        await actor.request('PUT', '/properties/color', '"blue"')
        const store = await storeOf(service)
        const before = await dumpStore(store)
        service.reset()
        const answers = [
          await service.request(`/${actor.id}`, { headers: { authorization: actor.authorization } }),
          await service.request(`/${actor.id}/properties/color`, { headers: { authorization: actor.authorization } }),
          await service.request(`/${actor.id}`, { headers: { authorization: basic('owner@example.com', 'wrong') } }),
          await service.request('/', {
            method: 'POST',
            headers: { 'content-type': 'application/json' },
            body: JSON.stringify({ creator: 'owner@example.com', passphrase: actor.passphrase }),
          }),
        ]
        for (const answer of answers) {
          assert.equal(answer.status, 500)
          assert.deepEqual(await answer.json(), secretKeys === newKey ? lost : neutral)
        }
        assert.deepEqual(
          reasonsIn(service),
          answers.map(() => `Cannot open the secret of ["${actor.id}","actor.passphrase"]: ${reason}`),
        )
        assert.deepEqual(await dumpStore(store), before)
        // Only values of the missing key fail; other actors are served.
        const other = await service.createActor('other@example.com')
        assert.equal((await other.request('GET', '')).status, 200)
        // The first service has the key, and the data is intact.
        assert.equal((await actor.request('GET', '/properties/color')).status, 200)
      })
    }

    it('without a key that opens a stored secret prevents the start with one sentence, and stores nothing (SEC-03)', async () => {
      const first = await start()
      const actor = await first.createActor()
      const before = await dumpStore(await storeOf(first))
      const database = first.databaseUrl
      for (const secretKeys of [newKey, wrongKey, `${newKey},${wrongKey}`]) {
        await assert.rejects(start({ database, secretKeys }), {
          name: 'ConfigError',
          message:
            'Cannot decrypt the secrets in the database: TROUPE_SECRET_KEYS did not encrypt them. Either set the keys that encrypted them, or use another database.',
        })
      }
      assert.deepEqual(await dumpStore(await storeOf(first)), before)
      const service = await start({ database, secretKeys: `${newKey},${testKeys}` })
      const { authorization } = actor
      assert.equal((await service.request(`/${actor.id}`, { headers: { authorization } })).status, 200)
      assert.equal((await service.request('/health/ready')).status, 200)
    })

    it('covers every column with encrypted values (SEC-03)', async () => {
      const service = await start()
      await service.createActor()
      const dump = await dumpStore(await storeOf(service))
      const found = new Set<string>()
      for (const [table, rows] of Object.entries(dump)) {
        for (const row of rows) {
          for (const [column, value] of Object.entries(JSON.parse(row) as object)) {
            if (typeof value === 'string' && /^v\d+\.k1\./.test(value)) found.add(`${table}.${column}`)
          }
        }
      }
      assert.ok(found.has('actor.passphrase'))
      const known = new Set(sealedColumnsWith(builtInTables).map(({ table, column }) => `${table}.${column}`))
      assert.ok(known.has(`${actorPassphrase.table}.${actorPassphrase.column}`))
      for (const column of found) assert.ok(known.has(column), column)
    })
  })
})
