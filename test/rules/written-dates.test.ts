/** Dates as people write them in their language. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { formatsOf } from '../../src/pages/languages/formats.ts'

describe('a written date', () => {
  for (const tag of ['en-GB', 'de'] as const)
    it(`in ${tag} is what the pages show, in the long and in the short form (R-PAGE-06)`, () => {
      const { readDate } = formatsOf(tag)
      const formats = (['long', 'medium'] as const).map(
        (dateStyle) => new Intl.DateTimeFormat(tag, { dateStyle, timeZone: 'UTC' }),
      )
      const days = fc.date({ min: new Date('1000-01-01'), max: new Date('9999-12-31'), noInvalidDate: true })
      fc.assert(
        fc.property(days, (day) => {
          const iso = day.toISOString().slice(0, 10)
          for (const text of [iso, ...formats.map((format) => format.format(day))])
            assert.equal(readDate(text), iso, text)
        }),
      )
    })

  const cases: readonly (readonly [tag: string, text: string, iso: string | null])[] = [
    ['de', '24.12.2026', '2026-12-24'],
    ['de', ' 3.4.2026 ', '2026-04-03'],
    ['de', '03. 04. 2026', '2026-04-03'],
    ['de', '24. Dezember 2026', '2026-12-24'],
    ['de', '1. mär 2026', '2026-03-01'],
    ['de', '24. December 2026', null],
    ['de', '12.24.2026', null],
    ['de', '3.4.26', null],
    ['de', '31.4.2026', null],
    ['en-GB', '24/12/2026', '2026-12-24'],
    ['en-GB', '12/24/2026', '2026-12-24'],
    ['en-GB', '3/3/2026', '2026-03-03'],
    ['en-GB', '3/4/2026', null],
    ['en-GB', '24 Sep 2026', '2026-09-24'],
    ['en-GB', 'December 24, 2026', '2026-12-24'],
    ['en-GB', '24 Ju 2026', null],
    ['en-GB', '2026-02-30', null],
    ['en-GB', '2026-13-01', null],
    ['en-GB', '24 Dec', null],
    ['en-GB', '24 Dec 2026 noon', null],
    ['en-GB', '', null],
    ['en-US', '12/24/2026', '2026-12-24'],
    ['sv', '2026-12-24', '2026-12-24'],
  ]
  for (const [tag, text, iso] of cases)
    it(`${JSON.stringify(text)} in ${tag} ${iso === null ? 'is refused' : `is ${iso}`} (R-PAGE-06)`, () =>
      assert.equal(formatsOf(tag).readDate(text), iso))
})
