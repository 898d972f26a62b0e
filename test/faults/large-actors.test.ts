import assert from 'node:assert/strict'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { describe, it } from 'node:test'
import { authorizeClient } from '../support/mcp-client.ts'
import { relateTo, RecordingPeer } from '../support/recording-peer.ts'
import { forEachService, type TestActor, type TestService } from '../support/service.ts'
import { startServiceProcess } from '../support/service-process.ts'

const short: Readonly<Record<string, number>> = Object.fromEntries(
  Array.from({ length: 600 }, (_, n) => [`n${String(n).padStart(3, '0')}`, n]),
)
const long = { 'long 1': 'a'.repeat(5000), 'long 2': 'ö'.repeat(700_000), 'long 3': { b: 'b'.repeat(1_200_000) } }
const values: Readonly<Record<string, unknown>> = {
  ...long,
  ...short,
  'z 1': 'c'.repeat(4096),
  'z 2': 'd'.repeat(4097),
}

/** An actor with 605 values, 300 of its lists empty, and one with two items. */
async function largeActor(service: TestService): Promise<TestActor> {
  const actor = await service.createActor()
  for (const [name, value] of Object.entries(long))
    assert.equal((await actor.request('PUT', `/properties/${name}`, JSON.stringify(value))).status, 204)
  const lists = Object.fromEntries(Array.from({ length: 300 }, (_, n) => [`l${n}`, { _type: 'list' }]))
  const { 'long 1': _1, 'long 2': _2, 'long 3': _3, ...rest } = values
  assert.equal((await actor.request('PUT', '/properties', { ...rest, ...lists })).status, 204)
  for (const item of ['one', 'two'])
    assert.equal((await actor.request('POST', '/properties/l7', JSON.stringify(item))).status, 201)
  return actor
}

async function read(actor: TestActor, query = ''): Promise<Record<string, unknown>> {
  const answer = await actor.request('GET', `/properties${query}`)
  assert.equal(answer.status, 200)
  return (await answer.json()) as Record<string, unknown>
}

/** The most memory of a process since `forget`, in bytes. Linux counts it. */
const peakOf = (pid: number): number =>
  Number(/VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) * 1024
const forget = (pid: number): void => writeFileSync(`/proc/${pid}/clear_refs`, '5')

