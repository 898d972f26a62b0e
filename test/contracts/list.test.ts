import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import fc from 'fast-check'
import { ServiceError } from '../../src/errors.ts'
import { array, fromPlain, known, toPlain, type JsonText } from '../../src/json/json.ts'
import {
  append,
  bulk,
  clear,
  createList,
  deleteItemAt,
  deleteByHandles,
  deleteList,
  extend,
  indexFromJson,
  handleOf,
  holds,
  insert,
  ListScan,
  parseIndex,
  pop,
  readBulk,
  readItem,
  readItems,
  readManyLists,
  readMetadata,
  removeWhere,
  setMetadata,
  update,
  updateByHandles,
  updateWhere,
  type BulkResult,
  type ListAddress,
  type ListChange,
  type ScanPage,
} from '../../src/list/list.ts'
import { ShortLists } from '../../src/list/short-list.ts'
import type { Param, Queries, Store, Transaction } from '../../src/store/store.ts'
import { counting, faulty, forEachStore } from '../support/stores.ts'

const notes: ListAddress = { actorId: 'a1', list: 'notes', format: null }
const json = (value: unknown): JsonText => fromPlain(value)
const number = (value: number): JsonText => known(String(value))

/** Returns a time with this second, so that each change of a test has its own time. */
const at = (second: number): number => Date.UTC(2026, 0, 1, 0, 0, second)

async function addActor(store: Store, id = 'a1'): Promise<void> {
  await store.write((tx) =>
    tx.run(`INSERT INTO actor (id, creator, passphrase, created_at) VALUES ($1, 'someone', 'sealed', 0)`, id),
  )
}

/** Runs one change while the list's actor is locked. */
function change<T>(store: Store, work: (tx: Transaction) => Promise<T>): Promise<T> {
  return store.writeActor('a1', (tx) => work(tx))
}

/** Like `change`, but retries while the store has too many writers and asks the caller to retry later. */
async function changeInTime<T>(store: Store, work: (tx: Transaction) => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await change(store, work)
    } catch (error) {
      if (!(error instanceof ServiceError) || error.detail.retryAfterSeconds === undefined) throw error
      await setImmediate()
    }
  }
}

/** Creates a list with these items. */
async function fill(store: Store, items: readonly unknown[], list = notes): Promise<void> {
  await change(store, async (tx) => {
    await createList(tx, list, {}, at(0))
    await extend(tx, list, items.map(json), at(0))
  })
}

/** Deletes the list. Its rows are gone then, also those that a sharded database would delete later. */
async function deleteRows(store: Store): Promise<void> {
  await change(store, async (tx) => {
    await deleteList(tx, notes)
    if (!tx.isSharded) return
    for (const table of ['list_item', 'list_node', 'removed_list'])
      await tx.run(`DELETE FROM ${table} WHERE actor_id = 'a1'`)
  })
}

async function listOf(open: () => Promise<Store>, items: readonly unknown[]): Promise<Store> {
  const store = await open()
  await addActor(store)
  await fill(store, items)
  return store
}

/** Returns the items as plain values, or null when the list does not exist. */
async function contents(store: Store, list = notes): Promise<unknown[] | null> {
  const page = await store.snapshot((q) => readItems(q, list))
  return page === null ? null : page.items.map(({ item }) => toPlain(item))
}

/** Yields the pages of a scan, each with at most `most` items. */
async function* scanned(store: Pick<Store, 'snapshot'>, list = notes, most = 1024): AsyncGenerator<ScanPage> {
  const scan = new ListScan(list)
  for (;;) {
    const page = await scan.next(store, most)
    if (page === null) return
    yield page
    if (page.isLast) return
  }
}

/** Reads a list by one statement, after a statement that reads its head, as a request does. */
async function readAtOnce(
  q: Queries,
  list: ListAddress = notes,
  between?: () => Promise<unknown>,
  lists = new ShortLists(),
): Promise<unknown[] | null> {
  const head = await q.get<{ value: JsonText }>(
    'SELECT value FROM property WHERE actor_id = $1 AND name = $2',
    list.actorId,
    list.list,
  )
  await between?.()
  const content = await lists.read(q, list, head?.value ?? known(''))
  if (content === null) return null
  const items = content.items.map(toPlain)
  assert.deepEqual(toPlain(content.whole), items)
  return items
}

/** Makes a scan read inside a transaction. */
const within = (q: Queries): Pick<Store, 'snapshot'> => ({ snapshot: (work) => work(q) })

async function updateByHandle(
  tx: Transaction,
  list: ListAddress,
  handle: string,
  item: JsonText,
  nowMs: number,
): Promise<ListChange | null> {
  return (await updateByHandles(tx, list, [[handle, item]], nowMs))[0] ?? null
}

async function deleteByHandle(
  tx: Transaction,
  list: ListAddress,
  handle: string,
  nowMs: number,
): Promise<ListChange | null> {
  return (await deleteByHandles(tx, list, [handle], nowMs))[0] ?? null
}

const refusedAs = (code: string) => (error: unknown) => error instanceof ServiceError && error.code === code

const numbers = (count: number): number[] => Array.from({ length: count }, (_, index) => index)

/** Returns every stored row that belongs to a list. */
async function rows(store: Store): Promise<unknown> {
  return store.snapshot(async (q) => [
    await q.all(`SELECT * FROM property WHERE kind = 'list' ORDER BY actor_id, name`),
    await q.all('SELECT * FROM list_node ORDER BY actor_id, list, node'),
    await q.all('SELECT * FROM list_item ORDER BY actor_id, list, item'),
  ])
}

