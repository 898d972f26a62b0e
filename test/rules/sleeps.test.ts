/**
 * Tests wait for conditions (test/support/until.ts), and count work (test/support/counted-work.ts). A sleep is too short on a slow
 * machine and wasted on a fast one, and a measured time depends on the machine.
 */
import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'

const folder = join(import.meta.dirname, '..')
const thisFile = 'rules/sleeps.test.ts'
/** Timers that make a test wait. An interval repeats an action and makes no test wait. */
const timer = /\b(?:setTimeout|scheduler\.wait|Atomics\.wait|pg_sleep)\(|\bsetTimeout as\b/
/** Clocks that measure how long a test takes. */
const stopwatch = /\b(?:performance\.(?:now|measure)|process\.(?:cpuUsage|hrtime|uptime)|hrtime\.bigint)\(/
const isComment = (line: string): boolean => /^\s*(?:\/\/|\/?\*)/.test(line)

/** Line numbers of matches without a comment above that begins with `Real time:`. */
function unexplained(source: string, pattern: RegExp): number[] {
  const lines = source.split('\n')
  return lines.flatMap((line, index) => {
    if (!pattern.test(line) || isComment(line)) return []
    let above = index - 1
    while (isComment(lines[above] ?? '')) {
      if ((lines[above] ?? '').includes('// Real time: ')) return []
      above -= 1
    }
    return [index + 1]
  })
}

describe('tests', () => {
  const placesIn = (files: string, pattern: RegExp): string[] =>
    globSync(files, { cwd: folder })
      .map((file) => file.replaceAll('\\', '/'))
      .filter((file) => file !== thisFile)
      .flatMap((file) => {
        const source = readFileSync(join(folder, file), 'utf8')
        return unexplained(source, pattern).map((line) => `test/${file}:${line}`)
      })

  it('wait for real time only after a comment with the reason', () => {
    assert.deepEqual(placesIn('**/*.ts', timer), [])
  })

  it('measure real time only after a comment with the reason', () => {
    assert.deepEqual(placesIn('**/*.test.ts', stopwatch), [])
  })

  it('are checked for every kind of timer', () => {
    const sleeps = [
      'await new Promise((resolve) => setTimeout(resolve, 5))',
      "import { setTimeout as pause } from 'node:timers/promises'",
      'await scheduler.wait(5)',
      '// Some time: longer than the others.\nsetTimeout(look, 5)',
    ]
    for (const sleep of sleeps) assert.equal(unexplained(sleep, timer).length, 1, sleep)
    const explained = '// Real time: the limit is the subject.\n// And one more line.\nsetTimeout(end, 5)'
    assert.deepEqual(unexplained(explained, timer), [])
    assert.deepEqual(unexplained('await time.pause(5)\nclearTimeout(timer)', timer), [])
    for (const clock of ['performance.now()', 'process.cpuUsage(before)', 'process.hrtime.bigint()', 'hrtime.bigint()'])
      assert.equal(unexplained(`const began = ${clock}`, stopwatch).length, 1, clock)
  })
})
