import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, it } from 'node:test'
import { filesOf } from '../support/guide-files.ts'
import { Workplace } from '../support/program.ts'

const guide = readFileSync(join(dirname(dirname(import.meta.dirname)), 'docs', 'testing.md'), 'utf8')

describe('the guide to testing an application', () => {
  it('has tests that pass', async () => {
    const place = new Workplace()
    try {
      const files = filesOf(guide)
      assert.deepEqual([...files.keys()], ['notes.ts', 'notes.test.ts'])
      place.write('package.json', '{"type":"module"}')
      for (const [name, text] of files) place.write(name, text)
      const program = place.startFile('--test', ['--test-reporter=tap', 'notes.test.ts'])
      // Real time: the limit for tests that never end.
      const limit = setTimeout(() => program.signal('SIGKILL'), 60_000)
      const { code, stdout } = await program.ended.finally(() => clearTimeout(limit))
      assert.equal(code, 0, stdout)
      assert.match(stdout, /^# pass 4$/m)
    } finally {
      await place.remove()
    }
  })
})
