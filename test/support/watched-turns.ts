/** Counts what happens in each turn of the event loop while a request is handled. */
import { setImmediate } from 'node:timers/promises'
import type { TestService } from './service.ts'

export interface Watched<T> {
  readonly result: T
  /** Turns of the event loop. */
  readonly turns: number
  /** The most statements of one turn. */
  readonly mostStatements: number
}

export async function watched<T>(
  service: Pick<TestService, 'reset' | 'statements'>,
  work: () => Promise<T>,
): Promise<Watched<T>> {
  service.reset()
  let [turns, mostStatements, last] = [0, 0, 0]
  const count = (): void => {
    mostStatements = Math.max(mostStatements, service.statements.length - last)
    last = service.statements.length
  }
  const working = work()
  const ended = working.then(() => true)
  while (!(await Promise.race([ended, setImmediate(false)]))) {
    turns += 1
    count()
  }
  count()
  return { result: await working, turns, mostStatements }
}
