/** The day that chooses the inputs of a run. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { dayNumber, dayVariable, everyDayVariable, numbersOfRun } from '../support/day.ts'

describe('the day of a run', () => {
  it('is the one that the environment names, or today', () => {
    assert.equal(dayNumber({ [dayVariable]: '1970-01-01' }), 0)
    assert.equal(dayNumber({ [dayVariable]: '2031-01-31' }), 22_310)
    for (const today of [{}, { [dayVariable]: '' }]) assert.ok(dayNumber(today) > 20_000)
  })

  it('is refused when it is not a valid date', () => {
    for (const wrong of ['today', '2031-13-01', '31.1.2031'])
      assert.throws(() => dayNumber({ [dayVariable]: wrong }), {
        message: `Invalid TROUPE_TEST_DAY "${wrong}": expected a date such as 2031-01-31.`,
      })
  })

  it('gives each third number a day of its own, and a full run all of them', () => {
    const first = (env: Record<string, string>, count: number): number[] => [...numbersOfRun(env).take(count)]
    assert.deepEqual(first({ [dayVariable]: '1970-01-01' }, 3), [1, 4, 7])
    assert.deepEqual(first({ [dayVariable]: '1970-01-02' }, 3), [2, 5, 8])
    assert.deepEqual(first({ [dayVariable]: '1970-01-03' }, 3), [3, 6, 9])
    assert.deepEqual(first({ [dayVariable]: '1970-01-02', [everyDayVariable]: 'yes' }, 7), [1, 2, 3, 4, 5, 6, 7])
  })
})
