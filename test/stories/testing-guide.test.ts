import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { after, describe, it } from 'node:test'
import { GuideReader } from '../support/guide-reader.ts'

const guide = readFileSync(join(dirname(dirname(import.meta.dirname)), 'docs', 'testing.md'), 'utf8')

describe('the guide to testing an application', () => {
  const reader = new GuideReader(guide)
  after(() => reader.remove())

  it('has tests that pass', async () => {
    for (const { kind, text } of reader.steps) {
      if (kind === 'run') assert.match(await reader.run(text), /^. pass 6$/m)
      else reader.write({ kind, text })
    }
    assert.equal(reader.compile(), '')
  })
})
