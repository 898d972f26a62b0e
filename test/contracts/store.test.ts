import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, it } from 'node:test'
import { getHeapSpaceStatistics } from 'node:v8'
import { ServiceError } from '../../src/errors.ts'
import { type Migration, readMigrations } from '../../src/store/migrate.ts'
import { insertPublisherSubscription } from '../../src/publication/publisher-store.ts'
import { openStore } from '../../src/open-store.ts'
import { release } from '../../src/release.ts'
import { runInBackground, runInContext } from '../../src/observe/context.ts'
import { NotCreatedError } from '../../src/store/start-error.ts'
import { LOCK_ACTOR } from '../../src/store/lock-actor.ts'
import type { Queries, Store, Transaction } from '../../src/store/store.ts'
import { createPostgresDatabase, createFileFolder, counting, faulty, forEachStore } from '../support/stores.ts'
import { administer, isLockAwaited, sharedPostgresUrl } from '../support/postgres.ts'
import { until } from '../support/until.ts'

const refuses = (code: string) => (error: unknown) => {
  assert.ok(error instanceof ServiceError, String(error))
  assert.equal(error.code, code)
  return true
}

const addActor = (q: Transaction, id: string, creator = 'owner') =>
  q.run('INSERT INTO actor (id, creator, passphrase, created_at) VALUES ($1, $2, $3, $4)', id, creator, 'secret', 1)

const setProperty = (q: Transaction, actor: string, name: string, value: string) =>
  q.run(
    `INSERT INTO property (actor_id, name, kind, value) VALUES ($1, $2, 'value', $3)
     ON CONFLICT (actor_id, name) DO UPDATE SET value = excluded.value`,
    actor,
    name,
    value,
  )

const getProperty = async (q: Queries, actor: string, name: string) => {
  const row = await q.get<{ value: string }>(
    'SELECT value FROM property WHERE actor_id = $1 AND name = $2',
    actor,
    name,
  )
  return row?.value
}

const actorIds = async (q: Queries) =>
  (await q.all<{ id: string }>('SELECT id FROM actor ORDER BY id')).map((row) => row.id)

/** Returns the bytes of objects that V8 collects only in a full garbage collection. */
const oldGeneration = () =>
  getHeapSpaceStatistics().find(({ space_name }) => space_name === 'old_space')?.space_used_size ?? 0

