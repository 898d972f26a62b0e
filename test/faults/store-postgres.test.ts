import assert from 'node:assert/strict'
import { AsyncLocalStorage } from 'node:async_hooks'
import { after, before, describe, it, type TestContext } from 'node:test'
import pg from 'pg'
import { ServiceError } from '../../src/errors.ts'
import { openStore, type StoreOptions } from '../../src/open-store.ts'
import type { LockedActor, Queries, Store, Transaction } from '../../src/store/store.ts'
import { onShards, schemaUrl } from '../support/citus.ts'
import { administer, type PostgresServer, sharedPostgresUrl, startPostgres, sumOnServers } from '../support/postgres.ts'
import { openRelay } from '../support/relay.ts'
import { until } from '../support/until.ts'
import { createPostgresDatabase, createTestDatabase, unavailable } from '../support/stores.ts'

const addActor = (tx: Transaction, id: string) =>
  tx.run('INSERT INTO actor (id, creator, passphrase, created_at) VALUES ($1, $2, $3, $4)', id, 'owner', 'secret', 1)

const rename = (tx: Transaction, id: string, creator: string) =>
  tx.run('UPDATE actor SET creator = $2 WHERE id = $1', id, creator)

const actorIds = async (q: Queries) =>
  (await q.all<{ id: string }>('SELECT id FROM actor ORDER BY id')).map((row) => row.id)

const creatorOf = async (store: Store, id: string) =>
  (await store.read((q) => q.get<{ creator: string }>('SELECT creator FROM actor WHERE id = $1', id)))?.creator

/** A promise with its resolve function. */
function deferred() {
  let keep = () => {}
  const promise = new Promise<void>((resolve) => (keep = resolve))
  return { promise, keep }
}

/** Closes and removes what a test opened, in reverse order. */
function undoAfter(t: TestContext): (step: () => Promise<void>) => void {
  const steps: (() => Promise<void>)[] = []
  t.after(async () => {
    for (const step of steps.reverse()) await step()
  })
  return (step) => void steps.push(step)
}

/** Opens a store on a new database. */
async function openFresh(t: TestContext, options: Partial<StoreOptions> = {}, settings: readonly string[] = []) {
  const undo = undoAfter(t)
  const database = await createTestDatabase('postgres')
  undo(() => database.remove())
  const { url } = database
  const name = new URL(url).pathname.slice(1)
  for (const setting of settings) await administer(url, `ALTER DATABASE ${name} SET ${setting}`)
  const store = await openStore({ ...options, url })
  undo(() => store.close())
  return { store, url, name }
}

/** Opens a store over a relay that can cut its connections, and a second store with a direct connection. */
async function openOverRelay(t: TestContext, options: Partial<StoreOptions> = {}) {
  const undo = undoAfter(t)
  const database = await createTestDatabase('postgres')
  undo(() => database.remove())
  const relay = await openRelay(Number(new URL(database.url).port))
  const url = new URL(database.url)
  url.port = String(relay.port)
  const store = await openStore({ ...options, url: url.href })
  undo(() => store.close())
  undo(() => relay.close())
  const direct = await openStore({ url: database.url })
  undo(() => direct.close())
  return { store, relay, direct }
}

const COMMIT = Buffer.from('COMMIT\0')

