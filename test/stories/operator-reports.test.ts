/* cspell:ignore Gezählt gerade eben */
/** Reports for operators: the largest actors of a store with many, failing and slow peers, and programs with a passphrase. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { currentRanking } from '../../src/operator/actor-ranking.ts'
import type { Param, Store } from '../../src/store/store.ts'
import { stoppedTimers } from '../support/fake-peers.ts'
import { relateTo } from '../support/recording-peer.ts'
import { forEachService, type StartOptions, type TestActor, type TestService } from '../support/service.ts'
import { sharedProvider, signIn, signInAt, TestBrowser } from '../support/sign-in.ts'
import { bound } from '../support/stores.ts'
import { until } from '../support/until.ts'

const shareOfProvider = sharedProvider()
const minute = 60_000
const pagePaths = [
  '/admin',
  '/admin/actors',
  '/admin/actors?sort=size',
  '/admin/actors?sort=activity',
  '/admin/actors?search=many',
  '/admin/deliveries',
  '/admin/apps',
  '/admin/operators',
]

forEachService((start) => {
  async function open(options: StartOptions = {}): Promise<{ service: TestService; operator: TestBrowser }> {
    const provider = await shareOfProvider()
    const service = await start({ admins: ['ada@example.com'], ...signInAt(provider), ...options })
    const operator = new TestBrowser(service)
    await signIn(operator, provider, 'ada')
    return { service, operator }
  }

  const textOf = async (operator: TestBrowser, path: string): Promise<string> => {
    const answer = await operator.get(path)
    const text = await answer.text()
    assert.equal(answer.status, 200, `${path} ${text}`)
    return text
  }

  const listed = (text: string): string[] =>
    [...text.matchAll(/<th scope="row"><a href="[^"]*">([^<]*)</g)].map(([, creator = '']) => creator)

  /** Stores actors with these numbers. The actor with number n stores n kB. */
  async function insertActors(service: TestService, first: number, last: number): Promise<void> {
    const { store } = await service.app.running()
    for (let from = first; from <= last; from += 1000) {
      const numbers = Array.from({ length: Math.min(1000, last - from + 1) }, (_, n) => from + n)
      const rows = numbers.map((n) => [`many-${String(n).padStart(5, '0')}`, n * 1000])
      await store.write((tx) =>
        tx.run(
          `INSERT INTO actor (id, creator, passphrase, created_at, used_bytes)
           SELECT r.actor, r.actor, '', 1, r.size FROM rows($1, actor TEXT, size BIGINT) AS r`,
          JSON.stringify(rows),
        ),
      )
    }
  }

  /** Stores subscriptions whose delivery stopped for a reason. */
  async function stopDeliveries(service: TestService, actor: TestActor, count: number, reason: string): Promise<void> {
    const { store } = await service.app.running()
    const { peerId } = await relateTo(service, actor, { baseuri: 'http://failing.test/them' })
    await store.writeActor(actor.id, async (tx) => {
      for (let n = 1; n <= count; n++) {
        const row = [actor.id, peerId, `s${n}`] as const
        await tx.run(
          `INSERT INTO publisher_subscription (actor_id, peer_id, subscription_id, target, subtarget, resource, granularity,
             sequence, committed, state, failing_since, attempts, created_at)
           VALUES ($1, $2, $3, 'properties', '', '', 'high', 5, 3, 'stopped', 1, 7, 1)`,
          ...row,
        )
        for (const [sequence, why] of [
          [3, 'The peer answered 500'],
          [4, reason],
          [5, ''],
        ] as const)
          await tx.run(
            `INSERT INTO delivery (actor_id, peer_id, subscription_id, sequence, written_at, outcome, reason)
             VALUES ($1, $2, $3, $4, 1, 'waiting', $5)`,
            ...row,
            sequence,
            why,
          )
      }
    })
  }

  describe('the reports for operators', () => {
    it('take the same statements for 10 and for 20,000 actors, and hold at most 2,000 rows', async () => {
      let most = 0
      const wrapStore = (store: Store): Store => ({
        ...bound(store),
        readAllServers: async <R extends object>(sql: string, ...params: Param[]) => {
          const rows = await store.readAllServers<R>(sql, ...params)
          most = Math.max(most, rows.length)
          return rows
        },
      })
      const { service, operator } = await open({ timers: stoppedTimers, wrapStore })
      const counts = async (): Promise<readonly [path: string, statements: number][]> => {
        const all: [path: string, statements: number][] = []
        for (const path of pagePaths) {
          service.reset()
          await textOf(operator, path)
          all.push([path, service.statements.length])
        }
        return all
      }
      await insertActors(service, 1, 10)
      const few = await counts()
      await insertActors(service, 11, 20_000)
      assert.deepEqual(await counts(), few)
      await until(async () => listed(await textOf(operator, '/admin/actors?sort=size'))[0] === 'many-20000')
      assert.deepEqual(await counts(), few)
      assert.equal(most, 2000)
    })

    it('rank the largest of few actors at once, and show when those of many were counted', async () => {
      let now = Date.now()
      const { service, operator } = await open({ now: () => now })
      const path = '/admin/actors?sort=size'
      await insertActors(service, 1, 100)
      const few = await textOf(operator, path)
      assert.deepEqual(listed(few).slice(0, 2), ['many-00100', 'many-00099'])
      assert.match(few, /Counted <time [^>]*>just now<\/time>\.<\/p>/)
      await insertActors(service, 101, 4500)
      const begun = await textOf(operator, path)
      assert.match(begun, /without files\. The service counts again now: load the page again in a moment\.<\/p>/)
      assert.deepEqual(listed(begun), [])
      assert.ok(!begun.includes('no accounts yet'))
      await until(async () => listed(await textOf(operator, path)).length > 0)
      const counted = await textOf(operator, path)
      assert.deepEqual(
        [listed(counted).length, listed(counted)[0], listed(counted)[49]],
        [50, 'many-04500', 'many-04451'],
      )
      assert.match(counted, /Counted <time [^>]*>just now<\/time>\.<\/p>/)
      const { store } = await service.app.running()
      await store.write((tx) => tx.run('UPDATE actor SET used_bytes = 9000000 WHERE id = $1', 'many-00007'))
      await store.write((tx) => tx.run('DELETE FROM actor WHERE id = $1', 'many-04500'))
      now += 14 * minute
      const older = await textOf(operator, path)
      assert.match(older, /Counted <time [^>]*>14 minutes ago<\/time>\.<\/p>/)
      assert.deepEqual([listed(older).length, listed(older)[0]], [49, 'many-04499'])
      now += minute
      assert.match(
        await textOf(operator, path),
        /Counted <time [^>]*>15 minutes ago<\/time>\. The service counts again now/,
      )
      await until(async () => listed(await textOf(operator, path))[0] === 'many-00007')
      assert.match(
        await (await operator.get(path, { 'accept-language': 'de' })).text(),
        /Gezählt <time [^>]*>gerade eben<\/time>\.<\/p>/,
      )
    })

    it('count for a command before it prints, unless a count is new enough', async () => {
      let now = Date.now()
      const { service } = await open({ now: () => now })
      const { store } = await service.app.running()
      await insertActors(service, 1, 2100)
      const largest = [
        { id: 'many-02100', amount: 2_100_000 },
        { id: 'many-02099', amount: 2_099_000 },
      ]
      const begun = now
      assert.deepEqual(await currentRanking(store, 'size', 2), { actors: largest, countedAt: begun })
      await store.write((tx) => tx.run('UPDATE actor SET used_bytes = 9000000 WHERE id = $1', 'many-00007'))
      now += 14 * minute
      assert.deepEqual(await currentRanking(store, 'size', 2), { actors: largest, countedAt: begun })
      now += minute
      assert.deepEqual(await currentRanking(store, 'size', 2), {
        actors: [{ id: 'many-00007', amount: 9_000_000 }, ...largest.slice(0, 1)],
        countedAt: now,
      })
    })

    it('show the first ten failing updates with their reason on the status page', async () => {
      const { service, operator } = await open({ timers: stoppedTimers })
      assert.match(await textOf(operator, '/admin'), /<h2>Failing updates<\/h2>\s*<p class="empty">Every subscriber/)
      const actor = await service.createActor('grace@example.com')
      await stopDeliveries(service, actor, 11, 'The peer answered 403 <b>')
      const status = await textOf(operator, '/admin')
      assert.equal(status.split('<td>failing.test</td><td>Stopped</td>').length - 1, 10)
      assert.equal(status.split('<td>The peer answered 403 &lt;b&gt;</td>').length - 1, 10)
      assert.ok(!status.includes('answered 500'))
      assert.match(status, /<a href="\/admin\/deliveries">All failures<\/a>/)
      const all = await textOf(operator, '/admin/deliveries')
      assert.equal(all.split('<td>The peer answered 403 &lt;b&gt;</td>').length - 1, 11)
    })

    it('name peers that take more than a second to answer', async () => {
      const { service, operator } = await open()
      const { metrics } = (await service.app.running()).parts
      assert.match(await textOf(operator, '/admin'), /No peer takes more than a second to answer this process\./)
      metrics.peerCalled({ host: 'slow.test', isProven: true, outcome: '2xx' }, 2.5)
      metrics.peerCalled({ host: 'quick.test', isProven: true, outcome: '2xx' }, 0.1)
      const text = await textOf(operator, '/admin')
      assert.match(text, /<th scope="row">slow\.test<\/th><td class="number">2,500 ms<\/td><td class="number">1<\/td>/)
      assert.ok(!text.includes('quick.test'))
    })

    it('say that a program which embeds the service stores no sign of life', async () => {
      const { operator } = await open()
      assert.match(
        await textOf(operator, '/admin'),
        /app\.fetch or toNodeHandler stores no sign of life, so it is not listed\./,
      )
    })

    it('know when a program last used the passphrase of an actor', async () => {
      let now = Date.now()
      const { service, operator } = await open({ now: () => now })
      const actor = await service.createActor('grace@example.com')
      const shown = async (): Promise<string> =>
        /Passphrase last used by a program<\/dt><dd>(.*?)<\/dd>/.exec(
          await textOf(operator, `/admin/actors/${actor.id}`),
        )?.[1] ?? ''
      assert.equal((await actor.request('GET', '/properties')).status, 200)
      assert.equal(await shown(), 'Never')
      now += 10 * minute
      const { store, parts } = await service.app.running()
      const refused = await service.request(`/${actor.id}/properties`, {
        headers: { authorization: `Basic ${btoa('grace@example.com:wrong')}` },
      })
      assert.equal(refused.status, 403)
      assert.equal(await shown(), 'Never')
      const usedAt = now
      assert.equal((await actor.request('GET', '/properties')).status, 200)
      await parts.basicUses.settled()
      const stored = (): Promise<{ usedAt: number | null } | undefined> =>
        store.read((q) => q.get('SELECT basic_used_at AS "usedAt" FROM actor WHERE id = $1', actor.id))
      assert.equal((await stored())?.usedAt, usedAt)
      now += 9 * minute
      await actor.request('GET', '/properties')
      await parts.basicUses.settled()
      assert.equal((await stored())?.usedAt, usedAt)
      assert.match(await shown(), /9 minutes ago/)
      assert.match(await textOf(operator, '/admin/actors'), /grace@example\.com<\/a>.*?<td><time [^>]*>9 minutes ago/s)
      // The end of the process stores what waits.
      await parts.basicUses.stop()
      assert.equal((await stored())?.usedAt, now)
    })
  })
})
