/** The range of PostgreSQL versions that a start accepts. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { faultOfVersion } from '../../src/store/postgres/start.ts'

describe('the version of a PostgreSQL server', () => {
  for (const version of [140000, 140023, 150018, 160014, 170010, 180004, 190000])
    it(`is accepted: ${version}`, () => assert.equal(faultOfVersion(version), null))

  for (const [version, major] of [
    [139999, 13],
    [130023, 13],
    [100023, 10],
    [90624, 9],
  ] as const)
    it(`is refused: ${version}`, () =>
      assert.equal(faultOfVersion(version), `it is PostgreSQL ${major}, and this release needs PostgreSQL 14 to 18`))
})
