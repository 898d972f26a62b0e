import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { ServiceError } from '../../src/errors.ts'
import { type JsonText, known, normalize } from '../../src/json/json.ts'
import {
  type CallbackVerdict,
  checkTimeAfterChange,
  fetchAgainMs,
  judgeCallback,
  parseCallback,
  type ReceiverState,
} from '../../src/replica/processor.ts'
import { changesOf, type ReplicaListOperation } from '../../src/replica/copy/replica-change.ts'
import { placesOf, placesWithout, type Run } from '../../src/replica/copy/replica-layout.ts'
import { ReplicaList } from '../../src/replica/copy/replica-list.ts'
import { coveredValue, mergeBelow, mergePart, uncoveredValue } from '../../src/replica/copy/replica-value.ts'

const policy = { gapTimeoutMs: 5000, maxPending: 3 }
const now = 100_000

function stateOf(sequence: number, pending: readonly number[] = [], rest: Partial<ReceiverState> = {}): ReceiverState {
  return {
    sequence,
    pending,
    gapDueAt: pending.length === 0 ? null : now + 1000,
    awaitsResync: false,
    publishedAt: null,
    ...rest,
  }
}

/** The items of a written list whose first places were `before`. */
function keptBy<I>(list: ReplicaList, before: readonly I[]): (I | null | undefined)[] {
  const { runs, writes } = list.layout()
  const stored = new Map<number, I | null>(before.entries())
  for (const { place, source } of writes) {
    stored.set(place, typeof source === 'number' ? (before[source] ?? null) : (JSON.parse(source.item) as I))
  }
  return runs.flatMap(placesOf).map((place) => stored.get(place))
}

const none = (): undefined => undefined

/** A list in its stored form. */
class Copy {
  runs: readonly Run[]
  places: Map<number, number>

  constructor(items: readonly number[]) {
    this.runs = items.length === 0 ? [] : [[0, items.length]]
    this.places = new Map(items.entries())
  }

  get items(): (number | undefined)[] {
    return this.runs.flatMap(placesOf).map((place) => this.places.get(place))
  }

  /** Applies a change and returns the number of written items. */
  change(work: (list: ReplicaList) => void): number {
    const list = new ReplicaList(this.runs)
    work(list)
    const { runs, writes } = list.layout()
    const after = new Map(this.places)
    for (const place of placesWithout(this.runs, runs)) after.delete(place)
    for (const { place, source } of writes) {
      after.set(place, typeof source === 'number' ? (this.places.get(source) ?? Number.NaN) : Number(source.item))
    }
    this.runs = runs
    this.places = after
    return writes.length
  }
}

