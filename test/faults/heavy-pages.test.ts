import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { known } from '../../src/json/json.ts'
import { putValues } from '../../src/property/property-store.ts'
import type { Store } from '../../src/store/store.ts'
import { addRelationships } from '../support/heavy-actor.ts'
import { explained, type Plan } from '../support/explained.ts'
import { relateTo } from '../support/recording-peer.ts'
import { forEachService, type TestService } from '../support/service.ts'
import { OwnersBrowser } from '../support/sessions.ts'

const none = known('1')

async function addNames(store: Store, actorId: string, count: number): Promise<void> {
  const values = Array.from({ length: count }, (_, n) => ({ name: `name ${n}`, value: none, version: 1 }))
  await store.write(async (tx) => void (await putValues(tx, actorId, values)))
}

async function addFiles(store: Store, actorId: string, count: number): Promise<void> {
  const files = Array.from({ length: count }, (_, n) => [`file ${n}`, String(n)])
  await store.write((tx) =>
    tx.run(
      `INSERT INTO file (actor_id, name, object, size, type, hash, created_at, updated_at)
       SELECT $1, made.name, made.object, 1, 'text/plain', '', 1, 1 FROM rows($2, name TEXT, object TEXT) AS made WHERE true`,
      actorId,
      JSON.stringify(files),
    ),
  )
}

async function addEntries(store: Store, actorId: string, count: number): Promise<void> {
  const now = store.now()
  const entries = Array.from({ length: count }, (_, n) => [String(n)])
  await store.write((tx) =>
    tx.run(
      `INSERT INTO activity (actor_id, at, id, caller_kind, caller, through, method, path, decision, reason, status,
         request_id, times, device)
       SELECT $1, CAST($3 AS BIGINT), made.id, 'peer', 'p', 'http', 'GET', $4, 'allowed', '', 200, made.id, 1, ''
       FROM rows($2, id TEXT) AS made WHERE true`,
      actorId,
      JSON.stringify(entries),
      now,
      `/properties/${'p'.repeat(500)}`,
    ),
  )
}

interface Watched<T> {
  readonly result: T
  /** Turns of the event loop. */
  readonly turns: number
  /** The most statements of one turn. */
  readonly mostStatements: number
}

/** Counts what happens in each turn of the event loop while a request is handled. */
async function watched<T>(service: TestService, work: () => Promise<T>): Promise<Watched<T>> {
  service.reset()
  let [turns, mostStatements, last] = [0, 0, 0]
  const working = work()
  const ended = working.then(() => true)
  while (!(await Promise.race([ended, setImmediate(false)]))) {
    turns += 1
    mostStatements = Math.max(mostStatements, service.statements.length - last)
    last = service.statements.length
  }
  return { result: await working, turns, mostStatements }
}

forEachService((start, dialect) => {
  describe('a page about very much', () => {
    it('compares the rights of a peer with few names in one turn, and is complete (HTTP-41)', async () => {
      const service = await start()
      const actor = await service.createActor()
      const { store } = await service.app.running()
      await addNames(store, actor.id, 3000)
      await addFiles(store, actor.id, 1200)
      const asking = await relateTo(service, actor, { peerId: 'asking', approved: false })
      const friend = await relateTo(service, actor, { peerId: 'friend' })
      const rules = { properties: { patterns: ['name 1*'], operations: ['read'] } }
      const given = await actor.request('PUT', `/trust/friend/${friend.peerId}/permissions`, rules)
      assert.ok(given.ok)
      const browser = await OwnersBrowser.open(service, actor)
      const show = (peerId: string) => watched(service, async () => (await browser.get(`/trust/${peerId}`)).text())
      const review = await show(asking.peerId)
      assert.match(review.result, /Approve this request\?/)
      // Each of four rights is compared with 3000 names.
      assert.ok(review.turns >= 4 * 11, `${review.turns} turns`)
      const form = await show(friend.peerId)
      // `name 1`, `name 1?`, `name 1??` and `name 1???`.
      assert.match(form.result, /Matches 1,111 of 3,000 now/)
      assert.ok(form.turns >= 11 + 11, `${form.turns} turns`)
      assert.equal(service.statements.filter((sql) => /\bFROM file\b/.test(sql)).length, 2)
    })

    it('asks for the rights of few relationships in one turn (HTTP-41)', async () => {
      const service = await start()
      const actor = await service.createActor()
      const { store, keyRing } = await service.app.running()
      await addNames(store, actor.id, 40)
      await addRelationships({ store, keyRing, actorId: actor.id }, 2000)
      const browser = await OwnersBrowser.open(service, actor)
      for (const [path, said] of [
        ['/properties', /2,000 people/],
        ['/properties/name%201?viewers=1', /1,900/],
        ['', /1,992/],
      ] as const) {
        const page = await watched(service, async () => (await browser.get(path)).text())
        assert.match(page.result, said, path)
        // 2000 relationships are filtered twice, or also mapped twice.
        assert.ok(page.turns >= 2 * 7, `${path}: ${page.turns} turns`)
      }
    })

    it('has the audit log as a file that is read page by page, with other work in between (HTTP-41)', async () => {
      const service = await start({ activityPerActor: 10_000 })
      const actor = await service.createActor()
      const { store } = await service.app.running()
      await addEntries(store, actor.id, 2000)
      const browser = await OwnersBrowser.open(service, actor)
      for (const format of ['csv', 'json']) {
        const file = await watched(service, async () => (await browser.get(`/activity/export?format=${format}`)).text())
        assert.equal(file.result.match(/ppp\b/g)?.length, 2000)
        // The request and its first page are read in one turn.
        assert.ok(file.mostStatements <= 6, `${file.mostStatements} statements in one turn`)
      }
    })

    it('counts what waits and what fails without reading what does neither (HTTP-41)', async () => {
      const plans: Plan[] = []
      const service = await start({ wrapStore: (store) => explained(store, (plan) => plans.push(plan)) })
      const actor = await service.createActor()
      const browser = await OwnersBrowser.open(service, actor)
      plans.length = 0
      assert.equal((await browser.get('/settings')).status, 200)
      const counts = plans.filter(({ sql }) => /AS (pending|failing)\b/.test(sql))
      assert.equal(counts.length, 2)
      if (dialect !== 'sqlite') return
      const lines = counts.flatMap((plan) => plan.lines)
      assert.deepEqual(
        lines.filter((line) => line.startsWith('SEARCH')),
        [
          'SEARCH trust USING COVERING INDEX trust_pending (actor_id=? AND established_via=?)',
          'SEARCH s USING COVERING INDEX publisher_subscription_stopped (actor_id=?)',
          'SEARCH t USING COVERING INDEX trust_paused (actor_id=? AND open_until>?)',
          'SEARCH s USING PRIMARY KEY (actor_id=? AND peer_id=?)',
          'SEARCH d USING COVERING INDEX delivery_failed (actor_id=? AND outcome=? AND acknowledged_at=?)',
        ],
      )
    })
  })
})