describe('a list', () => {
  forEachStore((_, open) => {
    it('begins empty, with the given description and explanation', async () => {
      const store = await open()
      await addActor(store)
      assert.equal(await contents(store), null)
      assert.equal(await store.read((q) => readMetadata(q, notes)), null)
      const texts = { description: 'What to do', explanation: 'æ"\\' }
      assert.equal(await change(store, (tx) => createList(tx, notes, texts, at(1))), true)
      assert.deepEqual(await contents(store), [])
      assert.deepEqual(await store.read((q) => readMetadata(q, notes)), {
        description: 'What to do',
        explanation: 'æ"\\',
        created_at: '2026-01-01T00:00:01.000Z',
        updated_at: '2026-01-01T00:00:01.000Z',
        version: '1.0',
        item_type: 'json',
        chunk_size: 128,
        length: 0,
      })
    })

    it('keeps its items when it is created again, and changes only the given description or explanation', async () => {
      const store = await listOf(open, ['x'])
      assert.equal(await change(store, (tx) => createList(tx, notes, { description: 'd' }, at(1))), false)
      assert.equal(await change(store, (tx) => createList(tx, notes, { explanation: 'e' }, at(2))), false)
      assert.equal(await change(store, (tx) => createList(tx, notes, {}, at(3))), false)
      const metadata = await store.read((q) => readMetadata(q, notes))
      assert.equal(metadata?.description, 'd')
      assert.equal(metadata?.explanation, 'e')
      assert.equal(metadata?.updated_at, '2026-01-01T00:00:02.000Z')
      assert.deepEqual(await contents(store), ['x'])
    })

    it('stores every JSON value exactly as it was written', async () => {
      const store = await listOf(open, [])
      const texts = [
        '1.0',
        '-0',
        '1e400',
        '9007199254740993',
        '""',
        'false',
        'null',
        '[]',
        '{}',
        '"\\u0000\\ud800"',
        '{"10":1,"9":2}',
        '"\u{1f600}\u007f"',
      ]
      for (const text of texts) await change(store, (tx) => append(tx, notes, known(text), at(1)))
      await change(store, (tx) => extend(tx, notes, texts.map(known), at(2)))
      const page = await store.snapshot((q) => readItems(q, notes))
      assert.deepEqual(
        page?.items.map(({ item }) => item),
        [...texts, ...texts],
      )
    })

    it('reports the effect of each change', async () => {
      const store = await listOf(open, [])
      const said = async (work: (tx: Transaction) => Promise<unknown>): Promise<unknown> => change(store, work)
      const [a, b, c, d] = ['"a"', '"b"', '"c"', '"d"'].map(known) as [JsonText, JsonText, JsonText, JsonText]
      assert.deepEqual(await said((tx) => append(tx, notes, a, at(1))), {
        operation: 'append',
        length: 1,
        index: 0,
        item: a,
      })
      assert.deepEqual(await said((tx) => extend(tx, notes, [b, c], at(2))), {
        operation: 'extend',
        length: 3,
        index: 1,
        items: [b, c],
      })
      assert.equal(await said((tx) => extend(tx, notes, [], at(2))), null)
      assert.deepEqual(await said((tx) => insert(tx, notes, 0, d, at(3))), {
        operation: 'insert',
        length: 4,
        index: 0,
        item: d,
      })
      assert.deepEqual(await said((tx) => update(tx, notes, { index: 2 }, d, at(4))), {
        operation: 'update',
        length: 4,
        index: 2,
        item: d,
        old_item: b,
      })
      assert.deepEqual(await said((tx) => update(tx, notes, { index: 4, orAppend: true }, c, at(4))), {
        operation: 'append',
        length: 5,
        index: 4,
        item: c,
      })
      assert.deepEqual(await said((tx) => update(tx, notes, { index: -1, fromEnd: true }, b, at(4))), {
        operation: 'update',
        length: 5,
        index: 4,
        item: b,
        old_item: c,
      })
      assert.deepEqual(await said((tx) => deleteItemAt(tx, notes, 1, at(5))), {
        operation: 'delete',
        length: 4,
        index: 1,
        old_item: a,
      })
      assert.deepEqual(await said((tx) => pop(tx, notes, at(6))), { operation: 'pop', length: 3, index: 3, item: b })
      assert.deepEqual(await said((tx) => pop(tx, notes, at(6), 1)), { operation: 'pop', length: 2, index: 1, item: d })
      assert.deepEqual(await said((tx) => setMetadata(tx, notes, { description: 'x' }, at(7))), {
        operation: 'metadata',
        length: 2,
        description: 'x',
      })
      assert.deepEqual(await contents(store), ['d', 'c'])
      assert.deepEqual(await said((tx) => clear(tx, notes, at(8))), { operation: 'clear', length: 0 })
      assert.equal(await said((tx) => pop(tx, notes, at(9))), null)
      assert.deepEqual(await said((tx) => deleteList(tx, notes)), { operation: 'delete_all', length: 0 })
      assert.equal(await said((tx) => deleteList(tx, notes)), null)
      assert.equal(await contents(store), null)
    })

    it('records the time of its last change', async () => {
      const store = await listOf(open, [{ k: 1 }, { k: 2 }])
      const changes: readonly ((tx: Transaction, now: number) => Promise<unknown>)[] = [
        (tx, now) => append(tx, notes, json({ k: 3 }), now),
        (tx, now) => extend(tx, notes, [json({ k: 4 }), json({ k: 5 })], now),
        (tx, now) => insert(tx, notes, 1, json({ k: 6 }), now),
        (tx, now) => update(tx, notes, { index: 0 }, json({ k: 7 }), now),
        (tx, now) => updateWhere(tx, notes, { field: 'k', value: number(7) }, json({ k: 8 }), now),
        (tx, now) => deleteItemAt(tx, notes, 0, now),
        (tx, now) => pop(tx, notes, now),
        (tx, now) => removeWhere(tx, notes, { field: 'k', value: number(6) }, now),
        (tx, now) => bulk(tx, notes, readBulk(json([{ index: 0, k: 9 }])), now),
        (tx, now) => setMetadata(tx, notes, { explanation: 'e' }, now),
        (tx, now) => clear(tx, notes, now),
      ]
      for (const [index, work] of changes.entries()) {
        await change(store, (tx) => work(tx, at(index + 1)))
        const metadata = await store.read((q) => readMetadata(q, notes))
        assert.equal(metadata?.updated_at, `2026-01-01T00:00:${String(index + 1).padStart(2, '0')}.000Z`)
        assert.equal(metadata?.created_at, '2026-01-01T00:00:00.000Z')
      }
      await change(store, (tx) => append(tx, notes, number(1), at(0)))
      const metadata = await store.read((q) => readMetadata(q, notes))
      assert.equal(
        metadata?.updated_at,
        '2026-01-01T00:00:11.000Z',
        'updated_at stays the same when the clock is set back',
      )
    })

    it('is read by position, by range, by page, and together with other lists', async () => {
      const store = await listOf(open, numbers(300))
      await fill(store, ['x', 'y'], { actorId: 'a1', list: 'other', format: null })
      assert.equal(await store.snapshot((q) => readItem(q, notes, 299)), '299')
      assert.equal(await store.snapshot((q) => readItem(q, notes, -300, { fromEnd: true })), '0')
      assert.equal(await store.snapshot((q) => readItem(q, notes, -301, { fromEnd: true })), null)
      const span = await store.snapshot((q) => readItems(q, notes, { from: 250, to: 400 }))
      assert.equal(span?.length, 300)
      assert.deepEqual(
        span.items.map(({ index, item }) => [index, item]),
        numbers(50).map((offset) => [250 + offset, String(250 + offset)]),
      )
      assert.deepEqual(await store.snapshot((q) => readItems(q, notes, { from: 300, to: 400 })), {
        length: 300,
        items: [],
      })
      const seen: JsonText[][] = []
      for await (const { rows: page } of scanned(store, notes, 128)) seen.push(page.map(({ value }) => value))
      assert.deepEqual(
        seen.map((page) => page.length),
        [128, 128, 44],
      )
      assert.deepEqual(seen.flat(), numbers(300).map(String))
      const both = await store.snapshot(async (q) => {
        const heads = await q.all<{ name: string; value: string }>(
          `SELECT name, value FROM property WHERE kind = 'list' ORDER BY name`,
        )
        return readManyLists(q, 'a1', new Map(heads.map(({ name, value }) => [name, value])), () => null)
      })
      assert.deepEqual(
        [...both].map(([name, { items, metadata }]) => [name, items.length, metadata.length]),
        [
          ['notes', 300, 300],
          ['other', 2, 2],
        ],
      )
      assert.deepEqual(both.get('other')?.items, ['"x"', '"y"'])
    })

    it('behaves like an array after any sequence of operations', async () => {
      const store = await open()
      await addActor(store)
      const kept = new ShortLists()
      let run = 0
      const index = fc.nat(999)
      const operation = fc.oneof(
        fc.record({ kind: fc.constant('extend' as const), count: fc.integer({ min: 1, max: 200 }) }),
        fc.record({
          kind: fc.constantFrom('append', 'insert', 'update', 'delete', 'pop') satisfies fc.Arbitrary<string>,
          index,
        }),
        fc.record({
          kind: fc.constant('bulk' as const),
          updates: fc.array(index, { maxLength: 5 }),
          deletes: fc.array(index, { maxLength: 80 }),
        }),
        fc.record({ kind: fc.constant('removeWhere' as const), residue: fc.nat(4) }),
      )
      await fc.assert(
        fc.asyncProperty(fc.array(operation, { maxLength: 12 }), async (operations) => {
          const list = { actorId: 'a1', list: `list ${run++}`, format: null }
          let next = 0
          let model: { n: number }[] = []
          await change(store, async (tx) => {
            await createList(tx, list, {}, at(0))
            for (const given of operations) {
              const item = { n: next++ }
              switch (given.kind) {
                case 'extend': {
                  const items = numbers(given.count).map(() => ({ n: next++ }))
                  await extend(tx, list, items.map(json), at(1))
                  model.push(...items)
                  break
                }
                case 'bulk': {
                  if (model.length === 0) break
                  const updates = given.updates.map((pick) => ({ index: pick % model.length, n: next++ }))
                  const deletes = given.deletes.map((pick) => ({ index: pick % model.length }))
                  await bulk(tx, list, readBulk(json([...deletes, ...updates])), at(1))
                  for (const { index: position, n } of updates) model[position] = { n }
                  const gone = new Set(deletes.map(({ index: position }) => position))
                  model = model.filter((_, position) => !gone.has(position))
                  break
                }
                case 'removeWhere': {
                  const doomed = model.find(({ n }) => n % 5 === given.residue)
                  if (doomed === undefined) break
                  assert.equal((await removeWhere(tx, list, { field: 'n', value: number(doomed.n) }, at(1))).length, 1)
                  model = model.filter((other) => other !== doomed)
                  break
                }
                default: {
                  const position = model.length === 0 ? 0 : given.index % model.length
                  if (given.kind === 'append') {
                    await append(tx, list, json(item), at(1))
                    model.push(item)
                  } else if (given.kind === 'insert') {
                    await insert(tx, list, position, json(item), at(1))
                    model.splice(position, 0, item)
                  } else if (model.length === 0) {
                    break
                  } else if (given.kind === 'update') {
                    await update(tx, list, { index: position }, json(item), at(1))
                    model[position] = item
                  } else if (given.kind === 'delete') {
                    await deleteItemAt(tx, list, position, at(1))
                    model.splice(position, 1)
                  } else {
                    const popped = await pop(tx, list, at(1), position)
                    assert.deepEqual(popped === null ? null : toPlain(popped.item), model.splice(position, 1)[0])
                  }
                }
              }
            }
          })
          assert.deepEqual(await contents(store, list), model)
          const expected = model.length > 1024 ? null : model
          assert.deepEqual(await store.read((q) => readAtOnce(q, list)), expected)
          assert.deepEqual(await store.read((q) => readAtOnce(q, list, undefined, kept)), expected)
        }),
        { numRuns: 25 },
      )
    })

    it('is read by one statement if it is short, also when it changes after its head was read', async () => {
      const store = await listOf(open, ['line\nbreak', 'ä€😀', null, 0, '', {}])
      const added = (item: string) => () => change(store, (tx) => insert(tx, notes, 0, json(item), at(1)))
      assert.deepEqual(await store.read((q) => readAtOnce(q)), ['line\nbreak', 'ä€😀', null, 0, '', {}])
      assert.deepEqual(await store.read((q) => readAtOnce(q, notes, added('first'))), [
        'first',
        'line\nbreak',
        'ä€😀',
        null,
        0,
        '',
        {},
      ])
    })

    it('is not read by one statement if it is long, large, or was created again after its head was read', async () => {
      const store = await listOf(open, numbers(1024))
      assert.deepEqual(await store.read((q) => readAtOnce(q)), numbers(1024))
      await change(store, (tx) => append(tx, notes, number(1024), at(1)))
      assert.equal(await store.read((q) => readAtOnce(q)), null)
      const large = { actorId: 'a1', list: 'large', format: null }
      await fill(store, ['x'.repeat(600_000)], large)
      assert.equal(String(await store.read((q) => readAtOnce(q, large))).length, 600_000)
      await change(store, (tx) => append(tx, large, json('x'.repeat(600_000)), at(1)))
      assert.equal(await store.read((q) => readAtOnce(q, large)), null)
      const other = { actorId: 'a1', list: 'other', format: null }
      await fill(store, ['old'], other)
      const again = async (): Promise<void> => {
        await change(store, (tx) => deleteList(tx, other))
        await fill(store, ['new'], other)
      }
      assert.equal(await store.read((q) => readAtOnce(q, other, again)), null)
    })

    it('is read from memory while its head is unchanged, and from the database after each change', async () => {
      const counter = counting()
      const store = await listOf(() => open({ onQuery: counter.onQuery }), ['a', 'b', 'c'])
      const kept = new ShortLists()
      const read = async (list: ListAddress = notes): Promise<[items: unknown[] | null, statements: number]> => {
        counter.reset()
        const items = await store.read((q) => readAtOnce(q, list, undefined, kept))
        return [items, counter.statements.length]
      }
      const changes: readonly (readonly [work: (tx: Transaction) => Promise<unknown>, items: readonly unknown[]])[] = [
        [(tx) => append(tx, notes, json('d'), at(0)), ['a', 'b', 'c', 'd']],
        [(tx) => update(tx, notes, { index: 0 }, json('e'), at(0)), ['e', 'b', 'c', 'd']],
        [(tx) => update(tx, notes, { index: 0 }, json('f'), at(0)), ['f', 'b', 'c', 'd']],
        [(tx) => deleteItemAt(tx, notes, 1, at(0)), ['f', 'c', 'd']],
        [(tx) => insert(tx, notes, 0, json('b'), at(0)), ['b', 'f', 'c', 'd']],
        [(tx) => setMetadata(tx, notes, { description: 'Letters' }, at(0)), ['b', 'f', 'c', 'd']],
        [(tx) => clear(tx, notes, at(0)), []],
        [(tx) => extend(tx, notes, ['b', 'f', 'c', 'd'].map(json), at(0)), ['b', 'f', 'c', 'd']],
      ]
      assert.deepEqual(await read(), [['a', 'b', 'c'], 2])
      for (const [work, items] of changes) {
        await change(store, work)
        assert.deepEqual(await read(), [items, 2])
        assert.deepEqual(await read(), [items, 1])
      }
      await change(store, (tx) => deleteList(tx, notes))
      await fill(store, ['g'])
      assert.deepEqual(await read(), [['g'], 2])
      const upgraded = { version: 2, upgrade: (text: string) => json(`${text}2`), requireReadable: () => undefined }
      assert.deepEqual(await read({ ...notes, format: upgraded }), [null, 2])
    })

    it('is read from the database again when the change that it saw before was rolled back', async () => {
      const store = await listOf(open, ['a'])
      const kept = new ShortLists()
      const rolledBack = change(store, async (tx) => {
        await append(tx, notes, json('b'), at(1))
        throw new Error('rolled back')
      })
      await assert.rejects(rolledBack, /rolled back/)
      assert.deepEqual(await store.read((q) => readAtOnce(q, notes, undefined, kept)), ['a'])
      await change(store, (tx) => append(tx, notes, json('c'), at(1)))
      assert.deepEqual(await store.read((q) => readAtOnce(q, notes, undefined, kept)), ['a', 'c'])
    })

    it('leaves the memory when others were read later, and never enters it if it needs an eighth', async () => {
      const counter = counting()
      const store = await open({ onQuery: counter.onQuery })
      await addActor(store)
      const lists = Array.from({ length: 12 }, (_, n) => ({ ...notes, list: `list${n}` }))
      for (const list of lists) await fill(store, ['x'.repeat(500)], list)
      const large = { ...notes, list: 'large' }
      await fill(store, ['x'.repeat(1250)], large)
      const kept = new ShortLists(8000)
      const statementsFor = async (list: ListAddress): Promise<number> => {
        counter.reset()
        await store.read((q) => readAtOnce(q, list, undefined, kept))
        return counter.statements.length
      }
      const [first, second] = lists
      assert.ok(first !== undefined && second !== undefined)
      const counts = []
      for (const list of lists) counts.push(await statementsFor(list), await statementsFor(first))
      // The first read of each list, and each repeated read of the first list.
      assert.deepEqual(counts, [2, 1, ...Array.from({ length: 11 }, () => [2, 1]).flat()])
      assert.equal(await statementsFor(second), 2)
      assert.deepEqual([await statementsFor(large), await statementsFor(large)], [2, 2])
    })
  })
})

