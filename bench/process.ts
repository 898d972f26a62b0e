/** Child processes of a measurement, each ended by whoever started it. */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import type { Load, LoadResult } from './load.ts'
import type { Subject, Usage } from './subject.ts'

export interface Running {
  readonly port: number
  usage(): Promise<Usage>
  stop(): Promise<void>
}

function start(file: string, args: readonly string[] = []): ChildProcess {
  return fork(new URL(file, import.meta.url), args, { execArgv: ['--conditions=source', '--no-warnings'] })
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

export interface Loader {
  run(load: Load): Promise<LoadResult>
  stop(): void
}

export function startLoader(): Loader {
  const child = start('./load.ts')
  return { run: async (load) => ask<LoadResult>(child, load), stop: () => void child.kill() }
}
