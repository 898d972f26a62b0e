import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { acceptedAge } from '../../src/http/routes/actor/stale-read.ts'

describe('the age that Cache-Control accepts', () => {
  const ages: readonly (readonly [string | undefined, number])[] = [
    ['max-stale=5', 5],
    ['Max-Stale = "60"', 60],
    ['no-transform, max-stale=7', 7],
    ['max-stale=0', 0],
    [undefined, 0],
    ['', 0],
    ['max-stale', 0],
    ['max-stale=', 0],
    ['max-stale=-1', 0],
    ['max-stale=1.5', 0],
    ['max-stale=1e9', 0],
    ['max-stale=9999999999', 0],
    ['x-max-stale=5', 0],
    ['max-age=5', 0],
    ['no-cache', 0],
  ]
  for (const [header, seconds] of ages)
    it(`is ${seconds} s for ${JSON.stringify(header ?? null)}`, () => assert.equal(acceptedAge(header), seconds))
})