describe('a callback of a peer', () => {
  const cases: readonly [
    what: string,
    state: ReceiverState,
    callback: { type: 'diff' | 'resync' | 'permission'; sequence: number },
    verdict: CallbackVerdict,
  ][] = [
    [
      'with the next sequence number is applied',
      stateOf(4),
      { type: 'diff', sequence: 5 },
      { kind: 'apply', upTo: 5, gapDueAt: null },
    ],
    [
      'that closes a gap is applied with the pending callbacks after it',
      stateOf(4, [6, 7]),
      { type: 'diff', sequence: 5 },
      { kind: 'apply', upTo: 7, gapDueAt: null },
    ],
    [
      'that closes one of two gaps starts a new wait for the other',
      stateOf(4, [6, 9]),
      { type: 'diff', sequence: 5 },
      { kind: 'apply', upTo: 6, gapDueAt: 105_000 },
    ],
    ['with the last sequence number is ignored', stateOf(4), { type: 'diff', sequence: 4 }, { kind: 'ignore' }],
    ['with an old sequence number is ignored', stateOf(4), { type: 'diff', sequence: 1 }, { kind: 'ignore' }],
    ['without a sequence number is ignored', stateOf(4), { type: 'diff', sequence: 0 }, { kind: 'ignore' }],
    ['that is already pending is ignored', stateOf(4, [6, 7, 8]), { type: 'diff', sequence: 7 }, { kind: 'ignore' }],
    ['after a gap is held', stateOf(4), { type: 'diff', sequence: 6 }, { kind: 'hold', gapDueAt: 105_000 }],
    [
      'after a known gap does not extend the wait',
      stateOf(4, [6]),
      { type: 'diff', sequence: 7 },
      { kind: 'hold', gapDueAt: 101_000 },
    ],
    [
      'after a gap is refused with a full queue, until the wait for the gap ends',
      stateOf(4, [6, 7, 8], { gapDueAt: now + 3400 }),
      { type: 'diff', sequence: 9 },
      { kind: 'refuse', retryAfterSeconds: 4 },
    ],
    [
      'after an overdue gap is refused with a full queue, for one second',
      stateOf(4, [6, 7, 8], { gapDueAt: now - 1 }),
      { type: 'diff', sequence: 9 },
      { kind: 'refuse', retryAfterSeconds: 1 },
    ],
    [
      'with the next sequence number is applied even with a full queue',
      stateOf(4, [6, 7, 8]),
      { type: 'diff', sequence: 5 },
      { kind: 'apply', upTo: 8, gapDueAt: null },
    ],
    [
      'with the next sequence number is held while the snapshot is fetched',
      stateOf(0, [], { awaitsResync: true, gapDueAt: now + 60_000 }),
      { type: 'diff', sequence: 1 },
      { kind: 'hold', gapDueAt: 160_000 },
    ],
    [
      'that is a resync replaces everything up to its sequence number',
      stateOf(4, [6, 7]),
      { type: 'resync', sequence: 6 },
      { kind: 'replace', dropUpTo: 6, upTo: 7, gapDueAt: null },
    ],
    [
      'that is a resync keeps the later pending callbacks',
      stateOf(4, [9]),
      { type: 'resync', sequence: 6 },
      { kind: 'replace', dropUpTo: 6, upTo: 6, gapDueAt: 105_000 },
    ],
    [
      'that is a resync with a lower sequence number starts over and drops all pending callbacks',
      stateOf(40, [42]),
      { type: 'resync', sequence: 2 },
      { kind: 'replace', dropUpTo: 9_007_199_254_740_991, upTo: 2, gapDueAt: null },
    ],
    [
      'that is a resync is applied even with a full queue',
      stateOf(4, [6, 7, 8]),
      { type: 'resync', sequence: 20 },
      { kind: 'replace', dropUpTo: 20, upTo: 20, gapDueAt: null },
    ],
    [
      'about permissions passes without a sequence number',
      stateOf(4, [6, 7, 8]),
      { type: 'permission', sequence: 0 },
      { kind: 'pass' },
    ],
  ]
  for (const [what, state, callback, verdict] of cases) {
    it(`${what} (SUB-04, R-SUB-09)`, () => {
      assert.deepEqual(judgeCallback(state, callback, now, policy), verdict)
    })
  }

  it('is applied once and in order, whatever the order of arrival (SUB-04)', () => {
    fc.assert(
      fc.property(
        fc.shuffledSubarray([1, 2, 3, 4, 5, 6, 7, 8, 9, 10], { minLength: 10, maxLength: 10 }),
        fc.array(fc.integer({ min: 1, max: 10 }), { maxLength: 10 }),
        (order, repeated) => {
          let state = stateOf(0)
          const applied: number[] = []
          const refused: number[] = []
          for (const sequence of [...order, ...repeated, ...order, ...order]) {
            const verdict = judgeCallback(state, { type: 'diff', sequence }, now, policy)
            if (verdict.kind === 'hold') {
              const pending = [...state.pending, sequence].sort((a, b) => a - b)
              assert.ok(pending.length <= 3)
              state = { ...state, pending, gapDueAt: verdict.gapDueAt }
            }
            if (verdict.kind === 'apply') {
              for (let next = state.sequence + 1; next <= verdict.upTo; next++) applied.push(next)
              const pending = state.pending.filter((waiting) => waiting > verdict.upTo)
              state = { ...state, sequence: verdict.upTo, pending, gapDueAt: verdict.gapDueAt }
            }
            if (verdict.kind === 'refuse') refused.push(sequence)
          }
          assert.deepEqual(
            applied,
            Array.from({ length: applied.length }, (_, index) => index + 1),
          )
          // A sender repeats a refused callback, so the rest may be missing here.
          assert.ok(applied.length === 10 || refused.length > 0)
        },
      ),
    )
  })

  it('that is missing is fetched, with longer waits after each failure (SUB-04)', () => {
    assert.deepEqual([1, 2, 3, 30].map(fetchAgainMs), [10_000, 20_000, 40_000, 3_600_000])
  })
})

