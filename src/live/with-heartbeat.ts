import type { Cancel, Timers } from '../timers.ts'

/** What a source gives as it comes, with a tick in between every so often, however long the source is silent. */
export async function* paced<T>(
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
    // Not waited for: it may be in the middle of a wait of its own, which ends when its signal says so.
    void source.return(undefined).catch(() => {})
  }
}