describe('the name of a list', () => {
  forEachStore((_, open) => {
    it('is rejected when it is empty, begins with an underscore or contains a number sign', async () => {
      const store = await open()
      await addActor(store)
      for (const list of ['', '_notes', 'notes#1', '#']) {
        await assert.rejects(
          change(store, (tx) => createList(tx, { actorId: 'a1', list, format: null }, {}, at(0))),
          refusedAs('invalid_name'),
        )
      }
    })

    it('is rejected when a property has it, and the property is unchanged (LST-11)', async () => {
      const store = await open()
      await addActor(store)
      await change(store, (tx) =>
        tx.run(`INSERT INTO property (actor_id, name, kind, value) VALUES ('a1', 'notes', 'value', '"mine"')`),
      )
      await assert.rejects(
        change(store, (tx) => createList(tx, notes, {}, at(0))),
        refusedAs('conflict'),
      )
      await assert.rejects(
        change(store, (tx) => append(tx, notes, number(1), at(0))),
        refusedAs('not_found'),
      )
      assert.equal(await contents(store), null)
      assert.equal(await change(store, (tx) => deleteList(tx, notes)), null)
      const row = await store.read((q) => q.get<{ value: string }>('SELECT value FROM property'))
      assert.equal(row?.value, '"mine"')
    })

    it('is given to only one of a list and a property that are created at once (LST-11)', async () => {
      const store = await open()
      await addActor(store)
      const property = (tx: Transaction): Promise<number> =>
        tx.run(
          `INSERT INTO property (actor_id, name, kind, value) VALUES ('a1', 'notes', 'value', '1') ON CONFLICT DO NOTHING`,
        )
      for (let round = 0; round < 10; round++) {
        const works = [
          () => change(store, (tx) => createList(tx, notes, {}, at(0))).catch(() => false),
          () => change(store, property).then((count) => count === 1),
        ]
        const won = await Promise.all((round % 2 === 0 ? works : works.toReversed()).map((work) => work()))
        assert.equal(won.filter(Boolean).length, 1)
        await change(store, (tx) => tx.run('DELETE FROM property'))
      }
    })

    it('selects no row of a list with a similar name (LST-11)', async () => {
      const store = await open()
      await addActor(store)
      await addActor(store, 'a2')
      const names = [
        'foo',
        'foo-5',
        'foo-',
        'fo',
        'FOO',
        'foo ',
        'foo%',
        'f_o',
        "foo'; --",
        'foo;1',
        'foo\\',
        'foo.0',
        'foo,1',
        '1',
        'constructor',
        '__proto__'.slice(2),
      ]
      const lists = [
        ...names.map((list) => ({ actorId: 'a1', list, format: null })),
        { actorId: 'a2', list: 'foo', format: null },
      ]
      for (const [index, list] of lists.entries()) {
        await store.writeActor(list.actorId, async (tx) => {
          await createList(tx, list, {}, at(0))
          await extend(
            tx,
            list,
            numbers(200).map((item) => number(index * 1000 + item)),
            at(0),
          )
        })
      }
      for (const [index, list] of lists.entries()) {
        assert.deepEqual(
          await contents(store, list),
          numbers(200).map((item) => index * 1000 + item),
          list.list,
        )
      }
      await change(store, (tx) => deleteList(tx, { actorId: 'a1', list: 'foo', format: null }))
      await change(store, (tx) => clear(tx, { actorId: 'a1', list: 'foo-5', format: null }, at(1)))
      assert.equal(await contents(store, { actorId: 'a1', list: 'foo', format: null }), null)
      assert.deepEqual(await contents(store, { actorId: 'a1', list: 'foo-5', format: null }), [])
      for (const [index, list] of lists.entries()) {
        if (index < 2) continue
        assert.deepEqual(
          await contents(store, list),
          numbers(200).map((item) => index * 1000 + item),
          list.list,
        )
      }
    })
  })
})

