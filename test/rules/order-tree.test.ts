import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { ServiceError } from '../../src/errors.ts'
import type { Branch, Span } from '../../src/list/order-branch.ts'
import { nodeSizes, OrderTree, type NodeSizes, type StoredNode } from '../../src/list/order-tree.ts'

const small: NodeSizes = { leafItems: 8, midLeaves: 6 }

/** Stores nodes as a store does. Each change opens a new tree and loads only the nodes that the change needs. */
class Shelf {
  root: readonly Branch[] = []
  nextNode = 1
  nextItem = 1
  readonly nodes = new Map<number, string>()
  /** The largest numbers of nodes that one change loaded and saved. */
  maxLoaded = 0
  maxSaved = 0
  readonly sizes: NodeSizes

  constructor(sizes: NodeSizes) {
    this.sizes = sizes
  }

  open(spans: readonly Span[] | 'all', shrinking = false): OrderTree {
    const tree = new OrderTree('notes', this.root, this.nextNode, this.sizes)
    const wanted = spans === 'all' ? [tree.all] : spans
    const mids = tree.midsFor(wanted, shrinking)
    tree.giveMids(this.#rows(mids))
    const leaves = tree.leavesFor(wanted, shrinking)
    tree.giveLeaves(this.#rows(leaves))
    this.maxLoaded = Math.max(this.maxLoaded, mids.length + leaves.length)
    return tree
  }

  save(tree: OrderTree): void {
    const { root, nextNode, changed, removed } = tree.unsaved()
    for (const { node, entries } of changed) this.nodes.set(node, entries)
    for (const node of removed) assert.ok(this.nodes.delete(node), `node ${node} was not there`)
    this.root = root
    this.nextNode = nextNode
    this.maxSaved = Math.max(this.maxSaved, changed.length + removed.length)
  }

  get length(): number {
    return new OrderTree('notes', this.root, this.nextNode, this.sizes).length
  }

  insert(index: number): number {
    const item = this.nextItem++
    const tree = this.open([{ from: Math.min(index, this.length - 1), to: Math.min(index, this.length - 1) + 1 }])
    tree.insert(index, item)
    this.save(tree)
    return item
  }

  removeAt(index: number): number {
    const tree = this.open([{ from: index, to: index + 1 }], true)
    const item = tree.removeAt(index)
    this.save(tree)
    return item
  }

  /** All items. Asserts that every stored node belongs to the order. */
  contents(): number[] {
    const tree = this.open('all')
    assert.equal(tree.nodeCount, this.nodes.size)
    return tree.items(tree.all)
  }

  #rows(nodes: readonly number[]): StoredNode[] {
    return nodes.flatMap((node) => {
      const entries = this.nodes.get(node)
      return entries === undefined ? [] : [{ node, entries }]
    })
  }
}

const refusesAsDamaged = (detail: RegExp) => (error: unknown) => {
  assert.ok(error instanceof ServiceError)
  assert.equal(error.code, 'list_corrupted')
  assert.equal(error.detail.members?.['list'], 'notes')
  assert.equal(error.detail.members?.['remedy'], 'compact')
  assert.match(String(error.detail.members?.['detail']), detail)
  return true
}

type Step =
  | { readonly kind: 'insert' | 'remove'; readonly at: number }
  | { readonly kind: 'append' | 'prepend' }
  | { readonly kind: 'extend'; readonly count: number }
  | { readonly kind: 'removeMany'; readonly picks: readonly number[] }
  | { readonly kind: 'removeRange'; readonly at: number; readonly count: number }

const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ kind: fc.constantFrom('insert' as const, 'remove' as const), at: fc.nat(9999) }),
  fc.record({ kind: fc.constantFrom('append' as const, 'prepend' as const) }),
  fc.record({ kind: fc.constant('extend' as const), count: fc.nat(70) }),
  fc.record({ kind: fc.constant('removeMany' as const), picks: fc.array(fc.nat(9999), { maxLength: 30 }) }),
  fc.record({ kind: fc.constant('removeRange' as const), at: fc.nat(9999), count: fc.nat(60) }),
)