forEachService((start) => {
  describe('an actor whose properties do not fit into memory together', () => {
    it('has all of them in the listing, the values first (HTTP-17)', async () => {
      const actor = await largeActor(await start())
      const listing = await read(actor)
      const names = Object.keys(listing)
      assert.equal(names.length, 905)
      assert.deepEqual(names.slice(0, 605), Object.keys(values).toSorted())
      assert.deepEqual(Object.fromEntries(Object.entries(listing).slice(0, 605)), values)
      assert.deepEqual(listing['l7'], { _list: true, count: 2 })
      assert.deepEqual(listing['l299'], { _list: true, count: 0 })
    })

    it('has the items of all lists in the full listing (HTTP-17)', async () => {
      const actor = await largeActor(await start())
      const listing = await read(actor, '?format=full')
      assert.equal(Object.keys(listing).length, 905)
      assert.deepEqual(listing['long 3'], long['long 3'])
      const list = { _list: true, description: '', explanation: '' }
      assert.deepEqual(listing['l7'], { ...list, count: 2, items: ['one', 'two'] })
      assert.deepEqual(listing['l8'], { ...list, count: 0, items: [] })
    })

    it('has names, counts and sizes of all of them in the metadata (HTTP-17)', async () => {
      const actor = await largeActor(await start())
      const { simple, lists } = (await read(actor, '?metadata=true')) as {
        simple: { properties: string[]; total_bytes: number }
        lists: Record<string, { count: number }>
      }
      assert.deepEqual(simple.properties, Object.keys(values).toSorted())
      // 5002 + 4 200 002 + 1 200 009 for the long values; "ö" has six characters in the format of Python.
      assert.equal(simple.total_bytes, 5002 + 4_200_002 + 1_200_009 + 4098 + 4099 + 10 + 90 * 2 + 500 * 3)
      assert.equal(Object.keys(lists).length, 300)
      assert.equal(lists['l7']?.count, 2)
    })

    it('shows a peer only what it may read (HTTP-17)', async () => {
      const service = await start()
      const actor = await largeActor(service)
      const remote = await new RecordingPeer().start()
      try {
        const peer = await relateTo(service, actor, { baseuri: `${remote.url}/them` })
        const rights = { properties: { patterns: ['long 3', 'n00?', 'l7'], operations: ['read'], merge: false } }
        const granted = await actor.request('PUT', `/trust/friend/${peer.peerId}/permissions`, rights)
        assert.ok(granted.ok, await granted.text())
        const listing = (await (await peer.request('GET', '/properties')).json()) as Record<string, unknown>
        assert.deepEqual(Object.keys(listing), [
          'long 3',
          'n000',
          'n001',
          'n002',
          'n003',
          'n004',
          'n005',
          'n006',
          'n007',
          'n008',
          'n009',
          'l7',
        ])
      } finally {
        await remote.stop()
      }
    })

    it('runs the hooks, and has declared values without a row (HTTP-17)', async () => {
      const service = await start({
        declare: (app) => {
          app.property('mood', { schema: { type: 'string' }, default: 'calm' })
          app.property('n001', { schema: {}, default: 'not this' })
          app.property('n002', { get: () => null })
          app.property('l8', { get: () => null })
          app.property('long 1', { get: () => 'hidden' })
        },
      })
      const listing = await read(await largeActor(service))
      const { mood, n001, n002, l8, 'long 1': length } = listing
      assert.deepEqual(
        { mood, n001, n002, l8, length },
        { mood: 'calm', n001: 1, n002: undefined, l8: undefined, length: 'hidden' },
      )
      assert.equal(Object.keys(listing).length, 904)
    })

    it('breaks the response off when the actor is deleted meanwhile (HTTP-17)', async () => {
      const service = await start()
      const actor = await largeActor(service)
      const answer = await actor.request('GET', '/properties')
      assert.equal(answer.headers.get('etag'), null)
      const reader = answer.body?.getReader()
      await reader?.read()
      assert.equal((await actor.request('DELETE', '')).status, 204)
      await assert.rejects(async () => {
        for (;;) if ((await reader?.read())?.done === true) return
      })
    })

    it('has a note where one result of an AI client is too small for its values or items (HTTP-17, HTTP-42)', async () => {
      const service = await start()
      const actor = await service.createActor()
      const big = 'x'.repeat(1_900_000)
      await actor.request('PUT', '/properties', { big: { _type: 'list' }, a: 1 })
      for (const name of ['b', 'c', 'd'])
        assert.equal((await actor.request('PUT', `/properties/${name}`, JSON.stringify(big))).status, 204)
      for (let n = 0; n < 3; n++)
        assert.equal((await actor.request('POST', '/properties/big', JSON.stringify(big))).status, 201)
      const client = await authorizeClient(service, actor, { relationship: 'admin' })
      const contentsOf = async (uri: string): Promise<{ uri: string; text: string }[]> => {
        const answer = await client.legacy('resources/read', { uri })
        return (answer.body as { result: { contents: { uri: string; text: string }[] } }).result.contents
      }
      const [values, note] = await contentsOf('actingweb://properties/all')
      assert.deepEqual(Object.keys(JSON.parse(values?.text ?? '') as object), ['a'])
      assert.match(note?.text ?? '', /^More values do not fit into one result/)
      const [items, next] = await contentsOf('actingweb://properties/big')
      assert.equal((JSON.parse(items?.text ?? '') as unknown[]).length, 1)
      assert.equal(next?.uri, 'actingweb://properties/big/items/1')
    })

    it('never takes more than 64 MB of the process for a listing (HTTP-18)', async () => {
      if (!existsSync('/proc/self/clear_refs')) return
      const service = await start()
      const actor = await service.createActor()
      const value = JSON.stringify('x'.repeat(1_900_000))
      for (let n = 0; n < 40; n++) assert.equal((await actor.request('PUT', `/properties/v${n}`, value)).status, 204)
      await service.close()
      // A process with much memory leaves garbage for long, which would count here.
      const process = await startServiceProcess({
        database: service.databaseUrl,
        env: { NODE_OPTIONS: '--max-old-space-size=96' },
      })
      try {
        const get = (path: string): Promise<{ status: number; text: string }> =>
          process.send('GET', `/${actor.id}${path}`, { authorization: actor.authorization })
        // The heap reaches the size that it has while the service answers with single values.
        for (let warm = 0; warm < 40; warm++) assert.equal((await get(`/properties/v${warm}`)).status, 200)
        forget(process.pid)
        const idle = peakOf(process.pid)
        for (const query of ['', '?format=full', '?metadata=true']) {
          const { status, text } = await get(`/properties${query}`)
          assert.equal(status, 200)
          if (query !== '?metadata=true') assert.ok(text.length > 76_000_000)
        }
        const grown = peakOf(process.pid) - idle
        assert.ok(grown < 64 * 1_048_576, `${grown} bytes`)
      } finally {
        await process.stop()
      }
    })
  })
})