describe('an insertion', () => {
  forEachStore((_, open) => {
    it('at any position of a list of 0 to 20 items keeps all other items in order (LST-04)', async () => {
      const store = await open()
      await addActor(store)
      for (let length = 0; length <= 20; length++) {
        for (let position = 0; position <= length; position++) {
          const list = { actorId: 'a1', list: `${length} at ${position}`, format: null }
          await fill(store, numbers(length), list)
          await change(store, (tx) => insert(tx, list, position, known('"new"'), at(1)))
          const expected: unknown[] = numbers(length)
          expected.splice(position, 0, 'new')
          assert.deepEqual(await contents(store, list), expected)
        }
      }
    })
  })
})

describe('an index', () => {
  it('is parsed from digits only (LST-09)', () => {
    for (const text of ['', '-1', '+1', '1.5', '1e3', ' 1', '0x1', '१', 'abc', '1 '])
      assert.equal(parseIndex(text), null)
    assert.equal(parseIndex('0'), 0)
    assert.equal(parseIndex('007'), 7)
    assert.equal(parseIndex('2147483648'), 2_147_483_648)
    assert.equal(parseIndex('99999999999999999999999'), 9_007_199_254_740_991)
  })

  it('is parsed from a JSON integer or a string of digits (LST-09)', () => {
    const good: readonly (readonly [string, number])[] = [
      ['1', 1],
      ['"1"', 1],
      ['1.0', 1],
      ['-0', 0],
      ['1e3', 1000],
      ['1e30', 9_007_199_254_740_991],
    ]
    for (const [text, index] of good) assert.ok(Object.is(indexFromJson(known(text)), index), text)
    for (const text of ['-1', '1.5', '"-1"', '"1.0"', '""', '"a"', 'true', 'null', '[]', '[1]', '{}', '1e400']) {
      assert.throws(() => indexFromJson(known(text)), refusedAs('invalid_index'), text)
    }
  })

  forEachStore((_, open) => {
    it('beyond the end changes nothing and never pads, and an update at the length appends only when requested (LST-09)', async () => {
      const store = await listOf(open, ['a', 'b'])
      const before = await rows(store)
      for (const index of [2, 3, 2 ** 31, 1e9, Number.MAX_SAFE_INTEGER, 1e300]) {
        assert.equal(await store.snapshot((q) => readItem(q, notes, index)), null)
        assert.equal(await change(store, (tx) => update(tx, notes, { index }, number(1), at(1))), null)
        assert.equal(await change(store, (tx) => deleteItemAt(tx, notes, index, at(1))), null)
        assert.equal(await change(store, (tx) => pop(tx, notes, at(1), index)), null)
        if (index === 2) continue
        assert.equal(await change(store, (tx) => insert(tx, notes, index, number(1), at(1))), null)
        assert.equal(await change(store, (tx) => update(tx, notes, { index, orAppend: true }, number(1), at(1))), null)
      }
      for (const index of [-3, -1000, -1e300]) {
        assert.equal(await store.snapshot((q) => readItem(q, notes, index, { fromEnd: true })), null)
        assert.equal(await change(store, (tx) => pop(tx, notes, at(1), index)), null)
      }
      assert.deepEqual(await rows(store), before)
      await change(store, (tx) => update(tx, notes, { index: 2, orAppend: true }, known('"c"'), at(1)))
      assert.deepEqual(await contents(store), ['a', 'b', 'c'])
    })

    it('is rejected when it is negative, fractional or not a number (LST-09)', async () => {
      const store = await listOf(open, ['a', 'b'])
      const before = await rows(store)
      for (const index of [-1, -2, 0.5, 1.5, Number.NaN, Infinity, -Infinity]) {
        const works: readonly ((tx: Transaction) => Promise<unknown>)[] = [
          (tx) => readItem(tx, notes, index),
          (tx) => update(tx, notes, { index }, number(1), at(1)),
          (tx) => update(tx, notes, { index, orAppend: true }, number(1), at(1)),
          (tx) => insert(tx, notes, index, number(1), at(1)),
          (tx) => deleteItemAt(tx, notes, index, at(1)),
        ]
        for (const work of works) await assert.rejects(change(store, work), refusedAs('invalid_index'))
      }
      assert.deepEqual(await rows(store), before)
    })
  })
})

