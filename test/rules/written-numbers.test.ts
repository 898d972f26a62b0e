/** Numbers as people write them in their language, and the JSON that they mean. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { formatsOf } from '../../src/pages/languages/formats.ts'

const languages = ['en-GB', 'de', 'de-CH', 'fr', 'es', 'pt-BR', 'pl', 'sv', 'hi', 'ar'] as const

describe('a written number', () => {
  for (const tag of languages) {
    const { readNumber, numberText } = formatsOf(tag)

    it(`in ${tag} is what Intl wrote, with and without groups (R-PAGE-06)`, () => {
      const [groups, plain] = ([true, false] as const).map(
        (useGrouping) => new Intl.NumberFormat(tag, { useGrouping, maximumFractionDigits: 9, numberingSystem: 'latn' }),
      )
      const numbers = fc.oneof(
        fc.integer(),
        fc.double({ min: -1e6, max: 1e6, noNaN: true }).map((n) => Number(n.toFixed(6))),
      )
      fc.assert(
        fc.property(numbers, (number) => {
          // Some languages write marks of direction before the sign.
          const bare = (text = ''): string => text.replaceAll(/[\u200e\u200f\u061c]/gu, '')
          // Groups of two digits are for people who write so by hand only.
          if (tag !== 'hi') assert.equal(Number(readNumber(bare(groups?.format(number)))), number)
          assert.equal(Number(readNumber(bare(plain?.format(number)))), number)
        }),
      )
    })

    it(`in ${tag} keeps every digit of the stored number`, () => {
      for (const json of ['0', '-0', '1.50', '-12345678901234567890.123456789', '1e3', '2.5E-7', '1000'])
        assert.equal(readNumber(numberText(json)), json)
    })
  }

  const german: readonly (readonly [text: string, json: string | null])[] = [
    ['1,5', '1.5'],
    [' 1,50 ', '1.50'],
    ['1.000', '1000'],
    ['1.234.567,89', '1234567.89'],
    ['-0,5', '-0.5'],
    ['−3', '-3'],
    [',5', '0.5'],
    ['1,5e3', '1.5e3'],
    ['1.5', null],
    ['1.00', null],
    ['1.0000', null],
    ['0.500', null],
    ['1,000,000', null],
    ['1.234,5.6', null],
    ['12.34.567', null],
    ['1 000', null],
    ['1,', null],
    [',', null],
    ['', null],
    ['-', null],
    ['007', null],
    ['1e999', null],
    ['Infinity', null],
    ['0x10', null],
    ['٣', null],
  ]
  for (const [text, json] of german)
    it(`${JSON.stringify(text)} in German ${json === null ? 'is refused' : `is ${json}`} (R-PAGE-06)`, () =>
      assert.equal(formatsOf('de').readNumber(text), json))

  const others: readonly (readonly [tag: string, text: string, json: string | null])[] = [
    ['en-GB', '1,000', '1000'],
    ['en-GB', '1.000', '1.000'],
    ['en-GB', '1,5', null],
    ['en-GB', '1,00,000', null],
    ['fr', '1 234,5', '1234.5'],
    ['fr', '1\u202f234,5', '1234.5'],
    ['fr', '1\u00a0234,5', '1234.5'],
    ['de-CH', '1’234.5', '1234.5'],
  ]
  for (const [tag, text, json] of others)
    it(`${JSON.stringify(text)} in ${tag} ${json === null ? 'is refused' : `is ${json}`} (R-PAGE-06)`, () =>
      assert.equal(formatsOf(tag).readNumber(text), json))
})