describe('a lost connection (DUR-14)', () => {
  it('between the commit and its response gives 503 with an unknown outcome, and the change is made once', async (t) => {
    const { store, relay, direct } = await openOverRelay(t)
    let runs = 0
    let cut = false
    relay.judge = (piece) => {
      if (cut || !piece.includes(COMMIT)) return 'pass'
      cut = true
      return 'cut before the answer'
    }
    await assert.rejects(
      store.write((tx) => {
        runs++
        return addActor(tx, 'a')
      }),
      {
        code: 'store_unavailable',
        message: 'The connection to storage broke during the commit: whether the change was made is unknown',
      },
    )
    assert.equal(runs, 1)
    assert.deepEqual(await direct.read(actorIds), ['a'])
    await store.write((tx) => addActor(tx, 'b'))
    assert.deepEqual(await store.read(actorIds), ['a', 'b'])
  })

  it('before the commit arrives gives 503 with an unknown outcome, without a retry', async (t) => {
    const { store, relay, direct } = await openOverRelay(t)
    let cut = false
    relay.judge = (piece) => {
      if (cut || !piece.includes(COMMIT)) return 'pass'
      cut = true
      return 'cut before it arrives'
    }
    await assert.rejects(
      store.write((tx) => addActor(tx, 'a')),
      /whether the change was made is unknown/,
    )
    assert.deepEqual(await direct.read(actorIds), [])
  })

  it('before the commit makes the transaction run again, once at most', async (t) => {
    const { store, relay, direct } = await openOverRelay(t)
    let runs = 0
    await store.write(async (tx) => {
      runs++
      await addActor(tx, 'a')
      if (runs === 1) relay.cut()
      await addActor(tx, 'b')
    })
    assert.equal(runs, 2)
    assert.deepEqual(await direct.read(actorIds), ['a', 'b'])
    runs = 0
    await assert.rejects(
      store.write(async (tx) => {
        runs++
        await addActor(tx, 'c')
        relay.cut()
        await addActor(tx, 'd')
      }),
      unavailable(/connection to the database broke/),
    )
    assert.equal(runs, 2)
    assert.deepEqual(await direct.read(actorIds), ['a', 'b'])
  })

  it('during a read is retried transparently', async (t) => {
    const { store, relay } = await openOverRelay(t)
    await store.write((tx) => addActor(tx, 'a'))
    for (let round = 0; round < 4; round++) {
      relay.cut()
      assert.deepEqual(await store.read(actorIds), ['a'])
    }
  })
})

type Change<T> = (tx: Transaction, actor: LockedActor) => Promise<T>

const addTo =
  (actorId: string, name: string): Change<number> =>
  (tx) =>
    tx.run(`INSERT INTO property (actor_id, name, kind, value) VALUES ($1, $2, 'value', '1')`, actorId, name)

const watchUntil =
  (actorId: string, time: number): Change<number> =>
  (tx) =>
    tx.run('UPDATE actor SET watched_until = $2 WHERE id = $1', actorId, time)

const namesOf = async (store: Store, actorId: string) =>
  (
    await store.read((q) =>
      q.all<{ name: string }>('SELECT name FROM property WHERE actor_id = $1 ORDER BY name', actorId),
    )
  ).map((row) => row.name)

const transactionId: Change<string | undefined> = async (tx) =>
  (await tx.get<{ id: string }>('SELECT CAST(pg_current_xact_id() AS TEXT) AS id'))?.id

/** Counts the sessions that wait for a lock of this one, directly or behind another waiting session. */
const sessionsBehind = async (store: Store, pid: number) => {
  const sessions = `WITH RECURSIVE behind (pid) AS (
      SELECT ${pid}
      UNION SELECT a.pid FROM behind JOIN pg_stat_activity a ON behind.pid = ANY (pg_blocking_pids(a.pid))
    ) SELECT count(*) - 1 AS n FROM behind`
  return store.read((q) => sumOnServers(q, sessions))
}

/**
 * Runs changes of one actor in one transaction: they wait while two leaders wait for the row of the actor, and the first
 * leader that gets the row takes them all.
 */
async function runTogether<T>(
  store: Store,
  actorId: string,
  changes: readonly Change<T>[],
  leader: Change<unknown> = async () => {},
) {
  const [locked, release] = [deferred(), deferred()]
  let pid = 0
  const holder = store.write(async (tx) => {
    const row = await tx.get<{ pid: number }>(
      'SELECT pg_backend_pid() AS pid FROM actor WHERE id = $1 FOR UPDATE',
      actorId,
    )
    pid = row?.pid ?? 0
    locked.keep()
    await release.promise
  })
  await locked.promise
  const leaders = Promise.allSettled([store.writeActor(actorId, leader), store.writeActor(actorId, leader)])
  await until(async () => (await sessionsBehind(store, pid)) === 2)
  const results = Promise.allSettled(changes.map((change) => store.writeActor(actorId, change)))
  release.keep()
  await Promise.all([holder, leaders])
  return (await results).map((result) => (result.status === 'fulfilled' ? result.value : (result.reason as unknown)))
}

