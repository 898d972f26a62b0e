/** Child processes of a measurement. The caller that starts a process must stop it. */
import { type ChildProcess, fork, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout } from 'node:timers/promises'
import type { BareCalls } from './bare-caller.ts'
import type { Load, LoadResult } from './load.ts'
import type { Arrived } from './peers.ts'
import type { Order } from './server-large-list.ts'
import type { Subject, Usage } from './subject.ts'

export interface Running {
  readonly port: number
  usage(): Promise<Usage>
  stop(): Promise<void>
}

/**
 * Starts a process and pins it to a core where the system supports that: servers to one, load to the other. Otherwise they
 * would alternate on both cores, and a server would pay for waking the load generator.
 */
function start(file: string, args: readonly string[] = []): ChildProcess {
  const child = fork(new URL(file, import.meta.url), args, {
    execArgv: ['--conditions=troupe-source', '--no-warnings'],
  })
  spawnSync(
    'taskset',
    ['-a', '-c', '-p', file.includes('load') || file.includes('peers') ? '1' : '0', String(child.pid)],
    { stdio: 'ignore' },
  )
  return child
}

async function ask<T>(child: ChildProcess, message: object | string): Promise<T> {
  const answer = once(child, 'message') as Promise<[T]>
  child.send(message)
  return (await answer)[0]
}

export async function startServer(kind: 'troupe' | 'bare', subject: Subject): Promise<Running> {
  const child = start(`./server-${kind}.ts`, [JSON.stringify(subject)])
  const [{ port }] = (await once(child, 'message')) as [{ port: number }]
  return {
    port,
    usage: async () => ask<Usage>(child, 'usage'),
    async stop() {
      const exited = once(child, 'exit')
      child.send('stop')
      await exited
    },
  }
}

export interface LargeListServer {
  readonly port: number
  obey<T>(order: Order): Promise<T>
  stop(): Promise<void>
}

export async function startLargeListServer(subject: Subject): Promise<LargeListServer> {
  const child = start('./server-large-list.ts', [JSON.stringify(subject)])
  const [{ port }] = (await once(child, 'message')) as [{ port: number }]
  return {
    port,
    obey: async (order) => ask(child, order),
    async stop() {
      const exited = once(child, 'exit')
      child.send({ kind: 'stop' } satisfies Order)
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
  const child = start('./peers.ts')
  const [{ port }] = (await once(child, 'message')) as [{ port: number }]
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
  const child = start('./load.ts')
  return { run: async (load) => ask<LoadResult>(child, load), stop: () => void child.kill() }
}
