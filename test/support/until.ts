/** Waits for conditions. Tests do not wait for durations (test/rules/sleeps.test.ts). */
import assert from 'node:assert/strict'

const patienceMs = 60_000
const leastPauseMs = 2
const maxPauseMs = 50

/** Resolves when the condition holds. `next` runs between two checks. Fails after 60 s of real time. */
export async function until(
  holds: () => boolean | Promise<boolean>,
  next: (waitedMs: number) => Promise<void> = nextLook,
): Promise<void> {
  const began = performance.now()
  while (!(await holds())) {
    const waitedMs = performance.now() - began
    if (waitedMs > patienceMs) assert.fail(`The condition did not hold within 60 s: ${String(holds)}`)
    await next(waitedMs)
  }
}

/** Resolves when both values have the same JSON. Fails with their difference after 60 s of real time. */
export async function untilEqual(actual: () => unknown, expected: () => unknown): Promise<void> {
  const began = performance.now()
  for (;;) {
    const [found, wanted] = [await actual(), await expected()]
    const waitedMs = performance.now() - began
    if (JSON.stringify(found) === JSON.stringify(wanted) || waitedMs > patienceMs) {
      assert.deepEqual(found, wanted)
      return
    }
    await nextLook(waitedMs)
  }
}

/**
 * Pauses for a tenth of the time that the test has waited. The look is late by that much, and a test that waits for seconds
 * does not spend them on hundreds of requests.
 */
function nextLook(waitedMs: number): Promise<void> {
  const pauseMs = Math.min(Math.max(leastPauseMs, waitedMs / 10), maxPauseMs)
  // Real time: rows in a store and states of other processes raise no event, and a loop without a pause takes their CPU.
  return new Promise((resolve) => setTimeout(resolve, pauseMs))
}