forEachStore((dialect, open, database) => {
  describe('a statement', () => {
    it('is published with its store and its caller on the channel troupe:statement', async () => {
      const published: unknown[] = []
      const note = (message: unknown): void => void published.push(message)
      const store = await open()
      const ask = (): Promise<unknown> => store.read((q) => q.get('SELECT id FROM actor WHERE id = $1', 'a'))
      const request = { requestId: 'r', actorId: null, peerId: null, caller: { kind: 'peer', peerId: 'p' } } as const
      subscribe('troupe:statement', note)
      await ask()
      await runInContext(request, ask)
      await runInBackground(ask, request)
      unsubscribe('troupe:statement', note)
      await ask()
      const sql = 'SELECT id FROM actor WHERE id = $1'
      assert.deepEqual(published, [
        { dialect, sql, caller: 'none' },
        { dialect, sql, caller: 'peer' },
        { dialect, sql, caller: 'background' },
      ])
    })
  })

  describe('a write', () => {
    it('is visible in every store once it has resolved', async () => {
      const { url } = await database()
      const [store, other] = [await open({ url }), await open({ url })]
      await store.write((tx) => addActor(tx, 'a'))
      assert.deepEqual(await other.read(actorIds), ['a'])
      assert.deepEqual(await store.read(actorIds), ['a'])
    })

    it('is visible when the store is opened again', async () => {
      const { url } = await database()
      const store = await open({ url })
      await store.write((tx) => addActor(tx, 'a'))
      await store.close()
      assert.deepEqual(await (await open({ url })).read(actorIds), ['a'])
    })

    it('resolves with the value that its function returned', async () => {
      const store = await open()
      assert.equal(await store.write(async () => 'result'), 'result')
    })

    it('rolls back when its function throws, and rejects with the same error', async () => {
      const store = await open()
      const error = new Error('changed my mind')
      await assert.rejects(
        store.write(async (tx) => {
          await addActor(tx, 'a')
          throw error
        }),
        (thrown) => thrown === error,
      )
      await assert.rejects(
        store.write(() => {
          throw error
        }),
        (thrown) => thrown === error,
      )
      assert.deepEqual(await store.read(actorIds), [])
    })

    it('reads its own uncommitted changes, which other readers do not see', async () => {
      const store = await open()
      await store.write(async (tx) => {
        await addActor(tx, 'a')
        assert.deepEqual(await actorIds(tx), ['a'])
        assert.deepEqual(await store.read(actorIds), [])
      })
    })

    it('rolls back when a statement failed, even if its function caught the error', async () => {
      const store = await open()
      await store.write((tx) => addActor(tx, 'a'))
      await assert.rejects(
        store.write(async (tx) => {
          await addActor(tx, 'b')
          await assert.rejects(addActor(tx, 'a'), refuses('conflict'))
          await assert.rejects(addActor(tx, 'c'), refuses('conflict'))
        }),
        refuses('conflict'),
      )
      assert.deepEqual(await store.read(actorIds), ['a'])
    })

    it('rejects with the error that its function throws after a failed statement', async () => {
      const store = await open()
      await store.write((tx) => addActor(tx, 'a'))
      await assert.rejects(
        store.write(async (tx) => {
          await addActor(tx, 'a').catch(() => {
            throw new ServiceError('creator_exists')
          })
        }),
        refuses('creator_exists'),
      )
    })

    it('reports a duplicate key and a missing parent row as a conflict', async () => {
      const store = await open()
      await store.write((tx) => addActor(tx, 'a'))
      await assert.rejects(
        store.write((tx) => addActor(tx, 'a')),
        refuses('conflict'),
      )
      await assert.rejects(
        store.write((tx) => setProperty(tx, 'absent', 'p', '1')),
        refuses('conflict'),
      )
    })

    it('rejects with the original error when the SQL is wrong', async () => {
      const store = await open()
      await assert.rejects(
        store.write((tx) => tx.run('UPDATE nothing SET a = 1')),
        (error) => error instanceof Error && !(error instanceof ServiceError),
      )
      await assert.rejects(
        store.write((tx) => tx.run('INSERT INTO setting (name) VALUES ($1)', 'a')),
        (error) => error instanceof Error && !(error instanceof ServiceError),
      )
    })

    it('rejects a statement that runs after the transaction ended', async () => {
      const store = await open()
      let kept: Transaction | undefined
      await store.write(async (tx) => {
        kept = tx
      })
      await assert.rejects(async () => kept?.get('SELECT 1 AS one'), /transaction is over/)
    })

    it('rejects a statement with too few or too many parameters', async () => {
      const store = await open()
      for (const params of [[], ['a', 'b']]) {
        await assert.rejects(
          store.read((q) => q.get('SELECT id FROM actor WHERE id = $1', ...params)),
          /takes 1 parameters, not/,
        )
        await assert.rejects(
          store.write((tx) => tx.run('DELETE FROM actor WHERE id = $1', ...params)),
          /takes 1 parameters, not/,
        )
      }
    })

    it('returns the number of rows that a statement changed', async () => {
      const store = await open()
      await store.write(async (tx) => {
        assert.equal(await addActor(tx, 'a'), 1)
        assert.equal(await addActor(tx, 'b'), 1)
        assert.equal(await tx.run('UPDATE actor SET creator = $1', 'x'), 2)
        assert.equal(await tx.run('DELETE FROM actor WHERE id = $1', 'none'), 0)
        assert.equal(await tx.run('DELETE FROM actor'), 2)
      })
    })

    it('returns the rows of a statement with RETURNING', async () => {
      const store = await open()
      const rows = await store.write(async (tx) => {
        await addActor(tx, 'a')
        return tx.all<{ id: string }>('UPDATE actor SET creator = $1 WHERE id = $2 RETURNING id, creator', 'x', 'a')
      })
      assert.deepEqual(rows, [{ id: 'a', creator: 'x' }])
    })
  })

  describe('a write with relaxed durability', () => {
    it('is atomic, and visible at once', async () => {
      const store = await open()
      await store.write((tx) => addActor(tx, 'a'), { durability: 'relaxed' })
      const broken = store.write(
        async (tx) => {
          await setProperty(tx, 'a', 'one', '1')
          throw new Error('stop')
        },
        { durability: 'relaxed' },
      )
      await assert.rejects(broken, /stop/)
      assert.deepEqual(await store.read((q) => getProperty(q, 'a', 'one')), undefined)
      await store.write((tx) => setProperty(tx, 'a', 'one', '2'), { durability: 'relaxed' })
      assert.deepEqual(await store.read((q) => getProperty(q, 'a', 'one')), '2')
    })

    if (dialect === 'postgres') {
      it('does not wait for the disk, unlike every other write (DUR-03)', async () => {
        const store = await open()
        const setting = async (tx: Transaction): Promise<string | undefined> =>
          (await tx.get<{ synchronous_commit: string }>('SHOW synchronous_commit'))?.synchronous_commit
        assert.equal(await store.write(setting, { durability: 'relaxed' }), 'off')
        assert.equal(await store.write(setting), 'on')
      })
    } else {
      it('does not wait for the disk, but a durable write in the same COMMIT or a later one does (DUR-03)', async (t) => {
        const settings: unknown[] = []
        const prepare = Reflect.get(DatabaseSync.prototype, 'prepare')
        t.mock.method(DatabaseSync.prototype, 'prepare', function (this: DatabaseSync, sql: string) {
          const statement = prepare.call(this, sql)
          if (sql !== 'COMMIT') return statement
          const run = statement.run.bind(statement)
          statement.run = () => {
            settings.push(prepare.call(this, 'PRAGMA synchronous').get()?.['synchronous'])
            return run()
          }
          return statement
        })
        const store = await open()
        const note = (id: string): Promise<number> => store.write((tx) => addActor(tx, id), { durability: 'relaxed' })
        settings.length = 0
        await Promise.all([note('a'), note('b')])
        await store.write((tx) => addActor(tx, 'c'))
        await Promise.all([note('d'), store.write((tx) => addActor(tx, 'e'))])
        await note('f')
        let late: Promise<number> | undefined
        await store.write(
          async (tx) => {
            late = store.write((other) => addActor(other, 'h'))
            return addActor(tx, 'g')
          },
          { durability: 'relaxed' },
        )
        await late
        const [normal, full] = [1, 2]
        assert.deepEqual(settings, [normal, full, full, normal, normal, full])
      })
    }
  })

  describe('concurrent writes', () => {
    it('succeed or fail independently of each other', async () => {
      const store = await open()
      const results = await Promise.allSettled(
        Array.from({ length: 60 }, (_, index) =>
          store.write(async (tx) => {
            await addActor(tx, `a${index}`)
            if (index % 3 === 1) throw new Error('refused by its own work')
            if (index % 3 === 2) await addActor(tx, `a${index}`)
          }),
        ),
      )
      assert.deepEqual(
        results.map((result) => result.status === 'fulfilled'),
        Array.from({ length: 60 }, (_, index) => index % 3 === 0),
      )
      assert.equal((await store.read(actorIds)).length, 20)
    })

    it('are each stored before they resolve', async () => {
      const { url } = await database()
      const [store, other] = [await open({ url }), await open({ url })]
      await Promise.all(
        Array.from({ length: 30 }, async (_, index) => {
          await store.write((tx) => addActor(tx, `a${index}`))
          assert.ok((await other.read(actorIds)).includes(`a${index}`))
        }),
      )
    })

    it('all complete when they exceed the batch size and the connection pool', async () => {
      const store = await open({ batchSize: 7, workers: 2, connectTimeoutMs: 20_000 })
      await Promise.all(Array.from({ length: 100 }, (_, index) => store.write((tx) => addActor(tx, `a${index}`))))
      assert.equal((await store.read(actorIds)).length, 100)
    })
  })

  describe('writeActor', () => {
    if (dialect === 'postgres') {
      it('queues writes to a busy actor without holding connections, so that other actors are not delayed', async () => {
        const store = await open({ workers: 3 })
        await store.write((tx) => Promise.all([addActor(tx, 'busy'), addActor(tx, 'calm')]))
        const gate = Promise.withResolvers<void>()
        const writes = Array.from({ length: 20 }, (_, index) =>
          store.writeActor('busy', async (tx) => {
            await gate.promise
            await setProperty(tx, 'busy', `p${index}`, '1')
          }),
        )
        await store.writeActor('calm', (tx) => setProperty(tx, 'calm', 'x', '1'))
        gate.resolve()
        await Promise.all(writes)
        const rows = await store.read((q) => q.all("SELECT name FROM property WHERE actor_id = 'busy'"))
        assert.equal(rows.length, 20)
      })
    }

    it('passes the row of the actor to its function', async () => {
      const store = await open()
      await store.write((tx) => addActor(tx, 'a', 'somebody@example.com'))
      await store.writeActor('a', async (_, actor) => {
        assert.deepEqual(
          { ...actor },
          {
            id: 'a',
            creator: 'somebody@example.com',
            subscriptionCount: 0,
            keySubscriptionCount: 0,
            waitingChanges: 0,
            watchedUntil: 0,
            residence: 'here',
            kind: 'person',
            observerCount: 0,
            usedBytes: 0,
            usedNames: 0,
            usedItems: 0,
          },
        )
      })
    })

    if (dialect === 'postgres') {
      it('passes the counts as they are after its wait for the lock', async () => {
        const { url } = await database()
        const [store, other] = [await open({ url }), await open({ url })]
        await store.write(async (tx) => {
          await addActor(tx, 'a')
          await tx.run(
            `INSERT INTO trust (actor_id, peer_id, baseuri, type, relationship, secret, secret_hash, verification_token,
               description, approved, peer_approved, verified, established_via, facts, created_at, last_accessed,
               last_connected_via)
             VALUES ('a', 'peer', '', '', 'friend', '', 'hash', '', '', 1, 1, 1, 'trust', '{}', 0, 0, 'trust')`,
          )
        })
        const gate = Promise.withResolvers<void>()
        const first = { actorId: 'a', peerId: 'peer', subscriptionId: 's', granularity: 'high', createdAt: 1 } as const
        const scope = { target: 'properties', subtarget: 'p', resource: 'key' } as const
        const locked = Promise.withResolvers<void>()
        const subscribed = store.writeActor('a', async (tx) => {
          locked.resolve()
          await insertPublisherSubscription(tx, { ...first, ...scope }, 1)
          await gate.promise
        })
        await locked.promise
        const seen = other.writeActor('a', async (_, actor) => [actor.subscriptionCount, actor.keySubscriptionCount])
        await until(() => store.read(isLockAwaited))
        gate.resolve()
        await subscribed
        assert.deepEqual(await seen, [1, 1])
      })
    }

    it('rejects with actor_not_found and does not call its function when the actor does not exist', async () => {
      const store = await open()
      let begun = false
      await assert.rejects(
        store.writeActor('none', async () => {
          begun = true
        }),
        refuses('actor_not_found'),
      )
      assert.equal(begun, false)
    })

    it('leaves no property behind when it races with the deletion of the actor', async () => {
      const store = await open()
      await store.write((tx) => addActor(tx, 'a'))
      const deletion = store.writeActor('a', (tx) => tx.run('DELETE FROM actor WHERE id = $1', 'a'))
      const late = store.writeActor('a', (tx) => setProperty(tx, 'a', 'p', '1'))
      const [deleted, change] = await Promise.allSettled([deletion, late])
      assert.equal(deleted.status, 'fulfilled')
      // Either write may run first. In both orders no property remains.
      if (change.status === 'rejected') refuses('actor_not_found')(change.reason)
      assert.deepEqual(await store.read((q) => q.all('SELECT name FROM property')), [])
    })

    it('loses no update when two stores increment the same value', async () => {
      const { url } = await database()
      const stores = [await open({ url }), await open({ url })]
      await stores[0]?.write((tx) => addActor(tx, 'a'))
      const countUp = (store: Store) =>
        store.writeActor('a', async (tx) => {
          const value = Number((await getProperty(tx, 'a', 'count')) ?? '0')
          await setProperty(tx, 'a', 'count', String(value + 1))
        })
      await Promise.all(stores.flatMap((store) => Array.from({ length: 40 }, () => countUp(store))))
      assert.equal(await stores[0]?.read((q) => getProperty(q, 'a', 'count')), '80')
    })
  })

  describe('a read', () => {
    it('sees in each statement all changes committed before that statement', async () => {
      const { url } = await database()
      const [store, other] = [await open({ url }), await open({ url })]
      await store.read(async (q) => {
        assert.deepEqual(await actorIds(q), [])
        await other.write((tx) => addActor(tx, 'a'))
        assert.deepEqual(await actorIds(q), ['a'])
      })
    })

    it('fails alone when the database rejects its parameters, without affecting concurrent reads and writes', async () => {
      const store = await open()
      await store.write((tx) => addActor(tx, 'kept'))
      // PostgreSQL rejects these strings as a parameter or in the JSON of `rows`.
      const bad = ['x\0y', '\ud83d', JSON.stringify([['x\0y']]), JSON.stringify([['\ud83d']]), 'no JSON']
      const texts = Array.from({ length: 60 }, (_, index) => bad[index % 10] ?? 'kept')
      const [reads, writes] = await Promise.all([
        Promise.allSettled(
          texts.map((text) =>
            store.read((q) =>
              text === 'kept' || !/^[[n]/.test(text)
                ? q.get('SELECT id FROM actor WHERE id = $1', text)
                : q.all('SELECT id FROM actor WHERE id IN (SELECT r.id FROM rows($1, id TEXT) AS r)', text),
            ),
          ),
        ),
        Promise.allSettled(
          texts.map((text, index) =>
            store.write((tx) => (text === 'kept' ? addActor(tx, `a${index}`) : tx.run('SELECT $1', text))),
          ),
        ),
      ])
      for (const [index, text] of texts.entries()) {
        if (text !== 'kept') continue
        const read = reads[index]
        assert.deepEqual(read?.status === 'fulfilled' && { ...read.value }, { id: 'kept' }, `read ${index}`)
        assert.equal(writes[index]?.status, 'fulfilled', `write ${index}`)
      }
      assert.equal((await store.read(actorIds)).length, 31)
    })

    it('returns undefined for a row that does not exist', async () => {
      const store = await open()
      assert.equal(await store.read((q) => q.get('SELECT id FROM actor WHERE id = $1', 'none')), undefined)
    })

    it('rejects with the error that its function throws', async () => {
      const store = await open()
      const error = new Error('no')
      await assert.rejects(
        store.read(() => {
          throw error
        }),
        (thrown) => thrown === error,
      )
    })
  })

  describe('a snapshot', () => {
    it('sees the same state in all its statements', async () => {
      const store = await open()
      await store.snapshot(async (q) => {
        assert.deepEqual(await actorIds(q), [])
        await store.write((tx) => addActor(tx, 'a'))
        assert.deepEqual(await actorIds(q), [])
      })
      assert.deepEqual(await store.snapshot(actorIds), ['a'])
    })

    it('never sees a partial change', async () => {
      const store = await open()
      await store.write(async (tx) => {
        await addActor(tx, 'a')
        await setProperty(tx, 'a', 'left', '50')
        await setProperty(tx, 'a', 'right', '50')
      })
      const move = (amount: number) =>
        store.writeActor('a', async (tx) => {
          await setProperty(tx, 'a', 'left', String(50 - amount))
          await setProperty(tx, 'a', 'right', String(50 + amount))
        })
      const sum = () =>
        store.snapshot(
          async (q) => Number(await getProperty(q, 'a', 'left')) + Number(await getProperty(q, 'a', 'right')),
        )
      const sums = await Promise.all(
        Array.from({ length: 30 }, async (_, index) => {
          const [before] = await Promise.all([sum(), move(index)])
          return before
        }),
      )
      assert.deepEqual(new Set(sums), new Set([100]))
    })

    it('rejects with the error that its function throws, and releases its connection', async () => {
      const store = await open()
      for (let round = 0; round < 12; round++)
        await assert.rejects(
          store.snapshot(async () => {
            throw new Error('no')
          }),
          { message: 'no' },
        )
      assert.deepEqual(await store.snapshot(actorIds), [])
    })

    it('waits for a free connection when more snapshots run than there are connections', async () => {
      const store = await open({ workers: 2, connectTimeoutMs: 20_000 })
      const results = await Promise.all(Array.from({ length: 40 }, () => store.snapshot(actorIds)))
      assert.equal(results.length, 40)
    })
  })

  describe('rows', () => {
    it('of other tables are deleted with their actor', async () => {
      const store = await open()
      await store.write(async (tx) => {
        await addActor(tx, 'a')
        await addActor(tx, 'b')
        await setProperty(tx, 'a', 'p', '1')
        await setProperty(tx, 'b', 'p', '1')
        await tx.run(`INSERT INTO attribute (actor_id, bucket, name, data, timestamp) VALUES ('a', 'b', 'n', '1', 0)`)
      })
      await store.writeActor('a', (tx) => tx.run('DELETE FROM actor WHERE id = $1', 'a'))
      assert.deepEqual(await store.read((q) => q.all('SELECT actor_id FROM property')), [{ actor_id: 'b' }])
      assert.deepEqual(await store.read((q) => q.all('SELECT name FROM attribute')), [])
    })

    it('can come from a parameter', async () => {
      const store = await open()
      const rows = JSON.stringify([
        [3, 'drei'],
        [1, 'it\'s "quoted" \\ 🎭'],
        [9007199254740991, null],
      ])
      assert.deepEqual(
        await store.read((q) => q.all('SELECT r.n, r.t FROM rows($1, n BIGINT, t TEXT) AS r ORDER BY r.n', rows)),
        [
          { n: 1, t: 'it\'s "quoted" \\ 🎭' },
          { n: 3, t: 'drei' },
          { n: 9007199254740991, t: null },
        ],
      )
      assert.deepEqual(await store.read((q) => q.all('SELECT r.n FROM rows($1, n BIGINT) AS r', '[]')), [])
    })

    it('from a parameter can be joined and inserted', async () => {
      const store = await open()
      await store.write(async (tx) => {
        await addActor(tx, 'a')
        await setProperty(tx, 'a', 'old', '0')
        const changes = JSON.stringify([
          ['old', '1'],
          ['new', '2'],
        ])
        const touched = await tx.run(
          `INSERT INTO property (actor_id, name, kind, value)
           SELECT $1, r.name, 'value', r.value FROM rows($2, name TEXT, value TEXT) AS r WHERE true
           ON CONFLICT (actor_id, name) DO UPDATE SET value = excluded.value`,
          'a',
          changes,
        )
        assert.equal(touched, 2)
        const found = await tx.all(
          `SELECT p.name, p.value FROM rows($2, name TEXT) AS r
           JOIN property p ON p.actor_id = $1 AND p.name = r.name ORDER BY p.name`,
          'a',
          '[["old"],["new"],["none"]]',
        )
        assert.deepEqual(found, [
          { name: 'new', value: '2' },
          { name: 'old', value: '1' },
        ])
      })
    })
  })

  describe('values', () => {
    it('are returned as numbers, strings and null, the same on both databases', async () => {
      const store = await open()
      await store.write(async (tx) => {
        await addActor(tx, 'a')
        await tx.run(
          'INSERT INTO attribute (actor_id, bucket, name, data, timestamp) VALUES ($1, $2, $3, $4, $5)',
          'a',
          'b',
          'n',
          '{"x":[1]}',
          9007199254740991,
        )
      })
      const row = await store.read((q) =>
        q.get<object>(
          `SELECT timestamp, data, count(*) OVER () AS many, sum(timestamp) OVER () AS total,
                  EXISTS (SELECT 1 FROM actor WHERE actor.id = attribute.actor_id) AS found, 7 / 2 AS half, NULL AS absent
           FROM attribute WHERE actor_id = $2 AND timestamp = $1`,
          9007199254740991,
          'a',
        ),
      )
      assert.deepEqual(row, {
        timestamp: 9007199254740991,
        data: '{"x":[1]}',
        many: 1,
        total: 9007199254740991,
        found: 1,
        half: 3,
        absent: null,
      })
    })

    it('do not fill the old generation of the heap after they were read and dropped', async () => {
      const store = await open()
      const wanted = JSON.stringify(Array.from({ length: 500 }, (_, n) => [n]))
      const read = async (times: number) => {
        for (let at = 0; at < times; at += 1) {
          const rows = await store.read((q) => q.all('SELECT r.n FROM rows($1, n BIGINT) AS r', wanted))
          assert.equal(rows.length, 500)
        }
      }
      await read(100)
      const before = oldGeneration()
      await read(400)
      // The loop reads 200,000 rows, which would take 12 MB at 60 bytes each.
      assert.ok(oldGeneration() - before < 3_000_000, `The old generation grew by ${oldGeneration() - before} bytes`)
    })

    it('cause an error when a number cannot represent them exactly', async () => {
      const store = await open()
      await assert.rejects(
        store.read((q) => q.get('SELECT 9007199254740993 AS n')),
        /too large to be represented/,
      )
      assert.deepEqual(await store.read(actorIds), [])
    })

    it('given as integers divide and convert to text as integers', async () => {
      const store = await open()
      const row = await store.read((q) =>
        q.get<object>(`SELECT CAST($1 AS BIGINT) / 2 AS half, CAST(CAST($1 AS BIGINT) AS TEXT) AS text`, 7),
      )
      assert.deepEqual(row, { half: 3, text: '7' })
    })

    it('that are strings are compared byte by byte, and LIKE is case-sensitive', async () => {
      const store = await open()
      await store.write(async (tx) => {
        for (const id of ['b', 'B', 'a', 'Z', 'ä', 'é']) await addActor(tx, id)
      })
      assert.deepEqual(await store.read(actorIds), ['B', 'Z', 'a', 'b', 'ä', 'é'])
      assert.deepEqual(await store.read((q) => q.all(`SELECT id FROM actor WHERE id LIKE $1`, 'b%')), [{ id: 'b' }])
      const sorted = await store.read((q) =>
        q.all<{ t: string }>('SELECT r.t FROM rows($1, t TEXT) AS r ORDER BY r.t', '[["b"],["B"],["a"],["Z"]]'),
      )
      assert.deepEqual(
        sorted.map((row) => row.t),
        ['B', 'Z', 'a', 'b'],
      )
    })
  })

  describe('the observer', () => {
    it('receives each statement of the domain once, including the lock of an actor', async () => {
      const seen = counting()
      const store = await open({ onQuery: seen.onQuery })
      await store.write((tx) => addActor(tx, 'a'))
      seen.reset()
      await store.read((q) => q.get('SELECT 1 AS one'))
      await store.snapshot((q) => q.get('SELECT 2 AS two'))
      await store.writeActor('a', (tx) => tx.run('UPDATE actor SET creator = $1', 'x'))
      await store.ping()
      assert.deepEqual(seen.statements, [
        'SELECT 1 AS one',
        'SELECT 2 AS two',
        LOCK_ACTOR,
        'UPDATE actor SET creator = $1',
      ])
    })
  })

  describe('close', () => {
    it('waits for the writes and snapshots that have begun', async () => {
      const { url } = await database()
      const store = await open({ url })
      const begun = [
        ...Array.from({ length: 10 }, (_, index) => store.write((tx) => addActor(tx, `a${index}`))),
        store.snapshot((q) => q.get('SELECT 1 AS one')),
      ]
      await store.close()
      await Promise.all(begun)
      assert.equal((await (await open({ url })).read(actorIds)).length, 10)
    })

    it('rejects every later call, and may be called twice', async () => {
      const store = await open()
      await store.close()
      await store.close()
      await assert.rejects(store.read(actorIds), refuses('shutting_down'))
      await assert.rejects(store.snapshot(actorIds), refuses('shutting_down'))
      await assert.rejects(
        store.write((tx) => addActor(tx, 'a')),
        refuses('shutting_down'),
      )
      await assert.rejects(
        store.writeActor('a', async () => {}),
        refuses('shutting_down'),
      )
      await assert.rejects(store.ping(), refuses('shutting_down'))
    })
  })

  describe('ping', () => {
    it('resolves while the database answers', async () => {
      const store = await open()
      await store.ping()
    })
  })

  describe('usage', () => {
    it('has the bytes of the database, which grow with its rows, and what the disk of a file has left', async () => {
      const store = await open()
      const before = await store.usage()
      await store.write(async (tx) => {
        await addActor(tx, 'a')
        for (let count = 0; count < 100; count += 1) await setProperty(tx, 'a', `name ${count}`, 'v'.repeat(10_000))
      })
      const after = await store.usage()
      assert.ok(
        before.bytes !== null && after.bytes !== null && after.bytes > before.bytes,
        JSON.stringify([before, after]),
      )
      if (dialect === 'sqlite') assert.ok((after.freeBytes ?? 0) > 0)
      else assert.equal(after.freeBytes, null)
      assert.equal(after.waiting, 0)
    })

    it('counts the changes that wait for a connection', async () => {
      const store = await open({ workers: 1, batchSize: 1, connectTimeoutMs: 20_000 })
      const { promise: released, resolve: release } = Promise.withResolvers<void>()
      const first = store.write(() => released)
      const later = [1, 2, 3].map((count) => store.write((tx) => addActor(tx, `a${count}`)))
      await until(async () => (await store.usage()).waiting === 3)
      release()
      await Promise.all([first, ...later])
      assert.equal((await store.usage()).waiting, 0)
    })
  })

  describe('a migration (OPS-05)', () => {
    const empty = async () =>
      dialect === 'sqlite' ? createFileFolder() : createPostgresDatabase(await sharedPostgresUrl())
    const numbers = async (store: Store) =>
      (await store.read((q) => q.all<{ number: number }>('SELECT number FROM schema_migrations ORDER BY number'))).map(
        (row) => row.number,
      )
    const known = readMigrations()
    const newestKnown = known.at(-1)?.number ?? 0
    const next = (sql: string): Migration => ({ number: newestKnown + 1, name: 'next', sql })

    it('runs once when many stores are opened at the same moment', async (t) => {
      const { url, remove } = await empty()
      t.after(remove)
      const stores = await Promise.all(Array.from({ length: 4 }, () => openStore({ url })))
      for (const store of stores) {
        assert.deepEqual(
          await numbers(store),
          known.map((migration) => migration.number),
        )
        await store.close()
      }
    })

    it('runs once when two processes start at the same moment', async (t) => {
      const { url, remove } = await empty()
      t.after(remove)
      const outputs = await Promise.all([1, 2].map(() => startProcess([url]).output))
      assert.deepEqual(outputs, ['starting\nopen\ndone\n', 'starting\nopen\ndone\n'])
    })

    it('completes after the process that ran it was killed', async (t) => {
      const { url, remove } = await empty()
      t.after(remove)
      // The script is long enough for a kill between two statements. The result is the same after any of them.
      const long = next(
        Array.from({ length: 300 }, (_, index) => `CREATE TABLE t${index} (n BIGINT NOT NULL);`).join('\n'),
      )
      const migrations = [...known, long]
      for (let round = 0; round < 3; round++) {
        const { child, output } = startProcess([url, '0', JSON.stringify(migrations)])
        child.stdout?.once('data', () => child.kill('SIGKILL'))
        await output
      }
      const store = await openStore({ url, migrations })
      t.after(() => store.close())
      assert.deepEqual(
        await numbers(store),
        migrations.map((migration) => migration.number),
      )
      assert.deepEqual(await store.read((q) => q.all('SELECT n FROM t299')), [])
    })

    it('rolls back a script that fails, and runs the corrected script afterwards', async (t) => {
      const { url, remove } = await empty()
      t.after(remove)
      const wrong = next('CREATE TABLE half (n BIGINT); INSERT INTO nothing VALUES (1);')
      await assert.rejects(openStore({ url, migrations: [...known, wrong] }), { name: 'StoreStartError' })
      const store = await openStore({ url, migrations: [...known, next('CREATE TABLE half (n BIGINT);')] })
      t.after(() => store.close())
      assert.deepEqual(await store.read((q) => q.all('SELECT n FROM half')), [])
    })

    it('rejects the database of a newer release with one sentence', async (t) => {
      const { url, remove } = await empty()
      t.after(remove)
      const newer = await openStore({ url, migrations: [...known, { number: 9999, name: 'future', sql: 'SELECT 1' }] })
      await newer.write((tx) => tx.run('UPDATE schema_migrations SET release = $1 WHERE number = $2', '9.8.0', 9999))
      await newer.close()
      await assert.rejects(openStore({ url, migrations: known }), {
        name: 'StoreStartError',
        message: `Cannot use the database: release 9.8.0 migrated it to schema 9999 ("future"), and this release, ${release}, knows schemas up to ${newestKnown}; nothing was changed. Start release 9.8.0 or a newer one.`,
      })
    })

    it('does not run, and creates nothing, when the store must exist already', async (t) => {
      const { url, remove } = await empty()
      t.after(remove)
      const sentenceFor = async (migrations: readonly Migration[]): Promise<string> => {
        const error: unknown = await openStore({ url, migrations, mustExist: true }).then(
          () => null,
          (raised: unknown) => raised,
        )
        assert.ok(error instanceof NotCreatedError, String(error))
        return error.message
      }
      const path = url.slice('sqlite:'.length)
      if (dialect === 'sqlite') {
        assert.equal(await sentenceFor(known), `The database file ${path} does not exist yet; a start creates it.`)
        assert.equal(existsSync(path), false)
        writeFileSync(path, '')
      }
      assert.equal(
        await sentenceFor(known),
        'The database contains no tables of this service yet; a start creates them.',
      )

      const first: Migration = { number: 1, name: 'first', sql: 'CREATE TABLE one (n BIGINT);' }
      const second: Migration = { number: 2, name: 'second', sql: 'CREATE TABLE two (n BIGINT);' }
      await (await openStore({ url, migrations: [first] })).close()
      assert.equal(
        await sentenceFor([first, second]),
        'The database has schema 1 and this release needs schema 2; a start migrates it.',
      )
      const store = await openStore({ url, migrations: [first], mustExist: true })
      t.after(() => store.close())
      assert.deepEqual(await numbers(store), [1])
      await assert.rejects(store.read((q) => q.all('SELECT n FROM two')))
    })

    it('rejects a database that was migrated by another script with the same number', async (t) => {
      const { url, remove } = await empty()
      t.after(remove)
      const store = await openStore({ url, migrations: [...known, next('SELECT 1')] })
      await store.close()
      await assert.rejects(openStore({ url, migrations: [...known, next('SELECT 2')] }), {
        name: 'StoreStartError',
        message: `Cannot use the database: its migration ${newestKnown + 1} ("next") differs from the one in this release; nothing was changed.`,
      })
    })

    it('rejects a database from before the first script was frozen', async (t) => {
      const { url, remove } = await empty()
      t.after(remove)
      const older: Migration[] = [
        { number: 1, name: 'ground', sql: 'CREATE TABLE actor (id BIGINT);' },
        { number: 2, name: 'peers', sql: 'CREATE TABLE trust (id BIGINT);' },
      ]
      await (await openStore({ url, migrations: older })).close()
      for (const mustExist of [false, true]) {
        await assert.rejects(openStore({ url, mustExist }), {
          name: 'StoreStartError',
          message:
            'Cannot use the database: a version of Troupe before 0.2.0 created it, with tables that no release upgrades; nothing was changed. Export its actors with that version and import them into a new database.',
        })
      }
      const store = await openStore({ url, migrations: older })
      t.after(() => store.close())
      assert.deepEqual(await numbers(store), [1, 2])
      // Such a version did not record its release.
      if (dialect === 'sqlite') {
        const database = new DatabaseSync(url.slice('sqlite:'.length))
        database.exec('ALTER TABLE schema_migrations DROP COLUMN release')
        database.close()
      } else await administer(url, 'ALTER TABLE troupe.schema_migrations DROP COLUMN release')
      await assert.rejects(openStore({ url }), {
        message: /^Cannot use the database: a version of Troupe before 0\.2\.0 /,
      })
    })
  })

  describe('a store with planned faults', () => {
    it('fails the planned statement and its transaction, and nothing after the plan', async () => {
      const store = faulty(await open(), { at: 2 })
      const twoActors = async (tx: Transaction) => {
        await addActor(tx, 'a')
        await addActor(tx, 'b').catch(() => {})
      }
      await assert.rejects(store.write(twoActors), refuses('store_unavailable'))
      assert.deepEqual(await store.read(actorIds), [])
      assert.equal(store.failed, 1)
      store.plan({ matching: /FROM actor/, error: () => new Error('planned') })
      await assert.rejects(store.read(actorIds), { message: 'planned' })
      assert.deepEqual(await store.read(actorIds), [])
    })
  })
})

function startProcess(args: readonly string[]) {
  const child = spawn(process.execPath, [join(import.meta.dirname, '../support/store-process.ts'), ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const output = new Promise<string>((resolve, reject) => {
    let said = ''
    child.once('error', reject)
    child.stdout.setEncoding('utf8')
    child.stdout.on('data', (text: string) => (said += text))
    child.once('close', () => resolve(said))
  })
  return { child, output }
}