/** No group ends early, however slow the machine is: the limit is a share of this timeout. */
const patient = { lockTimeoutMs: 600_000 }

describe('changes of one actor that wait together', () => {
  it('fail alone, whether the work or a statement fails', async (t) => {
    const { store } = await openFresh(t, patient)
    await store.write((tx) => addActor(tx, 'a'))
    await store.writeActor('a', addTo('a', 'p0'))
    const error = new Error('changed my mind')
    const results = await runTogether<unknown>(store, 'a', [
      addTo('a', 'p1'),
      async (tx, actor) => {
        await addTo('a', 'p2')(tx, actor)
        throw error
      },
      addTo('a', 'p0'),
      async (tx, actor) => {
        await addTo('a', 'p3')(tx, actor)
        await addTo('a', 'p0')(tx, actor).catch(() => {})
      },
      (tx) => tx.run('DELETE FROM nothing'),
      async (tx, actor) => {
        // The statement has no answer yet when the work ends.
        addTo('a', 'p0')(tx, actor).catch(() => {})
      },
      addTo('a', 'p4'),
      async (tx, actor) => {
        await addTo('a', 'p5')(tx, actor)
        throw error
      },
    ])
    const [missing] = results.splice(4, 1)
    assert.ok(missing instanceof pg.DatabaseError)
    assert.deepEqual(
      results.map((result) => (result instanceof ServiceError ? result.code : result)),
      [1, error, 'conflict', 'conflict', 'conflict', 1, error],
    )
    assert.deepEqual(await namesOf(store, 'a'), ['p0', 'p1', 'p4'])
  })

  it('succeed although the change that leads them fails', async (t) => {
    const { store } = await openFresh(t, patient)
    await store.write((tx) => addActor(tx, 'a'))
    const leaders: Change<unknown>[] = [
      async () => Promise.reject(new Error('changed my mind')),
      (tx) => tx.run('DELETE FROM nothing'),
      (tx, actor) => Promise.all([addTo('a', 'p0')(tx, actor), addTo('a', 'p0')(tx, actor)]),
    ]
    for (const leader of leaders) {
      assert.deepEqual(await runTogether(store, 'a', [addTo('a', 'p1'), addTo('a', 'p2')], leader), [1, 1])
      assert.deepEqual(await namesOf(store, 'a'), ['p1', 'p2'])
      await store.write((tx) => tx.run('DELETE FROM property'))
    }
  })

  it('get actor_not_found behind one that deletes the actor', async (t) => {
    const { store } = await openFresh(t, patient)
    await store.write((tx) => addActor(tx, 'a'))
    // A sharded database may run two waiting changes in any order, so each change starts the next one while it has the lock.
    const started: { deletion?: Promise<unknown>; last?: Promise<unknown> } = {}
    const added = await runTogether(store, 'a', [
      async (tx, actor) => {
        const rows = await addTo('a', 'p1')(tx, actor)
        started.deletion = store.writeActor('a', async (tx) => {
          const deleted = await tx.run('DELETE FROM actor WHERE id = $1', 'a')
          started.last = store.writeActor('a', addTo('a', 'p2')).catch((error: unknown) => error)
          return deleted
        })
        return rows
      },
    ])
    assert.deepEqual([...added, await started.deletion], [1, 1])
    const refusal: unknown = await started.last
    assert.ok(refusal instanceof ServiceError)
    assert.equal(refusal.code, 'actor_not_found')
    assert.deepEqual(await store.read(actorIds), [])
  })

  it('each run in the context of their own request', async (t) => {
    const { store } = await openFresh(t, patient)
    await store.write((tx) => addActor(tx, 'a'))
    const request = new AsyncLocalStorage<string>()
    const contexts = async (name: string) => {
      const seen = [request.getStore()]
      await store.writeActor('a', async (tx) => {
        seen.push(request.getStore())
        await transactionId(tx, { id: 'a' } as LockedActor)
        seen.push(request.getStore())
      })
      return [name, ...seen]
    }
    const names = Array.from({ length: 20 }, (_, index) => `request ${index}`)
    assert.deepEqual(
      await Promise.all(names.map((name) => request.run(name, contexts, name))),
      names.map((name) => [name, name, name, name]),
    )
  })

  it('are all made when the database cannot serialize their transaction, or fail with 503', async (t) => {
    const { store } = await openFresh(t, patient, ["default_transaction_isolation = 'serializable'"])
    await store.write((tx) => Promise.all([addActor(tx, 'a'), addActor(tx, 'b')]))
    await store.write((tx) => Promise.all([rename(tx, 'a', '0'), rename(tx, 'b', '0')]))
    const countUp: Change<void> = async (tx) => {
      const row = await tx.get<{ creator: string }>('SELECT creator FROM actor WHERE id = $1', 'b')
      await rename(tx, 'b', String(Number(row?.creator) + 1))
    }
    const others = Array.from({ length: 3 }, () => store.write((tx) => countUp(tx, { id: 'a' } as LockedActor)))
    const failures: unknown[] = (await runTogether(store, 'a', [countUp, countUp, countUp])).filter(
      (result) => result !== undefined,
    )
    for (const result of await Promise.allSettled(others))
      if (result.status === 'rejected') failures.push(result.reason)
    for (const failure of failures) unavailable(/Every attempt conflicted/)(failure)
    assert.equal(await creatorOf(store, 'b'), String(6 - failures.length))
  })
})

