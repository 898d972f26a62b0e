/** Runs test files repeatedly, beside a load if asked, and says how often each test fails. */
import { spawn } from 'node:child_process'
import { availableParallelism } from 'node:os'
import type { RunTotals } from './test-run.ts'

/** A program that keeps one core busy, with short pauses in which its parent may end it. */
const busy = `process.stdin.on('close', () => process.exit()).resume()
const work = () => { const end = Date.now() + 50; while (Date.now() < end); setImmediate(work) }
work()`

/** Keeps all cores busy until `stop`, or until this process ends. */
export function makeLoad(): { stop(): void } {
  const children = Array.from({ length: availableParallelism() }, () =>
    spawn(process.execPath, ['--eval', busy], { stdio: ['pipe', 'ignore', 'ignore'] }),
  )
  return {
    stop() {
      for (const child of children) child.kill('SIGKILL')
    },
  }
}

/** Runs `run` the given number of times, and prints the failure rate of the runs and of each test that failed. */
export async function repeatRuns(
  times: number,
  run: () => Promise<RunTotals>,
  print: (line: string) => void,
): Promise<{ readonly failed: number }> {
  const failures = new Map<string, number>()
  let failedRuns = 0
  for (let round = 1; round <= times; round++) {
    print(`Run ${round} of ${times}`)
    const { failed, results } = await run()
    if (failed > 0) failedRuns += 1
    for (const result of results)
      for (const { path } of result.failed) {
        const name = path.join(' › ')
        failures.set(name, (failures.get(name) ?? 0) + 1)
      }
  }
  print('')
  print(`${failedRuns} of ${times} runs failed, ${Math.round((100 * failedRuns) / times)} %`)
  for (const [name, count] of failures) print(`  ${count} of ${times}: ${name}`)
  return { failed: failedRuns }
}
