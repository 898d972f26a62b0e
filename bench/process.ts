/** Child processes of a measurement. The caller that starts a process must stop it. */
import { type ChildProcess, fork, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import type { BareCalls } from './bare-caller.ts'
import type { Load, LoadResult } from './load.ts'
import type { Arrived } from './peers.ts'
import type { AddWebhooks, SetAlarms } from './server-jobs.ts'
import type { Order } from './server-large-list.ts'
import type { Subject, Usage } from './subject.ts'

export interface Running {
  readonly port: number
  usage(): Promise<Usage>
  stop(): Promise<void>
}

/** Returns whether this system can pin a server and its load to a processor each. */
export function canPin(): boolean {
  return availableParallelism() > 1 && spawnSync('taskset', ['--version'], { stdio: 'ignore' }).status === 0
}

/**
 * Starts a process and pins it to a processor where the system supports that: servers to one, load to the other. Otherwise
 * they would alternate on both, and a server would pay for waking the load generator.
 */
function start(file: string, args: readonly string[] = [], processor: 0 | 1 = 0, env = process.env): ChildProcess {
  const child = fork(new URL(file, import.meta.url), args, {
    execArgv: ['--conditions=troupe-source', '--no-warnings'],
    env,
  })
  spawnSync('taskset', ['-a', '-c', '-p', String(processor), String(child.pid)], { stdio: 'ignore' })
  return child
}

async function ask<T>(child: ChildProcess, message: object | string): Promise<T> {
  const answer = messageOf<T>(child)
  child.send(message)
  return answer
}

/** Waits for the next message of a process. Rejects when the process ends before. */
async function messageOf<T>(child: ChildProcess): Promise<T> {
  const waiting = new AbortController()
  const end = once(child, 'exit', { signal: waiting.signal }).then((ended: unknown[]) => {
    const [code, signal] = ended
    throw new Error(`Cannot measure: a process ended with ${String(signal ?? code)}`)
  })
  try {
    const [message] = (await Promise.race([once(child, 'message', { signal: waiting.signal }), end])) as [T]
    return message
  } finally {
    waiting.abort()
  }
}

/** Waits until the process has ended. The message is not sent to a process that has ended already. */
async function stopByMessage(child: ChildProcess, message: object | string): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exited = once(child, 'exit')
  child.send(message)
  await exited
}

/** Starts a server from the sources, or from the folder of `buildService`, with a compile cache there. */
export async function startServer(
  kind: 'troupe' | 'bare' | 'files',
  subject: Subject,
  built?: string,
): Promise<Running> {
  const file =
    built === undefined ? `./server-${kind}.ts` : pathToFileURL(join(built, 'dist', `server-${kind}.js`)).href
  const env = built === undefined ? process.env : { ...process.env, NODE_COMPILE_CACHE: join(built, 'cache') }
  const child = start(file, [JSON.stringify(subject)], 0, env)
  const { port } = await messageOf<{ port: number }>(child)
  return {
    port,
    usage: async () => ask<Usage>(child, 'usage'),
    stop: async () => stopByMessage(child, 'stop'),
  }
}

export interface LargeListServer {
  readonly port: number
  obey<T>(order: Order): Promise<T>
  stop(): Promise<void>
}

export async function startLargeListServer(subject: Subject): Promise<LargeListServer> {
  const child = start('./server-large-list.ts', [JSON.stringify(subject)])
  const { port } = await messageOf<{ port: number }>(child)
  return {
    port,
    obey: async (order) => ask(child, order),
    stop: async () => stopByMessage(child, { kind: 'stop' } satisfies Order),
  }
}

export interface JobsServer {
  /** Sets alarms, or adds webhooks. Resolves with the actors and ids of the webhooks. */
  order(order: SetAlarms | AddWebhooks): Promise<readonly string[]>
  /** Microseconds of processor time since the start. */
  cpu(): Promise<number>
  stop(): Promise<void>
  /** Kills the process, if it runs. */
  kill(): Promise<void>
}

/** @param fired receives each alarm that runs in the process. */
export async function startJobsServer(subject: Subject, fired: (alarm: string) => void): Promise<JobsServer> {
  const child = start('./server-jobs.ts', [JSON.stringify(subject)])
  const answers: ((message: object) => void)[] = []
  const ended = once(child, 'exit').then(() => {
    throw new Error('Cannot measure: a process ended')
  })
  // The process may end after its last answer.
  ended.catch(() => {})
  child.on('message', (message: { readonly fired?: string }) => {
    if (message.fired !== undefined) fired(message.fired)
    else answers.shift()?.(message)
  })
  const next = async <T>(message?: object | string): Promise<T> => {
    const { promise, resolve } = Promise.withResolvers<object>()
    answers.push(resolve)
    if (message !== undefined) child.send(message)
    return (await Promise.race([promise, ended])) as T
  }
  await next()
  return {
    order: async (order) => (await next<{ done: readonly string[] }>(order)).done,
    cpu: async () => (await next<{ cpu: number }>('usage')).cpu,
    stop: async () => stopByMessage(child, 'stop'),
    async kill() {
      if (child.exitCode !== null || child.signalCode !== null) return
      const exited = once(child, 'exit')
      child.kill('SIGKILL')
      await exited
    },
  }
}

export interface Peers {
  readonly url: string
  /** Returns the arrivals since the last reset. */
  arrived(): Promise<Arrived>
  reset(): Promise<Arrived>
  /** Waits until `count` requests have arrived. */
  until(count: number): Promise<Arrived>
  stop(): void
}

export async function startPeers(): Promise<Peers> {
  const child = start('./peers.ts', [], 1)
  const { port } = await messageOf<{ port: number }>(child)
  const arrived = async (): Promise<Arrived> => ask<Arrived>(child, 'arrived')
  return {
    url: `http://127.0.0.1:${port}`,
    arrived,
    reset: async () => ask<Arrived>(child, 'reset'),
    async until(count) {
      for (let polls = 0; polls < 60_000; polls += 1) {
        const so = await arrived()
        if (so.count >= count) return so
        await setTimeout(2)
      }
      throw new Error(`Cannot measure: fewer than ${count} calls arrived`)
    },
    stop: () => void child.kill(),
  }
}

export interface Caller {
  /** Runs the calls and returns their processor time in microseconds. */
  run(calls: BareCalls): Promise<number>
  stop(): void
}

/** Starts a process that calls peers with the outbound client alone. */
export function startCaller(): Caller {
  const child = start('./bare-caller.ts')
  return {
    run: async (calls) => (await ask<{ cpu: number }>(child, calls)).cpu,
    stop: () => void child.kill(),
  }
}

export interface Loader {
  run(load: Load): Promise<LoadResult>
  stop(): void
}

export function startLoader(): Loader {
  const child = start('./load.ts', [], 1)
  return { run: async (load) => ask<LoadResult>(child, load), stop: () => void child.kill() }
}