// A sharded database runs each change in a transaction of its own, two at a time, in any order.
if (!onShards()) {
  describe('changes of one actor that share a transaction', () => {
    it('all succeed when groups of two processes need rows of each other', async (t) => {
      const { store, url } = await openFresh(t, patient)
      const second = await openStore({ ...patient, url })
      t.after(() => second.close())
      for (const id of ['a', 'b', 'x', 'y']) await store.write((tx) => addActor(tx, id))
      const [inA, inB] = [deferred(), deferred()]
      const crossing = (own: ReturnType<typeof deferred>, other: Promise<void>, rows: readonly [string, string]) => [
        async (tx: Transaction) => {
          await rename(tx, rows[0], rows.join())
          own.keep()
          await other
        },
        (tx: Transaction) => rename(tx, rows[1], rows.join()),
      ]
      const results = await Promise.all([
        runTogether<unknown>(store, 'a', crossing(inA, inB.promise, ['x', 'y'])),
        runTogether<unknown>(second, 'b', crossing(inB, inA.promise, ['y', 'x'])),
      ])
      assert.deepEqual(results, [
        [undefined, 1],
        [undefined, 1],
      ])
      assert.deepEqual([await creatorOf(store, 'x'), await creatorOf(store, 'y')], ['y,x', 'x,y'])
    })

    for (const pooler of ['none', 'prepared', 'unprepared'])
      it(`share transactions of at most 32 changes (?pooler=${pooler})`, async (t) => {
        const { store: plain, url } = await openFresh(t)
        await plain.write((tx) => addActor(tx, 'a'))
        const store = await openStore({ ...patient, url: `${url}?pooler=${pooler}` })
        t.after(() => store.close())
        const ids = await runTogether(
          store,
          'a',
          Array.from({ length: 60 }, () => transactionId),
        )
        // The leader of the group is its 32nd change.
        assert.equal(
          Math.max(
            ...Map.groupBy(ids, (id) => id)
              .values()
              .map((group) => group.length),
          ),
          31,
        )
      })

    it('see the changes before them, and the current row of the actor', async (t) => {
      const { store } = await openFresh(t, patient)
      await store.write((tx) => addActor(tx, 'a'))
      const look: Change<unknown> = async (tx, { watchedUntil }) => [
        watchedUntil,
        (await tx.all<{ name: string }>('SELECT name FROM property ORDER BY name')).map((row) => row.name),
      ]
      assert.deepEqual(
        await runTogether<unknown>(store, 'a', [
          addTo('a', 'p1'),
          look,
          watchUntil('a', 5),
          look,
          addTo('a', 'p2'),
          look,
          async (tx, actor) => {
            await watchUntil('a', 6)(tx, actor)
            throw new Error('no')
          },
          look,
        ]),
        [1, [0, ['p1']], 1, [5, ['p1']], 1, [5, ['p1', 'p2']], new Error('no'), [5, ['p1', 'p2']]],
      )
    })

    it('end without the change that waits for a row of another transaction', async (t) => {
      const { store } = await openFresh(t, patient)
      await store.write((tx) => Promise.all([addActor(tx, 'a'), addActor(tx, 'b')]))
      const [locked, release] = [deferred(), deferred()]
      const other = store.write(async (tx) => {
        await rename(tx, 'b', 'other')
        locked.keep()
        await release.promise
      })
      await locked.promise
      let attempts = 0
      let isDone = false
      const together = runTogether<unknown>(store, 'a', [
        addTo('a', 'p1'),
        async (tx, actor) => {
          attempts++
          await addTo('a', 'p2')(tx, actor)
          await rename(tx, 'b', 'mine')
          isDone = true
        },
        addTo('a', 'p3'),
      ])
      await until(async () => (await namesOf(store, 'a')).length === 2)
      assert.deepEqual(await namesOf(store, 'a'), ['p1', 'p3'])
      assert.equal(isDone, false)
      release.keep()
      assert.deepEqual(await together, [1, undefined, 1])
      await other
      assert.equal(attempts, 2)
      assert.deepEqual(await namesOf(store, 'a'), ['p1', 'p2', 'p3'])
      assert.equal(await creatorOf(store, 'b'), 'mine')
    })

    it('run again after the connection broke before the commit, and each is made once', async (t) => {
      const { store, relay, direct } = await openOverRelay(t, patient)
      await store.write((tx) => addActor(tx, 'a'))
      let runs = 0
      assert.deepEqual(
        await runTogether(store, 'a', [
          addTo('a', 'p1'),
          async (tx, actor) => {
            runs++
            if (runs === 1) relay.cut()
            return addTo('a', 'p2')(tx, actor)
          },
          addTo('a', 'p3'),
        ]),
        [1, 1, 1],
      )
      assert.equal(runs, 2)
      assert.deepEqual(await namesOf(direct, 'a'), ['p1', 'p2', 'p3'])
    })

    for (const [moment, names] of [
      ['cut before it arrives', []],
      ['cut before the answer', ['p1', 'p3']],
    ] as const)
      it(`have an unknown outcome after the connection broke in the commit (${moment}), except a failed change`, async (t) => {
        const { store, relay, direct } = await openOverRelay(t, patient)
        await store.write((tx) => addActor(tx, 'a'))
        let runs = 0
        const results = await runTogether<unknown>(store, 'a', [
          addTo('a', 'p1'),
          async (tx, actor) => {
            await addTo('a', 'p2')(tx, actor)
            runs++
            throw new Error(`refusal ${runs}`)
          },
          async (tx, actor) => {
            relay.judge = (piece) => {
              if (!piece.includes(COMMIT)) return 'pass'
              relay.judge = () => 'pass'
              return moment
            }
            return addTo('a', 'p3')(tx, actor)
          },
        ])
        const unknown = 'The connection to storage broke during the commit: whether the change was made is unknown'
        assert.deepEqual(
          results.map((result) => (result instanceof Error ? result.message : result)),
          [unknown, 'refusal 2', unknown],
        )
        assert.deepEqual(await namesOf(direct, 'a'), names)
      })
  })
}

