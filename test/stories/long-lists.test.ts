import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import type { ActorHandle, ListHandle } from '../../src/app/actor-handle.ts'
import type { PropertyAccess } from '../../src/app/declarations.ts'
import type { Json } from '../../src/json/json.ts'
import type { Param, Queries, Store, Transaction } from '../../src/store/store.ts'
import { forEachService, type StartOptions, type TestActor, type TestService } from '../support/service.ts'
import { bound } from '../support/stores.ts'
import { until } from '../support/until.ts'

/** The list has several hundred pages. */
const length = 100_000
/** A page has at most this many items, so a statement of a page reads at most this many rows. */
const pageRows = 256

interface Item {
  readonly n: number
}

const numbers = (count: number): number[] => Array.from({ length: count }, (_, n) => n)
const item = (n: number): Item => ({ n })

/** Counts, for each turn of the event loop, the rows that statements read or changed in it. */
class RowCounter {
  most = 0
  maxOfStatement = 0
  #inTurn = 0

  reset(): void {
    this.most = 0
    this.maxOfStatement = 0
    this.#inTurn = 0
  }

  readonly wrap = (store: Store): Store => ({
    ...bound(store),
    read: (work) => store.read((q) => work(this.#queries(q))),
    snapshot: (work) => store.snapshot((q) => work(this.#queries(q))),
    write: (work, how) => store.write((tx) => work(this.#transaction(tx)), how),
    writeActor: (actorId, work, origin) =>
      store.writeActor(actorId, (tx, actor) => work(this.#transaction(tx), actor), origin),
  })

  #count(rows: number): void {
    if (this.#inTurn === 0) setImmediate(() => (this.#inTurn = 0))
    this.#inTurn += rows
    this.most = Math.max(this.most, this.#inTurn)
    this.maxOfStatement = Math.max(this.maxOfStatement, rows)
  }

  #queries(q: Queries): Queries {
    return {
      isSharded: q.isSharded,
      get: async <R extends object>(sql: string, ...params: Param[]) => {
        const row = await q.get<R>(sql, ...params)
        this.#count(1)
        return row
      },
      all: async <R extends object>(sql: string, ...params: Param[]) => {
        const rows = await q.all<R>(sql, ...params)
        this.#count(rows.length)
        return rows
      },
    }
  }

  #transaction(tx: Transaction): Transaction {
    return {
      ...this.#queries(tx),
      origin: tx.origin,
      run: async (sql, ...params) => {
        const rows = await tx.run(sql, ...params)
        this.#count(rows)
        return rows
      },
    }
  }
}

forEachService((start) => {
  describe(`a list of ${length} items`, () => {
    const counter = new RowCounter()
    let service: TestService
    let actor: TestActor
    let handle: ActorHandle
    let long: ListHandle
    before(async () => {
      ;({ service, actor, handle, long } = await withLongList({ wrapStore: counter.wrap }))
      await actor.request('PUT', '/properties/color', 'red')
      await handle.list('after').extend([1, 2])
    })

    async function withLongList(
      options: StartOptions,
    ): Promise<{ service: TestService; actor: TestActor; handle: ActorHandle; long: ListHandle }> {
      const started = await start(options)
      const made = await started.createActor()
      const found = await started.app.actors.get(made.id)
      assert.ok(found)
      const list = found.list('long')
      await list.create({ description: 'd', explanation: 'e' })
      for (let from = 0; from < length; from += 5000) await list.extend(numbers(5000).map((n) => item(from + n)))
      return { service: started, actor: made, handle: found, long: list }
    }

    /** Runs the work, and checks that no statement and no turn of the event loop touched more than about a page. */
    async function inPages<T>(work: () => Promise<T>): Promise<T> {
      counter.reset()
      const result = await work()
      assert.ok(counter.maxOfStatement <= pageRows, `a statement touched ${counter.maxOfStatement} rows`)
      assert.ok(counter.most <= 3 * pageRows, `statements of one turn of the loop touched ${counter.most} rows`)
      return result
    }

    it('is sent in chunks, without a content length, and complete (LST-13)', async () => {
      await inPages(async () => {
        const answer = await actor.request('GET', '/properties/long')
        assert.equal(answer.status, 200)
        assert.equal(answer.headers.get('content-type'), 'application/json')
        assert.equal(answer.headers.get('content-length'), null)
        assert.deepEqual(await answer.json(), numbers(length).map(item))
      })
    })

    it('is sent in chunks with the indexes of its items, and with its length as the count', async () => {
      await inPages(async () => {
        const answer = await actor.request('GET', '/properties/long/items')
        const { items, count } = (await answer.json()) as { items: { index: number; item: Item }[]; count: number }
        assert.equal(count, 100_000)
        assert.deepEqual(
          items,
          numbers(length).map((n) => ({ index: n, item: item(n) })),
        )
      })
    })

    it('appears in the full listing among the other properties', async () => {
      await inPages(async () => {
        const listing = (await (await actor.request('GET', '/properties?format=full')).json()) as Record<
          string,
          unknown
        >
        assert.deepEqual(Object.keys(listing), ['color', 'after', 'long'])
        assert.deepEqual(listing['after'], { _list: true, count: 2, description: '', explanation: '', items: [1, 2] })
        assert.deepEqual(listing['long'], {
          _list: true,
          count: 100_000,
          description: 'd',
          explanation: 'e',
          items: numbers(length).map(item),
        })
      })
    })

    it('reports its length and size from stored values, with as few statements as a short list', async () => {
      service.reset()
      const sizes = (await (await actor.request('GET', '/properties?metadata=true')).json()) as { lists: unknown }
      assert.deepEqual(sizes.lists, {
        after: { count: 2, total_bytes: 2, description: '', explanation: '' },
        // {"n": 0} has 8 characters; 90 000 numbers have five digits, 9000 four, 900 three, 90 two.
        long: { count: 100_000, total_bytes: 1_188_890, description: 'd', explanation: 'e' },
      })
      assert.equal(service.statements.length, 2)
      service.reset()
      assert.equal(await long.length(), 100_000)
      assert.equal(service.statements.length, 1)
    })

    it('needs only its first page for the response to HEAD', async () => {
      service.reset()
      const answer = await actor.request('HEAD', '/properties/long')
      assert.deepEqual([answer.status, await answer.text()], [200, ''])
      assert.equal(answer.headers.get('content-length'), null)
      assert.equal(service.statements.length, 6)
    })

    for (const [query, first, count, next] of [
      ['start=99990', 99_990, 10, null],
      ['limit=3', 0, 3, 3],
      ['start=50000&limit=1000', 50_000, 1000, 51_000],
      ['start=99999&limit=5', 99_999, 1, null],
      ['start=100000', 100_000, 0, null],
      ['start=9007199254740991&limit=1', 0, 0, null],
      ['start=&limit=1', 0, 1, 1],
    ] as const) {
      it(`is returned as a range for ?${query}, with absolute indexes and the length of the full list`, async () => {
        const answer = await actor.request('GET', `/properties/long/items?${query}`)
        assert.equal(answer.status, 200)
        const { after, ...part } = (await answer.json()) as { after?: string }
        assert.deepEqual(part, {
          items: numbers(count).map((n) => ({ index: first + n, item: item(first + n) })),
          count: 100_000,
          ...(next === null ? {} : { next }),
        })
        assert.equal(typeof after, next === null ? 'undefined' : 'string')
      })
    }

    for (const [query, name] of [
      ['start=-1', 'start'],
      ['start=1.5', 'start'],
      ['start=x', 'start'],
      ['start=9007199254740993', 'start'],
      ['limit=0', 'limit'],
      ['limit=-1', 'limit'],
      ['limit=1001', 'limit'],
      ['limit=ten', 'limit'],
      ['start=0&limit=1e3', 'limit'],
    ] as const) {
      it(`is refused for ?${query} with 400, naming ${name}`, async () => {
        const answer = await actor.request('GET', `/properties/long/items?${query}`)
        assert.equal(answer.status, 400)
        const { error, message } = (await answer.json()) as { error: string; message: string }
        assert.equal(error, 'bad_request')
        assert.match(message, new RegExp(`^Invalid ${name}: expected a whole number (?:of at least 0|from 1 to 1000)`))
      })
    }

    it('is searched, paged and iterated page by page', async () => {
      await inPages(async () => {
        assert.deepEqual(await long.find('n', 99_999), { index: 99_999, item: item(99_999) })
        assert.equal(await long.find('n', -1), undefined)
        assert.deepEqual(await long.findAll('n', 50_000), [{ index: 50_000, item: item(50_000) }])
        assert.equal((await long.items()).length, 100_000)
        assert.equal((await long.itemsWithHandles()).length, 100_000)
        assert.deepEqual(await long.itemsWithHandles(99_999).then((found) => found.map(({ index }) => index)), [99_999])
        const sizes: number[] = []
        for await (const page of long.pages(40_000)) sizes.push(page.length)
        assert.deepEqual(sizes, [40_000, 40_000, 20_000])
        let next = 0
        for await (const { index, item: value } of long) {
          assert.deepEqual([index, value], [next, item(next)])
          next += 1
        }
        assert.equal(next, 100_000)
      })
    })

    it('is updated at the matching items, page by page', async () => {
      await inPages(async () => {
        assert.equal(await long.updateWhere('n', 70_000, { n: 'here' }), 1)
        assert.deepEqual(await long.find('n', 'here'), { index: 70_000, item: { n: 'here' } })
        assert.equal(await long.updateWhere('n', 'here', { n: 70_000 }, { firstOnly: true }), 1)
        assert.equal(await long.removeWhere('n', -5), 0)
      })
    })

    it('is iterated completely, although other items are inserted and removed meanwhile', async () => {
      const seen: unknown[] = []
      let pages = 0
      for await (const page of long.pages(1000)) {
        seen.push(...page.map(({ item: value }) => (value as unknown as Item).n))
        pages += 1
        if (pages === 10) {
          // These places are before, inside, at the end of and far behind the pages that were read.
          await long.insert(0, { n: -1 })
          await long.removeWhere('n', 5000)
          await long.removeWhere('n', 9999)
          await long.removeWhere('n', 90_000)
          await long.append({ n: 100_000 })
        }
      }
      assert.deepEqual(
        seen,
        numbers(100_001).filter((n) => n !== 90_000),
      )
      assert.equal(await long.removeWhere('n', -1, { firstOnly: true }), 1)
    })
  })

  describe('a list that is read page by page', () => {
    async function listOf(items: readonly Json[], options: StartOptions = {}) {
      const service = await start(options)
      const actor = await service.createActor()
      const handle = await service.app.actors.get(actor.id)
      assert.ok(handle)
      const list = handle.list('notes')
      await list.extend(items)
      return { service, actor, handle, list }
    }

    it('aborts the response when a later page cannot be read, so that it never looks complete (LST-02)', async () => {
      const { service, actor } = await listOf(numbers(5000), { listen: true })
      const { store } = await service.app.running()
      await store.write((tx) => tx.run('DELETE FROM list_item WHERE actor_id = $1 AND item = 4500', actor.id))
      for (const path of ['/properties/notes', '/properties/notes/items', '/properties?format=full']) {
        const answer = await actor.request('GET', path)
        assert.equal(answer.status, 200)
        await assert.rejects(answer.text(), path)
      }
      assert.equal(service.log.filter((line) => line.includes('list_corrupted')).length, 3)
    })

    for (const [path, after] of [
      ['/properties/notes', [404, 200]],
      ['/properties', [404, 200]],
      ['', [404, 404]],
    ] as const) {
      it(`is deleted by DELETE /<actor>${path}, and its rows are deleted in batches after the response`, async () => {
        const counter = new RowCounter()
        const { service, actor } = await listOf(numbers(6000), { wrapStore: counter.wrap })
        counter.reset()
        assert.equal((await actor.request('DELETE', path)).status, 204)
        assert.deepEqual(
          [
            (await actor.request('GET', '/properties/notes')).status,
            (await actor.request('GET', '/properties')).status,
          ],
          after,
        )
        const { store } = await service.app.running()
        const left = async (): Promise<number> =>
          (await store.read((q) => q.all('SELECT item FROM list_item WHERE actor_id = $1 LIMIT 1', actor.id))).length
        await until(async () => (await left()) === 0)
        assert.ok(counter.maxOfStatement <= 500, `a statement deleted ${counter.maxOfStatement} rows`)
      })
    }

    it('stops with an error when it is deleted during the read', async () => {
      const { list } = await listOf(numbers(3000))
      await assert.rejects(
        async () => {
          for await (const _ of list.pages(1000)) await list.remove()
        },
        { code: 'not_found' },
      )
    })

    it('can be emptied by its reader', async () => {
      const { list } = await listOf(numbers(2500))
      const sizes: number[] = []
      for await (const page of list.pages(1000)) {
        sizes.push(page.length)
        for (const _ of numbers(page.length)) await list.delete(0)
      }
      assert.deepEqual([sizes, await list.length()], [[1000, 1000, 500], 0])
    })

    it('is complete with items that are too large for one page', async () => {
      const large = 'x'.repeat(300_000)
      const { actor, list } = await listOf([...numbers(20), ...numbers(20).map(() => large), 'end'])
      const values = [...numbers(20), ...numbers(20).map(() => large), 'end']
      assert.deepEqual(await list.items(), values)
      const answer = await actor.request('GET', '/properties/notes')
      assert.equal(answer.headers.get('content-length'), null)
      assert.deepEqual(await answer.json(), values)
    })

    it('passes each page to the hook of the list, and omits an item that its hook hides', async () => {
      const calls: string[] = []
      const hook = ({ path, value }: PropertyAccess): Json => {
        const at = path.join('/')
        if (at === 'notes') calls.push(Array.isArray(value) ? `${value.length} items` : JSON.stringify(value))
        return at === 'notes/1500' ? null : value
      }
      const { actor, list } = await listOf(numbers(3000), { declare: (app) => app.property('notes', hook) })
      calls.length = 0
      const shown = (await (await actor.request('GET', '/properties/notes')).json()) as number[]
      assert.deepEqual(
        shown,
        numbers(3000).filter((n) => n !== 1500),
      )
      assert.deepEqual(calls, [...Array.from({ length: 11 }, () => '256 items'), '184 items'])
      calls.length = 0
      assert.equal(await list.length(), 3000)
      assert.deepEqual(calls, ['{"_list":true,"count":3000,"description":"","explanation":""}'])
    })
  })
})
