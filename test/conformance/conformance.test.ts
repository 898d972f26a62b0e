import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { createTestDatabase } from '../support/stores.ts'
import { failuresIn, revisions, runSuite } from './suite.ts'

/** Number of scenarios of each revision. A suite that runs nothing would also report no failure. */
const scenarios = { '2025-11-25': 33, '2026-07-28': 50 } as const

describe('the official conformance suite', () => {
  for (const revision of revisions) {
    it(`reports no failure for ${revision} (R-MCP-01, R-MCP-06)`, async (t) => {
      const database = await createTestDatabase('sqlite')
      t.after(() => database.remove())
      const results = await runSuite(database.url, revision)
      assert.deepEqual(failuresIn(results), [])
      assert.equal(results.length, scenarios[revision])
      const page = await readFile(join(import.meta.dirname, '..', '..', 'docs', 'conformance.md'), 'utf8')
      for (const { scenario, checks } of results) {
        const passed = checks.filter(({ status }) => status === 'SUCCESS').length
        assert.ok(
          page.includes(`| ${scenario} | ${passed} | 0 |`),
          `docs/conformance.md does not say that ${scenario} passes ${passed} checks: run npm run conformance`,
        )
      }
    })
  }
})