describe('conflicting transactions (DUR-14)', () => {
  it('both succeed after the database aborts one of them', async (t) => {
    const { store } = await openFresh(t, {}, ["deadlock_timeout = '10ms'"])
    await store.write(async (tx) => {
      await addActor(tx, 'a')
      await addActor(tx, 'b')
    })
    const [first, second] = [deferred(), deferred()]
    let runs = 0
    await Promise.all([
      store.write(async (tx) => {
        runs++
        await rename(tx, 'a', 'one')
        first.keep()
        await second.promise
        await rename(tx, 'b', 'one')
      }),
      store.write(async (tx) => {
        runs++
        await rename(tx, 'b', 'two')
        second.keep()
        await first.promise
        await rename(tx, 'a', 'two')
      }),
    ])
    assert.ok(runs >= 3, `${runs} runs`)
    assert.equal(await creatorOf(store, 'a'), await creatorOf(store, 'b'))
  })

  it('that cannot be serialized are retried and lose no change', async (t) => {
    const { store } = await openFresh(t, {}, ["default_transaction_isolation = 'serializable'"])
    await store.write((tx) => addActor(tx, 'a'))
    await store.write((tx) => rename(tx, 'a', '0'))
    const countUp = () =>
      store.write(async (tx) => {
        const row = await tx.get<{ creator: string }>('SELECT creator FROM actor WHERE id = $1', 'a')
        await rename(tx, 'a', String(Number(row?.creator) + 1))
      })
    const results = await Promise.allSettled([countUp(), countUp(), countUp()])
    const made = results.filter((result) => result.status === 'fulfilled').length
    assert.equal(await creatorOf(store, 'a'), String(made))
    for (const result of results)
      if (result.status === 'rejected') unavailable(/Every attempt conflicted/)(result.reason)
  })

  it('fail with 503 after six attempts', async (t) => {
    const { store } = await openFresh(t, {}, ["default_transaction_isolation = 'repeatable read'"])
    await store.write((tx) => addActor(tx, 'a'))
    let runs = 0
    await assert.rejects(
      store.write(async (tx) => {
        runs++
        await tx.get('SELECT creator FROM actor WHERE id = $1', 'a')
        await store.write((other) => rename(other, 'a', `other ${runs}`))
        await rename(tx, 'a', 'mine')
      }),
      unavailable(/Every attempt conflicted/),
    )
    assert.equal(runs, 6)
    assert.equal(await creatorOf(store, 'a'), 'other 6')
  })
})

