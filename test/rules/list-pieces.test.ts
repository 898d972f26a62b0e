/** The order of a list in a transaction, against an array with the same changes. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { known, type JsonText } from '../../src/json/json.ts'
import { ListPieces, type PiecePlace } from '../../src/transaction/list-pieces.ts'
import { seeded } from '../support/random.ts'

const text = (value: string): JsonText => known(JSON.stringify(value))

describe('the pieces of a list', () => {
  it('are the stored items before the first change', () => {
    const pieces = new ListPieces(3)
    assert.equal(pieces.length, 3)
    assert.deepEqual(pieces.span(0, 3), [{ stored: 0 }, { stored: 1 }, { stored: 2 }])
    assert.deepEqual(pieces.span(1, 2), [{ stored: 1 }])
    assert.deepEqual(new ListPieces(0).span(0, 0), [])
  })

  it('hold new items between stored ones', () => {
    const pieces = new ListPieces(2)
    pieces.insert(1, text('between'))
    pieces.insert(3, text('last'))
    pieces.replace(0, text('first'))
    assert.deepEqual(pieces.span(0, 4), [{ item: '"first"' }, { item: '"between"' }, { stored: 1 }, { item: '"last"' }])
    assert.deepEqual([pieces.positionOf(0), pieces.positionOf(1)], [null, 2])
    pieces.remove(2)
    assert.deepEqual(pieces.span(0, 3), [{ item: '"first"' }, { item: '"between"' }, { item: '"last"' }])
    assert.equal(pieces.positionOf(1), null)
  })

  it('are empty after clear', () => {
    const pieces = new ListPieces(500)
    pieces.clear()
    assert.deepEqual([pieces.length, pieces.span(0, 0), pieces.positionOf(7)], [0, [], null])
  })

  it('refuse a position beyond the end', () => {
    const pieces = new ListPieces(2)
    assert.throws(() => pieces.insert(4, text('x')), /beyond its end/)
    assert.throws(() => pieces.remove(3), /beyond its end/)
  })

  it('equal an array after each of 200 random changes, for 50 seeds', () => {
    for (let seed = 1; seed <= 50; seed++) {
      const random = seeded(seed)
      const stored = random.below(40)
      const pieces = new ListPieces(stored)
      const array: PiecePlace[] = Array.from({ length: stored }, (_, index) => ({ stored: index }))
      for (let change = 0; change < 200; change++) {
        const item = text(`${seed}-${change}`)
        const at = random.below(array.length + 1)
        const operation = random.pick(['insert', 'replace', 'remove', 'remove', 'append', 'clear'])
        if (operation === 'append') {
          pieces.insert(array.length, item)
          array.push({ item })
        } else if (operation === 'insert') {
          pieces.insert(at, item)
          array.splice(at, 0, { item })
        } else if (operation === 'clear' && random.below(40) === 0) {
          pieces.clear()
          array.length = 0
        } else if (at < array.length && operation === 'replace') {
          pieces.replace(at, item)
          array[at] = { item }
        } else if (at < array.length && operation === 'remove') {
          pieces.remove(at)
          array.splice(at, 1)
        }
        assert.equal(pieces.length, array.length)
        assert.deepEqual(pieces.span(0, array.length), array)
        const from = random.below(array.length + 1)
        assert.deepEqual(pieces.span(from, Math.min(from + 5, array.length)), array.slice(from, from + 5))
      }
      for (let index = 0; index < stored; index++) {
        const position = array.findIndex((place) => 'stored' in place && place.stored === index)
        assert.equal(pieces.positionOf(index), position === -1 ? null : position)
      }
    }
  })
})
