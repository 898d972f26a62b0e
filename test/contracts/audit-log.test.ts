import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { AuditEntry } from '../../src/audit-log/entry.ts'
import { AuditLog } from '../../src/audit-log/audit-log.ts'
import { createLog } from '../../src/observe/log.ts'
import { withCallerNames } from '../../src/replica/caller-names.ts'
import type { Store } from '../../src/store/store.ts'
import { onShards } from '../support/citus.ts'
import { ManualClock } from '../support/manual-clock.ts'
import { bound, counting, faulty, forEachStore } from '../support/stores.ts'

const act: AuditEntry = {
  actorId: 'a',
  callerKind: 'peer',
  caller: 'urn:peer:1',
  through: 'http',
  method: 'GET',
  path: '/properties/color',
  decision: 'allowed',
  reason: 'pattern color of relationship friend',
  status: 200,
  requestId: 'r1',
}

interface Fixture {
  readonly auditLog: AuditLog
  readonly clock: ManualClock
  readonly lines: string[]
  readonly dropped: () => number
}

function auditLogOn(store: Store, maxPerActor = 100, maxAgeMs = 86_400_000): Fixture {
  const clock = new ManualClock()
  const lines: string[] = []
  let dropped = 0
  const auditLog = new AuditLog({
    store,
    timers: clock.timers,
    now: clock.now,
    log: createLog('warn', { write: (line: string) => void lines.push(line) }),
    metrics: { auditLogDropped: (count) => void (dropped += count) },
    maxPerActor,
    maxAgeMs,
    nameEntries: withCallerNames,
  })
  return { auditLog, clock, lines, dropped: () => dropped }
}

async function addActors(store: Store, ...ids: string[]): Promise<void> {
  for (const id of ids) {
    await store.write((tx) =>
      tx.run(
        `INSERT INTO actor (id, creator, passphrase, trustee_root, created_at) VALUES ($1, 'c', 'p', NULL, 1)`,
        id,
      ),
    )
  }
}

async function linesOf(auditLog: AuditLog, actorId = 'a'): Promise<[path: string, times: number][]> {
  return (await auditLog.page(actorId, { limit: 1000 })).entries.map(({ path, times }) => [path, times])
}

