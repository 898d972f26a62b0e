import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { deleteAt, fromPlain, getAt, type Json, known, mergeAt, object, toPlain } from '../../src/json/json.ts'
import type { JsonText } from '../../src/json/json.ts'
import type { Change } from '../../src/property/change.ts'
import { listDiff } from '../../src/property/lists/list-diff.ts'
import { projectDiff } from '../../src/publication/project-diff.ts'
import { visiblePart } from '../../src/publication/visibility.ts'

type Parts = readonly [subtarget: string | null, resource: string | null, blob: Json]

const change = ([subtarget, resource, blob]: Parts): Change => ({
  target: 'properties',
  subtarget,
  resource,
  blob: fromPlain(blob),
})
const scope = (path: string) => {
  const [subtarget = '', resource = ''] = path.split('/')
  return { target: 'properties', subtarget, resource }
}

describe('a projected change (R-SUB-03)', () => {
  const cases: readonly (readonly [what: string, change: Parts, scope: string, expected: Json | undefined])[] = [
    ['a value', ['mood', null, 'sunny'], '', { mood: 'sunny' }],
    ['a value', ['mood', null, 'sunny'], 'mood', 'sunny'],
    ['a value', ['mood', null, 'sunny'], 'trip', undefined],
    ['an object', ['cfg', null, { theme: 'dark', size: 2 }], 'cfg/theme', 'dark'],
    ['an object without the key', ['cfg', null, { size: 2 }], 'cfg/theme', ''],
    ['a string in place of an object', ['cfg', null, 'none'], 'cfg/theme', ''],
    ['a key', ['cfg', 'theme', 'dark'], '', { cfg: { theme: 'dark' } }],
    ['a key', ['cfg', 'theme', 'dark'], 'cfg', { theme: 'dark' }],
    ['a key', ['cfg', 'theme', 'dark'], 'cfg/theme', 'dark'],
    ['a key', ['cfg', 'theme', 'dark'], 'cfg/size', undefined],
    ['a key', ['cfg', 'theme', 'dark'], 'mood', undefined],
    ['a deep key', ['cfg', 'a', { b: { c: 1 } }], '', { cfg: { a: { b: { c: 1 } } } }],
    ['a deep key', ['cfg', 'a', { b: { c: 1 } }], 'cfg', { a: { b: { c: 1 } } }],
    ['a deep key', ['cfg', 'a', { b: { c: 1 } }], 'cfg/a', { b: { c: 1 } }],
    ['several values', [null, null, { mood: 1, trip: 2 }], '', { mood: 1, trip: 2 }],
    ['several values', [null, null, { mood: 1, trip: 2 }], 'trip', 2],
    ['several values', [null, null, { mood: 1, trip: 2 }], 'cfg', undefined],
    ['several values', [null, null, { cfg: { theme: 'dark' } }], 'cfg/theme', 'dark'],
    ['several values', [null, null, { cfg: { size: 1 } }], 'cfg/theme', ''],
    ['a removal', ['mood', null, ''], '', { mood: '' }],
    ['a removal', ['mood', null, ''], 'mood', ''],
    ['a removal', ['cfg', null, ''], 'cfg/theme', ''],
    ['a removed key', ['cfg', 'theme', ''], '', { cfg: { theme: '' } }],
    ['a removed key', ['cfg', 'theme', ''], 'cfg/theme', ''],
    ['a deep removed key', ['cfg', 'a', { b: '' }], '', { cfg: { a: { b: '' } } }],
    ['null inside a value', ['cfg', null, { theme: null }], 'cfg/theme', null],
    [
      'a property named like a member of Object.prototype',
      ['__proto__', null, 1],
      '',
      JSON.parse('{"__proto__":1}') as Json,
    ],
    [
      'a list change',
      ['todo', null, { list: 'todo', operation: 'append', length: 1, item: 'x', index: 0 }],
      '',
      { todo: { list: 'todo', operation: 'append', length: 1, item: 'x', index: 0 } },
    ],
    [
      'a list change',
      ['todo', null, { list: 'todo', operation: 'append', length: 1, item: 'x', index: 0 }],
      'todo',
      { todo: { list: 'todo', operation: 'append', length: 1, item: 'x', index: 0 } },
    ],
    ['a list change', ['todo', null, { list: 'todo', operation: 'clear' }], 'todo/0', undefined],
    ['a list change', ['todo', null, { list: 'todo', operation: 'clear' }], 'done', undefined],
    [
      'an object with the members of a list change',
      ['cfg', null, { list: 'todo', operation: 'x' }],
      'cfg',
      { list: 'todo', operation: 'x' },
    ],
  ]
  for (const [what, made, wanted, expected] of cases) {
    it(`is ${expected === undefined ? 'absent' : JSON.stringify(expected)} for ${what} in scope ${JSON.stringify(wanted)}`, () => {
      const projected = projectDiff(change(made), scope(wanted))
      assert.deepEqual(projected === null ? undefined : toPlain(projected.data), expected)
    })
  }

  it('is absent for a target of another kind', () => {
    assert.equal(projectDiff(change(['mood', null, 1]), { ...scope('mood'), target: 'resources' }), null)
  })

  it('replaces the value of a key only when the key holds an empty string, not when the key is missing (SUB-12)', () => {
    const project = (parts: Parts): object | null => projectDiff(change(parts), scope('cfg/theme'))
    assert.deepEqual(project(['cfg', null, { theme: '' }]), { data: '""', replaces: true })
    assert.deepEqual(project(['cfg', null, { size: 1 }]), { data: '""', replaces: false })
    assert.deepEqual(project(['cfg', null, 'none']), { data: '""', replaces: false })
    assert.deepEqual(project(['cfg', null, '']), { data: '""', replaces: false })
    assert.deepEqual(project(['cfg', 'theme', '']), { data: '""', replaces: false })
  })

  it('replaces a stored value, and merges a key or a list change', () => {
    assert.equal(projectDiff(change(['cfg', null, { a: 1 }]), scope('cfg'))?.replaces, true)
    assert.equal(projectDiff(change([null, null, { cfg: 1 }]), scope(''))?.replaces, true)
    assert.equal(projectDiff(change(['cfg', 'a', 1]), scope(''))?.replaces, false)
    assert.equal(projectDiff(listDiff('todo', { operation: 'clear', length: 0 }), scope(''))?.replaces, false)
  })
})