describe('busy connections (DUR-15)', () => {
  it('give 503 with Retry-After to callers that wait too long, and are usable again afterwards', async (t) => {
    const { store } = await openFresh(t, { workers: 2, connectTimeoutMs: 3_000 })
    const release = deferred()
    const taken = [deferred(), deferred()]
    const holders = taken.map((one, index) =>
      store.write(async (tx) => {
        await addActor(tx, `holder ${index}`)
        one.keep()
        await release.promise
      }),
    )
    await Promise.all(taken.map((one) => one.promise))
    const results = await Promise.allSettled([store.write((tx) => addActor(tx, 'a')), store.snapshot(actorIds)])
    for (const result of results) {
      assert.equal(result.status, 'rejected')
      unavailable(/connection to the database/)(result.reason)
    }
    assert.deepEqual(await store.read(actorIds), [])
    release.keep()
    await Promise.all(holders)
    await store.write((tx) => addActor(tx, 'b'))
    assert.deepEqual(await store.read(actorIds), ['b', 'holder 0', 'holder 1'])
  })

  it('reject callers immediately when too many wait already', async (t) => {
    const { store } = await openFresh(t, { workers: 1, connectTimeoutMs: 30_000 })
    const [release, taken] = [deferred(), deferred()]
    const holder = store.write(async () => {
      taken.keep()
      await release.promise
    })
    await taken.promise
    const waiting = Array.from({ length: 100 }, () => store.snapshot(async () => 'done'))
    await assert.rejects(
      store.write((tx) => addActor(tx, 'a')),
      unavailable(/^Too many calls wait/),
    )
    release.keep()
    await Promise.all([holder, ...waiting])
  })

  it('do not leak after 10 000 failed requests', async (t) => {
    const { store, url, name } = await openFresh(t, { workers: 4, connectTimeoutMs: 60_000 })
    await store.write((tx) => addActor(tx, 'a'))
    let failures = 0
    const fail = async (index: number) => {
      const kinds = [
        () => store.write((tx) => addActor(tx, 'a')),
        () => store.writeActor('none', async () => {}),
        () => store.snapshot(async () => Promise.reject(new Error('no'))),
        () => store.read((q) => q.get('SELECT nothing FROM actor')),
        () => store.write((tx) => tx.run('DELETE FROM actor WHERE id = $1')),
      ]
      await kinds[index % kinds.length]?.().catch(() => failures++)
    }
    for (let round = 0; round < 100; round++)
      await Promise.all(Array.from({ length: 100 }, (_, index) => fail(round * 100 + index)))
    assert.equal(failures, 10_000)
    assert.deepEqual(await store.read(actorIds), ['a'])
    const client = new pg.Client({ connectionString: url })
    await client.connect()
    const sessions = await client.query<{ state: string }>(
      `SELECT state FROM pg_stat_activity WHERE datname = $1 AND application_name = 'troupe'`,
      [name],
    )
    await client.end()
    assert.ok(sessions.rows.length <= 6, `${sessions.rows.length} connections`)
    assert.deepEqual(new Set(sessions.rows.map((row) => row.state)), new Set(['idle']))
  })
})