describe('a batch', () => {
  const cases: readonly (readonly [
    what: string,
    items: unknown,
    left: readonly unknown[],
    counts: string,
    contradictions?: readonly number[],
  ])[] = [
    ['a deletion and an update', [{ index: 0 }, { index: 2, n: 'U' }], ['b', 'U', 'd'], '1/1'],
    [
      'two updates of one index: the later one wins',
      [
        { index: 1, n: 'U' },
        { index: 1, n: 'V' },
      ],
      ['a', 'V', 'c', 'd'],
      '2/0',
    ],
    [
      'two updates at the length: one item, the later one wins',
      [
        { index: 4, n: 'U' },
        { index: 4, n: 'V' },
      ],
      ['a', 'b', 'c', 'd', 'V'],
      '2/0',
    ],
    ['an append and its deletion', [{ index: 4, n: 'U' }, { index: 4 }], ['a', 'b', 'c', 'd'], '1/1', [4]],
    ['two deletions of one index', [{ index: 1 }, { index: 1 }], ['a', 'c', 'd'], '0/1'],
    [
      'an update and a deletion of one index: it is deleted',
      [{ index: 1, n: 'U' }, { index: 1 }],
      ['a', 'c', 'd'],
      '1/1',
      [1],
    ],
    [
      'a deletion before an update of one index: it is deleted',
      [{ index: 1 }, { index: 1, n: 'U' }],
      ['a', 'c', 'd'],
      '1/1',
      [1],
    ],
    ['deletions in any order', [{ index: 0 }, { index: 3 }, { index: 1 }], ['c'], '0/3'],
    ['all of them', [{ index: 0 }, { index: 1 }, { index: 2 }, { index: 3 }], [], '0/4'],
    ['deletions beyond the end', [{ index: 4 }, { index: 1000 }, { index: 3 }], ['a', 'b', 'c'], '0/1'],
    ['only deletions beyond the end', [{ index: 4 }], ['a', 'b', 'c', 'd'], '0/0'],
    [
      'consecutive appends, and a deletion of the first item',
      [{ index: 0 }, { index: 4, n: 'U' }, { index: 5, n: 'V' }, { index: 5, n: 'W' }],
      ['b', 'c', 'd', 'U', 'W'],
      '3/1',
    ],
    [
      'a deleted append before one that stays',
      [{ index: 4, n: 'U' }, { index: 5, n: 'V' }, { index: 4 }],
      ['a', 'b', 'c', 'd', 'V'],
      '2/1',
      [4],
    ],
    ['an index written as a string', [{ index: '1', n: 'U' }, { index: '0' }], ['U', 'c', 'd'], '1/1'],
    ['nothing', [], ['a', 'b', 'c', 'd'], '0/0'],
  ]
  const refused: readonly (readonly [string, string, string])[] = [
    ['an object in place of the array', '{"0":{"index":0}}', 'invalid_value'],
    ['an entry that is a number', '[{"index":0},1]', 'invalid_value'],
    ['an entry that is an array', '[[0]]', 'invalid_value'],
    ['an entry that is null', '[null]', 'invalid_value'],
    ['an entry without an index', '[{"index":0},{"n":"U"}]', 'invalid_index'],
    ['an empty entry', '[{}]', 'invalid_index'],
    ['a negative index', '[{"index":0},{"index":-1}]', 'invalid_index'],
    ['a fractional index', '[{"index":0.5,"n":1}]', 'invalid_index'],
    ['a string index without digits', '[{"index":"one"}]', 'invalid_index'],
    ['a boolean index', '[{"index":true}]', 'invalid_index'],
    ['a null index', '[{"index":null}]', 'invalid_index'],
    [
      'an update beyond the end, after valid entries',
      '[{"index":0,"n":1},{"index":1},{"index":5,"n":1}]',
      'invalid_index',
    ],
    ['an update beyond the appended items', '[{"index":4,"n":1},{"index":6,"n":1}]', 'invalid_index'],
    ['an update far beyond the end', '[{"index":1000000000,"n":1}]', 'invalid_index'],
  ]

  const letters = ['a', 'b', 'c', 'd'].map((n) => ({ n }))
  const run = (store: Store, items: JsonText): Promise<BulkResult> =>
    change(store, async (tx) => bulk(tx, notes, readBulk(items), at(1)))

  forEachStore((_, open) => {
    it('applies updates first and deletions last, by the indices before the batch (LST-08, R-LIST-05)', async () => {
      const store = await open()
      await addActor(store)
      for (const [what, items, left, counts, contradictions = []] of cases) {
        await fill(store, letters)
        const result = await run(store, json(items))
        const stored = await contents(store)
        assert.deepEqual(
          stored,
          left.map((n) => ({ n })),
          what,
        )
        assert.equal(`${result.updated}/${result.deleted}`, counts, what)
        assert.deepEqual(result.contradictions, contradictions, what)
        // The reported changes, applied in order to the previous items, give the stored list.
        const replayed: unknown[] = [...letters]
        for (const { operation, index = -1, item, old_item, length } of result.changes) {
          if (operation === 'append') assert.equal(index, replayed.length, what)
          else assert.deepEqual(old_item === undefined ? undefined : toPlain(old_item), replayed[index], what)
          if (operation === 'delete') replayed.splice(index, 1)
          else replayed[index] = toPlain(item ?? known('null'))
          assert.equal(length, replayed.length, what)
        }
        assert.deepEqual(replayed, stored, what)
        await deleteRows(store)
      }
    })

    it('applies nothing when one entry is invalid (LST-08, R-LIST-05)', async () => {
      const store = await listOf(open, letters)
      const before = await rows(store)
      for (const [what, items, code] of refused) {
        await assert.rejects(async () => run(store, known(items)), refusedAs(code), what)
        assert.deepEqual(await rows(store), before, what)
      }
    })

    it('stores every field except the index exactly as it was written (R-LIST-05)', async () => {
      const store = await listOf(open, ['x'])
      await run(store, known('[{"b":1.0,"index":0,"10":{"index":5},"a":9007199254740993}]'))
      assert.equal(
        await store.snapshot((q) => readItem(q, notes, 0)),
        '{"b":1.0,"10":{"index":5},"a":9007199254740993}',
      )
    })

    it('fills an empty list, and empties a long one (R-LIST-05)', async () => {
      const store = await listOf(open, [])
      await run(store, json(numbers(1000).map((index) => ({ index, n: index }))))
      assert.deepEqual(
        await contents(store),
        numbers(1000).map((n) => ({ n })),
      )
      const result = await run(store, json(numbers(1000).map((index) => ({ index: (index * 7) % 1000 }))))
      assert.equal(result.deleted, 1000)
      assert.deepEqual(await contents(store), [])
      assert.deepEqual(await store.read((q) => q.all('SELECT node FROM list_node')), [])
    })

    it('is rejected when the list does not exist, unless the batch is empty (R-LIST-05)', async () => {
      const store = await open()
      await addActor(store)
      await assert.rejects(run(store, json([{ index: 0, n: 1 }])), refusedAs('invalid_value'))
      assert.deepEqual(await run(store, json([])), { updated: 0, deleted: 0, contradictions: [], changes: [] })
    })
  })
})

describe('items found by a field', () => {
  forEachStore((_, open) => {
    it('are the objects whose field equals the value', async () => {
      const items = [
        { id: 1, n: 'a' },
        'id',
        null,
        [1],
        { n: 'b' },
        { id: 1.0, n: 'c' },
        { id: '1' },
        { id: { x: [1], y: 2 } },
        { id: null },
      ]
      const store = await listOf(open, items)
      const found = async (value: string): Promise<number[]> =>
        ((await store.snapshot((q) => readItems(q, notes)))?.items ?? [])
          .filter(({ item }) => holds(item, 'id', known(value)))
          .map(({ index }) => index)
      assert.deepEqual(await found('1'), [0, 5])
      assert.deepEqual(await found('10e-1'), [0, 5])
      assert.deepEqual(await found('"1"'), [6])
      assert.deepEqual(await found('{"y":2,"x":[1.0]}'), [7])
      assert.deepEqual(await found('null'), [8])
      assert.deepEqual(await found('2'), [])
      assert.equal(holds(known('{"n":"c"}'), 'constructor', known('"c"')), false)
    })

    it('are updated or removed exactly, all of them or only the first (LST-06)', async () => {
      const store = await listOf(
        open,
        numbers(400).map((n) => ({ n, odd: n % 2 === 1 })),
      )
      const first = await change(store, (tx) =>
        updateWhere(
          tx,
          notes,
          { field: 'odd', value: known('true'), firstOnly: true },
          known('{"n":1,"odd":false}'),
          at(1),
        ),
      )
      assert.deepEqual(first, [
        { operation: 'update', length: 400, index: 1, item: '{"n":1,"odd":false}', old_item: '{"n":1,"odd":true}' },
      ])
      const each = await change(store, (tx) =>
        updateWhere(
          tx,
          notes,
          { field: 'odd', value: known('true') },
          (item) => known(item.replace('true', '"yes"')),
          at(1),
        ),
      )
      assert.equal(each.length, 199)
      assert.deepEqual(each[0], {
        operation: 'update',
        length: 400,
        index: 3,
        item: '{"n":3,"odd":"yes"}',
        old_item: '{"n":3,"odd":true}',
      })
      const one = await change(store, (tx) =>
        removeWhere(tx, notes, { field: 'odd', value: known('"yes"'), firstOnly: true }, at(1)),
      )
      assert.deepEqual(one, [{ operation: 'remove', length: 399, item: '{"n":3,"odd":"yes"}' }])
      const rest = await change(store, (tx) => removeWhere(tx, notes, { field: 'odd', value: known('"yes"') }, at(1)))
      assert.deepEqual([rest.length, rest[0]?.length, rest.at(-1)?.length], [198, 398, 201])
      assert.deepEqual(
        await contents(store),
        numbers(400)
          .filter((n) => n % 2 === 0 || n === 1)
          .map((n) => ({ n, odd: false })),
      )
      assert.deepEqual(
        await change(store, (tx) => removeWhere(tx, notes, { field: 'none', value: known('1') }, at(1))),
        [],
      )
    })
  })
})

