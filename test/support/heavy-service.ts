/** A service in a process of its own that measures its memory and its event loop. The parent process sends the orders. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { setImmediate, setTimeout } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { createLog } from '../../src/observe/log.ts'
import { App } from '../../src/troupe.ts'
import { declareAll } from './routes.ts'
import { testKeys } from './service.ts'

/** `begin` collects garbage first. `continue` does not, for a process with a small heap. */
export type Order = 'begin' | 'continue' | 'end' | 'stop'

export interface Answer {
  /** After `end`. */
  readonly strain: Strain | null
  /** After `begin`: memory beyond idle. */
  readonly leftMegabytes: number
}

export interface Strain {
  /** The longest pause of the event loop. It includes the time in which other processes had the processor. */
  readonly delayMs: number
  /** Processor time that the thread itself spent within one pause, at most. */
  readonly cpuMs: number
  /** The most memory beyond the least that any `begin` found. */
  readonly megabytes: number
  /** The most statements in one turn of the loop. On SQLite, they run without a pause. */
  readonly statements: number
}

/** Statements since the start. */
let executed = 0
let statements = 0
let maxStatements = 0
const quietMs = 40
const settlingMs = 20_000
const count = (): void => {
  executed += 1
  statements += 1
}
setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void
const app = new App(
  {
    type: 'urn:actingweb:example.com:test',
    name: 'test',
    mode: 'development',
    database: process.argv[2] ?? '',
    secretKeys: testKeys,
    host: '127.0.0.1',
    port: 0,
    // The tokens are for this address.
    baseUrl: 'http://troupe.test',
    env: {},
    rateLimits: { '*': null },
    storeTimeoutSeconds: 60,
  },
  { log: createLog('fatal'), onQuery: count },
)
declareAll(app)
app.action('whole', { mcp: true }, ({ actor }) => actor.get('color'))
const listening = await app.listen()
const loop = monitorEventLoopDelay({ resolution: 1 })
let idle = Number.POSITIVE_INFINITY
let left = 0
let most = 0
let maxCpuMs = 0
let samplings: NodeJS.Timeout[] = []

/** Linux counts the most memory since it was asked to forget. Elsewhere, samples have to do. */
const status = '/proc/self/status'
const canForget = existsSync('/proc/self/clear_refs')
function forget(): void {
  if (canForget) writeFileSync('/proc/self/clear_refs', '5')
}
function peak(): number {
  if (!canForget) return process.memoryUsage.rss()
  return Number(/VmHWM:\s+(\d+) kB/.exec(readFileSync(status, 'utf8'))?.[1]) * 1024
}

function begin(isFirst: boolean): void {
  if (isFirst) {
    collect()
    // Memory that an earlier request has left would hide what this one takes.
    const rss = process.memoryUsage.rss()
    idle = Math.min(idle, rss)
    left = (rss - idle) / 1_000_000
  }
  forget()
  most = idle
  maxCpuMs = statements = maxStatements = 0
  let cpu = process.threadCpuUsage()
  samplings = [
    setInterval(() => (most = Math.max(most, process.memoryUsage.rss())), 5),
    // The timer runs after every turn of the loop over 1 ms. A sample contains one such turn and at most 1 ms of others.
    setInterval(() => {
      const { user, system } = process.threadCpuUsage(cpu)
      maxCpuMs = Math.max(maxCpuMs, (user + system) / 1000)
      maxStatements = Math.max(maxStatements, statements)
      statements = 0
      cpu = process.threadCpuUsage()
    }, 1),
  ]
  loop.reset()
  loop.enable()
}

/** Waits for the work behind the response, which a request causes too: until no statement runs for a while. */
async function quiet(): Promise<void> {
  const service = await app.running()
  // Real time: a message that cannot be delivered is tried again and again.
  await Promise.race([service.settled(), setTimeout(settlingMs)])
  for (let seen = -1, tries = 0; seen !== executed && tries < 200; tries += 1) {
    seen = executed
    // Real time: a measurement of memory, in which no statement tells that work has ended.
    await setTimeout(quietMs)
  }
}

function end(): Strain {
  loop.disable()
  for (const sampling of samplings) clearInterval(sampling)
  most = Math.max(most, peak())
  maxStatements = Math.max(maxStatements, statements)
  return { delayMs: loop.max / 1e6, cpuMs: maxCpuMs, megabytes: (most - idle) / 1_000_000, statements: maxStatements }
}

process.on('message', (order: Order) => {
  void (async () => {
    if (order === 'begin' || order === 'continue') begin(order === 'begin')
    if (order === 'end') await quiet()
    const strain = order === 'end' ? end() : null
    if (order === 'stop') await listening.stop()
    await setImmediate()
    process.send?.({ strain, leftMegabytes: left } satisfies Answer)
    if (order === 'stop') process.disconnect?.()
  })()
})
process.send?.({ url: listening.url })