function apply(shelf: Shelf, model: number[], given: Step): void {
  switch (given.kind) {
    case 'insert': {
      const index = given.at % (model.length + 1)
      model.splice(index, 0, shelf.insert(index))
      return
    }
    case 'append':
      model.push(shelf.insert(model.length))
      return
    case 'prepend':
      model.unshift(shelf.insert(0))
      return
    case 'remove': {
      if (model.length === 0) return
      const index = given.at % model.length
      assert.equal(shelf.removeAt(index), model[index])
      model.splice(index, 1)
      return
    }
    case 'extend': {
      const tree = shelf.open([{ from: model.length - 1, to: model.length }])
      for (let count = 0; count < given.count; count++) {
        const item = shelf.nextItem++
        tree.append(item)
        model.push(item)
      }
      shelf.save(tree)
      return
    }
    case 'removeMany':
    case 'removeRange': {
      if (model.length === 0) return
      const picked =
        given.kind === 'removeMany'
          ? given.picks.map((pick) => pick % model.length)
          : Array.from({ length: given.count }, (_, at) => (given.at % model.length) + at).filter(
              (at) => at < model.length,
            )
      const indices = [...new Set(picked)].toSorted((a, b) => b - a)
      const tree = shelf.open(
        indices.map((index) => ({ from: index, to: index + 1 })),
        true,
      )
      for (const index of indices) {
        assert.equal(tree.at(index), model[index])
        assert.equal(tree.removeAt(index), model[index])
        model.splice(index, 1)
      }
      shelf.save(tree)
      return
    }
    default:
      given satisfies never
  }
}

/** A small generator of repeatable pseudo-random numbers. */
function randomNumbers(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}

describe('the order of a list', () => {
  it('equals the order of an array after any insertions and removals', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60, size: 'max' }), (steps) => {
        const shelf = new Shelf(small)
        const model: number[] = []
        for (const given of steps) {
          apply(shelf, model, given)
          assert.equal(shelf.length, model.length)
        }
        assert.deepEqual(shelf.contents(), model)
      }),
      { numRuns: 300 },
    )
  })

  it('loads only the nodes over a span or a position', () => {
    const shelf = new Shelf(small)
    const model: number[] = []
    for (let count = 0; count < 500; count++) apply(shelf, model, { kind: 'insert', at: (count * 7919) % 9999 })
    for (let from = 0; from < 500; from += 17) {
      for (const length of [0, 1, 5, 40]) {
        const span = { from, to: Math.min(from + length, 500) }
        assert.deepEqual(shelf.open([span]).items(span), model.slice(span.from, span.to))
      }
      assert.equal(shelf.open([{ from, to: from + 1 }]).at(from), model[from])
    }
  })

  it('finds the position of an item among the loaded leaves', () => {
    const shelf = new Shelf(small)
    for (let count = 0; count < 100; count++) shelf.insert(0)
    assert.equal(shelf.open('all').positionOf(1), 99)
    assert.equal(shelf.open('all').positionOf(100), 0)
    assert.equal(shelf.open('all').positionOf(101), null)
    assert.equal(shelf.open([{ from: 0, to: 1 }]).positionOf(1), null)
  })
})

describe('the nodes of a long list', () => {
  const runs: readonly (readonly [
    string,
    (shelf: Shelf, operation: number, random: (below: number) => number) => void,
  ])[] = [
    ['appending', (shelf) => void shelf.insert(shelf.length)],
    ['inserting at the front', (shelf) => void shelf.insert(0)],
    ['inserting in the middle', (shelf) => void shelf.insert(shelf.length >> 1)],
    [
      'inserting after the last insertion, in the middle',
      (shelf, operation) => void shelf.insert(Math.min(shelf.length, 300 + operation)),
    ],
    ['inserting anywhere', (shelf, _, random) => void shelf.insert(random(shelf.length + 1))],
    ['a queue', (shelf) => void (shelf.length > 700 ? shelf.removeAt(0) : shelf.insert(shelf.length))],
    [
      'a queue from back to front',
      (shelf) => void (shelf.length > 700 ? shelf.removeAt(shelf.length - 1) : shelf.insert(0)),
    ],
    [
      'a stack that grows and shrinks',
      (shelf, operation) =>
        void (operation % 1500 < 900 ? shelf.insert(shelf.length) : shelf.removeAt(shelf.length - 1)),
    ],
    [
      'inserting and removing anywhere',
      (shelf, _, random) =>
        void (random(2) === 0 || shelf.length === 0
          ? shelf.insert(random(shelf.length + 1))
          : shelf.removeAt(random(shelf.length))),
    ],
    [
      'growing, then shrinking anywhere',
      (shelf, operation, random) =>
        void (operation < 5000 ? shelf.insert(random(shelf.length + 1)) : shelf.removeAt(random(shelf.length))),
    ],
    [
      'growing, then thinning out evenly',
      (shelf, operation) =>
        void (operation < 5000 ? shelf.insert(shelf.length) : shelf.removeAt(((operation - 5000) * 3) % shelf.length)),
    ],
    [
      'inserting repeatedly at two boundaries between nodes',
      (shelf, operation) =>
        void (operation < 512 ? shelf.insert(shelf.length) : shelf.insert(operation % 2 === 0 ? 128 : 256)),
    ],
  ]
  for (const [what, run] of runs) {
    it(`stay in proportion to its length: ${what}`, () => {
      const shelf = new Shelf(small)
      const random = randomNumbers(7)
      for (let operation = 0; operation < 9900; operation++) {
        run(shelf, operation, random)
        // In the worst case, leaves and mids are one quarter full on average.
        if (operation % 100 === 0)
          assert.ok(shelf.nodes.size <= 3 + shelf.length / 2, `${shelf.nodes.size} nodes for ${shelf.length} items`)
      }
      assert.ok(shelf.maxLoaded <= 6, `one change loaded ${shelf.maxLoaded} nodes`)
      assert.ok(shelf.maxSaved <= 6, `one change saved ${shelf.maxSaved} nodes`)
      shelf.contents()
    })
  }

  it('are packed when the list grows at one end', () => {
    for (const end of ['front', 'back']) {
      const shelf = new Shelf(nodeSizes)
      for (let count = 0; count < 20_000; count++) shelf.insert(end === 'front' ? 0 : count)
      // 157 leaves and 3 mids.
      assert.equal(shelf.nodes.size, 160)
    }
  })

  it('have a bounded size however long the list is', () => {
    const shelf = new Shelf(nodeSizes)
    for (let count = 0; count < 40_000; count++) shelf.insert(count)
    for (const entries of shelf.nodes.values()) assert.ok(entries.length <= 128 * 8)
    assert.equal(shelf.root.length, 5)
  })

  it('are all deleted with the last item', () => {
    const shelf = new Shelf(small)
    for (let count = 0; count < 300; count++) shelf.insert(count >> 1)
    while (shelf.length > 0) shelf.removeAt(shelf.length >> 1)
    assert.equal(shelf.nodes.size, 0)
    assert.deepEqual(shelf.root, [])
  })
})