describe('a handle', () => {
  const handles = async (store: Store): Promise<string[]> => {
    const pages = await Array.fromAsync(scanned(store))
    return pages.flatMap(({ from, rows: page, listId }) =>
      page.map((row, offset) => handleOf(listId, row, from + offset)),
    )
  }
  const take = (all: readonly string[], index: number): string => all[index] ?? assert.fail('no such handle')

  forEachStore((_, open) => {
    it('updates its item at any new position, and only once', async () => {
      const store = await listOf(open, ['a', 'b', 'c'])
      const b = take(await handles(store), 1)
      await change(store, (tx) => insert(tx, notes, 0, known('"x"'), at(1)))
      assert.deepEqual(await change(store, (tx) => updateByHandle(tx, notes, b, known('"B"'), at(2))), {
        operation: 'update',
        length: 4,
        index: 2,
        item: '"B"',
        old_item: '"b"',
      })
      assert.equal(await change(store, (tx) => updateByHandle(tx, notes, b, known('"C"'), at(3))), null)
      assert.equal(await change(store, (tx) => deleteByHandle(tx, notes, b, at(3))), null)
      assert.deepEqual(await contents(store), ['x', 'a', 'B', 'c'])
    })

    it('deletes its item at any new position, near or far', async () => {
      const store = await listOf(open, numbers(1000))
      const all = await handles(store)
      assert.deepEqual(await change(store, (tx) => deleteByHandle(tx, notes, take(all, 500), at(1))), {
        operation: 'remove',
        length: 999,
        index: 500,
        item: '500',
      })
      await change(store, (tx) => extend(tx, notes, numbers(600).map(number), at(2)))
      await change(store, (tx) => removeWhere(tx, notes, { field: 'none', value: number(1) }, at(2)))
      await change(store, (tx) => bulk(tx, notes, readBulk(array(numbers(300).map((index) => json({ index })))), at(2)))
      for (const index of [999, 301, 650]) {
        assert.equal(
          (await change(store, (tx) => deleteByHandle(tx, notes, take(all, index), at(3))))?.item,
          String(index),
        )
        assert.equal(await change(store, (tx) => deleteByHandle(tx, notes, take(all, index), at(3))), null)
      }
      const gone = new Set([500, 999, 301, 650])
      assert.deepEqual(await contents(store), [
        ...numbers(1000)
          .slice(300)
          .filter((item) => !gone.has(item)),
        ...numbers(600),
      ])
    })

    it('becomes invalid when its item is changed, even to the same value, or removed (LST-06)', async () => {
      const store = await listOf(open, ['a', 'b'])
      const [a = '', b = ''] = await handles(store)
      await change(store, (tx) => update(tx, notes, { index: 0 }, known('"a"'), at(1)))
      await change(store, (tx) => deleteItemAt(tx, notes, 1, at(1)))
      await change(store, (tx) => append(tx, notes, known('"b"'), at(1)))
      const before = await rows(store)
      for (const handle of [a, b]) {
        assert.equal(await change(store, (tx) => updateByHandle(tx, notes, handle, known('"x"'), at(2))), null)
        assert.equal(await change(store, (tx) => deleteByHandle(tx, notes, handle, at(2))), null)
      }
      assert.deepEqual(await rows(store), before)
    })

    it('becomes invalid when the list is cleared, or created again under the same name', async () => {
      const store = await listOf(open, ['a'])
      const first = take(await handles(store), 0)
      await change(store, (tx) => clear(tx, notes, at(1)))
      await change(store, (tx) => append(tx, notes, known('"a"'), at(1)))
      const second = take(await handles(store), 0)
      assert.equal(await change(store, (tx) => deleteByHandle(tx, notes, first, at(2))), null)
      await change(store, (tx) => deleteList(tx, notes))
      assert.equal(await change(store, (tx) => deleteByHandle(tx, notes, second, at(2))), null)
      await fill(store, ['a'])
      assert.equal(await change(store, (tx) => deleteByHandle(tx, notes, second, at(2))), null)
      assert.deepEqual(await contents(store), ['a'])
    })

    it('is rejected when it is malformed', async () => {
      const store = await listOf(open, ['a'])
      for (const handle of ['', 'x', '1.2.3', '1.2.3.4.5', "a.1.1.0'", '../1']) {
        await assert.rejects(
          change(store, (tx) => deleteByHandle(tx, notes, handle, at(1))),
          refusedAs('invalid_value'),
        )
      }
    })
  })
})

describe('concurrent changes', () => {
  forEachStore((_, open, database) => {
    /** Opens two stores on one database, as two processes would. */
    const pair = async (items: readonly unknown[]): Promise<[Store, Store]> => {
      const { url } = await database()
      const first = await open({ url })
      await addActor(first)
      await fill(first, items)
      return [first, await open({ url })]
    }
    /** Runs both changes at once and requires that the list is the result of one order of the two. */
    const race = async (
      items: readonly unknown[],
      works: readonly [Work, Work],
      orders: readonly (readonly unknown[] | null)[],
    ): Promise<void> => {
      const stores = await pair(items)
      const before = items
      for (let round = 0; round < 12; round++) {
        await change(stores[0], async (tx) => {
          await deleteList(tx, notes)
          await createList(tx, notes, {}, at(0))
          await extend(tx, notes, before.map(json), at(0))
        })
        const [left, right] = stores
        const start = [() => change(left, works[0]), () => change(right, works[1])]
        await Promise.all((round % 2 === 0 ? start : start.toReversed()).map((begin) => begin()))
        const found = await contents(stores[0])
        assert.ok(
          orders.some((order) => JSON.stringify(order) === JSON.stringify(found)),
          JSON.stringify(found),
        )
      }
    }
    type Work = (tx: Transaction) => Promise<unknown>

    const abc = ['a', 'b', 'c']
    const races: readonly (readonly [string, Work, Work, readonly (readonly unknown[] | null)[]])[] = [
      [
        'delete and append',
        (tx) => deleteItemAt(tx, notes, 1, at(1)),
        (tx) => append(tx, notes, known('"x"'), at(1)),
        [['a', 'c', 'x']],
      ],
      [
        'delete and delete',
        (tx) => deleteItemAt(tx, notes, 0, at(1)),
        (tx) => deleteItemAt(tx, notes, 1, at(1)),
        [['c'], ['b']],
      ],
      [
        'set and pop',
        (tx) => update(tx, notes, { index: 2 }, known('"x"'), at(1)),
        (tx) => pop(tx, notes, at(1)),
        [['a', 'b']],
      ],
      [
        'insert and insert',
        (tx) => insert(tx, notes, 1, known('"x"'), at(1)),
        (tx) => insert(tx, notes, 1, known('"y"'), at(1)),
        [
          ['a', 'y', 'x', 'b', 'c'],
          ['a', 'x', 'y', 'b', 'c'],
        ],
      ],
      [
        'clear and append',
        (tx) => clear(tx, notes, at(1)),
        (tx) => append(tx, notes, known('"x"'), at(1)),
        [['x'], []],
      ],
      [
        'delete of the list and append',
        (tx) => deleteList(tx, notes),
        (tx) => append(tx, notes, known('"x"'), at(1)).catch(() => null),
        [null],
      ],
    ]
    for (const [what, left, right, orders] of races) {
      it(`have the result of one order of the two: ${what} (LST-05)`, () => race(abc, [left, right], orders))
    }

    it('return from each pop the item that it removed, while another writer updates items (LST-06)', async () => {
      const [first, second] = await pair(numbers(200))
      const written = numbers(100).map((item) =>
        changeInTime(second, (tx) => update(tx, notes, { index: 199 - item }, json(`new ${item}`), at(1))),
      )
      const popped = await Promise.all(numbers(100).map(() => changeInTime(first, (tx) => pop(tx, notes, at(1)))))
      const outcomes = await Promise.all(written)
      const indices = popped.map((taken) => taken?.index ?? -1)
      assert.deepEqual(
        indices.toSorted((a, b) => a - b),
        numbers(100).map((item) => 100 + item),
      )
      for (const taken of popped) {
        assert.ok(taken !== null)
        // The update ran before the pop, or found no item at its index.
        const overwritten = outcomes[199 - taken.index] !== null
        assert.equal(taken.item, overwritten ? JSON.stringify(`new ${199 - taken.index}`) : String(taken.index))
      }
      assert.deepEqual(await contents(first), numbers(100))
    })

    it('store each item of 1000 parallel appends once (LST-07)', async () => {
      const [first, second] = await pair([])
      const changes = await Promise.all(
        numbers(1000).map((item) =>
          changeInTime(item % 2 === 0 ? first : second, (tx) => append(tx, notes, number(item), at(1))),
        ),
      )
      const found = await contents(second)
      assert.deepEqual(
        found?.toSorted((a, b) => Number(a) - Number(b)),
        numbers(1000),
      )
      // Each append returned its own position.
      for (const [item, { index = -1, length }] of changes.entries()) {
        assert.equal(found?.[index], item)
        assert.equal(length, index + 1)
      }
    })

    it('keep the items, length and metadata of every snapshot consistent (LST-13)', async () => {
      const [first, second] = await pair([])
      const write = async (): Promise<void> => {
        for (let round = 0; round < 60; round++) {
          const items = numbers(1 + ((round * 37) % 200)).map(() => number(round))
          await change(first, (tx) => extend(tx, notes, items, at(round)))
          if (round % 5 === 4) await change(first, (tx) => clear(tx, notes, at(round)))
        }
      }
      const writing = write()
      for (let reading = 0; reading < 100; reading++) {
        await setImmediate()
        const [page, metadata] = await second.snapshot(async (q) => [
          await readItems(q, notes),
          await readMetadata(q, notes),
        ])
        assert.equal(page?.items.length, page?.length)
        assert.equal(metadata?.length, page?.length)
        // A snapshot contains all items of one change or none.
        for (const [value, group] of Map.groupBy(page?.items ?? [], ({ item }) => item)) {
          assert.equal(group.length, 1 + ((Number(value) * 37) % 200))
        }
      }
      await writing
      const last = await contents(second)
      assert.deepEqual(last, [])
    })
  })
})