// A replica as a subscriber stores it.

type Step =
  | { readonly kind: 'put'; readonly name: string; readonly value: Json }
  | { readonly kind: 'bulk'; readonly values: Readonly<Record<string, Json>> }
  | { readonly kind: 'merge'; readonly path: readonly [string, string, ...string[]]; readonly value: Json }
  | { readonly kind: 'remove'; readonly path: readonly [string, ...string[]] }

/** Applies a step to the publisher's state. Returns null when the service would reject the step. */
function publish(state: JsonText, step: Step): { state: JsonText; change: Change } | null {
  switch (step.kind) {
    case 'put':
      return {
        state: set(state, step.name, fromPlain(step.value)),
        change: change([step.name, null, step.value]),
      }
    case 'bulk': {
      const next = Object.entries(step.values).reduce((all, [name, value]) => set(all, name, fromPlain(value)), state)
      return { state: next, change: change([null, null, step.values]) }
    }
    case 'merge': {
      const [name, resource, ...deeper] = step.path
      const blob = deeper.reduceRight<JsonText>((inner, key) => object([[key, inner]]), fromPlain(step.value))
      try {
        const next = mergeAt(state, step.path, fromPlain(step.value))
        return { state: next, change: { target: 'properties', subtarget: name, resource, blob } }
      } catch {
        return null
      }
    }
    case 'remove': {
      const next = deleteAt(state, step.path)
      if (next === undefined) return null
      const [name, resource = null, ...deeper] = step.path
      const blob = deeper.reduceRight<JsonText>((inner, key) => object([[key, inner]]), known('""'))
      return { state: next, change: { target: 'properties', subtarget: name, resource, blob } }
    }
  }
}

function set(state: JsonText, name: string, value: JsonText): JsonText {
  const without = deleteAt(state, [name]) ?? state
  return value === '""' ? without : mergeAt(without, [name], value)
}

/** Applies a diff at `path` of the replica, as a subscriber does. */
function apply(replica: JsonText, path: readonly string[], data: JsonText, replaces: boolean): JsonText {
  if (data === '""') return deleteAt(replica, path) ?? replica
  if (path.length === 0) {
    return Object.entries(toPlain(data) as Record<string, Json>).reduce(
      (all, [name, value]) => apply(all, [name], fromPlain(value), replaces),
      replica,
    )
  }
  if (replaces) return mergeAt(deleteAt(replica, path) ?? replica, path, data)
  const inner = toPlain(data)
  if (typeof inner !== 'object' || inner === null || Array.isArray(inner)) return write(replica, path, data)
  const held = getAt(replica, path)
  const base = held?.startsWith('{') === true ? replica : write(replica, path, known('{}'))
  return Object.entries(inner as Record<string, Json>).reduce(
    (all, [key, value]) => apply(all, [...path, key], fromPlain(value), false),
    base,
  )
}

