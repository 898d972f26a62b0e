/** Runs two services as separate processes on one database. */
import { after, before } from 'node:test'
import type { Dialect } from '../../src/store/portable.ts'
import type { Reply, Send } from './history.ts'
import { type ServiceProcess, startServiceProcess } from './service-process.ts'
import { forEachStore } from './stores.ts'

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

/** Declares the same tests for a pair on SQLite and on PostgreSQL. A long store timeout prevents failures on a slow machine. */
export function forEachPair(
  declare: (pair: () => ServicePair, dialect: Dialect) => void,
  env: Readonly<Record<string, string>> = {},
): void {
  forEachStore((dialect, _open, database) => {
    let services: ServiceProcess[] = []
    let pair: ServicePair | undefined
    before(async () => {
      const { url } = await database()
      services = await Promise.all(
        [1, 2].map(() => startServiceProcess({ database: url, env: { TROUPE_STORE_TIMEOUT_SECONDS: '60', ...env } })),
      )
      const [first, second] = services
      if (first === undefined || second === undefined) throw new Error('The services did not start')
      pair = pairOf(url, first.send, second.send)
    })
    after(async () => {
      await Promise.all(services.map((service) => service.kill()))
    })
    declare(() => {
      if (pair === undefined) throw new Error('The services have not started yet')
      return pair
    }, dialect)
  })
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