/** Every operation, for a list of objects `{"n":0}`, `{"n":1}`, … with more than 3 items. */
const operations: readonly (readonly [string, (tx: Transaction, length: number) => Promise<unknown>])[] = [
  ['create', (tx) => createList(tx, notes, { description: 'again' }, at(1))],
  ['metadata', (tx) => setMetadata(tx, notes, { explanation: 'e' }, at(1))],
  ['append', (tx) => append(tx, notes, json({ n: -1 }), at(1))],
  ['extend', (tx) => extend(tx, notes, numbers(300).map(number), at(1))],
  ['insert at the front', (tx) => insert(tx, notes, 0, json({ n: -1 }), at(1))],
  ['insert in the middle', (tx, length) => insert(tx, notes, length >> 1, json({ n: -1 }), at(1))],
  ['update', (tx, length) => update(tx, notes, { index: length >> 1 }, json({ n: -1 }), at(1))],
  ['delete', (tx, length) => deleteItemAt(tx, notes, length >> 1, at(1))],
  ['pop', (tx) => pop(tx, notes, at(1))],
  ['clear', (tx) => clear(tx, notes, at(1))],
  [
    'bulk',
    (tx, length) =>
      bulk(
        tx,
        notes,
        readBulk(
          json([
            { index: 0 },
            { index: length >> 1 },
            { index: 1, n: -1 },
            { index: 2, n: -1 },
            { index: length, n: -1 },
          ]),
        ),
        at(1),
      ),
  ],
  ['updateWhere', (tx) => updateWhere(tx, notes, { field: 'n', value: number(3) }, json({ n: -1 }), at(1))],
  ['removeWhere', (tx) => removeWhere(tx, notes, { field: 'n', value: number(3) }, at(1))],
  ['delete the list', (tx) => deleteList(tx, notes)],
]

describe('the number of statements of an operation', () => {
  forEachStore((_, open) => {
    it('is the same for a list of 5000 items as for one of 10 (LST-13)', async () => {
      const counter = counting()
      const store = await open({ onQuery: counter.onQuery })
      await addActor(store)
      const count = async (length: number): Promise<Record<string, number>> => {
        const found: Record<string, number> = {}
        await fill(
          store,
          numbers(length).map((n) => ({ n })),
        )
        for (const [what, work] of operations) {
          await change(store, async (tx) => {
            counter.reset()
            await work(tx, length)
            found[what] = counter.statements.length
            throw new Error('only to count')
          }).catch((error: unknown) => assert.equal(String(error), 'Error: only to count'))
        }
        const reads: readonly (readonly [string, (tx: Transaction) => Promise<unknown>])[] = [
          ['read an item', (tx) => readItem(tx, notes, length >> 1)],
          ['read a span', (tx) => readItems(tx, notes, { from: 2, to: length - 2 })],
          ['read all', (tx) => readItems(tx, notes)],
          ['read the metadata', (tx) => readMetadata(tx, notes)],
        ]
        for (const [what, work] of reads) {
          await change(store, async (tx) => {
            counter.reset()
            await work(tx)
            found[what] = counter.statements.length
          })
        }
        await deleteRows(store)
        return found
      }
      const few = await count(10)
      // The rows of a long cleared list are deleted later, in the background.
      assert.deepEqual(await count(5000), { ...few, clear: 3 })
      assert.deepEqual(few, {
        create: 3,
        metadata: 2,
        append: 6,
        extend: 6,
        'insert at the front': 6,
        'insert in the middle': 6,
        update: 6,
        delete: 7,
        pop: 7,
        clear: 4,
        bulk: 9,
        updateWhere: 5,
        removeWhere: 6,
        'delete the list': store.isSharded ? 2 : 1,
        'read an item': 4,
        'read a span': 4,
        'read all': 3,
        'read the metadata': 1,
      })
    })
  })
})

describe('a fault of the store', () => {
  forEachStore((_, open) => {
    it('in any statement of a change fails the change and leaves the list unchanged (LST-02, LST-03)', async () => {
      const store = await listOf(
        open,
        numbers(300).map((n) => ({ n })),
      )
      const failing = faulty(store)
      const before = await rows(store)
      for (const [what, work] of operations) {
        for (let statement = 1; ; statement++) {
          failing.plan({ at: statement })
          const outcome = await change(failing, async (tx) => {
            await work(tx, 300)
            if (failing.failed === 0) throw new Error('no statement is left to fail')
          }).then(
            () => assert.fail(`${what} succeeded although statement ${statement} failed`),
            (error: unknown) => error,
          )
          assert.deepEqual(await rows(store), before, `${what}, statement ${statement}`)
          if (failing.failed === 0) {
            assert.equal(String(outcome), 'Error: no statement is left to fail')
            assert.ok(statement > 1)
            break
          }
          assert.ok(refusedAs('store_unavailable')(outcome), `${what}, statement ${statement}: ${String(outcome)}`)
        }
      }
    })

    it('in a read causes an error, never an absent or empty list (LST-02)', async () => {
      const store = await listOf(open, numbers(300))
      const failing = faulty(store)
      const reads: readonly ((q: Queries) => Promise<unknown>)[] = [
        (q) => readItems(q, notes),
        (q) => readMetadata(q, notes),
        (q) => readAtOnce(q),
        (q) => Array.fromAsync(scanned(within(q), notes, 100)),
      ]
      for (const statement of [1, 2, 3, 4]) {
        for (const read of reads) {
          failing.plan({ at: statement })
          const outcome = await failing.snapshot(read).catch((error: unknown) => error)
          if (failing.failed > 0) assert.ok(refusedAs('store_unavailable')(outcome))
        }
        failing.plan({ at: statement })
        await assert.rejects(
          failing.snapshot((q) => readItem(q, notes, 5)),
          refusedAs('store_unavailable'),
        )
      }
    })

    it('in which a write affects no row fails the change (LST-03)', async () => {
      const store = await listOf(
        open,
        numbers(300).map((n) => ({ n })),
      )
      const before = await rows(store)
      for (const [what, work] of operations) {
        if (what === 'delete the list') continue
        for (let write = 0; ; write++) {
          let writes = 0
          const outcome = await change(store, async (tx) => {
            const skipping: Transaction = {
              origin: tx.origin,
              isSharded: tx.isSharded,
              all: <R extends object>(sql: string, ...params: Param[]) => tx.all<R>(sql, ...params),
              get: <R extends object>(sql: string, ...params: Param[]) => tx.get<R>(sql, ...params),
              run: (sql, ...params) => (writes++ === write ? Promise.resolve(0) : tx.run(sql, ...params)),
            }
            await work(skipping, 300)
            if (writes <= write) throw new Error('no write is left to skip')
          }).then(
            () => null,
            (error: unknown) => error,
          )
          if (writes <= write) {
            assert.equal(String(outcome), 'Error: no write is left to skip', what)
            break
          }
          assert.ok(outcome instanceof ServiceError, `${what}, write ${write}: ${String(outcome)}`)
          assert.deepEqual(await rows(store), before, `${what}, write ${write}`)
        }
      }
    })
  })
})