forEachStore((_dialect, open) => {
  describe('the audit log', () => {
    it('writes entries that arrive together with one statement, and none before the flush', async () => {
      const counted = counting()
      const store = await open({ onQuery: counted.onQuery })
      await addActors(store, 'a', 'b')
      const { auditLog } = auditLogOn(store, 10_000)
      counted.reset()
      for (let index = 0; index < 300; index++)
        auditLog.record({ ...act, path: `/p${index}`, actorId: index % 2 ? 'a' : 'b' })
      assert.equal(counted.statements.length, 0)
      await auditLog.flush()
      // A sharded database writes the entries of each actor by a statement of their own.
      assert.equal(counted.statements.filter((sql) => sql.includes('INSERT INTO activity')).length, onShards() ? 2 : 1)
      const paths = (await linesOf(auditLog)).map(([path]) => path)
      assert.equal(paths.length, 150)
      assert.deepEqual(paths.slice(0, 3), ['/p299', '/p297', '/p295'])
    })

    it('flushes a second after the first entry, and at once when many entries wait', async () => {
      const store = await open()
      await addActors(store, 'a')
      const { auditLog, clock } = auditLogOn(store, 10_000)
      auditLog.record(act)
      clock.pass(999)
      assert.deepEqual(await linesOf(auditLog), [])
      clock.pass(1)
      await auditLog.flush()
      assert.equal((await linesOf(auditLog)).length, 1)
      for (let index = 0; index < 500; index++) auditLog.record({ ...act, path: `/p${index}` })
      await auditLog.flush()
      assert.equal((await linesOf(auditLog)).length, 501)
    })

    it('stores every field as it was recorded, and truncates a long path', async () => {
      const store = await open()
      await addActors(store, 'a')
      const { auditLog } = auditLogOn(store)
      auditLog.record({ ...act, path: `/${'x'.repeat(1000)}`, device: 'Firefox on Linux' })
      await auditLog.flush()
      const [entry] = (await auditLog.page('a')).entries
      const { id: _, path, ...rest } = entry ?? assert.fail('no entry')
      assert.equal(path.length, 300)
      assert.deepEqual(rest, {
        actorId: 'a',
        callerKind: 'peer',
        caller: 'urn:peer:1',
        callerName: '',
        through: 'http',
        method: 'GET',
        decision: 'allowed',
        reason: 'pattern color of relationship friend',
        status: 200,
        requestId: 'r1',
        device: 'Firefox on Linux',
        at: 1_900_000_000_000,
        times: 1,
      })
    })

    it('stores U+FFFD for characters that PostgreSQL cannot store, in every string that a caller may choose', async () => {
      const store = await open()
      await addActors(store, 'a')
      const { auditLog, lines } = auditLogOn(store)
      const bad = 'x\0y\ud83dz'
      auditLog.record({ ...act, caller: bad, method: bad, path: bad, reason: bad, requestId: bad })
      auditLog.record({ ...act, actorId: bad })
      auditLog.record({ ...act, path: '/good' })
      await auditLog.flush()
      const { entries } = await auditLog.page('a')
      assert.deepEqual(
        entries.map(({ caller, method, path, reason, requestId }) => [caller, method, path, reason, requestId]),
        [
          ['urn:peer:1', 'GET', '/good', 'pattern color of relationship friend', 'r1'],
          ['x\ufffdy\ufffdz', 'x\ufffdy\ufffdz', 'x\ufffdy\ufffdz', 'x\ufffdy\ufffdz', 'x\ufffdy\ufffdz'],
        ],
      )
      assert.deepEqual(lines, [])
    })

    it('stores a long string that it truncates inside a surrogate pair', async () => {
      const store = await open()
      await addActors(store, 'a')
      const { auditLog, lines } = auditLogOn(store)
      auditLog.record({ ...act, path: `${'x'.repeat(299)}\u{1f600}` })
      await auditLog.flush()
      assert.deepEqual(await linesOf(auditLog), [[`${'x'.repeat(299)}\ufffd`, 1]])
      assert.deepEqual(lines, [])
    })

    it('drops an entry that the database rejects permanently, counts and logs it once, and writes all others', async () => {
      const store = await open()
      await addActors(store, 'a')
      const { auditLog, clock, lines, dropped } = auditLogOn(store, 10_000)
      for (let index = 0; index < 450; index++) {
        // JSON encodes NaN as null, which this column rejects.
        const status = index === 123 || index === 124 || index === 400 ? Number.NaN : 200
        auditLog.record({ ...act, path: `/p${index}`, status })
      }
      await auditLog.flush()
      await auditLog.flush()
      const paths = new Set((await linesOf(auditLog)).map(([path]) => path))
      assert.equal(paths.size, 447)
      assert.deepEqual(
        ['/p122', '/p123', '/p124', '/p125', '/p400', '/p449'].map((path) => paths.has(path)),
        [true, false, false, true, false, true],
      )
      assert.equal(dropped(), 3)
      assert.deepEqual(
        lines.map((line) => {
          const { msg, entries } = JSON.parse(line) as { msg: string; entries: number }
          return [msg, entries]
        }),
        [['Audit log entries were dropped: the database rejected them', 3]],
      )
      clock.pass(60_000)
      auditLog.record({ ...act, path: '/later' })
      await auditLog.stop()
      assert.equal((await linesOf(auditLog))[0]?.[0], '/later')
      assert.equal(dropped(), 3)
    })

    it('drops the only entry of a batch when the database rejects it permanently', async () => {
      const store = await open()
      await addActors(store, 'a')
      const { auditLog, lines, dropped } = auditLogOn(store)
      auditLog.record({ ...act, status: Number.NaN })
      await auditLog.stop()
      assert.deepEqual([dropped(), lines.length], [1, 1])
    })

    it('keeps the entries while the database rejects all of them, and writes them once it accepts entries again', async () => {
      const store = await open()
      await addActors(store, 'a')
      const { auditLog, clock, lines, dropped } = auditLogOn(store)
      await store.write((tx) => tx.run('ALTER TABLE activity RENAME TO elsewhere'))
      for (let index = 0; index < 4; index++) auditLog.record({ ...act, path: `/p${index}` })
      await auditLog.flush()
      assert.match(lines[0] ?? '', /Cannot write the audit log/)
      assert.equal(dropped(), 0)
      await store.write((tx) => tx.run('ALTER TABLE elsewhere RENAME TO activity'))
      clock.pass(5000)
      await auditLog.flush()
      assert.deepEqual(
        (await linesOf(auditLog)).map(([path]) => path),
        ['/p3', '/p2', '/p1', '/p0'],
      )
    })

    it('loses no entry when the store becomes unavailable while a rejected batch is written in parts', async () => {
      const store = faulty(await open())
      await addActors(store, 'a')
      const { auditLog, clock, dropped } = auditLogOn(store)
      for (let index = 0; index < 8; index++) {
        auditLog.record({ ...act, path: `/p${index}`, status: index === 5 ? Number.NaN : 200 })
      }
      // The database rejects the batch, writes its first half, and then becomes unavailable.
      store.plan({ at: 5, times: 1 })
      await auditLog.flush()
      assert.deepEqual([(await linesOf(auditLog)).length, dropped()], [4, 0])
      clock.pass(5000)
      await auditLog.flush()
      assert.deepEqual(
        (await linesOf(auditLog)).map(([path]) => path),
        ['/p7', '/p6', '/p4', '/p3', '/p2', '/p1', '/p0'],
      )
      assert.equal(dropped(), 1)
    })

    it('counts repeated refusals within a minute in one entry, also after it was written, and then begins a new entry (SEC-09)', async () => {
      const store = await open()
      await addActors(store, 'a')
      const { auditLog, clock } = auditLogOn(store)
      const refused: AuditEntry = { ...act, decision: 'refused', callerKind: 'anonymous', status: 403 }
      for (let index = 0; index < 1000; index++) auditLog.record({ ...refused, requestId: `r${index}` })
      await auditLog.flush()
      assert.deepEqual(await linesOf(auditLog), [['/properties/color', 1000]])
      clock.pass(30_000)
      auditLog.record(refused)
      auditLog.record({ ...refused, status: 401 })
      await auditLog.flush()
      assert.deepEqual(await linesOf(auditLog), [
        ['/properties/color', 1],
        ['/properties/color', 1001],
      ])
      clock.pass(30_000)
      auditLog.record(refused)
      await auditLog.flush()
      assert.deepEqual(
        (await auditLog.page('a')).entries.map(({ times, requestId }) => [times, requestId]),
        [
          [1, 'r1'],
          [1, 'r1'],
          [1001, 'r0'],
        ],
      )
    })

    it('counts repeated requests of a peer in one entry from the hundredth on, so that they displace no other entry', async () => {
      const store = await open()
      await addActors(store, 'a')
      const { auditLog, clock } = auditLogOn(store, 10_000)
      for (let index = 0; index < 5000; index++) auditLog.record({ ...act, method: 'PUT', requestId: `r${index}` })
      auditLog.record({ ...act, method: 'PUT', caller: 'urn:peer:2' })
      await auditLog.flush()
      const lines = await linesOf(auditLog)
      assert.equal(lines.length, 101)
      assert.deepEqual(lines.slice(0, 3), [
        ['/properties/color', 1],
        ['/properties/color', 4901],
        ['/properties/color', 1],
      ])
      clock.pass(60_000)
      for (let index = 0; index < 3; index++) auditLog.record({ ...act, method: 'PUT' })
      await auditLog.flush()
      assert.equal((await linesOf(auditLog)).length, 104)
    })

    it('writes entries that arrive during a write one second later, so that load causes no series of statements', async () => {
      const counted = counting()
      const store = await open({ onQuery: counted.onQuery })
      await addActors(store, 'a')
      let noting: AuditLog | undefined
      const busy: Store = {
        ...bound(store),
        write: (work) => {
          noting?.record({ ...act, isRead: true })
          return store.write(work)
        },
      }
      const { auditLog, clock } = auditLogOn(busy, 10_000)
      noting = auditLog
      auditLog.record({ ...act, isRead: true })
      counted.reset()
      await auditLog.flush()
      assert.equal(counted.statements.filter((sql) => sql.includes('INSERT INTO activity')).length, 1)
      noting = undefined
      clock.pass(1000)
      await auditLog.flush()
      assert.deepEqual(await linesOf(auditLog), [['/properties/color', 2]])
    })

    it('stores each allowed request of a peer as a separate entry', async () => {
      const store = await open()
      await addActors(store, 'a')
      const { auditLog } = auditLogOn(store)
      auditLog.record(act)
      auditLog.record(act)
      await auditLog.flush()
      assert.equal((await linesOf(auditLog)).length, 2)
    })

    it('returns pages, newest first, and only the entries of one caller when requested', async () => {
      const store = await open()
      await addActors(store, 'a')
      const { auditLog, clock } = auditLogOn(store)
      for (let index = 0; index < 7; index++) {
        auditLog.record({ ...act, path: `/p${index}`, caller: index % 2 ? 'odd' : 'even' })
        if (index === 3) clock.pass(5)
      }
      await auditLog.flush()
      const seen: string[] = []
      let cursor: string | null = null
      do {
        const page: Awaited<ReturnType<AuditLog['page']>> = await auditLog.page('a', { limit: 3, cursor })
        seen.push(...page.entries.map(({ path }) => path))
        cursor = page.next
      } while (cursor !== null)
      assert.deepEqual(seen, ['/p6', '/p5', '/p4', '/p3', '/p2', '/p1', '/p0'])
      const odd = await auditLog.page('a', { caller: 'odd', limit: 3 })
      assert.deepEqual([odd.entries.map(({ path }) => path), odd.next], [['/p5', '/p3', '/p1'], null])
    })

    for (const [what, query] of Object.entries({
      'an invented cursor': { cursor: 'bm9uc2Vuc2U' },
      'an empty cursor': { cursor: '' },
      'a limit of zero': { limit: 0 },
      'a limit above the maximum': { limit: 1001 },
      'a fractional limit': { limit: 0.5 },
    })) {
      it(`rejects a query with ${what}`, async () => {
        const { auditLog } = auditLogOn(await open())
        await assert.rejects(auditLog.page('a', query), { code: 'bad_request' })
      })
    }

    it('counts the requests of each of the last days, without decisions of the owner and other actors', async () => {
      const store = await open()
      await addActors(store, 'a', 'b')
      const dayMs = 86_400_000
      const { auditLog, clock } = auditLogOn(store, 100, 30 * dayMs)
      const today = Math.floor(clock.now() / dayMs) * dayMs
      auditLog.record({ ...act, path: '/too-old' })
      await auditLog.flush()
      clock.pass(dayMs)
      for (let times = 0; times < 3; times++) auditLog.record({ ...act, isRead: true })
      auditLog.record({ ...act, decision: 'refused', status: 403 })
      auditLog.record({ ...act, actorId: 'b' })
      await auditLog.flush()
      clock.pass(2 * dayMs)
      for (const decision of ['asked', 'approved', 'denied'] as const) auditLog.record({ ...act, decision })
      await auditLog.flush()
      assert.deepEqual(await auditLog.daily('a', 3), [
        { start: today + dayMs, requests: 4, denied: 1 },
        { start: today + 2 * dayMs, requests: 0, denied: 0 },
        { start: today + 3 * dayMs, requests: 1, denied: 0 },
      ])
    })

    it('keeps the newest entries of each actor, and refused strangers displace no entry of others', async () => {
      const store = await open()
      await addActors(store, 'a', 'b')
      const { auditLog } = auditLogOn(store, 50)
      for (let index = 0; index < 3; index++) auditLog.record({ ...act, path: `/known${index}` })
      await auditLog.flush()
      for (let index = 0; index < 200; index++) {
        auditLog.record({ ...act, callerKind: 'anonymous', decision: 'refused', path: `/strange${index}` })
      }
      await auditLog.flush()
      const paths = (await linesOf(auditLog)).map(([path]) => path)
      assert.deepEqual(paths, [
        '/strange199',
        '/strange198',
        '/strange197',
        '/strange196',
        '/strange195',
        '/known2',
        '/known1',
        '/known0',
      ])
      for (let index = 0; index < 120; index++) auditLog.record({ ...act, actorId: 'b', path: `/p${index}` })
      await auditLog.flush()
      const left = (await linesOf(auditLog, 'b')).map(([path]) => path)
      assert.deepEqual([left.length, left[0], left.at(-1)], [50, '/p119', '/p70'])
    })

    it('lets no caller displace what others did, or its own changes, by any number of reads (QUO-08)', async () => {
      const store = await open()
      await addActors(store, 'a')
      const { auditLog, clock } = auditLogOn(store, 100)
      const change = { method: 'PUT', requestId: 'changed' } as const
      auditLog.record({ ...act, ...change, caller: 'urn:attacker', path: '/properties/planted' })
      for (let n = 0; n < 10; n++) auditLog.record({ ...act, caller: 'urn:other', path: `/properties/o${n}` })
      auditLog.record({ ...act, ...change, callerKind: 'owner', caller: 'owner', path: '/trust/x' })
      auditLog.record({ ...act, ...change, callerKind: 'operator', caller: 'eve', path: '/admin' })
      auditLog.record({ ...act, ...change, caller: 'urn:attacker', path: '/trust/y', decision: 'approved' })
      for (let n = 0; n < 2000; n++) {
        auditLog.record({ ...act, caller: 'urn:attacker', path: `/properties/n${n}` })
        if (n % 400 === 399) await auditLog.flush()
      }
      clock.pass(3_600_000)
      auditLog.record({ ...act, caller: 'urn:attacker', path: '/properties/last' })
      await auditLog.flush()
      const { entries } = await auditLog.page('a', { limit: 1000 })
      const kept = (test: (entry: (typeof entries)[number]) => boolean): number => entries.filter(test).length
      assert.equal(
        kept(({ caller, path }) => caller === 'urn:attacker' && path === '/properties/planted'),
        1,
      )
      assert.equal(
        kept(({ caller }) => caller === 'urn:other'),
        10,
      )
      assert.equal(
        kept(({ caller }) => caller === 'owner'),
        1,
      )
      assert.equal(
        kept(({ caller }) => caller === 'eve'),
        1,
      )
      assert.equal(
        kept(({ decision }) => decision === 'approved'),
        1,
      )
      assert.equal(entries.length, 103)
    })

    it('counts reads of names that do not exist in one entry a minute (QUO-08)', async () => {
      const store = await open()
      await addActors(store, 'a')
      const { auditLog } = auditLogOn(store, 100)
      for (let n = 0; n < 300; n++) auditLog.record({ ...act, path: `/properties/none${n}`, status: 404, isRead: true })
      auditLog.record({ ...act, path: '/properties/color', isRead: true })
      await auditLog.flush()
      assert.deepEqual(await linesOf(auditLog), [
        ['/properties/color', 1],
        ['/properties', 300],
      ])
    })

    it('keeps entries of others while one caller fills the memory and the store fails (QUO-08)', async () => {
      const store = faulty(await open())
      await addActors(store, 'a')
      const { auditLog, clock } = auditLogOn(store, 100_000)
      store.plan({ matching: /INSERT INTO activity/, times: Number.POSITIVE_INFINITY })
      for (let n = 0; n < 20_000; n++)
        auditLog.record({ ...act, caller: 'urn:attacker', path: `/p${n}`, method: 'PUT' })
      auditLog.record({ ...act, callerKind: 'owner', caller: 'owner', path: '/trust/x', method: 'DELETE' })
      auditLog.record({ ...act, caller: 'urn:other', path: '/properties/o', method: 'PUT' })
      await auditLog.flush()
      store.plan()
      clock.pass(5000)
      await auditLog.flush()
      const callers = new Set((await auditLog.page('a', { caller: 'owner' })).entries.map(({ path }) => path))
      assert.ok(callers.has('/trust/x'))
      assert.equal((await auditLog.page('a', { caller: 'urn:other' })).entries.length, 1)
    })

    it('deletes expired entries once an hour, with a constant number of statements', async () => {
      const counted = counting()
      const store = await open({ onQuery: counted.onQuery })
      await addActors(store, 'a', ...Array.from({ length: 40 }, (_, index) => `actor${index}`))
      const { auditLog, clock } = auditLogOn(store, 1000, 86_400_000)
      auditLog.record({ ...act, path: '/old' })
      await auditLog.flush()
      clock.pass(86_400_001)
      auditLog.record({ ...act, path: '/new' })
      for (let index = 0; index < 40; index++) auditLog.record({ ...act, actorId: `actor${index}` })
      counted.reset()
      await auditLog.flush()
      assert.equal(counted.statements.length, onShards() ? 124 : 4)
      assert.deepEqual(await linesOf(auditLog), [['/new', 1]])
    })

    it('writes no entry for a deleted actor, and writes the rest of the batch', async () => {
      const store = await open()
      await addActors(store, 'a')
      const { auditLog, clock, lines } = auditLogOn(store)
      auditLog.record({ ...act, actorId: 'gone' })
      auditLog.record(act)
      for (let tries = 0; tries < 6; tries++) {
        await auditLog.flush()
        clock.pass(1000)
      }
      assert.equal((await linesOf(auditLog)).length, 1)
      assert.deepEqual(await linesOf(auditLog, 'gone'), [])
      assert.deepEqual(lines, [])
    })

    it('is deleted with the actor', async () => {
      const store = await open()
      await addActors(store, 'a')
      const { auditLog } = auditLogOn(store)
      auditLog.record(act)
      await auditLog.flush()
      await store.write((tx) => tx.run('DELETE FROM actor WHERE id = $1', 'a'))
      assert.deepEqual(await store.read((q) => q.all('SELECT id FROM activity')), [])
    })

    it('writes the remaining entries when it stops', async () => {
      const store = await open()
      await addActors(store, 'a')
      const { auditLog } = auditLogOn(store, 100_000)
      for (let index = 0; index < 1200; index++) auditLog.record({ ...act, path: `/p${index}` })
      await auditLog.stop()
      const count = await store.read((q) => q.get<{ n: number }>('SELECT COUNT(*) AS n FROM activity'))
      assert.equal(count?.n, 1200)
    })

    it('keeps entries while the store fails, and counts and logs the entries beyond its memory', async () => {
      const store = faulty(await open())
      await addActors(store, 'a')
      const { auditLog, clock, lines, dropped } = auditLogOn(store, 100_000)
      store.plan({ matching: /INSERT INTO activity/, times: Number.POSITIVE_INFINITY })
      for (let index = 0; index < 10_007; index++) auditLog.record({ ...act, path: `/p${index}` })
      await auditLog.flush()
      assert.equal(dropped(), 7)
      assert.match(lines[0] ?? '', /Cannot write the audit log/)
      store.plan()
      clock.pass(5000)
      await auditLog.flush()
      assert.match(lines.at(-1) ?? '', /too many at once/)
      const count = await store.read((q) => q.get<{ n: number }>('SELECT COUNT(*) AS n FROM activity'))
      assert.equal(count?.n, 10_000)
    })

    it('is off when it keeps zero entries', async () => {
      const store = await open()
      await addActors(store, 'a')
      const { auditLog } = auditLogOn(store, 0)
      auditLog.record(act)
      await auditLog.flush()
      assert.deepEqual(await linesOf(auditLog), [])
    })
  })
})
