import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { describe, it } from 'node:test'
import { known } from '../../src/json/json.ts'
import { trimActor } from '../../src/history/trim.ts'
import { findBeforeWrite, findKinds, findPropertyPage, putValues } from '../../src/property/property-store.ts'
import { insertDiffs } from '../../src/publication/diff-store.ts'
import { addRelationships } from '../support/heavy-actor.ts'
import { authorizeClient, rpc } from '../support/mcp-client.ts'
import { seeded } from '../support/random.ts'
import { relateTo } from '../support/recording-peer.ts'
import { forEachService, type TestActor } from '../support/service.ts'
import { OwnersBrowser } from '../support/sessions.ts'

const numbered = (name: string, count: number): string[] =>
  Array.from({ length: count }, (_, n) => `${name}${String(n).padStart(4, '0')}`)

async function setAll(actor: TestActor, names: readonly string[], value: unknown): Promise<void> {
  const body = Object.fromEntries(names.map((name) => [name, value]))
  assert.equal((await actor.request('PUT', '/properties', body)).status, 204)
}

async function read(actor: Pick<TestActor, 'request'>, path: string): Promise<Record<string, unknown>> {
  const answer = await actor.request('GET', path)
  assert.equal(answer.status, 200)
  return (await answer.json()) as Record<string, unknown>
}

/** The bytes that the process has read from files. Linux counts them. */
const counted = '/proc/self/io'

function readBytes(): number {
  return Number(/^rchar: (\d+)$/m.exec(readFileSync(counted, 'utf8'))?.[1])
}

/** An entry of the history. */
interface Entry {
  readonly seq: number
  readonly name: string
  readonly caller: string
  readonly size: number
  /** Whether it still has its content. */
  readonly isKept: boolean
}

/** The numbers of the entries that stay when an actor may have this many entries and characters. */
function trimmed(entries: readonly Entry[], most: number, maxCharacters: number): readonly number[] {
  const perEntry = Math.ceil(maxCharacters / most)
  const used = new Map<string, number>()
  const ranked = entries
    .filter(({ isKept }) => isKept)
    .toReversed()
    .map((entry) => {
      const sum = (used.get(entry.caller) ?? 0) + entry.size + perEntry
      used.set(entry.caller, sum)
      return { ...entry, used: sum, other: entry.caller === 'creator' ? 0 : 1 }
    })
    .toSorted((a, b) => a.other - b.other || a.used - b.used || b.seq - a.seq)
  let total = 0
  const kept = new Set(
    ranked.flatMap(({ seq, size }, at) => {
      total += size
      return at < most && total <= maxCharacters ? [seq] : []
    }),
  )
  const left = entries.filter(({ seq, name, caller }) => {
    if (kept.has(seq) || seq === entries.length) return true
    const alike = entries.filter((other) => other.name === name)
    const follows = alike.some((other) => kept.has(other.seq) && other.seq < seq)
    return follows && !alike.some((other) => !kept.has(other.seq) && other.seq > seq && other.caller === caller)
  })
  return left.slice(-2 * most).map(({ seq }) => seq)
}

