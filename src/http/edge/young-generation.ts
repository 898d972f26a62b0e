/** Limits the young generation of V8, in which objects are created. */
import { PerformanceObserver } from 'node:perf_hooks'
import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8'
import { processEnvironment } from '../../config/env.ts'

/** A half that is larger does not grow. V8 doubles the halves of the young generation: from 4 to 8 MiB, but not to 16. */
const limitBytes = 6 * 1024 * 1024

let isLimited = false

/**
 * Stops the growth of the young generation at 16 MiB: two halves of 8. V8 reads its option for the limit only when the
 * process starts, but reads the factor of the growth at each step (record 068). An option of `node` for the size disables
 * this limit.
 */
export function limitYoungGeneration(): void {
  if (isLimited || isSizeGiven()) return
  isLimited = true
  let growth = 2
  // An observer does not keep the process alive.
  const observer = new PerformanceObserver(() => {
    // V8 shrinks the young generation of an idle process, and it may then grow again.
    const next = halfBytes() < limitBytes ? 2 : 1
    if (next !== growth) setFlagsFromString(`--semi-space-growth-factor=${next}`)
    growth = next
  })
  observer.observe({ entryTypes: ['gc'] })
}

/** Returns the capacity of one half. The other half is only in use during a collection. */
function halfBytes(): number {
  const young = getHeapSpaceStatistics().find(({ space_name: name }) => name === 'new_space')
  return young === undefined ? 0 : young.space_used_size + young.space_available_size
}

function isSizeGiven(): boolean {
  return [...process.execArgv, processEnvironment()['NODE_OPTIONS'] ?? ''].some((option) =>
    /semi.space.size/.test(option),
  )
}
