import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { areIntact, checksumOf, itemName } from '../../src/store/checksum.ts'

interface Item {
  readonly number: number
  readonly text: string
}

/** Checks the items of the list `notes` of actor `a1`, with their checksums after `change`. */
function check(items: readonly Item[], texts: readonly string[], change = (checksums: number[]) => checksums): boolean {
  const checksums = items.map(({ number, text }) => checksumOf('a1', itemName('notes', number), text))
  const numbers = items.map(({ number }) => number)
  return areIntact('a1', 'notes', { numbers, checksums: change(checksums), texts, joined: texts.join('\n') })
}

const textsOf = (items: readonly Item[]): string[] => items.map(({ text }) => text)

const ascii = fc.string({ maxLength: 300 }).map((text) => JSON.stringify(text))
const any = fc.string({ unit: 'binary', maxLength: 300 }).map((text) => JSON.stringify(text))
const long = fc.integer({ min: 1000, max: 1100 }).map((length) => 'x'.repeat(length))
const listOf = (text: fc.Arbitrary<string>): fc.Arbitrary<Item[]> =>
  fc.array(fc.record({ number: fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER }), text }), { maxLength: 20 })
const lists = fc.oneof(listOf(ascii), listOf(any), listOf(fc.oneof(ascii, long)))

describe('the checksums of the items of a list', () => {
  it('fit items of any number, length and alphabet (DUR-12)', () => {
    fc.assert(fc.property(lists, (items) => check(items, textsOf(items))))
  })

  it('do not fit when one character differs (DUR-12)', () => {
    fc.assert(
      fc.property(lists, fc.nat(), fc.nat(), (items, which, where) => {
        const texts = textsOf(items)
        const at = which % Math.max(1, items.length)
        const text = texts[at] ?? ''
        fc.pre(text !== '')
        const place = where % text.length
        const other = text[place] === '~' ? '}' : '~'
        texts[at] = text.slice(0, place) + other + text.slice(place + 1)
        return !check(items, texts)
      }),
    )
  })

  it('do not fit when two items are exchanged, or a checksum differs in one bit (DUR-12)', () => {
    fc.assert(
      fc.property(lists, fc.nat(), fc.nat(31), (items, which, bit) => {
        fc.pre(items.length > 0)
        const at = which % items.length
        const flipped = (checksums: number[]): number[] =>
          checksums.map((checksum, index) => (index === at ? (checksum ^ (1 << bit)) >>> 0 : checksum))
        return !check(items, textsOf(items), flipped)
      }),
    )
    const items = [
      { number: 1, text: '"one"' },
      { number: 2, text: '"two"' },
    ]
    assert.equal(check(items, ['"two"', '"one"']), false)
  })
})