forEachService((start, dialect) => {
  describe('a list of an actor that is sent in pages', () => {
    it('has every property to which the peer may subscribe, and no other (HTTP-23)', async () => {
      const service = await start({
        declare: (app) => {
          app.list('tasks', { description: 'declared', item: {} })
          app.property('mood', { schema: {}, default: 'calm' })
        },
      })
      const actor = await service.createActor()
      await setAll(actor, numbered('n', 600), 'x'.repeat(300))
      await setAll(actor, numbered('hidden', 300), 1)
      await actor.request('PUT', '/properties', { l: { _type: 'list' }, long: 'y'.repeat(9000) })
      await actor.request('POST', '/properties/l', '1')
      const peer = await relateTo(service, actor)
      const rights = {
        properties: { patterns: ['n*', 'l', 'long', 'tasks', 'mood'], operations: ['read', 'subscribe'], merge: false },
      }
      assert.ok((await actor.request('PUT', `/trust/friend/${peer.peerId}/permissions`, rights)).ok)
      const { shared_properties: shared, ...others } = await read(
        peer,
        `/trust/friend/${peer.peerId}/shared_properties`,
      )
      assert.deepEqual(others, {
        actor_id: actor.id,
        peer_id: peer.peerId,
        relationship: 'friend',
        excluded_properties: [],
      })
      const entries = shared as { name: string; item_count: number; operations: string[] }[]
      assert.deepEqual(
        entries.map(({ name }) => name).toSorted(),
        ['l', 'long', 'mood', ...numbered('n', 600), 'tasks'].toSorted(),
      )
      assert.deepEqual(
        entries.find(({ name }) => name === 'l'),
        { name: 'l', display_name: 'L', item_count: 1, operations: ['read', 'subscribe'] },
      )
    })

    it('has every relationship once, by peer, as the filters want it (HTTP-23)', async () => {
      const service = await start()
      const actor = await service.createActor()
      const peers = numbered('peer', 520)
      for (const [n, peerId] of peers.entries())
        await relateTo(service, actor, { peerId, relationship: n % 2 === 0 ? 'friend' : 'partner' })
      const idsAt = async (path: string): Promise<unknown> =>
        ((await read(actor, path)) as unknown as { peerid: string }[]).map(({ peerid }) => peerid)
      assert.deepEqual(await idsAt('/trust'), peers)
      const friends = peers.filter((_, n) => n % 2 === 0)
      assert.deepEqual(await idsAt('/trust?relationship=friend'), friends)
      assert.deepEqual(await idsAt('/trust/friend'), friends)
      assert.deepEqual(await idsAt('/trust?peerid=peer0300'), ['peer0300'])
      assert.deepEqual(await idsAt('/trust?relationship=friend&peerid=peer0300'), ['peer0300'])
      assert.deepEqual(await idsAt('/trust?relationship=partner&peerid=peer0300'), [])
      assert.deepEqual(await idsAt('/trust?type=none'), [])
      const handle = await service.app.actors.get(actor.id)
      assert.equal((await handle?.trust.list())?.length, 520)
    })

    it('renders few relationships in one turn, and reads no rules and no long profile (HTTP-34)', async () => {
      let asked = 0
      let most = 0
      const now = (): number => {
        // Each row of the page asks once, for its times.
        if (asked === 0) setImmediate(() => (asked = 0))
        asked += 1
        most = Math.max(most, asked)
        return Date.now()
      }
      const service = await start({ now })
      const actor = await service.createActor()
      const { store, keyRing } = await service.app.running()
      await addRelationships({ store, keyRing, actorId: actor.id }, 2100)
      const facts = Array.from({ length: 2100 }, (_, n) => [
        `${actor.id}:peer-${n}`,
        JSON.stringify({ displayname: `Name ${n}.`, description: n % 2 === 0 ? '' : 'x'.repeat(5000) }),
        `peer-${n}`,
        JSON.stringify({ properties: { patterns: [`secret rule ${n}`], operations: ['read'] } }),
      ])
      await store.write(async (tx) => {
        const made = 'rows($2, name TEXT, data TEXT, peer TEXT, rules TEXT) AS made WHERE true'
        await tx.run(
          `INSERT INTO attribute (actor_id, bucket, name, data, timestamp)
           SELECT $1, '_peer_profiles', made.name, made.data, 1 FROM ${made}`,
          actor.id,
          JSON.stringify(facts),
        )
        await tx.run(
          `INSERT INTO permission_override (actor_id, peer_id, rules, created_by, notes, updated_at)
           SELECT $1, made.peer, made.rules, '', '', 1 FROM ${made}`,
          actor.id,
          JSON.stringify(facts),
        )
      })
      const browser = await OwnersBrowser.open(service, actor)
      for (const [query, has] of [
        // The picture always has the first one.
        ['', [true, false, false]],
        ['?sort=name&order=descending', [true, false, false]],
        ['?q=name+2.', [true, false, true]],
      ] as const) {
        service.reset()
        most = 0
        const page = await (await browser.get(`/trust${query}`)).text()
        assert.deepEqual(
          ['Name 0.', 'Name 1.', 'Name 2.'].map((name) => page.includes(name)),
          has,
          query,
        )
        assert.ok(most >= 256 && most <= 400, `${query}: ${most} rows in one turn`)
        assert.deepEqual(
          service.statements.filter((sql) => /\brules\b[^(]*FROM permission_override/.test(sql)),
          [],
        )
      }
    })

    it('reads as a peer only the values on the page (HTTP-40)', async () => {
      const service = await start()
      const actor = await service.createActor()
      await setAll(actor, numbered('n', 60), 'x'.repeat(300))
      await setAll(actor, ['o1', 'o2'], 'x'.repeat(900_000))
      const { peerId } = await relateTo(service, actor, {})
      const browser = await OwnersBrowser.open(service, actor)
      for (const [query, values] of [
        ['', 0],
        ['?page=2', 2],
      ] as const) {
        service.reset()
        const page = await (await browser.get(`/trust/${peerId}/view${query}`)).text()
        assert.ok(page.includes(values === 0 ? 'n0000' : 'o2'))
        assert.equal(service.statements.filter((sql) => /SELECT name, kind, value/.test(sql)).length, values, query)
      }
    })

    it('is read by the application page by page, with what changed meanwhile (HTTP-35)', async () => {
      const service = await start({
        declare: (app) => {
          app.property('mood', { schema: {}, default: 'calm' })
          app.property('n0003', { get: () => null })
        },
      })
      const actor = await service.createActor()
      await setAll(actor, numbered('n', 600), 1)
      for (const name of ['long1', 'long2']) await setAll(actor, [name], 'x'.repeat(1_900_000))
      await actor.request('PUT', '/properties', { a: { _type: 'list' } })
      await relateTo(service, actor, { peerId: 'p0000' })
      const { store, keyRing } = await service.app.running()
      await addRelationships({ store, keyRing, actorId: actor.id }, 600)
      const handle = await service.app.actors.get(actor.id)
      if (handle === undefined) assert.fail('The actor does not exist')
      const pagesOf = (table: string): number =>
        service.statements.filter((sql) => new RegExp(`FROM (actor LEFT JOIN )?${table}\\b[^]* LIMIT 256`).test(sql))
          .length
      const [seen, perPage]: [string[], number[]] = [[], []]
      service.reset()
      for await (const [name, value] of handle.entries()) {
        if (name === 'long1') await handle.delete('long2')
        if (name === 'n0255') await setAll(actor, ['n0255x', 'n0599x'], 2)
        assert.equal(
          JSON.stringify(value).slice(0, 2),
          name.startsWith('long') ? '"x' : name === 'mood' ? '"c' : value === 2 ? '2' : '1',
        )
        perPage[pagesOf('property') - 1] = (perPage[pagesOf('property') - 1] ?? 0) + 1
        seen.push(name)
      }
      const expected = ['long1', ...numbered('n', 600), 'n0599x', 'mood'].filter((name) => name !== 'n0003')
      assert.deepEqual(seen, expected)
      assert.ok(perPage.length >= 3 && perPage.every((count) => count <= 257), String(perPage))
      // A loop that ends reads no further page.
      service.reset()
      for await (const [name] of handle.entries()) if (name === 'n0001') break
      assert.equal(pagesOf('property'), 1)
      assert.deepEqual(Object.keys(await handle.all()).toSorted(), [...expected, 'n0255x'].toSorted())

      service.reset()
      const peers: string[] = []
      for await (const { peerid } of handle.trust.all()) {
        if (peers.push(peerid) === 1) assert.equal(pagesOf('trust'), 1)
        if (peerid === 'peer-100') await handle.trust.delete('peer-99')
      }
      assert.deepEqual(
        peers,
        [
          'p0000',
          ...Array.from({ length: 600 }, (_, n) => `peer-${n}`).filter((name) => name !== 'peer-99'),
        ].toSorted(),
      )
      assert.deepEqual(await Array.fromAsync(handle.trust.all({ relationship: 'none' })), [])
    })

    it('has the first items of each list, as a peer sees them (HTTP-23)', async () => {
      const service = await start()
      const actor = await service.createActor()
      const handle = await service.app.actors.get(actor.id)
      for (const list of ['short', 'long'])
        await handle?.list(list).extend(Array.from({ length: list === 'long' ? 400 : 2 }, (_, n) => `${list}-${n}.`))
      const peer = await relateTo(service, actor)
      const browser = await OwnersBrowser.open(service, actor)
      const page = await (await browser.get(`/trust/${peer.peerId}/view`)).text()
      assert.deepEqual(
        ['short-0.', 'short-1.', 'long-0.', 'long-4.', 'long-5.'].map((item) => page.includes(item)),
        [true, true, true, true, false],
      )
    })

    it('has every resource of an AI client once, while properties are removed and added (HTTP-23)', async () => {
      const service = await start({
        declare: (app) => {
          app.property('mood', { schema: {}, default: 'calm' })
          for (let n = 0; n < 110; n += 1)
            app.method(`declared${n}`, { mcp: { resource: { uri: `test://${n}` } } }, () => n)
        },
      })
      const actor = await service.createActor()
      await setAll(actor, numbered('n', 260), 1)
      const client = await authorizeClient(service, actor, { relationship: 'admin' })
      const pages: string[][] = []
      for (let cursor: string | undefined = ''; cursor !== undefined; ) {
        const answer = await client.send(rpc(1, 'resources/list', cursor === '' ? {} : { cursor }))
        const { result } = (await answer.json()) as {
          result: { resources: { name: string }[]; nextCursor?: string }
        }
        const { resources, nextCursor } = result
        pages.push(resources.map(({ name }) => name))
        cursor = nextCursor
        // The last name of the second page, and a name before it.
        if (pages.length === 2) {
          assert.ok((await actor.request('DELETE', '/properties/n0087')).ok)
          await setAll(actor, ['a first name', 'z last name'], 1)
        }
      }
      assert.deepEqual(
        pages.map((page) => page.length),
        [100, 100, 100, 73],
      )
      assert.equal(pages[1]?.at(-1), 'n0087')
      assert.deepEqual(
        pages.flat().toSorted(),
        [
          ...Array.from({ length: 110 }, (_, n) => `Declared${n}`),
          'properties',
          'mood',
          ...numbered('n', 260),
          'z last name',
        ].toSorted(),
      )
    })

    it('has 50 subscriptions on each page for the owner, and those that fail (HTTP-23)', async () => {
      let now = Date.now()
      const service = await start({ now: () => (now += 1) })
      const actor = await service.createActor()
      const peer = await relateTo(service, actor)
      for (let n = 0; n < 51; n += 1) await peer.subscribe({ subtarget: `part${String(n).padStart(2, '0')}.` })
      const browser = await OwnersBrowser.open(service, actor)
      const has = async (path: string): Promise<boolean[]> => {
        const answer = await browser.get(path)
        assert.equal(answer.status, 200)
        const page = await answer.text()
        return ['part00.', 'part49.', 'part50.'].map((name) => page.includes(name))
      }
      assert.deepEqual(await has('/subscriptions'), [true, true, false])
      assert.deepEqual(await has('/subscriptions?page=2'), [false, false, true])
      const { store } = await service.app.running()
      await store.write((tx) =>
        tx.run(
          "UPDATE publisher_subscription SET state = 'stopped' WHERE actor_id = $1 AND subtarget = 'part50.'",
          actor.id,
        ),
      )
      for (const path of ['', '/requests', `/trust/${peer.peerId}`])
        assert.deepEqual(await has(path), [false, false, true], path)
    })

    it('has every subscription once, oldest first (HTTP-23)', async () => {
      let now = Date.now()
      const service = await start({ maxPeerSubscriptions: 1200, now: () => now })
      const actor = await service.createActor()
      const peer = await relateTo(service, actor)
      const ids: string[] = []
      for (let n = 0; n < 1100; n += 1) {
        // Groups of the same age cross the border of a page.
        if (n % 40 === 0) now += 1
        ids.push(await peer.subscribe({ subtarget: n % 2 === 0 ? 'even' : 'odd' }))
      }
      const idsAt = async (caller: Pick<TestActor, 'request'>, path: string): Promise<string[]> => {
        const { data } = (await read(caller, path)) as { data: { subscriptionid: string }[] }
        return data.map(({ subscriptionid }) => subscriptionid)
      }
      const listed = await idsAt(actor, '/subscriptions')
      assert.deepEqual(listed.toSorted(), ids.toSorted())
      const place = new Map(ids.map((id, n) => [id, Math.floor(n / 40)]))
      assert.deepEqual(
        listed.map((id) => place.get(id)),
        ids.map((_, n) => Math.floor(n / 40)),
      )
      assert.deepEqual(await idsAt(peer, `/subscriptions/${peer.peerId}`), listed)
      assert.equal((await idsAt(actor, '/subscriptions?subtarget=odd')).length, 550)
    })
  })

  describe('the diffs that wait for a peer', () => {
    it('are sent in polls of 4 MiB, each once (HTTP-30)', async () => {
      const service = await start()
      const actor = await service.createActor()
      const peer = await relateTo(service, actor)
      const path = `/subscriptions/${peer.peerId}/${await peer.subscribe({})}`
      for (const n of [1, 2, 3, 4, 5, 6]) await setAll(actor, [`long${n}`], 'x'.repeat(900_000))
      const poll = async (last: number): Promise<[sequence: number, name: string, length: number][]> => {
        const { data, sequence } = (await read(peer, path)) as {
          data: { sequence: number; data: Record<string, string> }[]
          sequence: number
        }
        assert.equal(sequence, last)
        return data.flatMap((diff) =>
          Object.entries(diff.data).map(
            ([name, value]) => [diff.sequence, name, value.length] as [number, string, number],
          ),
        )
      }
      const rows = [1, 2, 3, 4, 5, 6].map((n) => [n, `long${n}`, 900_000])
      assert.deepEqual(await poll(4), rows.slice(0, 4))
      assert.equal((await peer.request('PUT', path, { sequence: 4 })).status, 204)
      assert.deepEqual(await poll(6), rows.slice(4))
      assert.equal((await peer.request('PUT', path, { sequence: 5 })).status, 204)
      // Nothing of what the peer may no longer read.
      const properties = { patterns: ['*'], excluded_patterns: ['long6'], operations: ['read'], merge: false }
      assert.ok((await actor.request('PUT', `/trust/friend/${peer.peerId}/permissions`, { properties })).ok)
      assert.deepEqual(await poll(6), [])
    })

    it('of a long value are written for few subscriptions at a time, and reach each (HTTP-30)', async () => {
      const service = await start()
      const actor = await service.createActor()
      const peer = await relateTo(service, actor)
      const ids = [await peer.subscribe({})]
      while (ids.length < 5) ids.push(await peer.subscribe({ subtarget: 'long' }))
      service.reset()
      await setAll(actor, ['long'], 'x'.repeat(1_900_000))
      await service.settled()
      const inserts = [...service.statements, ...service.backgroundStatements].filter((sql) =>
        sql.includes('INSERT INTO diff'),
      )
      assert.equal(inserts.length, 3)
      for (const id of ids) {
        const path = `/subscriptions/${peer.peerId}/${id}`
        const { data } = (await read(peer, path)) as { data: { sequence: number; data: unknown }[] }
        assert.deepEqual(
          data.map(({ sequence, data: change }) => [sequence, JSON.stringify(change).length > 1_900_000]),
          [[1, true]],
        )
      }
    })
  })

  describe('a condition on all properties', () => {
    it('never holds for a listing that is too long for an entity tag (HTTP-24)', async () => {
      const service = await start()
      const actor = await service.createActor()
      await setAll(actor, numbered('n', 10), 1)
      const tag = (await actor.request('GET', '/properties')).headers.get('etag') ?? ''
      assert.match(tag, /^".+"$/)
      await setAll(actor, numbered('n', 256), 1)
      assert.equal((await actor.request('GET', '/properties')).headers.get('etag'), null)
      for (const wrong of [tag, '"x"', '""']) {
        const refused = await actor.request('PUT', '/properties', { a: 1 }, { 'if-match': wrong })
        assert.equal(refused.status, 412)
        assert.match(
          await refused.text(),
          /Nothing was changed: the properties are too many or too long for an entity tag\. Use If-Match at one property/,
        )
        assert.equal((await actor.request('DELETE', '/properties', undefined, { 'if-match': wrong })).status, 412)
      }
      assert.equal((await actor.request('PUT', '/properties', { a: 1 }, { 'if-none-match': '*' })).status, 412)
      assert.equal(Object.keys(await read(actor, '/properties')).length, 256)
      assert.equal((await actor.request('PUT', '/properties', { a: 1 }, { 'if-match': '*' })).status, 204)
      assert.equal((await actor.request('PUT', '/properties', { b: 1 }, { 'if-none-match': tag })).status, 204)
      assert.equal(Object.keys(await read(actor, '/properties')).length, 258)
    })
  })

  describe('the deletion of more properties than fit into a page', () => {
    it('removes all, keeps each in the history, and tells subscribers of each (HTTP-25)', async () => {
      const service = await start()
      const actor = await service.createActor()
      await setAll(actor, numbered('n', 600), 1)
      await actor.request('PUT', '/properties', { l: { _type: 'list' }, long: 'y'.repeat(9000) })
      await actor.request('POST', '/properties/l', '1')
      const peer = await relateTo(service, actor)
      const id = await peer.subscribe({})
      assert.equal((await actor.request('DELETE', '/properties')).status, 204)
      assert.deepEqual(await read(actor, '/properties'), {})
      const { data } = (await read(peer, `/subscriptions/${peer.peerId}/${id}`)) as { data: { data: object }[] }
      assert.deepEqual(data.flatMap((diff) => Object.keys(diff.data)).toSorted(), ['l', 'long', ...numbered('n', 600)])
      const handle = await service.app.actors.get(actor.id)
      const changes = (await handle?.history.list({ limit: 1000 }))?.changes ?? []
      assert.equal(changes.filter(({ operation }) => operation === 'delete').length, 602)
    })

    it('removes nothing when a right or a hook is missing for one of the last (HTTP-25)', async () => {
      const service = await start({
        declare: (app) => void app.property('n0599', { delete: () => null }),
      })
      const actor = await service.createActor()
      await setAll(actor, numbered('n', 600), 1)
      assert.equal((await actor.request('DELETE', '/properties')).status, 403)
      assert.equal(Object.keys(await read(actor, '/properties')).length, 600)
      await setAll(actor, ['z-private'], 1)
      const peer = await relateTo(service, actor)
      const properties = { patterns: ['*'], excluded_patterns: ['z*'], operations: ['read', 'delete'], merge: false }
      assert.ok((await actor.request('PUT', `/trust/friend/${peer.peerId}/permissions`, { properties })).ok)
      assert.equal((await peer.request('DELETE', '/properties')).status, 403)
      assert.equal(Object.keys(await read(actor, '/properties')).length, 601)
    })

    it('tells a webhook of each property once, in parts (HTTP-25)', async () => {
      const service = await start()
      const actor = await service.createActor()
      await setAll(actor, numbered('n', 600), 1)
      const webhook = { url: 'https://peer.example.com/hook', events: ['property_changed'] }
      assert.equal((await actor.request('POST', '/webhooks', webhook)).status, 201)
      assert.equal((await actor.request('DELETE', '/properties')).status, 204)
      const { store } = await service.app.running()
      const entries = await store.read((q) =>
        q.all<{ data: string }>('SELECT data FROM job_entry WHERE actor_id = $1 ORDER BY number', actor.id),
      )
      assert.deepEqual(
        entries.map(({ data }) => (JSON.parse(data) as { name: string }).name),
        numbered('n', 600),
      )
    })

    it('gives the hooks of values and lists what they hold (HTTP-25)', async () => {
      const seen: [string, unknown][] = []
      const service = await start({
        declare: (app) => {
          for (const name of ['n0000', 'n0299', 'l'])
            app.property(name, {
              delete: ({ value }) => {
                seen.push([name, value])
                return value
              },
            })
        },
      })
      const actor = await service.createActor()
      await setAll(actor, numbered('n', 300), { deep: true })
      await actor.request('PUT', '/properties', { l: { _type: 'list' } })
      await actor.request('POST', '/properties/l', '"one"')
      assert.equal((await actor.request('DELETE', '/properties')).status, 204)
      assert.deepEqual(seen, [
        ['l', ['one']],
        ['n0000', { deep: true }],
        ['n0299', { deep: true }],
      ])
    })
  })

  describe('a bulk write of values that do not fit into memory together', () => {
    it('reads the old values only where it may change nothing, or for a subscription to a key (HTTP-31)', async () => {
      const service = await start()
      const actor = await service.createActor()
      await setAll(actor, ['same', 'other', 'longer'], { key: 'a' })
      await setAll(actor, ['watched'], { key: 'a', rest: 'x'.repeat(900) })
      const peer = await relateTo(service, actor)
      await peer.subscribe({ subtarget: 'watched', resource: 'key' })
      const { store } = await service.app.running()
      const written = Object.entries({
        same: '{"key":"a"}',
        other: '{"key":"b"}',
        longer: '{"key":"aa"}',
        watched: '1',
      })
      const before = await store.read((q) =>
        findBeforeWrite(q, actor.id, new Map(written.map(([name, value]) => [name, known(value)]))),
      )
      assert.deepEqual(Object.fromEntries([...before].map(([name, { value }]) => [name, value?.slice(0, 11)])), {
        longer: undefined,
        other: '{"key":"a"}',
        same: '{"key":"a"}',
        watched: '{"key":"a",',
      })
      if (dialect === 'postgres') return
      const sql = [...service.statements, ...service.backgroundStatements].findLast((one) => one.includes('AS wanted'))
      const plan = await store.read((q) => q.all<{ detail: string }>(`EXPLAIN QUERY PLAN ${sql ?? ''}`, actor.id, '[]'))
      assert.match(plan[0]?.detail ?? '', /^SCAN json_each/)
    })
  })

  describe('a key between the keys of long rows', () => {
    it('is found without reading the rows, which do not fit into the cache (HTTP-33)', async () => {
      if (dialect !== 'sqlite' || !existsSync(counted)) return
      const service = await start()
      const actor = await service.createActor()
      const peer = await relateTo(service, actor)
      const subscriptionId = await peer.subscribe({})
      const { store } = await service.app.running()
      const data = known(JSON.stringify('x'.repeat(1_900_000)))
      const diffs = (numbers: readonly number[], content = data) =>
        numbers.map((sequence) => ({
          peerId: peer.peerId,
          subscriptionId,
          sequence,
          kind: 'diff' as const,
          data: content,
          replaces: false,
          deletions: null,
        }))
      const made = { createdAt: 1, hops: 0 }
      const places = Array.from({ length: 12 }, (_, n) => n)
      for (const n of places)
        await store.write(async (tx) => {
          await putValues(tx, actor.id, [{ name: `long${n}`, value: data, version: 1 }])
          await insertDiffs(tx, actor.id, diffs([100 * n]), made)
        })
      const between = places.flatMap((n) => [1, 2, 3, 4, 5, 6, 7, 8, 9].map((more) => [n, more] as const))
      const names = between.map(([n, more]) => `long${n}x${more}`)
      const short = known('1')
      const works = {
        names: () => store.read((q) => findPropertyPage(q, actor.id, { after: '', names: null, contents: 'none' })),
        'names and short values': () =>
          store.read((q) => findPropertyPage(q, actor.id, { after: '', names: null, contents: 'short' })),
        reads: () => store.read((q) => findKinds(q, actor.id, names)),
        writes: () =>
          store.write((tx) =>
            putValues(
              tx,
              actor.id,
              names.map((name) => ({ name, value: short, version: 1 })),
            ),
          ),
        diffs: () =>
          store.write((tx) =>
            insertDiffs(
              tx,
              actor.id,
              diffs(
                between.map(([n, more]) => 100 * n + more),
                short,
              ),
              made,
            ),
          ),
      }
      // The log is copied into the file before the next write.
      await store.write(() => Promise.resolve())
      for (const [what, work] of Object.entries(works)) {
        const before = readBytes()
        await work()
        const read = readBytes() - before
        assert.ok(read < 2_000_000, `${what}: ${read} bytes`)
      }
    })
  })

  describe('a bulk write of many names', () => {
    it('is stored in parts, all or none (HTTP-36)', async () => {
      const service = await start()
      const actor = await service.createActor()
      await actor.request('PUT', '/properties', { z: { _type: 'list' } })
      service.reset()
      await setAll(actor, numbered('n', 600), 1)
      assert.equal(service.statements.filter((sql) => sql.includes('INSERT INTO property')).length, 3)
      const more = Object.fromEntries([...numbered('n', 300), ...numbered('o', 300)].map((name) => [name, 2]))
      assert.equal((await actor.request('PUT', '/properties', { ...more, z: 1 })).status, 409)
      const { z, ...stored } = await read(actor, '/properties')
      assert.ok(z !== 1)
      assert.deepEqual(Object.keys(stored), numbered('n', 600))
      assert.ok(Object.values(stored).every((value) => value === 1))
      const handle = await service.app.actors.get(actor.id)
      assert.equal((await handle?.history.list({ limit: 1000 }))?.changes.length, 601)
    })

    it('has its history trimmed by reading each entry once, 500 at a time (HTTP-36)', async () => {
      const service = await start()
      const actor = await service.createActor()
      const { store } = await service.app.running()
      const random = seeded(7)
      for (const [count, most, maxCharacters, pages] of [
        [40, 10, 1000, 1],
        [300, 40, 900, 1],
        [900, 200, 100_000, 2],
        [1700, 30, 100_000, 4],
      ] as const) {
        const rows = Array.from({ length: count }, (_, n): Entry => {
          const caller = random.pick(['creator', 'peer a', 'peer b', 'peer c'])
          return {
            seq: n + 1,
            name: `n${random.below(9)}`,
            caller,
            size: random.below(40),
            isKept: random.below(5) > 0,
          }
        })
        await store.write(async (tx) => {
          await tx.run('DELETE FROM history WHERE actor_id = $1', actor.id)
          await tx.run(
            `INSERT INTO history (actor_id, seq, at, name, kind, operation, existed, content, characters, version, checksum,
               caller_kind, caller, request, origin)
             SELECT $1, made.seq, 1, made.name, 'value', 'set', 1, made.content, made.size, 1, made.checksum, made.kind,
               made.caller, '', ''
             FROM rows($2, seq BIGINT, name TEXT, content TEXT, size BIGINT, checksum BIGINT, kind TEXT, caller TEXT) AS made
             WHERE true`,
            actor.id,
            JSON.stringify(
              rows.map(({ seq, name, caller, size, isKept }) => [
                seq,
                name,
                isKept ? 'x' : null,
                size,
                isKept ? 1 : 4_294_967_296,
                caller === 'creator' ? 'creator' : 'peer',
                caller,
              ]),
            ),
          )
        })
        service.reset()
        await store.write((tx) => trimActor(tx, actor.id, most, maxCharacters))
        const left = await store.read((q) =>
          q.all<{ seq: number }>('SELECT seq FROM history WHERE actor_id = $1 ORDER BY seq', actor.id),
        )
        assert.deepEqual(
          left.map(({ seq }) => seq),
          trimmed(rows, most, maxCharacters),
          `${count} entries`,
        )
        const statements = [...service.statements, ...service.backgroundStatements]
        assert.equal(statements.filter((sql) => /history \*\/ SELECT seq/.test(sql)).length, pages)
      }
    })
  })

  describe('the deletion of a large actor', () => {
    it('deletes its rows in parts, and leaves none (HTTP-32)', async () => {
      const service = await start()
      const actor = await service.createActor()
      await setAll(actor, numbered('n', 600), 1)
      for (const name of ['a', 'b', 'z']) await setAll(actor, [name], 'x'.repeat(1_900_000))
      const peer = await relateTo(service, actor)
      await peer.subscribe({})
      await setAll(actor, ['a'], 'y'.repeat(1_900_000))
      const other = await service.createActor('other@example.com')
      await setAll(other, numbered('n', 3), 1)
      service.reset()
      assert.equal((await actor.request('DELETE', '')).status, 204)
      const parts = service.statements.filter((sql) => sql.includes('DELETE FROM property WHERE'))
      assert.equal(parts.length, 3)
      const { store } = await service.app.running()
      for (const table of ['property', 'diff', 'publisher_subscription', 'trust', 'job_entry', 'activity']) {
        const row = await store.read((q) =>
          q.get<{ n: number }>(`SELECT COUNT(*) AS n FROM ${table} WHERE actor_id = $1`, actor.id),
        )
        assert.equal(row?.n, 0, table)
      }
      assert.equal(Object.keys(await read(other, '/properties')).length, 3)
    })
  })
})
