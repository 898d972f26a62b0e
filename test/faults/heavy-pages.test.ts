import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { known } from '../../src/json/json.ts'
import { putValues } from '../../src/property/property-store.ts'
import type { Store } from '../../src/store/store.ts'
import { addRelationships } from '../support/heavy-actor.ts'
import { explained, type Plan } from '../support/explained.ts'
import { seeded } from '../support/random.ts'
import { relateTo } from '../support/recording-peer.ts'
import { forEachService } from '../support/service.ts'
import { OwnersBrowser } from '../support/sessions.ts'
import { watched } from '../support/watched-turns.ts'

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

interface HistoryPage {
  readonly history: readonly { readonly id: number; readonly before?: string }[]
  readonly next: number | null
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

  describe('a long history', () => {
    const mostBytes = 4_194_304

    it('is sent in pages of 4 MiB, or of one entry, and has each entry once (HTTP-42)', async () => {
      const service = await start({ historySize: 67_108_864 })
      const actor = await service.createActor()
      const random = seeded(2)
      // The letter has one byte or two, because the limit is one of bytes.
      const values = Array.from({ length: 20 }, (_, n) => {
        const size = random.pick([20, 40_000, 1_100_000, 1_900_000, 1_900_000])
        return n + (random.below(2) === 0 ? 'x'.repeat(size) : 'é'.repeat(size / 2))
      })
      const bytes = values.map((value) => Buffer.byteLength(JSON.stringify(value)))
      for (const value of [...values, 'last'])
        assert.equal((await actor.request('PUT', '/properties/mood', JSON.stringify(value))).status, 204)
      const pages: number[][] = []
      for (let before = ''; ; ) {
        const page = (await (await actor.request('GET', `/history?name=mood${before}`)).json()) as HistoryPage
        pages.push(page.history.map(({ id }) => id))
        for (const { id, before: value } of page.history) assert.ok(id === 1 || value === values[id - 2], String(id))
        if (page.next === null) break
        assert.equal(page.next, page.history.at(-1)?.id)
        before = `&before=${page.next}`
      }
      assert.deepEqual(
        pages.flat(),
        Array.from({ length: 21 }, (_, n) => 21 - n),
      )
      const sizeOf = (ids: readonly number[]): number =>
        ids.reduce((sum, id) => sum + (id === 1 ? 0 : (bytes[id - 2] ?? 0)), 0)
      assert.ok(pages.length > 3)
      for (const [n, page] of pages.entries()) {
        assert.ok(page.length === 1 || sizeOf(page) <= mostBytes, page.join())
        const following = pages[n + 1]?.[0]
        assert.ok(following === undefined || sizeOf([...page, following]) > mostBytes, page.join())
      }
      const undone = await actor.request('POST', '/history/undo', { name: 'mood' })
      assert.equal(undone.status, 400)
      assert.match(
        await undone.text(),
        /Cannot undo more than 1000 changes, or more than 16 MiB, at once: choose a later time or a single property/,
      )
      assert.equal(await (await actor.request('GET', '/properties/mood')).text(), 'last')
    })

    it('is shown on pages of 4 MiB, or of one entry, each of which leads to the next one (HTTP-42)', async () => {
      const service = await start({ historySize: 67_108_864 })
      const actor = await service.createActor()
      const browser = await OwnersBrowser.open(service, actor)
      for (let n = 0; n < 6; n += 1)
        assert.equal((await actor.request('PUT', '/properties/mood', `"${n}${'x'.repeat(1_900_000)}"`)).status, 204)
      for (const query of ['', '?name=mood']) {
        const shown: number[] = []
        for (let path = `/history${query}`; path !== ''; ) {
          const page = await (await browser.get(path)).text()
          shown.push(page.match(/<input type="hidden" name="id" value="\d+">/g)?.length ?? 0)
          path = /href="[^"]*\/www(\/history\?[^"]*before=\d+[^"]*)"/.exec(page)?.[1]?.replaceAll('&amp;', '&') ?? ''
        }
        assert.equal(
          shown.reduce((sum, count) => sum + count, 0),
          6,
          `${query}: ${shown.join()}`,
        )
        assert.ok(shown.length > 2 && shown.every((count) => count >= 1 && count <= 3), `${query}: ${shown.join()}`)
      }
    })
  })
})
