/** Tests wait for conditions (test/support/until.ts). A sleep is too short on a slow machine and wasted on a fast one. */
import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'

const folder = join(import.meta.dirname, '..')
const thisFile = 'rules/sleeps.test.ts'
/** Timers that make a test wait. An interval repeats an action and makes no test wait. */
const timer = /\b(?:setTimeout|scheduler\.wait|Atomics\.wait|pg_sleep)\(|\bsetTimeout as\b/
const isComment = (line: string): boolean => /^\s*(?:\/\/|\/?\*)/.test(line)

/** Line numbers of timers without a comment above that begins with `Real time:`. */
function sleepsIn(source: string): number[] {
  const lines = source.split('\n')
  return lines.flatMap((line, index) => {
    if (!timer.test(line) || isComment(line)) return []
    let above = index - 1
    while (isComment(lines[above] ?? '')) {
      if ((lines[above] ?? '').includes('// Real time: ')) return []
      above -= 1
    }
    return [index + 1]
  })
}

describe('tests', () => {
  it('wait for real time only after a comment with the reason', () => {
    const found = globSync('**/*.ts', { cwd: folder })
      .map((file) => file.replaceAll('\\', '/'))
      .filter((file) => file !== thisFile)
      .flatMap((file) => sleepsIn(readFileSync(join(folder, file), 'utf8')).map((line) => `test/${file}:${line}`))
    assert.deepEqual(found, [])
  })

  it('are checked for every kind of timer', () => {
    const sleeps = [
      'await new Promise((resolve) => setTimeout(resolve, 5))',
      "import { setTimeout as pause } from 'node:timers/promises'",
      'await scheduler.wait(5)',
      '// Some time: longer than the others.\nsetTimeout(look, 5)',
    ]
    for (const sleep of sleeps) assert.equal(sleepsIn(sleep).length, 1, sleep)
    assert.deepEqual(sleepsIn('// Real time: the limit is the subject.\n// And one more line.\nsetTimeout(end, 5)'), [])
    assert.deepEqual(sleepsIn('await time.pause(5)\nclearTimeout(timer)'), [])
  })
})