describe('the check of a copy after a change', () => {
  const hour = 3_600_000
  for (const [what, checkAt, checkedAt, expected] of [
    ['10 minutes after the first change', null, null, hour / 6],
    ['a day after the last one', null, -hour, 23 * hour],
    ['10 minutes after a change when the last one is long ago', null, -48 * hour, hour / 6],
    ['at the time that is planned already', 5, null, 5],
    ['a day later when a change arrives while one runs', -now, null, 24 * hour],
  ] as const) {
    it(`is due ${what} (SUB-29)`, () => {
      const planned = {
        checkAt: checkAt === null ? null : now + checkAt,
        checkedAt: checkedAt === null ? null : now + checkedAt,
        createdAt: 7000,
      }
      assert.equal(checkTimeAfterChange(planned, now), now + expected)
    })
  }
})

describe('the body of a callback', () => {
  const parse = (body: unknown) => parseCallback(normalize(JSON.stringify(body)), 64)

  for (const [timestamp, publishedAt] of [
    ['2031-02-03 04:05:06.000007', Date.UTC(2031, 1, 3, 4, 5, 6, 0)],
    ['2031-02-03T04:05:06.120007Z', Date.UTC(2031, 1, 3, 4, 5, 6, 120)],
    ['2031-02-03T04:05:06', Date.UTC(2031, 1, 3, 4, 5, 6)],
    ['2031-02-03T04:05:06+02:00', Date.UTC(2031, 1, 3, 2, 5, 6)],
    ['yesterday', null],
    ['2031-13-03T04:05:06Z', null],
    [7, null],
    [null, null],
  ] as const) {
    it(`has the time ${JSON.stringify(timestamp)} of its change, in UTC without a zone (SUB-28)`, () => {
      assert.equal(parse({ sequence: 1, data: {}, timestamp }).publishedAt, publishedAt)
    })
  }

  it('is read with its sequence number, data and type', () => {
    assert.deepEqual(parse({ sequence: 4, data: { mood: 'sunny' }, granularity: 'high', replaces: true }), {
      type: 'diff',
      sequence: 4,
      data: '{"mood":"sunny"}',
      replaces: true,
      url: null,
      granularity: 'high',
      publishedAt: null,
    })
    assert.deepEqual(parse({ sequence: '4', url: 'https://b.example/1', subtarget: null }), {
      type: 'diff',
      sequence: 4,
      data: null,
      replaces: false,
      url: 'https://b.example/1',
      granularity: '',
      publishedAt: null,
    })
    assert.equal(parse({ type: 'resync', sequence: 4, data: {}, url: 'https://b.example/1' }).data, null)
  })

  const refusals: readonly [what: string, body: unknown][] = [
    ['an array in place of an object', [1]],
    ['a fraction as sequence number', { sequence: 1.5 }],
    ['a negative sequence number', { sequence: -1 }],
    ['a sequence number beyond the exact integers', { sequence: '90071992547409930' }],
    ['an unknown type', { sequence: 1, type: 'burst' }],
    ['a URL that is not a string', { sequence: 1, url: 7 }],
  ]
  for (const [what, body] of refusals) {
    it(`is rejected with ${what}`, () => {
      assert.throws(
        () => parse(body),
        (error) => error instanceof ServiceError && error.code === 'bad_request',
      )
    })
  }

  it('contains no half of a surrogate pair, in values and in names (PEER-10)', () => {
    const body = normalize(
      '{"sequence":1,"data":{"a":"x\\ud800y","b\\udfff":"\\ud83d\\ude00","c":"\\\\ud800"}}',
      64,
      'keep',
    )
    assert.equal(parseCallback(body, 64).data, '{"a":"x\ufffdy","b\ufffd":"😀","c":"\\\\ud800"}')
    const twice = normalize('{"sequence":1,"data":{"\\ud800":1,"\\ud801":2}}', 64, 'keep')
    assert.equal(parseCallback(twice, 64).data, '{"\ufffd":2}')
  })
})