describe('a damaged list', () => {
  const damages: readonly (readonly [string, string])[] = [
    ['the head is not JSON', `UPDATE property SET value = 'oops' WHERE name = 'notes'`],
    ['the head is empty', `UPDATE property SET value = '' WHERE name = 'notes'`],
    ['the head is null', `UPDATE property SET value = 'null' WHERE name = 'notes'`],
    ['the head is an empty object', `UPDATE property SET value = '{}' WHERE name = 'notes'`],
    ['the head is an array', `UPDATE property SET value = '[]' WHERE name = 'notes'`],
    [
      'the head has another version',
      `UPDATE property SET value = replace(value, '"1.0"', '"2.0"') WHERE name = 'notes'`,
    ],
    ['the head has no root', `UPDATE property SET value = replace(value, '"root"', '"rot"') WHERE name = 'notes'`],
    [
      'the root is null',
      `UPDATE property SET value = replace(value, '"root":[', '"root":null,"x":[') WHERE name = 'notes'`,
    ],
    [
      'the root counts too many items',
      `UPDATE property SET value = replace(value, ',300]', ',301]') WHERE name = 'notes'`,
    ],
    ['the root counts zero items', `UPDATE property SET value = replace(value, ',300]', ',0]') WHERE name = 'notes'`],
    [
      'the root names another node',
      `UPDATE property SET value = replace(value, '[2,300]', '[9,300]') WHERE name = 'notes'`,
    ],
    [
      'the next item is not a number',
      `UPDATE property SET value = replace(value, '"next_item":301', '"next_item":"x"') WHERE name = 'notes'`,
    ],
    [
      'the time is not a date',
      `UPDATE property SET value = replace(value, '"updated_at":"2026', '"updated_at":"soon') WHERE name = 'notes'`,
    ],
    ['a mid is missing', 'DELETE FROM list_node WHERE node = 2'],
    ['all nodes are missing', 'DELETE FROM list_node'],
    ['a leaf is missing', 'DELETE FROM list_node WHERE node = 3'],
    ['a leaf is not JSON', `UPDATE list_node SET entries = '' WHERE node = 3`],
    ['a leaf lost an item', `UPDATE list_node SET entries = replace(entries, ',200,', ',') WHERE node = 3`],
    ['a leaf names an item twice', `UPDATE list_node SET entries = replace(entries, ',201,', ',200,') WHERE node = 3`],
    ['an item is missing', 'DELETE FROM list_item WHERE item = 200'],
    ['all items are missing', 'DELETE FROM list_item'],
  ]

  forEachStore((_, open) => {
    it('is rejected by every read and never appears empty (LST-10)', async () => {
      const store = await open()
      await addActor(store)
      for (const [what, sql] of damages) {
        await fill(store, numbers(300))
        await change(store, (tx) => tx.run(sql))
        const damaged = (error: unknown): true => {
          assert.ok(error instanceof ServiceError, what)
          assert.equal(error.code, 'list_corrupted', what)
          assert.equal(error.status, 409)
          const { list, detail, remedy } = error.detail.members ?? {}
          assert.deepEqual([list, typeof detail, remedy], ['notes', 'string', 'compact'])
          return true
        }
        const reads: readonly ((tx: Transaction) => Promise<unknown>)[] = [
          (tx) => readItems(tx, notes),
          (tx) => readItems(tx, notes, { from: 190, to: 210 }),
          (tx) => Array.fromAsync(scanned(within(tx))),
          (tx) => Array.fromAsync(scanned(within(tx), notes, 100)),
          (tx) => removeWhere(tx, notes, { field: 'n', value: number(1) }, at(1)),
        ]
        for (const read of reads) await assert.rejects(change(store, read), damaged, what)
        await deleteRows(store)
      }
    })

    it('is not read by one statement (LST-10)', async () => {
      const store = await open()
      await addActor(store)
      for (const [what, sql] of [
        ...damages,
        ['an item is changed', `UPDATE list_item SET value = '1' WHERE item = 200`],
        ['an item has a line break', `UPDATE list_item SET value = '[\n]' WHERE item = 200`],
        ['an item has no checksum', 'UPDATE list_item SET checksum = NULL WHERE item = 200'],
      ] as const) {
        await fill(store, numbers(300))
        await change(store, (tx) => tx.run(sql))
        const outcome = await store.read((q) => readAtOnce(q)).catch((error: unknown) => error)
        assert.ok(outcome === null || refusedAs('list_corrupted')(outcome), what)
        await deleteRows(store)
      }
    })

    it('is left unchanged by every change that meets the damage (LST-10)', async () => {
      const store = await open()
      await addActor(store)
      const changes: readonly ((tx: Transaction) => Promise<unknown>)[] = [
        (tx) => update(tx, notes, { index: 199 }, number(1), at(1)),
        (tx) => deleteItemAt(tx, notes, 199, at(1)),
        (tx) => pop(tx, notes, at(1), 199),
        (tx) => bulk(tx, notes, readBulk(json([{ index: 199 }])), at(1)),
      ]
      for (const [what, sql] of damages) {
        if (what === 'a leaf names an item twice') continue
        await fill(store, numbers(300))
        await change(store, (tx) => tx.run(sql))
        const before = await rows(store)
        for (const work of changes) await assert.rejects(change(store, work), refusedAs('list_corrupted'), what)
        assert.deepEqual(await rows(store), before, what)
        await deleteRows(store)
      }
    })

    it('is rejected when its order is empty but items remain, or when it has extra rows (LST-10)', async () => {
      const store = await open()
      await addActor(store)
      for (const sql of [
        `UPDATE property SET value = '{"id":"ab","description":"","explanation":"","created_at":"2026-01-01T00:00:00.000Z","updated_at":"2026-01-01T00:00:00.000Z","version":"1.0","next_item":301,"next_node":9,"root":[]}' WHERE name = 'notes'`,
        `INSERT INTO list_item (actor_id, list, item, revision, value) VALUES ('a1', 'notes', 301, 1, '1')`,
        `INSERT INTO list_node (actor_id, list, node, entries) VALUES ('a1', 'notes', 99, '[1]')`,
      ]) {
        await fill(store, numbers(300))
        await change(store, (tx) => tx.run(sql))
        await assert.rejects(
          store.snapshot((q) => readItems(q, notes)),
          refusedAs('list_corrupted'),
          sql,
        )
        await assert.rejects(
          change(store, (tx) => removeWhere(tx, notes, { field: 'n', value: number(1) }, at(1))),
          refusedAs('list_corrupted'),
          sql,
        )
        await deleteRows(store)
      }
    })

    it('can be deleted', async () => {
      const store = await listOf(open, numbers(300))
      await change(store, (tx) => tx.run(`UPDATE property SET value = 'oops' WHERE name = 'notes'`))
      assert.deepEqual(await change(store, (tx) => deleteList(tx, notes)), { operation: 'delete_all', length: 0 })
      // A sharded database deletes the rows later (removed-lists.test.ts).
      if (!store.isSharded) assert.deepEqual(await rows(store), [[], [], []])
      assert.equal(await contents(store), null)
    })
  })
})
