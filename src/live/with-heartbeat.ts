import type { Cancel, Timers } from '../timers.ts'

/** Yields the values of a source as they arrive, and a tick every `everyMs` milliseconds. */
export async function* withHeartbeat<T>(
  source: AsyncGenerator<T>,
  timers: Timers,
  everyMs: number,
): AsyncGenerator<T | 'tick'> {
  let cancel: Cancel = () => {}
  const wait = (): Promise<'tick'> =>
    new Promise((resolve) => {
      cancel = timers.setTimer(everyMs, () => resolve('tick'))
    })
  let next = source.next()
  let tick = wait()
  try {
    for (;;) {
      const first = await Promise.race([next, tick])
      if (first === 'tick') {
        tick = wait()
        yield 'tick'
      } else if (first.done === true) {
        return
      } else {
        yield first.value
        next = source.next()
      }
    }
  } finally {
    cancel()
    // Does not wait for the source, which may be waiting itself until its own signal aborts.
    void source.return(undefined).catch(() => {})
  }
}