describe('a diff', () => {
  const all = { target: 'properties', subtarget: '', resource: '' }
  const trip = { target: 'properties', subtarget: 'trip', resource: '' }
  const json = (value: unknown): JsonText => known(JSON.stringify(value))

  it('is split into one change for each name', () => {
    const data = json({ mood: 'sunny', gone: '', void: null, cfg: { theme: 'dark' } })
    assert.deepEqual(changesOf(all, data, false), [
      { name: 'mood', kind: 'set', value: '"sunny"' },
      { name: 'gone', kind: 'remove' },
      { name: 'void', kind: 'remove' },
      { name: 'cfg', kind: 'merge', below: [], value: '{"theme":"dark"}' },
    ])
    assert.deepEqual(changesOf(all, json({ cfg: { theme: 'dark' } }), true), [
      { name: 'cfg', kind: 'set', value: '{"theme":"dark"}' },
    ])
  })

  it('of a single property is applied below its name', () => {
    assert.deepEqual(changesOf(trip, json({ to: 'Oslo' }), false), [
      { name: 'trip', kind: 'merge', below: [], value: '{"to":"Oslo"}' },
    ])
    assert.deepEqual(changesOf(trip, json(''), false), [{ name: 'trip', kind: 'remove' }])
    assert.deepEqual(changesOf({ ...trip, resource: 'to' }, json('Oslo'), true), [
      { name: 'trip', kind: 'put', below: ['to'], value: '"Oslo"' },
    ])
    assert.deepEqual(changesOf({ ...trip, resource: 'to' }, json(''), true), [
      { name: 'trip', kind: 'put', below: ['to'], value: '""' },
    ])
    // An empty string means removal, as every implementation sends it.
    assert.deepEqual(changesOf({ ...trip, resource: 'to' }, json(''), false), [
      { name: 'trip', kind: 'merge', below: ['to'], value: '""' },
    ])
  })

  it('of a list is identified by its shape, wrapped and bare (SUB-11)', () => {
    const operation = { list: 'trip', operation: 'append', length: 3, index: 2, item: null }
    const change = { name: 'trip', kind: 'list', operation: { operation: 'append', length: 3, index: 2, item: 'null' } }
    assert.deepEqual(changesOf(all, json({ trip: operation }), false), [change])
    assert.deepEqual(changesOf(trip, json({ trip: operation }), false), [change])
    assert.deepEqual(changesOf(trip, json(operation), false), [change])
    assert.deepEqual(changesOf(all, json({ 'list:trip': operation }), false), [change])
    // This value only resembles a list operation.
    assert.deepEqual(changesOf(all, json({ cfg: { list: 'other', operation: 'append' } }), true), [
      { name: 'cfg', kind: 'set', value: '{"list":"other","operation":"append"}' },
    ])
  })

  it('loses only the names that no store can keep (PEER-10)', () => {
    const data = known(`{"":1,"a\\u0000b":1,"${'n'.repeat(1025)}":1,"__proto__":1,"constructor":2}`)
    assert.deepEqual(changesOf(all, data, true), [
      { name: '__proto__', kind: 'set', value: '1' },
      { name: 'constructor', kind: 'set', value: '2' },
    ])
  })
})

describe('a value of a copy', () => {
  it('is merged at any depth, loses removed parts and keeps the rest', () => {
    const stored = known('{"a":{"b":1,"c":2},"d":3}')
    assert.equal(mergePart(stored, known('{"a":{"b":"","e":{"f":""}},"g":[1]}')), '{"a":{"c":2,"e":{}},"d":3,"g":[1]}')
    assert.equal(mergePart(undefined, known('{"a":{"b":1}}')), '{"a":{"b":1}}')
    assert.equal(mergePart(known('7'), known('{"a":1}')), '{"a":1}')
    assert.equal(mergeBelow(stored, ['a'], known('{"x":1}'), true), '{"a":{"x":1},"d":3}')
    assert.equal(mergeBelow(stored, ['a'], known('""'), false), '{"d":3}')
    assert.equal(mergeBelow(stored, ['a'], null, true), '{"d":3}')
    assert.equal(mergeBelow(stored, ['a', 'b'], null, true), '{"a":{"c":2},"d":3}')
    assert.equal(mergeBelow(stored, ['x', 'y'], null, true), stored)
    assert.equal(mergeBelow(stored, ['a', 'b'], known('""'), true), '{"a":{"b":"","c":2},"d":3}')
    assert.equal(mergeBelow(undefined, ['a'], null, true), undefined)
  })

  it('is distinguished from its wrapper, even when it has the same shape', () => {
    for (const [value, stored] of [
      ['"sunny"', '{"value":"sunny"}'],
      ['{"a":1}', '{"a":1}'],
      ['{}', '{}'],
      ['{"value":1}', '{"value":{"value":1}}'],
      ['{"value":1,"unit":2}', '{"value":1,"unit":2}'],
    ]) {
      assert.equal(coveredValue(known(value ?? '')), stored)
      assert.equal(uncoveredValue(known(stored ?? '')), value)
    }
  })
})

