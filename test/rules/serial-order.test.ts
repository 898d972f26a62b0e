import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type Call, findSerialOrder } from '../support/serial-order.ts'
import {
  list,
  type ListInput,
  passingActor,
  type PassingInput,
  register,
  type RegisterInput,
} from '../support/sequential-objects.ts'

function call<Input>(begun: number, ended: number, input: Input, value: unknown = 'done'): Call<Input> {
  return { begun, ended, input, answer: { value } }
}

function lost<Input>(begun: number, input: Input, ended = Infinity): Call<Input> {
  return { begun, ended, input, answer: 'unknown' }
}

const write = (value: string): RegisterInput => ({ do: 'write', value })
const read: RegisterInput = { do: 'read' }
const isOrdered = (calls: readonly Call<RegisterInput>[]): boolean => findSerialOrder(register('tells'), calls).ordered

describe('a history of a value has a serial order', () => {
  it('when each read returns the last written value', () => {
    assert.equal(
      isOrdered([call(1, 2, write('a')), call(3, 4, read, 'a'), call(5, 6, write('b')), call(7, 8, read, 'b')]),
      true,
    )
  })

  it('when a read during a write returns the old value or the new one', () => {
    assert.equal(isOrdered([call(1, 2, write('a')), call(3, 6, write('b')), call(4, 5, read, 'a')]), true)
    assert.equal(isOrdered([call(1, 2, write('a')), call(3, 6, write('b')), call(4, 5, read, 'b')]), true)
  })

  it('when either of two concurrent writes is the last', () => {
    for (const last of ['a', 'b'])
      assert.equal(isOrdered([call(1, 4, write('a')), call(2, 3, write('b')), call(5, 6, read, last)]), true)
  })

  it('when a write without a response takes effect late or never', () => {
    assert.equal(isOrdered([lost(1, write('a')), call(2, 3, read, null), call(4, 5, read, 'a')]), true)
    assert.equal(isOrdered([lost(1, write('a')), call(2, 3, read, null), call(4, 5, read, null)]), true)
  })
})

describe('a history of a value has no serial order', () => {
  it('when an acknowledged write is missing', () => {
    assert.equal(isOrdered([call(1, 2, write('a')), call(3, 4, read, null)]), false)
  })

  it('when a read returns a value that was overwritten before the read began', () => {
    assert.equal(isOrdered([call(1, 2, write('a')), call(3, 4, write('b')), call(5, 6, read, 'a')]), false)
  })

  it('when a value reverts to an older one', () => {
    const reads = [call(4, 5, read, 'b'), call(6, 7, read, 'a')]
    assert.equal(isOrdered([call(1, 2, write('a')), call(3, 8, write('b')), ...reads]), false)
  })

  it('when a read returns a value that was never written', () => {
    assert.equal(isOrdered([call(1, 2, write('a')), call(3, 4, read, 'c')]), false)
  })

  it('when a write without a response takes effect after its latest possible time', () => {
    const calls = [lost(1, write('a'), 4), call(5, 6, read, null), call(7, 8, read, 'a')]
    assert.equal(isOrdered(calls), false)
  })

  it('when a write without a response takes effect and disappears again', () => {
    assert.equal(isOrdered([lost(1, write('a')), call(2, 3, read, 'a'), call(4, 5, read, null)]), false)
  })

  it('when a removal reports a value that did not exist', () => {
    assert.equal(isOrdered([call(1, 2, { do: 'remove' }, 'done')]), false)
  })

  it('and the verdict names the call that no order explains', () => {
    const wrong = call(5, 6, read, 'a')
    const verdict = findSerialOrder(register('tells'), [call(1, 2, write('a')), call(3, 4, write('b')), wrong])
    assert.deepEqual(verdict, { ordered: false, call: wrong, possible: ['"b"'] })
  })
})

