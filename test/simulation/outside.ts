/**
 * Finds code of a run that waits for something that no seed decides: a timer, a thread, a file or the network of this
 * machine. Such a wait ends earlier or later than other steps, so the run could not be repeated.
 */
import { AsyncLocalStorage, AsyncResource, createHook } from 'node:async_hooks'

type Report = (text: string) => void

/** Node.js continues these in the order of their creation. */
const inOrder: ReadonlySet<string> = new Set(['Immediate', 'Microtask', 'PROMISE', 'TickObject'])

const reports = new AsyncLocalStorage<Report>()
const begun = new Map<number, () => void>()
let running = 0

const hook = createHook({
  trackPromises: false,
  init(id, type, _trigger, resource) {
    const report = reports.getStore()
    if (report === undefined || inOrder.has(type) || resource instanceof AsyncResource) return
    const { stack = '' } = new Error(`The run waited for something outside of the simulation (${type})`)
    begun.set(id, () => report(stack))
  },
  // Work that was done at once never calls back.
  before(id) {
    begun.get(id)?.()
    begun.delete(id)
  },
  destroy(id) {
    begun.delete(id)
  },
})

/** Runs the work, and reports each wait for something outside of the simulation, with the place where it began. */
export async function watchOutside<T>(report: Report, work: () => Promise<T>): Promise<T> {
  if (running++ === 0) hook.enable()
  try {
    return await reports.run(report, work)
  } finally {
    if (--running === 0) hook.disable()
  }
}
