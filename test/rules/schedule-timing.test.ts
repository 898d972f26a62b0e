import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { ScheduleTiming } from '../../src/app/background/background.ts'
import { timingOf } from '../../src/app/background/schedule-timing.ts'
import { ConfigError } from '../../src/config/config-error.ts'

const at = (text: string): number => Date.parse(text)
const iso = (ms: number): string => new Date(ms).toISOString()
const of = (timing: ScheduleTiming): ReturnType<typeof timingOf> => timingOf('Cannot declare it:', timing)

describe('an interval', () => {
  it('begins one interval after the declaration, and keeps its rhythm', () => {
    const { first, next } = of({ every: '1h' })
    const start = at('2031-01-01T00:10:00Z')
    assert.equal(iso(first(start)), '2031-01-01T01:10:00.000Z')
    const scheduled = at('2031-01-01T01:10:00Z')
    assert.equal(iso(next(scheduled, scheduled + 5000)), '2031-01-01T02:10:00.000Z')
  })

  it('leaves out the occurrences that were missed before the run began', () => {
    const { next } = of({ every: '15m' })
    assert.equal(iso(next(at('2031-01-01T00:00:00Z'), at('2031-01-01T05:07:00Z'))), '2031-01-01T05:15:00.000Z')
    assert.equal(iso(next(at('2031-01-01T00:00:00Z'), at('2031-01-01T00:15:00Z'))), '2031-01-01T00:30:00.000Z')
  })

  it('continues after a clock that was set back', () => {
    const { next } = of({ every: '1d' })
    assert.equal(iso(next(at('2031-01-02T00:00:00Z'), at('2031-01-01T00:00:00Z'))), '2031-01-03T00:00:00.000Z')
  })
})

describe('a cron expression', () => {
  it('is read in UTC by default, with 5 fields or with seconds', () => {
    assert.equal(iso(of({ cron: '0 3 * * *' }).first(at('2031-01-01T03:00:00Z'))), '2031-01-02T03:00:00.000Z')
    assert.equal(iso(of({ cron: '30 0 3 * * *' }).first(at('2031-01-01T03:00:00Z'))), '2031-01-01T03:00:30.000Z')
  })

  it('follows the daylight saving time of its time zone', () => {
    const { next } = of({ cron: '30 2 * * *', timezone: 'Europe/Berlin' })
    const days = ['2031-03-29T01:30:00Z', '2031-10-25T00:30:00Z', '2031-10-26T00:30:00Z'].map(at)
    assert.deepEqual(
      days.map((day) => iso(next(day, day))),
      ['2031-03-30T01:00:00.000Z', '2031-10-26T00:30:00.000Z', '2031-10-27T01:30:00.000Z'],
    )
  })

  it('runs once for all occurrences that were missed', () => {
    const { next } = of({ cron: '0 * * * *' })
    assert.equal(iso(next(at('2031-01-01T00:00:00Z'), at('2031-01-01T09:30:00Z'))), '2031-01-01T10:00:00.000Z')
  })
})

describe('a timing that cannot be used', () => {
  for (const [timing, message] of [
    [{}, /either every, such as '1h', or cron/],
    [{ every: '1h', cron: '* * * * *' }, /either every/],
    [{ every: '1h', timezone: 'UTC' }, /timezone belongs to cron/],
    [{ every: '1 h' }, /a number with its unit/],
    [{ every: '0.5s' }, /from '1s' to '366d'/],
    [{ every: '367d' }, /from '1s' to '366d'/],
    [{ every: 60_000 }, /a number with its unit/],
    [{ cron: '0 3 * *' }, /its cron expression is not valid/],
    [{ cron: '61 * * * *' }, /its cron expression is not valid/],
    [{ cron: '0 3 * * *', timezone: 'Europe/Atlantis' }, /its cron expression is not valid/],
    [{ cron: '0 0 30 2 *' }, /never occurs/],
    [{ cron: '0 3 * * *', timeZone: 'UTC' }, /"timeZone" does not exist/],
  ] as const) {
    it(`is refused: ${JSON.stringify(timing)}`, () => {
      assert.throws(
        () => of(timing as unknown as ScheduleTiming),
        (error) => error instanceof ConfigError && message.test(error.message),
      )
    })
  }
})
