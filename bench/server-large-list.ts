/** A service with one long list that measures its own event loop and memory. */
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { setImmediate, setTimeout } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import type { ActorHandle, ListHandle } from '../src/app/actor-handle.ts'
import { subjectApp } from './subject-app.ts'

/** A message to the process. */
export type Order =
  | { readonly kind: 'fill'; readonly items: number }
  | { readonly kind: 'begin' }
  | { readonly kind: 'end' }
  /** Runs work of an application on the list. */
  | { readonly kind: 'work'; readonly actorId: string; readonly what: keyof typeof works }
  /** Waits until the rows of removed lists are deleted. */
  | { readonly kind: 'settle' }
  | { readonly kind: 'stop' }

/** The longest pause of the event loop, and the maximum memory beyond the initial use. */
export interface Strain {
  /** Includes the time in which other processes had the processor. */
  readonly delayMs: number
  /** Processor time that the thread itself spent within one pause. */
  readonly cpuMs: number
  readonly megabytes: number
}

const works = {
  length: async (list: ListHandle) => void (await list.length()),
  'query in a transaction': async (list: ListHandle, actor: ActorHandle) =>
    actor.transaction(async (tx) => {
      await tx.list(list.name).append({ n: -4 })
      await tx.list(list.name).query({ sort: '-n', limit: 50 })
    }),
  'find the last item': async (list: ListHandle) => void (await list.find('n', -1)),
  'iterate over all items': async (list: ListHandle) => {
    for await (const _item of list);
  },
  'removeWhere without a match': async (list: ListHandle) => void (await list.removeWhere('n', -2)),
}

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void
const app = await subjectApp('warn')
// Counting items must not call this hook; reading items calls it for each one.
app.property('hooked', { get: ({ value }) => value })
app.list('long', { item: { type: 'object' }, indexes: ['n'] })
const listening = await app.listen()
const { store } = await app.running()
const loop = monitorEventLoopDelay({ resolution: 1 })
let idle = 0
let most = 0
let samplings: NodeJS.Timeout[] = []
let maxCpuMs = 0

async function fill(items: number): Promise<{ id: string; authorization: string }> {
  const { actor, passphrase } = await app.actors.create({ creator: 'creator@example.com' })
  for (const name of ['long', 'hooked']) {
    const list = actor.list(name)
    const count = name === 'long' ? items : Math.floor(items / 20)
    for (let from = 0; from < count; from += 10_000) {
      const to = Math.min(count, from + 10_000)
      await list.extend(Array.from({ length: to - from }, (_, at) => ({ n: from + at === count - 1 ? -1 : from + at })))
    }
  }
  await actor.set('color', 'red')
  const basic = Buffer.from(`${actor.creator}:${passphrase}`).toString('base64')
  return { id: actor.id, authorization: `Basic ${basic}` }
}

async function begin(): Promise<void> {
  await setTimeout(200)
  collect()
  await setTimeout(50)
  idle = most = process.memoryUsage.rss()
  maxCpuMs = 0
  let cpu = process.threadCpuUsage()
  samplings = [
    setInterval(() => (most = Math.max(most, process.memoryUsage.rss())), 5),
    // The timer runs after every turn of the loop over 1 ms. A sample contains one such turn and at most 1 ms of other turns.
    setInterval(() => {
      const { user, system } = process.threadCpuUsage(cpu)
      maxCpuMs = Math.max(maxCpuMs, (user + system) / 1000)
      cpu = process.threadCpuUsage()
    }, 1),
  ]
  loop.reset()
  loop.enable()
}

function end(): Strain {
  loop.disable()
  for (const sampling of samplings) clearInterval(sampling)
  most = Math.max(most, process.memoryUsage.rss())
  return { delayMs: loop.max / 1e6, cpuMs: maxCpuMs, megabytes: (most - idle) / 1_048_576 }
}

async function settle(): Promise<void> {
  while ((await store.read((q) => q.get('SELECT list FROM removed_list LIMIT 1'))) !== undefined) await setTimeout(100)
}

async function obey(order: Order): Promise<unknown> {
  switch (order.kind) {
    case 'fill':
      return fill(order.items)
    case 'begin':
      return begin()
    case 'end':
      return end()
    case 'work': {
      const actor = await app.actors.get(order.actorId)
      if (actor === undefined) throw new Error('The actor does not exist')
      return works[order.what](actor.list('long'), actor)
    }
    case 'settle':
      return settle()
    case 'stop':
      await listening.stop()
      process.disconnect?.()
      return undefined
    default:
      return order satisfies never
  }
}

process.on('message', (order) => {
  void obey(order as Order).then(async (result) => {
    await setImmediate()
    if (process.connected) process.send?.(result ?? {})
  })
})
process.send?.({ port: Number(new URL(listening.url).port) })