describe('a database that does not answer', () => {
  it('gives 503 for reads, writes and ping within their limits (OPS-07)', async (t) => {
    const { store, relay } = await openOverRelay(t, { statementTimeoutMs: 2_000, connectTimeoutMs: 3_000 })
    await store.read(actorIds)
    await store.write((tx) => addActor(tx, 'a'))
    relay.silence()
    const results = await Promise.allSettled([
      store.read(actorIds),
      store.read(actorIds),
      store.snapshot(actorIds),
      store.ping(),
    ])
    for (const result of results) {
      assert.equal(result.status, 'rejected')
      unavailable(/database/)(result.reason)
    }
    await assert.rejects(
      store.write((tx) => addActor(tx, 'b')),
      unavailable(/database/),
    )
  })

  it('in time aborts only the slow statement', async (t) => {
    const { store } = await openFresh(t, { statementTimeoutMs: 2_000 })
    await assert.rejects(
      // Real time: the statement timeout runs in the server.
      store.read((q) => q.get('SELECT pg_sleep(60)')),
      unavailable(/timed out/),
    )
    await assert.rejects(
      store.write(async (tx) => {
        await addActor(tx, 'a')
        // Real time: the statement timeout runs in the server.
        await tx.get('SELECT pg_sleep(60)')
      }),
      unavailable(/timed out/),
    )
    assert.deepEqual(await store.read(actorIds), [])
  })
})

describe('a database error for lack of space (DUR-06)', () => {
  it('gives 503, and the service continues', async (t) => {
    const { store, url } = await openFresh(t)
    await administer(
      schemaUrl(url),
      `CREATE FUNCTION troupe.fails(code TEXT) RETURNS BIGINT LANGUAGE plpgsql AS
       $$ BEGIN RAISE EXCEPTION 'could not extend file' USING ERRCODE = code; END $$`,
    )
    for (const code of ['53100', '53200', '58030', 'XX001', '25006'])
      await assert.rejects(
        store.write(async (tx) => {
          await addActor(tx, 'a')
          await tx.get('SELECT fails($1)', code)
        }),
        { code: 'store_unavailable' },
        code,
      )
    assert.deepEqual(await store.read(actorIds), [])
  })
})

describe('a value that PostgreSQL cannot hold', () => {
  it('is rejected with invalid_value', async (t) => {
    const { store } = await openFresh(t)
    const attempts: ((tx: Transaction) => Promise<unknown>)[] = [
      (tx) => rename(tx, 'a', 'a\0b'),
      (tx) => tx.all('SELECT r.t FROM rows($1, t TEXT) AS r', JSON.stringify([['a\0b']])),
      (tx) => tx.all('SELECT r.t FROM rows($1, t TEXT) AS r', JSON.stringify([['\ud800']])),
    ]
    for (const attempt of attempts) {
      await assert.rejects(store.write(attempt), { code: 'invalid_value' })
      await assert.rejects(
        store.write(async (tx) => {
          await addActor(tx, 'a')
          await attempt(tx)
        }),
        { code: 'invalid_value' },
      )
    }
    assert.deepEqual(await store.read(actorIds), [])
  })
})