function write(replica: JsonText, path: readonly string[], data: JsonText): JsonText {
  return mergeAt(deleteAt(replica, path) ?? replica, path, data)
}

describe('a replica that replays its diffs (I4)', () => {
  const key = fc.constantFrom('a', 'b', 'c')
  const leaf = fc.oneof(fc.integer({ min: 0, max: 9 }), fc.constantFrom('x', 'y'), fc.boolean())
  const tree = fc.letrec<{ value: Json }>((tie) => ({
    value: fc.oneof({ maxDepth: 3 }, leaf, fc.dictionary(key, tie('value'), { maxKeys: 3 })),
  })).value
  const step: fc.Arbitrary<Step> = fc.oneof(
    fc.record({ kind: fc.constant('put' as const), name: key, value: fc.oneof(tree, fc.constant('')) }),
    fc.record({
      kind: fc.constant('bulk' as const),
      values: fc.dictionary(key, fc.oneof(tree, fc.constant('')), { minKeys: 1, maxKeys: 3 }),
    }),
    fc.record({
      kind: fc.constant('merge' as const),
      path: fc.array(key, { minLength: 2, maxLength: 4 }) as unknown as fc.Arbitrary<[string, string, ...string[]]>,
      value: tree,
    }),
    fc.record({
      kind: fc.constant('remove' as const),
      path: fc.array(key, { minLength: 1, maxLength: 4 }) as unknown as fc.Arbitrary<[string, ...string[]]>,
    }),
  )

  for (const path of ['', 'a', 'a/b']) {
    it(`equals the publisher's state at ${JSON.stringify(path)} after any changes`, () => {
      fc.assert(
        fc.property(fc.array(step, { maxLength: 12 }), (steps) => {
          const at = path === '' ? [] : path.split('/')
          let state = known('{}')
          // The subscriber has the objects around the scope, as it has them after the first snapshot.
          let replica = at.slice(0, -1).reduceRight<JsonText>((inner, name) => object([[name, inner]]), known('{}'))
          for (const made of steps) {
            const done = publish(state, made)
            if (done === null) continue
            state = done.state
            const projected = projectDiff(done.change, scope(path))
            if (projected !== null) replica = apply(replica, at, projected.data, projected.replaces)
          }
          assert.deepEqual(plainAt(replica, at), plainAt(state, at))
        }),
        { numRuns: 500 },
      )
    })
  }
})

function plainAt(text: JsonText, path: readonly string[]): Json | undefined {
  const found = getAt(text, path)
  return found === undefined ? undefined : toPlain(found)
}

describe('the part of a diff that a peer may see (SUB-12)', () => {
  const cases: readonly (readonly [
    what: string,
    data: Json,
    scope: string,
    readable: string[],
    seen: Json | undefined,
  ])[] = [
    ['names that it may read', { mood: 1, trip: 2 }, '', ['mood', 'trip'], { mood: 1, trip: 2 }],
    ['some of the names', { mood: 1, diary: 2 }, '', ['mood'], { mood: 1 }],
    ['none of the names', { diary: 2 }, '', ['mood'], undefined],
    ['a string under a right to the property', 'sunny', 'mood', ['mood'], 'sunny'],
    ['a string without that right', 'sunny', 'mood', ['trip'], undefined],
    ['a number without that right', 5, 'mood', [], undefined],
    ['an array without that right', [1], 'mood', [], undefined],
    ['keys of a property under a right to the property', { a: 1 }, 'cfg', ['cfg'], { a: 1 }],
    ['keys of a property under rights to single keys', { a: 1, b: 2 }, 'cfg', ['cfg/a'], { a: 1 }],
    ['keys of a property without a right', { a: 1 }, 'cfg', ['a'], undefined],
    ['a key under a right to it', 1, 'cfg/a', ['cfg/a'], 1],
    ['a removal without a right', '', 'cfg', [], undefined],
    ['an empty object without a right', {}, 'cfg', [], undefined],
    [
      'a list change under a right to the list',
      { todo: { list: 'todo' } },
      'todo',
      ['todo'],
      { todo: { list: 'todo' } },
    ],
  ]
  for (const [what, data, path, readable, seen] of cases) {
    it(`is ${seen === undefined ? 'absent' : JSON.stringify(seen)} for ${what}`, () => {
      const part = visiblePart(fromPlain(data), scope(path), (name) => readable.includes(name))
      assert.deepEqual(part === null ? undefined : toPlain(part), seen)
    })
  }
})