describe('a history of a list', () => {
  const append = (item: string): ListInput => ({ do: 'append', item })
  const pop: ListInput = { do: 'pop', index: -1 }
  const readList: ListInput = { do: 'read' }
  const verdict = (calls: readonly Call<ListInput>[], items: readonly string[] = []): boolean =>
    findSerialOrder(list(items), calls).ordered

  it('has an order when two concurrent appends got different positions', () => {
    const appends = [call(1, 4, append('a'), 1), call(2, 3, append('b'), 0)]
    assert.equal(verdict([...appends, call(5, 6, readList, ['b', 'a'])]), true)
    assert.equal(verdict([...appends, call(5, 6, readList, ['a', 'b'])]), false)
  })

  it('has no order when an acknowledged item is missing, duplicated or at another position', () => {
    const appends = [call(1, 2, append('a'), 0), call(3, 4, append('b'), 1)]
    for (const items of [['a'], ['a', 'b', 'b'], ['b', 'a'], []])
      assert.equal(verdict([...appends, call(5, 6, readList, items)]), false, items.join())
  })

  it('has no order when two appends got the same position', () => {
    assert.equal(verdict([call(1, 4, append('a'), 0), call(2, 3, append('b'), 0)]), false)
  })

  it('has no order when two concurrent pops returned the same item', () => {
    assert.equal(verdict([call(1, 4, pop, 'b'), call(2, 3, pop, 'b')], ['a', 'b']), false)
    assert.equal(verdict([call(1, 4, pop, 'a'), call(2, 3, pop, 'b')], ['a', 'b']), true)
  })

  it('has no order when a deletion removed another item than the one at its index', () => {
    const calls = [call<ListInput>(1, 2, { do: 'delete', index: 0 }), call(3, 4, readList, ['a'])]
    assert.equal(verdict(calls, ['a', 'b']), false)
    assert.equal(verdict(calls, ['b', 'a']), true)
  })

  it('has no order when only half of a batch took effect', () => {
    const batch: ListInput = { do: 'bulk', entries: [{ index: 0, item: 'x' }, { index: 1 }] }
    assert.equal(verdict([lost(1, batch), call(2, 3, readList, ['x', 'b'])], ['a', 'b']), false)
    assert.equal(verdict([lost(1, batch), call(2, 3, readList, ['x'])], ['a', 'b']), true)
    assert.equal(verdict([lost(1, batch), call(2, 3, readList, ['a', 'b'])], ['a', 'b']), true)
  })
})

describe('a history of a list with many concurrent calls and some without a response', () => {
  /** Rounds of four concurrent calls, three of which no answer tells apart, and a read after the last round. */
  function rounds(count: number, finish: (items: readonly string[]) => readonly string[] = (items) => items) {
    const model = list(Array.from({ length: 30 }, (_, index) => `begin-${index}`))
    const calls: Call<ListInput>[] = Array.from({ length: 4 }, (_, index) => {
      const entries = [{ index: index + 1 }, { index, item: `lost-${index}` }]
      return lost<ListInput>(index, { do: 'bulk', entries })
    })
    let items = model.initial
    for (let round = 1; round <= count; round++) {
      const inputs: ListInput[] = [
        { do: 'insert', index: 2, item: `inserted-${round}` },
        { do: 'delete', index: round % 7 },
        { do: 'insert', index: 5, item: `second-${round}` },
        { do: 'pop', index: 3 },
      ]
      for (const [index, input] of inputs.entries()) {
        const { state, answer } = model.apply(items, input)
        items = state
        calls.push(call(round * 10 + index, round * 10 + 9 - index, input, answer))
      }
    }
    return { model, calls: [...calls, call<ListInput>(1_000, 1_001, { do: 'read' }, finish(items))] }
  }

  it('has an order when the read returns the items that the calls left', () => {
    const { model, calls } = rounds(9)
    assert.equal(findSerialOrder(model, calls).ordered, true)
  })

  it('has no order when two items changed places, or one is missing', () => {
    for (const finish of [
      ([first = '', second = '', ...rest]: readonly string[]) => [second, first, ...rest],
      (items: readonly string[]) => items.slice(0, -1),
    ]) {
      const { model, calls } = rounds(5, finish)
      assert.equal(findSerialOrder(model, calls).ordered, false)
    }
  })
})

describe('a history of a deleted actor', () => {
  const put: PassingInput = { do: 'put', name: 'a', value: '1' }
  const readAll: PassingInput = { do: 'read' }
  const verdict = (calls: readonly Call<PassingInput>[]): boolean => findSerialOrder(passingActor, calls).ordered

  it('has an order when everything disappears at one moment', () => {
    assert.equal(
      verdict([call(1, 2, put), call(3, 6, { do: 'delete' }), call(4, 5, put, 'gone'), call(7, 8, readAll, 'gone')]),
      true,
    )
  })

  it('has no order when a part remains after the deletion', () => {
    const rest = { values: { a: '1' }, items: [] }
    assert.equal(verdict([call(1, 2, put), call(3, 4, { do: 'delete' }), call(5, 6, readAll, rest)]), false)
  })

  it('has no order when a deletion without a response left a part', () => {
    const emptied = { values: {}, items: [] }
    assert.equal(verdict([call(1, 2, put), lost(3, { do: 'delete' }), call(5, 6, readAll, emptied)]), false)
  })
})