describe('a schema change under a prepared statement', () => {
  it('is handled by a new connection', async (t) => {
    const { store, url } = await openFresh(t)
    const sql = 'SELECT * FROM setting'
    await store.read((q) => q.all(sql))
    await store.write((tx) => tx.all(sql))
    await administer(schemaUrl(url), 'ALTER TABLE troupe.setting ADD COLUMN more TEXT')
    for (let round = 0; round < 3; round++) {
      assert.deepEqual(await store.read((q) => q.all(sql)), [])
      assert.deepEqual(await store.write((tx) => tx.all(sql)), [])
    }
  })
})

describe('a PostgreSQL server that is killed', () => {
  let server: PostgresServer
  before(async () => {
    server = await startPostgres({ fsync: true })
  })
  after(() => server.remove())

  for (const mode of ['fast', 'immediate'] as const)
    it(`loses no acknowledged change after a stop in mode ${mode}, and the store reconnects automatically`, async (t) => {
      const { url } = await createPostgresDatabase(server.url)
      const store = await openStore({ url })
      t.after(() => store.close())
      const answered: string[] = []
      const stop = { stopped: false }
      const writer = async (name: string) => {
        for (let count = 0; ; count++) {
          if (stop.stopped) return
          const id = `${name}-${count}`
          try {
            await store.write((tx) => addActor(tx, id))
            answered.push(id)
          } catch (error) {
            // A retry may find the row that a lost connection left behind.
            assert.ok(error instanceof ServiceError)
            assert.ok(['store_unavailable', 'conflict'].includes(error.code), error.code)
          }
        }
      }
      const writers = ['a', 'b', 'c'].map(writer)
      while (answered.length < 30) await store.read(actorIds)
      await server.stop(mode)
      stop.stopped = true
      await Promise.all(writers)
      await assert.rejects(store.read(actorIds), unavailable(/database/))
      await assert.rejects(store.ping(), unavailable(/database/))
      await server.start()
      await store.ping()
      const found = new Set(await store.read(actorIds))
      assert.deepEqual(
        answered.filter((id) => !found.has(id)),
        [],
      )
      await Promise.all(Array.from({ length: 20 }, (_, index) => store.write((tx) => addActor(tx, `after ${index}`))))
      await store.snapshot(actorIds)
    })
})

describe('a start on PostgreSQL fails with one sentence', () => {
  const refusal = (url: string, sentence: RegExp) =>
    assert.rejects(openStore({ url, connectTimeoutMs: 60_000 }), (error: Error) => {
      assert.equal(error.name, 'StoreStartError')
      assert.match(error.message, sentence)
      assert.doesNotMatch(error.message, /hunter2/)
      return true
    })

  it('when the port is closed', async () => {
    const relay = await openRelay(1)
    await relay.close()
    await refusal(
      `postgres://me:hunter2@127.0.0.1:${relay.port}/notes`,
      /^Cannot reach the PostgreSQL database "notes" at 127\.0\.0\.1:\d+: connect ECONNREFUSED 127\.0\.0\.1:\d+\.$/,
    )
  })

  it('when the database does not exist', async () => {
    const url = new URL(await sharedPostgresUrl())
    url.pathname = '/none'
    url.password = 'hunter2'
    await refusal(url.href, /^Cannot reach the PostgreSQL database "none" at .*: database "none" does not exist\.$/)
  })

  it('when the address is invalid', async () => {
    await refusal(
      'postgres://me:hunter2@[/notes',
      /^Cannot parse the URL of the PostgreSQL database: expected postgres:/,
    )
  })

  it('when the encoding is not UTF8', async (t) => {
    const server = await sharedPostgresUrl()
    const name = 'test_latin1'
    await administer(server, `DROP DATABASE IF EXISTS ${name}`)
    await administer(
      server,
      `CREATE DATABASE ${name} TEMPLATE template0 ENCODING 'LATIN1' LOCALE_PROVIDER libc LOCALE 'C'`,
    )
    t.after(() => administer(server, `DROP DATABASE ${name} WITH (FORCE)`))
    const url = new URL(server)
    url.pathname = `/${name}`
    await refusal(
      url.href,
      /^Cannot use the PostgreSQL database .*: its encoding is LATIN1, but only UTF8 can store every string\.$/,
    )
  })
})
