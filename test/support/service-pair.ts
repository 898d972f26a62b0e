/** Runs two services as separate processes on one database. */
import { after, before } from 'node:test'
import type { Dialect } from '../../src/store/portable.ts'
import { forEachFile } from './file-hooks.ts'
import type { Reply, Send } from './history.ts'
import { type ServiceProcess, startServiceProcess } from './service-process.ts'
import { createTestDatabase, forEachStore } from './stores.ts'

export interface ServicePair {
  readonly database: string
  readonly first: Send
  readonly second: Send
  readonly both: readonly [Send, Send]
  /** Creates an actor through the first service. */
  createActor(): Promise<PairActor>
}

export interface PairActor {
  readonly id: string
  readonly authorization: string
  request(send: Send, method: string, path: string, body?: unknown): Promise<Reply>
}

interface RunningPair {
  readonly pair: ServicePair
  end(): Promise<void>
}

/** The pairs of this file, by their store and settings. */
const running = new Map<string, Promise<RunningPair>>()
forEachFile(() =>
  after(async () => {
    for (const started of running.values()) await (await started).end()
    running.clear()
  }),
)

/**
 * Declares the same tests for a pair on SQLite and on PostgreSQL. All groups of a file with the same settings share a pair.
 * A long store timeout prevents failures on a slow machine.
 */
export function forEachPair(
  declare: (pair: () => ServicePair, dialect: Dialect) => void,
  env: Readonly<Record<string, string>> = {},
): void {
  forEachStore((dialect) => {
    let pair: ServicePair | undefined
    before(async () => {
      const key = JSON.stringify([dialect, env])
      const started = running.get(key) ?? startPair(dialect, env)
      running.set(key, started)
      pair = (await started).pair
    })
    declare(() => {
      if (pair === undefined) throw new Error('The services have not started yet')
      return pair
    }, dialect)
  })
}

async function startPair(dialect: Dialect, env: Readonly<Record<string, string>>): Promise<RunningPair> {
  const { url, remove } = await createTestDatabase(dialect)
  const [first, second] = await Promise.all([startOne(url, env), startOne(url, env)])
  return {
    pair: pairOf(url, first.send, second.send),
    end: async () => {
      await Promise.all([first.kill(), second.kill()])
      await remove()
    },
  }
}

function startOne(url: string, env: Readonly<Record<string, string>>): Promise<ServiceProcess> {
  return startServiceProcess({ database: url, env: { TROUPE_STORE_TIMEOUT_SECONDS: '60', ...env } })
}

function pairOf(database: string, first: Send, second: Send): ServicePair {
  return { database, first, second, both: [first, second], createActor: () => createActor(first) }
}

async function createActor(send: Send): Promise<PairActor> {
  const reply = await send('POST', '/', { body: { creator: 'owner@example.com' } })
  if (reply.status !== 201) throw new Error(`Cannot create an actor: ${reply.status} ${reply.text}`)
  const { id, creator, passphrase } = JSON.parse(reply.text) as { id: string; creator: string; passphrase: string }
  const authorization = `Basic ${Buffer.from(`${creator}:${passphrase}`).toString('base64')}`
  return {
    id,
    authorization,
    request: (to, method, path, body) =>
      to(method, `/${id}${path}`, { authorization, ...(body === undefined ? {} : { body }) }),
  }
}