describe('a damaged order', () => {
  /** 100 items: two mids (nodes 2 and 9), leaves of eight. */
  const filled = (): Shelf => {
    const shelf = new Shelf(small)
    for (let count = 0; count < 100; count++) shelf.insert(count)
    return shelf
  }

  it('is reported when any node is missing', () => {
    for (const node of filled().nodes.keys()) {
      const shelf = filled()
      shelf.nodes.delete(node)
      assert.throws(() => shelf.contents(), refusesAsDamaged(new RegExp(`^node ${node} is missing$`)))
    }
  })

  const wrong: readonly (readonly [string, (entries: string) => string])[] = [
    ['is cut off', (entries) => entries.slice(0, -1)],
    ['is an empty string', () => ''],
    ['is an object', () => '{}'],
    ['is null', () => 'null'],
    ['is empty', () => '[]'],
    ['contains a string', () => '["1"]'],
    ['contains null', () => '[null]'],
    ['contains a fraction', () => '[1.5]'],
    ['contains a negative number', () => '[-1]'],
    ['contains a branch without a count', () => '[1]'],
    ['contains an empty branch', () => '[3,0]'],
    ['lost its last entry', (entries) => JSON.stringify((JSON.parse(entries) as unknown[]).slice(0, -1))],
    [
      'has its first entry twice',
      (entries) => JSON.stringify([(JSON.parse(entries) as unknown[])[0], ...(JSON.parse(entries) as unknown[])]),
    ],
  ]
  for (const [how, damage] of wrong) {
    it(`is reported when a node ${how}`, () => {
      for (const [node, entries] of filled().nodes) {
        const shelf = filled()
        shelf.nodes.set(node, damage(entries))
        assert.throws(() => shelf.contents(), refusesAsDamaged(/^node \d+ /))
      }
    })
  }

  it('is reported when a leaf occurs at two places, in the root, or was never created', () => {
    const twice = filled()
    const { node: first, count } = twice.root[0] ?? assert.fail('a mid is missing')
    const { node: second } = twice.root[1] ?? assert.fail('the second mid is missing')
    twice.nodes.set(second, twice.nodes.get(first) ?? '')
    twice.root = [
      { node: first, count },
      { node: second, count },
    ]
    assert.throws(() => twice.contents(), refusesAsDamaged(/^node \d+ occurs at two places$/))

    const own = filled()
    own.nodes.set(first, `[${first},${count}]`)
    assert.throws(() => own.contents(), refusesAsDamaged(/^node \d+ occurs at two places$/))

    const unmade = filled()
    unmade.nodes.set(first, `[9999,${count}]`)
    assert.throws(() => unmade.contents(), refusesAsDamaged(/refers to node 9999, which was never created$/))
  })

  it('is reported when the root names a node twice or has a wrong count', () => {
    const twice = filled()
    const { node: first, count } = twice.root[0] ?? assert.fail('a mid is missing')
    twice.root = [
      { node: first, count },
      { node: first, count },
    ]
    assert.throws(() => twice.contents(), refusesAsDamaged(/^node \d+ occurs at two places$/))

    const off = filled()
    off.root = [{ node: first, count: count - 1 }, ...off.root.slice(1)]
    assert.throws(() => off.contents(), refusesAsDamaged(/^node \d+ counts \d+ items instead of \d+$/))
  })
})
