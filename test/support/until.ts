/** Waits for conditions. Tests do not wait for durations (test/rules/sleeps.test.ts). */
import assert from 'node:assert/strict'

const patienceMs = 60_000
const lookEveryMs = 2

/** Resolves when the condition holds. `next` runs between two checks. Fails after 60 s of real time. */
export async function until(
  holds: () => boolean | Promise<boolean>,
  next: () => Promise<void> = nextLook,
): Promise<void> {
  const deadline = performance.now() + patienceMs
  while (!(await holds())) {
    if (performance.now() > deadline) assert.fail(`The condition did not hold within 60 s: ${String(holds)}`)
    await next()
  }
}

/** Resolves when both values have the same JSON. Fails with their difference after 60 s of real time. */
export async function untilEqual(actual: () => unknown, expected: () => unknown): Promise<void> {
  const deadline = performance.now() + patienceMs
  for (;;) {
    const [found, wanted] = [await actual(), await expected()]
    if (JSON.stringify(found) === JSON.stringify(wanted) || performance.now() > deadline) {
      assert.deepEqual(found, wanted)
      return
    }
    await nextLook()
  }
}

function nextLook(): Promise<void> {
  // Real time: rows in a store and states of other processes raise no event, and a loop without a pause takes their CPU.
  return new Promise((resolve) => setTimeout(resolve, lookEveryMs))
}