describe('a list of a copy', () => {
  type Item = number | null
  const itemOf = fc.constantFrom<Item>(null, 0, 1, 2)
  const operationOf = fc.oneof(
    fc.record({ operation: fc.constant('append' as const), item: itemOf }),
    fc.record({ operation: fc.constant('insert' as const), at: fc.nat(), item: itemOf }),
    fc.record({ operation: fc.constant('update' as const), at: fc.nat(), item: itemOf }),
    fc.record({ operation: fc.constant('delete' as const), at: fc.nat() }),
    fc.record({ operation: fc.constant('remove' as const), at: fc.nat() }),
    fc.record({ operation: fc.constant('pop' as const) }),
    fc.record({ operation: fc.constant('extend' as const), items: fc.array(itemOf, { maxLength: 3 }) }),
    fc.record({ operation: fc.constant('clear' as const) }),
  )

  it('equals its source after any operations (SUB-11)', () => {
    fc.assert(
      fc.property(fc.array(itemOf, { maxLength: 6 }), fc.array(operationOf, { maxLength: 8 }), (first, steps) => {
        const text = (item: Item): JsonText => known(JSON.stringify(item))
        const source = [...first]
        const list = new ReplicaList(first.length === 0 ? [] : [[0, first.length]])
        const apply = (operation: ReplicaListOperation): void =>
          assert.deepEqual(
            list.apply(operation, (index) => text(first[index] ?? null)),
            { kind: 'done' },
          )
        for (const step of steps) {
          const index = 'at' in step ? step.at % (source.length + (step.operation === 'insert' ? 1 : 0) || 1) : 0
          if (step.operation === 'append') {
            source.push(step.item)
            apply({ operation: 'append', item: text(step.item) })
          } else if (step.operation === 'insert') {
            source.splice(index, 0, step.item)
            apply({ operation: 'insert', index, item: text(step.item) })
          } else if (step.operation === 'extend') {
            source.push(...step.items)
            apply({ operation: 'extend', items: step.items.map(text) })
          } else if (step.operation === 'clear') {
            source.length = 0
            apply({ operation: 'clear' })
          } else if (source.length > 0) {
            const old = source[index] ?? null
            if (step.operation === 'update') {
              source[index] = step.item
              apply({ operation: 'update', index, item: text(step.item), oldItem: text(old) })
            } else if (step.operation === 'pop') {
              source.pop()
              apply({ operation: 'pop' })
            } else {
              source.splice(index, 1)
              apply({ operation: step.operation, index, item: text(old) })
            }
          }
        }
        assert.deepEqual(keptBy(list, first), source)
        assert.equal(list.length, source.length)
      }),
    )
  })

  it('is written only where it changed (SUB-11)', () => {
    const list = new ReplicaList([[0, 1000]])
    const nothing = (): undefined => undefined
    list.apply({ operation: 'append', item: known('1') }, nothing)
    list.apply({ operation: 'update', index: 3, item: known('2') }, nothing)
    assert.deepEqual(list.layout(), {
      runs: [[0, 1001]],
      writes: [
        { place: 3, source: { item: '2' } },
        { place: 1000, source: { item: '1' } },
      ],
    })
    list.apply({ operation: 'delete', index: 998 }, nothing)
    list.apply({ operation: 'insert', index: 1, item: known('3') }, nothing)
    assert.deepEqual(list.layout(), {
      runs: [
        [0, 1],
        [1000, 1001],
        [1, 998],
        [999, 1000],
        [1001, 1002],
      ],
      writes: [
        { place: 1000, source: { item: '3' } },
        { place: 3, source: { item: '2' } },
        { place: 1001, source: { item: '1' } },
      ],
    })
  })

  it('is written in small parts by most of many changes in the middle, and completely only rarely (SUB-11)', () => {
    const source = Array.from({ length: 1000 }, (_, index) => -index)
    const copy = new Copy(source)
    const counts: number[] = []
    for (let change = 0; change < 300; change++) {
      const index = (change * 37) % 1000
      source.splice(index, 0, change)
      counts.push(copy.change((list) => list.apply({ operation: 'insert', index, item: known(String(change)) }, none)))
      assert.deepEqual(copy.items, source)
    }
    assert.ok(counts.filter((count) => count === 1).length >= 290, String(counts))
    assert.ok(
      counts.some((count) => count > 500),
      'the list is rewritten when it has too many runs',
    )
    assert.ok(copy.runs.length <= 64 + 1300 / 32)
  })

  it('has each item in one place and deletes unused places, after any operations (SUB-11)', () => {
    const step = fc.record({
      operation: fc.constantFrom('insert', 'delete', 'update', 'append', 'clear'),
      at: fc.nat(40),
    })
    fc.assert(
      fc.property(fc.array(fc.array(step, { maxLength: 4 }), { maxLength: 60 }), (batches) => {
        const copy = new Copy([])
        let source: number[] = []
        let next = 0
        for (const steps of batches) {
          copy.change((list) => {
            for (const { operation, at } of steps) {
              const index = at % (source.length + 1)
              const item = next++
              if (operation === 'clear' && at > 0) continue
              if ((operation === 'update' || operation === 'delete') && index === source.length) continue
              assert.equal(list.apply({ operation, index, item: known(String(item)) }, none).kind, 'done')
              if (operation === 'insert') source.splice(index, 0, item)
              if (operation === 'append') source.push(item)
              if (operation === 'update') source[index] = item
              if (operation === 'delete') source.splice(index, 1)
              if (operation === 'clear') source = []
            }
          })
          assert.deepEqual(copy.items, source)
          assert.equal(copy.places.size, source.length)
        }
      }),
    )
  })

  const refusals: readonly [what: string, operation: ReplicaListOperation][] = [
    ['an update beyond the end', { operation: 'update', index: 3, item: known('1') }],
    ['a deletion beyond the end', { operation: 'delete', index: 3 }],
    ['a deletion before the beginning', { operation: 'delete', index: -4 }],
    ['an insertion beyond the end', { operation: 'insert', index: 4, item: known('1') }],
    ['the removal of a missing item', { operation: 'remove', item: known('9') }],
    ['an update of one of several equal items', { operation: 'update', item: known('1'), oldItem: known('"a"') }],
    ['an update of a missing item', { operation: 'update', index: 1, item: known('1'), oldItem: known('9') }],
    ['an append without an item', { operation: 'append' }],
  ]
  for (const [what, operation] of refusals) {
    it(`detects by ${what} that it differs from its source, and stays unchanged (SUB-11)`, () => {
      const list = new ReplicaList([[0, 3]])
      assert.deepEqual(
        list.apply(operation, (index) => known(['"a"', '"b"', '"a"'][index] ?? 'null')),
        { kind: 'diverged' },
      )
      assert.deepEqual([list.length, list.layout().writes], [3, []])
    })
  }

  it('requests only the items that an operation names (SUB-11)', () => {
    const list = new ReplicaList([[0, 1000]])
    const nothing = (): undefined => undefined
    const update = { operation: 'update', index: 500, item: known('1'), oldItem: known('2') } as const
    assert.deepEqual(list.apply(update, nothing), { kind: 'needs', needs: { places: [500] } })
    assert.deepEqual(list.apply({ operation: 'remove', item: known('2') }, nothing), { kind: 'needs', needs: 'all' })
    assert.deepEqual(list.apply({ operation: 'pop', index: 7 }, nothing), { kind: 'done' })
  })
})
